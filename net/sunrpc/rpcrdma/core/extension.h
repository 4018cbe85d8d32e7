/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Protocol extensions.
 *
 * An extension is a class. What of it is known when the core is compiled is in
 * constexpr tables; an object of it, which is its state, is in each session. extensions.h
 * lists all of them, the base protocol first, and nothing else names one: adding one is
 * that line and the file of the extension.
 *
 *	struct Example {
 *		static constexpr const char *kName = "example";
 *		static constexpr HeaderType kTypes[] = { ... };
 *		static constexpr PropertyType kProperties[] = { ... };
 *		// The peer knows it by this.
 *		static constexpr Announcement kAnnounced = { ... };
 *		// Optional: properties of the base protocol that it changes, by rdma_which.
 *		static constexpr u32 kChanges[] = { ... };
 *		// The most octets that encode() writes.
 *		static constexpr u32 kLargestBody = ...;
 *
 *		// A message of Kind::Extension has come; what follows its prefix is
 *		// in @body. It is taken, or is dropped and answered with an error.
 *		Refusal take(const Header &h, Bytes body, Port &port, rpcrdma_rx &rx);
 *		// The rest of what Port::send() has queued.
 *		void encode(const ControlMessage &m, const Port &port, XdrWriter &w);
 *		// Optional: an ERROR may be about a message of its own. True if so.
 *		bool refused(Xid xid, u32 code, Port &port);
 *		// Optional: the answer to a Call of this side has come, a Reply or an
 *		// ERROR, in a form of the base protocol. Its upper layer may have given
 *		// it up long ago.
 *		void answered(Xid xid);
 *		// Optional: a whole RPC message with chunks has come that names a handle for
 *		// Send With Invalidate. It takes out of @rx what the peer's properties do
 *		// not permit.
 *		void permit(const Port &port, rpcrdma_rx &rx) const;
 *		// Optional: a message of something else has come between those that it
 *		// gathers, see Port::gather(). Return: false to end the connection.
 *		bool interrupted(u32 htype, bool other, Port &port, rpcrdma_rx &rx);
 *		// Optional: what it gathers is a Reply to this Call. An ERROR about the Call
 *		// ends that.
 *		bool gathers_reply(Xid xid) const;
 *		// Optional: drop what it gathers, and the rest of it without a word. It does
 *		// not gather any more then.
 *		void stop(rpcrdma_rx &rx);
 *		// Optional: a message of Kind::Extension has come between the parts of an
 *		// RPC message of the base protocol. It is refused; a Reply fails its RPC.
 *		void between(const Header &h, rpcrdma_rx &rx);
 *		// Optional: decode an RPC message that has a header of its own, and
 *		// say where in @in its payload begins and ends (see decode_body()).
 *		static Parse decode(Bytes in, const Limits &limits, Header &h,
 *				    Chunks &c);
 *	};
 *
 * decode() is for types of Kind::Call and Kind::Reply, which else are what those of
 * the base protocol are. An extension is in use once each side has announced it and
 * knows that the other has. Before that its types are unknown ones.
 *
 * RPC messages can be carried by messages of Kind::Extension, too. Then take() fills in what
 * @rx says of them, and what is sent is posted by the extension itself, see Port::post().
 */
#ifndef _RPCRDMA_CORE_EXTENSION_H
#define _RPCRDMA_CORE_EXTENSION_H

#include "control.h"
#include "wire.h"
#include "xdr.h"

namespace rpcrdma
{

/* An array that a function can return. */
template <typename T, u32 N> struct Table {
	T rows[N] = {};

	[[nodiscard]] constexpr const T &operator[](u32 i) const
	{
		return rows[i];
	}
};

template <typename T, u32 N> constexpr u32 rows(const T (&/*table*/)[N])
{
	return N;
}

/* The rows of one extension after the other. */
template <typename Row, u32 N> struct Rows {
	Table<Row, N> table;
	u32 n = 0;

	template <u32 M>
	constexpr void add(const Row (&more)[M], u32 extension)
	{
		for (const Row &row : more) {
			table.rows[n] = row;
			table.rows[n].extension = static_cast<u8>(extension);
			n++;
		}
	}
};

/* No two rows have the same number. */
template <auto number, typename Row, u32 N>
[[nodiscard]] constexpr bool numbers_differ(const Table<Row, N> &t)
{
	for (u32 i = 0; i < N; i++)
		for (u32 j = 0; j < i; j++)
			if (t[i].*number == t[j].*number)
				return false;
	return true;
}

/* A type as a value. */
template <typename T> struct Type {
	using type = T;
};

/**
 * A transport property (section 5)
 * @id: rdma_which
 * @initial: its number for a peer that has not said otherwise
 * @name: for people
 * @decode: check a value of its XDR type, which is not empty, and make it a number.
 *	Return: false for RDMA2_ERR_BAD_PROPVAL.
 * @encode: write the value that is this number; nullptr if this side never sends it
 * @receive: octets of a Receive, if a value says that besides; it has passed @decode
 * @least: of this side's own numbers
 * @most: likewise
 * @ours: what this side says of itself if the property's extension is announced
 * @may_change: after the initial exchange, by a message of its extension
 * @extension: whose it is; the list of extensions fills it in
 * @field: where the number is kept, of the base protocol's own properties; these are
 *	always told, the others if they differ from @initial
 */
struct PropertyType {
	u32 id = 0;
	u32 initial = 0;
	const char *name = nullptr;
	bool (*decode)(Bytes value, u32 &number) = nullptr;
	void (*encode)(u32 number, XdrWriter &w) = nullptr;
	u32 (*receive)(Bytes value) = nullptr;
	u32 least = 0;
	u32 most = UINT32_MAX;
	u32 ours = 0;
	bool may_change = false;
	u8 extension = 0;
	u32 rpcrdma_properties::*field = nullptr;
};

/* Each extension has its bit in this property (D19), or a property of its own. */
inline constexpr u32 kExtensionsProperty = 0xffffff01;

/**
 * How a peer says that it knows an extension
 * @property: by this property
 * @bits: one of these in its number
 */
struct Announcement {
	u32 property;
	u32 bits;
};

/**
 * Why a message is refused, and the error for the peer, if any
 * @detail: of what is wrong, what @reason does not say; not null if there is a @reason. It
 *	lasts, and reaches rpcrdma_rx.detail
 */
struct Refusal {
	rpcrdma_reason reason = RPCRDMA_REASON_NONE;
	const char *detail = nullptr;
	rpcrdma_errcode code = RPCRDMA2_ERR_NONE;
	u32 arg = 0;
};

/* Details that messages of the base protocol and of extensions have in common. */
inline constexpr char kFlood[] = "the peer does not take what is to be sent to it";
inline constexpr char kReadChunks[] = "too many Read chunks";
inline constexpr char kSegmentTooLong[] = "a segment is too long";
inline constexpr char kTooLarge[] = "larger than messages may be here";
inline constexpr char kTooManySegments[] = "too many segments";
inline constexpr char kTooShort[] = "too short for an RPC message";
inline constexpr char kUnreadable[] =
	"the header does not parse, or does not fit what it says or what follows";

class Session;

/* What an extension may do with the session that it is part of. */
class Port {
public:
	Port(Session &session, u32 extension)
		: session_(session)
		, extension_(extension)
	{
	}

	/* It is: what is sent is understood. */
	[[nodiscard]] bool in_use() const;
	/* It will be, and this side has told its peer nothing of itself yet. */
	[[nodiscard]] bool opening() const;
	/* That of this side's CONNPROP: those after it are for the extension's messages. */
	[[nodiscard]] Xid first_xid() const;
	/* Calls of this side are under way, begun or waiting for their Replies. */
	[[nodiscard]] bool calling() const;
	/* The numbers of a property, by its rdma_which; zero if it has none. */
	[[nodiscard]] u32 local(u32 which) const;
	[[nodiscard]] u32 peer(u32 which) const;
	/* The same, of one that has a number, by its index; nothing is searched for. */
	[[nodiscard]] u32 local_at(u32 index) const;
	[[nodiscard]] u32 peer_at(u32 index) const;
	/* Return: false if that is not what it may be, or does not change. */
	[[nodiscard]] bool set_local(u32 which, u32 to);
	[[nodiscard]] bool set_peer(u32 which, u32 to);
	/**
	 * Send a message as soon as there is credit for it.
	 *
	 * @htype: one of the extension's own
	 * @words: for its encode()
	 *
	 * Return: false if it is not in use, or there is no room.
	 */
	[[nodiscard]] bool send(u32 htype, Xid xid,
				const u32 (&words)[kControlWords]);
	/*
	 * Say so of a property of the extension's own, which does not change. Return: false
	 * if that is not what it may be, or this side has told its properties already.
	 */
	[[nodiscard]] bool declare(u32 which, u32 number);

	/* Of RPC messages that the extension takes: the largest, in octets. */
	[[nodiscard]] u32 max_message(rpcrdma_dir dir) const;
	/* Most items of a Call that this side fetches by RDMA. */
	[[nodiscard]] u32 max_read_chunks() const;
	/* How far they may go, enum rpcrdma_reverse; GENL if they are forward ones. */
	[[nodiscard]] u32 reach(rpcrdma_dir dir) const;
	/*
	 * What comes next is a part of what has come, until this is told otherwise: of other
	 * messages only GRANT and ERROR are taken.
	 */
	void gather(bool on);

	/* The largest Send, and the window of this side. */
	[[nodiscard]] u32 max_send() const;
	[[nodiscard]] u32 window() const;
	/* Sends of @msg that there is credit for, without what is kept for others. */
	[[nodiscard]] u32 credits(const rpcrdma_message &msg) const;
	/* Write the prefix of a Send of @msg. Return: its octets, zero if there is no room. */
	[[nodiscard]] u32 begin(const rpcrdma_message &msg, u32 htype,
				MutableBytes out) const;
	/**
	 * A Send of an RPC message is being posted, with a header of the extension's.
	 *
	 * @msg: its progress is kept
	 * @htype: one of the extension's own
	 * @part: octets of its Payload stream in this Send
	 * @header: octets of prefix and header
	 * @last: of its Sends; until then the session sends nothing at all
	 * @tx: what is not filled in is zero already
	 */
	void post(rpcrdma_message &msg, u32 htype, u32 part, u32 header,
		  bool last, rpcrdma_tx &tx);
	/* For rpcrdma_tx.more, where nothing is posted. */
	[[nodiscard]] bool more() const;

private:
	[[nodiscard]] bool may_change(u32 which) const;

	Session &session_;
	u32 extension_;
};

/* The XDR type uint32. */
[[nodiscard]] bool decode_number(Bytes value, u32 &number);
void encode_number(u32 number, XdrWriter &w);
/* The XDR type bool, which is 0 or 1. */
[[nodiscard]] bool decode_flag(Bytes value, u32 &number);

/**
 * All extensions, the base protocol first.
 *
 * Header types have an index without gaps (see RPCRDMA_TYPE_UNKNOWN in core.h), since
 * the numbers of extensions on the wire are anywhere below 2^32.
 */
template <typename Base, typename... Others> struct ExtensionList {
	/* Extensions besides the base protocol. */
	static constexpr u32 kOthers = sizeof...(Others);
	static constexpr u32 kBaseTypes = rows(Base::kTypes);
	/* Header types of version 2. */
	static constexpr u32 kTypes = (kBaseTypes + ... + rows(Others::kTypes));
	/* Indices of header types: with those of version 1, and the unknown ones. */
	static constexpr u32 kIndices =
		RPCRDMA_TYPE_UNKNOWN + 1 + kTypes - kBaseTypes;

	static constexpr u32 kBaseProperties = rows(Base::kProperties);
	/* The one that announces is known to who knows something to announce. */
	static constexpr u32 kProperties =
		(kBaseProperties + ... + rows(Others::kProperties)) +
		(kOthers ? 1 : 0);

	/* The header types of version 2, with their index. */
	[[nodiscard]] static constexpr Table<HeaderType, kTypes> types()
	{
		Rows<HeaderType, kTypes> all;
		u32 extension = 0;

		all.add(Base::kTypes, extension);
		(all.add(Others::kTypes, ++extension), ...);
		for (u32 i = 0; i < kTypes; i++) {
			HeaderType &type = all.table.rows[i];

			type.index = static_cast<u8>(type.extension ?
							     first_index() + i :
							     type.htype);
			type.bare = bare_size(type.fields);
		}
		return all.table;
	}

	/* All properties; the place of each is its index. */
	[[nodiscard]] static constexpr Table<PropertyType, kProperties>
	properties()
	{
		Rows<PropertyType, kProperties> all;
		u32 extension = 0;

		all.add(Base::kProperties, extension);
		if constexpr (kOthers > 0)
			all.add({ { .id = kExtensionsProperty,
				    .name = "extensions",
				    .decode = decode_number,
				    .encode = encode_number } },
				extension);
		(all.add(Others::kProperties, ++extension), ...);
		return all.table;
	}

	[[nodiscard]] static constexpr Table<const char *, 1 + kOthers> names()
	{
		return { { Base::kName, Others::kName... } };
	}

	/* The base protocol is not announced. */
	[[nodiscard]] static constexpr Table<Announcement, 1 + kOthers>
	announcements()
	{
		return { { Announcement{}, Others::kAnnounced... } };
	}

	/* Place in the list; zero if it is not there. */
	template <typename E> [[nodiscard]] static constexpr u32 place()
	{
		u32 place = 0;
		u32 n = 0;

		((n++, place += __is_same(E, Others) ? n : 0), ...);
		return place;
	}

	/* The extension at this place may change a property that is not its own. */
	[[nodiscard]] static constexpr bool changes(u32 place,
						    [[maybe_unused]] u32 which)
	{
		bool its = false;

		visit(place, [&](auto extension) {
			using E = typename decltype(extension)::type;

			if constexpr (requires { E::kChanges; })
				for (const u32 id : E::kChanges)
					its |= id == which;
		});
		return its;
	}

	/* The state of all of them. */
	template <typename E> struct Held {
		E state;
	};
	struct States : Held<Others>... {};

	template <typename E>
	[[nodiscard]] static constexpr E &state(States &states)
	{
		return static_cast<Held<E> &>(states).state;
	}
	template <typename E>
	[[nodiscard]] static constexpr const E &state(const States &states)
	{
		return static_cast<const Held<E> &>(states).state;
	}

	/* Call @f with the Type of the extension at this place. */
	template <typename F>
	static constexpr void visit([[maybe_unused]] u32 place,
				    [[maybe_unused]] F f)
	{
		[[maybe_unused]] u32 n = 0;

		((++n == place ? f(Type<Others>{}) : void()), ...);
	}

	[[nodiscard]] static constexpr u32 larger(u32 a, u32 b)
	{
		return a > b ? a : b;
	}
	/* Of the messages that encode() writes. */
	[[nodiscard]] static constexpr u32 largest_body()
	{
		u32 most = 0;

		((most = larger(most, Others::kLargestBody)), ...);
		return most;
	}

private:
	/* To be added to the place in types() of what is no type of the base. */
	[[nodiscard]] static constexpr u32 first_index()
	{
		return RPCRDMA_TYPE_UNKNOWN + 1 - kBaseTypes;
	}
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_EXTENSION_H */
