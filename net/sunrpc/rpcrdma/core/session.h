/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One RPC-over-RDMA connection, seen from one end.
 */
#ifndef _RPCRDMA_CORE_SESSION_H
#define _RPCRDMA_CORE_SESSION_H

#include "check.h"
#include "continuation.h"
#include "control.h"
#include "credits.h"
#include "hostauth.h"
#include "planner.h"
#include "private_data.h"
#include "properties.h"
#include "requests.h"
#include "wire.h"

namespace rpcrdma
{

/* The first message may meet a version 1 Receive of this size (4.3). */
inline constexpr u32 kFirstMessageMax = 1024;

/* A header type in a set of them. */
[[nodiscard]] inline u32 type_bit(const HeaderType &t)
{
	static_assert(RPCRDMA_MAX_TYPES <= 32);
	return 1U << t.index;
}

/**
 * Plain messages in one direction, see plain.h
 * @last: type of those that are whole, and of last parts; nullptr if there are none
 * @middle: type of the other parts; likewise
 * @max: largest Send
 */
struct Plain {
	const HeaderType *last = nullptr;
	const HeaderType *middle = nullptr;
	u32 max = 0;

	bool operator==(const Plain &) const = default;
};

/**
 * What follows from the configuration, the phase, the properties and which of them have been
 * told, the version, the types that the peer has refused, and the most credits that there have
 * been, until one of them changes.
 * @max_send: the inline threshold towards the peer (section 4.2.2)
 * @max_bare_reply: the same for a Reply without a Reply chunk
 * @max_segment_size: largest segment in Calls of this side
 * @max_segments: most segments that they may have
 * @reverse: enum rpcrdma_reverse: how far reverse-direction RPCs may go
 * @receives: version 1: this side's Receives that are for Calls, by enum rpcrdma_dir, or
 *	for their Replies
 * @extensions: those that may be used now, a bit each, by their place in the list
 * @rules: the planner's view
 * @plain_in: what may be received by take_plain()
 * @plain_out: what may be sent by send_plain()
 */
struct Terms {
	u32 max_send = 0;
	u32 max_bare_reply = 0;
	u32 max_segment_size = 0;
	u32 max_segments = 0;
	u32 reverse = RPCRDMA_RVRSDIR_NONE;
	u32 receives[2] = {};
	u32 extensions = 0;
	PlanningRules rules = {};
	Plain plain_in = {};
	Plain plain_out = {};

	bool operator==(const Terms &) const = default;
};

/* The life of a session. It only goes on: kNextPhases. */
enum class Phase : u8 {
	Agreeing, /* the exchange of section 4.3 */
	Open, /* RPC messages may flow */
	Closed, /* and there is a reason */
};

inline constexpr u32 kPhases = 3;

[[nodiscard]] constexpr u32 phase_bit(Phase p)
{
	return 1U << static_cast<u32>(p);
}

/* For each phase, those that may follow. What has closed may find another reason. */
inline constexpr u32 kNextPhases[kPhases] = {
	phase_bit(Phase::Open) | phase_bit(Phase::Closed),
	phase_bit(Phase::Closed),
	phase_bit(Phase::Closed),
};

/* What a side has said of its properties: its last CONNPROP that counts. */
enum class Told : u8 {
	Nothing,
	Middle,
	Final,
};

/* What both sides have said. In version 1 there is nothing to say: all has been sent. */
struct Agreement {
	Told sent = Told::Nothing;
	Told received = Told::Nothing; /* Nothing again if the FINAL was refused */

	bool operator==(const Agreement &) const = default;
};

[[nodiscard]] constexpr u32 exchange_bit(Told sent, Told received)
{
	return 1U << (static_cast<u32>(sent) * 3 + static_cast<u32>(received));
}

/*
 * How far the exchange can be in each phase, for a client and a server. A client sends first. A
 * MIDDLE is sent for host authentication alone. A server without it is open when the first
 * message has come, a client with the FINAL, or with a message that is no CONNPROP. A closed one
 * is where it was.
 */
inline constexpr u32 kExchanges[2][kPhases] = {
	{
		exchange_bit(Told::Nothing, Told::Nothing) |
			exchange_bit(Told::Middle, Told::Nothing) |
			exchange_bit(Told::Middle, Told::Middle) |
			exchange_bit(Told::Final, Told::Nothing) |
			exchange_bit(Told::Final, Told::Middle),
		exchange_bit(Told::Middle, Told::Nothing) |
			exchange_bit(Told::Middle, Told::Middle) |
			exchange_bit(Told::Middle, Told::Final) |
			exchange_bit(Told::Final, Told::Nothing) |
			exchange_bit(Told::Final, Told::Middle) |
			exchange_bit(Told::Final, Told::Final),
		UINT32_MAX,
	},
	{
		exchange_bit(Told::Nothing, Told::Nothing) |
			exchange_bit(Told::Nothing, Told::Middle) |
			exchange_bit(Told::Middle, Told::Middle),
		exchange_bit(Told::Nothing, Told::Nothing) |
			exchange_bit(Told::Nothing, Told::Middle) |
			exchange_bit(Told::Nothing, Told::Final) |
			exchange_bit(Told::Middle, Told::Final) |
			exchange_bit(Told::Final, Told::Nothing) |
			exchange_bit(Told::Final, Told::Middle) |
			exchange_bit(Told::Final, Told::Final),
		UINT32_MAX,
	},
};

/* Section 7.2: the RPC message's own first words, as far as they are here. */
[[nodiscard]] rpcrdma_reason check_first_words(Bytes stream, Xid xid, rpcrdma_dir dir);

/**
 * State machine of a connection, for both roles and both directions.
 *
 * Its methods sort into
 * - events, which the caller reports: receive(), release(), retire(),
 *   call_refused(), end_call();
 * - commands: admit(), put_back(), room(), refuse(), set_window(), send_room(), peer_private();
 * - output, which the caller asks for until there is none: next_send();
 * - getters: ready(), may_wait(), info(), numbers(), planning(), invariants().
 *
 * The exchange of section 4.3, as a client and as a server sees it:
 *
 *   client: [FINAL to send] -posted-> [wait] -any legal message-> [open]
 *   server: [wait] -any legal message-> [open, FINAL to send] -posted-> [open]
 *
 * A client whose FINAL is refused by a peer of version 1 is open in version 1; so
 * is a server whose first message is of that version, and a client that offers
 * nothing else from the beginning. These differ then: the header types, credits
 * (Requests instead of Credits, which only counts Receives), no GRANT, no
 * continuation, and properties taken from private data.
 *
 * Version 2 is agreed on as soon as the peer has sent a message of that
 * version; only then does its credit word mean anything, and may an ERROR go
 * back. A property set that is refused does not open the connection at its
 * receiver; the side whose set was refused goes on with the defaults. A session that
 * has closed stays closed, and gives the reason. Of all this Phase and Agreement are the state, and
 * kNextPhases and kExchanges say what of it there can be; Documentation/drawings has a drawing.
 *
 * With host authentication (hostauth.h) the exchange has four messages, and the session is
 * open when the client has the last one and the server has sent it. If that fails, the
 * session is closed; what a closed session still sends is the ERROR that says so.
 */
class Session {
public:
	/* Only tests choose these. */
	struct Options {
		u32 count_start = 0;
		bool general = false; /* do without plain.h */
	};

	/* @cfg does not contradict itself. */
	[[nodiscard]] static bool valid(const rpcrdma_config &cfg);

	/* @cfg is valid(). */
	explicit Session(const rpcrdma_config &cfg);
	Session(const rpcrdma_config &cfg, const Options &options);

	/* See rpcrdma_session_receive(). */
	void receive(Bytes in, rpcrdma_rx &rx);
	/* See rpcrdma_session_release(). */
	[[nodiscard]] bool release(u32 count);
	/* See rpcrdma_session_retire(). */
	[[nodiscard]] bool retire();
	/* See rpcrdma_session_may_wait(). */
	[[nodiscard]] bool may_wait(u32 count) const;

	/* See rpcrdma_session_call_refused(). */
	[[nodiscard]] rpcrdma_reason call_refused(rpcrdma_message &msg,
						  const rpcrdma_rx &rx);
	/* See rpcrdma_session_end_call(). */
	[[nodiscard]] bool end_call(rpcrdma_message &msg);

	/*
	 * What holds between two events, of the session and of its parts. It is for tests, which
	 * ask after each event.
	 */
	[[nodiscard]] bool invariants() const;

	/* See rpcrdma_session_admit(). */
	[[nodiscard]] bool admit(rpcrdma_message *msg);
	/* Of a message that takes so many Sends. */
	[[nodiscard]] bool admit(rpcrdma_message *msg, u32 sends);
	/* See rpcrdma_session_reserved(). */
	[[nodiscard]] u32 reserved() const
	{
		return reserved_;
	}
	/* See rpcrdma_session_put_back(). */
	void put_back(rpcrdma_message &msg)
	{
		unreserve(msg);
	}
	/* See rpcrdma_session_room(). */
	[[nodiscard]] bool room();
	/* See rpcrdma_session_refuse(). */
	[[nodiscard]] bool refuse(Xid xid, const ErrorBody &body);
	/* See rpcrdma_session_set_window(). */
	[[nodiscard]] bool set_window(u32 window);
	/* See rpcrdma_session_send_room(). */
	void send_room(u32 octets)
	{
		config_.send_room = octets;
		settle();
	}
	/* See rpcrdma_session_private(). */
	void peer_private(const PrivateData &p);

	/* See auth.h. */
	[[nodiscard]] rpcrdma_auth_state auth_state() const;
	[[nodiscard]] bool auth_key(Bytes secret, Bytes decoy);
	[[nodiscard]] bool auth_late();
	void auth_end()
	{
		auth_.end();
	}
	[[nodiscard]] const HostAuth &auth() const
	{
		return auth_;
	}

	/* See rpcrdma_session_next_send(). */
	[[nodiscard]] rpcrdma_tx_result
	next_send(rpcrdma_message *msg, MutableBytes out, rpcrdma_tx &tx);

	/* See rpcrdma_session_ready(). */
	[[nodiscard]] bool ready() const;
	/* See rpcrdma_session_version(). */
	[[nodiscard]] u32 version() const
	{
		return version_;
	}
	/* See rpcrdma_session_max_segment_size(). */
	[[nodiscard]] u32 max_segment_size() const
	{
		return terms_.max_segment_size;
	}
	/* See rpcrdma_session_info(). */
	void info(struct rpcrdma_session_info &info) const;
	/* See rpcrdma_session_numbers(). */
	void numbers(rpcrdma_numbers &n) const;
	/* The planner's view of this connection. */
	[[nodiscard]] const PlanningRules &planning() const
	{
		return terms_.rules;
	}
	/*
	 * Of @buffers Sends, those that a Call may take which could do with one: not the
	 * credits of Calls that are to be sent, and not the last quarter.
	 */
	[[nodiscard]] u32 spare_sends(u32 buffers) const
	{
		const u32 kept = reserved_ + (credits_.granted() + 3) / 4;
		const u32 credits = available();
		const u32 spare = credits > kept ? credits - kept : 0;
		const u32 free = buffers > reserved_ ? buffers - reserved_ : 0;

		return spare < free ? spare : free;
	}
	/* The extension at this place in the list may be used now. */
	[[nodiscard]] bool in_use(u32 extension) const
	{
		return terms_.extensions >> extension & 1;
	}

	/* The state of extension E. */
	template <typename E> [[nodiscard]] const E &extension() const
	{
		return Extensions::state<E>(extensions_);
	}

	/* An event or a command of extension E: @f gets its state and a Port. */
	template <typename E, typename F> decltype(auto) with(F f)
	{
		Port port(*this, Extensions::place<E>());

		return f(Extensions::state<E>(extensions_), port);
	}

private:
	friend class Port;

	/* plain.h */
	[[nodiscard]] bool take_plain(Bytes in, rpcrdma_rx &rx);
	[[nodiscard, gnu::noinline]] bool take_plain_part(Bytes in,
							  rpcrdma_rx &rx);
	[[nodiscard]] bool take_plain_credit(Bytes in);
	void took_plain(Bytes in, const HeaderType &type, bool last,
			Range place, u32 total, rpcrdma_rx &rx);
	[[nodiscard]] bool send_plain(rpcrdma_message &msg, MutableBytes out,
				      rpcrdma_tx &tx);

	/* receive.cpp */
	/* What is not plain: apart, so that what is need not guard its stack. */
	[[gnu::noinline]] void take(Bytes in, rpcrdma_rx &rx);
	void take_other_version(const Prefix &p, rpcrdma_rx &rx);
	[[nodiscard]] static bool in_dialect(Bytes in, const Prefix &p,
					     rpcrdma_rx &rx);
	void take_dialect(const Prefix &p, rpcrdma_rx &rx);
	void take_version1(Bytes in, const Prefix &p, rpcrdma_rx &rx);
	void take_version2(Bytes in, const Prefix &p, rpcrdma_rx &rx);
	void take_grant(Bytes in, rpcrdma_rx &rx);
	void take_error(Bytes in, Header &h, rpcrdma_rx &rx);
	void take_first_error(const Header &h, Parse parsed, rpcrdma_rx &rx);
	[[nodiscard]] bool speaks_version1(const Header &h, Parse parsed) const;
	[[nodiscard]] bool foreign_final(const Header &h) const;
	void auth_failed(const Prefix &p, u32 code, rpcrdma_rx &rx);
	/* It has failed: what waits to be sent stays here (11.4.7). */
	void auth_close()
	{
		end(RPCRDMA_REASON_AUTH);
		control_.clear();
	}
	[[nodiscard]] bool auth_open(const Prefix &p, rpcrdma_rx &rx);
	/* RPC messages may flow, as far as host authentication is concerned. */
	[[nodiscard]] bool auth_over() const
	{
		return auth_.final() || auth_.done_due();
	}
	[[nodiscard]] bool version_refused(const rpcrdma_rx &rx) const;
	void type_refused(rpcrdma_message &msg);
	void properties_refused(rpcrdma_rx &rx);
	void properties_settled(rpcrdma_rx &rx);
	void take_connprop(Bytes in, const Header &h, rpcrdma_rx &rx);
	void take_extension(Bytes in, const Header &h, rpcrdma_rx &rx);
	[[nodiscard]] bool extension_refused(Xid xid, u32 code);
	[[nodiscard]] bool gathers_reply(Xid xid) const;
	void stop_gathering(rpcrdma_rx &rx);
	void permit(rpcrdma_rx &rx);
	void withdraw();
	/* To this peer, and to this side with it. */
	[[nodiscard]] bool known([[maybe_unused]] const HeaderType &t) const
	{
		if constexpr (Extensions::kOthers > 0)
			return !t.extension || in_use(t.extension);
		return true;
	}
	[[nodiscard]] bool continuing() const;
	void interrupt(u32 htype, const HeaderType *type, rpcrdma_rx &rx);
	/* An extension puts something together. */
	[[nodiscard]] bool gathering() const
	{
		if constexpr (Extensions::kOthers > 0)
			return gathering_ != 0;
		return false;
	}
	/* An extension sends something of several parts. */
	[[nodiscard]] bool grouping() const
	{
		if constexpr (Extensions::kOthers > 0)
			return grouping_;
		return false;
	}
	void take_rpc(Bytes in, Header &h, rpcrdma_rx &rx);
	[[nodiscard]] bool discarded(Bytes in, Header &h, rpcrdma_rx &rx);
	[[nodiscard]] Refusal examine(Bytes in, Header &h, rpcrdma_rx &rx);
	[[nodiscard]] Refusal examine_v1(Bytes in, Header &h, rpcrdma_rx &rx);
	[[nodiscard]] bool interrupts(const Header &h) const;
	[[nodiscard]] Refusal examine_lists(Bytes in, const Header &h,
					    Parse parsed, const Limits &limits,
					    rpcrdma_rx &rx);
	[[nodiscard]] rpcrdma_reason first_words(const Header &h,
						 Bytes part) const;
	[[nodiscard]] Refusal no_writes(const Limits &limits) const;
	[[nodiscard]] static Refusal too_large(bool continued);
	[[nodiscard]] u32 max_message(rpcrdma_dir dir) const;
	[[nodiscard]] Refusal assemble(const Header &h, rpcrdma_rx &rx);
	[[nodiscard]] bool supported(const HeaderType &t) const;
	[[nodiscard]] Limits limits_for(const HeaderType &t) const;
	void refuse_rpc(const Header &h, const Refusal &why, rpcrdma_rx &rx);
	void answer(const Prefix &p, const ErrorBody &body, rpcrdma_rx &rx);
	void abandon(rpcrdma_dir direction, Xid xid, bool last, u32 left,
		     rpcrdma_rx &rx);
	void open(rpcrdma_rx &rx);
	void close(rpcrdma_reason reason, const char *detail, rpcrdma_rx &rx);

	/* send.cpp */
	[[nodiscard, gnu::always_inline]] inline bool
	keep_room(rpcrdma_message *msg, u32 sends);
	[[nodiscard]] rpcrdma_tx_result
	decide(rpcrdma_message *msg, MutableBytes out, rpcrdma_tx &tx);
	/* What is not plain, or may have to wait for something: apart, as take(). */
	[[nodiscard, gnu::noinline]] rpcrdma_tx_result
	send_any(rpcrdma_message *msg, MutableBytes out, rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result send_properties(MutableBytes out,
							rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result send_control(MutableBytes out,
						     rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result send_error(MutableBytes out,
						   rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result send_extension(MutableBytes out,
						       rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result send_grant(MutableBytes out,
						   rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result send_last(MutableBytes out,
						  rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result
	send_message(rpcrdma_message &msg, MutableBytes out, rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result
	send_part(rpcrdma_message &msg, MutableBytes out, rpcrdma_tx &tx);
	[[nodiscard]] rpcrdma_tx_result
	send_external(rpcrdma_message &msg, MutableBytes out, rpcrdma_tx &tx);
	[[nodiscard]] const HeaderType &
	type_of(const rpcrdma_message &msg) const;
	[[nodiscard]] bool goes_on(const rpcrdma_message &msg) const
	{
		return to_xid(msg.xid) == sending_.xid &&
		       msg.dir == sending_.dir &&
		       msg.length == sending_.length &&
		       msg.sent == sending_.sent;
	}
	[[nodiscard]] static u32 middle_part(u32 left, u32 room);
	void post_part(rpcrdma_message &msg, u32 part, const HeaderType &type,
		       bool last, u32 header, rpcrdma_tx &tx);
	[[gnu::always_inline]] inline void account(rpcrdma_message &msg,
						   u32 part,
						   const HeaderType &type,
						   bool last);
	[[nodiscard]] bool sendable(const rpcrdma_message &msg) const;
	[[nodiscard]] bool chunks_sendable(const rpcrdma_message &msg) const;
	[[nodiscard]] bool control_due() const
	{
		return !control_.empty() || properties_due();
	}
	/* A CONNPROP of this side is to be sent. */
	[[nodiscard]] bool properties_due() const
	{
		return exchange_.sent != Told::Final && exchange_due();
	}
	[[nodiscard]] bool exchange_due() const;
	/* The ERROR that tells the peer why authentication has failed. */
	[[nodiscard]] bool last_words_due() const
	{
		return closed_ == RPCRDMA_REASON_AUTH && !control_.empty() &&
		       may_send();
	}
	/* A Call that is not a probe: one credit may be kept for probes (binding, 3.4.1). */
	[[nodiscard]] bool may_begin() const
	{
		return available() > (outstanding_ ? config_.reserve : 0);
	}
	/* There are credits for @sends Sends of one more Call. */
	[[nodiscard]] bool has_room(u32 sends) const;
	[[nodiscard]] bool has_wanted_room() const
	{
		return wanted_ && has_room(wanted_);
	}
	[[nodiscard]] inline u32 sends_for(const rpcrdma_message &msg) const;
	[[nodiscard]] u32 sends_in_general(const rpcrdma_message &msg) const;
	void unreserve(rpcrdma_message &msg);
	[[gnu::always_inline]] inline void use_reserved(rpcrdma_message &msg,
							bool last);
	/* A message that is no Call to begin with. */
	[[nodiscard]] bool may_send() const
	{
		return version1() || credits_.may_send();
	}
	[[nodiscard]] bool may_go(const rpcrdma_message &msg) const
	{
		if (msg.sent || msg.dir != RPCRDMA_CALL)
			return true;
		return msg.probe ? available() : may_begin();
	}
	/* Calls that may be sent; in version 2, messages. */
	[[nodiscard]] u32 available() const
	{
		return version1() ? requests_.available(
					    terms_.receives[RPCRDMA_CALL]) :
				    credits_.available();
	}
	/*
	 * rdma_credit. Version 2: a count of messages. Version 1: in a Reply the number
	 * of Calls that the peer may have outstanding, in a Call the number that its
	 * sender asks for.
	 */
	[[nodiscard]] u32 credit_word(rpcrdma_dir dir) const
	{
		return version1() ? terms_.receives[dir == RPCRDMA_REPLY] :
				    credits_.credit();
	}
	void parts_refused(Xid xid);
	void answered(Xid xid, u32 credit);
	/* What extensions have kept for the Call is free. */
	void tell_answered([[maybe_unused]] Xid xid)
	{
		for (u32 e = 1; e <= Extensions::kOthers; e++)
			Extensions::visit(e, [&](auto which) {
				using E = typename decltype(which)::type;

				if constexpr (requires { &E::answered; })
					Extensions::state<E>(extensions_)
						.answered(xid);
			});
	}
	[[nodiscard]] bool grant_due() const
	{
		return version_ == kVersion2 && exchange_.sent == Told::Final &&
		       // cppcheck does not see that messages of the peer change it.
		       // cppcheck-suppress knownConditionTrueFalse
		       credits_.grant_due() && credits_.may_grant();
	}
	/* Of this side's messages, those of reverse-direction RPCs (section 4.6). */
	[[nodiscard]] bool sends_reversed(rpcrdma_dir direction) const
	{
		return direction == (client() ? RPCRDMA_REPLY : RPCRDMA_CALL);
	}

	/* session.cpp */
	void advance(Phase to);
	void end(rpcrdma_reason why);
	[[nodiscard]] bool opened() const
	{
		return phase_ == Phase::Open;
	}
	[[nodiscard]] bool closed() const
	{
		return phase_ == Phase::Closed;
	}
	/* The peer has sent a MIDDLE, and its FINAL is still to come. */
	[[nodiscard]] bool middle_received() const
	{
		return exchange_.received == Told::Middle;
	}
	void begin_version1();
	void begin_version2();
	[[nodiscard]] Plain plain(rpcrdma_dir dir, u32 max, u32 refused) const;
	[[nodiscard]] Terms terms() const;
	/* What terms() depends on has changed. */
	void settle();
	/* The credit word of version 2 that has come. Return: false if it is impossible. */
	[[nodiscard]] bool limit(u32 credit)
	{
		const u32 granted = credits_.granted();

		if (!credits_.limit(credit))
			return false;
		if (credits_.granted() != granted)
			settle();
		return true;
	}
	[[nodiscard]] u32 receives_for(rpcrdma_dir dir) const;
	[[nodiscard]] u32 max_stream(u32 max_send) const;
	[[nodiscard]] u32 extensions_in_use() const;

	/* Of this side's CONNPROP. */
	[[nodiscard]] Xid first_xid() const
	{
		return to_xid(config_.first_xid);
	}
	[[nodiscard]] bool client() const
	{
		return config_.role == RPCRDMA_ROLE_CLIENT;
	}
	[[nodiscard]] bool version1() const
	{
		return version_ == kVersion1;
	}
	/* As configured: may this version be agreed on? */
	[[nodiscard]] bool speaks(u32 version) const
	{
		return config_.min_version <= version &&
		       version <= config_.max_version;
	}

	/* Of a message that has been begun and not finished. */
	struct Sending {
		bool active;
		bool refused; /* by INVAL_HTYPE: the rest of it stays here */
		Xid xid;
		rpcrdma_dir dir;
		u32 length;
		u32 sent;
	};

	rpcrdma_config config_;
	Credits credits_;
	Requests requests_; /* version 1 */
	PrivateData private_ = kDefaultPrivateData;
	Properties local_ = kDefaultProperties;
	Properties peer_ = kDefaultProperties;
	/* Of CONNPROP_MIDDLE messages; in force once the FINAL has come. */
	Properties staged_ = kDefaultProperties;
	ReceiveTold receive_told_ = {};
	Continuation incoming_[2]; /* by enum rpcrdma_dir */
	ControlQueue control_;
	[[no_unique_address]] Extensions::States extensions_ = {};
	Sending sending_ = {};
	Terms terms_;
	u32 blocked_ = 0;
	u32 outstanding_ = 0; /* Calls sent whole and not ended */
	u32 reserved_ = 0; /* Sends still to come of admitted Calls */
	u32 wanted_ = 0; /* Sends of a Call that was not admitted */
	u32 types_refused_ = 0; /* of Calls, by INVAL_HTYPE, by bit */
	u32 version_ = 0; /* agreed on, once the peer has shown it */
	rpcrdma_reason closed_ = RPCRDMA_REASON_NONE; /* why */
	HostAuth auth_;
	Phase phase_ = Phase::Agreeing;
	Agreement exchange_ = {};
	bool waiting_ = false; /* a message waits for credit */
	bool general_ = false; /* see Options */
	bool grouping_ = false;
	bool interloper_ = false; /* what has come has no business to be here */
	u8 gathering_ = 0; /* the extension that does */
};

/* Octets of the next part, with room for @room, if @left are too many for the last one. */
inline u32 Session::middle_part(u32 left, u32 room)
{
	/* The INLINE that ends the message needs a word of it. */
	const u32 most = left - kXdrUnit;

	return most > room ? room & ~(kXdrUnit - 1) : most;
}

/* A Send of @msg takes one of the credits that are kept for it. */
inline void Session::use_reserved(rpcrdma_message &msg, bool last)
{
	if (!RPCRDMA_CHECK(msg.reserved <= reserved_)) {
		end(RPCRDMA_REASON_INVARIANT);
		msg.reserved = 0;
		return;
	}
	/* It may have become shorter than it was planned. */
	const u32 used = last ? msg.reserved : 1;

	msg.reserved -= used;
	reserved_ -= used;
}

/* A part of a message is being posted. */
inline void Session::account(rpcrdma_message &msg, u32 part,
			     const HeaderType &type, bool last)
{
	const bool call = msg.dir == RPCRDMA_CALL;
	const bool first = !msg.sent;

	msg.sent += part;
	if (!last)
		sending_ = {
			.active = true,
			.refused = false,
			.xid = to_xid(msg.xid),
			.dir = msg.dir,
			.length = msg.length,
			.sent = msg.sent,
		};
	else if (sending_.active)
		sending_ = {};
	if (call) {
		msg.types |= type_bit(type);
		/*
		 * After an ERROR: a Call in another form may succeed (D14). The rest of one that
		 * had begun before that is no other form.
		 */
		if (first)
			incoming_[RPCRDMA_REPLY].expect(to_xid(msg.xid));
	}
	if (call && last && !msg.call_only) {
		msg.outstanding = true;
		outstanding_++;
		if (version1())
			requests_.sent(to_xid(msg.xid));
	}
	if (msg.reserved)
		use_reserved(msg, last);
	waiting_ = false;
	credits_.sent();
}

/* It is in the buffer, behind @header octets. */
inline void Session::post_part(rpcrdma_message &msg, u32 part,
			       const HeaderType &type, bool last, u32 header,
			       rpcrdma_tx &tx)
{
	/* Read before @tx is written, for all that the compiler knows. */
	const u32 xid = msg.xid;
	const u32 sent = msg.sent;
	const u32 htype = type.htype;
	const u32 index = type.index;

	tx.xid = xid;
	tx.htype = htype;
	tx.type = index;
	tx.header_length = header;
	tx.payload = { sent, part };
	tx.first = !sent;
	tx.last = last;
	account(msg, part, type, last);
}

/* Always inline: all of it is short, and several objects use it. */
[[gnu::always_inline]] inline bool Port::in_use() const
{
	return !session_.closed() && session_.in_use(extension_);
}

[[gnu::always_inline]] inline u32 Port::local_at(u32 index) const
{
	return *number(session_.local_, index);
}

[[gnu::always_inline]] inline u32 Port::peer_at(u32 index) const
{
	return *number(session_.peer_, index);
}

[[gnu::always_inline]] inline u32 Port::max_message(rpcrdma_dir dir) const
{
	return session_.max_message(dir);
}

[[gnu::always_inline]] inline u32 Port::max_read_chunks() const
{
	return session_.config_.max_read_chunks;
}

[[gnu::always_inline]] inline u32 Port::reach(rpcrdma_dir dir) const
{
	const bool reversed = session_.client() == (dir == RPCRDMA_CALL);

	return reversed ? session_.terms_.reverse : u32{ RPCRDMA_RVRSDIR_GENL };
}

[[gnu::always_inline]] inline void Port::gather(bool on)
{
	session_.gathering_ = static_cast<u8>(on ? extension_ : 0);
}

[[gnu::always_inline]] inline u32 Port::max_send() const
{
	return session_.terms_.max_send;
}

[[gnu::always_inline]] inline u32 Port::window() const
{
	return session_.credits_.target();
}

[[gnu::always_inline]] inline bool Port::more() const
{
	return session_.control_due() || session_.grant_due();
}

[[gnu::always_inline]] inline u32
Port::credits(const rpcrdma_message &msg) const
{
	const u32 available = session_.available();
	u32 kept = 0;

	if (!session_.opened() ||
	    (session_.sending_.active && !session_.grouping_))
		return 0;
	if (session_.grouping_)
		return available;
	if (msg.dir == RPCRDMA_CALL) {
		/* A Call that was admitted has its own: it does not wait for those of others. */
		if (!msg.reserved)
			kept = session_.reserved_;
		if (!msg.probe && (session_.outstanding_ || kept))
			kept += session_.config_.reserve;
	}
	return available > kept ? available - kept : 0;
}

[[gnu::always_inline]] inline u32 Port::begin(const rpcrdma_message &msg,
					      u32 htype, MutableBytes out) const
{
	u8 *const to = out.data();

	if (out.size() < kPrefixSize)
		return 0;
	store_be32(to, msg.xid);
	store_be32(to + kWordSize, kVersion2);
	store_be32(to + size_t{ 2 } * kWordSize, session_.credit_word(msg.dir));
	store_be32(to + size_t{ 3 } * kWordSize, htype);
	return kPrefixSize;
}

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_SESSION_H */
