# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Find what a kernel complained about in its log."""

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
    r"suspected memory leaks", r"refcount_t: ", r"list_(add|del) corruption",
    r"detected buffer overflow", r"field-spanning (read|write)",
    r"workqueue: .* (flushing|hogged)", r"\d+ lockup", r"stack-protector",
    r"kernel NULL pointer", r"corrupted (stack|list)", r"unregister_netdevice: waiting",
    r"(rpcrdma|svcrdma|xprtrdma): disagrees about version",
    r"rpcrdma: Unknown symbol", r"rpcrdma: no symbol version",
)))
ENDS = re.compile(r"---\[ end trace|</TASK>|={20,}$")
BEFORE, AFTER, SHOWN = 3, 50, 4     # lines, lines, complaints


def stamp_free(line):
    """The line without its [  12.345678] time stamp."""
    return re.sub(r"^(<\d+>)?\[\s*\d+\.\d+\](\[.*?\])? ?", "", line)


def complaints(log, allowed=None):
    """Extracts of the log, each a list of lines around one complaint.

    allowed: a compiled pattern; a matching line is no complaint.
    """
    lines = log.splitlines()
    found, after = [], -1
    for number, line in enumerate(lines):
        if number <= after or not COMPLAINT.search(line):
            continue
        if allowed and allowed.search(line):
            continue
        last = number
        for last in range(number + 1, min(number + AFTER, len(lines))):
            if last > number + 2 and ENDS.search(stamp_free(lines[last])):
                break
        found.append(lines[max(0, number - BEFORE):last + 1])
        after = last
    return found
