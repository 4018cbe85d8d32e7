/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A split virtqueue in a guest's memory, seen from the device. Every value that is
 * read there is checked before it is used; a wrong value throws a Failure.
 */
#ifndef _RPCRDMA_CLOCK_RING_H
#define _RPCRDMA_CLOCK_RING_H

#include "base.h"

#include <span>
#include <vector>

namespace ttclock
{

using Octets = std::span<u8>;

/* What a guest shows of its memory. It does not own what it refers to. */
class Memory {
public:
	void add(u64 address, Octets octets)
	{
		regions_.push_back({ address, octets });
	}
	void clear()
	{
		regions_.clear();
	}
	/* @length bytes at the guest's @address. */
	[[nodiscard]] Octets at(u64 address, u64 length) const;

private:
	struct Region {
		u64 address;
		Octets octets;
	};

	std::vector<Region> regions_;
};

/* One buffer of the guest, in pieces. */
struct Chain {
	u16 head = 0;
	std::vector<Octets> readable;
	std::vector<Octets> writable;

	[[nodiscard]] u64 readable_size() const;
	[[nodiscard]] u64 writable_size() const;
};

class Ring {
public:
	static constexpr u32 kMaximumSize = 32768;

	explicit Ring(const Memory &memory)
		: memory_(&memory)
	{
	}

	void set_size(u32 size);
	void set_addresses(u64 descriptors, u64 available, u64 used);
	void set_base(u16 base);
	void enable(bool enabled);
	[[nodiscard]] bool enabled() const
	{
		return enabled_;
	}
	[[nodiscard]] u16 base() const
	{
		return next_;
	}

	/* How many buffers the guest has made available. */
	[[nodiscard]] u16 available() const;
	/* The @ahead'th of them. */
	[[nodiscard]] Chain look(u16 ahead) const;
	/* The first available one has been used; @written bytes are in it. */
	void use(u16 head, u32 written);
	/* Whether to interrupt the guest for what has been used since last asked. */
	bool interrupt();

private:
	[[nodiscard]] u16 load(const Octets &from, u64 offset) const;

	const Memory *memory_;
	u32 size_ = 0;
	bool enabled_ = false;
	bool news_ = false; /* used since the last interrupt */
	u16 next_ = 0; /* of the available ring */
	u16 used_ = 0;
	Octets descriptors_, available_, used_ring_;
};

} /* namespace ttclock */

#endif
