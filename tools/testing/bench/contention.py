# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Where processors of one guest wait for each other, of traces that in-guests has recorded.

There are two of a cell, at different times:

    waits   who finds a spinlock taken, anywhere in the kernel; what waits for the pump; and how
            long the client sends, which sunrpc lets one thread of a connection do at a time
    taken   each time that the transport takes or releases a spinlock; and of this module how
            long the pump of either end builds and posts. Not of each cell: it takes long.

If the host has other work, it stops a processor of the guest now and then. Others may wait
meanwhile, for milliseconds. That is counted apart: it tells nothing of the transport.
"""

import bisect
import collections
import re
import statistics

import samples
from memory import ENDS

WINDOWS = ("waits", "taken")
# "  nfsd-77  [001] d..2.  12.345678: slow: (native_...) lock=0xff11000001234568 s0=0xff..."
EVENT = re.compile(r"^ *(?P<comm>.+)-\d+ +\[(?P<cpu>\d+)\] +\S+ +(?P<when>\d+\.\d+): "
                   r"(?P<what>\w+): (?P<rest>.*)$")
NUMBER = re.compile(r"(\w+)=(0x[0-9a-f]+|\d+)")
# "# entries-in-buffer/entries-written: 12/12   #P:1"
KEPT = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)\b", re.M)
# Functions that take a spinlock for somebody else, or watch that.
TAKES = re.compile(r"_raw_(spin|read|write)_|.*queued_.*_slowpath|arch_rethook_trampoline")
# The lock of a name is what these functions of a transport take; the first that fits counts.
NAMES = (
    ("conn->lock", ("rpcrdma_recv_done",)),
    ("svc->lock", ("rpcrdma_svc_recvfrom",)),
    ("rb_lock", ("rpcrdma_buffer_get", "rpcrdma_mr_get")),
    ("sc_rq_dto_lock", ("svc_rdma_recvfrom",)),
    ("sc_send_lock", ("svc_rdma_send_ctxt_get",)),
    ("sc_rw_ctxt_lock", ("svc_rdma_get_rw_ctxt",)),
)
# Who waits for longer has waited for the host. Nothing that is waited for takes so long in itself.
STOPPED = 1e-3


class Failure(ValueError):
    """A trace does not tell what it should."""


def events(text):
    """[(seconds, what, processor, thread's name, {name: number}, all of it)]"""
    if (found := KEPT.search(text)) and found[1] != found[2]:
        raise Failure(f"the buffer of a trace had no room for {int(found[2]) - int(found[1])} events")
    told = [(float(one["when"]), one["what"], one["cpu"], one["comm"],
             {name: int(value, 0) for name, value in NUMBER.findall(one["rest"])}, one["rest"])
            for one in map(EVENT.match, text.splitlines()) if one]
    return sorted(told, key=lambda one: one[0])


def operations(told):
    """How many, and in how many seconds."""
    when = [one[0] for one in told if one[1] == "op"]
    if len(when) < 3:
        raise Failure(f"{len(when)} operations in a trace")
    return len(when), (when[-1] - when[0]) * len(when) / (len(when) - 1)


def usual(times):
    """The mean in microseconds without the longest tenth: then something else came in between."""
    return 1e6 * statistics.mean(sorted(times)[:-(len(times) // 10) or None]) if times else 0


def caller(words, symbols):
    """(part, function) that has asked for a spinlock, of the words on top of its stack."""
    for word in words:
        at = bisect.bisect_right(symbols.starts, word) - 1
        # Else it is a register of the caller's.
        if at >= 0 and word - symbols.starts[at] < samples.LAST_FUNCTION:
            part, function = symbols.names[at]
            if not TAKES.match(function):
                return part, function
    return samples.KERNEL, "?"


def contended(told, symbols):
    """[(lock, part, function, seconds)] of all that had to wait for a spinlock."""
    begun, found = collections.defaultdict(list), []
    for when, what, cpu, _, numbers, _ in told:
        # While one waits an interrupt may come, and wait as well.
        if what == "slow":
            begun[cpu].append((when, numbers))
        elif what == "slowed" and begun[cpu]:
            since, numbers = begun[cpu].pop()
            found.append((numbers["lock"],
                          *caller([numbers[f"s{i}"] for i in range(4)], symbols), when - since))
    return found


def handed(told):
    """Of each end: [messages, [seconds that each of those has waited which another thread than the
    sender has built]]."""
    server = {numbers["conn"] for _, what, _, comm, numbers, _ in told
              if what == "rpcrdma_tx" and comm == "nfsd"}
    waits, found = {}, {end: [0, []] for end in ENDS}
    for when, what, _, _, numbers, rest in told:
        key = numbers.get("conn"), numbers.get("xid")
        one = found[ENDS[key[0] in server]]
        if what == "rpcrdma_wait" and rest.endswith(" pump"):
            waits[key] = when
        # What goes in several Sends counts once.
        elif what == "rpcrdma_tx" and key[1] and not numbers["offset"]:
            one[0] += 1
            if key in waits:
                one[1].append(when - waits.pop(key))
    return found


def locks(told, symbols):
    """{address: [how often, {functions that take it}, [seconds]]} of the transport."""
    found, since = {}, {}
    for when, what, cpu, _, numbers, _ in told:
        if what == "lock":
            one = found.setdefault(numbers["lock"], [0, set(), []])
            one[0] += 1
            one[1].add(symbols.of(numbers["s0"])[1])
            since[cpu, numbers["lock"]] = when
        elif what == "unlock" and (cpu, numbers["lock"]) in since:
            found[numbers["lock"]][2].append(when - since.pop((cpu, numbers["lock"])))
    return found


def named(functions):
    """What a lock is called that these functions take; None if it is not the transport's own."""
    names = {function.partition(".")[0] for function in functions}
    end = ENDS[any(re.match("rpcrdma_svc_|svc_rdma_", name) for name in names)]
    return next((f"{end} {name}" for name, takers in NAMES if names & set(takers)), None)


# What begins, and what ends it.
SPANS = {"sent": "send", "posted": "post", "built": "build"}


def spans(told):
    """{what: [seconds]}, of the pump for each end: "send", "client post", "server build" ..."""
    server = {numbers["conn"] for _, what, _, comm, numbers, _ in told
              if what == "post" and comm == "nfsd"}
    end, begun, found = {}, {}, {}
    for when, what, cpu, _, numbers, _ in told:
        if what == "post":
            end[cpu] = f"{ENDS[numbers['conn'] in server]} "
        if what in SPANS.values():
            begun[cpu, what] = when
        elif (key := (cpu, SPANS.get(what))) in begun:
            name = "send" if what == "sent" else end.get(cpu, "") + key[1]
            found.setdefault(name, []).append(when - begun.pop(key))
    return found


def names_in(texts, symbols):
    """{address: name} of the transport's own locks, of all that was recorded on these connections."""
    functions = {}
    for text in texts:
        for address, (_, takers, _) in locks(events(text), symbols).items():
            functions.setdefault(address, set()).update(takers)
    return {address: name for address, takers in functions.items() if (name := named(takers))}


def take(texts, names, symbols):
    """Of one cell and transport: what all of it means. texts: {window: trace}; names: of locks."""
    told = {window: events(text) for window, text in texts.items()}
    n, seconds = operations(told["waits"])
    found = {"operations": n, "per_second": n / seconds, "others": {}, "handed": {},
             "handed_us": {}, "stopped": 0, "busy_us": {},
             "locks": {name: {"contended": 0, "waited_us": 0} for name in set(names.values())}}
    for one in told.values():
        found["busy_us"] |= {name: usual(spent) * len(spent) / operations(one)[0]
                             for name, spent in spans(one).items()}
    for address, part, _, waited in contended(told["waits"], symbols):
        if address not in names:
            found["others"][part] = found["others"].get(part, 0) + 1 / n
        elif waited > STOPPED:
            found["stopped"] += 1 / n
        else:
            one = found["locks"][names[address]]
            one["contended"] += 1 / n
            one["waited_us"] += 1e6 * waited / n
    for end, (messages, waited) in handed(told["waits"]).items():
        if messages:
            short = [one for one in waited if one <= STOPPED]
            found["stopped"] += (len(waited) - len(short)) / n
            found["handed"][end] = len(short) / messages
            found["handed_us"][end] = 1e6 * statistics.mean(short) if short else 0
    if "taken" in told:
        times, held = collections.Counter(), collections.defaultdict(list)
        for address, (count, _, spent) in locks(told["taken"], symbols).items():
            if address in names:
                times[names[address]] += count / operations(told["taken"])[0]
                held[names[address]] += spent
        for name, taken in times.items():
            found["locks"][name] |= {"taken": taken, "held_us": usual(held[name])}
    return found
