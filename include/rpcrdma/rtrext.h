/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The functions of the extension rtrext for C: RPC messages by groups of Sends, their data
 * placed by Sends in whole pages of the receiver.
 *
 * The rules of <rpcrdma/core.h> hold: no function sleeps, allocates or locks, and the caller
 * serializes all calls that name the same session. Section numbers are those of
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-03; D20 is in Documentation/protocol-notes.rst.
 *
 * A message goes with its data as items, which are placed. A Call can direct how data of its
 * Reply come. A group that comes in is told by rpcrdma_session_receive() Send by Send, like a
 * continued message of -07. Its receiver keeps all Receives until the last one: the header of
 * the first one says where in them the data are.
 */
#ifndef _RPCRDMA_RTREXT_H
#define _RPCRDMA_RTREXT_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Header types, with their numbers of D8. */
#define RPCRDMA_RTR_XMTREQ	0xffffff05U
#define RPCRDMA_RTR_XMTRESP	0xffffff06U
#define RPCRDMA_RTR_XMTCONT	0xffffff07U
#define RPCRDMA_RTR_REPTERR	0xffffff08U

/**
 * rpcrdma_rtr_carries - it is a type of rtrext's that carries an RPC message
 * @htype: a header type; those of other extensions have any number
 *
 * Return: whether it belongs to a group.
 */
static inline bool rpcrdma_rtr_carries(u32 htype)
{
	return htype >= RPCRDMA_RTR_XMTREQ && htype <= RPCRDMA_RTR_XMTCONT;
}

/* Sends of a group at most. */
#define RPCRDMA_RTR_MOST_SENDS	16
/* Items of a message, and directions of a Call, at most. */
#define RPCRDMA_RTR_MOST_ITEMS	RPCRDMA_MAX_CHUNKS

/* What a side takes by groups. */
#define RPCRDMA_RTR_CALLS	1U
#define RPCRDMA_RTR_REPLIES	2U

/**
 * struct rpcrdma_rtr_shape - how each Receive is made (section 7.2)
 * @head: octets before the pages, a multiple of four
 * @page: octets of a page, a power of two
 * @pages: data can be placed in so many
 */
struct rpcrdma_rtr_shape {
	u32 head;
	u32 page;
	u32 pages;
};

/**
 * rpcrdma_rtr_extension - the extension's place in rpcrdma_config.extensions
 *
 * Return: a bit; zero if this build does not speak it.
 */
u32 __must_check rpcrdma_rtr_extension(void);

/**
 * rpcrdma_rtr_declare - say what this side takes, before its properties are sent
 * @s: the session
 * @shape: of its Receives, as large as its Receive Buffer Size; NULL if nothing can be
 *	placed in them
 * @takes: RPCRDMA_RTR_CALLS and RPCRDMA_RTR_REPLIES; zero if it only sends groups
 *
 * Without RPCRDMA_RTR_CALLS this side takes no Call of several Sends, and sends no such Reply: its
 * limits are one Send then (sections 8.4 and 8.5).
 *
 * Return: false if @shape is not so, or the extension is not in @s.
 */
bool __must_check rpcrdma_rtr_declare(struct rpcrdma_session *s,
				      const struct rpcrdma_rtr_shape *shape,
				      u32 takes);

/**
 * struct rpcrdma_rtr_group - a message that goes by a group
 * @sends: how many it has
 * @placed: items that are placed by Sends
 * @opaque: its plan, and which Send is next
 */
struct rpcrdma_rtr_group {
	u32 sends;
	u32 placed;
	u64 opaque[60];
};

/* How an item of a Reply shall come (section 7.4), with their numbers of xmdp_type. */
enum rpcrdma_rtr_place {
	RPCRDMA_RTR_EXRW = 1,	/* by RDMA Write, to memory that is offered */
	RPCRDMA_RTR_TBSN,	/* by Sends */
	RPCRDMA_RTR_CHOICE,	/* by either, as the Responder chooses */
	RPCRDMA_RTR_BYSIZE,	/* by Sends if it is short, else by RDMA Write */
	RPCRDMA_RTR_PLACES,
};

/**
 * struct rpcrdma_rtr_direction - what a Call directs for the item of its Reply
 * @place: enum rpcrdma_rtr_place
 * @least: a shorter item stays in the Payload stream
 * @rdma_from: of RPCRDMA_RTR_BYSIZE: an item of so many octets goes by RDMA Write
 * @segments: memory that is offered; of all but RPCRDMA_RTR_TBSN
 * @n_segments: how many, at most RPCRDMA_MAX_SEGMENTS
 */
struct rpcrdma_rtr_direction {
	u32 place;
	u32 least;
	u32 rdma_from;
	const struct rpcrdma_segment *segments;
	u32 n_segments;
};

/**
 * rpcrdma_rtr_plan - can this Call go by a group now?
 * @s: the session
 * @msg: the Call, nothing of it sent, without chunks; its length is that of the Payload
 *	stream without the item and its XDR padding
 * @item: data that are to be placed, their place in the whole message, without XDR
 *	padding; NULL if there are none
 * @direction: how the item of the Reply shall come; NULL if the Call says nothing of it. Its
 *	segments stay as long as @g.
 * @most: octets that this item may have if it comes by Sends; zero: none are reserved for it
 * @g: filled in
 *
 * The Payload stream is in the first Send, before the first page: then the data begin there.
 * With @direction the Call reserves Receives for an item of @most octets. Without, and with
 * @most zero, its Reply may have one Send, as each may.
 *
 * Return: false if the peer does not take it, it would have too many Sends, there are
 * not credits for all of them (D20), or the Reply cannot be promised enough Receives; with
 * @direction also if this side does not take Replies by groups.
 */
bool __must_check
rpcrdma_rtr_plan(struct rpcrdma_session *s, struct rpcrdma_message *msg,
		 const struct rpcrdma_range *item,
		 const struct rpcrdma_rtr_direction *direction, u32 most,
		 struct rpcrdma_rtr_group *g);

/**
 * struct rpcrdma_rtr_first - what the first Send of a group says, read once
 * @buf: the Send
 * @length: octets of it that are in one piece
 * @items: its items: octets of the Send before them, and how many octets they may have
 * @n_items: how many they are
 * @directions: of a Call, its directions: octets of the Send before them, and their octets
 * @n_directions: ranges of them
 * @sends: of a Call, Sends that its Reply may have
 * @reply: it is a Reply
 * @external: items name memory: see rpcrdma_rtr_get_reads()
 * @pages: one item is placed by Sends, and each of its parts is a whole page, but the last
 *	one, which begins with one
 * @item: the first item that is placed by Sends, and in which place of the whole message;
 *	no length if there is none
 *
 * It refers to the Send, and holds as long as that is there and does not change.
 */
struct rpcrdma_rtr_first {
	const void *buf;
	u32 length;
	struct rpcrdma_range items;
	u32 n_items;
	struct rpcrdma_range directions;
	u32 n_directions;
	u32 sends;
	bool reply;
	bool external;
	bool pages;
	struct rpcrdma_range item;
};

/**
 * rpcrdma_rtr_read - read the first Send of a group
 * @buf: the Send
 * @length: as for rpcrdma_rtr_readable()
 * @first: filled in
 *
 * Return: false if it is none, or its header is not all there; then @first means nothing.
 */
bool __must_check rpcrdma_rtr_read(const void *buf, u32 length,
				   struct rpcrdma_rtr_first *first);

/**
 * rpcrdma_rtr_get_reads - the items of a Call that are to be read by RDMA, as a Read list
 * @first: its first Send, which rpcrdma_session_receive() has taken
 * @chunks: filled in; it has no other chunks
 *
 * Positions mean the same in both. So rpcrdma_layout_call() lays such a Call out, too, if none
 * of its items is placed by Sends.
 *
 * Return: false if they are more than there is room for, which rpcrdma_session_receive() does
 * not take.
 */
bool __must_check rpcrdma_rtr_get_reads(const struct rpcrdma_rtr_first *first,
					struct rpcrdma_chunks *chunks);

/* Octets of XDR that the directions of a Call may have. */
#define RPCRDMA_RTR_DIRECTIONS	512

/**
 * struct rpcrdma_rtr_directions - how a Requester wants data of a Reply
 * @sends: Sends that the Reply may have
 * @rest: where in the Call causes of results are that are not known, see
 *	rpcrdma_rtr_get_causes()
 * @length: octets of @xdr; zero if there are none, and the Reply does not go by a group
 * @xdr: as they came
 */
struct rpcrdma_rtr_directions {
	u32 sends;
	struct rpcrdma_range rest;
	u32 length;
	u8 xdr[RPCRDMA_RTR_DIRECTIONS];
};

/**
 * rpcrdma_rtr_get_directions - what a Call that has come by a group directs
 * @first: its first Send
 * @d: filled in; it has none if there are more than a Reply of this side can answer
 */
void rpcrdma_rtr_get_directions(const struct rpcrdma_rtr_first *first,
				struct rpcrdma_rtr_directions *d);

/**
 * rpcrdma_rtr_get_causes - where in a Call operations are whose results may be placed
 * @call: the Call, without a transport header; or its beginning
 * @length: octets of that
 * @whole: octets of the whole Call
 * @causes: RPCRDMA_RTR_MOST_ITEMS numbers; filled in, in the order of the results
 * @rest: filled in: where in the Call those are that are not known
 *
 * Return: how many are known, from the first one on.
 */
u32 rpcrdma_rtr_get_causes(const void *call, u32 length, u32 whole,
			   u32 *causes, struct rpcrdma_range *rest);

/* For rpcrdma_rtr_result: it is not known. */
#define RPCRDMA_RTR_NOWHERE	0xffffffffU

/**
 * struct rpcrdma_rtr_result - an item of a Reply that may be placed
 * @where: place in the whole message, without XDR padding
 * @cause: where in the Call the operation is whose result it is
 */
struct rpcrdma_rtr_result {
	struct rpcrdma_range where;
	u32 cause;
};

/**
 * rpcrdma_rtr_plan_reply - can this Reply go by a group?
 * @s: the session
 * @d: directions of its Call
 * @results: what may be placed, in order
 * @n_results: how many, at most RPCRDMA_RTR_MOST_ITEMS
 * @length: octets of the whole Reply
 * @msg: the Reply, nothing of it sent; its length is set to that of the Payload stream
 * @plan: filled in as by rpcrdma_plan_reply(), but for its chunks, which @g refers to: what
 *	is to be sent instead, what is not in the Payload stream, RDMA Writes
 * @g: filled in
 *
 * An item whose cause is not known has a direction only if one range of them is about all of
 * the Call where it can be.
 *
 * Return: false if the peer takes none, nothing was directed, or it needs more Sends than its
 * Call allows or there is credit for now. Then it goes in a form of -07.
 */
bool __must_check
rpcrdma_rtr_plan_reply(struct rpcrdma_session *s,
		       const struct rpcrdma_rtr_directions *d,
		       const struct rpcrdma_rtr_result *results, u32 n_results,
		       u32 length, struct rpcrdma_message *msg,
		       struct rpcrdma_reply_plan *plan,
		       struct rpcrdma_rtr_group *g);

/**
 * rpcrdma_rtr_admit - as rpcrdma_session_admit(), for a Call that goes by a group
 * @s: the session
 * @msg: the Call
 * @g: from rpcrdma_rtr_plan()
 *
 * Return: may it be sent?
 */
bool __must_check rpcrdma_rtr_admit(struct rpcrdma_session *s,
				    struct rpcrdma_message *msg,
				    const struct rpcrdma_rtr_group *g);

/**
 * struct rpcrdma_rtr_send - one Send of a group
 * @number: which one, the first being 0
 * @size: octets of it; zero for a Send that is none of a group
 */
struct rpcrdma_rtr_send {
	u32 number;
	u32 size;
};

/**
 * rpcrdma_rtr_next_send - decide on the next Send of a group
 * @s: the session
 * @g: the plan
 * @msg: as for the plan
 * @buf: gets prefix and header. What lies between header, payload, data and the end of the
 *	Send is padding, and is set to zero.
 * @size: octets of @buf
 * @tx: as for rpcrdma_session_next_send()
 * @send: filled in; rpcrdma_rtr_each_piece() says what data go in it
 *
 * Return: as rpcrdma_session_next_send(), but for control messages. If the group has not
 * begun, anything but RPCRDMA_TX_MESSAGE means that it cannot go so now (D20).
 */
u32 __must_check rpcrdma_rtr_next_send(struct rpcrdma_session *s,
				       struct rpcrdma_rtr_group *g,
				       struct rpcrdma_message *msg, void *buf,
				       u32 size, struct rpcrdma_tx *tx,
				       struct rpcrdma_rtr_send *send);

/**
 * struct rpcrdma_rtr_piece - data in one Send
 * @at: of the whole message, from this octet on
 * @offset: where in the Send
 * @length: how many octets
 */
struct rpcrdma_rtr_piece {
	u32 at;
	u32 offset;
	u32 length;
};

/**
 * rpcrdma_rtr_each_piece - go through the data of a Send
 * @g: the group
 * @number: of the Send, which has been decided on
 * @f: called with what there is of each item, in the order of the Send, until it returns
 *	false
 * @context: for @f
 *
 * Return: false if @f did.
 */
bool __must_check
rpcrdma_rtr_each_piece(const struct rpcrdma_rtr_group *g, u32 number,
		       bool (*f)(void *context,
				 const struct rpcrdma_rtr_piece *piece),
		       void *context);

/**
 * rpcrdma_rtr_answers - does a Reply that has come by a group answer its Call?
 * @first: its first Send
 * @direction: that of rpcrdma_rtr_plan(), with the memory that is still offered
 * @written: set to the place of the item in the whole message, without XDR padding, if the peer
 *	has written it to the memory; else no length
 *
 * A Responder answers each direction, as table 2 allows, and nothing else (section 7.4). It says
 * to which of the segments it has written, in their order, and how much.
 *
 * Return: true if it has done so.
 */
bool __must_check
rpcrdma_rtr_answers(const struct rpcrdma_rtr_first *first,
		    const struct rpcrdma_rtr_direction *direction,
		    struct rpcrdma_range *written);

/* Messages that a REPTERR can be about. */
#define RPCRDMA_RTR_MOST_REFUSED	2

/**
 * struct rpcrdma_rtr_refused - a message of this side's that the peer did not take
 * @xid: of the message, host order
 * @dir: Call or Reply
 */
struct rpcrdma_rtr_refused {
	u32 xid;
	enum rpcrdma_dir dir;
};

/**
 * rpcrdma_rtr_reported - a REPTERR has been taken
 * @s: the session
 * @rx: of rpcrdma_session_receive(). Its detail becomes the name of the error code, and its
 *	errargs the first words that came with it. If a Call was refused it becomes
 *	RPCRDMA_RX_FAIL_RPC about that Call, the first if there are two.
 * @refused: RPCRDMA_RTR_MOST_REFUSED of them; filled in
 *
 * Each can be sent in a form of -07, and will not be refused by a REPTERR again.
 *
 * Return: how many; none if all that it is about are other groups of a Call that has been refused
 * or answered.
 */
u32 rpcrdma_rtr_reported(const struct rpcrdma_session *s, struct rpcrdma_rx *rx,
			 struct rpcrdma_rtr_refused *refused);

/**
 * rpcrdma_rtr_lead_type - the header type of the first Send of a group
 * @dir: of the message
 *
 * Return: its index, as for rpcrdma_type_name().
 */
u32 __must_check rpcrdma_rtr_lead_type(enum rpcrdma_dir dir);

/**
 * rpcrdma_rtr_readable - is enough of a Send of a group in one piece?
 * @buf: the Send; the first word of its header is here
 * @length: octets of it that are in one piece, at least RPCRDMA_BARE_OCTETS
 *
 * Return: true if it is one, and rpcrdma_session_receive() reads no further than that.
 */
bool __must_check rpcrdma_rtr_readable(const void *buf, u32 length);

/* For rpcrdma_rtr_part: it is to be read by RDMA. */
#define RPCRDMA_RTR_BY_READ	0xffffffffU

/**
 * struct rpcrdma_rtr_part - where a part of an item has come
 * @position: of the item, in the whole message
 * @item: octets of the item
 * @at: of the item, from this octet on
 * @send: in the Receive of this Send of the group, the first being 0; RPCRDMA_RTR_BY_READ if
 *	it has not come
 * @offset: where in that Receive
 * @length: how many octets, all in one page; all of an item that is to be read
 */
struct rpcrdma_rtr_part {
	u32 position;
	u32 item;
	u32 at;
	u32 send;
	u32 offset;
	u32 length;
};

/**
 * rpcrdma_rtr_each_part - go through the data of a group that has come
 * @shape: of the Receives
 * @first: the first Send, which rpcrdma_session_receive() has taken
 * @f: called with each part, in the order of the message, until it returns false
 * @context: for @f
 *
 * Return: false if @f did; or, @f not called, if @shape makes no sense.
 */
bool __must_check
rpcrdma_rtr_each_part(const struct rpcrdma_rtr_shape *shape,
		      const struct rpcrdma_rtr_first *first,
		      bool (*f)(void *context,
				const struct rpcrdma_rtr_part *part),
		      void *context);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_RTREXT_H */
