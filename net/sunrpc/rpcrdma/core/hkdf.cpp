// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "hkdf.h"

namespace rpcrdma
{

/* Of a label with its prefix, and of a context. */
static constexpr u32 kLabelMost = 32;
static constexpr u32 kContextMost = 64;

static rpcrdma_octets part(Bytes b)
{
	return { b.data(), b.size() };
}

bool hmac(Bytes key, Bytes text, Digest &mac)
{
	const rpcrdma_octets k = part(key);
	const rpcrdma_octets t = part(text);

	return rpcrdma_shim_hmac_sha256(&k, &t, 1, mac.octets);
}

bool hkdf_extract(Bytes salt, Bytes secret, Digest &prk)
{
	return hmac(salt, secret, prk);
}

bool hkdf_expand(Bytes prk, Bytes info, MutableBytes out)
{
	const rpcrdma_octets key = part(prk);
	Digest block;
	u32 at = 0;
	bool ok = out.size() <= kHkdfMost;

	for (u32 n = 1; ok && at < out.size(); n++) {
		const u8 number = static_cast<u8>(n);
		const rpcrdma_octets parts[] = {
			{ block.octets,
			  n == 1 ? 0 : u32{ sizeof(block.octets) } },
			part(info),
			{ &number, 1 },
		};
		const u32 left = out.size() - at;
		const u32 size = left < sizeof(block.octets) ?
					 left :
					 u32{ sizeof(block.octets) };

		ok = rpcrdma_shim_hmac_sha256(&key, parts, 3, block.octets);
		if (ok)
			__builtin_memcpy(out.data() + at, block.octets, size);
		at += size;
	}
	block.wipe();
	if (!ok)
		rpcrdma_shim_wipe(out.data(), out.size());
	return ok;
}

/* The octets of some strings, one after the other; whoever adds sees to it that they fit. */
class Joined {
public:
	void add(u8 octet)
	{
		octets_[size_++] = octet;
	}
	template <typename T> void add(const T &octets)
	{
		for (u32 i = 0; i < octets.size(); i++)
			add(octets[i]);
	}
	[[nodiscard]] Bytes bytes() const
	{
		return { octets_, size_ };
	}

private:
	/* The length of what is made, and those of label and context. */
	u8 octets_[2 + 1 + kLabelMost + 1 + kContextMost] = {};
	u32 size_ = 0;
};

bool hkdf_expand_label(const Digest &prk, Label label, Bytes context,
		       Digest &out)
{
	static constexpr Label kBefore("rpcrdma2 ");
	Joined info;

	if (kBefore.size() + label.size() > kLabelMost ||
	    context.size() > kContextMost)
		return false;
	info.add(u8{ 0 });
	info.add(u8{ sizeof(out.octets) });
	info.add(static_cast<u8>(kBefore.size() + label.size()));
	info.add(kBefore);
	info.add(label);
	info.add(static_cast<u8>(context.size()));
	info.add(context);
	return hkdf_expand(prk.bytes(), info.bytes(), MutableBytes(out.octets));
}

} // namespace rpcrdma
