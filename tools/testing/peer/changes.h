/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Numbers and messages of xcharext (D8, D19, D23), written down once more and not taken from
 * the core; and what a client and a server answer alike.
 */
#ifndef _RPCRDMA_PEER_CHANGES_H
#define _RPCRDMA_PEER_CHANGES_H

#include "headers.h"

namespace peer::changes
{

/* Properties */
inline constexpr u32 kExtensions = 0xffffff01;
inline constexpr u32 kSendSize = 1;
inline constexpr u32 kReceiveSize = 2;
inline constexpr u32 kSegmentSize = 3;
inline constexpr u32 kSegments = 4;
inline constexpr u32 kReverse = 5;
inline constexpr u32 kInvalidation = 0xffffff02;

/* Header types */
inline constexpr u32 kInit = 0xffffff01;
inline constexpr u32 kRequest = 0xffffff02;
inline constexpr u32 kResponse = 0xffffff03;
inline constexpr u32 kUpdate = 0xffffff04;

/* What a connection of the module begins with and grows to, if nothing else is said. */
inline constexpr u32 kSmall = 8192;
inline constexpr u32 kLarge = 32768;
/* What a server begins with whose client has the extension. */
inline constexpr u32 kServerSmall = 4096;

/* Subsets of an answer to a request for one value. */
inline const Words kDone = { 1, 1, 1, 0, 0 };
inline const Words kRejected = { 0, 1, 1, 0 };
inline const Words kPending = { 0, 1, 0, 1, 1 };

/* The same that make no sense. */
[[nodiscard]] const std::vector<Words> &bad_subsets();

[[nodiscard]] Words numeric(u32 which, u32 value);
/* The set of a peer that has the extension, and such Receives. */
[[nodiscard]] Words announced(u32 receive_size);

/* The answer to a request for these values, without its prefix. */
[[nodiscard]] Words answer(Peer &p, const Words &wanted);
void response(Peer &p, const Message &request, const Words &subsets);
/* This side has another value now. */
void update(Peer &p, u32 which, u32 value, bool clears);
/* The same, @clears being any word: the other side answers with this error. */
void update_refused(Peer &p, u32 which, u32 value, u32 clears,
		    const Words &error);
/* So many of all connections have been refused for what is in them. */
[[nodiscard]] u64 refusals();

/* What it does not do, for a kernel with Receives of more than 1024 octets. */
void impossible(Peer &p);
void malformed(Peer &p);
/* An answer to nothing has no answer. */
void unasked(Peer &p);
/* It says so of its Receives, and changes them all the same. */
void never_changes(Peer &p, u32 receive_size);

} // namespace peer::changes

#endif /* _RPCRDMA_PEER_CHANGES_H */
