// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "fault.h"

#include "xdr.h"

namespace rpcrdmactl
{

namespace
{

using rpcrdma::kPrefixSize;
using rpcrdma::kSegmentSize;
using rpcrdma::kWordSize;

/* Walks through a header in the order of its fields, up to the first that is wrong. */
class Finder {
public:
	Finder(rpcrdma::Bytes in, const rpcrdma::HeaderType &type)
		: r_(in.after(kPrefixSize))
		, type_(type)
	{
	}

	[[nodiscard]] std::optional<Fault> run()
	{
		if (error() && numbers() && call() && reads() && writes() &&
		    reply())
			(void)payload();
		return std::move(fault_);
	}

private:
	[[nodiscard]] bool has(rpcrdma::Field field) const
	{
		return type_.fields & field;
	}

	/* Return: false, so that the walk ends. */
	bool wrong(u32 at, const std::string &what)
	{
		fault_ = { kPrefixSize + at, what };
		return false;
	}

	bool word(const std::string &name, u32 &value)
	{
		return r_.word(value) ||
		       wrong(r_.offset(), "the message ends before or in " +
						  name);
	}

	/* Does an item follow? */
	bool flag(const std::string &list, bool &more)
	{
		const u32 at = r_.offset();
		u32 value = 0;

		if (!word("the word that says whether " + list, value))
			return false;
		more = value == 1;
		return value <= 1 || wrong(at, "the word that says whether " +
						       list + " is " +
						       std::to_string(value) +
						       "; it may be 0 or 1");
	}

	bool segment(const std::string &of)
	{
		u32 value = 0;

		return word("the handle of " + of, value) &&
		       word("the length of " + of, value) &&
		       word("the offset of " + of, value) &&
		       word("the offset of " + of, value);
	}

	bool error()
	{
		u32 code = 0;
		u32 value = 0;

		if (!has(rpcrdma::kFieldError))
			return true;
		if (!word("the error code", code))
			return false;
		const rpcrdma::ErrorType *type = rpcrdma::error_type(code);
		if (!type) {
			rpcrdma::Bytes rest;
			return r_.opaque(r_.left() & ~(kWordSize - 1), rest);
		}
		for (u32 i = 1; i <= type->words; i++)
			if (!word("argument " + std::to_string(i) + " of " +
					  std::to_string(type->words) + " of " +
					  type->name,
				  value))
				return false;
		return true;
	}

	bool numbers()
	{
		u32 value = 0;

		return (!has(rpcrdma::kFieldRemaining) ||
			word("rdma_remaining", value)) &&
		       (!has(rpcrdma::kFieldInvHandle) ||
			word("rdma_inv_handle", value));
	}

	bool call()
	{
		u32 count = 0;

		if (!has(rpcrdma::kFieldCall))
			return true;
		for (bool more = true;; count++) {
			const u32 at = r_.offset();
			if (!flag("the Call chunk goes on", more))
				return false;
			if (!more)
				return count ||
				       wrong(at, "the Call chunk has no "
						 "segment; it has one at least");
			if (!read_segment("the Call chunk", count, true))
				return false;
		}
	}

	bool read_segment(const std::string &list, u32 index, bool zero)
	{
		const std::string of =
			"segment " + std::to_string(index) + " of " + list;
		const u32 at = r_.offset();
		u32 position = 0;

		if (!word("the position of " + of, position))
			return false;
		if (zero && position)
			return wrong(at, "the position of " + of + " is " +
						 std::to_string(position) +
						 "; it may be 0 only");
		return segment(of);
	}

	bool reads()
	{
		if (!has(rpcrdma::kFieldReads))
			return true;
		for (u32 i = 0;; i++) {
			bool more = false;
			if (!flag("the Read list goes on", more))
				return false;
			if (!more)
				return true;
			if (!read_segment("the Read list", i, false))
				return false;
		}
	}

	bool write_chunk(const std::string &name)
	{
		const u32 at = r_.offset();
		u32 count = 0;

		if (!word("the count of segments of " + name, count))
			return false;
		const u32 room = r_.left() / kSegmentSize;
		if (count > room)
			return wrong(at, name + " says that it has " +
						 std::to_string(count) +
						 " segments; in what follows "
						 "there is room for " +
						 std::to_string(room));
		for (u32 i = 0; i < count; i++)
			if (!segment("segment " + std::to_string(i) + " of " +
				     name))
				return false;
		return true;
	}

	bool writes()
	{
		if (!has(rpcrdma::kFieldWrites))
			return true;
		for (u32 i = 0;; i++) {
			bool more = false;
			if (!flag("the Write list goes on", more))
				return false;
			if (!more)
				return true;
			if (!write_chunk("Write chunk " + std::to_string(i)))
				return false;
		}
	}

	bool reply()
	{
		const u32 at = r_.offset();
		bool there = false;

		if (!has(rpcrdma::kFieldReply))
			return true;
		if (!flag("there is a Reply chunk", there))
			return false;
		if (there)
			return write_chunk("the Reply chunk");
		return type_.htype != RPCRDMA2_REPLY_EXTERNAL ||
		       wrong(at, "the word that says whether there is a Reply "
				 "chunk is 0; in this type it may be 1 only");
	}

	bool payload()
	{
		const u32 left = r_.left();

		if (!type_.payload)
			return !left || wrong(r_.offset(),
					      "octets follow the header, and "
					      "this type has none there: " +
						      std::to_string(left));
		if (!left)
			return wrong(r_.offset(),
				     "the message ends behind its header; this "
				     "type has a payload of four octets or "
				     "more");
		return left % kWordSize == 0 ||
		       wrong(r_.offset() + left / kWordSize * kWordSize,
			     "the payload has " + std::to_string(left) +
				     " octets; their number may be a multiple "
				     "of four only");
	}

	rpcrdma::XdrReader r_;
	const rpcrdma::HeaderType &type_;
	std::optional<Fault> fault_;
};

} // namespace

std::optional<Fault> find_fault(rpcrdma::Bytes in,
				const rpcrdma::HeaderType &type)
{
	if (type.extension || (type.fields & rpcrdma::kFieldProperties))
		return {};
	return Finder(in, type).run();
}

} // namespace rpcrdmactl
