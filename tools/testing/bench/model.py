# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What counts mean on a real adapter: a model on paper, to be refuted by those who have
one. Documentation/performance.rst says where each figure is from, and which is a guess."""

import dataclasses

ENDS = ("client", "server")


@dataclasses.dataclass(frozen=True)
class Costs:
    """In microseconds."""
    one_way: float = 1.4            # a short message, from doorbell to memory
    post: float = 0.175             # a call of post_send or post_recv with one request
    request: float = 0.06           # each further Work Request of the same call
    completion: float = 0.06        # to take one from its queue
    wake: float = 3.0               # interrupt, and until the one who waits runs
    wake_processor: float = 1.5     # of that, what the processor works
    registration: float = 1.0       # registering or invalidating a region
    page: float = 0.03              # each page of it: mapping for DMA
    copied_kib: float = 0.1         # copying
    sent_kib: float = 0.08          # on a link of 100 Gbit/s


# Costs that are guesses, or that differ most between adapters.
GROUPS = {"registration": ("registration",), "wake-up": ("wake", "wake_processor"),
          "doorbell": ("post",)}


def changed(group, factor):
    """All costs, with those of a group so many times as much."""
    return dataclasses.replace(Costs(), **{
        name: factor * getattr(Costs(), name) for name in GROUPS[group]})


@dataclasses.dataclass(frozen=True)
class Prediction:
    """In microseconds, for one operation, without what NFS and sunrpc take."""
    latency: float
    processor: float        # of both ends


def microseconds(results, transport, operation, costs=Costs()):
    """What an operation takes that has these counts."""
    def count(*names, ends=ENDS):
        return sum(results.count(transport, operation, end, *names) for end in ends)

    calls = count("Sends", "Sends with invalidate", ends=("client",)) and max(
        sum(results.counts(transport, operation)["nfs"].values()) /
        results.counts(transport, operation)["n"], 1)
    reads = calls if count("RDMA Reads") else 0
    # The client waits for its own invalidates before the RPC is over.
    invalidates = calls if count("local invalidates") else 0
    wakes = 2 * calls + reads + invalidates
    posts = count("send doorbells", "receive doorbells")
    requests = count("Sends", "Sends with invalidate", "RDMA Reads", "RDMA Writes",
                     "registrations", "local invalidates", "Receives posted")
    regions = count("registrations", "local invalidates") * costs.registration + \
        count("octets registered") / 4096 * costs.page
    copied = results.copied(transport, operation)
    if copied is None:
        # What is not sent from its place has been copied there, and each octet that came
        # by a Send is thought to be copied to its place.
        copied = 2 * count("octets by Send") - count("octets by Send in place")
    sent = count("octets by Send", "octets by RDMA Read", "octets by RDMA Write") / 1024
    work = posts * costs.post + max(requests - posts, 0) * costs.request + \
        count("send completions", "receive completions") * costs.completion + \
        regions + copied / 1024 * costs.copied_kib
    # Receives are posted, and Sends complete, while nobody waits for that.
    aside = count("receive doorbells") * costs.post + \
        count("send completions") * costs.completion
    return Prediction(
        latency=2 * (calls + reads) * costs.one_way + wakes * costs.wake +
        sent * costs.sent_kib + work - aside,
        processor=work + wakes * costs.wake_processor)


def sensitivity(results, ours, theirs):
    """{operation: {costs, in words: (ratio of latencies, ratio of processors)}}"""
    costs = {"as above": Costs()} | {f"{group} x{factor:g}": changed(group, factor)
                                     for group in GROUPS for factor in (0.5, 2)}
    counted = results.parts.get("counts", {})
    found = {}
    for operation in counted.get(ours, {}):
        if operation not in counted.get(theirs, {}):
            continue
        found[operation] = {}
        for name, one in costs.items():
            a, b = (microseconds(results, transport, operation, one)
                    for transport in (ours, theirs))
            found[operation][name] = a.latency / b.latency, a.processor / b.processor
    return found
