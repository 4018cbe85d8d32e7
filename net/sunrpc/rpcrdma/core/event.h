/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What happens to an object of the core by one call of a C function.
 */
#ifndef _RPCRDMA_CORE_EVENT_H
#define _RPCRDMA_CORE_EVENT_H

namespace rpcrdma
{

/*
 * Gives access to an object for one event. Kernels that check themselves (cxx.mk:
 * RPCRDMA_CHECKED) then look whether what holds between two events does: @check says so by
 * RPCRDMA_CHECK().
 */
template <typename T, void (*check)(const T &)> class EventOf {
public:
	explicit EventOf(T &object)
		: object_(object)
	{
	}
	EventOf(const EventOf &) = delete;
	EventOf(EventOf &&) = delete;
	EventOf &operator=(const EventOf &) = delete;
	EventOf &operator=(EventOf &&) = delete;
	/* In no object of its own: see Rtrext::settle_group(). */
	[[gnu::always_inline]] ~EventOf()
	{
#ifdef RPCRDMA_CHECKED
		check(object_);
#endif
	}
	T &operator*() const
	{
		return object_;
	}
	T *operator->() const
	{
		return &object_;
	}

private:
	T &object_;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_EVENT_H */
