# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What a machine's kernel holds, of what in-guests has taken down of /proc, and what of it
is a connection's."""

import re
import statistics

# What programs have, or what the kernel could give back at once, in /proc/meminfo.
OTHERS = ("MemFree", "Buffers", "Cached", "AnonPages", "SReclaimable")
PAGE = 4096
# As in-guests calls its files.
REST, BUSY = "rest", "busy"
# With more connections guests that are emulated cannot do what keeps all of them busy: what
# rxe sends again and again takes all of their time.
BUSY_MOST = 64
ENDS = ("client", "server")


def held(text):
    """Octets that the kernel holds, of /proc/meminfo and /proc/zoneinfo behind each other.

    A page that is free and in the list of one processor is not in MemFree. There can be as
    many of them as a connection has pages.
    """
    sizes = {name: int(kib) * 1024
             for name, kib in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}
    cached = re.findall(r"^ +count: +(\d+)$", text, re.MULTILINE)
    if missing := {"MemTotal", *OTHERS} - sizes.keys():
        raise ValueError(f"/proc/meminfo has no {', '.join(sorted(missing))}")
    if not cached:
        raise ValueError("/proc/zoneinfo has no lists of processors")
    return sizes["MemTotal"] - sum(sizes[name] for name in OTHERS) - PAGE * sum(map(int, cached))


def of_connection(before, after, count):
    """Octets of each of so many, by what was held before there were any, and after. after
    is a list: the most counts."""
    return (max(map(held, after)) - held(before)) / count


def take(directory, transport, number, counts):
    """{count: {moment: {end: octets of a connection}}} of one round, by the files there."""
    def read(count, moment, end):
        return (directory / f"{transport}.{number}.{count}.{moment}.{end}").read_text(
            encoding="ascii")

    found = {}
    for count in counts:
        moments = (REST, BUSY) if count <= BUSY_MOST else (REST,)
        found[count] = {moment: {} for moment in moments}
        for end in ENDS:
            before = read(count, "none", end)
            for moment in moments:
                # At rest once; busy now and then, divided by lines of dashes.
                found[count][moment][end] = of_connection(
                    before, read(count, moment, end).split("---\n"), count)
    return found


def gather(found, transport, one):
    """Add a round: found is {count: {moment: {end: {transport: [octets of each round]}}}}."""
    for count, moments in one.items():
        for moment, ends in moments.items():
            for end, octets in ends.items():
                found.setdefault(str(count), {}).setdefault(moment, {}).setdefault(
                    end, {}).setdefault(transport, []).append(octets)


def median(measured, count, moment, end, transport):
    """Octets of a connection, or None."""
    rounds = measured.get(str(count), {}).get(moment, {}).get(end, {}).get(transport)
    return statistics.median(rounds) if rounds else None


def most(measured):
    """The most connections that there were, or None: of many, one has least to do with what
    else the machine holds now and then."""
    return max(map(int, measured), default=None)
