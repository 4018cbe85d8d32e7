/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One checker for each property. They compare, and change nothing.
 *
 * answers	every RPC is answered once with the right bytes, or fails once, and
 *		only if it may; wrong bytes come only from a hostile peer; each Call that is
 *		sent has one answer, also if it is sent again
 * waits	nothing waits for ever (in World::run); who waits for room is told when
 *		there is some, and only then
 * overrun	a message always finds a Receive that it fits in (in the fabric)
 * access	nobody uses a handle after its invalidation, and memory is not given
 *		back before the invalidation (here and in the fabric)
 * lost		no handle, Receive, context or credit is lost
 * distance	a Call that is sent rather than fetched, because the way is long, finds
 *		all credits that it needs
 * memory	within the formulas of README
 * order	messages that wait go in the order of their ranks, and those of one rank as
 *		they came; one thread at a time decides on it
 * stages	a connection goes through its stages and never back; what is posted may be in its
 *		stage; it is gone when all completions have come (here and in the fabric)
 * parts	only a GRANT comes between the parts of a message (D7)
 * ring		a Send that is posted has a buffer, which is not freed while it is under
 *		way; those without one are the next ones (core/ring.h)
 * honest	the core accepts everything that another core sends
 * pings	an extension's message comes only to who has announced it, and is
 *		answered once or its connection ends; one that was not announced is
 *		refused, and that is all (see pings.h)
 * groups	nothing comes between the Sends of a group of rtrext; one that has to be refused
 *		is; what is reserved for Replies is what Calls without an answer were promised;
 *		a Reply answers what its Call directs, and what it says that was written is there
 * changes	each side of a connection knows the properties of the other, whatever
 *		they were changed to, and each request for a change is answered
 * invariant	the values that the core reports are consistent
 */
#ifndef _RPCRDMA_SIM_CHECKERS_H
#define _RPCRDMA_SIM_CHECKERS_H

#include "requester.h"
#include "responder.h"

namespace sim::check
{

/* "answers" */
void ended(const Rpc &r);
/* "answers": a Reply that nobody waits for. */
void unmatched(const Requester &r, const Conn &c, u32 xid);
/* "answers": one that somebody waits for. */
void matched(const Requester &r, const Conn &c, u32 xid);
/* "groups": its Reply has come by a group. */
void written(const Rpc &r);
/* "distance": it was not admitted. */
void streamed(const Rpc &r);
/* "waits": who waits is told, as the session was just before. */
void room(rpcrdma_session session);
/* The same, if it is for room for Sends. */
void room(const Conn &c);
/* "waits": after each step. */
void waiters(const Conn &c);
/* "ring": after each step. */
void ring(const Conn &c);
/* "access": the RPC's memory goes back to its owner now. */
void unreachable(const Rpc &r);
/* "lost": of all Receives, what each is doing is known. */
void receives(const Conn &c);
/* "lost": nobody waits for a connection that is gone, or for one side of it. */
void gone(const Conn &c);
void responder_gone(const Responder &r);
/* "lost": when nothing can happen any more. */
void quiet(const Link &l);
/* "memory" */
void memory(const Conn &c);
void memory(const Responder &r);
/* "memory": Replies in case that they are refused; and what is counted of them. */
void kept(const Responder &r);
/* "order": @m begins. */
void order(const Conn &c, const Outgoing &m);
/* "stages": @what is posted, or decided on, which may be until @last. */
void posts(const Conn &c, Stage last, const char *what);
/* "stages": after each step, and within; @before is the stage that it had. */
void stages(const Conn &c, Stage &before);
/* "stages": it is about to go. */
void drained(const Conn &c);
/* "parts": @begun is the header type that announced the next one, or zero. */
void parts(const Conn &c, const rpcrdma_rx &rx, u32 &begun);
/* "honest" */
void honest(const Conn &c, const rpcrdma_rx &rx);
/* "invariant" */
void sensible(const Conn &c, const rpcrdma_rx &rx, u32 length);
/* If rpcrdma_tx.more is not set, nothing is sent without a message. */
void no_more(const Conn &c, const rpcrdma_tx &tx);
/* What a session promises of itself after each event. */
void sound(const Conn &c);
/* The same after an event with this result. */
template <typename T> T sound(const Conn &c, T result)
{
	sound(c);
	return result;
}

} // namespace sim::check

#endif /* _RPCRDMA_SIM_CHECKERS_H */
