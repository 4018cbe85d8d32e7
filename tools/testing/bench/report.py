# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tables for people, of what has been measured."""

import re
import statistics

import memory
import model
import samples
from marks import (COPIED, MARKS, MET, MISSED, OURS, PLACED, RDMA, SENDS, THEIRS,
                   TRANSPORTS, UNKNOWN, size_name)


def number(value):
    """Short, and a whole number as one."""
    if value is None:
        return "-"
    if abs(value - round(value)) < 0.005:
        return f"{round(value):,}"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


def table(head, rows):
    """Columns under each other: the first to the left, the others to the right."""
    rows = [head] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) if not i else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
             for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]]) + "\n"


def titled(title, text):
    """A section."""
    return f"\n{title}\n{'=' * len(title)}\n{text}" if text else ""


def spread(rounds):
    """The least and the most of several."""
    return f" ({min(rounds):.2f}..{max(rounds):.2f})" if len(rounds) > 1 else ""


def marks(results):
    """Each with its figure, and what it was in the rounds that it is of."""
    rows, verdicts = [], []
    for mark in MARKS:
        value, verdict = mark.judge(results)
        limit = f"{'>=' if mark.least else '<='} {number(mark.limit)}"
        rows.append([mark.name, number(value), limit, verdict + spread(mark.rounds(results))])
        verdicts.append(verdict)
    return table(["mark", "figure", "limit", ""], rows) + "\n" + ", ".join(
        f"{sum(verdict.startswith(what) for verdict in verdicts)} {what}" for what in (MET, MISSED, UNKNOWN)) + "\n"


# A column: its head, and for each end the counters that are added up.
COLUMNS = (
    ("Sends", SENDS),
    ("Receives", ("Receives posted",)),
    ("RDMA Reads", ("RDMA Reads",)),
    ("RDMA Writes", ("RDMA Writes",)),
    ("registr.", ("registrations",)),
    ("local inv.", ("local invalidates",)),
    ("doorbells send", ("send doorbells",)),
    ("receive", ("receive doorbells",)),
    ("completions", ("send completions", "receive completions")),
)
OCTETS = (
    ("by Send", ("octets by Send",)),
    ("in place", ("octets by Send in place",)),
    ("by RDMA", ("octets by RDMA Read", "octets by RDMA Write")),
    ("registered", ("octets registered",)),
    ("copied", COPIED),
)


def both_ends(results, transport, operation, names):
    """'client / server', per operation."""
    if transport == THEIRS and names == COPIED:
        return "-"
    return " / ".join(number(results.count(transport, operation, end, *names))
                      for end in ("client", "server"))


def counts(results, columns):
    """A row for each operation and transport."""
    counted = results.parts.get("counts", {})
    rows = []
    for operation in next((counted[t] for t in RDMA if t in counted), {}):
        for transport in RDMA:
            if operation in counted.get(transport, {}):
                rows.append([f"{operation}, {transport}"] +
                            [both_ends(results, transport, operation, names)
                             for _, names in columns])
    return table(["per operation, client / server"] + [head for head, _ in columns],
                 rows) if rows else ""


def procedures(results):
    """What else than one procedure an operation was."""
    counted = results.parts.get("counts", {}).get(OURS, {})
    unusual = [f"{name}, {line['n']} times: " + ", ".join(
        f"{procedure} {calls}" for procedure, calls in sorted(line["nfs"].items()))
        for name, line in counted.items() if list(line["nfs"].values()) != [line["n"]]]
    return "".join(f"{line}\n" for line in unusual)


def core(results):
    """Instructions of each operation, and of the functions of the core in it."""
    rows = []
    for operation, figure in results.parts.get("core", {}).items():
        rows.append([operation, "", number(figure["instructions"])])
        rows += [[f"    {name}", number(calls), number(cost)]
                 for name, (calls, cost) in figure["functions"].items()]
    return table(["both ends together", "calls", "instructions"], rows) if rows else ""


# Functions of the transport that are listed.
FUNCTIONS = 25


def instructions(results):
    """Of each operation and transport: the whole path, and whose they were."""
    rows = []
    for operation, found in results.parts.get("instructions", {}).items():
        for transport in TRANSPORTS:
            if one := found.get(transport):
                rows.append([f"{operation}, {transport}", number(one["total"])] +
                            [number(sum(one["parts"][part].values()) if one["samples"] else None)
                             for part in samples.NAMES])
    return table(["per operation, both ends", "latency", *samples.NAMES], rows) if rows else ""


def profile(results):
    """Of each cell, transport and end: what a processor works for one operation, and for whom."""
    rows = []
    for cell, found in results.parts.get("profile", {}).items():
        for transport in TRANSPORTS:
            for end in memory.ENDS if transport in found else ():
                parts = found[transport][end]
                rows.append([f"{cell_text(cell)}, {transport}, {end}",
                             number(found[transport]["per_second"]), number(sum(parts.values()))] +
                            [number(parts[part]) for part in samples.NATIVE_NAMES])
    return table(["microseconds of a processor per operation", "per second", "all",
                  *samples.NATIVE_NAMES], rows) if rows else ""


def percent(share):
    """Of it."""
    return f"{100 * share:.1f}"


def waits(results):
    """Of each cell and transport: how often processors wait, and what waits for the pump."""
    rows = []
    for cell, found in results.parts.get("contention", {}).items():
        for transport in (one for one in RDMA if one in found):
            one, locks = found[transport], found[transport]["locks"].values()
            depth = int(re.search(r"depth (\d+)", cell)[1])
            apart = [one["others"].get(part, 0) for part in ("sunrpc", "rxe")]
            rows.append([
                f"{cell_text(cell)}, {transport}", number(one["per_second"]),
                percent(sum(lock["contended"] for lock in locks)),
                percent(sum(lock["waited_us"] for lock in locks) * one["per_second"] / 1e6 / depth),
                *map(percent, apart), percent(sum(one["others"].values()) - sum(apart)),
                *(percent(one["handed"][end]) if one["handed"] else "-" for end in memory.ENDS),
                *(number(one["handed_us"].get(end)) for end in memory.ENDS),
                percent(one["stopped"])])
    return table(["waits per 100 operations", "per second", "own", "% of latency", "sunrpc", "rxe",
                  "rest", "% handed client", "server", "us client", "server", "host"],
                 rows) if rows else ""


def busy(results):
    """Of each cell and transport: how long it sends, and its pumps run, for one operation."""
    names = ("send", *(f"{end} {what}" for end in memory.ENDS for what in ("post", "build")))
    rows = [[f"{cell_text(cell)}, {transport}"] +
            [number(found[transport]["busy_us"].get(name)) for name in names]
            for cell, found in results.parts.get("contention", {}).items()
            for transport in RDMA if transport in found]
    return table(["microseconds per operation", *names], rows) if rows else ""


def contended(results):
    """Of each cell and transport: its locks."""
    rows = []
    for cell, found in results.parts.get("contention", {}).items():
        for transport in RDMA:
            for name, one in sorted(found.get(transport, {}).get("locks", {}).items()):
                if "taken" in one:
                    rows.append([f"{cell_text(cell)}, {transport}, {name}", number(one["taken"]),
                                 percent(one["contended"] / one["taken"]),
                                 number(one["held_us"]), number(one["waited_us"])])
    return table(["locks of the transport", "taken per operation", "% contended", "held us",
                  "waited us per operation"], rows) if rows else ""


def functions(results):
    """Where the transport spends them, of 4 KiB."""
    text = ""
    for operation in ("READ 4 KiB", "WRITE 4 KiB"):
        for transport in (OURS, PLACED, THEIRS):
            found = results.parts.get("instructions", {}).get(operation, {}).get(transport)
            if found and found["samples"]:
                rows = [[name, number(cost)] for name, cost in found["parts"]["transport"].items()]
                text += table([f"{operation}, {transport}", "instructions"],
                              rows[:FUNCTIONS]) + "\n"
    return text


def locks(results):
    """Of the transport, for those operations that were traced."""
    rows = []
    for transport, lines in results.parts.get("counts", {}).items():
        for operation, line in lines.items():
            if "locks" in line:
                rows.append([f"{operation}, {transport}"] + [
                    ", ".join(f"{name} {number(taken / line['n'])}" + held_for(line, end, name)
                              for name, taken in sorted(line["locks"][end].items()))
                    for end in ("client", "server")])
    return table(["taken per operation", "client", "server"], sorted(rows)) if rows else ""


def held_for(line, end, name):
    """How long each time, as a rule; results of earlier runs do not have it."""
    held = line.get("held", {}).get(end, {})
    return f" ({held[name]} us)" if name in held else ""


def figure(values):
    """Median, and from the least to the most in percent of it."""
    if not values:
        return "-"
    middle = statistics.median(values)
    return f"{number(middle)} ±{(max(values) - min(values)) / middle * 50:.0f}%"


def latency(results, name):
    """A row for each cell."""
    measured = results.parts.get("latency", {})
    shown = [t for t in TRANSPORTS if any(t in found for found in measured.values())]
    rows = []
    for cell, found in measured.items():
        theirs = found.get(THEIRS, {}).get(name)
        rows.append([cell_text(cell)] + [figure(found.get(t, {}).get(name)) for t in shown] + [
            number(statistics.median(found[t][name]) / statistics.median(theirs))
            if theirs and found.get(t, {}).get(name) else "-"
            for t in shown if t != THEIRS])
    return table(["cell", *shown] + [f"{t}/{THEIRS}" for t in shown if t != THEIRS],
                 rows) if rows else ""


def memory_of(results):
    """A row for each number of connections, at rest and busy; KiB of one of them."""
    measured = results.parts.get("memory", {})
    shown = [t for t in RDMA if any(t in transports for ends in measured.values()
                                    for moment in ends.values() for transports in moment.values())]
    rows = []
    for count in sorted(map(int, measured)):
        for moment, ends in measured[str(count)].items():
            rows.append([f"{count}, {moment}"] + [
                figure([octets / 1024 for octets in ends[end].get(transport, [])])
                for end in memory.ENDS for transport in shown])
    return table(["connections"] + [f"{end}, {transport}" for end in memory.ENDS
                                    for transport in shown], rows) if rows else ""


def cell_text(key):
    """A cell's name with its size as people write it."""
    delay, work, *rest = key.split(", ")
    what, size = work.split()
    return ", ".join([delay, what if what == "STORM" else f"{what} {size_name(int(size))}",
                      *rest])


def predictions(results):
    """What the model says of a real adapter."""
    counted = results.parts.get("counts", {})
    rows = []
    for operation in counted.get(OURS, {}):
        if not all(operation in counted.get(t, {}) for t in (OURS, THEIRS)):
            continue
        found = [model.microseconds(results, t, operation) for t in (OURS, THEIRS)]
        rows.append([operation] + [f"{one.latency:.1f}" for one in found] +
                    [number(found[0].latency / found[1].latency)] +
                    [f"{one.processor:.1f}" for one in found] +
                    [number(found[0].processor / found[1].processor)])
    return table(["operation", f"latency {OURS}", THEIRS, "ratio", f"processor {OURS}",
                  THEIRS, "ratio"], rows) if rows else ""


def sensitivity(results):
    """The model's ratios as its costs are, and with one of them changed: those that stay on the
    same side of 1 do not hang on a guess."""
    found = model.sensitivity(results, OURS, THEIRS)
    rows = [[operation] + [f"{latency_ratio:.2f} / {processor_ratio:.2f}"
                           for latency_ratio, processor_ratio in ratios.values()]
            for operation, ratios in found.items()]
    return table(["latency / processor, ratios", *next(iter(found.values()))],
                 rows) if rows else ""


def report(found, results):
    """All of it."""
    return ", ".join([f"commit {found['commit']}", *found["kernels"]]) + "\n" + "".join((
        titled("Instructions of the protocol core", core(results)),
        titled("Instructions", instructions(results)),
        titled("Functions of the transport", functions(results)),
        titled("Counts", counts(results, COLUMNS)),
        titled("Octets", counts(results, OCTETS)),
        titled("Not one Call for one operation", procedures(results)),
        titled("Locks of the transport", locks(results)),
        titled("Latency in microseconds", latency(results, "latency_us")),
        titled("Operations per second", latency(results, "per_second")),
        titled("Whose a processor's time is", profile(results)),
        titled("Where processors wait for each other", waits(results)),
        titled("Locks that processors wait for", contended(results)),
        titled("How long one thread at a time sends", busy(results)),
        titled("Memory of a connection in KiB", memory_of(results)),
        titled("On a real adapter, by the model: microseconds of an operation",
               predictions(results)),
        titled("The same with one cost at half, and at double", sensitivity(results)),
        titled("Marks", marks(results))))
