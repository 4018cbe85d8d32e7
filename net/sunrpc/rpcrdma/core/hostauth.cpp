// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "hostauth.h"
#include "base.h"
#include "check.h"

namespace rpcrdma
{

/* The first word of SHA-256's input, for who has sent the message. */
static constexpr u32 kFromClient = 1;
static constexpr u32 kFromServer = 2;

/* rdma_which, and the lengths of rdma_data and of the opaque in it. */
static constexpr u32 kAroundValue = 3 * sizeof(u32);

struct ReasonRow {
	const char *name;
	rpcrdma_errcode error;
};

/* To the peer a wrong key is like one that is not known. */
static constexpr ReasonRow kReasons[] = {
	{ "none", RPCRDMA2_ERR_NONE },
	{ "form", RPCRDMA2_ERR_BAD_PROPVAL },
	{ "place", RPCRDMA2_ERR_BAD_PROPVAL },
	{ "step", RPCRDMA2_ERR_BAD_PROPVAL },
	{ "self", RPCRDMA2_ERR_SYSTEM },
	{ "unknown-key", RPCRDMA2_ERR_SYSTEM },
	{ "proof", RPCRDMA2_ERR_SYSTEM },
	{ "missing", RPCRDMA2_ERR_SYSTEM },
	{ "version", RPCRDMA2_ERR_VERS },
	{ "no-key", RPCRDMA2_ERR_NONE },
	{ "late", RPCRDMA2_ERR_NONE },
	{ "ended", RPCRDMA2_ERR_NONE },
	{ "refused", RPCRDMA2_ERR_NONE },
	{ "internal", RPCRDMA2_ERR_SYSTEM },
};
static_assert(sizeof(kReasons) / sizeof(kReasons[0]) ==
	      static_cast<u32>(HostAuthReason::Count));

static const ReasonRow &row_of(HostAuthReason reason)
{
	return kReasons[static_cast<u32>(reason)];
}

rpcrdma_errcode host_auth_error(HostAuthReason reason)
{
	return row_of(reason).error;
}

const char *host_auth_reason(HostAuthReason reason)
{
	return row_of(reason).name;
}

static void copy(u8 *to, Bytes from)
{
	__builtin_memcpy(to, from.data(), from.size());
}

static void put(XdrWriter &w, Bytes octets)
{
	for (u32 i = 0; i < octets.size(); i += kXdrUnit) {
		u8 unit[kXdrUnit] = {};

		for (u32 j = 0; j < kXdrUnit && i + j < octets.size(); j++)
			unit[j] = octets[i + j];
		w.word(load_be32(unit));
	}
}

static bool name_valid(Bytes name)
{
	bool valid = name.size() && name.size() <= kHostAuthNameMost;

	for (const u8 c : name)
		valid = valid && c >= 0x21 && c <= 0x7e;
	return valid;
}

static bool secret_valid(Bytes secret)
{
	return secret.size() >= kHostAuthSecretLeast &&
	       secret.size() <= kHostAuthSecretMost;
}

/* hostauth_value; what a step does not have is empty. */
struct HostAuth::Value {
	u32 htype = 0; /* of its message */
	Step step = {};
	Bytes host;
	Bytes nonce;
	Bytes name;
	Bytes proof;

	/* Behind the mechanism. Return: false if that is not its form. */
	[[nodiscard]] bool read(XdrReader &r);
};

bool HostAuth::Value::read(XdrReader &r)
{
	u32 number = 0;
	u32 name_size = 0;
	bool ok;

	if (!r.word(number))
		return false;
	step = static_cast<Step>(number);
	switch (step) {
	case Step::Open:
		ok = r.opaque(kHostAuthHost, host) &&
		     r.opaque(kHostAuthNonce, nonce) && r.word(name_size) &&
		     name_size <= kHostAuthNameMost &&
		     r.opaque(name_size, name) && name_valid(name);
		break;
	case Step::Challenge:
		ok = r.opaque(kHostAuthHost, host) &&
		     r.opaque(kHostAuthNonce, nonce) &&
		     r.opaque(kHostAuthProof, proof);
		break;
	case Step::Prove:
	case Step::Done:
		ok = r.opaque(kHostAuthProof, proof);
		break;
	default:
		return false;
	}
	return ok && !r.left();
}

/* Where a message has its HOSTAUTH. */
struct Found {
	bool ok = false; /* the set parses, and each HOSTAUTH is an opaque */
	u32 count = 0; /* that are not empty */
	bool last = false; /* it is the last property */
	Bytes value;
};

static Found find(Bytes set)
{
	XdrReader r(set);
	Found f;
	u32 count;

	if (!r.word(count))
		return f;
	for (; count; count--) {
		u32 which;
		u32 length;
		Bytes data;

		if (!r.word(which) || !r.word(length) ||
		    !r.opaque(length, data))
			return f;
		if (which != static_cast<u32>(Property::HostAuth) || !length)
			continue;
		XdrReader inner(data);
		if (!inner.word(length) || !inner.opaque(length, f.value) ||
		    inner.left())
			return f;
		f.count++;
		f.last = count == 1;
	}
	f.ok = !r.left();
	return f;
}

HostAuth::HostAuth(bool client, HostAuthPolicy policy, const Identity &self)
	: client_(client)
	, policy_(policy)
	, self_(self)
{
	static constexpr char kText[] = "rpcrdma2 hostauth";
	const rpcrdma_octets part = { reinterpret_cast<const u8 *>(kText),
				      sizeof(kText) - 1 };

	if (policy == HostAuthPolicy::Off)
		without(HostAuthReason::None);
	else if (!rpcrdma_shim_sha256(&part, 1, transcript_.octets))
		fail(HostAuthReason::Internal);
}

HostAuth HostAuth::client(HostAuthPolicy policy, const Identity &self,
			  Bytes name, Bytes secret)
{
	HostAuth a(true, policy, self);

	if (a.final())
		return a;
	if (!name_valid(name) || !secret_valid(secret)) {
		a.without(HostAuthReason::NoKey);
		return a;
	}
	copy(a.name_, name);
	a.name_size_ = name.size();
	if (a.extract(secret))
		a.state_ = State::Start;
	return a;
}

HostAuth HostAuth::server(HostAuthPolicy policy, const Identity &self)
{
	return HostAuth(false, policy, self);
}

void HostAuth::settle(State state)
{
	state_ = state;
	secret_.wipe();
}

void HostAuth::fail(HostAuthReason reason)
{
	reason_ = reason;
	settle(State::Failed);
}

/* There is no authentication, which the policy may allow. */
void HostAuth::without(HostAuthReason reason)
{
	if (policy_ == HostAuthPolicy::Required)
		return fail(reason);
	reason_ = reason;
	settle(State::Without);
}

bool HostAuth::extract(Bytes secret)
{
	if (hkdf_extract({}, secret, secret_))
		return true;
	fail(HostAuthReason::Internal);
	return false;
}

/* T or P: the messages so far, and this one, as far as @octets go. */
bool HostAuth::chain(Step step, u32 length, Bytes octets, Digest &out) const
{
	const bool from_client = step == Step::Open || step == Step::Prove;
	u8 words[2 * sizeof(u32)];
	const rpcrdma_octets parts[] = {
		{ transcript_.octets, sizeof(transcript_.octets) },
		{ words, sizeof(words) },
		{ octets.data(), octets.size() },
	};

	store_be32(words, from_client ? kFromClient : kFromServer);
	store_be32(words + sizeof(u32), length);
	return rpcrdma_shim_sha256(parts, 3, out.octets);
}

/* The proof of message @step, which has room for it at its end. */
bool HostAuth::prove(Step step, Bytes message, Digest &proof) const
{
	static constexpr Label kLabels[] = { Label("server proof"),
					     Label("client proof"),
					     Label("server done") };
	const u32 label =
		static_cast<u32>(step) - static_cast<u32>(Step::Challenge);
	u8 nonces[2 * kHostAuthNonce];
	Digest covered;
	Digest proof_key;

	copy(nonces, Bytes((client_ ? self_ : peer_).nonce));
	copy(nonces + kHostAuthNonce, Bytes((client_ ? peer_ : self_).nonce));
	const bool ok = chain(step, message.size(),
			      message.part(0, message.size() - kHostAuthProof),
			      covered) &&
			hkdf_expand_label(secret_, kLabels[label],
					  Bytes(nonces), proof_key) &&
			hmac(proof_key.bytes(), covered.bytes(), proof);
	proof_key.wipe();
	return ok;
}

void HostAuth::receive(Bytes message)
{
	if (final())
		return;
	const Found found = find(message.after(kPrefixSize));
	XdrReader r(found.value);
	u32 mechanism;
	Value value;

	if (!found.ok)
		return fail(HostAuthReason::Form);
	value.htype = load_be32(message.data() + 3 * sizeof(u32));
	if (found.count > 1)
		return fail(HostAuthReason::Place);
	if (!r.word(mechanism) || mechanism != kHostAuthMechanism)
		return missing(value.htype);
	if (!found.last)
		return fail(HostAuthReason::Place);
	if (state_ != State::Waits)
		return fail(HostAuthReason::Step);
	if (!value.read(r))
		return fail(HostAuthReason::Form);
	take(value, message);
}

/*
 * A message without host authentication. The peer may not know it, or may have stopped
 * waiting for this side; who has proved itself has no reason to stop.
 */
void HostAuth::missing(u32 htype)
{
	const bool proved = step_ > (client_ ? Step::Challenge : Step::Prove);
	const bool again = !client_ && step_ != Step::Open &&
			   htype != RPCRDMA2_CONNPROP_FINAL;

	if (state_ == State::Start || again)
		return fail(HostAuthReason::Step);
	if (proved)
		return fail(HostAuthReason::Missing);
	without(HostAuthReason::Missing);
}

void HostAuth::take(const Value &value, Bytes message)
{
	const u32 htype = step_ < Step::Prove ? RPCRDMA2_CONNPROP_MIDDLE :
						RPCRDMA2_CONNPROP_FINAL;
	Digest next;

	if (value.step != step_ || value.htype != htype)
		return fail(HostAuthReason::Step);
	const HostAuthReason wrong =
		step_ == Step::Open ? take_open(value) : check(value, message);
	if (wrong != HostAuthReason::None)
		return fail(wrong);
	if (!chain(step_, message.size(), message, next))
		return fail(HostAuthReason::Internal);
	transcript_ = next;
	if (step_ == Step::Done)
		return settle(State::Authenticated);
	state_ = step_ == Step::Open ? State::WantsKey : State::Answers;
	step_ = static_cast<Step>(static_cast<u32>(step_) + 1);
}

HostAuthReason HostAuth::take_open(const Value &value)
{
	copy(peer_.host, value.host);
	copy(peer_.nonce, value.nonce);
	copy(name_, value.name);
	name_size_ = value.name.size();
	return rpcrdma_shim_same(peer_.host, self_.host, sizeof(self_.host)) ?
		       HostAuthReason::Self :
		       HostAuthReason::None;
}

/* All is computed and compared in any case, so it takes as long. */
HostAuthReason HostAuth::check(const Value &value, Bytes message)
{
	Digest proof;

	if (step_ == Step::Challenge) {
		copy(peer_.host, value.host);
		copy(peer_.nonce, value.nonce);
	}
	if (!prove(step_, message, proof))
		return HostAuthReason::Internal;
	const bool self =
		rpcrdma_shim_same(peer_.host, self_.host, sizeof(self_.host));
	const bool same = rpcrdma_shim_same(proof.octets, value.proof.data(),
					    kHostAuthProof);

	proof.wipe();
	if (self)
		return HostAuthReason::Self;
	if (!client_ && !known_)
		return HostAuthReason::UnknownKey;
	return same ? HostAuthReason::None : HostAuthReason::Proof;
}

void HostAuth::key(Bytes secret, Bytes decoy)
{
	if (final())
		return;
	if (!RPCRDMA_CHECK(state_ == State::WantsKey && secret_valid(decoy)))
		return fail(HostAuthReason::Internal);
	known_ = secret_valid(secret);
	if (extract(known_ ? secret : decoy))
		state_ = State::Answers;
}

void HostAuth::other()
{
	if (final())
		return;
	if (unanswered())
		return without(HostAuthReason::Missing);
	fail(HostAuthReason::Step);
}

void HostAuth::refuse(HostAuthReason reason)
{
	if (!final())
		fail(reason);
}

void HostAuth::late()
{
	if (final())
		return;
	if (client_ && step_ == Step::Challenge)
		return without(HostAuthReason::Late);
	fail(HostAuthReason::Late);
}

void HostAuth::version1()
{
	if (final())
		return;
	if (unanswered())
		return without(HostAuthReason::Version);
	fail(HostAuthReason::Version);
}

/* A server that only has to say so has completed (11.4.6). */
void HostAuth::end()
{
	if (done_due())
		settle(State::Authenticated);
	if (!final())
		fail(HostAuthReason::Ended);
}

u32 HostAuth::due() const
{
	if (state_ != State::Start && state_ != State::Answers)
		return 0;
	return step_ < Step::Prove ? RPCRDMA2_CONNPROP_MIDDLE :
				     RPCRDMA2_CONNPROP_FINAL;
}

/* The value of the step that is due, with room for its proof. */
void HostAuth::write(XdrWriter &w) const
{
	const u8 proof[kHostAuthProof] = {};

	w.word(kHostAuthMechanism);
	w.word(static_cast<u32>(step_));
	if (step_ < Step::Prove) {
		put(w, Bytes(self_.host));
		put(w, Bytes(self_.nonce));
	}
	if (step_ == Step::Open) {
		w.word(name_size_);
		put(w, key_name());
	} else {
		put(w, Bytes(proof));
	}
}

u32 HostAuth::add(MutableBytes out, u32 size)
{
	Digest proof;
	Digest next;

	if (!RPCRDMA_CHECK(due() && size >= kPrefixSize + sizeof(u32) &&
			   size < out.size() &&
			   load_be32(out.data() + 3 * sizeof(u32)) == due())) {
		fail(HostAuthReason::Internal);
		return 0;
	}
	XdrWriter w(out.after(size));
	w.word(static_cast<u32>(Property::HostAuth));
	w.word(0);
	w.word(0);
	write(w);
	w.word_at(sizeof(u32), w.size() - 2 * sizeof(u32));
	w.word_at(2 * sizeof(u32), w.size() - kAroundValue);
	const u32 total = size + w.size();
	const Bytes message(out.data(), total);
	u8 *const count = out.data() + kPrefixSize;

	store_be32(count, load_be32(count) + 1);
	bool ok = RPCRDMA_CHECK(w.ok());
	if (ok && step_ != Step::Open) {
		ok = prove(step_, message, proof);
		if (ok)
			copy(out.data() + total - kHostAuthProof,
			     proof.bytes());
	}
	if (!ok || !chain(step_, total, message, next)) {
		fail(HostAuthReason::Internal);
		return 0;
	}
	transcript_ = next;
	if (step_ == Step::Done) {
		settle(State::Authenticated);
		return total;
	}
	state_ = State::Waits;
	step_ = static_cast<Step>(static_cast<u32>(step_) + 1);
	return total;
}

} // namespace rpcrdma
