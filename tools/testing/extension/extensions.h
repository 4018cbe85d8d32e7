/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The list of extensions for tests, in place of the core's own.
 */
#ifndef _RPCRDMA_CORE_EXTENSIONS_H
#define _RPCRDMA_CORE_EXTENSIONS_H

#define RPCRDMA_SESSION_WORDS 520
#define RPCRDMA_TEST_EXTENSIONS

#include "base.h"
#include "ping.h"
#include "rtrext.h"
#include "xcharext.h"

namespace rpcrdma
{

using Extensions = ExtensionList<BaseProtocol, Ping, Xcharext, Rtrext>;

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_EXTENSIONS_H */
