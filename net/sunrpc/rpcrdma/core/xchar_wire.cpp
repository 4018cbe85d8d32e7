// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "xchar_wire.h"

namespace rpcrdma
{

bool XcharValue::decode(XdrReader &r)
{
	u32 length;

	return r.word(which) && r.word(length) && r.opaque(length, data);
}

bool XcharSubset::decode(XdrReader &r)
{
	u32 count;

	return r.word(count) && count <= r.left() / kWordSize &&
	       r.opaque(count * kWordSize, words_);
}

u32 XcharSubset::word(u32 index) const
{
	return index < words_.size() / kWordSize ?
		       load_be32(words_.after(index * kWordSize).data()) :
		       0;
}

bool XcharSubset::has(u32 position) const
{
	return word(position / kXcharBits) >> position % kXcharBits & 1;
}

bool XcharSubset::within(u32 n) const
{
	for (u32 i = n / kXcharBits; i < words_.size() / kWordSize; i++) {
		const u32 bits = word(i);

		if (i == n / kXcharBits ? bits >> n % kXcharBits : bits)
			return false;
	}
	return true;
}

bool XcharInit::decode(Bytes body)
{
	XdrReader r(body);

	return start.decode(r) && nochg.decode(r) && !r.left();
}

bool XcharRequest::decode(Bytes body)
{
	XdrReader r(body);

	return want.decode(r) && !r.left();
}

bool XcharResponse::decode(Bytes body)
{
	XdrReader r(body);

	return done.decode(r) && rej.decode(r) && pend.decode(r) && !r.left();
}

bool XcharUpdate::decode(Bytes body)
{
	XdrReader r(body);

	return now.decode(r) && r.boolean(pendclr) && !r.left();
}

void encode_xchar_value(const XcharNumber &n, XdrWriter &w)
{
	w.word(n.which);
	w.word(kWordSize);
	w.word(n.number);
}

void encode_xchar_subset(u32 positions, XdrWriter &w)
{
	w.word(positions != 0);
	if (positions)
		w.word(positions);
}

void encode_xchar_rest(u32 n, u32 others, XdrWriter &w)
{
	w.word((n + kXcharBits - 1) / kXcharBits);
	for (u32 i = 0; i < n; i += kXcharBits) {
		const u32 all =
			n - i < kXcharBits ? (1U << (n - i)) - 1 : UINT32_MAX;

		w.word(i ? all : all & ~others);
	}
}

} // namespace rpcrdma
