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

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_ABI_H */
