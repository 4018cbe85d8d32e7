# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What this module's version 2 is measured by, and what came of it.

A ratio is to the kernel's own transport in the same run. Where there were rounds it is the
median of the ratios of each round: what made one round slow made both slow.
"""

import dataclasses
import statistics
from collections.abc import Callable

import memory

KIB, MIB = 1 << 10, 1 << 20
OURS, FIXED, PLACED, OLD, THEIRS, TCP = "v2", "fixed", "rtrext", "v1", "intree", "tcp"
# Version 2 with ddp_threshold above and below all sizes: only measured if somebody names them.
STREAM, CHUNK = "stream", "chunk"
TRANSPORTS = (OURS, STREAM, CHUNK, PLACED, OLD, THEIRS, TCP)
# Those whose counts and memory are of interest.
RDMA = (OURS, STREAM, CHUNK, FIXED, PLACED, OLD, THEIRS)
MET, MISSED, UNKNOWN = "met", "missed", "not measured"
EMULATED = f"{UNKNOWN} (emulated guests)"
SENDS = ("Sends", "Sends with invalidate")
# The kernel's own transport does not count these.
COPIED = ("octets copied to Sends", "octets copied from Receives")


def size_name(size):
    """As people write it."""
    if size < KIB:
        return f"{size} B"
    return f"{size // KIB} KiB" if size < MIB else f"{size // MIB} MiB"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One thing whose time was measured."""
    delay: int          # round-trip time added, in milliseconds
    work: str           # READ, WRITE or STORM
    size: int           # octets of each
    depth: int          # how many at a time
    nconnect: int = 1

    def key(self):
        """Its name in results."""
        return f"{self.delay} ms, {self.work} {self.size}, depth {self.depth}, " \
               f"nconnect {self.nconnect}"

    def text(self):
        """For people."""
        what = self.work if self.work == "STORM" else f"{self.work} {size_name(self.size)}"
        return f"{what}, depth {self.depth}, +{self.delay} ms" + \
            (f", nconnect {self.nconnect}" if self.nconnect > 1 else "")


def by_round(ours, theirs):
    """Ratios of lists that have a figure for each round, or None."""
    return [one / other for one, other in zip(ours, theirs)] if ours and theirs else None


class Results:
    """What has been measured, of which parts may be missing; emulated: times are of guests that a
    processor does not run itself."""

    def __init__(self, parts, emulated=False):
        self.parts, self.emulated = parts, emulated

    def ratio(self, cell, figure, transport=OURS):
        """Ours to theirs, of each round, or None."""
        found = self.parts.get("latency", {}).get(cell.key(), {})
        return by_round(*(found.get(t, {}).get(figure) for t in (transport, THEIRS)))

    def counts(self, transport, operation):
        """{"n":, "nfs":, "client":, "server":, ...}, or None without figures of both ends: what
        has not grown is not among them, but each operation makes both ends send."""
        line = self.parts.get("counts", {}).get(transport, {}).get(operation)
        return line if line and all(any(line.get(end, {}).get(name) for name in SENDS)
                                    for end in memory.ENDS) else None

    def count(self, transport, operation, end, *names):
        """Sum of these counters per operation, or None."""
        line = self.counts(transport, operation)
        return sum(line[end].get(name, 0) for name in names) / line["n"] if line else None

    def copied(self, transport, operation):
        """Octets at both ends per operation, or None if the transport does not count them."""
        line = self.counts(transport, operation)
        told = line and any(name in line[end] for end in memory.ENDS for name in COPIED)
        return sum(self.count(transport, operation, end, *COPIED)
                   for end in memory.ENDS) if told else None

    def instructions_ratio(self, operation, pick, transport=OURS):
        """Ours to theirs, of what pick() takes of them, or None."""
        found = self.parts.get("instructions", {}).get(operation, {})
        values = [pick(found[t]) for t in (transport, THEIRS) if t in found]
        return values[0] / values[1] if len(values) == 2 and values[1] else None


@dataclasses.dataclass(frozen=True)
class Mark:
    """A figure that has to reach a limit."""
    name: str
    limit: float
    figure: Callable[[Results], list[float] | float | None]     # a list has one for each round
    least: bool = False     # the limit is the least, not the most, that is allowed
    native: bool = False    # the time of guests that are emulated says nothing of it

    def rounds(self, results):
        """The figure of each round; nothing if it was not measured, or emulated."""
        if self.native and results.emulated:
            return []
        value = self.figure(results)
        if value is None:
            return []
        return value if isinstance(value, list) else [value]

    def judge(self, results):
        """(figure, one of MET, MISSED, UNKNOWN, EMULATED)"""
        rounds = self.rounds(results)
        if not rounds:
            return None, EMULATED if self.native and results.emulated and \
                self.figure(results) is not None else UNKNOWN
        value = statistics.median(rounds)
        reached = value >= self.limit if self.least else value <= self.limit
        return value, MET if reached else MISSED


def timed(name, limit, figure, least=False):
    """A mark for times."""
    return Mark(name, limit, figure, least, native=True)


def latency(work, size, delay=0, transport=OURS):
    """Of one at a time, as a ratio."""
    return lambda results: results.ratio(Cell(delay, work, size, 1), "latency_us", transport)


def operations(work, size, depth, delay=0):
    """Per second, as a ratio."""
    return lambda results: results.ratio(Cell(delay, work, size, depth), "per_second")


def worst(figures, pick):
    """Of several that have rounds, by their medians, if all are there."""
    def figure(results):
        values = [one(results) for one in figures]
        return None if None in values else pick(values, key=statistics.median)
    return figure


def nothing_registered(results):
    """Registrations and RDMA operations, of all that has to do without."""
    names = ["READDIR 1000", "GETACL 16 KiB"] + \
        [f"{work} {size_name(size)}" for work in ("READ", "WRITE")
         for size in (512, 4 * KIB, 16 * KIB)]
    found = [results.count(OURS, name, end, "registrations", "RDMA Reads", "RDMA Writes")
             for name in names for end in memory.ENDS]
    return None if None in found else sum(found)


# What goes by RDMA Read needs one more.
DOORBELLS = ["GETATTR", "LOOKUP", "CREATE", "GETACL 16 KiB"] + \
    [f"READ {size_name(size)}" for size in (4 * KIB, 16 * KIB, 64 * KIB)] + \
    [f"WRITE {size_name(size)}" for size in (4 * KIB, 16 * KIB)]


def doorbells(results):
    """The most for one message."""
    found = []
    for name in DOORBELLS:
        line = results.counts(OURS, name)
        rings = [line[end].get("send doorbells") for end in memory.ENDS] if line else []
        if not line or not line["nfs"] or not all(rings):
            return None
        # An operation may take a GETATTR besides, once in a while.
        found.append(max(rings) / sum(line["nfs"].values()))
    return max(found)


def locks(results):
    """Of the transport, for one READ or WRITE of 4 KiB, both ends."""
    found = []
    for name in ("READ 4 KiB", "WRITE 4 KiB"):
        line = results.counts(OURS, name)
        if not line or "locks" not in line:
            return None
        found.append(sum(sum(end.values()) for end in line["locks"].values()) / line["n"])
    return max(found)


COPIED_SIZES = (4 * KIB, 16 * KIB, 64 * KIB)
# A header and 200 octets of NFS are not data.
FEW = KIB


def copies(octets, size):
    """How often data of this size were copied, also in part, if so many octets were."""
    whole, rest = divmod(octets, size)
    return whole if rest <= FEW else octets / size


def copied_by_client(results):
    """How often the client has copied the data of a WRITE: what it sends and does not
    send from where it was."""
    found = []
    for size in COPIED_SIZES:
        name = f"WRITE {size_name(size)}"
        sent, in_place = (results.count(OURS, name, "client", counter) for counter in
                          ("octets by Send", "octets by Send in place"))
        if sent is None:
            return None
        found.append(copies(sent - in_place, size))
    return max(found)


def copied_by_server(results):
    """The same of the server, which says itself what it copies of what it receives."""
    found = [results.count(OURS, f"WRITE {size_name(size)}", "server",
                           "octets copied from Receives") for size in COPIED_SIZES]
    # Results of other versions of the module have no such counter.
    if None in found or not results.count(OURS, "WRITE 4 KiB", "client",
                                          "octets copied to Sends"):
        return None
    return max(map(copies, found, COPIED_SIZES))


def instructions_of_core(results):
    """For a READ or a WRITE of 4 KiB, both ends."""
    found = [results.parts.get("core", {}).get(f"{work} 4 KiB, {OURS}", {}).get("instructions")
             for work in ("READ", "WRITE")]
    return None if None in found else max(found)


def nothing_fetched(results):
    """Registrations and RDMA operations of a WRITE whose data are placed: without any it
    takes one round trip."""
    found = [results.count(PLACED, name, end, "registrations", "RDMA Reads", "RDMA Writes")
             for name in PLACED_WRITES for end in memory.ENDS]
    return None if None in found else sum(found)


def copied_of_placed(results):
    """Octets that the server copies of such a WRITE: what is in front of the data. That is
    never nothing."""
    found = [results.count(PLACED, name, "server", "octets copied from Receives")
             for name in PLACED_WRITES]
    return max(found) if all(found) else None


def whole_path(*operations_of, transport=OURS):
    """Instructions, as a ratio; of several operations the worst."""
    def figure(results):
        values = [results.instructions_ratio(name, lambda found: found["total"], transport)
                  for name in operations_of]
        return None if None in values else max(values)
    return figure


def instructions_of_module(results):
    """The transport's own, for a READ or a WRITE of 4 KiB, as a ratio."""
    values = [results.instructions_ratio(f"{work} 4 KiB",
                                         lambda found: sum(found["parts"]["transport"].values()))
              for work in ("READ", "WRITE")]
    return None if None in values else max(values)


def memory_at_rest(end):
    """Of one of the most connections that there were, as a ratio."""
    def figure(results):
        measured = results.parts.get("memory", {})
        found = measured.get(str(memory.most(measured)), {}).get(memory.REST, {}).get(end, {})
        return by_round(*(found.get(one) for one in (OURS, THEIRS)))
    return figure


PLACED_WRITES = tuple(f"WRITE {size_name(size)}" for size in COPIED_SIZES)
ABOVE = (16 * KIB, 64 * KIB, 256 * KIB, MIB)
MARKS = (
    timed("WRITE 4 KiB, 10 ms, latency", 0.55, latency("WRITE", 4 * KIB, 10)),
    timed("WRITE 16 KiB, 10 ms, latency", 0.55, latency("WRITE", 16 * KIB, 10)),
    timed("WRITE 64 KiB, 10 ms, latency", 0.6, latency("WRITE", 64 * KIB, 10)),
    timed("WRITE 256 KiB, 10 ms, latency", 0.7, latency("WRITE", 256 * KIB, 10)),
    timed("WRITE 4 KiB, no delay, latency", 0.6, latency("WRITE", 4 * KIB)),
    timed("READ 4 KiB, no delay, latency", 0.8, latency("READ", 4 * KIB)),
    timed("WRITE 4 KiB, depth 16, operations", 1.4, operations("WRITE", 4 * KIB, 16), True),
    timed("READ 4 KiB, depth 16, operations", 1.3, operations("READ", 4 * KIB, 16), True),
    timed("WRITE 16 KiB to 1 MiB, no delay, worst latency", 0.9,
          worst([latency("WRITE", size) for size in ABOVE], max)),
    timed("READ 16 KiB to 1 MiB, no delay, worst latency", 0.9,
          worst([latency("READ", size) for size in ABOVE], max)),
    timed("1 MiB blocks, depth 8, no delay, throughput", 1,
          worst([operations(work, MIB, 8) for work in ("READ", "WRITE")], min), True),
    timed("1 MiB blocks, depth 8, 1 ms, throughput", 1.1,
          worst([operations(work, MIB, 8, 1) for work in ("READ", "WRITE")], min), True),
    timed("1 MiB blocks, depth 8, 10 ms, throughput", 1.1,
          worst([operations(work, MIB, 8, 10) for work in ("READ", "WRITE")], min), True),
    Mark("READ, WRITE to 16 KiB, READDIR, GETACL: registrations and RDMA operations", 0,
         nothing_registered),
    Mark("doorbells of a message, most", 1, doorbells),
    Mark("locks for 4 KiB, both ends", 8, locks),
    Mark("copies of the data of a WRITE to 64 KiB, client", 1, copied_by_client),
    Mark("copies of the data of a WRITE to 64 KiB, server", 0, copied_by_server),
    Mark("memory of a connection at rest, client", 1, memory_at_rest("client")),
    Mark("memory of a connection at rest, server", 1, memory_at_rest("server")),
    # Its limit was chosen when counting began, and it is no ratio.
    Mark("instructions of the core, 4 KiB, both ends", 1200, instructions_of_core),
    Mark("instructions of the module, 4 KiB, both ends", 0.9, instructions_of_module),
    Mark("instructions of the whole path, READ 4 KiB", 0.78, whole_path("READ 4 KiB")),
    Mark("instructions of the whole path, WRITE 4 KiB", 0.62, whole_path("WRITE 4 KiB")),
    Mark("instructions of the whole path, READ 16 KiB", 0.85, whole_path("READ 16 KiB")),
    Mark("instructions of the whole path, WRITE 16 KiB", 0.75, whole_path("WRITE 16 KiB")),
    Mark("instructions of the whole path, 64 KiB", 0.93,
         whole_path("READ 64 KiB", "WRITE 64 KiB")),
    Mark("instructions of the whole path, 1 MiB", 0.98, whole_path("READ 1 MiB", "WRITE 1 MiB")),
    Mark("rtrext, WRITE 4 to 64 KiB: registrations and RDMA operations", 0, nothing_fetched),
    Mark("rtrext, WRITE 4 to 64 KiB: octets copied by the server", FEW, copied_of_placed),
    Mark("rtrext, instructions of the whole path, WRITE 4 KiB", 0.55,
         whole_path("WRITE 4 KiB", transport=PLACED)),
    Mark("rtrext, instructions of the whole path, WRITE 16 KiB", 0.65,
         whole_path("WRITE 16 KiB", transport=PLACED)),
    Mark("rtrext, instructions of the whole path, WRITE 64 KiB", 0.85,
         whole_path("WRITE 64 KiB", transport=PLACED)),
    timed("rtrext, WRITE 256 KiB, 10 ms, latency", 0.6,
          latency("WRITE", 256 * KIB, 10, PLACED)),
)
