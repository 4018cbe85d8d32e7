// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "names.h"
#include "sizes.h"
/* All other members are zero. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "../kunit/adapters.h"
#pragma GCC diagnostic pop

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace rpcrdma;

/* What params.h and verbs.h ask for. */
static constexpr u32 kPayload = 1 << 20;
static constexpr u32 kMessage = kPayload + (64 << 10);
static constexpr u32 kOps = 48;
static constexpr u32 kPage = 4096;

static constexpr rpcrdma_wants kClient = {
	.window = 64,
	.max_window = 256,
	.recv_size = 8192,
	.recv_most = 0,
	.recv_pages = false,
	.recv_head = 0,
	.send_ring = 64,
	.send_size = 8192,
	.send_most = 0,
	.send_head = 0,
	.gather = false,
	.regions = 256,
	.region_pages = kPayload / kPage + 1,
	.max_payload = kPayload,
	.max_message = kMessage,
	.rw_ctxs = 0,
	.rw_sges = 0,
	.rw_ops = kOps,
	.reads_in = 255,
	.reads_out = 0,
};

static constexpr rpcrdma_wants kServer = {
	.window = 64,
	.max_window = 256,
	.recv_size = 8192,
	.recv_most = 0,
	.recv_pages = true,
	.recv_head = 0,
	.send_ring = 64,
	.send_size = 8192,
	.send_most = 0,
	.send_head = 0,
	.gather = true,
	.regions = 0,
	.region_pages = 0,
	.max_payload = kPayload,
	.max_message = kMessage,
	.rw_ctxs = 64,
	.rw_sges = 16,
	.rw_ops = kOps,
	.reads_in = 0,
	.reads_out = 16,
};

/* A server of a kernel whose nfsd has messages of such a size. */
static rpcrdma_wants server_of(u32 message)
{
	rpcrdma_wants w = kServer;

	w.max_message = message;
	return w;
}

/* RPCSVC_MAXPAYLOAD of Linux 6.16, and what surrounds it. */
static constexpr u32 kLargeMessage = 4 * kPayload + (64 << 10);

static rpcrdma_device_limits limits(const rpcrdma_adapter &a, u32 page = kPage)
{
	rpcrdma_device_limits l = a.limits;

	l.page_size = page;
	return l;
}

static rpcrdma_device_limits limits(const std::string &name)
{
	for (const rpcrdma_adapter &a : rpcrdma_adapters)
		if (a.name == name)
			return limits(a);
	ADD_FAILURE() << name;
	return {};
}

static bool registers(const rpcrdma_device_limits &l)
{
	return l.fast_reg && l.max_fast_reg_pages;
}

/* A client of it lends memory to its peer. */
static bool lends(const rpcrdma_device_limits &l)
{
	return registers(l) && l.local_inv;
}

/* What must be true of any sizes, whatever the device and the wishes. */
static void expect_sound(const rpcrdma_device_limits &l, const rpcrdma_wants &w,
			 const rpcrdma_sizes &s)
{
	ASSERT_EQ(s.unfit, u32{ RPCRDMA_FIT }) << unfit_name(s.unfit);
	EXPECT_LE(s.send_wr, l.max_qp_wr);
	EXPECT_LE(s.recv_wr, l.max_qp_wr);
	EXPECT_LE(s.send_cqe, l.max_cqe);
	EXPECT_LE(s.recv_cqe, l.max_cqe);
	EXPECT_GE(s.send_sge, 1u);
	EXPECT_LE(s.send_sge, l.max_send_sge);
	EXPECT_GE(s.gather_sge, 1u);
	EXPECT_LE(s.gather_sge,
		  std::min(s.send_sge, u32{ RPCRDMA_MAX_GATHER }));
	EXPECT_TRUE(w.gather || s.gather_sge == 1);
	EXPECT_GE(s.recv_sge, 1u);
	EXPECT_LE(s.recv_sge, l.max_recv_sge);
	/* A Receive takes as much whether it is of pages or not. */
	EXPECT_LE(s.recv_pages, u32{ RPCRDMA_MAX_RECV_PAGES });
	EXPECT_GE(s.recv_sge, std::max(s.recv_pages, 1u));
	EXPECT_GE(s.recv_most, w.recv_size);
	EXPECT_LE(s.recv_most, std::max(w.recv_size, w.recv_most));
	const u64 page = std::max(l.page_size, 1u);
	/* The head has a page of its own, and then nothing grows that is not large at once. */
	const u64 more = w.recv_head ? page - w.recv_head : 0;
	EXPECT_GE(s.recv_size, w.recv_size);
	EXPECT_LE(s.recv_size, s.recv_most);
	EXPECT_TRUE(!s.recv_pages ||
		    u64{ s.recv_sge } * page == s.recv_most + more);
	EXPECT_TRUE(!s.recv_pages ||
		    (w.recv_pages && w.recv_head <= page &&
		     u64{ s.recv_pages } * page == s.recv_size + more));
	EXPECT_TRUE((s.recv_pages && w.recv_head) ? s.recv_sge == s.recv_pages :
						    s.recv_size == w.recv_size);
	EXPECT_GE(s.send_size, w.send_size);
	EXPECT_LE(s.send_size, w.send_head ? std::max(w.send_size, w.send_most) :
					     w.send_size);
	/* All that can be posted has a place and, when it is flushed, a completion. */
	EXPECT_LE(u64{ s.budget } + s.regions + 1, s.send_wr);
	EXPECT_LE(s.send_wr, s.send_cqe);
	EXPECT_LE(u64{ s.max_window } + 2, s.recv_wr);
	EXPECT_LE(s.recv_wr, s.recv_cqe);
	EXPECT_LE(s.window, s.max_window);
	EXPECT_LE(s.max_window, w.max_window);
	EXPECT_GE(s.max_window, u32{ RPCRDMA_MIN_WINDOW });
	/* The largest message does not wait for ever. */
	EXPECT_TRUE(!s.rw_ctxs || s.largest < s.budget / 2)
		<< s.largest << " of " << s.budget;
	/* No operation needs two regions, whatever of it an IOMMU merges. */
	EXPECT_EQ(!s.rw_pages, !w.rw_ctxs);
	EXPECT_LE(s.rw_pages, kRwRegionPages);
	EXPECT_TRUE(!s.rw_pages || !registers(l) ||
		    s.rw_pages <= l.max_fast_reg_pages);
	EXPECT_LE(s.regions, w.regions);
	EXPECT_TRUE(!l.max_mr || s.regions <= l.max_mr);
	EXPECT_TRUE(!l.max_mr || s.rw_ctxs <= std::max(l.max_mr, w.rw_ctxs));
	EXPECT_LE(s.rw_least, s.rw_ctxs);
	EXPECT_TRUE(!s.rw_least || (registers(l) && (l.iwarp || l.max_sgl_rd)));
	EXPECT_LE(s.first_regions, s.regions);
	EXPECT_LE(s.region_pages, w.region_pages);
	EXPECT_TRUE(!s.regions || s.region_pages <= l.max_fast_reg_pages);
	EXPECT_TRUE(!s.regions || lends(l));
	EXPECT_LE(s.chunk_payload, w.max_payload);
	EXPECT_LE(s.reads_in, l.max_reads_in);
	EXPECT_LE(s.reads_out, l.max_reads_out);
	EXPECT_EQ(!s.reads_in, !w.reads_in);
	EXPECT_EQ(!s.reads_out, !w.reads_out);
}

TEST(sizes, adapters__carry_both_roles)
{
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		for (const rpcrdma_wants &w :
		     { kClient, kServer, server_of(kLargeMessage) }) {
			for (u32 page : { 4096u, 16384u, 65536u }) {
				const rpcrdma_device_limits l = limits(a, page);
				rpcrdma_wants here = w;

				SCOPED_TRACE(std::string(a.name) + ", pages " +
					     std::to_string(page));
				if (here.region_pages)
					here.region_pages = kPayload / page + 1;
				expect_sound(l, here, size_conn(l, here));
			}
		}
	}
}

/* Version 2 has a way for everything, version 1 needs chunks for what is large. */
TEST(sizes, adapters__a_mebibyte_goes_in_chunks)
{
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		const rpcrdma_device_limits l = limits(a);
		const rpcrdma_sizes s = size_conn(l, kClient);

		SCOPED_TRACE(a.name);
		EXPECT_EQ(s.version1, lends(l));
		EXPECT_EQ(s.chunk_payload, lends(l) ? kPayload : 0);
		if (!lends(l))
			continue;

		/* From the last octet of a page on, in pages of all its regions. */
		const u32 pages = kPayload / kPage + 1;

		EXPECT_GE(std::min(s.regions, u32{ RPCRDMA_MAX_SEGMENTS }) *
				  s.region_pages,
			  pages);
		/* A result and an argument at once. */
		EXPECT_GE(s.first_regions * s.region_pages,
			  std::min(2 * pages,
				   RPCRDMA_MAX_SEGMENTS * s.region_pages));
	}
}

/* An RDMA Read or Write takes as many pages as there can be in one region of ib_core's. */
TEST(sizes, adapters__operations_fill_a_region)
{
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		const rpcrdma_device_limits l = limits(a);
		const u32 pages = size_conn(l, kServer).rw_pages;

		SCOPED_TRACE(a.name);
		EXPECT_EQ(pages, registers(l) && l.max_fast_reg_pages < 256 ?
					 l.max_fast_reg_pages :
					 256);
		EXPECT_GE(pages, u32{ RPCRDMA_LEAST_RW_PAGES });
		EXPECT_EQ(size_conn(l, kClient).rw_pages, 0u);
	}
}

/* As rdma_rw_ctx_init() decides, with or without force_mr. */
struct Rw {
	u32 requests;
	u32 regions;
};

static Rw rw(const rpcrdma_device_limits &l, const rpcrdma_sizes &s, u32 nents,
	     bool read, bool force, bool region_is_free)
{
	const u32 fr = s.rw_pages;
	const bool must = (read && l.iwarp) || force;

	if (must ||
	    (read && l.max_sgl_rd && nents > l.max_sgl_rd && region_is_free)) {
		const u32 n = (nents + fr - 1) / fr;

		return { 3 * n, n };
	}

	const u32 sges = read ? std::min(s.send_sge, l.max_sge_rd) : s.send_sge;

	return { (nents + sges - 1) / sges, 0 };
}

struct Device {
	std::string name;
	rpcrdma_device_limits limits;
};

/* All adapters, and such as they could be in between. */
static std::vector<Device> devices()
{
	std::vector<Device> all;

	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		rpcrdma_device_limits l = limits(a);

		all.push_back({ a.name, l });
		l.iwarp = false;
		l.max_sge_rd = 1;
		all.push_back({ std::string(a.name) + ", one to read", l });
		l.max_sge_rd = 2;
		if (registers(l)) {
			l.max_sgl_rd = 1;
			l.max_fast_reg_pages /= 2;
		}
		all.push_back({ std::string(a.name) + ", some read", l });
		l.max_sgl_rd = 0;
		l.max_send_sge = 1;
		l.max_qp_wr = 8192;
		all.push_back({ std::string(a.name) + ", one to write", l });
		l = limits(a);
		l.iwarp = registers(l);
		l.max_send_sge = 1;
		l.max_qp_wr = 8192;
		all.push_back({ std::string(a.name) + ", iWARP", l });
	}
	return all;
}

static void whatever_is_cut_fits(u32 message)
{
	const rpcrdma_wants server = server_of(message);
	std::mt19937 random(7);
	auto at_most = [&](u32 n) {
		return u32(random() % (n + 1));
	};

	u32 without = 0;

	for (const Device &d : devices()) {
		const rpcrdma_device_limits &l = d.limits;
		const rpcrdma_sizes s = size_conn(l, server);

		/* It carries messages of kMessage then. */
		if (message > kMessage && s.unfit == RPCRDMA_UNFIT_SENDS) {
			without++;
			continue;
		}
		SCOPED_TRACE(d.name);
		expect_sound(l, server, s);
		for (u32 round = 0; round < 2000; round++) {
			const u32 ops = 1 + at_most(kOps - 1);
			const bool force = registers(l) && at_most(3) == 0;
			const bool read = at_most(1);
			u32 left = message, requests = 0, regions = 0;

			for (u32 i = 0; i < ops; i++) {
				const u32 most = left - (ops - i - 1) * 2;
				const u32 length =
					i + 1 == ops ? left :
					at_most(2)   ? 2 + at_most(5000) :
						       2 + at_most(most - 2);
				const u32 begin = at_most(1) ?
							  kPage - 1 :
							  at_most(kPage - 1);
				const u32 used = std::min(length, most);
				u32 nents = (begin + used + kPage - 1) / kPage;

				while (nents) {
					const u32 cut =
						std::min(nents, s.rw_pages);
					const Rw cost = rw(l, s, cut, read,
							   force, at_most(3));

					requests += cost.requests;
					regions += cost.regions;
					nents -= cut;
				}
				left -= used;
			}
			ASSERT_EQ(left, 0u);
			EXPECT_LE(requests, s.largest);
			/* Else it would wait for a region for ever. */
			EXPECT_LE(regions, s.rw_ctxs);
		}
	}
	/* Those with a short queue and one element to read. */
	EXPECT_LE(without, 2u);
}

TEST(sizes, adapters__whatever_a_message_is_cut_into_fits)
{
	whatever_is_cut_fits(kMessage);
}

TEST(sizes, adapters__whatever_a_large_message_is_cut_into_fits)
{
	whatever_is_cut_fits(kLargeMessage);
}

TEST(sizes, most_groups__no_fewer_and_no_more)
{
	/* All ways to put up to nine elements into up to four rows. */
	for (u32 size = 1; size <= 5; size++) {
		for (u32 ops = 1; ops <= 4; ops++) {
			for (u32 all = ops; all <= 9; all++) {
				u32 most = 0;

				for (u32 code = 0; code < 6561; code++) {
					u32 rest = code, sum = 0, groups = 0;
					bool empty = false;

					for (u32 i = 0; i < ops; i++) {
						const u32 n = rest % 9 + 1;

						rest /= 9;
						sum += n;
						groups += (n + size - 1) / size;
					}
					empty = rest != 0;
					if (sum == all && !empty)
						most = std::max(most, groups);
				}
				EXPECT_EQ(most_groups(all, ops, size), most)
					<< all << " " << ops << " " << size;
			}
		}
	}
}

/* One more than the groups of the worst way to put @all elements into @ops rows, or zero. */
static u32 most_when_cut(u32 all, u32 ops, u32 cut, u32 size)
{
	if (!ops)
		return all ? 0 : 1;

	u32 most = 0;

	for (u32 n = 1; n <= all; n++) {
		const u32 rest = most_when_cut(all - n, ops - 1, cut, size);
		const u32 groups = n / cut * ((cut + size - 1) / size) +
				   (n % cut + size - 1) / size;

		if (rest)
			most = std::max(most, rest + groups);
	}
	return most;
}

TEST(sizes, most_cut_groups__enough)
{
	u32 exact = 0, tried = 0;

	for (u32 size = 1; size <= 5; size++) {
		for (u32 cut = 1; cut <= 8; cut++) {
			for (u32 ops = 1; ops <= 3; ops++) {
				for (u32 all = ops; all <= 12; all++) {
					const u32 most = most_when_cut(
						all, ops, cut, size);
					const u32 said = most_cut_groups(
						all, ops, cut, size);

					EXPECT_GE(said + 1, most)
						<< all << " " << ops << " "
						<< cut << " " << size;
					EXPECT_LE(said + 1, most + ops);
					exact += said + 1 == most;
					tried++;
				}
			}
		}
	}
	EXPECT_GT(exact * 2, tried);
	EXPECT_EQ(most_cut_groups(368, 48, 256, 3), 155u);
	EXPECT_EQ(most_cut_groups(368, 48, 256, 16), 68u);
	EXPECT_EQ(most_cut_groups(368, 48, 1, 16), 368u);
}

TEST(sizes, size_conn__rxe_and_siw_as_ever)
{
	rpcrdma_sizes s = size_conn(limits("rxe"), kServer);

	EXPECT_EQ(s.budget, 832u);
	EXPECT_EQ(s.send_wr, 833u);
	EXPECT_EQ(s.send_cqe, 833u);
	EXPECT_EQ(s.send_sge, 16u);
	EXPECT_EQ(s.recv_wr, 258u);
	EXPECT_EQ(s.recv_cqe, 258u);
	EXPECT_EQ(s.recv_sge, 2u);
	EXPECT_EQ(s.recv_pages, 2u);
	EXPECT_EQ(s.rw_ctxs, 64u);
	EXPECT_EQ(s.reads_out, 16u);
	EXPECT_EQ(s.regions, 0u);

	s = size_conn(limits("siw"), kServer);
	EXPECT_EQ(s.budget, 832u);
	EXPECT_EQ(s.send_sge, 6u);
	EXPECT_EQ(s.rw_ctxs, 64u);

	s = size_conn(limits("rxe"), kClient);
	EXPECT_EQ(s.budget, 576u);
	EXPECT_EQ(s.send_wr, 833u);
	EXPECT_EQ(s.send_sge, 1u);
	EXPECT_EQ(s.window, 64u);
	EXPECT_EQ(s.max_window, 256u);
	EXPECT_EQ(s.regions, 256u);
	EXPECT_EQ(s.region_pages, 257u);
	EXPECT_EQ(s.first_regions, 6u);
	EXPECT_EQ(s.rw_ctxs, 0u);
	EXPECT_EQ(s.largest, 0u);
	EXPECT_EQ(s.reads_in, 128u);
	EXPECT_EQ(s.reads_out, 0u);

	s = size_conn(limits("siw"), kClient);
	EXPECT_EQ(s.region_pages, 256u);
	EXPECT_EQ(s.first_regions, 8u);
}

TEST(sizes, size_conn__small_regions)
{
	rpcrdma_device_limits l = limits("cxgb4-immd");
	rpcrdma_sizes s = size_conn(l, kClient);

	EXPECT_EQ(s.region_pages, 32u);
	EXPECT_EQ(s.first_regions, 16u) << "as many as a header may have";

	/* One page less than it takes, if it begins inside of a page. */
	l.max_fast_reg_pages = 17;
	s = size_conn(l, kClient);
	EXPECT_TRUE(s.version1);
	l.max_fast_reg_pages = 16;
	s = size_conn(l, kClient);
	EXPECT_FALSE(s.version1);
	EXPECT_EQ(s.chunk_payload, 255 * kPage);
	expect_sound(l, kClient, s);

	/* What a server's message takes at once is there. */
	s = size_conn(l, kServer);
	EXPECT_EQ(s.rw_ctxs, (272u + 96 + 48 * 15) / 16);
	l.max_fast_reg_pages = 1;
	s = size_conn(l, kServer);
	EXPECT_EQ(s.rw_ctxs, 272u + 96);
	expect_sound(l, kServer, s);
}

TEST(sizes, size_conn__few_regions)
{
	rpcrdma_device_limits l = limits("siw");

	l.max_mr = 5;
	rpcrdma_sizes s = size_conn(l, kClient);
	EXPECT_EQ(s.regions, 5u);
	EXPECT_EQ(s.first_regions, 5u);
	EXPECT_TRUE(s.version1);
	l.max_mr = 1;
	s = size_conn(l, kClient);
	EXPECT_FALSE(s.version1);
	EXPECT_EQ(s.chunk_payload, 255 * kPage);

	/* 368 elements in 48 rows, 256 at a time */
	l.max_mr = 49;
	s = size_conn(l, kServer);
	expect_sound(l, kServer, s);
	EXPECT_EQ(s.rw_ctxs, 49u);
	EXPECT_EQ(s.rw_least, 49u);
	l.max_mr = 2048;
	s = size_conn(l, kServer);
	EXPECT_EQ(s.rw_ctxs, 64u);
	EXPECT_EQ(s.rw_least, 49u) << "if others have most of them";
	l.max_mr = 48;
	EXPECT_EQ(size_conn(l, kServer).unfit, u32{ RPCRDMA_UNFIT_REGIONS });
	/* ib_core does without where it can. */
	l.iwarp = false;
	s = size_conn(l, kServer);
	expect_sound(l, kServer, s);
	EXPECT_EQ(s.rw_ctxs, 48u);
	EXPECT_EQ(s.rw_least, 0u);

	l.max_mr = 0;
	EXPECT_EQ(size_conn(l, kClient).regions, 256u) << "it does not say";
	EXPECT_EQ(size_conn(l, kServer).rw_ctxs, 64u);
}

TEST(sizes, size_conn__without_registration)
{
	for (bool flag : { false, true }) {
		rpcrdma_device_limits l = limits("rxe");

		l.fast_reg = flag;
		if (flag)
			l.max_fast_reg_pages = 0;

		const rpcrdma_sizes s = size_conn(l, kClient);

		expect_sound(l, kClient, s);
		EXPECT_EQ(s.regions, 0u);
		EXPECT_EQ(s.region_pages, 0u);
		EXPECT_EQ(s.first_regions, 0u);
		EXPECT_EQ(s.chunk_payload, 0u);
		EXPECT_FALSE(s.version1);
		expect_sound(l, kServer, size_conn(l, kServer));
		l.iwarp = true;
		expect_sound(l, kClient, size_conn(l, kClient));
		EXPECT_EQ(size_conn(l, kServer).unfit,
			  u32{ RPCRDMA_UNFIT_REGISTRATION });
		/* ib_core would divide by the pages of its regions. */
		l.iwarp = false;
		l.max_sgl_rd = 3;
		expect_sound(l, kClient, size_conn(l, kClient));
		EXPECT_EQ(size_conn(l, kServer).unfit,
			  u32{ RPCRDMA_UNFIT_REGISTRATION });
	}
}

/* A client that cannot take memory back lends none. A server does not lend any. */
TEST(sizes, size_conn__without_local_invalidate)
{
	const rpcrdma_device_limits with = limits("rxe");
	rpcrdma_device_limits l = with;

	l.local_inv = false;
	for (bool iwarp : { false, true }) {
		l.iwarp = iwarp;

		const rpcrdma_sizes s = size_conn(l, kClient);

		expect_sound(l, kClient, s);
		EXPECT_EQ(s.regions, 0u);
		EXPECT_EQ(s.first_regions, 0u);
		EXPECT_EQ(s.chunk_payload, 0u);
		EXPECT_FALSE(s.version1);
		expect_sound(l, kServer, size_conn(l, kServer));
		EXPECT_EQ(size_conn(l, kServer).rw_ctxs, kServer.rw_ctxs);
	}
	l.iwarp = false;

	const rpcrdma_sizes server = size_conn(l, kServer);
	const rpcrdma_sizes same = size_conn(with, kServer);

	EXPECT_EQ(server.budget, same.budget);
	EXPECT_EQ(server.largest, same.largest);
	EXPECT_EQ(server.rw_pages, same.rw_pages);
	EXPECT_EQ(server.send_wr, same.send_wr);
}

TEST(sizes, adapters__two_of_hns_lend_nothing)
{
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		const std::string name = a.name;

		EXPECT_EQ(size_conn(limits(a), kClient).regions == 0,
			  name == "hns" || name == "hns-hip08")
			<< name;
	}
}

/* The least that a device must say, and with one less it is refused. */
TEST(sizes, size_conn__short_queues)
{
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		for (const rpcrdma_wants &w : { kClient, kServer }) {
			for (u32 rpcrdma_device_limits::*limit :
			     { &rpcrdma_device_limits::max_qp_wr,
			       &rpcrdma_device_limits::max_cqe }) {
				rpcrdma_device_limits l = limits(a);
				u32 n = 1100;

				SCOPED_TRACE(a.name);
				for (; n; n--) {
					l.*limit = std::min(n, l.*limit);

					const rpcrdma_sizes s = size_conn(l, w);

					if (s.unfit != RPCRDMA_FIT) {
						EXPECT_EQ(
							s.unfit,
							u32{ RPCRDMA_UNFIT_SENDS });
						break;
					}
					expect_sound(l, w, s);
				}
				if (!w.rw_ctxs && lends(l))
					EXPECT_EQ(n, 512u);
				else
					EXPECT_LT(n, 850u);
			}
		}
	}
}

TEST(sizes, size_conn__short_windows)
{
	rpcrdma_device_limits l = limits("rxe");
	rpcrdma_wants w = kServer;

	w.send_ring = 1;
	w.rw_ctxs = 0;
	l.max_cqe = 50;
	rpcrdma_sizes s = size_conn(l, w);
	EXPECT_EQ(s.max_window, 48u);
	EXPECT_EQ(s.window, 48u);
	EXPECT_EQ(s.recv_wr, 50u);
	l.max_cqe = 32767;
	l.max_qp_wr = 50;
	s = size_conn(l, w);
	EXPECT_EQ(s.max_window, 48u);
	w.window = 10;
	EXPECT_EQ(size_conn(l, w).window, 10u);
	for (u32 n = 0; n < 10; n++) {
		l.max_qp_wr = n;
		EXPECT_EQ(size_conn(l, w).unfit == RPCRDMA_UNFIT_RECEIVES,
			  n < RPCRDMA_MIN_WINDOW + 2)
			<< n;
	}
}

/* Pages of Receives of @size octets. */
static u32 pages_of(rpcrdma_device_limits l, u32 page, u32 elements, u32 size)
{
	rpcrdma_wants w = kServer;

	l.page_size = page;
	l.max_recv_sge = elements;
	w.recv_size = size;

	const rpcrdma_sizes s = size_conn(l, w);

	EXPECT_EQ(s.unfit, u32{ RPCRDMA_FIT });
	EXPECT_EQ(s.recv_sge, s.recv_pages ? s.recv_pages : 1);
	return s.recv_pages;
}

/* What Receives of @size octets may become, if they may become @most. */
static u32 grown(u32 elements, u32 size, u32 most)
{
	rpcrdma_device_limits l = limits("rxe");
	rpcrdma_wants w = kServer;

	l.max_recv_sge = elements;
	w.recv_size = size;
	w.recv_most = most;

	const rpcrdma_sizes s = size_conn(l, w);

	EXPECT_EQ(s.unfit, u32{ RPCRDMA_FIT });
	return s.recv_most;
}

/* Pages are worth more than room to grow. */
TEST(sizes, size_conn__receives_grow)
{
	EXPECT_EQ(grown(32, 8192, 0), 8192u);
	EXPECT_EQ(grown(32, 8192, 4096), 8192u);
	EXPECT_EQ(grown(32, 8192, 32768), 32768u);
	EXPECT_EQ(grown(32, 8192, 33 << 10), 32768u);
	EXPECT_EQ(grown(4, 8192, 32768), 16384u);
	EXPECT_EQ(grown(2, 8192, 32768), 8192u);
	EXPECT_EQ(grown(1, 8192, 32768), 32768u) << "it is one buffer";
	EXPECT_EQ(grown(32, 8192, 1 << 20), RPCRDMA_MAX_RECV_PAGES * kPage);

	rpcrdma_wants w = kServer;
	const u32 before = size_conn(limits("rxe"), w).gather_sge;
	w.send_most = 32768;
	EXPECT_EQ(size_conn(limits("rxe"), w).gather_sge, before + 6);
}

/* Only whole pages can be given away, and each takes an element. */
TEST(sizes, size_conn__receives_are_of_pages)
{
	const rpcrdma_device_limits rxe = limits("rxe");

	EXPECT_EQ(pages_of(rxe, 4096, 32, 8192), 2u);
	EXPECT_EQ(pages_of(rxe, 4096, 2, 8192), 2u);
	EXPECT_EQ(pages_of(rxe, 4096, 1, 8192), 0u);
	EXPECT_EQ(pages_of(rxe, 4096, 1, 4096), 1u);
	EXPECT_EQ(pages_of(rxe, 4096, 32, 1024), 0u);
	EXPECT_EQ(pages_of(rxe, 4096, 32, 9216), 0u);
	EXPECT_EQ(pages_of(rxe, 4096, 16, 65536), 16u);
	EXPECT_EQ(pages_of(rxe, 4096, 15, 65536), 0u);
	EXPECT_EQ(pages_of(rxe, 4096, 32, 69632), 0u);
	EXPECT_EQ(pages_of(rxe, 16384, 32, 8192), 0u);
	EXPECT_EQ(pages_of(rxe, 65536, 32, 65536), 1u);
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		const rpcrdma_sizes s = size_conn(limits(a), kServer);

		EXPECT_EQ(s.recv_pages, a.limits.max_recv_sge > 1 ? 2u : 0u)
			<< a.name;
		/* A client copies a Reply to where the upper layer wants it. */
		EXPECT_EQ(size_conn(limits(a), kClient).recv_pages, 0u);
	}
}

/* The head is the end of a page more. */
TEST(sizes, size_conn__receives_have_a_head)
{
	rpcrdma_device_limits l = limits("rxe");
	rpcrdma_wants w = kServer;

	w.recv_head = 1024;
	w.recv_size = 1024 + 8192;
	EXPECT_EQ(size_conn(l, w).recv_pages, 3u);
	EXPECT_EQ(size_conn(l, w).recv_sge, 3u);
	l.max_recv_sge = 2;
	EXPECT_EQ(size_conn(l, w).recv_pages, 0u);
	l.max_recv_sge = 32;
	/* Nothing but a head; what is behind it is no page; it is larger than a page. */
	w.recv_size = 1024;
	EXPECT_EQ(size_conn(l, w).recv_pages, 0u);
	w.recv_size = 8192;
	EXPECT_EQ(size_conn(l, w).recv_pages, 0u);
	w.recv_head = 8192;
	w.recv_size = 8192 + 8192;
	EXPECT_EQ(size_conn(l, w).recv_pages, 0u);
	w.recv_head = 1024;
	w.recv_size = 1024 + 65536;
	EXPECT_EQ(size_conn(l, w).recv_pages, 0u);
}

/* Octets of a Receive with a head, if others may grow to @most. */
static u32 begun(u32 elements, u32 size, u32 most)
{
	rpcrdma_device_limits l = limits("rxe");
	rpcrdma_wants w = kServer;

	l.max_recv_sge = elements;
	w.recv_head = 1024;
	w.recv_size = 1024 + size;
	w.recv_most = most;

	const rpcrdma_sizes s = size_conn(l, w);

	EXPECT_EQ(s.unfit, u32{ RPCRDMA_FIT });
	EXPECT_TRUE(!s.recv_pages || s.recv_pages == s.recv_size / kPage + 1);
	return s.recv_pages ? s.recv_size - 1024 : 0;
}

/* What has a head cannot grow: it is large from the beginning, if that costs no pages. */
TEST(sizes, size_conn__receives_with_a_head_begin_large)
{
	EXPECT_EQ(begun(32, 8192, 0), 8192u);
	EXPECT_EQ(begun(32, 8192, 8192), 8192u);
	EXPECT_EQ(begun(32, 8192, 16384), 12288u);
	EXPECT_EQ(begun(32, 8192, 32768), 28672u);
	EXPECT_EQ(begun(32, 8192, 33 << 10), 28672u);
	EXPECT_EQ(begun(32, 32768, 32768), 32768u);
	EXPECT_EQ(begun(32, 8192, 65536), 61440u);
	EXPECT_EQ(begun(32, 8192, 1 << 20), 61440u);
	EXPECT_EQ(begun(6, 8192, 32768), 20480u) << "as siw has";
	EXPECT_EQ(begun(3, 8192, 32768), 8192u);
	EXPECT_EQ(begun(2, 8192, 32768), 0u);

	/* Receives of one buffer stay as they are. */
	rpcrdma_wants w = kClient;
	w.recv_most = 32768;
	EXPECT_EQ(size_conn(limits("rxe"), w).recv_size, 8192u);
}

/* Sends fill the Receives of a peer that has the same setting, whatever this device can fill. */
TEST(sizes, size_conn__sends_to_a_head_begin_large)
{
	rpcrdma_device_limits l = limits("rxe");
	rpcrdma_wants w = kServer;

	w.send_most = 32768;
	EXPECT_EQ(size_conn(l, w).send_size, 8192u);
	w.send_head = 1024;
	w.send_size = 1024 + 8192;
	EXPECT_EQ(size_conn(l, w).send_size, 1024u + 28672);
	EXPECT_EQ(size_conn(l, w).gather_sge, 8u + 3);
	l.max_recv_sge = 2;
	EXPECT_EQ(size_conn(l, w).send_size, 1024u + 28672);
	w.send_most = 0;
	EXPECT_EQ(size_conn(l, w).send_size, 1024u + 8192);
	EXPECT_EQ(size_conn(l, w).gather_sge, 3u + 3);
	w.send_most = 1 << 20;
	EXPECT_EQ(size_conn(l, w).send_size, 1024u + 61440);
	w.send_size = 1024 + 65536;
	EXPECT_EQ(size_conn(l, w).send_size, 1024u + 65536);
}

/* Elements of Sends of @size octets. */
static u32 gathers(rpcrdma_device_limits l, u32 page, u32 elements, u32 size)
{
	rpcrdma_wants w = kServer;

	l.page_size = page;
	l.max_send_sge = elements;
	w.send_size = size;

	const rpcrdma_sizes s = size_conn(l, w);

	EXPECT_EQ(s.unfit, u32{ RPCRDMA_FIT });
	return s.gather_sge;
}

/* Data is in one page more than it fills, and has something in front and behind. */
TEST(sizes, size_conn__sends_gather)
{
	const rpcrdma_device_limits rxe = limits("rxe");

	EXPECT_EQ(gathers(rxe, 4096, 32, 8192), 5u);
	EXPECT_EQ(gathers(rxe, 4096, 5, 8192), 5u);
	EXPECT_EQ(gathers(rxe, 4096, 3, 8192), 3u);
	EXPECT_EQ(gathers(rxe, 4096, 32, 9216), 6u);
	EXPECT_EQ(gathers(rxe, 4096, 32, 65536), u32{ RPCRDMA_MAX_GATHER });
	EXPECT_EQ(gathers(rxe, 65536, 32, 8192), 4u);
	for (const rpcrdma_adapter &a : rpcrdma_adapters) {
		const rpcrdma_sizes s = size_conn(limits(a), kServer);

		EXPECT_EQ(s.gather_sge, std::min(a.limits.max_send_sge, 5u))
			<< a.name;
		EXPECT_EQ(size_conn(limits(a), kClient).gather_sge, 1u);
	}
}

TEST(sizes, size_conn__refused_for_one_reason)
{
	const rpcrdma_device_limits fine = limits("rxe");
	rpcrdma_device_limits l = fine;

	l.max_send_sge = 0;
	EXPECT_EQ(size_conn(l, kServer).unfit, u32{ RPCRDMA_UNFIT_ELEMENTS });
	l = fine;
	l.max_recv_sge = 0;
	EXPECT_EQ(size_conn(l, kClient).unfit, u32{ RPCRDMA_UNFIT_ELEMENTS });
	l = fine;
	l.max_reads_in = 0;
	EXPECT_EQ(size_conn(l, kClient).unfit, u32{ RPCRDMA_UNFIT_READS });
	EXPECT_EQ(size_conn(l, kServer).unfit, u32{ RPCRDMA_FIT });
	l = fine;
	l.max_reads_out = 0;
	EXPECT_EQ(size_conn(l, kServer).unfit, u32{ RPCRDMA_UNFIT_READS });
	EXPECT_EQ(size_conn(l, kClient).unfit, u32{ RPCRDMA_FIT });
	l = fine;
	l.max_sge_rd = 0;
	EXPECT_EQ(size_conn(l, kServer).unfit,
		  u32{ RPCRDMA_UNFIT_READ_ELEMENTS });
	EXPECT_EQ(size_conn(l, kClient).unfit, u32{ RPCRDMA_FIT });
	l.iwarp = true;
	EXPECT_EQ(size_conn(l, kServer).unfit, u32{ RPCRDMA_FIT })
		<< "they are registered";

	/* Nothing of what was found until then is told. */
	l.max_qp_wr = 600;
	const rpcrdma_sizes s = size_conn(l, kClient);
	EXPECT_EQ(s.unfit, u32{ RPCRDMA_FIT });
	l.max_qp_wr = 500;
	const rpcrdma_sizes none = size_conn(l, kClient);
	EXPECT_EQ(none.unfit, u32{ RPCRDMA_UNFIT_SENDS });
	EXPECT_EQ(none.max_window, 0u);
	EXPECT_EQ(none.regions, 0u);
}

/* A device may say anything, and nothing wraps. */
TEST(sizes, size_conn__extremes)
{
	static constexpr u32 kValues[] = {
		0,	   1,	2,    3,	 16,	     255,
		256,	   600, 4096, INT32_MAX, 0x80000000, UINT32_MAX - 1,
		UINT32_MAX
	};
	std::mt19937 random(11);
	auto any = [&] {
		return kValues[random() % std::size(kValues)];
	};
	u32 fit = 0;

	for (u32 round = 0; round < 200000; round++) {
		const rpcrdma_device_limits l = {
			.max_send_sge = any(),
			.max_recv_sge = any(),
			.max_sge_rd = any(),
			.max_sgl_rd = any(),
			.max_qp_wr = any(),
			.max_cqe = any(),
			.max_mr = any(),
			.max_fast_reg_pages = any(),
			.max_reads_in = any(),
			.max_reads_out = any(),
			.page_size = any(),
			.fast_reg = random() % 4 != 0,
			.local_inv = random() % 4 != 0,
			.iwarp = random() % 2 != 0,
		};
		rpcrdma_wants w = random() % 2 ? kClient : kServer;

		if (random() % 4 == 0)
			w = { any(),	      any(), any(),	     any(),
			      any() % 2 != 0, any(), any(),	     any(),
			      any(),	      any(), any() % 2 != 0, any(),
			      any(),	      any(), any(),	     any(),
			      any(),	      any(), any(),	     any() };

		const rpcrdma_sizes s = size_conn(l, w);

		ASSERT_LT(s.unfit, u32{ RPCRDMA_UNFIT_COUNT });
		if (s.unfit != RPCRDMA_FIT)
			continue;
		fit++;
		expect_sound(l, w, s);
		if (testing::Test::HasFailure())
			return;
	}
	EXPECT_GT(fit, 1000u);
}

TEST(sizes, device_limit__signed_and_unsigned)
{
	EXPECT_EQ(device_limit(0), 0u);
	EXPECT_EQ(device_limit(1), 1u);
	EXPECT_EQ(device_limit(INT32_MAX), u32{ INT32_MAX });
	/* An int, as up to Linux 7.2 */
	EXPECT_EQ(device_limit(-1), 0u);
	EXPECT_EQ(device_limit(INT32_MIN), 0u);
	/* A u32, as from 7.3 on */
	EXPECT_EQ(device_limit(u32{ 0x80000000 }), 0x80000000u);
	EXPECT_EQ(device_limit(u32{ UINT32_MAX }), UINT32_MAX);
	EXPECT_EQ(device_limit(INT64_MAX), UINT32_MAX);
	EXPECT_EQ(device_limit(INT64_MIN), 0u);
}

TEST(sizes, unfit_name__all_different)
{
	std::set<std::string> all;

	for (u32 r = 0; r < RPCRDMA_UNFIT_COUNT; r++)
		EXPECT_TRUE(all.insert(unfit_name(r)).second);
	EXPECT_STREQ(unfit_name(RPCRDMA_UNFIT_READS), "no RDMA Reads");
	EXPECT_STREQ(unfit_name(RPCRDMA_UNFIT_COUNT), "?");
}

TEST(sizes, abi__the_same)
{
	const rpcrdma_device_limits l = limits("mlx5");
	rpcrdma_sizes s;

	EXPECT_TRUE(rpcrdma_size_conn(&l, &kServer, &s));
	EXPECT_EQ(s.budget, size_conn(l, kServer).budget);
	EXPECT_EQ(rpcrdma_device_limit(-7), 0u);
	EXPECT_STREQ(rpcrdma_unfit_name(RPCRDMA_UNFIT_SENDS),
		     unfit_name(RPCRDMA_UNFIT_SENDS));

	const rpcrdma_device_limits nothing = {};

	EXPECT_FALSE(rpcrdma_size_conn(&nothing, &kServer, &s));
	EXPECT_EQ(s.unfit, u32{ RPCRDMA_UNFIT_ELEMENTS });
}
