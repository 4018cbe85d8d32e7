// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Faults, and the messages of a hostile peer.
 */
#include "world.h"

#include <algorithm>
#include <cstring>

namespace sim
{

Link *World::some_link()
{
	std::vector<Link *> all;

	for (auto &p : pairs)
		for (auto &l : p->links)
			if (!l->forgotten())
				all.push_back(l.get());
	return all.empty() ? nullptr : all[chaos.below(u32(all.size()))];
}

void World::restart_client(Pair &p)
{
	bool any = p.requester[0].active();

	for (auto &l : p.links) {
		any |= l->alive(0);
		l->ends[0]->crash();
	}
	if (any)
		effect(Fault::ClientRestart);
	p.requester[0].crash();
	p.callbacks.failed_calls = {};
}

void World::restart_server()
{
	bool any = false;

	for (auto &p : pairs) {
		for (auto &l : p->links) {
			any |= l->alive(1);
			l->ends[1]->crash();
		}
		p->requester[1].crash();
	}
	if (any)
		effect(Fault::ServerRestart);
	server.failed_calls = {};
}

static bool forgets(const rpcrdma_recent &t, u32 now, u32 later)
{
	for (const rpcrdma_recent_entry &e : t.entries)
		if (e.suspected && now - e.since < RPCRDMA_RECENT_SECONDS &&
		    later - e.since >= RPCRDMA_RECENT_SECONDS)
			return true;
	return false;
}

void World::jump(u32 seconds)
{
	const u32 later = seconds_ + seconds;
	bool any = forgets(server.failed_calls, seconds_, later);

	for (auto &p : pairs)
		any |= forgets(p->callbacks.failed_calls, seconds_, later);
	if (any)
		effect(Fault::Clock);
	seconds_ = later;
}

void World::act(Fault f)
{
	Link *l = some_link();
	Pair &p = *pairs[chaos.below(u32(pairs.size()))];
	const u32 side = chaos.below(2);

	trace("fault %u", static_cast<u32>(f));
	progress();
	switch (f) {
	case Fault::Loss:
		if (!l || !l->qp[side].up())
			break;
		l->qp[side].error();
		effect(f);
		break;
	case Fault::ClientRestart:
		restart_client(p);
		break;
	case Fault::ServerRestart:
		restart_server();
		break;
	case Fault::Window:
		if (l)
			l->ends[side]->conn.request_window(
				chaos.within(RPCRDMA_MIN_WINDOW, 14));
		break;
	case Fault::Allocation:
		failing_ = chaos.within(1, 6);
		/* The first of what a step needs may be there. */
		sparing_ = chaos.below(3);
		break;
	case Fault::Stall:
		stalled_ = chaos.next() & chaos.next();
		stalled_until_ = steps_ + chaos.below(600);
		break;
	case Fault::LostFlush:
		losing_ = true;
		break;
	case Fault::Cancel:
		/* One, or all of a process that is killed. */
		for (u32 n = chaos.once_in(2) ? 1 : 8; n; n--)
			p.requester[side].cancel_one();
		break;
	case Fault::Hostile:
		if (!l)
			break;
		l->to_mangle[side] = chaos.below(6);
		for (u32 n = chaos.below(3); n; n--)
			l->inject(side);
		break;
	case Fault::Clock:
		jump(chaos.below(2 * RPCRDMA_RECENT_SECONDS));
		jumps_ = true;
		break;
	case Fault::Registration:
		registering_ |= u64{ 1 } << (Register * 2 + side) |
				u64{ 1 } << (Grow * 2 + side);
		break;
	case Fault::Count:
		break;
	}
}

static void set_word(u8 *buffer, u32 index, u32 word)
{
	word = __builtin_bswap32(word);
	std::memcpy(buffer + 4 * index, &word, sizeof(word));
}

/* A word of which something may depend on every bit. */
static u32 odd_word(Random &r)
{
	switch (r.below(5)) {
	case 0:
		return r.below(20);
	case 1:
		return 0x80000000U >> r.below(32);
	case 2:
		return UINT32_MAX - r.below(3);
	case 3:
		return 4 * r.below(1000);
	default:
		return static_cast<u32>(r.next());
	}
}

/* In place; @size is what there is room for. Return: the length now. */
static u32 distort(Random &r, u8 *buffer, u32 length, u32 size)
{
	const u32 words = length / 4;

	for (u32 n = r.within(1, 3); n; n--)
		switch (r.below(8)) {
		case 0:
			buffer[r.below(length)] ^= 1U << r.below(8);
			break;
		case 1: /* in the header, mostly */
		case 2:
		case 3:
			set_word(buffer, r.below(std::min(words, 12U)),
				 odd_word(r));
			break;
		case 4:
			set_word(buffer, r.below(words), odd_word(r));
			break;
		case 5:
			set_word(buffer, 3, pings::some_type(r));
			break;
		case 6:
			return r.below(length + 1);
		default:
			while (length < size && !r.once_in(16))
				buffer[length++] = static_cast<u8>(r.next());
			break;
		}
	return length;
}

u32 Link::mangle(u32 side, u8 *buffer, u32 length, u32 size)
{
	last_[side].assign(buffer, buffer + length);
	if (!to_mangle[side] || length < 16 || !world.chaos.once_in(2))
		return length;
	to_mangle[side]--;
	taint();
	world.effect(Fault::Hostile);
	world.trace("%s: a message is changed", name(side));
	return distort(world.chaos, buffer, length, size);
}

/* An access to what the other end might have registered. */
static WorkRequest access(Random &r)
{
	WorkRequest wr = {};

	wr.op = r.once_in(2) ? WorkRequest::Write : WorkRequest::Read;
	wr.key = r.within(1, 8) << 8 | r.within(0, 4);
	wr.address = u64{ wr.key } << 20 | r.below(kPage);
	wr.length = r.within(1, 600);
	return wr;
}

void Link::inject(u32 side)
{
	static constexpr u32 kErrors[] = { 1, 2, 3,  4,	 5,   6, 7,
					   8, 9, 10, 11, 100, 55 };
	Random &r = world.chaos;
	WorkRequest wr = {};
	Octets o;

	taint();
	wr.op = WorkRequest::Send;
	switch (r.below(6)) {
	case 0:
		wr = access(r);
		o.resize(wr.length);
		break;
	case 1: /* again */
		o = last_[side];
		break;
	case 2:
		o = last_[side];
		o.resize(std::max<size_t>(o.size(), 64));
		o.resize(distort(r, o.data(), u32(o.size()), u32(o.size())));
		break;
	case 3: /* an error about what is, perhaps, outstanding */
		o.resize(28);
		set_word(o.data(), 0,
			 last_[1 - side].size() < 4 ?
				 0 :
				 __builtin_bswap32(
					 *reinterpret_cast<const u32 *>(
						 last_[1 - side].data())));
		set_word(o.data(), 1, 2);
		set_word(o.data(), 2, r.below(40));
		set_word(o.data(), 3, RPCRDMA2_ERROR);
		set_word(o.data(), 4, kErrors[r.below(13)]);
		set_word(o.data(), 5, r.below(3));
		set_word(o.data(), 6, odd_word(r));
		o.resize(r.once_in(2) ? 20 : 24 + 4 * r.below(2));
		break;
	case 4:
		o.resize(16);
		set_word(o.data(), 1, r.once_in(4) ? odd_word(r) : 2);
		set_word(o.data(), 2, odd_word(r));
		set_word(o.data(), 3, RPCRDMA2_GRANT);
		break;
	default: /* with a handle that need not be this one's */
		o = last_[side];
		wr.op = WorkRequest::SendInvalidate;
		wr.key = access(r).key;
		break;
	}
	wr.length = u32(o.size());
	world.trace("%s: something is made up", name(side));
	if (qp[1 - side].up())
		world.effect(Fault::Hostile);
	qp[side].inject(wr, std::move(o));
}

} // namespace sim
