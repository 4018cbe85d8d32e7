/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queues as a driver lays them out.
 */
#ifndef _RPCRDMA_CLOCK_TEST_QUEUES_H
#define _RPCRDMA_CLOCK_TEST_QUEUES_H

#include "../ring.h"

#include <cstring>
#include <vector>

namespace ttclock
{

/* Where a driver has a queue, and how it fills it. */
class Queue {
public:
	static constexpr u32 kSize = 8;
	static constexpr u64 kAvailable = 256;
	static constexpr u64 kUsed = 512;
	static constexpr u16 kNext = 1;
	static constexpr u16 kWritable = 2;
	static constexpr u16 kIndirect = 4;

	/* @memory is what the guest shows from @address on; it is there at @at. */
	Queue(Octets memory, u64 address, u64 at)
		: memory_(memory.subspan(at))
		, address_(address + at)
	{
	}

	[[nodiscard]] u64 descriptors() const
	{
		return address_;
	}
	[[nodiscard]] u64 available() const
	{
		return address_ + kAvailable;
	}
	[[nodiscard]] u64 used() const
	{
		return address_ + kUsed;
	}

	void describe(u16 index, u64 address, u32 length, u16 flags = 0,
		      u16 next = 0)
	{
		const u64 at = index * 16u;

		put(at, address);
		put(at + 8, length);
		put(at + 12, flags);
		put(at + 14, next);
	}
	void offer(u16 head)
	{
		put(kAvailable + 4 + offered_ % kSize * 2u, head);
		set_index(++offered_);
	}
	void set_index(u16 index)
	{
		put(kAvailable + 2, index);
	}
	void set_flags(u16 flags)
	{
		put(kAvailable, flags);
	}
	[[nodiscard]] u16 used_index() const
	{
		return get<u16>(kUsed + 2);
	}
	[[nodiscard]] u32 used_id(u16 i) const
	{
		return get<u32>(kUsed + 4 + i % kSize * 8u);
	}
	[[nodiscard]] u32 used_length(u16 i) const
	{
		return get<u32>(kUsed + 8 + i % kSize * 8u);
	}

private:
	template <typename T> void put(u64 at, T value)
	{
		std::memcpy(&memory_[at], &value, sizeof(value));
	}
	template <typename T> [[nodiscard]] T get(u64 at) const
	{
		T value;

		std::memcpy(&value, &memory_[at], sizeof(value));
		return value;
	}

	Octets memory_;
	u64 address_;
	u16 offered_ = 0;
};

} /* namespace ttclock */

#endif
