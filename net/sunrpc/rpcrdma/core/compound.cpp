// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "compound.h"
#include "call_header.h"
#include "xdr.h"

namespace rpcrdma
{

namespace
{

constexpr u32 kProgramNfs = 100003;
/* XID, direction, RPC version; then program, its version, procedure. */
constexpr u32 kAtProgram = 3 * kXdrUnit;

enum Operation : u32 {
	kAccess = 3,
	kClose = 4,
	kCommit = 5,
	kGetattr = 9,
	kGetfh = 10,
	kLookup = 15,
	kLookupp = 16,
	kNverify = 17,
	kPutfh = 22,
	kPutpubfh = 23,
	kPutrootfh = 24,
	kRead = 25,
	kReadlink = 27,
	kRestorefh = 31,
	kSavefh = 32,
	kVerify = 37,
	kSequence = 53,
};

/*
 * The arguments of an operation: first @words words; then a bitmap, if it has one, and an
 * opaque.
 */
struct Arguments {
	Operation op = kAccess;
	u32 words = 0;
	bool bitmap = false;
	bool opaque = false;
};

constexpr Arguments kArguments[] = {
	{ kAccess, 1 },
	{ kClose, 5 },
	{ kCommit, 3 },
	{ kGetattr, 0, true },
	{ kGetfh, 0 },
	{ kLookup, 0, false, true },
	{ kLookupp, 0 },
	{ kNverify, 0, true, true },
	{ kPutfh, 0, false, true },
	{ kPutpubfh, 0 },
	{ kPutrootfh, 0 },
	{ kRead, 7 },
	{ kReadlink, 0 },
	{ kRestorefh, 0 },
	{ kSavefh, 0 },
	{ kVerify, 0, true, true },
	{ kSequence, 8 },
};

} // namespace

static bool skip_words(XdrReader &r, u32 count)
{
	u32 word;

	/* No more than are there. */
	while (count--)
		if (!r.word(word))
			return false;
	return true;
}

static bool skip_opaque(XdrReader &r)
{
	Bytes body;
	u32 length;

	return r.word(length) && r.opaque(length, body);
}

static bool skip_bitmap(XdrReader &r)
{
	u32 words;

	return r.word(words) && skip_words(r, words);
}

/* Return: false if what follows cannot be found. */
static bool skip_arguments(XdrReader &r, u32 op)
{
	for (const Arguments &a : kArguments)
		if (a.op == op)
			return skip_words(r, a.words) &&
			       (!a.bitmap || skip_bitmap(r)) &&
			       (!a.opaque || skip_opaque(r));
	return false;
}

static u32 compound_causes(Bytes arguments, u32 begin, Span<u32> causes,
			   u32 &known)
{
	XdrReader r(arguments);
	u32 minor;
	u32 left;
	u32 n = 0;

	if (!skip_opaque(r) || !r.word(minor) || !r.word(left))
		return 0;
	for (; left; left--) {
		const u32 at = begin + r.offset();
		u32 op;

		known = at;
		if (n == causes.size() || !r.word(op) || !skip_arguments(r, op))
			return n;
		if (op == kRead || op == kReadlink)
			causes[n++] = at;
	}
	known = begin + arguments.size();
	return n;
}

u32 get_causes(Bytes call, Span<u32> causes, u32 &known)
{
	u32 begin;
	u32 program;
	u32 version;

	known = 0;
	if (!call_arguments(call, begin) || !causes.size())
		return 0;
	known = begin;
	XdrReader r(call.after(kAtProgram));
	if (!r.word(program) || !r.word(version) || program != kProgramNfs)
		return 0;
	if (version >= 4)
		return compound_causes(call.after(begin), begin, causes, known);
	causes[0] = begin;
	known = call.size();
	return 1;
}

} // namespace rpcrdma
