/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication (5.2.6, 11.4): Documentation/host-authentication.rst.
 */
#ifndef _RPCRDMA_CORE_HOSTAUTH_H
#define _RPCRDMA_CORE_HOSTAUTH_H

#include "hkdf.h"
#include "xdr.h"
#include <rpcrdma/auth.h>

namespace rpcrdma
{

inline constexpr u32 kHostAuthMechanism = 0xffffff01;
inline constexpr u32 kHostAuthHost = RPCRDMA_AUTH_HOST;
inline constexpr u32 kHostAuthNonce = RPCRDMA_AUTH_NONCE;
inline constexpr u32 kHostAuthProof = RPCRDMA_SHA256_SIZE;
inline constexpr u32 kHostAuthNameMost = RPCRDMA_AUTH_NAME;
/* For HMAC each takes as many blocks as the least, so time does not tell the length. */
inline constexpr u32 kHostAuthSecretLeast = RPCRDMA_AUTH_LEAST;
inline constexpr u32 kHostAuthSecretMost = RPCRDMA_AUTH_MOST;
/* What add() adds to a message at the most: an OPEN with the longest name. */
inline constexpr u32 kHostAuthValueMost = 5 * sizeof(u32) + kHostAuthHost +
					  kHostAuthNonce + sizeof(u32) +
					  kHostAuthNameMost;

enum class HostAuthPolicy : u8 {
	Off = RPCRDMA_AUTH_OFF,
	Offered = RPCRDMA_AUTH_OFFERED,
	Required = RPCRDMA_AUTH_REQUIRED,
};

/* See enum rpcrdma_auth_reason. */
enum class HostAuthReason : u8 {
	None = RPCRDMA_AUTH_R_NONE,
	Form = RPCRDMA_AUTH_R_FORM,
	Place = RPCRDMA_AUTH_R_PLACE,
	Step = RPCRDMA_AUTH_R_STEP,
	Self = RPCRDMA_AUTH_R_SELF,
	UnknownKey = RPCRDMA_AUTH_R_UNKNOWN,
	Proof = RPCRDMA_AUTH_R_PROOF,
	Missing = RPCRDMA_AUTH_R_MISSING,
	Version = RPCRDMA_AUTH_R_VERSION,
	NoKey = RPCRDMA_AUTH_R_NO_KEY,
	Late = RPCRDMA_AUTH_R_LATE,
	Ended = RPCRDMA_AUTH_R_ENDED,
	Refused = RPCRDMA_AUTH_R_REFUSED,
	Internal = RPCRDMA_AUTH_R_INTERNAL,
	Count = RPCRDMA_AUTH_REASONS,
};

/* The error that tells the peer; RPCRDMA2_ERR_NONE if none does. */
[[nodiscard]] rpcrdma_errcode host_auth_error(HostAuthReason reason);
/* For people; never sent. */
[[nodiscard]] const char *host_auth_reason(HostAuthReason reason);

/**
 * One exchange, of either role
 *
 *   client: [Start] -add-> [Waits for CHALLENGE] -receive-> [Answers] -add->
 *	     [Waits for DONE] -receive-> [Authenticated]
 *   server: [Waits for OPEN] -receive-> [WantsKey] -key-> [Answers] -add->
 *	     [Waits for PROVE] -receive-> [Answers] -add-> [Authenticated]
 *
 * From every state but Authenticated it can get to Failed: then the connection has to end,
 * with host_auth_error(). From the first two states that wait it can get to Without,
 * if the policy allows it: the connection goes on as if there were no host authentication.
 * These three states are final, and in them there is no secret left in here.
 *
 * The caller gives it each CONNPROP message of the connection, of either direction, in
 * order, and none after a final state. Properties must not take effect before a final
 * state. Trivial to copy; bounded; holds no pointers.
 */
class HostAuth {
public:
	enum class State : u8 {
		Start, /* client: OPEN is to be sent */
		Waits, /* for a message */
		WantsKey, /* server: key() is to be called */
		Answers, /* a message is to be sent */
		Authenticated,
		Without,
		Failed,
	};

	/**
	 * What a side says of itself
	 * @host: this host's identifier, the same in all exchanges
	 * @nonce: fresh random octets, for this connection
	 */
	struct Identity {
		u8 host[kHostAuthHost];
		u8 nonce[kHostAuthNonce];
	};

	/**
	 * A client
	 * @name: of its key
	 * @secret: the key; the caller wipes it. Without it, or if name or secret are not
	 *	as they have to be, the exchange ends here: Without or Failed.
	 */
	[[nodiscard]] static HostAuth client(HostAuthPolicy policy,
					     const Identity &self, Bytes name,
					     Bytes secret);
	[[nodiscard]] static HostAuth server(HostAuthPolicy policy,
					     const Identity &self);

	/* A CONNPROP message has come; @message begins with its prefix. */
	void receive(Bytes message);
	/**
	 * The key of key_name(), in WantsKey
	 * @secret: empty if there is none
	 * @decoy: kHostAuthSecretLeast random octets, the same for a long time, that
	 *	nobody else knows: used instead, so that the peer cannot tell
	 */
	void key(Bytes secret, Bytes decoy);
	/* The peer has sent what is no CONNPROP, nor an ERROR. */
	void other();
	/* The caller has found that the exchange cannot go on. */
	void refuse(HostAuthReason reason);
	/* What is waited for has not come in time. */
	void late();
	/* The connection speaks version 1. */
	void version1();
	/* The connection has ended. */
	void end();

	/* The header type of the message that is to be sent; zero if none is. */
	[[nodiscard]] u32 due() const;
	/**
	 * Complete the message that is due
	 * @out: begins with a message of type due(), whose property set has all
	 *	properties but this one
	 * @size: of that message
	 *
	 * Return: its size with the property; zero if the exchange has failed. It is
	 *	sent as it is.
	 */
	[[nodiscard]] u32 add(MutableBytes out, u32 size);

	[[nodiscard]] State state() const
	{
		return state_;
	}
	[[nodiscard]] bool final() const
	{
		return state_ >= State::Authenticated;
	}
	[[nodiscard]] bool failed() const
	{
		return state_ == State::Failed;
	}
	/* Nothing has come of the peer's exchange. */
	[[nodiscard]] bool unanswered() const
	{
		return !final() && step_ <= (client_ ? Step::Challenge :
						       Step::Open);
	}
	/* Server: the client has authenticated, and DONE is to be sent. */
	[[nodiscard]] bool done_due() const
	{
		return state_ == State::Answers && step_ == Step::Done;
	}
	[[nodiscard]] HostAuthPolicy policy() const
	{
		return policy_;
	}
	/* Of Failed and Without. */
	[[nodiscard]] HostAuthReason reason() const
	{
		return reason_;
	}
	/* Of the key that is, or is to be, used; empty if no OPEN has come. */
	[[nodiscard]] Bytes key_name() const
	{
		return { name_, name_size_ };
	}

private:
	/* ha_step. The number of the message, too. */
	enum class Step : u32 {
		Open = 1,
		Challenge = 2,
		Prove = 3,
		Done = 4,
	};
	struct Value;

	HostAuth(bool client, HostAuthPolicy policy, const Identity &self);

	void fail(HostAuthReason reason);
	void without(HostAuthReason reason);
	void settle(State state);
	[[nodiscard]] bool extract(Bytes secret);
	void missing(u32 htype);
	void take(const Value &value, Bytes message);
	[[nodiscard]] HostAuthReason take_open(const Value &value);
	[[nodiscard]] HostAuthReason check(const Value &value, Bytes message);
	[[nodiscard]] bool chain(Step step, u32 length, Bytes octets,
				 Digest &out) const;
	[[nodiscard]] bool prove(Step step, Bytes message, Digest &proof) const;
	void write(XdrWriter &w) const;

	bool client_;
	bool known_ = false; /* server: the key is no decoy */
	HostAuthPolicy policy_;
	State state_ = State::Waits;
	HostAuthReason reason_ = HostAuthReason::None;
	Step step_ = Step::Open; /* that is due, of either side */
	u32 name_size_ = 0;
	Identity self_;
	Identity peer_ = {};
	Digest transcript_; /* T of the messages so far */
	Digest secret_; /* S */
	u8 name_[kHostAuthNameMost] = {};
};

static_assert(sizeof(HostAuth) <= 256);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_HOSTAUTH_H */
