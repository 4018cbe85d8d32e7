/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared by all of the simulator: random numbers from a seed, failures, queues.
 */
#ifndef _RPCRDMA_SIM_BASE_H
#define _RPCRDMA_SIM_BASE_H

#include <rpcrdma/names.h>
#include <rpcrdma/plan.h>
#include <rpcrdma/private_data.h>
#include <rpcrdma/regions.h>
#include <rpcrdma/sizes.h>

#include <cassert>
#include <memory>
#include <string>
#include <vector>

namespace sim
{

/* A function has the same name. */
using SessionInfo = struct rpcrdma_session_info;

/* splitmix64: the same on every machine, and as good from any seed. */
class Random {
public:
	explicit Random(u64 seed)
		: state_(seed)
	{
	}
	u64 next()
	{
		u64 z = state_ += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		return z ^ (z >> 31);
	}
	/* Less than @n, which is not zero. */
	u32 below(u32 n)
	{
		return static_cast<u32>((next() >> 32) * n >> 32);
	}
	/* @low to @high. */
	u32 within(u32 low, u32 high)
	{
		return low + below(high - low + 1);
	}
	/* True once in @n times. */
	bool once_in(u32 n)
	{
		return !below(n);
	}

private:
	u64 state_;
};

/* A property does not hold. */
struct Failure {
	const char *checker;
	std::string what;
};

[[noreturn, gnu::format(printf, 2, 3)]] void fail(const char *checker,
						  const char *format, ...);

/* A FIFO that keeps its memory. */
template <typename T> class Queue {
public:
	[[nodiscard]] bool empty() const
	{
		return !count_;
	}
	[[nodiscard]] u32 size() const
	{
		return count_;
	}
	T &operator[](u32 i)
	{
		return ring_[(head_ + i) & (ring_.size() - 1)];
	}
	const T &operator[](u32 i) const
	{
		return ring_[(head_ + i) & (ring_.size() - 1)];
	}
	T &front()
	{
		return (*this)[0];
	}
	void push(T t)
	{
		if (count_ == ring_.size())
			grow();
		(*this)[count_++] = std::move(t);
	}
	T pop()
	{
		T t = std::move(front());

		head_ = (head_ + 1) & (ring_.size() - 1);
		count_--;
		return t;
	}
	T take_last()
	{
		return std::move((*this)[--count_]);
	}
	/* Put @t at @i, before what is there. */
	void insert(u32 i, T t)
	{
		push(std::move(t));
		for (u32 k = count_ - 1; k > i; k--)
			std::swap((*this)[k], (*this)[k - 1]);
	}
	void erase(u32 i)
	{
		for (; i + 1 < count_; i++)
			(*this)[i] = std::move((*this)[i + 1]);
		count_--;
	}
	/* Take the first @t out; whether there is one. */
	bool remove(const T &t)
	{
		for (u32 i = 0; i < count_; i++)
			if ((*this)[i] == t) {
				erase(i);
				return true;
			}
		return false;
	}
	/* Keep the first @n. */
	void cut(u32 n)
	{
		while (count_ > n)
			(*this)[--count_] = T();
	}

private:
	void grow()
	{
		std::vector<T> larger(ring_.empty() ? 8 : 2 * ring_.size());

		for (u32 i = 0; i < count_; i++)
			larger[i] = std::move((*this)[i]);
		ring_ = std::move(larger);
		head_ = 0;
	}

	std::vector<T> ring_;
	u32 head_ = 0;
	u32 count_ = 0;
};

} // namespace sim

#endif /* _RPCRDMA_SIM_BASE_H */
