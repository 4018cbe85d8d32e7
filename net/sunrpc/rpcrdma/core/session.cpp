// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state of a session; receive.cpp and send.cpp have the rules for messages.
 */
#include "session.h"
#include "check.h"
#include "xdr.h"

namespace rpcrdma
{

/* Receives that a side offers for reverse-direction Calls, and their Replies. */
static constexpr u32 kReverseShare = 8; /* one in so many */
static constexpr u32 kReverseMax = 16;

/* Zero and zero: what there was before version 1. */
static rpcrdma_config with_versions(rpcrdma_config cfg)
{
	if (!cfg.min_version && !cfg.max_version)
		cfg.min_version = cfg.max_version = kVersion2;
	return cfg;
}

static bool auth_valid(const rpcrdma_auth *auth, u32 max_version)
{
	return !auth || (auth->policy < RPCRDMA_AUTH_POLICIES &&
			 auth->name_size <= kHostAuthNameMost &&
			 auth->secret_size <= kHostAuthSecretMost &&
			 (auth->policy != RPCRDMA_AUTH_REQUIRED ||
			  max_version >= kVersion2));
}

static HostAuth auth_of(const rpcrdma_config &cfg)
{
	HostAuth::Identity self = {};

	if (!cfg.auth)
		return HostAuth::server(HostAuthPolicy::Off, self);
	const rpcrdma_auth &a = *cfg.auth;
	const auto policy = static_cast<HostAuthPolicy>(a.policy);
	__builtin_memcpy(self.host, a.host, sizeof(self.host));
	__builtin_memcpy(self.nonce, a.nonce, sizeof(self.nonce));
	return cfg.role == RPCRDMA_ROLE_CLIENT ?
		       HostAuth::client(policy, self, { a.name, a.name_size },
					{ a.secret, a.secret_size }) :
		       HostAuth::server(policy, self);
}

/* More would only keep credits from being used. */
static constexpr u32 kReserveMax = 1;

bool Session::valid(const rpcrdma_config &cfg)
{
	const rpcrdma_config c = with_versions(cfg);

	return c.min_version >= kVersion1 && c.min_version <= c.max_version &&
	       c.max_version <= kVersion2 && c.role <= RPCRDMA_ROLE_SERVER &&
	       c.window >= RPCRDMA_MIN_WINDOW &&
	       c.window <= Credits::kLimitMax && c.reserve <= kReserveMax &&
	       c.max_message >= RPCRDMA_MIN_RECV_SIZE &&
	       c.max_reverse_call <= c.max_message &&
	       c.max_read_chunks <= RPCRDMA_MAX_SEGMENTS &&
	       c.max_write_chunks <= RPCRDMA_MAX_CHUNKS &&
	       c.local.max_segments <= RPCRDMA_MAX_SEGMENTS &&
	       c.local.send_size >= RPCRDMA_MIN_RECV_SIZE &&
	       (!c.send_room || c.send_room >= RPCRDMA_MIN_RECV_SIZE) &&
	       properties_valid(c.local) && auth_valid(c.auth, c.max_version);
}

Session::Session(const rpcrdma_config &cfg)
	: Session(cfg, Options{})
{
}

Session::Session(const rpcrdma_config &cfg, const Options &options)
	: config_(with_versions(cfg))
	, credits_(cfg.window, options.count_start)
	, auth_(auth_of(cfg))
	, general_(options.general)
{
	config_.auth = nullptr;
	if (!config_.send_room)
		config_.send_room = UINT32_MAX;
	if (auth_.policy() == HostAuthPolicy::Required)
		config_.min_version = kVersion2;
	if (auth_.failed())
		end(RPCRDMA_REASON_AUTH);
	static_cast<rpcrdma_properties &>(local_) = cfg.local;
	announce(cfg.extensions, local_);
	settle();
	if (client() && !speaks(kVersion2)) {
		begin_version1();
		if (!closed())
			advance(Phase::Open);
	}
}

void Session::advance(Phase to)
{
	if (!RPCRDMA_CHECK(kNextPhases[static_cast<u32>(phase_)] &
			   phase_bit(to)))
		return;
	phase_ = to;
	settle();
}

void Session::end(rpcrdma_reason why)
{
	closed_ = why;
	advance(Phase::Closed);
}

/*
 * Each side has announced it, and neither can take the other's messages for something
 * else any more.
 */
u32 Session::extensions_in_use() const
{
	u32 all = 0;

	static_assert(Extensions::kOthers < 32);
	if (version_ != kVersion2 ||
	    exchange_ != Agreement{ Told::Final, Told::Final })
		return 0;
	for (u32 e = 1; e <= Extensions::kOthers; e++)
		if (announced(local_, e) && announced(peer_, e))
			all |= 1U << e;
	return all;
}

/* The peer has not heard that this side knows extensions. */
void Session::withdraw()
{
	for (u32 i = kBaseProperties; i < Extensions::kProperties; i++)
		*number(local_, i) = kPropertyTypes[i].initial;
	if constexpr (Extensions::kOthers > 0)
		control_.keep_errors();
}

bool Port::opening() const
{
	const Session &s = session_;

	return !s.closed() && s.version_ == kVersion2 &&
	       s.exchange_ == Agreement{ Told::Nothing, Told::Final } &&
	       announced(s.local_, extension_) &&
	       announced(s.peer_, extension_);
}

static u32 number_of(const Properties &p, u32 which)
{
	const u32 i = property_index(which);
	const u32 *n = i < Extensions::kProperties ? number(p, i) : nullptr;

	return n ? *n : 0;
}

u32 Port::local(u32 which) const
{
	return number_of(session_.local_, which);
}

u32 Port::peer(u32 which) const
{
	return number_of(session_.peer_, which);
}

Xid Port::first_xid() const
{
	return session_.first_xid();
}

bool Port::calling() const
{
	return session_.outstanding_ || session_.reserved_ ||
	       session_.sending_.active;
}

/* There is a number, and it is the extension's to change. */
bool Port::may_change(u32 which) const
{
	const u32 i = property_index(which);

	if (i >= Extensions::kProperties || !number(session_.local_, i))
		return false;
	const PropertyType &t = kPropertyTypes[i];
	return (t.may_change && t.extension == extension_) ||
	       Extensions::changes(extension_, which);
}

bool Port::set_local(u32 which, u32 to)
{
	const u32 i = property_index(which);

	if (!may_change(which) || to < kPropertyTypes[i].least ||
	    to > kPropertyTypes[i].most)
		return false;
	*number(session_.local_, i) = to;
	session_.settle();
	return true;
}

bool Port::set_peer(u32 which, u32 to)
{
	if (!may_change(which))
		return false;
	*number(session_.peer_, property_index(which)) = to;
	session_.settle();
	return true;
}

bool Port::send(u32 htype, Xid xid, const u32 (&words)[kControlWords])
{
	const HeaderType *t = header_type(htype);
	ControlMessage m = { xid, kVersion2, 0, {} };

	if (!RPCRDMA_CHECK(t && t->extension == extension_) || !in_use())
		return false;
	m.type = t->index;
	for (u32 i = 0; i < kControlWords; i++)
		m.words[i] = words[i];
	return session_.control_.push(m);
}

bool Port::declare(u32 which, u32 number)
{
	const u32 i = property_index(which);

	if (i >= Extensions::kProperties ||
	    session_.exchange_.sent == Told::Final)
		return false;
	const PropertyType &t = kPropertyTypes[i];
	if (t.extension != extension_ || number < t.least || number > t.most ||
	    !announced(session_.local_, extension_))
		return false;
	*::rpcrdma::number(session_.local_, i) = number;
	return true;
}

void Port::post(rpcrdma_message &msg, u32 htype, u32 part, u32 header,
		bool last, rpcrdma_tx &tx)
{
	session_.post_part(msg, part, *header_type(htype), last, header, tx);
	session_.grouping_ = !last;
	tx.more = more();
}

/* There are no properties; what private data leaves open is at its largest. */
void Session::begin_version1()
{
	version_ = kVersion1;
	auth_.version1();
	exchange_.sent = Told::Final;
	local_.send_size = announced_size(local_.send_size);
	local_.recv_size = announced_size(local_.recv_size);
	static_cast<rpcrdma_properties &>(peer_) = {
		.send_size = private_.send_size,
		.recv_size = private_.recv_size,
		.max_segment_size = UINT32_MAX,
		.max_segments = RPCRDMA_MAX_SEGMENTS,
		.reverse = RPCRDMA_RVRSDIR_SIMPLE,
	};
	settle();
}

void Session::begin_version2()
{
	if (version_ == kVersion2)
		return;
	version_ = kVersion2;
	settle();
}

void Session::peer_private(const PrivateData &p)
{
	private_ = p;
	if (version1())
		begin_version1();
}

/*
 * Version 1: the part of this side's Receives that is for Calls of direction @dir, or for
 * their Replies. Both parts together always suffice for the Calls of both directions.
 */
u32 Session::receives_for(rpcrdma_dir dir) const
{
	const u32 window = credits_.target();
	u32 reverse = window / kReverseShare;

	if (!reverse)
		reverse = 1;
	if (reverse > kReverseMax)
		reverse = kReverseMax;
	return sends_reversed(dir) ? reverse : window - reverse;
}

bool Session::invariants() const
{
	const u32 there_can_be =
		version1() ? exchange_bit(Told::Final, Told::Nothing) :
			     kExchanges[config_.role][static_cast<u32>(phase_)];
	bool sound =
		control_.invariants() && terms_ == terms() &&
		closed() == (closed_ != RPCRDMA_REASON_NONE) &&
		there_can_be & exchange_bit(exchange_.sent, exchange_.received);

	for (u32 e = 1; e <= Extensions::kOthers; e++)
		Extensions::visit(e, [&](auto which) {
			using E = typename decltype(which)::type;

			if constexpr (requires { &E::invariants; })
				sound &= Extensions::state<E>(extensions_)
						 .invariants();
		});
	/* A peer that has overrun its credits, for instance. */
	if (closed())
		return sound;
	for (const Continuation &c : incoming_)
		sound &= c.invariants() && !(c.active() && version1());
	/*
	 * Of what has been begun something has been sent, and something is to be: of a group
	 * perhaps nothing but placed data.
	 */
	if (sending_.active)
		sound &= opened() && !version1() && sending_.sent &&
			 sending_.sent + !grouping_ <= sending_.length;
	return sound && credits_.invariants() &&
	       (!version_ || speaks(version_)) && (!opened() || version_) &&
	       (!grouping_ || sending_.active) &&
	       (exchange_.received == Told::Nothing || version_ == kVersion2);
}

bool Session::refuse(Xid xid, const ErrorBody &body)
{
	if (closed())
		return false;
	if (!RPCRDMA_CHECK(error_type(body.code))) {
		end(RPCRDMA_REASON_INVARIANT);
		return false;
	}
	/* What more comes of it, or comes instead, is as if refused here. */
	Continuation &calls = incoming_[RPCRDMA_CALL];
	if (calls.active(xid))
		(void)calls.refuse(xid, false, calls.left());
	return control_.push(
		error_message(xid, version1() ? kVersion1 : kVersion2, body));
}

bool Session::set_window(u32 window)
{
	if (closed())
		return false;
	if (!RPCRDMA_CHECK(window >= RPCRDMA_MIN_WINDOW &&
			   window <= Credits::kLimitMax)) {
		end(RPCRDMA_REASON_INVARIANT);
		return false;
	}
	const bool could_begin = may_begin();
	const bool could_probe = available();
	credits_.set_window(window);
	settle();
	return grant_due() || (!could_begin && may_begin()) ||
	       (!could_probe && available()) || has_wanted_room();
}

/*
 * In version 1 no message has the only purpose of giving credit: a Reply gives back the
 * credit of its Call, so the Receive has to be there before.
 */
bool Session::may_wait(u32 count) const
{
	return version_ == kVersion2 &&
	       count < receive_batch(credits_.window()) && credits_.ample();
}

bool Session::retire()
{
	/* A grant of version 1 can be taken back, but not at a known moment. */
	return !version1() && credits_.retire();
}

rpcrdma_auth_state Session::auth_state() const
{
	if (auth_.policy() == HostAuthPolicy::Off)
		return RPCRDMA_AUTH_NONE;
	switch (auth_.state()) {
	case HostAuth::State::WantsKey:
		return RPCRDMA_AUTH_WANTS_KEY;
	case HostAuth::State::Authenticated:
		return RPCRDMA_AUTH_DONE;
	case HostAuth::State::Without:
		return RPCRDMA_AUTH_WITHOUT;
	case HostAuth::State::Failed:
		return RPCRDMA_AUTH_FAILED;
	case HostAuth::State::Start:
	case HostAuth::State::Waits:
	case HostAuth::State::Answers:
		break;
	}
	if (auth_.done_due())
		return RPCRDMA_AUTH_DONE;
	return auth_.unanswered() ? RPCRDMA_AUTH_OPEN : RPCRDMA_AUTH_WAITS;
}

bool Session::auth_key(Bytes secret, Bytes decoy)
{
	if (closed() || auth_.state() != HostAuth::State::WantsKey)
		return false;
	auth_.key(secret, decoy);
	if (auth_.failed())
		auth_close();
	return properties_due() && may_send();
}

/* A client that cannot say that it goes on without has to connect again. */
bool Session::auth_late()
{
	if (closed() || auth_over())
		return false;
	auth_.late();
	if (!auth_.failed() && may_send())
		return true;
	auth_close();
	return false;
}

bool Session::ready() const
{
	return opened();
}

void Session::info(struct rpcrdma_session_info &info) const
{
	info.version = version_;
	info.local = static_cast<const rpcrdma_properties &>(local_);
	info.peer = static_cast<const rpcrdma_properties &>(peer_);
	info.max_send = terms_.max_send;
	info.max_segment_size = terms_.max_segment_size;
	info.max_segments = terms_.max_segments;
	info.sent = credits_.sent_count();
	info.received = credits_.received_count();
	info.peer_credits = available();
	info.window = credits_.window();
	info.window_used = credits_.in_use();
	info.window_high = credits_.high();
	info.blocked = blocked_;
	info.taken_back = credits_.taken_back();
	info.outstanding = outstanding_;
}

void Session::numbers(rpcrdma_numbers &n) const
{
	n = {};
	n.extensions = terms_.extensions;
	for (u32 i = 0; i < Extensions::kProperties; i++) {
		const u32 *local = number(local_, i);
		const u32 *peer = number(peer_, i);

		if (!local || !peer)
			continue;
		n.known |= 1U << i;
		n.local[i] = *local;
		n.peer[i] = *peer;
	}
}

static u32 lesser(u32 a, u32 b)
{
	return a < b ? a : b;
}

/*
 * The types of plain messages in direction @dir, for Sends of at most @max octets: none
 * unless the session is open, and none of @refused.
 */
Plain Session::plain(rpcrdma_dir dir, u32 max, u32 refused) const
{
	const bool call = dir == RPCRDMA_CALL;
	Plain types = { .max = max };

	if (general_ || !opened() || max < kLargestPlain + kXdrUnit)
		return {};
	if (version1()) {
		types.last = &header_type_v1(RPCRDMA1_MSG, dir);
	} else {
		types.last = header_type(call ? RPCRDMA2_CALL_INLINE :
						RPCRDMA2_REPLY_INLINE);
		types.middle = header_type(call ? RPCRDMA2_CALL_MIDDLE :
						  RPCRDMA2_REPLY_MIDDLE);
		if (refused & type_bit(*types.middle))
			types.middle = nullptr;
	}
	if (refused & type_bit(*types.last))
		types.last = nullptr;
	return types;
}

/*
 * Octets of a Call that the credits of the peer carry in one go. Without
 * CALL_MIDDLE, what fits one Send that has no chunks.
 */
u32 Session::max_stream(u32 max_send) const
{
	const HeaderType &inline_call = *header_type(RPCRDMA2_CALL_INLINE);
	const HeaderType &middle = *header_type(RPCRDMA2_CALL_MIDDLE);

	if (types_refused_ & type_bit(middle))
		return max_send - inline_call.bare;
	const u64 octets = u64{ credits_.granted() } * (max_send - middle.bare);
	return octets < UINT32_MAX ? static_cast<u32>(octets) : UINT32_MAX;
}

Terms Session::terms() const
{
	const bool v1 = version1();
	const u32 sends = lesser(local_.send_size, config_.send_room);
	Terms t;

	t.max_send = lesser(sends, peer_.recv_size);
	/*
	 * In version 1, if the client has given the size of its Receives, that is the
	 * limit; otherwise the client expects that the Reply fits.
	 */
	t.max_bare_reply = v1 && !private_.given ? sends : t.max_send;
	/*
	 * The smaller of this side's limit for sending and the peer's limit for
	 * receiving (5.2.3, 5.2.4). Version 1 has no such limits.
	 */
	t.max_segment_size =
		v1 ? peer_.max_segment_size :
		     lesser(local_.max_segment_size, peer_.max_segment_size);
	t.max_segments = v1 ? peer_.max_segments :
			      lesser(local_.max_segments, peer_.max_segments);
	/*
	 * The client's word holds for reverse Calls and for their Replies (5.2.5). In
	 * version 1 they are simple, or are not supported.
	 */
	t.reverse = client() ? local_.reverse : peer_.reverse;
	if (v1 && t.reverse)
		t.reverse = RPCRDMA_RVRSDIR_SIMPLE;
	t.receives[RPCRDMA_CALL] = receives_for(RPCRDMA_CALL);
	t.receives[RPCRDMA_REPLY] = receives_for(RPCRDMA_REPLY);
	t.extensions = extensions_in_use();
	t.rules = {
		.ddp_threshold = config_.ddp_threshold,
		.special_threshold = config_.special_threshold,
		.stream_from = config_.stream_from,
		.max_send = t.max_send,
		.max_stream = max_stream(t.max_send),
		.max_segments = t.max_segments,
		.chunks = t.max_segments && t.max_segment_size &&
			  t.max_send >= kLargestHeader &&
			  (!sends_reversed(RPCRDMA_CALL) ||
			   t.reverse >= RPCRDMA_RVRSDIR_GENL),
		.special = !(types_refused_ &
			     type_bit(*header_type(RPCRDMA2_CALL_EXTERNAL))),
		.continued = !v1 && (!sends_reversed(RPCRDMA_REPLY) ||
				     t.reverse >= RPCRDMA_RVRSDIR_CONT),
		.version = version_,
		.max_reply = lesser(local_.recv_size, peer_.send_size),
		.max_bare_reply = t.max_bare_reply,
		.read_pads = v1 && !private_.given,
	};
	if (!middle_received())
		t.plain_in = plain(client() ? RPCRDMA_REPLY : RPCRDMA_CALL,
				   UINT32_MAX, 0);
	/* Before, this side has its own CONNPROP to send. */
	if (exchange_.sent == Told::Final)
		t.plain_out =
			client() ?
				plain(RPCRDMA_CALL, t.max_send, types_refused_) :
				plain(RPCRDMA_REPLY, t.max_bare_reply, 0);
	return t;
}

void Session::settle()
{
	terms_ = terms();
}

} // namespace rpcrdma
