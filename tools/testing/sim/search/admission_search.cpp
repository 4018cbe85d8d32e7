// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who may send a Call, who has to keep it, and who is told when there is room: two real sessions,
 * the client's side of the module around one of them, and every interleaving.
 *
 * The sessions are the core's, by its C names: messages are encoded and decoded. Around the
 * client's there is what verbs/ (send.c, pump.c, cancel.c, recv.c) and client/request.c do between
 * two places where they leave a lock. One step is:
 * - an RPC begins; the task that has the write lock asks for admission, and its Call goes to the
 *   connection, or sunrpc keeps this Call and all behind it;
 * - the same for a Call that needs a region, in the steps that it has: may any Call begin; the
 *   region; admission, and if that fails the region goes back. Or there is no region, sunrpc
 *   keeps its Calls, and a second look whether one has come back;
 * - a probe, which does not ask, is handed over; so is the Reply to a callback;
 * - the pump goes on that has left the lock to copy what it has decided on;
 * - the Receive handler takes a message, then gives its Receive back and pumps if it has to;
 * - the owner is told of room; an RPC that is over gives back its region, or what its Call has;
 * - an RPC is given up: while sunrpc keeps its Call, while the Call waits in the queue, when it is
 *   half sent and its rest goes from a copy, or when it waits for the Reply;
 * - the server takes a message, or gives its Receive back; it answers a Call, begins a callback,
 *   or changes its window; its message has a lower credit word than it might have, and the next
 *   one, perhaps a GRANT, tells all. A GRANT itself never takes back: it may be the last message
 *   that the server may send.
 *
 * Bounds: three RPCs at a time, of up to four Sends each. One that is over may begin again with
 * the same XID, when no Reply is on its way. Windows of three to five on the server's side and of
 * three on the client's. One callback at a time. One or two regions, never more. A chain has two
 * Sends. The queue pair and the ring have room for all, no connection ends, and no message is
 * refused: the simulator has these. What the server does is one step each, since nobody asks for
 * admission there. Not all of these are tried together; the tests say what is. Only differences of
 * counters matter, so endless traffic has a finite number of states.
 *
 * In each state:
 * - both sessions are sound; each message that arrives finds a Receive and is within the credits
 *   that were granted, and nothing closes a session;
 * - what is reserved is what admitted Calls have still to send, and a Call that was admitted is not
 *   blocked. That is so unless it was the only one, or others that do not ask, or the peer, have
 *   taken its credits: then it only goes later;
 * - if there is room and a Call waits for it, the pump runs or is about to, or the owner is about
 *   to be told. If sunrpc keeps its Calls, somebody will say that it need not;
 * - who is told of room could have been admitted at that moment;
 * - when nothing can happen any more but what begins anew, all RPCs and callbacks are over.
 * And what goes on by itself does not go on for ever: so each RPC ends if others stop beginning.
 * That none of those who begin gets ahead of another for ever is left to sunrpc's queue.
 */
#include "abi.h"
#include "states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <unordered_map>
#include <vector>

extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
	std::abort();
}

namespace
{

/* Members that only the session's own code may name: an explicit instantiation may do so, too. */
template <auto Member, typename Tag> struct Opened {
	friend constexpr auto member(Tag)
	{
		return Member;
	}
};

#define OPEN(tag, name)                                                        \
	struct tag {                                                           \
		friend constexpr auto member(tag);                             \
	};                                                                     \
	template struct Opened<&rpcrdma::name, tag>

OPEN(CreditsOf, Session::credits_);
OPEN(RequestsOf, Session::requests_);
OPEN(BlockedOf, Session::blocked_);
OPEN(ReservedOf, Session::reserved_);
OPEN(SettleOf, Session::settle);
OPEN(XidsOf, Requests::xids_);
OPEN(OutstandingOf, Requests::outstanding_);

#undef OPEN

using rpcrdma::Credits;
using rpcrdma::session;
using states::Layout;

constexpr u32 kMostRpcs = 3;
constexpr u32 kChain = 2;
/* RPCRDMA_SEND_BRIEF */
constexpr u32 kBrief = 512;
constexpr u32 kRecvSize = RPCRDMA_MIN_RECV_SIZE;
constexpr u32 kClientWindow = RPCRDMA_MIN_WINDOW;
constexpr u32 kXid = 0x100;
constexpr u32 kCallbackXid = 0x200;
constexpr u32 kShort = 64; /* octets of a message in one Send */
constexpr u32 kPart = 1000; /* and of each Send more */

/* What a client has to send besides the Calls of its RPCs. */
constexpr u8 kReply = kMostRpcs;
constexpr u8 kNothing = 0xff;

/* Who waits: enum rpcrdma_credit_waiter. */
constexpr u8 kPumpWaits = 1;
constexpr u8 kOwnerWaits = 2;

/* An RPC of the client. */
struct Kind {
	u8 sends = 1; /* of its Call */
	bool region = false; /* it needs one */
	bool probe = false; /* it does not ask */
};

/* What the kernel does, each a rule that something depends on; and what there is to explore. */
struct Rules {
	/* The rules. */
	bool asks = true; /* a Call is sent only if it is admitted */
	bool reserves = true; /* what was admitted keeps its credits */
	bool lone = true; /* one credit is enough for a Call that is alone */
	bool counts = true; /* what is not queued is counted as sent, too */
	bool kicks = true; /* what comes makes the pump run */
	bool kicks_wanted =
		true; /* also if there was credit before, but too little */
	bool freed = true; /* so does a Call that is over */
	bool again = true; /* who cannot pump has it done by who does */
	bool noted = true; /* it is noted that the owner waits */
	bool in_lock = true; /* the owner keeps its Calls before that can end */
	bool tells = true; /* when the pump ends it looks for room */
	bool tells_truth = true; /* and only then tells of it */
	bool tells_all = true; /* whichever Call has waited */
	bool looks_again = true; /* who waits for a region looks again */
	bool regions_tell = true; /* who gives a region back tells of it */
	bool cancel_frees = true; /* a Call that is given up keeps no credits */
	bool rest_pumps =
		true; /* who made a copy of the rest pumps what came meanwhile */
	bool rest_goes = true; /* the rest is sent at all */
	bool replies_pass = true; /* Replies do not wait for room */
	bool begun_first = true; /* what has begun is finished first */

	/* What there is. */
	std::vector<Kind> rpcs;
	u32 version = 2;
	u32 reserve = 0; /* credits that only probes may use */
	std::vector<u32> windows = { 3 }; /* the server's; the first to begin with */
	u32 regions = 1;
	bool callbacks = false;
	bool recall = false; /* no Call is answered before the callback is */
	bool cancels = false;
	bool takes_back = false; /* the credit word may be less */
	bool holds = false; /* the server gives Receives back in a step of its own */
	u32 max_states = 6000000;
};

/* One message on its way, or decided on: its octets but for the credit word. */
struct Flying {
	u8 image;
	u8 word; /* relative, see Search::rebase() */
};

struct Decided {
	Flying flying;
	u8 who;
	u8 last;
};

/* Of an RPC. */
enum Stage : u8 {
	Idle,
	Kept, /* by sunrpc */
	Queued, /* at the connection; the pump may have it */
	Sent,
	Over, /* for its task; what it has is given back */
};

/* What is still to be done for an RPC that is over, and how it got there. */
constexpr u8 kToEnd = 1; /* the session has to hear of it */
constexpr u8 kRegion = 2; /* it has one */
constexpr u8 kReplyDue = 4; /* the server answers anyway */
constexpr u8 kCancelled = 8; /* nobody waits */
/* It was admitted with less credit than it needs, as the only one. */
constexpr u8 kLone = 16;

struct Rpc {
	u16 sent; /* octets, as rpcrdma_message has it */
	u8 stage;
	u8 reserved;
	u8 outstanding;
	u8 flags;
};

/* What the task with the write lock does next. */
enum Writer : u8 {
	Nobody,
	Maps, /* any Call may begin, and this one needs a region */
	Begins, /* it has one */
	GivesBack, /* it was not admitted */
	Waits, /* there was no region */
	LooksAgain,
	WaitsLate, /* a planted bug */
};

/* A callback of the server. */
enum Callback : u8 { None, Waiting, Out };

/* All of a state: the sessions by number. No padding: it is compared by its octets. */
struct Model {
	u32 client;
	u32 server;
	Rpc rpcs[kMostRpcs];
	Flying calls[9]; /* to the server */
	Flying answers[6]; /* to the client */
	u8 n_calls;
	u8 n_answers;

	/* The client's connection: send.c, pump.c. */
	Decided decided[kChain + 1];
	u8 n_decided;
	u8 queue[kMostRpcs + 1];
	u8 n_queue;
	u8 pumping;
	u8 again;
	u8 building; /* the pump has left the lock */
	u8 alone; /* with a message that was not queued */
	u8 more;
	u8 waiters;
	u8 telling; /* threads that have left the lock to tell */
	u8 copying; /* the RPC of whose Call a copy is made, and one more */
	/* recv.c */
	u8 posted;
	u8 handling; /* a message has been taken in */
	u8 kick;
	/* sunrpc, request.c and frwr.c */
	u8 kept[kMostRpcs];
	u8 n_kept;
	u8 full; /* XPRT_WRITE_SPACE */
	u8 writer;
	u8 refused; /* the Call that was not admitted last */
	u8 regions; /* free */
	u8 lacks; /* a region was missing, and none has come back since */
	u8 callback; /* has come, and its Reply is to be sent; or that is queued */

	/* The server. */
	u8 serving; /* Calls that it has, a bit each */
	u8 out[kMostRpcs + 1]; /* what it has to send */
	u8 n_out;
	u8 calling; /* enum Callback */
	u8 offered; /* Receives that are posted */
	u8 held;
	u8 told_less;
	u8 window;
};
static_assert(std::has_unique_object_representations_v<Model>);

constexpr size_t kKey = sizeof(Model) + (-sizeof(Model) & 7);
using Key = states::Key<kKey>;

/* Sessions, each with a number: as they differ from the first. */
class Sessions {
public:
	static constexpr size_t kWords = RPCRDMA_SESSION_WORDS;
	static constexpr size_t kRun = 8; /* words that are compared at a time */

	u32 add(const rpcrdma_session &s)
	{
		if (all_.empty())
			first_ = s;
		differences(s);
		u64 hash = 0;
		for (const Word &w : now_)
			hash = (hash ^ w.value ^ u64{ w.at } << 48) *
				       0x9e3779b97f4a7c15 ^
			       hash >> 29;
		const auto [from, to] = numbers_.equal_range(hash);
		for (auto i = from; i != to; ++i)
			if (all_[i->second] == now_)
				return i->second;
		numbers_.emplace(hash, u32(all_.size()));
		all_.push_back(now_);
		sound_ &= session(&s).invariants();
		return u32(all_.size()) - 1;
	}
	void get(u32 number, rpcrdma_session &s) const
	{
		s = first_;
		for (const Word &w : all_[number])
			s.opaque[w.at] = w.value;
	}

	/* Each of them is. */
	[[nodiscard]] bool sound() const
	{
		return sound_;
	}

private:
	struct Word {
		u64 value;
		u32 at;

		bool operator==(const Word &) const = default;
	};

	void differences(const rpcrdma_session &s)
	{
		now_.clear();
		for (u32 run = 0; run < kWords; run += kRun) {
			if (!std::memcmp(s.opaque + run, first_.opaque + run,
					 kRun * sizeof(u64)))
				continue;
			for (u32 i = run; i < run + kRun; i++)
				if (s.opaque[i] != first_.opaque[i])
					now_.push_back({ s.opaque[i], i });
		}
	}

	rpcrdma_session first_;
	std::vector<Word> now_;
	std::vector<std::vector<Word>> all_;
	std::unordered_multimap<u64, u32> numbers_;
	bool sound_ = true;
};

/* Octets of a message but for its credit word, which is zero here. */
struct Image {
	u8 header[128];
	u32 header_size;
	u32 payload;
	u32 xid;
	u8 dir;
	bool first;
	bool grant;

	bool operator==(const Image &) const = default;
};

constexpr u32 kAtCredit = 8;

struct Outcome {
	size_t states = 0;
	size_t kept = 0; /* in which sunrpc keeps a Call */
	bool overrun = false;
	bool unsound = false;
	bool blocked = false; /* a Call that was admitted, though nobody took anything */
	bool lost = false; /* there is room, or there may be, and nobody will say so */
	bool untrue = false; /* somebody says so, and there is none */
	bool stuck = false;
	bool endless = false;
	bool complete = true;

	[[nodiscard]] bool sound() const
	{
		return complete && !overrun && !unsound && !blocked && !lost &&
		       !untrue && !stuck && !endless;
	}
};

class Search {
public:
	explicit Search(const Rules &rules)
		: rules_(rules)
	{
		begin();
		for (u32 id = 0; id < keys_.size() && !found(); id++) {
			if (keys_.size() > rules_.max_states) {
				out_.complete = false;
				break;
			}
			from_ = id;
			std::memcpy(&before_, keys_.at(id).data(),
				    sizeof(before_));
			sessions_[0].get(before_.client, a_before_);
			sessions_[1].get(before_.server, b_before_);
			load();
			check();
			expand();
		}
		out_.states = keys_.size();
		if (out_.complete && !found())
			out_.endless = states::cyclic(keys_.size(), edges_);
	}
	[[nodiscard]] const Outcome &outcome() const
	{
		return out_;
	}

private:
	[[nodiscard]] bool found() const
	{
		return out_.overrun || out_.unsound || out_.blocked ||
		       out_.lost || out_.untrue || out_.stuck;
	}
	[[nodiscard]] bool version1() const
	{
		return rules_.version == 1;
	}

	/* ---------------------------------------------------------------- */
	/* States                                                           */
	/* ---------------------------------------------------------------- */

	[[nodiscard]] rpcrdma_config config(u32 role) const
	{
		rpcrdma_config c = {};

		c.role = role;
		c.window = role == RPCRDMA_ROLE_CLIENT ? kClientWindow :
							 rules_.windows[0];
		c.max_message = 8 * kRecvSize;
		c.first_xid = 1;
		c.reserve = role == RPCRDMA_ROLE_CLIENT ? rules_.reserve : 0;
		c.local = { .send_size = kRecvSize,
			    .recv_size = kRecvSize,
			    .max_segment_size = 4096,
			    .max_segments = 4,
			    .reverse = RPCRDMA_RVRSDIR_GENL };
		c.min_version = c.max_version = rules_.version;
		return c;
	}

	/* The exchange of properties, and the first state is there. */
	void begin()
	{
		const rpcrdma_config client = config(RPCRDMA_ROLE_CLIENT);
		const rpcrdma_config server = config(RPCRDMA_ROLE_SERVER);

		std::memset(&a_, 0, sizeof(a_));
		std::memset(&b_, 0, sizeof(b_));
		EXPECT_TRUE(rpcrdma_session_init(&a_, &client));
		EXPECT_TRUE(rpcrdma_session_init(&b_, &server));
		m_ = {};
		m_.refused = kNothing;
		m_.posted = kClientWindow + 1;
		m_.window = static_cast<u8>(rules_.windows[0]);
		m_.offered = m_.window + 1;
		m_.regions = static_cast<u8>(rules_.regions);
		if (!version1()) {
			pump();
			server_takes();
			client_takes();
			handle();
			EXPECT_TRUE(rpcrdma_session_ready(&a_));
			EXPECT_FALSE(m_.n_calls || m_.n_answers || m_.held);
		}
		rebase();
		m_.client = sessions_[0].add(a_);
		m_.server = sessions_[1].add(b_);
		(void)reach();
	}

	u32 reach()
	{
		Key k = {};

		std::memcpy(k.data(), &m_, sizeof(m_));
		return keys_.add(k).first;
	}

	void load()
	{
		m_ = before_;
		a_ = a_before_;
		b_ = b_before_;
	}

	/* A step from the state that is expanded. It goes on by itself, or somebody may do it. */
	template <typename F> void step(bool by_itself, F f)
	{
		load();
		f();
		if (found())
			return;
		rebase();
		m_.client = number(0, a_, a_before_, before_.client);
		m_.server = number(1, b_, b_before_, before_.server);
		const u32 to = reach();
		if (!by_itself)
			return;
		goes_on_ = true;
		edges_.push_back({ from_, to });
	}

	u32 number(u32 side, const rpcrdma_session &s,
		   const rpcrdma_session &before, u32 as_before)
	{
		if (!std::memcmp(&s, &before, sizeof(s)))
			return as_before;
		return sessions_[side].add(s);
	}

	static Credits &credits(rpcrdma_session &s)
	{
		return session(&s).*member(CreditsOf{});
	}
	static u32 reserved(const rpcrdma_session &s)
	{
		return session(&s).*member(ReservedOf{});
	}

	/*
	 * All that each side has sent is counted from now on again, by both. What is only counted
	 * for people, or for the planner, is the same in all states.
	 */
	void rebase()
	{
		Layout a, b;

		std::memcpy(&a, &credits(a_), sizeof(a));
		std::memcpy(&b, &credits(b_), sizeof(b));
		const u32 by_a = a.sent, by_b = b.sent;
		count_from(a, by_a, by_b);
		count_from(b, by_b, by_a);
		put(a_, a);
		put(b_, b);
		if (version1())
			return;
		for (u32 i = 0; i < m_.n_calls; i++)
			m_.calls[i].word -= by_b;
		for (u32 i = 0; i < m_.n_decided; i++)
			m_.decided[i].flying.word -= by_b;
		for (u32 i = 0; i < m_.n_answers; i++)
			m_.answers[i].word -= by_a;
	}

	void count_from(Layout &l, u32 mine, u32 theirs) const
	{
		l.sent -= mine;
		l.received -= theirs;
		l.released -= theirs;
		if (version1()) {
			l.limit = 0;
			l.told = l.released + l.window;
		} else {
			l.limit -= mine;
			l.told -= theirs;
		}
		l.high = l.window + 1;
		l.taken_back = 0;
		l.lifetime = kLifetime;
	}

	static void put(rpcrdma_session &s, Layout &l)
	{
		const bool settled = l.granted == kGranted;

		l.granted = kGranted;
		std::memcpy(static_cast<void *>(&credits(s)), &l, sizeof(l));
		session(&s).*member(BlockedOf{}) = 0;
		if (!settled)
			(session(&s).*member(SettleOf{}))();
		/* What an XID leaves that is not outstanding any more. */
		rpcrdma::Requests &r = session(&s).*member(RequestsOf{});
		for (u32 i = r.*member(OutstandingOf{}); i <= kMostRpcs; i++)
			(r.*member(XidsOf{}))[i] = {};
	}

	/* More than any word is behind, and than any is ahead. */
	static constexpr u32 kLifetime = 100;
	static constexpr u32 kGranted = 100;

	/* ---------------------------------------------------------------- */
	/* Messages                                                         */
	/* ---------------------------------------------------------------- */

	[[nodiscard]] u32 length(u32 who) const
	{
		if (who >= kMostRpcs)
			return kShort;
		return kShort + (rules_.rpcs[who].sends - 1) * kPart;
	}

	[[nodiscard]] rpcrdma_message message(u32 who) const
	{
		rpcrdma_message msg = {};

		msg.xid = who == kReply ? kCallbackXid : kXid + who;
		msg.dir = who == kReply ? RPCRDMA_REPLY : RPCRDMA_CALL;
		msg.length = length(who);
		if (who >= kMostRpcs)
			return msg;
		const Rpc &r = m_.rpcs[who];
		msg.probe = rules_.rpcs[who].probe;
		msg.sent = r.sent;
		msg.reserved = r.reserved;
		msg.outstanding = r.outstanding;
		return msg;
	}

	void keep(u32 who, const rpcrdma_message &msg)
	{
		if (who >= kMostRpcs)
			return;
		m_.rpcs[who].sent = static_cast<u16>(msg.sent);
		m_.rpcs[who].reserved = static_cast<u8>(msg.reserved);
		m_.rpcs[who].outstanding = msg.outstanding;
	}

	/* What the session has encoded into buffer_. */
	Flying flying(const rpcrdma_tx &tx, const rpcrdma_message *msg)
	{
		Image i = {};
		u32 at = 0;

		EXPECT_LE(tx.header_length, sizeof(i.header));
		std::memcpy(i.header, buffer_, tx.header_length);
		const u32 word = rpcrdma::load_be32(i.header + kAtCredit);
		rpcrdma::store_be32(i.header + kAtCredit, 0);
		i.header_size = tx.header_length;
		i.grant = tx.htype == RPCRDMA2_GRANT && !version1();
		if (msg) {
			i.payload = tx.payload.length;
			i.xid = msg->xid;
			i.dir = static_cast<u8>(msg->dir);
			i.first = tx.first;
		}
		while (at < images_.size() && !(images_[at] == i))
			at++;
		if (at == images_.size())
			images_.push_back(i);
		return { static_cast<u8>(at), static_cast<u8>(word) };
	}

	/* It arrives. Return: its size in buffer_. */
	u32 arrived(Flying f)
	{
		const Image &i = images_[f.image];
		const u32 word = f.word < 0x80 ? f.word : f.word - 0x100U;

		std::memcpy(buffer_, i.header, i.header_size);
		rpcrdma::store_be32(buffer_ + kAtCredit, word);
		if (i.first) {
			rpcrdma::store_be32(buffer_ + i.header_size, i.xid);
			rpcrdma::store_be32(buffer_ + i.header_size + 4, i.dir);
		}
		return i.header_size + i.payload;
	}

	template <typename T, size_t N> static void push(T (&q)[N], u8 &n, T t)
	{
		ASSERT_LT(n, N);
		q[n++] = t;
	}
	template <typename T, size_t N>
	static T remove(T (&q)[N], u8 &n, u32 at = 0)
	{
		const T t = q[at];

		for (n--; at < n; at++)
			q[at] = q[at + 1];
		q[n] = {};
		return t;
	}
	template <size_t N> static void take_out(u8 (&q)[N], u8 &n, u8 who)
	{
		remove(q, n, u32(std::find(q, q + n, who) - q));
	}

	/* ---------------------------------------------------------------- */
	/* The client's connection: send.c, pump.c                          */
	/* ---------------------------------------------------------------- */

	/* Nothing takes credits but Calls that ask, and the peer takes none back. */
	[[nodiscard]] bool all_ask() const
	{
		return !rules_.callbacks && !rules_.takes_back &&
		       std::none_of(rules_.rpcs.begin(), rules_.rpcs.end(),
				    [](const Kind &k) { return k.probe; });
	}

	/* A Call waits that was admitted, and no reason that there may be is the reason. */
	[[nodiscard]] bool wrongly_blocked(u8 who) const
	{
		return all_ask() && !(m_.rpcs[who].flags & kLone);
	}

	void credit_wait(u8 who, bool waits)
	{
		m_.waiters = static_cast<u8>(waits ? m_.waiters | who :
						     m_.waiters & ~who);
	}

	void decided(const rpcrdma_tx &tx, u8 who, const rpcrdma_message *msg)
	{
		push(m_.decided, m_.n_decided,
		     { flying(tx, msg), who, static_cast<u8>(tx.last) });
	}

	u32 decide(u8 &offer)
	{
		offer = m_.n_queue ? m_.queue[0] : kNothing;
		const bool any = offer != kNothing;
		rpcrdma_message msg = any ? message(offer) : rpcrdma_message{};
		rpcrdma_tx tx;
		const u32 result = rpcrdma_session_next_send(
			&a_, any ? &msg : nullptr, buffer_, sizeof(buffer_),
			&tx);

		tx_more_ = tx.more;
		if (any)
			keep(offer, msg);
		if (result == RPCRDMA_TX_MESSAGE) {
			decided(tx, offer, &msg);
			if (tx.last)
				remove(m_.queue, m_.n_queue);
		} else if (result == RPCRDMA_TX_CONTROL) {
			decided(tx, kNothing, nullptr);
		} else if (result == RPCRDMA_TX_BLOCKED) {
			out_.blocked |= any && wrongly_blocked(offer);
		} else {
			out_.unsound |= result != RPCRDMA_TX_NONE;
		}
		return result;
	}

	[[nodiscard]] bool brief() const
	{
		u32 octets = 0;

		for (u32 i = 0; i < m_.n_decided; i++) {
			const Decided &d = m_.decided[i];

			octets += images_[d.flying.image].payload;
			if (d.who < kMostRpcs && rules_.rpcs[d.who].region)
				return false;
		}
		return octets <= kBrief;
	}

	bool pump_send()
	{
		u8 offer;
		bool more;
		u32 result;

		do {
			more = true;
			result = decide(offer);
			if (result != RPCRDMA_TX_MESSAGE &&
			    result != RPCRDMA_TX_CONTROL)
				break;
			more = m_.n_queue || tx_more_;
		} while (more && m_.n_decided < kChain);

		const bool blocked = result == RPCRDMA_TX_BLOCKED &&
				     offer != kNothing;
		if (blocked || m_.waiters)
			credit_wait(kPumpWaits, blocked);
		m_.more = more && (result == RPCRDMA_TX_MESSAGE ||
				   result == RPCRDMA_TX_CONTROL);
		m_.building = !brief();
		return !m_.building && pump_sent();
	}

	bool pump_sent()
	{
		const bool more = m_.more;

		post();
		m_.more = false;
		return more;
	}

	void post()
	{
		while (m_.n_decided) {
			const Decided d = remove(m_.decided, m_.n_decided);

			push(m_.calls, m_.n_calls, d.flying);
			if (d.last && d.who < kMostRpcs)
				is_sent(m_.rpcs[d.who]);
			else if (d.who == kReply)
				m_.callback = 0;
		}
	}

	/* The last Send of its Call is out. */
	static void is_sent(Rpc &r)
	{
		if (r.flags & kCancelled) {
			r.stage = Over;
			r.flags |= kToEnd | kReplyDue;
		} else {
			r.stage = Sent;
		}
	}

	void pump()
	{
		m_.again = true;
		if (m_.pumping)
			return;
		m_.pumping = true;
		m_.again = false;
		pump_on(true);
	}

	void pump_on(bool more)
	{
		for (;;) {
			while (more) {
				more = pump_send();
				if (m_.building)
					return;
			}
			if (!m_.again || !rules_.again)
				break;
			m_.again = false;
			more = true;
		}
		m_.again = false;
		m_.pumping = false;
		pump_room();
	}

	void pump_room()
	{
		if (!(m_.waiters & kOwnerWaits) || !rules_.tells)
			return;
		const bool room = rpcrdma_session_room(&a_);
		if (!room && rules_.tells_truth)
			return;
		out_.untrue |= !room;
		credit_wait(kOwnerWaits, false);
		is_to_tell();
	}

	/* A third thread that is about to do the same would change nothing. */
	void is_to_tell()
	{
		if (m_.telling < 2)
			m_.telling++;
	}

	bool pump_alone(u8 who)
	{
		const Credits before = credits(a_);
		rpcrdma_message msg = message(who);
		rpcrdma_tx tx;
		const u32 result = rpcrdma_session_next_send(
			&a_, &msg, buffer_, sizeof(buffer_), &tx);

		keep(who, msg);
		if (result == RPCRDMA_TX_MESSAGE)
			decided(tx, who, &msg);
		else if (result == RPCRDMA_TX_CONTROL)
			decided(tx, kNothing, nullptr);
		if (result != RPCRDMA_TX_MESSAGE || !tx.last) {
			push(m_.queue, m_.n_queue, who);
			return false;
		}
		if (tx.more)
			return false;
		if (!rules_.counts)
			credits(a_) = before;

		m_.pumping = true;
		m_.again = false;
		m_.building = m_.alone = !brief();
		return m_.building || pump_alone_sent();
	}

	bool pump_alone_sent()
	{
		m_.alone = false;
		post();
		m_.pumping = false;
		const bool again = m_.again && rules_.again;
		m_.again = false;
		return !again;
	}

	/* The pump has the lock again. */
	void build()
	{
		m_.building = false;
		if (!m_.alone)
			pump_on(pump_sent());
		else if (!pump_alone_sent())
			pump();
	}

	[[nodiscard]] u32 rank(u8 who) const
	{
		if (who < kMostRpcs && m_.rpcs[who].sent && rules_.begun_first)
			return 0;
		if (who == kReply)
			return version1() ? 1 : 3;
		return rules_.rpcs[who].probe ? 2 : 4;
	}

	/* Behind those of its rank. */
	void enqueue(u8 who)
	{
		u32 at = 0;

		while (at < m_.n_queue && rank(m_.queue[at]) <= rank(who))
			at++;
		push(m_.queue, m_.n_queue, who);
		std::rotate(m_.queue + at, m_.queue + m_.n_queue - 1,
			    m_.queue + m_.n_queue);
	}

	/* It is admitted, or need not be. */
	void send(u8 who)
	{
		if (m_.pumping || m_.waiters || m_.n_queue) {
			enqueue(who);
			pump();
		} else if (!pump_alone(who)) {
			pump();
		}
	}

	/* ---------------------------------------------------------------- */
	/* sunrpc and request.c                                             */
	/* ---------------------------------------------------------------- */

	/* @who is kNothing: may any Call begin? */
	bool admits(u8 who)
	{
		const bool any = who == kNothing;
		rpcrdma_message msg = any ? rpcrdma_message{} : message(who);
		bool admitted =
			rpcrdma_session_admit(&a_, any ? nullptr : &msg);

		if (admitted && !any && available() < rules_.rpcs[who].sends)
			m_.rpcs[who].flags |= kLone;

		if (!rules_.asks)
			admitted = true;
		if (admitted && !any && !rules_.lone &&
		    m_.rpcs[who].flags & kLone) {
			admitted = false;
			(void)!rpcrdma_session_end_call(&a_, &msg);
		}
		if (admitted && !rules_.reserves)
			(void)!rpcrdma_session_end_call(&a_, &msg);
		if (!any)
			keep(who, msg);
		if (admitted)
			return true;
		if (rules_.noted)
			credit_wait(kOwnerWaits, true);
		m_.refused = m_.kept[0];
		if (rules_.in_lock)
			m_.full = true;
		else
			m_.writer = WaitsLate;
		return false;
	}

	[[nodiscard]] u32 available() const
	{
		struct rpcrdma_session_info info;

		rpcrdma_session_info(&a_, &info);
		return info.peer_credits;
	}

	/* The Call that was kept first has all that it needs but credits. */
	bool hands_over()
	{
		const u8 who = m_.kept[0];

		if (!admits(who))
			return false;
		m_.rpcs[who].stage = Queued;
		remove(m_.kept, m_.n_kept);
		send(who);
		return true;
	}

	/* The task that has waited longest has the write lock, or goes on with it. */
	void write()
	{
		const u8 who = m_.kept[0];
		const u8 step = m_.writer;

		m_.writer = Nobody;
		switch (step) {
		case Nobody:
			if (!rules_.rpcs[who].region)
				(void)hands_over();
			else if (admits(kNothing))
				m_.writer = Maps;
			break;
		case Maps:
			if (m_.regions) {
				m_.regions--;
				m_.rpcs[who].flags |= kRegion;
				m_.writer = Begins;
			} else {
				m_.lacks = true;
				m_.writer = Waits;
			}
			break;
		case Begins:
			if (!hands_over() && m_.writer == Nobody)
				m_.writer = GivesBack;
			break;
		case GivesBack:
			/* As rpcrdma_frwr_undo(): nobody is told. */
			m_.regions++;
			m_.rpcs[who].flags &= ~kRegion;
			break;
		case Waits:
			m_.full = true;
			if (rules_.looks_again)
				m_.writer = LooksAgain;
			break;
		case LooksAgain:
			m_.full = m_.full && m_.lacks;
			break;
		case WaitsLate:
			m_.full = true;
			if (m_.rpcs[who].flags & kRegion)
				m_.writer = GivesBack;
			break;
		}
	}

	void tell()
	{
		m_.telling--;
		if (rules_.tells_all || (m_.refused < kMostRpcs &&
					 m_.rpcs[m_.refused].stage == Kept))
			m_.full = false;
	}

	/* The Reply to the callback has the write lock. */
	void reply()
	{
		m_.full = false;
		m_.callback = 2;
		send(kReply);
	}

	void call(u8 who)
	{
		Rpc &r = m_.rpcs[who];

		r = {};
		if (rules_.rpcs[who].probe) {
			r.stage = Queued;
			send(who);
			return;
		}
		r.stage = Kept;
		push(m_.kept, m_.n_kept, who);
	}

	/* ---------------------------------------------------------------- */
	/* The end of an RPC: reply.c, cancel.c, frwr.c                     */
	/* ---------------------------------------------------------------- */

	void over(Rpc &r)
	{
		if (!(r.flags & (kToEnd | kRegion | kReplyDue)))
			r = {};
	}

	void end_call(Rpc &r, u8 who)
	{
		r.flags &= ~kToEnd;
		rpcrdma_message msg = message(who);
		const bool due = rpcrdma_session_end_call(&a_, &msg);
		keep(who, msg);
		over(r);
		if (due && rules_.freed)
			pump();
	}

	void put_region(Rpc &r)
	{
		const bool told = m_.lacks;

		r.flags &= ~kRegion;
		m_.regions++;
		m_.lacks = false;
		if (told && rules_.regions_tell)
			is_to_tell();
		over(r);
	}

	[[nodiscard]] bool pump_has(u8 who) const
	{
		for (u32 i = 0; i < m_.n_decided; i++)
			if (m_.decided[i].who == who)
				return true;
		return false;
	}

	/* It need not wait for the pump, see rpcrdma_conn_cancel(). */
	[[nodiscard]] bool cancellable(u8 who) const
	{
		const Rpc &r = m_.rpcs[who];

		switch (r.stage) {
		case Kept:
			return m_.writer == Nobody || m_.kept[0] != who;
		case Queued:
			return !(r.flags & kCancelled) && !pump_has(who) &&
			       !(r.sent && m_.pumping);
		case Sent:
			return true;
		default:
			return false;
		}
	}

	void cancel(u8 who)
	{
		Rpc &r = m_.rpcs[who];

		switch (r.stage) {
		case Kept:
			take_out(m_.kept, m_.n_kept, who);
			r = {};
			return;
		case Queued:
			if (r.sent) {
				m_.pumping = true;
				m_.copying = who + 1;
				r.flags |= kCancelled;
				return;
			}
			take_out(m_.queue, m_.n_queue, who);
			if (!m_.n_queue)
				credit_wait(kPumpWaits, false);
			break;
		default:
			r.flags |= kReplyDue;
			break;
		}
		r.stage = Over;
		if (rules_.cancel_frees || r.flags & kReplyDue)
			r.flags |= kToEnd;
		r.flags |= kCancelled;
		over(r);
	}

	/* As rpcrdma_cancel_begun(), when it has made the copy; and what its callers do then. */
	void copied()
	{
		const u8 who = m_.copying - 1;

		m_.copying = 0;
		m_.pumping = false;
		m_.again = false;
		if (!rules_.rest_goes)
			take_out(m_.queue, m_.n_queue, who);
		if (rules_.rest_pumps)
			pump();
	}

	/* ---------------------------------------------------------------- */
	/* What comes to the client: recv.c                                 */
	/* ---------------------------------------------------------------- */

	void receive(rpcrdma_session &s, u8 &posted, Flying f, rpcrdma_rx &rx)
	{
		const u32 size = arrived(f);

		out_.overrun |= !posted;
		posted--;
		rpcrdma_session_receive(&s, buffer_, size, &rx);
		if (rx.reason == RPCRDMA_REASON_CREDIT)
			out_.overrun = true;
		else if (rx.reason != RPCRDMA_REASON_NONE ||
			 rx.action == RPCRDMA_RX_CLOSE)
			out_.unsound = true;
	}

	void client_takes()
	{
		const bool had = available();
		rpcrdma_rx rx;

		receive(a_, m_.posted, remove(m_.answers, m_.n_answers), rx);
		m_.handling = true;
		m_.kick = rx.kick || rx.opened;
		if (!rules_.kicks_wanted && had && !rx.opened)
			m_.kick = false;
		if (rx.action != RPCRDMA_RX_PAYLOAD)
			return;
		if (rx.dir == RPCRDMA_CALL) {
			m_.callback = 1;
			return;
		}
		Rpc &r = m_.rpcs[rx.xid - kXid];
		if (r.stage == Sent) {
			r.stage = Over;
			r.flags |= kToEnd;
		} else {
			out_.unsound |= r.stage != Over ||
					!(r.flags & kReplyDue);
			r.flags &= ~kReplyDue;
			over(r);
		}
	}

	/* The rest of the handler. */
	void handle()
	{
		const bool kick = m_.kick;

		m_.handling = m_.kick = false;
		m_.posted++;
		if (rpcrdma_session_release(&a_, 1) || (kick && rules_.kicks))
			pump();
	}

	/* ---------------------------------------------------------------- */
	/* The server                                                       */
	/* ---------------------------------------------------------------- */

	[[nodiscard]] rpcrdma_message server_message(u8 who) const
	{
		rpcrdma_message msg = {};

		msg.xid = who == kReply ? kCallbackXid : kXid + who;
		msg.dir = who == kReply ? RPCRDMA_CALL : RPCRDMA_REPLY;
		msg.length = kShort;
		return msg;
	}

	void server_post(Flying f)
	{
		if (!version1()) {
			const u32 less = images_[f.image].grant ? 0 : less_;

			m_.told_less = less != 0;
			f.word -= less;
		}
		push(m_.answers, m_.n_answers, f);
		posts_++;
	}

	void server_pump()
	{
		for (;;) {
			const bool any = m_.n_out;
			rpcrdma_message msg =
				any ? server_message(m_.out[0]) :
				      rpcrdma_message{};
			rpcrdma_tx tx;
			const u32 result = rpcrdma_session_next_send(
				&b_, any ? &msg : nullptr, buffer_,
				sizeof(buffer_), &tx);

			if (result == RPCRDMA_TX_MESSAGE) {
				if (m_.out[0] == kReply)
					m_.calling = Out;
				remove(m_.out, m_.n_out);
			} else if (result != RPCRDMA_TX_CONTROL) {
				out_.unsound |= result == RPCRDMA_TX_INVALID ||
						result == RPCRDMA_TX_REFUSED;
				return;
			}
			const bool sends = result == RPCRDMA_TX_MESSAGE;
			server_post(flying(tx, sends ? &msg : nullptr));
		}
	}

	bool server_gives_back()
	{
		if (rpcrdma_session_retire(&b_))
			return false;
		m_.offered++;
		return rpcrdma_session_release(&b_, 1);
	}

	void server_takes()
	{
		const Flying f = remove(m_.calls, m_.n_calls);
		rpcrdma_rx rx;
		bool due = false;

		receive(b_, m_.offered, f, rx);
		if (rx.action == RPCRDMA_RX_PAYLOAD && rx.last) {
			if (rx.dir == RPCRDMA_REPLY)
				due |= server_answered();
			else
				m_.serving |= 1U << (rx.xid - kXid);
		}
		if (rules_.holds && rx.action == RPCRDMA_RX_PAYLOAD)
			m_.held++;
		else
			due |= server_gives_back();
		if (due || rx.kick || rx.opened)
			server_pump();
	}

	/* The callback has its Reply. */
	bool server_answered()
	{
		rpcrdma_message msg = server_message(kReply);

		m_.calling = None;
		msg.outstanding = true;
		return rpcrdma_session_end_call(&b_, &msg);
	}

	void server_sends(u8 who)
	{
		push(m_.out, m_.n_out, who);
		server_pump();
	}

	void server_resizes(u32 window)
	{
		const u32 now = credits(b_).window();

		if (window > now)
			m_.offered += window - now;
		m_.window = static_cast<u8>(window);
		if (rpcrdma_session_set_window(&b_, window))
			server_pump();
	}

	/* What it has told before was less than it could. */
	void server_tells_all()
	{
		const u32 word = credits(b_).credit();
		Image i = {};

		rpcrdma::store_be32(i.header + 4, 2);
		rpcrdma::store_be32(i.header + 12, RPCRDMA2_GRANT);
		std::memcpy(buffer_, i.header, sizeof(i.header));
		rpcrdma::store_be32(buffer_ + kAtCredit, word);
		rpcrdma_tx tx = {};
		tx.header_length = 16;
		tx.htype = RPCRDMA2_GRANT;
		server_post(flying(tx, nullptr));
		credits(b_).sent();
	}

	/* ---------------------------------------------------------------- */
	/* What may happen                                                  */
	/* ---------------------------------------------------------------- */

	void client_steps()
	{
		const Model &m = before_;

		if (m.n_kept && (m.writer != Nobody || !m.full))
			step(true, [this] { write(); });
		if (m.building)
			step(true, [this] { build(); });
		if (m.copying)
			step(true, [this] { copied(); });
		if (m.telling)
			step(true, [this] { tell(); });
		if (m.handling)
			step(true, [this] { handle(); });
		else if (m.n_answers)
			step(true, [this] { client_takes(); });
		if (m.callback == 1 && m.writer == Nobody &&
		    (rules_.replies_pass || !m.full))
			step(true, [this] { reply(); });
		for (u8 i = 0; i < rules_.rpcs.size(); i++) {
			const Rpc &r = m.rpcs[i];

			if (r.stage == Over && r.flags & kToEnd)
				step(true, [=, this] {
					end_call(m_.rpcs[i], i);
				});
			if (r.stage == Over && r.flags & kRegion)
				step(true, [=, this] {
					put_region(m_.rpcs[i]);
				});
			if (r.stage == Idle)
				step(false, [=, this] { call(i); });
			load();
			if (rules_.cancels && !rules_.rpcs[i].probe &&
			    cancellable(i))
				step(false, [=, this] { cancel(i); });
		}
	}

	/* A step of the server, whose messages may tell of less credit than there is. */
	template <typename F> void server_step(bool by_itself, F f)
	{
		posts_ = 0;
		step(by_itself, f);
		if (!rules_.takes_back || !posts_)
			return;
		for (const u32 less : { 1U, 3U }) {
			less_ = less;
			step(false, f);
		}
		less_ = 0;
	}

	void server_steps()
	{
		const Model &m = before_;

		if (m.n_calls)
			server_step(true, [this] { server_takes(); });
		if (m.held)
			server_step(true, [this] {
				m_.held--;
				if (server_gives_back())
					server_pump();
			});
		if (m.told_less && credits(b_before_).may_grant())
			step(true, [this] { server_tells_all(); });
		for (u8 i = 0; i < rules_.rpcs.size(); i++)
			if (m.serving >> i & 1 &&
			    !(rules_.recall && m.calling != None))
				server_step(true, [=, this] {
					m_.serving &= ~(1U << i);
					server_sends(i);
				});
		if (rules_.callbacks && m.calling == None &&
		    rpcrdma_session_ready(&b_before_))
			server_step(false, [this] {
				m_.calling = Waiting;
				server_sends(kReply);
			});
		for (const u32 window : rules_.windows)
			if (window != m.window)
				step(false, [=, this] {
					server_resizes(window);
				});
	}

	void expand()
	{
		goes_on_ = false;
		client_steps();
		server_steps();
		const Model &m = before_;
		if (goes_on_ || found())
			return;
		bool over = !m.n_queue && !m.n_out && !m.full && !m.waiters &&
			    !m.n_kept && !m.callback && m.calling == None &&
			    m.regions == rules_.regions;
		for (const Rpc &r : m.rpcs)
			over &= r.stage == Idle;
		out_.stuck |= !over;
	}

	/* Of the state that is expanded. */
	void check()
	{
		const Model &m = before_;
		u32 still = 0;

		for (const Rpc &r : m.rpcs)
			still += r.reserved;
		out_.unsound |= still != reserved(a_before_) ||
				!sessions_[0].sound() || !sessions_[1].sound();
		out_.kept += m.n_kept != 0;
		if (m.handling)
			return;
		out_.lost |= m.waiters & kOwnerWaits && !m.pumping &&
			     rpcrdma_session_room(&a_);
		out_.lost |= m.full && !(m.waiters & kOwnerWaits) &&
			     !m.lacks && !m.telling && m.writer == Nobody;
	}

	const Rules &rules_;
	Outcome out_;
	Sessions sessions_[2];
	std::vector<Image> images_;
	states::Numbers<kKey> keys_;
	std::vector<states::Edge> edges_;
	u32 from_ = 0;
	Model before_;
	rpcrdma_session a_before_;
	rpcrdma_session b_before_;
	bool goes_on_ = false;

	/* The state that a step makes. */
	Model m_;
	rpcrdma_session a_;
	rpcrdma_session b_;
	bool tx_more_ = false;
	u32 less_ = 0;
	u32 posts_ = 0;
	alignas(8) u8 buffer_[kRecvSize] = {};
};

} // namespace

namespace
{

const Kind kOne = { .sends = 1 };
const Kind kTwo = { .sends = 2 };
/* More than the peer ever allows at one time. */
const Kind kFour = { .sends = 4 };
const Kind kMapped = { .sends = 1, .region = true };
const Kind kProbe = { .sends = 1, .probe = true };

using Rpcs = std::vector<Kind>;

size_t total_states;

Outcome search(const Rules &rules)
{
	return Search(rules).outcome();
}

void expect_sound(const char *what, const std::vector<Rpcs> &all,
		  Rules rules = {})
{
	for (const Rpcs &rpcs : all) {
		rules.rpcs = rpcs;
		const Outcome o = search(rules);

		EXPECT_TRUE(o.complete);
		EXPECT_FALSE(o.overrun);
		EXPECT_FALSE(o.unsound);
		EXPECT_FALSE(o.blocked);
		EXPECT_FALSE(o.lost);
		EXPECT_FALSE(o.untrue);
		EXPECT_FALSE(o.stuck);
		EXPECT_FALSE(o.endless);
		EXPECT_GT(o.kept, 0u);
		std::printf("%s, Calls of", what);
		for (const Kind &k : rpcs)
			std::printf(" %u%s%s", k.sends,
				    k.region ? " with a region" : "",
				    k.probe ? " for a probe" : "");
		std::printf(": %zu states, %zu with a Call that is kept\n",
			    o.states, o.kept);
		total_states += o.states;
	}
}

/* Where this rule is broken, that is found, and only there. */
struct Mistake {
	const char *name;
	bool Rules::*rule;
	bool Outcome::*found;
	Rpcs rpcs;
	Rules rules = {};
};

void expect_found(const std::vector<Mistake> &mistakes)
{
	for (const Mistake &m : mistakes) {
		Rules rules = m.rules;

		rules.rpcs = m.rpcs;
		EXPECT_TRUE(search(rules).sound()) << m.name;
		rules.*m.rule = false;
		const Outcome o = search(rules);
		EXPECT_TRUE(o.*m.found) << m.name;
		std::printf("%s: found in %zu states\n", m.name, o.states);
	}
}

Rules given_up()
{
	Rules rules;

	rules.cancels = true;
	return rules;
}

Rules with_a_reserve()
{
	Rules rules;

	rules.reserve = 1;
	return rules;
}

Rules with_held_receives()
{
	Rules rules;

	rules.holds = true;
	return rules;
}

Rules with_callbacks()
{
	Rules rules;

	rules.callbacks = rules.recall = true;
	return rules;
}

} // namespace

TEST(admission_search, every_interleaving__of_calls)
{
	expect_sound("version 2", { { kOne, kOne },
				    { kOne, kTwo },
				    { kTwo, kTwo },
				    { kOne, kFour },
				    { kOne, kOne, kOne },
				    { kTwo, kOne, kOne },
				    { kTwo, kTwo, kFour } });
}

TEST(admission_search, every_interleaving__with_regions)
{
	Rules rules;

	expect_sound("one region", { { kMapped, kOne },
				     { kMapped, kMapped },
				     { kMapped, kMapped, kOne } });
	rules.regions = 2;
	expect_sound("two regions", { { kMapped, kMapped, kMapped } }, rules);
}

TEST(admission_search, every_interleaving__with_rpcs_that_are_given_up)
{
	expect_sound("given up",
		     { { kOne, kOne },
		       { kOne, kTwo },
		       { kTwo, kTwo },
		       { kOne, kFour },
		       { kMapped, kOne },
		       { kMapped, kMapped },
		       { kOne, kOne, kOne } },
		     given_up());
}

TEST(admission_search, every_interleaving__with_callbacks)
{
	Rules rules = with_callbacks();

	expect_sound("callbacks before Replies",
		     { { kOne, kOne }, { kOne, kTwo }, { kMapped, kMapped } },
		     rules);
	rules.recall = false;
	expect_sound("callbacks", { { kOne, kOne }, { kMapped, kMapped } },
		     rules);
}

TEST(admission_search, every_interleaving__with_windows_that_change)
{
	Rules rules;

	rules.windows = { 3, 5 };
	expect_sound("windows of 3 and 5",
		     { { kOne, kTwo }, { kTwo, kFour }, { kOne, kOne, kOne } },
		     rules);
	rules.windows = { 3, 4, 5 };
	expect_sound("windows of 3 to 5", { { kTwo, kTwo } }, rules);
}

TEST(admission_search, every_interleaving__with_credit_that_is_taken_back)
{
	Rules rules;

	rules.takes_back = true;
	expect_sound("taken back",
		     { { kOne, kOne }, { kOne, kTwo }, { kTwo, kFour } },
		     rules);
	rules.cancels = true;
	expect_sound("taken back, given up", { { kOne, kTwo } }, rules);
}

TEST(admission_search, every_interleaving__with_probes)
{
	Rules rules = with_a_reserve();

	expect_sound("a credit for probes",
		     { { kOne, kProbe },
		       { kTwo, kProbe },
		       { kOne, kTwo, kProbe } },
		     rules);
	rules.cancels = true;
	expect_sound("a credit for probes, given up",
		     { { kOne, kTwo }, { kOne, kProbe } }, rules);
}

TEST(admission_search, every_interleaving__with_receives_that_are_held)
{
	expect_sound("held", { { kOne, kTwo }, { kOne, kOne, kOne } },
		     with_held_receives());
}

TEST(admission_search, every_interleaving__of_version_1)
{
	Rules rules;

	rules.version = 1;
	rules.windows = { 3, 5 };
	expect_sound("version 1", { { kOne, kOne, kOne } }, rules);
	rules.cancels = true;
	expect_sound("version 1, given up",
		     { { kOne, kOne }, { kMapped, kOne } }, rules);
	rules.cancels = false;
	rules.callbacks = true;
	expect_sound("version 1, callbacks",
		     { { kOne, kOne }, { kMapped, kMapped } }, rules);
	std::printf("%zu states in all\n", total_states);
}

TEST(admission_search, mistakes__of_admission)
{
	expect_found({
		{ "a Call is sent that was not admitted", &Rules::asks,
		  &Outcome::blocked, { kOne, kTwo } },
		{ "a Call that was admitted keeps no credits",
		  &Rules::reserves, &Outcome::blocked, { kOne, kTwo } },
		{ "a Call waits for more credits than there ever are",
		  &Rules::lone, &Outcome::stuck, { kTwo, kFour } },
		{ "what is not queued is not counted", &Rules::counts,
		  &Outcome::overrun, { kOne, kOne }, with_held_receives() },
		{ "a message comes between the parts of another",
		  &Rules::begun_first, &Outcome::unsound, { kOne, kTwo },
		  with_callbacks() },
	});
}

TEST(admission_search, mistakes__of_telling)
{
	expect_found({
		{ "credit comes, and the pump does not run", &Rules::kicks,
		  &Outcome::lost, { kOne, kTwo } },
		{ "more credit comes, and the pump does not run",
		  &Rules::kicks_wanted, &Outcome::lost, { kOne, kTwo },
		  with_a_reserve() },
		{ "a Call gives credit back, and the pump does not run",
		  &Rules::freed, &Outcome::lost, { kOne, kTwo }, given_up() },
		{ "who pumps does not do what others ask for", &Rules::again,
		  &Outcome::stuck, { kOne, kTwo } },
		{ "it is not noted that the owner waits", &Rules::noted,
		  &Outcome::lost, { kOne, kTwo } },
		{ "the owner keeps its Calls after the lock was left",
		  &Rules::in_lock, &Outcome::lost, { kOne, kTwo } },
		{ "the pump does not look for room", &Rules::tells,
		  &Outcome::lost, { kOne, kTwo } },
		{ "the owner is told whenever the pump ends",
		  &Rules::tells_truth, &Outcome::untrue, { kOne, kTwo } },
		{ "only the Call is told that was not admitted",
		  &Rules::tells_all, &Outcome::lost, { kOne, kTwo },
		  given_up() },
		{ "Replies wait for room", &Rules::replies_pass,
		  &Outcome::stuck, { kMapped, kMapped }, with_callbacks() },
	});
}

TEST(admission_search, mistakes__with_regions)
{
	expect_found({
		{ "who waits for a region does not look again",
		  &Rules::looks_again, &Outcome::lost, { kMapped, kMapped } },
		{ "a region comes back, and nobody is told",
		  &Rules::regions_tell, &Outcome::lost, { kMapped, kMapped } },
	});
}

TEST(admission_search, mistakes__of_giving_up)
{
	expect_found({
		{ "a Call that is given up keeps its credits",
		  &Rules::cancel_frees, &Outcome::unsound, { kOne, kTwo },
		  given_up() },
		{ "the rest of one is copied, and the pump does not run",
		  &Rules::rest_pumps, &Outcome::stuck, { kOne, kTwo },
		  given_up() },
		{ "the rest of one is not sent", &Rules::rest_goes,
		  &Outcome::stuck, { kTwo, kFour }, given_up() },
	});
}
