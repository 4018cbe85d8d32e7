/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The objects behind the opaque ones of <rpcrdma/core.h>, for who adds C names.
 */
#ifndef _RPCRDMA_CORE_ABI_H
#define _RPCRDMA_CORE_ABI_H

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

/* What @f says of extension E; false, zero, if this build's list is without it. */
template <typename E, typename F>
auto ask(rpcrdma_session *s, F f)
	-> decltype(f(*static_cast<E *>(nullptr), *static_cast<Port *>(nullptr)))
{
	if constexpr (Extensions::place<E>() != 0)
		return session(s).with<E>(f);
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
