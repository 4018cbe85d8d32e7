# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Whose time it was, of a profile that perf has taken in a guest, or of guests in user-mode Linux."""

import bisect
import collections
import re
import subprocess

# A module is one of these parts; any other one is the kernel's.
PARTS = {
    "rpcrdma": "transport",
    "sunrpc": "sunrpc", "auth_rpcgss": "sunrpc", "rpcsec_gss_krb5": "sunrpc",
    "nfs": "nfs", "nfsv4": "nfs", "lockd": "nfs", "grace": "nfs",
    "nfsd": "nfsd", "nfs_acl": "nfsd",
    "rdma_rxe": "rxe",
    "ib_core": "ib_core", "rdma_cm": "ib_core", "ib_cm": "ib_core", "ib_uverbs": "ib_core",
}
KERNEL, USER, IDLE, HOST = "kernel", "user", "idle", "host"
NAMES = ("transport", "sunrpc", "nfs", "nfsd", "rxe", "ib_core", KERNEL, USER, IDLE)
# In user-mode Linux nobody is sampled who waits, and what it asks of its host is.
NATIVE_NAMES = (*NAMES[:-1], HOST)
# What there is without any.
NONE = {"samples": 0, "parts": {name: {} for name in NAMES}}
# Where the kernel waits for an interrupt. That should hardly ever be.
WAITS = ("pv_native_safe_halt", "native_safe_halt", "acpi_safe_halt", "default_idle")
# No function is longer. Who knows where the last one ends?
LAST_FUNCTION = 1 << 16
# Addresses from here on are the kernel's.
HIGH = 1 << 63


class Symbols:
    """The functions of the kernel and its modules, from /proc/kallsyms."""

    def __init__(self, path):
        found = []
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            if words := re.match(r"([0-9a-f]+) [tTwW] (\S+)(?:\s+\[(\S+)\])?$", line):
                address, function, module = words.groups()
                found.append((int(address, 16), function, PARTS.get(module, KERNEL)))
        found.sort()
        self.starts = [address for address, _, _ in found]
        self.names = [(part, function) for _, function, part in found]

    def of(self, address):
        """(part, function)"""
        if address < HIGH:
            return USER, ""
        part, function = self.names[bisect.bisect_right(self.starts, address) - 1]
        return (IDLE, function) if function in WAITS else (part, function)

    def native(self, address):
        """Its part, of an address in the process that is a kernel in user-mode Linux."""
        if self.starts and address > self.starts[-1] + LAST_FUNCTION:
            return HOST     # its libraries
        at = bisect.bisect_right(self.starts, address) - 1
        return self.names[at][0] if at >= 0 else KERNEL

    def shares(self, path, total):
        """What each part, and each of its functions, has of so many instructions, by what
        perf has recorded: {"samples": their number, "parts": {part: {function:
        instructions}}}.

        How many instructions a sample stands for need not be known: perf's own work is in
        the time between two samples, and is not sampled, if it writes to memory only.
        """
        told = subprocess.run(["perf", "script", "-i", path, "-F", "ip"], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        found = collections.Counter(self.of(int(word, 16)) for word in told.split())
        each = total / max(found.total(), 1)
        return {"samples": found.total(), "parts": self.by_part(found, each)}

    def counted(self, before, after, operations):
        """As shares(), of two files of exact.c: in @before so many operations were done, in
        @after as many more. What is around the operations is in both."""
        found = collections.Counter()
        for path, sign in ((after, 1), (before, -1)):
            for line in path.read_text(encoding="ascii").splitlines():
                address, times = (int(word, 16) for word in line.split())
                found[self.of(address)] += sign * times
        return {"samples": operations, "parts": self.by_part(found, 1 / operations)}

    @staticmethod
    def by_part(found, each):
        """{part: {function: figure}}, the largest first, of the Counter found."""
        parts = {name: {} for name in NAMES}
        for (part, function), n in found.most_common():
            if n:
                parts[part][function] = n * each
        return parts


def native_parts(told, ends, each):
    """What each part of each end has, of guests in user-mode Linux.

    told: processes and addresses, as "perf script -F pid,ip" prints them; ends: {end: (Symbols,
    its kernel's process, those that run its programs)}; each: what one sample stands for.
    Return: {end: {part: figure}}.
    """
    whose = {}
    for end, (symbols, kernel, programs) in ends.items():
        whose[kernel] = (end, symbols)
        whose.update((one, (end, None)) for one in programs)
    found = {end: dict.fromkeys(NATIVE_NAMES, 0) for end in ends}
    for pid, address in re.findall(r"(\d+)\s+([0-9a-f]+)", told):
        if int(pid) not in whose:
            continue    # a program that had not begun
        end, symbols = whose[int(pid)]
        if int(address, 16) >= HIGH:
            part = HOST
        else:
            part = symbols.native(int(address, 16)) if symbols else USER
        found[end][part] += each
    return found
