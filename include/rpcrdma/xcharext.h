/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The functions of the extension xcharext for C: properties that change while connected.
 *
 * Properties are named by their rdma_which. The rules of <rpcrdma/core.h> hold: no function
 * sleeps, allocates or locks, and the caller serializes all calls that name the same
 * session. Each function but rpcrdma_xchar_allow() returns false or zero if the extension is
 * not in use: one of the two sides has not announced it, or the connection is over. Section
 * numbers are those of draft-dnoveck-nfsv4-rpcrdma-xcharext-02; D23 is in
 * Documentation/protocol-notes.rst.
 */
#ifndef _RPCRDMA_XCHAREXT_H
#define _RPCRDMA_XCHAREXT_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RPCRDMA_XCHAR_MOST_ASKED	5
#define RPCRDMA_XCHAR_MOST_FIXED	4

/**
 * struct rpcrdma_xchar_number - a property and a number of it
 * @which: rdma_which
 * @number: in the unit of the property
 */
struct rpcrdma_xchar_number {
	u32 which;
	u32 number;
};

/* What has become of the last request about a property of the peer's. */
enum rpcrdma_xchar_state {
	RPCRDMA_XCHAR_IDLE,	/* nothing is under way */
	RPCRDMA_XCHAR_QUEUED,	/* waits for credit */
	RPCRDMA_XCHAR_ASKED,	/* sent; there is no answer yet */
	RPCRDMA_XCHAR_PENDING,	/* the peer will say when it is done */
};

/**
 * struct rpcrdma_xchar_info - what has been exchanged, a value each
 * @asked: values that this side has asked for
 * @done: of these, those that the peer has at once
 * @rejected: those that the peer does not want to have
 * @pended: those that the peer has put off
 * @cleared: those that were put off and are not pending any more
 * @lost: those whose answer made no sense
 * @granted: values that the peer asked for, and this side has at once
 * @refused: values that the peer asked for in vain
 * @deferred: values that the peer asked for, and that this side has put off
 * @told: values of its own that this side has told its peer
 * @heard: values of its own that the peer has told
 */
struct rpcrdma_xchar_info {
	u32 asked;
	u32 done;
	u32 rejected;
	u32 pended;
	u32 cleared;
	u32 lost;
	u32 granted;
	u32 refused;
	u32 deferred;
	u32 told;
	u32 heard;
};

/* The header types of this extension are so many, from the first one on. */
#define RPCRDMA_XCHAR_FIRST_TYPE	0xffffff01U
#define RPCRDMA_XCHAR_TYPES		4U

/** rpcrdma_xchar_extension - its bit in rpcrdma_config.extensions */
u32 __must_check rpcrdma_xchar_extension(void);

/**
 * rpcrdma_xchar_in_use - may messages of the extension be sent?
 * @s: the session
 *
 * Return: false, too, before this side's FINAL has been sent.
 */
bool __must_check rpcrdma_xchar_in_use(const struct rpcrdma_session *s);

/**
 * rpcrdma_xchar_request - ask the peer to change properties of its own (section 4.2)
 * @s: the session
 * @wanted: what it is to have
 * @count: one to RPCRDMA_XCHAR_MOST_ASKED
 *
 * The request leaves through rpcrdma_session_next_send(). A smaller number bounds this side
 * from now on, until the peer has rejected it (section 3.1). A server that asks for less
 * Reverse-Direction Support has no Calls under way.
 *
 * Return: false if a value is none, a property is twice in it, is in another request that
 * is under way, or never changes; if the peer does not know requests; or if there is no
 * room now. Then nothing has changed.
 */
bool __must_check
rpcrdma_xchar_request(struct rpcrdma_session *s,
		      const struct rpcrdma_xchar_number *wanted, u32 count);

/**
 * rpcrdma_xchar_askable - does the peer change this property if it is asked?
 * @s: the session
 * @which: the property
 *
 * Return: false if the peer has said that it never changes it, or if it knows no requests:
 * rpcrdma_xchar_request() will always fail then. Otherwise it may succeed later.
 */
bool __must_check rpcrdma_xchar_askable(const struct rpcrdma_session *s,
					u32 which);

/** rpcrdma_xchar_asking - enum rpcrdma_xchar_state, of a property of the peer's */
u32 __must_check rpcrdma_xchar_asking(const struct rpcrdma_session *s,
				      u32 which);

/**
 * rpcrdma_xchar_allow - say what a property of this side may become if the peer asks
 * @s: the session
 * @which: the property
 * @least: smallest number
 * @most: largest
 *
 * Before this is called for a property every change of it is rejected. A peer may ask as soon as
 * RPC messages can flow, so call it then at the latest. Whoever allows less than now does so for
 * what that bounds: smaller Receives may be posted from the moment that rpcrdma_session_info
 * says so.
 *
 * Return: false if this side cannot have one of these numbers, or never changes it.
 */
bool __must_check rpcrdma_xchar_allow(struct rpcrdma_session *s, u32 which,
				      u32 least, u32 most);

/**
 * rpcrdma_xchar_fix - tell the peer that properties of this side never change (4.1)
 * @s: the session
 * @which: the properties
 * @count: one to RPCRDMA_XCHAR_MOST_FIXED
 *
 * Return: false if one of them is none, has a change pending, or if there is no room now.
 */
bool __must_check rpcrdma_xchar_fix(struct rpcrdma_session *s, const u32 *which,
				    u32 count);

/**
 * rpcrdma_xchar_begin - say that Receives are smaller than they were to be
 * @s: of a server whose peer has sent its properties; nothing has been sent
 * @receive_size: Receive Buffer Size, at least 1024, not more than that in rpcrdma_config
 *
 * A peer that knows the extension can ask for larger ones when it needs them.
 *
 * Return: false if the peer has not announced the extension, or it is too late.
 */
bool __must_check rpcrdma_xchar_begin(struct rpcrdma_session *s,
				      u32 receive_size);

/**
 * rpcrdma_xchar_wanted - what the peer waits for
 * @s: the session
 * @which: Receive Buffer Size or Maximum Send Size: only a larger one takes its time
 *
 * To be asked when rpcrdma_session_receive() has taken a message of the extension.
 *
 * Return: the number that the caller is to bring about and then to report by
 * rpcrdma_xchar_changed(); zero if nothing is pending.
 */
u32 __must_check rpcrdma_xchar_wanted(const struct rpcrdma_session *s,
				      u32 which);

/**
 * rpcrdma_xchar_changed - a property of this side's has another number now
 * @s: the session
 * @which: the property
 * @number: what holds from now on
 *
 * Receive Buffer Size: called when the last Receive that is smaller than @number has
 * completed or was never posted, so that the peer does not hear of it too soon (section
 * 3.1). Maximum Send Size: called when the buffers for Sends have that size.
 *
 * If the peer waits for this property its request is over: with the number as it was, that
 * means it was rejected. If the peer does not wait, this side may only say what cannot
 * break what is under way: a larger number, or a smaller Maximum Send Size.
 *
 * Return: true if it holds and the caller has to send. False if it may not be, or
 * if there is no room now; nothing has changed, and the caller may try again later.
 */
bool __must_check rpcrdma_xchar_changed(struct rpcrdma_session *s, u32 which,
					u32 number);

void rpcrdma_xchar_info(const struct rpcrdma_session *s,
			struct rpcrdma_xchar_info *info);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_XCHAREXT_H */
