// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "canary_core.h"

namespace {

enum Colour { Red, Green, Blue };

} // namespace

u8 canary_core_read(const u8 *octet)
{
	return *octet;
}

u32 canary_core_colour(const u32 *number)
{
	return *reinterpret_cast<const Colour *>(number) == Blue;
}

void canary_core_raise(u32 *number)
{
	*number += 1;
}
