/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The objects behind the opaque ones of <rpcrdma/core.h>, for who adds C names.
 */
#ifndef _RPCRDMA_CORE_ABI_H
#define _RPCRDMA_CORE_ABI_H

#include "check.h"
#include "event.h"
#include "session.h"

namespace rpcrdma
{

inline Session &session(rpcrdma_session *s)
{
	return *__builtin_launder(reinterpret_cast<Session *>(s));
}

inline const Session &session(const rpcrdma_session *s)
{
	return *__builtin_launder(reinterpret_cast<const Session *>(s));
}

[[gnu::always_inline]] inline void check_session(const Session &s)
{
	(void)RPCRDMA_CHECK(s.invariants());
}

/* Whatever may change a session is one. */
class Event : public EventOf<Session, check_session> {
public:
	explicit Event(rpcrdma_session *s)
		: EventOf(session(s))
	{
	}
};

/* What @f says of extension E; false, zero, if this build's list is without it. */
template <typename E, typename F>
auto ask(rpcrdma_session *s, F f)
	-> decltype(f(*static_cast<E *>(nullptr), *static_cast<Port *>(nullptr)))
{
	if constexpr (Extensions::place<E>() != 0)
		return Event(s)->with<E>(f);
	else
		return {};
}

template <typename E, typename F> u32 look(const rpcrdma_session *s, F f)
{
	if constexpr (Extensions::place<E>() != 0)
		return f(session(s).extension<E>());
	else
		return 0;
}

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_ABI_H */
