/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication (Documentation/host-authentication.rst), written from that text: it
 * shares no code with the kernel's.
 */
#ifndef _RPCRDMA_PEER_AUTH_H
#define _RPCRDMA_PEER_AUTH_H

#include "peer.h"

namespace peer::auth
{

inline constexpr u32 kHostAuth = 6;
inline constexpr u32 kMechanism = 0xffffff01;
enum Step : u32 { kOpen = 1, kChallenge, kProve, kDone };
inline constexpr u32 kHost = 16;
inline constexpr u32 kNonce = 32;
inline constexpr u32 kProof = 32;
inline constexpr u32 kMostName = 64;
/* Where HOSTAUTH's octets begin in a message whose set has nothing else. */
inline constexpr u32 kValue = 16 + 4 + 3 * 4;
inline constexpr u32 kSecretSize = 32;

inline const std::string kName = "peer-key";

[[nodiscard]] Octets random_octets(u32 size);
Octets &operator+=(Octets &a, const Octets &b);
[[nodiscard]] Octets part(const Octets &o, size_t from, size_t size);

/* The key that wire_auth.sh has made, in the keyring of the module and in a file. */
[[nodiscard]] Octets key();
/* What is in the sysctl auth_counts under this name. */
[[nodiscard]] u32 count(const std::string &name);

/* A message whose only property is HOSTAUTH, with this value. */
[[nodiscard]] Octets carrying(u32 xid, u32 htype, const Octets &value);
[[nodiscard]] Octets open_value(const std::string &name = kName);
[[nodiscard]] Octets proof_value(u32 step,
				 const Octets &proof = random_octets(kProof));

/* What both sides of an exchange compute. */
class Exchange {
public:
	explicit Exchange(const Octets &secret);

	/* The first message of all, and the second. */
	void begin(const Octets &open, const Octets &client_nonce,
		   const Octets &server_nonce);
	/* One more; @sender: 1 the client, 2 the server. */
	void add(u32 sender, const Octets &message);
	/* The proof of @message, at whose end there is room for it. */
	[[nodiscard]] Octets proof(const char *label, u32 sender,
				   const Octets &message) const;
	/* The same put there, with the credit word that @peer has now. */
	[[nodiscard]] Octets proved(const Peer &peer, const char *label,
				    u32 sender, const Octets &message) const;

private:
	Octets secret_; /* S */
	Octets transcript_;
	Octets nonces_;
};

/* The proof in @message. */
[[nodiscard]] inline Octets proof_in(const Octets &message)
{
	return part(message, message.size() - kProof, kProof);
}

/* With the credit word that is due. */
[[nodiscard]] Octets with_credit(const Peer &peer, Octets message);

} // namespace peer::auth

#endif /* _RPCRDMA_PEER_AUTH_H */
