# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Find what a kernel complained about, in its log and in kmemleak's report."""

import re

# A healthy run prints none of these.
COMPLAINT = re.compile("|".join((
    r"\bWARNING: ", r"\bBUG: ", r"\bBUG at ", r"\bBUG \S+ \(", r"\bKASAN: ",
    r"\bUBSAN: ", r"\bOops\b", r"\bDMA-API: ",
    r"general protection fault", r"unable to handle", r"Kernel panic", r"Bad page state",
    r"possible circular locking", r"possible recursive locking",
    r"inconsistent lock state", r"lock order inversion", r"suspicious RCU usage",
    r"suspicious rcu_dereference", r"bad unlock balance", r"held lock freed",
    r"locks? still held", r"trying to register non-static key", r"DEBUG_LOCKS_WARN_ON",
    r"BUG_?ON", r"INFO: task .* blocked", r"INFO: .*detected (expedited )?stall",
    r"soft lockup",
    r"hard LOCKUP", r"sleeping function called", r"scheduling while atomic",
    r"refcount_t: ", r"list_(add|del) corruption",
    r"detected buffer overflow", r"field-spanning (read|write)",
    r"workqueue: .* (flushing|hogged)", r"\d+ lockup", r"stack-protector",
    r"kernel NULL pointer", r"corrupted (stack|list)", r"unregister_netdevice: waiting",
    r"(rpcrdma|svcrdma|xprtrdma): disagrees about version",
    r"rpcrdma: Unknown symbol", r"rpcrdma: no symbol version",
)))
ENDS = re.compile(r"---\[ end trace|</TASK>|={20,}$")
# One of several scripts in the same guest.
SCRIPT = re.compile(r"guest: \S+ begins$")
BEFORE, AFTER, SHOWN = 3, 50, 4     # lines, lines, complaints

# Data races: what the kernel does beside the module, by design or not, is not looked
# at. One is the module's if a function of it made one of the accesses, or a function
# that is in no module did so for it.
RACE = re.compile(r"\bBUG: KCSAN: ")
RACE_LINES = 150
ACCESS = re.compile(r".* to 0x\w+ of \d+ bytes by .* on cpu \d+:$")
OURS = re.compile(r"^[^\[]*\n?[^\[]*\[rpcrdma\w*\]$")

# What cm_work_handler() of iw_cm leaks when it drops a request to connect, since the
# listener goes before its turn comes: a copy of the private data, which is freed in
# all other cases, and what siw has for the connection. Functions that had it
# allocated, how many objects; all within the time that siw gives a peer to ask.
DROPPED = ("cm_event_handler", "siw_cm_upcall", "siw_proc_mpareq")
DROPPED_TOO = ((("siw_cep_alloc", "siw_cm_work_handler", "process_one_work"), 1),
               (("siw_cm_work_handler", "process_one_work", "worker_thread"), 4),
               (("siw_recv_mpa_rr", "siw_proc_mpareq", "siw_cm_work_handler"), 1))
MPA_TIMEOUT = 5 * 250               # jiffies where HZ is 250; user-mode Linux has 100


# Who has lost what the kernel itself loses before its first program runs. hostfs of 6.12
# and of 7.3 loses the name of the root directory.
BOOT = re.compile(r'comm "swapper(/0)?", pid 1,')


def stamp_free(line):
    """The line without its [  12.345678] time stamp."""
    return re.sub(r"^(<\d+>)?\[\s*\d+\.\d+\](\[.*?\])? ?", "", line)


def ours(race):
    """Whether KCSAN's report, a list of lines, is about an access of the module's."""
    lines = [stamp_free(line).strip() for line in race]
    return any(ACCESS.match(line) and any(OURS.match("\n".join(lines[i + 1:i + n]))
                                          for n in (2, 3))
               for i, line in enumerate(lines))


def complaints(log, allowed=None):
    """Extracts of the log, each a list of lines around one complaint, the first of them
    which script it was, if it was one of several.

    allowed: a compiled pattern; a matching line is no complaint.
    """
    lines = log.splitlines()
    found, after, script = [], -1, None
    for number, line in enumerate(lines):
        if SCRIPT.search(line):
            script = number
        if number <= after or not COMPLAINT.search(line):
            continue
        if allowed and allowed.search(line):
            continue
        last, race = number, RACE.search(line)
        limit = number + (RACE_LINES if race else AFTER)
        for last in range(number + 1, min(limit, len(lines))):
            if last > number + 2 and ENDS.search(stamp_free(lines[last])):
                break
        if race and not ours(lines[number:last]):
            after = last
            continue
        begin = max(script or 0, number - BEFORE)
        shown = lines[begin:last + 1]
        if script is not None and script < begin:
            shown.insert(0, lines[script])
        found.append(shown)
        after = last
    return found


class Leak:
    """An object that kmemleak found."""

    def __init__(self, text):
        made = re.search(r", jiffies (\d+)", text)
        self.text = text
        self.made = int(made[1]) if made else 0     # the report broke off
        trace = re.findall(r"^ +(\w+)[.\w]*\+0x", text, flags=re.M)
        self.by = tuple(name for name in trace
                        if not name.startswith(("__kmalloc", "kmem")))[:3]


def leaks(report):
    """What kmemleak reported, a list of lines, without what is known of iw_cm and what
    was lost while the kernel booted."""
    head, *objects = re.split(r"^(?=unreferenced object )", report, flags=re.M)
    left = [Leak(text) for text in objects if not BOOT.search(text)]
    for event in [leak for leak in left if leak.by == DROPPED]:
        left.remove(event)
        for by, count in DROPPED_TOO:
            for leak in [leak for leak in left if leak.by == by
                         and 0 <= event.made - leak.made <= MPA_TIMEOUT][:count]:
                left.remove(leak)
    return (head + "".join(leak.text for leak in left)).splitlines()
