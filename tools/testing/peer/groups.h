/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Numbers of rtrext (D20), written down once more and not taken from the core.
 */
#ifndef _RPCRDMA_PEER_GROUPS_H
#define _RPCRDMA_PEER_GROUPS_H

#include "peer.h"

namespace peer
{

/* Properties */
inline constexpr u32 kSupport = 0xffffff03;
inline constexpr u32 kStructure = 0xffffff04;
inline constexpr u32 kRequestLimit = 0xffffff05;
inline constexpr u32 kReplyLimit = 0xffffff06;

/* Header types */
inline constexpr u32 kRequest = 0xffffff05;
inline constexpr u32 kResponse = 0xffffff06;
inline constexpr u32 kContinue = 0xffffff07;
inline constexpr u32 kReport = 0xffffff08;

/* What is announced: requests, responses, continues. */
inline constexpr u32 kTakesRequests = 1;
inline constexpr u32 kTakesResponses = 2;
inline constexpr u32 kTakesContinues = 4;

/* Where data is. */
inline constexpr u32 kExrw = 1;
inline constexpr u32 kTbsn = 2;
inline constexpr u32 kChoice = 3;
inline constexpr u32 kBySize = 4;
inline constexpr u32 kTooShort = 5;
inline constexpr u32 kNoItem = 6;

/* What a REPTERR says. */
enum : u32 {
	kBadHmt = 1,
	kBadOmt = 2,
	kBadCont = 3,
	kBadSeq = 4,
	kBadXid = 5,
	kBadOff = 6,
	kBadTbsn = 7,
	kBadPl = 8
};

/* A Receive of the module: what is before its pages, and the pages. */
inline constexpr u32 kHead = 1024;
inline constexpr u32 kPage = 4096;
inline constexpr u32 kPages = 2;
inline constexpr u32 kMostSends = 16;

/* Properties that say so. */
inline const Words kSizeProperty = { 2, 4, kHead + kPages *kPage };
inline const Words kStructureProperty = {
	kStructure, 40, kHead + kPages *kPage, 2, 1, kHead, 4, 0, kPages, kPage,
	kPage,	    1
};
/* Receives in which nothing can be placed. */
inline const Words kNoTargetsProperty = {
	kStructure, 24, kHead + kPages *kPage, 1, 1, kHead + kPages *kPage, 4, 0
};

} // namespace peer

#endif /* _RPCRDMA_PEER_GROUPS_H */
