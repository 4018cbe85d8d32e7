/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * To call what rpcgen has generated.
 */
#ifndef _RPCRDMA_CODEC_GENERATED_H
#define _RPCRDMA_CODEC_GENERATED_H

#include "content.h"

#include <rpc/rpc.h>

#include <cstring>

namespace codec
{

template <typename T> using Proc = bool_t (*)(XDR *, T *);

/* Large enough for whatever the tests make. */
constexpr u32 kRoom = 1 << 16;

/* On the wire an enum can have values that C++ does not know. */
template <typename T> u32 as_received(const T &e)
{
	u32 value;

	static_assert(sizeof(e) == sizeof(value));
	std::memcpy(&value, &e, sizeof(value));
	return value;
}

template <typename T> Octets encode(Proc<T> proc, T &value)
{
	Octets out(kRoom);
	XDR x;

	xdrmem_create(&x, reinterpret_cast<char *>(out.data()), kRoom,
		      XDR_ENCODE);
	out.resize(proc(&x, &value) ? xdr_getpos(&x) : 0);
	return out;
}

/* A value that the generated code has allocated parts of. */
template <typename T> class Value {
public:
	Value(Proc<T> proc, const u8 *in, u32 size)
		: proc_(proc)
	{
		XDR x;

		std::memset(&value, 0, sizeof(value));
		xdrmem_create(
			&x,
			const_cast<char *>(reinterpret_cast<const char *>(in)),
			size, XDR_DECODE);
		ok = proc(&x, &value);
		consumed = xdr_getpos(&x);
	}
	~Value()
	{
		xdr_free(reinterpret_cast<xdrproc_t>(proc_), &value);
	}
	Value(const Value &) = delete;
	Value &operator=(const Value &) = delete;

	bool canonical(const u8 *in)
	{
		const Octets again = encode(proc_, value);

		return again.size() == consumed &&
		       (!consumed || !std::memcmp(again.data(), in, consumed));
	}

	T value;
	bool ok;
	u32 consumed;

private:
	Proc<T> proc_;
};

} // namespace codec

#endif /* _RPCRDMA_CODEC_GENERATED_H */
