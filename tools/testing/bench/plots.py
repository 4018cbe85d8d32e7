# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Plots of what has been measured, each as PNG and as SVG."""

import statistics

import matplotlib
import matplotlib.pyplot as plt
import memory
from marks import KIB, MIB, RDMA, Cell, size_name

matplotlib.use("Agg")
SIZES = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB)


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
    for delay in (0, 1, 10):
        latency(results, out, delay)
    memories(results, out)
    counts(results, out)
