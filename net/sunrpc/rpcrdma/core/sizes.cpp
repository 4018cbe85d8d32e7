// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "sizes.h"

namespace rpcrdma
{

static constexpr u32 kMost = UINT32_MAX;

static constexpr u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

static constexpr u32 most(u32 a, u32 b)
{
	return a > b ? a : b;
}

static constexpr u32 plus(u32 a, u32 b)
{
	return a > kMost - b ? kMost : a + b;
}

static constexpr u32 minus(u32 a, u32 b)
{
	return a > b ? a - b : 0;
}

static constexpr u32 times(u32 a, u32 b)
{
	return b && a > kMost / b ? kMost : a * b;
}

/* @all divided by @size, rounded up. */
static constexpr u32 parts(u32 all, u32 size)
{
	return all / size + ((all % size) ? 1 : 0);
}

u32 device_limit(s64 said)
{
	if (said < 0)
		return 0;
	return said > s64{ kMost } ? kMost : static_cast<u32>(said);
}

u32 most_groups(u32 elements, u32 ops, u32 size)
{
	return plus(elements, times(ops, size - 1)) / size;
}

u32 most_cut_groups(u32 elements, u32 ops, u32 cut, u32 size)
{
	/* What is cut off makes at least as many groups as it would otherwise. */
	const u32 off = elements / cut;
	const u32 groups = plus(times(off, parts(cut, size)),
				most_groups(elements - off * cut, ops, size));

	return least(groups, elements);
}

namespace
{

class Sizing {
public:
	Sizing(const rpcrdma_device_limits &limits, const rpcrdma_wants &wants)
		: limits_(limits)
		, wants_(wants)
		, page_(most(limits.page_size, 1))
		, queue_(least(limits.max_qp_wr, limits.max_cqe))
	{
	}

	[[nodiscard]] rpcrdma_unfit run()
	{
		if (!limits_.max_send_sge || !limits_.max_recv_sge)
			return RPCRDMA_UNFIT_ELEMENTS;
		sizes.send_sge = 1;
		receive_pages();
		if (!receives())
			return RPCRDMA_UNFIT_RECEIVES;
		if (!reads())
			return RPCRDMA_UNFIT_READS;
		regions();
		if (wants_.rw_ctxs) {
			const rpcrdma_unfit unfit = operations();

			if (unfit != RPCRDMA_FIT)
				return unfit;
		}
		gather();
		return sends() ? RPCRDMA_FIT : RPCRDMA_UNFIT_SENDS;
	}

	rpcrdma_sizes sizes = {};

private:
	[[nodiscard]] bool registers() const
	{
		return limits_.fast_reg && limits_.max_fast_reg_pages;
	}

	/* Regions that the device allows. */
	[[nodiscard]] u32 max_regions() const
	{
		return limits_.max_mr ? limits_.max_mr : kMost;
	}

	/*
	 * What has a head keeps its size, so it takes at once the pages that others may grow to.
	 * The head has one of them, so that Sends and Receives fill what they are made of.
	 */
	[[nodiscard]] u32 with_head(u32 size, u32 head, u32 pages) const
	{
		if (!head || head > page_ || pages < 2)
			return size;
		return most(size, plus(head, times(pages - 1, page_)));
	}

	/*
	 * A Receive of whole pages has an element for each, so that one page can be replaced
	 * by another. Anything else is one buffer. Pages are worth more than room to grow.
	 * The head is the end of a page.
	 */
	void receive_pages()
	{
		const u32 head = wants_.recv_head;
		const u32 body = minus(wants_.recv_size, head);
		const u32 elements =
			least(limits_.max_recv_sge, kMostRecvPages);
		u32 pages = body / page_ + (body && head ? 1 : 0);

		sizes.recv_size = wants_.recv_size;
		sizes.recv_sge = 1;
		sizes.recv_most = most(wants_.recv_size, wants_.recv_most);
		if (!wants_.recv_pages || !pages || body % page_ ||
		    head > page_ || pages > elements)
			return;
		if (head)
			pages = most(pages,
				     least(elements, wants_.recv_most / page_));
		sizes.recv_pages = pages;
		sizes.recv_sge = pages;
		if (head) {
			sizes.recv_size =
				with_head(wants_.recv_size, head, pages);
			sizes.recv_most = sizes.recv_size;
			return;
		}
		sizes.recv_sge = least(elements, sizes.recv_most / page_);
		sizes.recv_most = times(sizes.recv_sge, page_);
	}

	/* One Receive more than the window, and one for draining. */
	[[nodiscard]] bool receives()
	{
		const u32 room = minus(queue_, kBesidesWindow);

		sizes.max_window = least(wants_.max_window, room);
		sizes.window = least(wants_.window, sizes.max_window);
		sizes.recv_wr = plus(sizes.max_window, kBesidesWindow);
		sizes.recv_cqe = sizes.recv_wr;
		return sizes.max_window >= RPCRDMA_MIN_WINDOW;
	}

	[[nodiscard]] bool reads()
	{
		sizes.reads_in = least(wants_.reads_in, limits_.max_reads_in);
		sizes.reads_out =
			least(wants_.reads_out, limits_.max_reads_out);
		return !wants_.reads_in == !sizes.reads_in &&
		       !wants_.reads_out == !sizes.reads_out;
	}

	/*
	 * Without registration all items stay in the Payload stream. The same if this side
	 * cannot take memory back by itself: the peer need not do that.
	 *
	 * One Call can need regions for its argument and its result, or a body chunk for
	 * each, which has a head and a tail.
	 */
	void regions()
	{
		if (!wants_.regions || !wants_.region_pages || !registers() ||
		    !limits_.local_inv)
			return;
		sizes.regions = least(wants_.regions, max_regions());
		sizes.region_pages =
			least(wants_.region_pages, limits_.max_fast_reg_pages);

		const u32 pages = plus(wants_.max_payload / page_, 1);
		const u32 item = parts(pages, sizes.region_pages);
		const u32 call =
			least(times(2, plus(item, 2)), RPCRDMA_MAX_SEGMENTS);
		const u32 segments = least(sizes.regions, RPCRDMA_MAX_SEGMENTS);

		sizes.first_regions = least(call, sizes.regions);
		/* An item may begin at the end of a page. */
		sizes.chunk_payload = least(
			wants_.max_payload,
			times(minus(times(segments, sizes.region_pages), 1),
			      page_));
		sizes.version1 = sizes.chunk_payload == wants_.max_payload;
	}

	/*
	 * RDMA Reads and Writes of the largest message. Each operation can begin and end
	 * inside a page. ib_core registers memory for a Read if the device wants that,
	 * and for everything if its parameter force_mr is set. It gives an operation
	 * regions by its elements, but an IOMMU can merge pages to one element. So no
	 * operation has more pages than a region.
	 */
	[[nodiscard]] rpcrdma_unfit operations()
	{
		if ((limits_.iwarp || limits_.max_sgl_rd) && !registers())
			return RPCRDMA_UNFIT_REGISTRATION;
		if (!limits_.iwarp && !limits_.max_sge_rd)
			return RPCRDMA_UNFIT_READ_ELEMENTS;

		const u32 ops = wants_.rw_ops;
		const u32 elements =
			plus(parts(wants_.max_message, page_), times(2, ops));

		sizes.send_sge =
			least(most(wants_.rw_sges, 1), limits_.max_send_sge);
		sizes.rw_pages = registers() ? least(limits_.max_fast_reg_pages,
						     kRwRegionPages) :
					       kRwRegionPages;
		sizes.largest = most_cut_groups(elements, ops, sizes.rw_pages,
						sizes.send_sge);
		sizes.rw_ctxs = wants_.rw_ctxs;

		u32 registered = 0;

		if (registers()) {
			const u32 needed =
				most_groups(elements, ops, sizes.rw_pages);

			/* With fewer than one message needs, the message would wait for ever. */
			sizes.rw_ctxs = least(most(sizes.rw_ctxs, needed),
					      max_regions());
			if (limits_.iwarp && sizes.rw_ctxs < needed)
				return RPCRDMA_UNFIT_REGIONS;
			/* Other connections may have the rest of what the device has. */
			if (limits_.iwarp || limits_.max_sgl_rd)
				sizes.rw_least = least(needed, sizes.rw_ctxs);
			registered = times(kRwRegisteredCost, needed);
		}
		sizes.largest = most(sizes.largest, registered);
		if (!limits_.iwarp) {
			const u32 elements_rd =
				least(limits_.max_sge_rd, sizes.send_sge);
			const u32 plain = most_cut_groups(
				elements, ops, sizes.rw_pages, elements_rd);

			/* If a region is missing, some operations need none and some do. */
			sizes.largest = most(sizes.largest,
					     limits_.max_sgl_rd ?
						     plus(plain, registered) :
						     plain);
		}
		return RPCRDMA_FIT;
	}

	/*
	 * Data that is in pages has an element for each page that it is in. There is one
	 * more for the header and what is in front of the data, and one for what is behind
	 * it. With fewer, what needs more is copied.
	 */
	void gather()
	{
		const u32 head = wants_.send_head;

		sizes.send_size =
			with_head(wants_.send_size, head,
				  least(kMostRecvPages, wants_.send_most / page_));

		const u32 largest =
			head ? sizes.send_size :
			       most(wants_.send_size, wants_.send_most);
		const u32 wanted = plus(parts(largest, page_), 3);
		const u32 most_sge =
			least(limits_.max_send_sge, RPCRDMA_MAX_GATHER);

		sizes.gather_sge = wants_.gather ? least(most_sge, wanted) : 1;
		sizes.send_sge = most(sizes.send_sge, sizes.gather_sge);
	}

	/*
	 * The budget covers Sends and what is chained in front of them. Invalidations are
	 * bounded by the number of regions and are not accounted; one place is for
	 * draining. The largest message must fit half of the budget, or it could wait for
	 * ever.
	 */
	[[nodiscard]] bool sends()
	{
		const u32 besides = plus(sizes.regions, 1);
		const u32 chains = times(kChainPerSend, wants_.send_ring);

		sizes.budget =
			plus(plus(wants_.send_ring, sizes.regions), chains);
		if (sizes.rw_ctxs)
			sizes.budget =
				most(plus(sizes.budget,
					  times(kCostPerCtx, sizes.rw_ctxs)),
				     times(2, plus(sizes.largest, 1)));
		if (sizes.budget > minus(queue_, besides)) {
			if (queue_ < plus(chains, besides))
				return false;
			sizes.budget = minus(queue_, besides);
			if (sizes.largest >= sizes.budget / 2)
				return false;
		}
		sizes.send_wr = plus(sizes.budget, besides);
		sizes.send_cqe = sizes.send_wr;
		return true;
	}

	static constexpr u32 kBesidesWindow = 2;
	static constexpr u32 kChainPerSend = 4;
	static constexpr u32 kCostPerCtx = 8;

	const rpcrdma_device_limits &limits_;
	const rpcrdma_wants &wants_;
	const u32 page_;
	const u32 queue_; /* completions are as many as Work Requests */
};

} // namespace

rpcrdma_sizes size_conn(const rpcrdma_device_limits &limits,
			const rpcrdma_wants &wants)
{
	Sizing sizing(limits, wants);
	const rpcrdma_unfit unfit = sizing.run();

	if (unfit != RPCRDMA_FIT)
		sizing.sizes = {};
	sizing.sizes.unfit = unfit;
	return sizing.sizes;
}

} // namespace rpcrdma
