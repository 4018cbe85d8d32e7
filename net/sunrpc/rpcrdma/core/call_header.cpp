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
/* What is looked at to find what identifies a Call. */
constexpr u32 kTelling = 512;
/* Of the arguments: slot of the NFS session, file, offset. knfsd's handles have 28 octets. */
constexpr u32 kTellingArguments = 80;

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
	/* Two numbers at a time, since this is done for each Call. */
	void add(Bytes in)
	{
		const u32 rest = in.size() % kTwo;
		const u8 *end = in.end() - rest;

		add(u64{ in.size() });
		for (const u8 *at = in.begin(); at != end; at += kTwo)
			add(number(at), number(at + sizeof(u64)));
		if (!rest)
			return;
		const Two last = padded(end, rest);
		add(last.a, last.b);
	}
	/* Both halves of the product together depend on all octets of both factors. */
	void add(u64 a, u64 b)
	{
		__extension__ using u128 = unsigned __int128;
		const u128 product = u128{ a ^ factor_ } * (b ^ state_);

		state_ += static_cast<u64>(product) ^
			  static_cast<u64>(product >> 64);
	}
	[[nodiscard]] u32 value() const
	{
		return static_cast<u32>(state_ ^ state_ >> 32);
	}
	static u64 number(const u8 *at)
	{
		u64 v;

		__builtin_memcpy(&v, at, sizeof(v));
		return v;
	}

private:
	struct Two {
		u64 a;
		u64 b;
	};
	static constexpr u32 kTwo = sizeof(Two);

	/* Apart, since an array makes a function guard its stack. */
	[[gnu::noinline]] static Two padded(const u8 *from, u32 octets)
	{
		u8 last[kTwo] = {};

		__builtin_memcpy(last, from, octets);
		return { number(last), number(last + sizeof(u64)) };
	}

	u64 state_;
	u64 factor_;
};

} // namespace

[[gnu::always_inline]] static inline bool
get_auth(XdrReader &r, u32 &flavor, Bytes &body)
{
	u32 length;

	return r.word(flavor) && r.word(length) && length <= kMaxAuthBody &&
	       r.opaque(length, body);
}

/* Inline, as all that looks at each Call: what it has found stays in registers then. */
[[gnu::always_inline]] static inline bool parse(Bytes stream, CallHeader &h)
{
	XdrReader r(stream);
	u32 word;
	Bytes verifier;

	if (!r.skip(kFixedWords * kXdrUnit) ||
	    !get_auth(r, h.flavor, h.credential) ||
	    !get_auth(r, word, verifier))
		return false;
	h.arguments = r.offset();
	return true;
}

/*
 * Only the RPC program reads the arguments. With integrity or privacy, or while a context
 * is made, RPCSEC_GSS reads them, too; an unknown flavor or service may do the same.
 */
[[gnu::noinline]] static bool gss_arguments_are_plain(Bytes credential)
{
	XdrReader r(credential);
	u32 version;
	u32 procedure;
	u32 sequence;
	u32 service;

	return r.word(version) && version == kGssVersion && r.word(procedure) &&
	       procedure == kGssProcData && r.word(sequence) &&
	       r.word(service) && service == kGssServiceNone;
}

[[gnu::always_inline]] static inline bool
arguments_are_plain(const CallHeader &h)
{
	return h.flavor != kFlavorGss || gss_arguments_are_plain(h.credential);
}

/*
 * What is the same when the Call is sent again: not a credential or a verifier, of which
 * AUTH_SYS may have a time in it. RPCSEC_GSS uses a new sequence number each time, so all that
 * it protects differs then; what comes behind that number in the credential does not.
 */
[[gnu::always_inline]] static inline void
add_telling(const CallHeader &h, Bytes telling, Sum &sum)
{
	static_assert(u64{ kFixedWords } * kXdrUnit == 3 * sizeof(u64));
	const u8 *const fixed = telling.data();

	sum.add(Sum::number(fixed), Sum::number(fixed + sizeof(u64)));
	sum.add(Sum::number(fixed + 2 * sizeof(u64)));
	if (h.flavor == kFlavorGss)
		sum.add(h.credential.after(3 * kXdrUnit));
	if (arguments_are_plain(h))
		sum.add(telling.after(h.arguments).first(kTellingArguments));
}

u64 call_id(Xid xid, u64 length, Bytes stream, u64 secret)
{
	const Bytes telling = stream.first(kTelling);
	CallHeader h;
	Sum sum(secret);

	sum.add(length);
	if (parse(telling, h))
		add_telling(h, telling, sum);
	else
		sum.add(telling);
	return u64{ sum.value() } << 32 | word_of(xid);
}

bool call_arguments(Bytes stream, u32 &begin)
{
	CallHeader h;

	if (!parse(stream, h) || !arguments_are_plain(h))
		return false;
	begin = h.arguments;
	return true;
}

bool call_divides(Bytes stream, u32 position)
{
	u32 arguments;

	return call_arguments(stream, arguments) && position >= arguments;
}

bool call_item(const Chunks &chunks, Bytes stream, Range &item)
{
	u64 length = 0;

	if (!chunks.n_reads)
		return false;
	const u32 position = chunks.reads[0].position;
	for (u32 i = 0; i < chunks.n_reads; i++) {
		if (chunks.reads[i].position != position)
			return false;
		length += chunks.reads[i].target.length;
	}
	if (!length || length > UINT32_MAX || !call_divides(stream, position))
		return false;
	item = { position, static_cast<u32>(length) };
	return true;
}

} // namespace rpcrdma
