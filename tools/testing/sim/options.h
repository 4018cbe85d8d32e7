/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The options of a run: a seed, and bounds that make it smaller.
 */
#ifndef _RPCRDMA_SIM_OPTIONS_H
#define _RPCRDMA_SIM_OPTIONS_H

#include "base.h"

namespace sim
{

/* Faults that a seed may choose, each a bit of Options::faults. */
enum class Fault : u8 {
	Loss, /* the queue pairs break */
	ClientRestart,
	ServerRestart,
	Window, /* one side wants more or fewer Receives */
	Allocation, /* the next few fail */
	Stall, /* something that happens in the device, or a thread, waits */
	LostFlush, /* a broken queue pair tells of some of its work only */
	Cancel, /* the upper layer gives up an RPC */
	Hostile, /* messages are changed, made up or repeated */
	Clock, /* minutes pass */
	Registration, /* takes long from now on, and so does making regions */
	Count,
};

/* What a seed may have, each a bit of Options::features. */
enum class Feature : u8 {
	Chunks,
	Special,
	Reverse, /* RPCs of the server */
	Foreign, /* several chunks in a list, as no client of ours has them */
	Continued,
	Reserve,
	Clients, /* more than one */
	Version1, /* spoken by some, with or without the choice */
	Pings, /* announced by some, if the build has them */
	Auth, /* hosts authenticate each other, some of them */
	Distance, /* some connections take long for a round trip */
	Repeated, /* Calls come a second time, by a further group, if the build has these */
	Count,
};

/* Bugs to plant; the checker that has to see each is in mutants.h. */
enum class Mutant : u8 {
	None,
	/* of the core, as its callers see it */
	KickLost,
	GrantLost,
	CreditOneMore,
	OffsetWrong,
	LastFragmentEarly,
	ReleaseTwice,
	RetireAlways,
	WriteListShifted,
	CreditLost,
	RefuseFails,
	RetriedForEver,
	ErrorBetweenParts,
	RoomLost,
	MoreLost,
	ReserveLost,
	DistanceOverCredits,
	AuthUnproved,
	AuthIgnored,
	/* of an extension, if the build has it */
	PingUninvited,
	PongLost,
	PongTwice,
	PongUntold,
	GrownTooSoon,
	OfferBeforeMaking,
	ChangeUntold,
	ShrunkTooSoon,
	LiftedTooSoon,
	GroupBroken,
	GroupNumberAny,
	GroupReserveKept,
	GroupPageWrong,
	GroupGivenBack,
	GroupForgotten,
	RefusedTwice,
	RefusedForgotten,
	GroupMemoryEarly,
	GroupMemoryKept,
	GroupWriteLate,
	GroupWriteShort,
	GroupOtherAnswer,
	GroupReadEarly,
	GroupReadKept,
	GroupReadWrong,
	GroupReadForgotten,
	GroupReadHeld,
	GroupReadRefused,
	KeptWithoutBound,
	KeptMemoryForgotten,
	RepeatedAnswersAll,
	RepeatedResent,
	RepeatedDirections,
	/* of the transports */
	OfferBeforePosting,
	BufferTooSmall,
	ReceiveForgotten,
	ReceivesWaitForOthers,
	ReceivesWaitOn,
	AnswerBeforeInvalidation,
	NoInvalidation,
	RegionForgotten,
	WaiterForgotten,
	WriteAfterSend,
	AnswerTwice,
	ReplyTwice,
	ExcusedOctetWrong,
	RoundupNotZero,
	HeldForEver,
	WritesUntold,
	ReadsUntold,
	ShortUntold,
	PoolUntold,
	StallUntold,
	StallOvertaken,
	WritesNotEnded,
	CallByXid,
	RingTurnLost,
	RingPlaceWrong,
	RingTakenInUse,
	FlushForgotten,
	ReadForgotten,
	ReadEndedByFlush,
	ReadsWithoutBound,
	RepliesWithoutBound,
	RepliesTooLarge,
	SendsWithoutBound,
	RequestsWithoutBound,
	ReceivesWithoutBound,
	RegionsWithoutBound,
	RegionTooLarge,
	ReconnectForgets,
	ReplyForgotten,
	ReplyMemoryForgotten,
	CallMemoryForgotten,
	BudgetForgotten,
	MarkForgotten,
	ReplyBehindCalls,
	SendBufferReused,
	AloneOutOfTurn,
	AloneBesidePump,
	AloneWithoutSend,
	AloneOverBudget,
	AloneCostLost,
	AloneCreditLost,
	AloneRestLost,
	AloneUnposted,
	AloneUntold,
	AloneAgainLost,
	CancelWaits,
	OwnerUnmarked,
	NoRoomLate,
	SecondLookLost,
	RegionsUntold,
	OwnerUntold,
	OwnerToldAlways,
	OwnerKept,
	RoomUnmarked,
	RoomUntold,
	RoomToldAlways,
	RoomForAll,
	PumpClosed,
	QueuedClosed,
	LostOpen,
	StageBack,
	InvalidatedEnding,
	ReceiveDead,
	StopLate,
	EndsEarly,
	/* what ends the process, not the run */
	Crash,
	Loop,
	Count,
};

struct Options {
	u64 seed = 1;
	u32 rpcs = UINT32_MAX; /* at most so many */
	u32 acts = UINT32_MAX; /* faults, at most so many */
	u32 faults = UINT32_MAX;
	u32 features = UINT32_MAX;
	bool version1 = false; /* on every connection */
	Mutant mutant = Mutant::None;
	bool trace = false;
	bool digest = false; /* of what the trace would say */

	[[nodiscard]] bool has(Feature f) const
	{
		return features >> static_cast<u8>(f) & 1;
	}
	[[nodiscard]] bool has(Fault f) const
	{
		return faults >> static_cast<u8>(f) & 1;
	}
};

} // namespace sim

#endif /* _RPCRDMA_SIM_OPTIONS_H */
