# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Plots of what has been measured, each as PNG and as SVG."""

import statistics

import matplotlib
import matplotlib.pyplot as plt
import memory
import model
import samples
from marks import KIB, MARKS, MET, MIB, OURS, RDMA, THEIRS, TRANSPORTS, Cell, size_name

matplotlib.use("Agg")
SIZES = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB)
DELAYS = (0, 1, 10)
DEPTHS = (1, 4, 16)
CONNECTIONS = {1: "-", 4: "--"}


def save(figure, out, name):
    """Both kinds of file."""
    figure.tight_layout()
    for kind in ("png", "svg"):
        figure.savefig(out / f"{name}.{kind}", dpi=120)
    plt.close(figure)


def latency(results, out, delay):
    """One at a time, by size, with the least and the most of all rounds."""
    measured = results.parts.get("latency", {})
    least = measured.get(Cell(delay, "READ", SIZES[0], 1).key())
    if not least:
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, work in zip(axes, ("READ", "WRITE")):
        for transport in least:
            rounds = [measured[Cell(delay, work, size, 1).key()][transport]["latency_us"]
                      for size in SIZES]
            middle = [statistics.median(one) for one in rounds]
            axis.errorbar(SIZES, middle, label=transport, marker="o", capsize=3, yerr=[
                [m - min(one) for m, one in zip(middle, rounds)],
                [max(one) - m for m, one in zip(middle, rounds)]])
        axis.set(xscale="log", yscale="log", title=f"{work}, {delay} ms added",
                 xticks=SIZES, xticklabels=[size_name(size) for size in SIZES],
                 ylabel="latency in us")
        axis.minorticks_off()
        axis.legend()
    save(figure, out, f"latency-{delay}ms")


def depths(results, out):
    """Operations of 4 KiB per second, by how many are under way; a panel for each delay."""
    measured = results.parts.get("latency", {})
    panels = {}
    for delay in DELAYS:
        found = {depth: measured.get(Cell(delay, "READ", SIZES[0], depth).key())
                 for depth in DEPTHS}
        panels[delay] = [depth for depth, there in found.items() if there]
    panels = {delay: there for delay, there in panels.items() if len(there) > 1}
    if not panels:
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False)
    for axis, (delay, there) in zip(axes[0], panels.items()):
        for transport in measured[Cell(delay, "READ", SIZES[0], there[0]).key()]:
            line = None
            for work, style in (("READ", "-"), ("WRITE", "--")):
                line, = axis.plot(there, [statistics.median(
                    measured[Cell(delay, work, SIZES[0], depth).key()][transport]["per_second"])
                    for depth in there], style, marker="o", label=f"{transport}, {work}",
                    color=line and line.get_color())
        axis.set(xscale="log", title=f"{size_name(SIZES[0])}, {delay} ms added", xlabel="depth",
                 ylabel="operations per second", xticks=there, xticklabels=there, ylim=(0, None))
        axis.minorticks_off()
        axis.legend(fontsize="small", loc="lower right")
    save(figure, out, "depths")


def operations(results, out, delay):
    """Operations per second, by size, with as many under way as there ever are; a line for each
    number of connections."""
    measured = results.parts.get("latency", {})

    def found(work, size, nconnect):
        return measured.get(Cell(delay, work, size, DEPTHS[-1], nconnect).key())

    if not all(found(work, size, 1) for work in ("READ", "WRITE") for size in SIZES):
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, work in zip(axes, ("READ", "WRITE")):
        for transport in found(work, SIZES[0], 1):
            line = None
            for nconnect, style in CONNECTIONS.items():
                there = [size for size in SIZES if found(work, size, nconnect)]
                line, = axis.plot(there, [
                    statistics.median(found(work, size, nconnect)[transport]["per_second"])
                    for size in there], style, marker="o", color=line and line.get_color(),
                    label=f"{transport}, nconnect {nconnect}" if there else None)
        axis.set(xscale="log", yscale="log", title=f"{work}, {delay} ms added, depth {DEPTHS[-1]}",
                 xticks=SIZES, xticklabels=[size_name(size) for size in SIZES],
                 ylabel="operations per second")
        axis.minorticks_off()
        axis.legend(fontsize="small")
    save(figure, out, f"operations-{delay}ms")


def prediction(results, out):
    """What the model says of a real adapter, and how far one cost at half or at double moves it."""
    found = model.sensitivity(results, OURS, THEIRS)
    if not found:
        return
    figure, axis = plt.subplots(figsize=(10, 1.5 + 0.35 * len(found)))
    for number, what in enumerate(("latency", "processor, both ends")):
        ratios = [[one[number] for one in costs.values()] for costs in found.values()]
        middle = [one[0] for one in ratios]
        axis.barh([at + 0.4 * number for at in range(len(found))], middle, height=0.4, label=what,
                  capsize=3, xerr=[[m - min(one) for m, one in zip(middle, ratios)],
                                   [max(one) - m for m, one in zip(middle, ratios)]])
    axis.axvline(1, color="black")
    axis.set_yticks([at + 0.2 for at in range(len(found))], list(found))
    axis.invert_yaxis()
    axis.set(xlabel=f"{OURS} / {THEIRS} on a real adapter, by the model; lines: one cost at half or "
                    "at double")
    axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, out, "prediction")


def instructions(results, out):
    """Of each operation and transport, by the part of the kernel that they are of."""
    bars = {f"{operation}, {transport}": found[transport]["parts"]
            for operation, found in results.parts.get("instructions", {}).items()
            for transport in TRANSPORTS if found.get(transport, {}).get("samples")}
    if not bars:
        return
    figure, axis = plt.subplots(figsize=(10, 1.5 + 0.25 * len(bars)))
    left = [0.0] * len(bars)
    for part in samples.NAMES:
        width = [sum(parts[part].values()) / 1000 for parts in bars.values()]
        axis.barh(range(len(bars)), width, left=left, label=part)
        left = [before + more for before, more in zip(left, width)]
    axis.set_yticks(range(len(bars)), bars)
    axis.invert_yaxis()
    axis.set(xlabel="thousand instructions of an operation, both ends")
    axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, out, "instructions")


def over(mark, value):
    """The figure as a part of what is allowed, for marks that are a least the other way
    round: more than one is missed."""
    return mark.limit / value if mark.least else value / mark.limit


def marks(results, out):
    """How far each is from its limit. Where nothing is allowed there is no ratio."""
    shown = [mark for mark in MARKS if mark.limit and all(mark.rounds(results)) and
             mark.rounds(results)]
    if not shown:
        return
    figure, axis = plt.subplots(figsize=(10, 1.5 + 0.25 * len(shown)))
    for at, mark in enumerate(shown):
        value, verdict = mark.judge(results)
        ratio, rounds = over(mark, value), [over(mark, one) for one in mark.rounds(results)]
        axis.barh(at, ratio, color="tab:green" if verdict == MET else "tab:red",
                  xerr=[[ratio - min(rounds)], [max(rounds) - ratio]], capsize=3)
    axis.axvline(1, color="black")
    axis.set_yticks(range(len(shown)), [mark.name for mark in shown])
    axis.invert_yaxis()
    axis.set(xlabel="of the limit: more than 1 is missed")
    save(figure, out, "marks")


def counts(results, out):
    """What an operation asks of both adapters."""
    counted = results.parts.get("counts", {})
    if not counted:
        return
    kinds = (("doorbells", ("send doorbells", "receive doorbells")),
             ("completions", ("send completions", "receive completions")),
             ("registrations", ("registrations",)))
    shown = [t for t in RDMA if t in counted]
    names = [name for name in counted[shown[0]] if all(name in counted[t] for t in shown)]
    width = 0.8 / len(shown)
    figure, axes = plt.subplots(len(kinds), 1, figsize=(10, 9), sharex=True)
    for axis, (title, counters) in zip(axes, kinds):
        for i, transport in enumerate(shown):
            axis.bar([at + (i - (len(shown) - 1) / 2) * width for at in range(len(names))],
                     [sum(results.count(transport, name, end, *counters)
                          for end in ("client", "server")) for name in names],
                     width=0.9 * width, label=transport)
        axis.set(ylabel=f"{title}, both ends")
        axis.legend()
    axes[-1].set_xticks(range(len(names)), names, rotation=60, ha="right")
    save(figure, out, "counts")


def memories(results, out):
    """Memory of a connection, by how many there are, at rest and busy."""
    measured = results.parts.get("memory", {})
    if not measured:
        return
    numbers = sorted(map(int, measured))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, end in zip(axes, memory.ENDS):
        for transport in measured[str(numbers[0])][memory.REST][end]:
            line = None
            for moment, style in ((memory.REST, "-"), (memory.BUSY, "--")):
                points = {count: found / KIB for count in numbers if (
                    found := memory.median(measured, count, moment, end, transport))}
                line, = axis.plot(list(points), list(points.values()), style, marker="o",
                                  label=f"{transport}, {moment}", color=line and line.get_color())
        axis.set(xscale="log", title=end, xlabel="connections", ylabel="KiB of a connection",
                 xticks=numbers, xticklabels=numbers, ylim=(0, None))
        axis.minorticks_off()
        axis.legend()
    save(figure, out, "memory")


def plot(results, out):
    """Those for which there are figures."""
    for delay in DELAYS:
        latency(results, out, delay)
        operations(results, out, delay)
    depths(results, out)
    instructions(results, out)
    memories(results, out)
    counts(results, out)
    prediction(results, out)
    marks(results, out)
