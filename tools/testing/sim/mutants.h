/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Bugs to plant, and the checker that must find each.
 */
#ifndef _RPCRDMA_SIM_MUTANTS_H
#define _RPCRDMA_SIM_MUTANTS_H

#include "options.h"

namespace sim
{

struct MutantType {
	Mutant mutant;
	const char *name;
	const char *checker;
	const char *what;
	bool version1 = false; /* has to be seen there, too */
	bool pings = false; /* few seeds of the build that has them show it */
};

inline constexpr MutantType kMutants[] = {
	{ Mutant::KickLost, "kick-lost", "waits",
	  "core: credit opens and nobody is told" },
	{ Mutant::GrantLost, "grant-lost", "waits",
	  "core: a GRANT is counted, not sent" },
	{ Mutant::CreditOneMore, "credit-more", "overrun",
	  "core: more credit than Receives" },
	{ Mutant::OffsetWrong, "offset-wrong", "answers",
	  "core: continued payload in the wrong place" },
	{ Mutant::LastFragmentEarly, "last-early", "invariant",
	  "core: a message ends before its end" },
	{ Mutant::ReleaseTwice, "release-twice", "invariant",
	  "core: a Receive is given back twice" },
	{ Mutant::RetireAlways, "retire-always", "lost",
	  "core: Receives go that are still needed" },
	{ Mutant::WriteListShifted, "write-list", "answers",
	  "core: segments of a Write list in another order" },
	{ Mutant::CreditLost, "credit-lost", "lost",
	  "core: a Receive is posted again, and nobody may use it" },
	{ Mutant::CreditLost, "credit-lost", "lost",
	  "core: a Receive is posted again, and nobody may use it", true },
	{ Mutant::RefuseFails, "refuse-fails", "waits",
	  "core: a Call that is refused ends the connection, each time" },
	{ Mutant::RetriedForEver, "retried", "waits",
	  "core: what was refused for good is tried again" },
	{ Mutant::ErrorBetweenParts, "error-between", "parts",
	  "core: an ERROR comes between the parts of a message" },
	{ Mutant::RoomLost, "room-lost", "waits",
	  "core: a Call that was not admitted is not told that it may be" },
	{ Mutant::MoreLost, "more-lost", "invariant",
	  "core: there is more to send, and nobody is told" },
	{ Mutant::ReserveLost, "reserve-lost", "waits",
	  "core: a Call is over, and the credits that it had stay reserved" },
	{ Mutant::DistanceOverCredits, "distance-over", "distance",
	  "core: what is far away is sent, whatever credits there are" },
	{ Mutant::AuthUnproved, "auth-unproved", "auth",
	  "core: a wrong proof is as good as a right one" },
	{ Mutant::AuthIgnored, "auth-ignored", "auth",
	  "what is required of the peer is not asked for" },
	{ Mutant::PingUninvited, "ping-uninvited", "pings",
	  "core: an extension is used that the peer has not announced", false,
	  true },
	{ Mutant::PongLost, "pong-lost", "pings",
	  "core: an extension's answer is counted, not sent", false, true },
	{ Mutant::PongTwice, "pong-twice", "pings",
	  "core: an extension's answer is sent twice", false, true },
	{ Mutant::PongUntold, "pong-untold", "pings",
	  "core: an extension has an answer and nobody is told", false, true },
	{ Mutant::GrownTooSoon, "grown-early", "overrun",
	  "the peer is told of larger Receives while smaller ones are posted",
	  false, true },
	{ Mutant::OfferBeforeMaking, "offer-unmade", "overrun",
	  "a server answers before it has made the Receives that it tells of",
	  false, true },
	{ Mutant::ChangeUntold, "change-untold", "changes",
	  "core: a property changes and its message is not sent", false, true },
	{ Mutant::ShrunkTooSoon, "shrunk-early", "overrun",
	  "Receives get small when the peer is asked to send less", false,
	  true },
	{ Mutant::LiftedTooSoon, "lifted-early", "overrun",
	  "Sends get large while smaller Receives are posted", false, true },
	{ Mutant::GroupBroken, "group-broken", "groups",
	  "core: another message comes between the Sends of a group", false,
	  true },
	{ Mutant::GroupNumberAny, "group-number", "groups",
	  "core: the number of a Send in its group is not looked at", false,
	  true },
	{ Mutant::GroupReserveKept, "group-reserve", "groups",
	  "core: a Call is refused, and what it has reserved stays", false,
	  true },
	{ Mutant::GroupPageWrong, "group-page", "answers",
	  "core: data that are placed are said to be in another page", false,
	  true },
	{ Mutant::GroupGivenBack, "group-early", "answers",
	  "Receives of a group are given back while its Call waits for a "
	  "thread",
	  false, true },
	{ Mutant::GroupForgotten, "group-lost", "lost",
	  "Receives of a group that is refused are not given back", false,
	  true },
	{ Mutant::RefusedTwice, "refused-twice", "answers",
	  "a Reply that is refused is sent again twice", false, true },
	{ Mutant::RefusedForgotten, "refused-lost", "waits",
	  "a Reply that is refused is not sent again", false, true },
	{ Mutant::GroupMemoryEarly, "memory-early", "access",
	  "memory that directions name is taken back when the Call is out",
	  false, true },
	{ Mutant::GroupMemoryKept, "memory-kept", "access",
	  "memory that directions name is not taken back if nothing was "
	  "written there",
	  false, true },
	{ Mutant::GroupWriteLate, "group-overtakes", "groups",
	  "a Reply by a group overtakes the RDMA Write of its result", false,
	  true },
	{ Mutant::GroupWriteShort, "group-short", "groups",
	  "less of a result is written than a Reply by a group says", false,
	  true },
	{ Mutant::GroupOtherAnswer, "group-other", "groups",
	  "core: a result that is to be written comes by Sends", false, true },
	{ Mutant::GroupReadEarly, "read-early", "access",
	  "memory that items of a group name is taken back when the Call is "
	  "out",
	  false, true },
	{ Mutant::GroupReadKept, "read-kept", "access",
	  "memory that items of a group name is not taken back when it is "
	  "refused",
	  false, true },
	{ Mutant::GroupReadWrong, "read-place", "answers",
	  "an item that is read is placed as if none came before it", false,
	  true },
	{ Mutant::GroupReadForgotten, "read-short", "answers",
	  "core: the last segment of what is to be read is left out", false,
	  true },
	{ Mutant::GroupReadHeld, "read-held", "lost",
	  "Receives of a group are not given back when its RDMA Reads start",
	  false, true },
	{ Mutant::GroupReadRefused, "read-refused", "lost",
	  "nor if these cannot start, and the Call is refused", false, true },
	{ Mutant::KeptWithoutBound, "kept-unbound", "memory",
	  "Replies that may be refused are kept, whatever memory they have",
	  false, true },
	{ Mutant::KeptMemoryForgotten, "kept-memory", "lost",
	  "memory of a Reply that is refused still counts as that of a kept "
	  "one",
	  false, true },
	{ Mutant::RepeatedAnswersAll, "repeated-all", "groups",
	  "core: a Reply to one group of a Call gives back what others have",
	  false, true },
	{ Mutant::RepeatedResent, "repeated-resent", "groups",
	  "core: each group of a Call that is refused has it sent again", false,
	  true },
	{ Mutant::RepeatedDirections, "repeated-first", "groups",
	  "a Reply does what its Call has directed when it came first", false,
	  true },
	{ Mutant::OfferBeforePosting, "offer-early", "lost",
	  "credit for a Receive before it is posted" },
	{ Mutant::BufferTooSmall, "buffer-small", "overrun",
	  "Receives smaller than announced" },
	{ Mutant::ReceiveForgotten, "receive-lost", "lost",
	  "a Receive that was kept is not posted again" },
	{ Mutant::ReceivesWaitForOthers, "receives-wait", "waits",
	  "Receives wait to be posted with others, whatever the peer lacks" },
	{ Mutant::ReceivesWaitOn, "receives-wait-on", "waits",
	  "Receives that may wait go on waiting, whatever the peer lacks" },
	{ Mutant::AnswerBeforeInvalidation, "answer-early", "access",
	  "an RPC goes on before invalidation is done" },
	{ Mutant::NoInvalidation, "no-invalidation", "access",
	  "regions are reused without invalidation" },
	{ Mutant::RegionForgotten, "region-lost", "lost",
	  "a region does not go back to the pool" },
	{ Mutant::RegionForgotten, "region-lost", "lost",
	  "a region does not go back to the pool", true },
	{ Mutant::WaiterForgotten, "waiter-lost", "lost",
	  "regions are taken back, and who waits for it is not told" },
	{ Mutant::WriteAfterSend, "write-late", "access",
	  "what the Send needs is posted behind it" },
	{ Mutant::AnswerTwice, "answer-twice", "answers",
	  "an RPC is completed twice" },
	{ Mutant::ReplyTwice, "reply-twice", "answers",
	  "a Reply comes a second time" },
	{ Mutant::ExcusedOctetWrong, "octet-excused", "answers",
	  "an RPC that might have failed has a wrong octet" },
	{ Mutant::RoundupNotZero, "roundup", "answers",
	  "XDR roundup of Read chunks is not zero" },
	{ Mutant::HeldForEver, "held", "lost",
	  "Receives held for memory are not given back" },
	{ Mutant::CallByXid, "call-by-xid", "answers",
	  "an innocent Call has the XID of one that has broken a connection" },
	{ Mutant::FlushForgotten, "flush-lost", "lost",
	  "a message in flight when the connection ended is not ended" },
	{ Mutant::ReadForgotten, "read-lost", "lost",
	  "an RDMA Read that never completed does not end with its "
	  "connection" },
	{ Mutant::ReadEndedByFlush, "read-flushed", "lost",
	  "an RDMA Read ends when its flush is told, which may come twice" },
	{ Mutant::ReadsWithoutBound, "reads-unbound", "memory",
	  "RDMA Reads start whatever memory they take" },
	{ Mutant::RepliesWithoutBound, "replies-unbound", "memory",
	  "Calls are picked up whatever Replies wait" },
	{ Mutant::RepliesTooLarge, "replies-large", "memory",
	  "Replies are counted, their octets are not" },
	{ Mutant::SendsWithoutBound, "sends-unbound", "memory",
	  "a Send buffer is taken before it is free" },
	{ Mutant::RequestsWithoutBound, "requests-unbound", "memory",
	  "Work Requests are posted though the send queue is full" },
	{ Mutant::ReceivesWithoutBound, "receives-unbound", "memory",
	  "a window gets new Receives besides the old ones" },
	{ Mutant::RegionsWithoutBound, "regions-unbound", "memory",
	  "the pool of regions grows beyond its end" },
	{ Mutant::RegionTooLarge, "region-large", "memory",
	  "a region has more octets than it has pages" },
	{ Mutant::ReconnectForgets, "reconnect", "waits",
	  "an RPC is not sent again" },
	{ Mutant::ReplyForgotten, "reply-lost", "lost",
	  "a Reply that has been sent is kept" },
	{ Mutant::ReplyBehindCalls, "reply-behind", "waits",
	  "Replies wait for Calls that wait for them", true },
	{ Mutant::ReplyMemoryForgotten, "reply-memory", "lost",
	  "memory of a Reply is not counted as free again" },
	{ Mutant::CallMemoryForgotten, "call-memory", "lost",
	  "memory of a Call is not counted as free again" },
	{ Mutant::BudgetForgotten, "budget-lost", "lost",
	  "a Send gives nothing back of what it has used of the send queue" },
	{ Mutant::MarkForgotten, "mark-lost", "waits",
	  "what was sent is to complete, and no later Send says that it has" },
	{ Mutant::SendBufferReused, "send-buffer", "honest",
	  "a Send buffer is filled while it is being sent" },
	{ Mutant::AloneOutOfTurn, "alone-turn", "order",
	  "a message is sent alone while another waits" },
	{ Mutant::AloneBesidePump, "alone-pumping", "order",
	  "a message is sent alone while another thread pumps" },
	{ Mutant::AloneWithoutSend, "alone-send", "memory",
	  "a message is sent alone, and no Send buffer is free" },
	{ Mutant::AloneOverBudget, "alone-budget", "memory",
	  "a message is sent alone though the send queue is full" },
	{ Mutant::AloneCostLost, "alone-cost", "memory",
	  "what goes before a message that is sent alone is not counted" },
	{ Mutant::AloneCreditLost, "alone-credit", "overrun",
	  "a Reply is sent alone, and the credit that it takes is not "
	  "counted" },
	{ Mutant::AloneRestLost, "alone-rest", "waits",
	  "a message does not go in one Send, and its rest is not queued" },
	{ Mutant::AloneUnposted, "alone-unposted", "waits",
	  "a message that is sent alone has no doorbell" },
	{ Mutant::AloneUntold, "alone-untold", "lost",
	  "who sent a message that went alone is not told" },
	{ Mutant::AloneAgainLost, "alone-again", "waits",
	  "what others ask for while a message is sent alone is not done" },
	{ Mutant::CancelWaits, "cancel-waits", "waits",
	  "a message that waits for credit is taken back, and its wait goes "
	  "on" },
	{ Mutant::OwnerUnmarked, "owner-unmarked", "waits",
	  "a Call is not admitted, and it is not noted that its owner waits" },
	{ Mutant::NoRoomLate, "no-room-late", "waits",
	  "the owner keeps its Calls only after the lock was left" },
	{ Mutant::SecondLookLost, "second-look", "waits",
	  "who waits for a region does not look again after it has said so" },
	{ Mutant::RegionsUntold, "regions-untold", "waits",
	  "regions come back, and who waits for them is not told" },
	{ Mutant::OwnerUntold, "owner-untold", "waits",
	  "the owner waits no longer, and is not told that there is room" },
	{ Mutant::OwnerToldAlways, "owner-told", "waits",
	  "the owner is told of room whenever the pump ends" },
	{ Mutant::OwnerKept, "owner-kept", "waits",
	  "the owner waits for room on a connection that is over" },
	{ Mutant::Crash, "crash", "crashes", "core: the process ends" },
	{ Mutant::Loop, "loop", "never ends", "core: a call does not return" },
};

/* No checker sees it; what watch.h is for has to tell. */
constexpr bool ends_process(const MutantType &m)
{
	return m.mutant >= Mutant::Crash;
}

constexpr bool has_mutant(Mutant mutant)
{
	for (const MutantType &m : kMutants)
		if (m.mutant == mutant)
			return true;
	return false;
}

constexpr bool has_all_mutants()
{
	for (u32 i = 1; i < static_cast<u32>(Mutant::Count); i++)
		if (!has_mutant(static_cast<Mutant>(i)))
			return false;
	return true;
}

static_assert(has_all_mutants());

} // namespace sim

#endif /* _RPCRDMA_SIM_MUTANTS_H */
