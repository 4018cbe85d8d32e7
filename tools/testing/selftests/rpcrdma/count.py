#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Do NFS operations by known system calls, and count what each of them asks of rxe.

  count.py prepare DIR               at the server: what the others work on
  count.py run DIR FILE [OPERATION]...
                                     at the client, where DIR is mounted: a line of JSON
                                     in FILE for each operation, of all if none is named
  count.py few DIR FILE OPERATION    the same of one, done FEW times and not more often
  count.py judge FILE DIR            whether the numbers of such a file are what each line of
                                     the input says; DIR/0, DIR/1... say what was found, and
                                     those that are right begin so
  count.py locks begin|end           at the server, asked by 'run'

Lines of the input, whose words have tabs between them:

  numbers OPERATION END NAME=NUMBER|NAME=LEAST..MOST...
                                     so many per operation, and nothing else; a name has _
                                     for each space
  copied OPERATION END NAME=NUMBER|NAME<NUMBER|NAME>NUMBER...
                                     so many octets are copied per operation, or less, or more
  locked OPERATION MOST              locks of the transport are taken less often than MOST per
                                     operation, at both ends together

All operations are done some times without being counted, and then each N times. Its line
has N, how many Calls of each NFS procedure there were according to mountstats, and the
counters of rxe_count (tools/testing/kunit) at both ends by how much they grew, with those
of rpcrdma for what it has copied. With LOCKS
in the environment, and where lockdep is, some of the lines have as well how often locks of
the transport were taken, and for how many microseconds each is held; the names of its locks are
in rpcrdma.ko. LOCKS names these operations, with commas between them, or is 1. With FEWER in the
environment large operations are done less often; what is per operation stays the same.
"""

import contextlib
import ctypes
import io
import json
import mmap
import os
import re
import shlex
import statistics
import struct
import sys
import time
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
COUNTERS = Path("/sys/kernel/debug/rxe_count")
# Of our own transport: "bytes copied: sent 1 received 2" is one line of it.
TOTALS = Path("/sys/kernel/debug/rpcrdma/totals")
COPIED = re.compile(r"^bytes copied: sent (\d+) received (\d+)$", re.M)
COPIED_NAMES = ("octets copied to Sends", "octets copied from Receives")
# What another small message than those counted has copied at either end, at most.
OTHER_OCTETS = 1024
# bash does that without a program, which would take a guest long.
READ_ALL = f'echo "$(< {COUNTERS})"; [[ ! -e {TOTALS} ]] || echo "$(< {TOTALS})"'
TRACING = Path("/sys/kernel/tracing")
ACL, ACL4 = "system.posix_acl_access", b"system.nfs4_acl"
SIZES = (512, 4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB)
# Users with which an NFSv4 ACL takes about 16 KiB.
ACL_USERS = 680
ENTRIES, LISTS, NAMES, WARM_UP = 1000, 6, 100, 8
# How often before it counts, and then, where Receives must not become larger by it. Before the
# module asks for that, 8 messages have to go in parts (net/sunrpc/rpcrdma/core/adapt.h).
FEW_WARM_UP, FEW = 2, 5
# Until what follows an operation has happened: completions, invalidations, credits.
SETTLE_SECONDS = 0.1
ANSWER_SECONDS = 120
AT_EMPTY_PATH, AT_STATX_FORCE_SYNC = 0x1000, 0x2000
# What a small message never asks for.
CHUNKS = {"registrations", "local invalidates", "RDMA Reads", "RDMA Writes", "Sends with invalidate"}
# Operations for which locks are traced, unless LOCKS names others.
LOCKED = ("GETATTR", *(f"{work} {size} KiB" for size in (4, 16, 64) for work in ("READ", "WRITE")))
# What a completion waits by has this name in every module.
EVERYWHERE = {"&x->wait"}
# "fio-77 [000] d..2. 1.000001: lock_acquire: 00000000abcdef try read &x->lock"
LOCK_EVENT = re.compile(r"-(?P<task>\d+) +\[\d+\] \S+ +(?P<when>\d+\.\d+): "
                        r"lock_(?P<what>acquire|release): (?P<lock>\S+) .*?(?P<name>\S+)$")

# "# entries-in-buffer/entries-written: 12/12   #P:1"
KEPT = re.compile(r"^# entries-in-buffer/entries-written: (?P<kept>\d+)/(?P<written>\d+)\b")

libc = ctypes.CDLL(None, use_errno=True)
statx_buffer = ctypes.create_string_buffer(512)
acl_buffer = ctypes.create_string_buffer(64 * KIB)


def size_name(size):
    """As people write it."""
    if size < KIB:
        return f"{size} B"
    return f"{size // KIB} KiB" if size < MIB else f"{size // MIB} MiB"


def prepare(directory):
    """In the server's own file system."""
    with open(f"{directory}/file", "wb") as file:
        file.write(os.urandom(MIB))
    users = [(2, 4, 10000 + i) for i in range(ACL_USERS)]
    entries = [(1, 6, 0xffffffff), *users, (4, 4, 0xffffffff), (16, 7, 0xffffffff),
               (32, 4, 0xffffffff)]
    os.setxattr(f"{directory}/file", ACL, struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *entry) for entry in entries))
    os.mkdir(f"{directory}/made")
    for where, count in [("names", NAMES)] + [(f"list-{i}", ENTRIES) for i in range(LISTS)]:
        os.mkdir(f"{directory}/{where}")
        for i in range(count):
            with open(f"{directory}/{where}/an-entry-{i:06d}", "wb"):
                pass


def how_often(size):
    """How often an operation of this size is counted, and is done before. All that happens once
    for so many Sends or Receives happens once for 16 of them."""
    if not os.environ.get("FEWER"):
        return 64 if size < 256 * KIB else 16, WARM_UP
    return (64, WARM_UP) if size < 16 * KIB else (32, 4) if size < 256 * KIB else (16, 2)


class Work:
    """What is done, with the files of a mount."""

    def __init__(self, directory):
        self.directory = directory
        self.file = os.open(f"{directory}/file", os.O_RDWR | os.O_DIRECT)
        self.memory = mmap.mmap(-1, MIB)
        self.memory[:] = os.urandom(MIB)
        # What an earlier mount has made is still there.
        self.made = len(os.listdir(f"{directory}/made"))
        self.found = 0
        # To open them takes Calls of its own.
        self.lists = [os.open(f"{directory}/list-{i}", os.O_RDONLY) for i in range(LISTS)]

    def getattr(self):
        """Ask for attributes, though there are some."""
        if libc.statx(self.file, b"", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, 0x7ff,
                      statx_buffer):
            raise OSError(ctypes.get_errno(), "statx")

    def lookup(self):
        """A name that nobody has asked for."""
        os.stat(f"{self.directory}/names/an-entry-{self.found:06d}")
        self.found += 1

    def create(self):
        """A directory: in NFSv4 a file is made by OPEN, which a CLOSE follows."""
        os.mkdir(f"{self.directory}/made/{self.made}")
        self.made += 1

    def read(self, size):
        """Past the page cache."""
        if os.preadv(self.file, [memoryview(self.memory)[:size]], 0) != size:
            raise SystemExit("short read")

    def write(self, size):
        """Past the page cache."""
        if os.pwritev(self.file, [memoryview(self.memory)[:size]], 0) != size:
            raise SystemExit("short write")

    def readdir(self):
        """All of a directory that nobody has read."""
        found = len(os.listdir(self.lists.pop()))
        if found != ENTRIES:
            raise SystemExit(f"{found} entries of {ENTRIES}")

    def getacl(self):
        """Too large to be kept, so it is asked for each time."""
        if libc.fgetxattr(self.file, ACL4, acl_buffer, len(acl_buffer)) < 0:
            raise OSError(ctypes.get_errno(), "fgetxattr")

    def operations(self):
        """{name: (function, how often, how often before it counts)}"""
        each = {"GETATTR": (self.getattr, 64, WARM_UP),
                "LOOKUP": (self.lookup, 64, WARM_UP),
                "CREATE": (self.create, 64, WARM_UP)}
        for name, function in (("READ", self.read), ("WRITE", self.write)):
            for size in SIZES:
                each[f"{name} {size_name(size)}"] = (
                    lambda function=function, size=size: function(size), *how_often(size))
        each[f"READDIR {ENTRIES}"] = (self.readdir, LISTS - 2, 2)
        each["GETACL 16 KiB"] = (self.getacl, 32, WARM_UP)
        return each


def lock_names():
    """Names of the locks that the loaded transport makes."""
    release = os.uname().release
    ours = Path("/sys/module/rpcrdma/version").exists()
    found = [path for path in Path(f"/lib/modules/{release}").resolve().glob(
        "updates/**/rpcrdma.ko" if ours else "kernel/net/sunrpc/xprtrdma/rpcrdma.ko")]
    names = re.findall(rb"(?<=\0)&[\w>.\[\]-]+(?=\0)", found[0].read_bytes())
    return {name.decode() for name in names} - EVERYWHERE


def trace(on):
    """Trace locks of the transport from now on, or no longer."""
    if on:
        ours = " || ".join(f'name == "{name}"' for name in sorted(lock_names()))
        (TRACING / "trace").write_text("", encoding="ascii")
        (TRACING / "buffer_size_kb").write_text("16384", encoding="ascii")
        # The usual clock of user-mode Linux goes by ticks.
        (TRACING / "trace_clock").write_text("mono", encoding="ascii")
    for event in (TRACING / "events/lock" / name for name in ("lock_acquire", "lock_release")):
        if on:
            (event / "filter").write_text(ours, encoding="ascii")
        (event / "enable").write_text(str(int(on)), encoding="ascii")


def locks_in(lines, ours):
    """Of a trace, for locks with these names: {name: how often taken}, {name: microseconds}."""
    since, taken, held = {}, {}, {}
    for line in lines:
        found = LOCK_EVENT.search(line)
        if not found or found["name"] not in ours:
            continue
        # From here on the task has the lock, or waits for it: of spinlocks, in a guest of one
        # processor, it never waits.
        key = found["task"], found["lock"]
        if found["what"] == "acquire":
            since[key] = float(found["when"])
            taken[found["name"]] = taken.get(found["name"], 0) + 1
        elif key in since:
            held.setdefault(found["name"], []).append(float(found["when"]) - since.pop(key))
    return taken, {name: round(1e6 * usual(times), 1) for name, times in held.items()}


def usual(times):
    """The mean without the longest tenth: then something else came in between."""
    return statistics.mean(sorted(times)[:-(len(times) // 10) or None])


def lost(lines):
    """Whether the ring of a trace had no room for some events."""
    counts = next(filter(None, map(KEPT.search, lines)), None)
    return counts and counts["kept"] != counts["written"]


def locks(what):
    """Begin to trace them, or end: then what there was."""
    trace(what == "begin")
    if what == "begin":
        return ()
    with open(TRACING / "trace", encoding="ascii", errors="replace") as lines:
        events = list(lines)
    if lost(events):
        raise SystemExit("more events of locks than the trace buffer can have")
    # The kernel's own, for whoever traces next.
    (TRACING / "buffer_size_kb").write_text("1408", encoding="ascii")
    (TRACING / "trace_clock").write_text("local", encoding="ascii")
    return locks_in(events, lock_names())


def counters(text):
    """{name: number}"""
    return {name: int(value) for name, _, value in
            (line.partition(": ") for line in text.splitlines())}


def all_counters(text):
    """The same of both files together. Of the second one, which begins by the connections, only
    what is named here."""
    copied = COPIED.search(text)
    return counters(text.partition("connections: ")[0].strip()) | (
        dict(zip(COPIED_NAMES, map(int, copied.groups()))) if copied else {})


def read_all():
    """Both files, of this end."""
    return COUNTERS.read_text(encoding="ascii") + (
        TOTALS.read_text(encoding="ascii") if TOTALS.exists() else "")


def on_server(command):
    """Ask the server's obey() (lib.sh), a bash; what the command has to say."""
    shared = Path(os.environ["GUEST_SHARED"])
    name = f"count-{time.monotonic_ns()}"
    (shared / f"command.{name}").write_text(f"{command}\n", encoding="ascii")
    (shared / f"ask.{name}").touch()
    end = time.monotonic() + ANSWER_SECONDS
    while not (shared / f"answered.{name}").exists():
        if time.monotonic() > end:
            raise SystemExit("the server does not answer")
        time.sleep(0.02)
    return (shared / f"answer.{name}").read_text(encoding="ascii")


def at_both_ends(what):
    """locks() here and there."""
    theirs = on_server(shlex.join(("/usr/bin/python3", "-S", str(Path(__file__).resolve()),
                                   "locks", what)))
    ends = {"client": locks(what), "server": json.loads(theirs)}
    return {of: {end: found[number] for end, found in ends.items()}
            for number, of in enumerate(("locks", "held"))} if what == "end" else {}


def procedures():
    """{NFS procedure: Calls} of all mounts."""
    text = Path("/proc/self/mountstats").read_text(encoding="ascii", errors="replace")
    found = {}
    for name, count in re.findall(r"^\t +([A-Z_]+): (\d+) ", text, re.M):
        found[name] = found.get(name, 0) + int(count)
    return found


def grown(now, before):
    """By how much, of what has grown."""
    return {name: value - before.get(name, 0) for name, value in now.items()
            if value != before.get(name, 0)}


def snapshot():
    """Everything that is counted, when nothing happens any more."""
    time.sleep(SETTLE_SECONDS)
    return {"nfs": procedures(),
            "client": all_counters(read_all()),
            "server": all_counters(on_server(READ_ALL))}


def run(directory, file, *names):
    """Count them all, or those that are named."""
    count_each({name: operation for name, operation in Work(directory).operations().items()
                if not names or name in names}, file)


def few(directory, file, name):
    """Count one, done only a few times."""
    function, _, _ = Work(directory).operations()[name]
    count_each({name: (function, FEW, FEW_WARM_UP)}, file)


def count_each(operations, file):
    """Of each a line in the file."""
    traced = os.environ.get("LOCKS", "").split(",") \
        if (TRACING / "events/lock/lock_acquire").exists() else ()
    if "1" in traced:
        traced = LOCKED
    # What the first to be counted finds is what it leaves.
    for function, _, warm_up in reversed(operations.values()):
        for _ in range(warm_up):
            function()
    before = snapshot()
    with open(file, "a", encoding="ascii") as out:
        for name, (function, times, _) in operations.items():
            if name in traced:
                at_both_ends("begin")
            for _ in range(times):
                function()
            now = snapshot()
            line = {"operation": name, "n": times} | {
                what: grown(now[what], before[what]) for what in now}
            if name in traced:
                line |= at_both_ends("end")
            print(json.dumps(line), file=out, flush=True)
            before = now


def counted_line(file, operation):
    """What run() has written of it."""
    with open(file, encoding="ascii") as lines:
        return next(found for found in map(json.loads, lines)
                    if found["operation"] == operation)


def copied(file, operation, end, *expected):
    """Whether so much was copied per operation, or less, or more."""
    line = counted_line(file, operation)
    others = (sum(line["nfs"].values()) - max(line["nfs"].values())) / line["n"]
    right = True
    for one in expected:
        name, what, value = re.fullmatch(r"(\w+)([=<>])(\d+)", one).groups()
        octets = line[end].get(f"octets copied {name.replace('_', ' ')}", 0) / line["n"]
        below = octets - others * OTHER_OCTETS < int(value)
        print(f"{operation}, {end}, copied {name}: {octets:g}, should be {what} {value}")
        right &= {"<": below, ">": octets > int(value),
                  "=": octets >= int(value) and (below or octets == int(value))}[what]
    return right


def locked(file, operation, most):
    """Whether locks were taken less often than that per operation."""
    line = counted_line(file, operation)
    taken = {f"{end}, {name}": times / line["n"] for end in ("client", "server")
             for name, times in line["locks"][end].items()}
    print(f"{operation}: {sum(taken.values()):g} locks, should be less than {most}; {taken}")
    # None at one end: then it was not traced.
    return all(line["locks"].values()) and sum(taken.values()) < float(most)


def numbers(file, operation, end, *expected):
    """Whether the counters of this end are so, per operation, and all others 0."""
    line = counted_line(file, operation)
    counted = {name: value / line["n"] for name, value in line[end].items()}
    want = {}
    for one in expected:
        name, _, value = one.partition("=")
        least, _, most = value.partition("..")
        want[name.replace("_", " ")] = (float(least), float(most or least))
    print(f"{operation}, {end}, {line['n']} times: {line['nfs']}")
    # What else the client has asked for meanwhile, in one message each.
    others = (sum(line["nfs"].values()) - max(line["nfs"].values())) / line["n"]
    right = True
    for name in sorted(want | counted):
        # These depend on the lengths of names and handles, and on where data lies.
        if name not in want and ("octets" in name or name == "elements"):
            continue
        least, most = want.get(name, (0, 0))
        if name not in CHUNKS:
            most += others
        if not least <= counted.get(name, 0) <= most:
            print(f"{name}: {counted.get(name, 0):g}, should be {least:g} to {most:g}")
            right = False
    return right


def judge(file, directory):
    """Each line of the input by itself: to start Python for each takes a guest long."""
    for number, line in enumerate(sys.stdin):
        what, *words = line.rstrip("\n").split("\t")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                right = {"numbers": numbers, "copied": copied, "locked": locked}[what](file, *words)
            except (LookupError, StopIteration, ValueError) as error:
                right = False
                print(f"{line.rstrip()}: {error!r}")
        Path(f"{directory}/{number}").write_text(
            ("right\n" if right else "wrong\n") + said.getvalue(), encoding="ascii")


def main(what, *arguments):
    """Do what the command line says."""
    if what == "locks":
        print(json.dumps(locks(*arguments)))
    else:
        {"prepare": prepare, "run": run, "few": few, "judge": judge}[what](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
