/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The extensions that this build speaks. Tests have a list of their own: a file that is
 * included first and has the same guard.
 */
#ifndef _RPCRDMA_CORE_EXTENSIONS_H
#define _RPCRDMA_CORE_EXTENSIONS_H

#include "base.h"
#include "extension.h"
#include "rtrext.h"
#include "xcharext.h"

namespace rpcrdma
{

using Extensions = ExtensionList<BaseProtocol, Xcharext, Rtrext>;

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_EXTENSIONS_H */
