/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The content of a message of xcharext, as plain values, to compare two codecs.
 */
#ifndef _RPCRDMA_CODEC_CHANGES_H
#define _RPCRDMA_CODEC_CHANGES_H

#include "content.h"

namespace codec
{

/* Numbers of the draft. */
inline constexpr u32 kInit = 1;
inline constexpr u32 kRequest = 2;
inline constexpr u32 kResponse = 3;
inline constexpr u32 kUpdate = 4;

using Subset = std::vector<u32>;

/* What a message does not have is empty. */
struct Change {
	std::vector<Property> values;
	std::vector<Subset> subsets;
	bool pendclr = false;
};

/* Return: false if it is none; @consumed then means nothing. */
bool reference_decode(u32 op, const Octets &in, Change &c, u32 &consumed);
Octets reference_encode(u32 op, const Change &c);
bool reference_flag(const Octets &data, u32 &value);

} // namespace codec

#endif /* _RPCRDMA_CODEC_CHANGES_H */
