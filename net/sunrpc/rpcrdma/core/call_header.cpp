// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "call_header.h"
#include "xdr.h"

namespace rpcrdma
{

namespace
{

/* XID, direction, RPC version, program, its version, procedure. */
constexpr u32 kFixedWords = 6;
/* RFC 5531, section 8.2. */
constexpr u32 kMaxAuthBody = 400;
constexpr u32 kFlavorGss = 6;
/* RFC 2203, section 5. */
constexpr u32 kGssVersion = 1;
constexpr u32 kGssProcData = 0;
constexpr u32 kGssServiceNone = 1;
/* So many bytes of a Call identify it: file, offset, slot of the NFS session. */
constexpr u32 kTelling = 512;

struct CallHeader {
	u32 flavor = 0; /* of the credential */
	Bytes credential;
	u32 arguments = 0; /* where they begin */
};

/* Not cryptographic; but a peer that does not know the secret cannot choose a sum. */
class Sum {
public:
	explicit Sum(u64 secret)
		: state_(secret)
		, factor_(secret | 1)
	{
	}
	void add(u64 v)
	{
		state_ = (state_ ^ v) * factor_;
		state_ ^= state_ >> 32;
	}
	void add(Bytes in)
	{
		add(u64{ in.size() });
		while (in.size()) {
			u64 v = 0;
			const u32 n = in.size() < sizeof(v) ? in.size() :
							      u32{ sizeof(v) };

			__builtin_memcpy(&v, in.data(), n);
			add(v);
			in = in.after(n);
		}
	}
	[[nodiscard]] u32 value() const
	{
		return static_cast<u32>(state_);
	}

private:
	u64 state_;
	u64 factor_;
};

} // namespace

static bool get_auth(XdrReader &r, u32 &flavor, Bytes &body)
{
	u32 length;

	return r.word(flavor) && r.word(length) && length <= kMaxAuthBody &&
	       r.opaque(length, body);
}

static bool parse(Bytes stream, CallHeader &h)
{
	XdrReader r(stream);
	u32 word;
	Bytes verifier;

	for (u32 i = 0; i < kFixedWords; i++)
		if (!r.word(word))
			return false;
	if (!get_auth(r, h.flavor, h.credential) ||
	    !get_auth(r, word, verifier))
		return false;
	h.arguments = r.offset();
	return true;
}

/*
 * Only the RPC program reads the arguments. With integrity or privacy, or while a context
 * is made, RPCSEC_GSS reads them, too; an unknown flavor or service may do the same.
 */
static bool arguments_are_plain(const CallHeader &h)
{
	XdrReader r(h.credential);
	u32 version;
	u32 procedure;
	u32 sequence;
	u32 service;

	if (h.flavor != kFlavorGss)
		return true;
	return r.word(version) && version == kGssVersion && r.word(procedure) &&
	       procedure == kGssProcData && r.word(sequence) &&
	       r.word(service) && service == kGssServiceNone;
}

/*
 * RPCSEC_GSS uses a new sequence number each time that a Call is sent, so everything that
 * it protects differs then.
 */
u64 call_id(u32 xid, u64 length, Bytes stream, u64 secret)
{
	const Bytes telling(stream.data(), stream.size() < kTelling ?
						   stream.size() :
						   kTelling);
	CallHeader h;
	Sum sum(secret);

	sum.add(length);
	if (!parse(telling, h) || h.flavor != kFlavorGss) {
		sum.add(telling);
	} else {
		sum.add(Bytes(telling.data(), kFixedWords * kXdrUnit));
		sum.add(h.credential.after(3 * kXdrUnit));
		if (arguments_are_plain(h))
			sum.add(telling.after(h.arguments));
	}
	return u64{ sum.value() } << 32 | xid;
}

bool call_item(const Chunks &chunks, Bytes stream, Range &item)
{
	CallHeader h;
	u64 length = 0;

	if (!chunks.n_reads || !parse(stream, h) || !arguments_are_plain(h))
		return false;
	const u32 position = chunks.reads[0].position;
	for (u32 i = 0; i < chunks.n_reads; i++) {
		if (chunks.reads[i].position != position)
			return false;
		length += chunks.reads[i].target.length;
	}
	if (position < h.arguments || !length || length > UINT32_MAX)
		return false;
	item = { position, static_cast<u32>(length) };
	return true;
}

} // namespace rpcrdma
