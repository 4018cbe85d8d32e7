/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The functions of the extension rtrext for C: RPC messages by groups of Sends, their data
 * placed by Sends in whole pages of the receiver.
 *
 * The rules of <rpcrdma/core.h> hold: no function sleeps, allocates or locks, and the caller
 * serializes all calls that name the same session. Section numbers are those of
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-03; D20 is in Documentation/protocol-notes.rst.
 *
 * This is as much of it as the module uses: Calls with one item, which is placed. A group
 * that comes in is told by rpcrdma_session_receive() Send by Send, like a continued message
 * of -07. Its receiver keeps all Receives until the last one: the header of the first one
 * says where in them the data are.
 */
#ifndef _RPCRDMA_RTREXT_H
#define _RPCRDMA_RTREXT_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Header types, with their numbers of D8. */
#define RPCRDMA_RTR_XMTREQ	0xffffff05U
#define RPCRDMA_RTR_XMTCONT	0xffffff07U
#define RPCRDMA_RTR_REPTERR	0xffffff08U

/* Sends of a group at most. */
#define RPCRDMA_RTR_MOST_SENDS	16

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
 * @shape: of its Receives, as large as its Receive Buffer Size; it takes Calls by groups.
 *	NULL: it takes none, and only sends them.
 *
 * It takes no Replies by groups.
 *
 * Return: false if @shape is not so, or the extension is not in @s.
 */
bool __must_check rpcrdma_rtr_declare(struct rpcrdma_session *s,
				      const struct rpcrdma_rtr_shape *shape);

/**
 * struct rpcrdma_rtr_group - a Call that goes by a group
 * @sends: how many it has
 * @opaque: its plan, and which Send is next
 */
struct rpcrdma_rtr_group {
	u32 sends;
	u64 opaque[16];
};

/**
 * rpcrdma_rtr_plan - can this Call go by a group now?
 * @s: the session
 * @msg: the Call, nothing of it sent, without chunks; its length is that of the Payload
 *	stream without the item and its XDR padding
 * @position: where in the whole message the item is
 * @length: of the item, in octets, not zero
 * @g: filled in
 *
 * Only if header and Payload stream are before the first page: then its data begin there.
 *
 * Return: false if the peer does not take it, it would have too many Sends, or there are
 * not credits for all of them (D20).
 */
bool __must_check rpcrdma_rtr_plan(struct rpcrdma_session *s,
				   struct rpcrdma_message *msg, u32 position,
				   u32 length, struct rpcrdma_rtr_group *g);

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
 * struct rpcrdma_rtr_piece - data in one Send
 * @at: of the item, from this octet on
 * @offset: where in the Send
 * @length: how many octets; zero if there are none
 * @size: octets of the whole Send
 */
struct rpcrdma_rtr_piece {
	u32 at;
	u32 offset;
	u32 length;
	u32 size;
};

/**
 * rpcrdma_rtr_next_send - decide on the next Send of a group
 * @s: the session
 * @g: from rpcrdma_rtr_plan()
 * @msg: as for rpcrdma_rtr_plan()
 * @buf: gets prefix and header
 * @size: octets of @buf
 * @tx: as for rpcrdma_session_next_send()
 * @piece: what data goes in the Send. What lies between header, payload, data and the end
 *	is padding, in which the caller puts zeros.
 *
 * Return: as rpcrdma_session_next_send(), but for control messages. If the group has not
 * begun, anything but RPCRDMA_TX_MESSAGE means that it cannot go so now (D20).
 */
u32 __must_check rpcrdma_rtr_next_send(struct rpcrdma_session *s,
				       struct rpcrdma_rtr_group *g,
				       struct rpcrdma_message *msg, void *buf,
				       u32 size, struct rpcrdma_tx *tx,
				       struct rpcrdma_rtr_piece *piece);

/**
 * rpcrdma_rtr_reported - a REPTERR has been taken
 * @s: the session
 * @rx: of rpcrdma_session_receive(); if a Call was refused, changed to
 *	RPCRDMA_RX_FAIL_RPC about that Call
 *
 * The Call can be sent in a form of -07.
 */
void rpcrdma_rtr_reported(const struct rpcrdma_session *s,
			  struct rpcrdma_rx *rx);

/**
 * rpcrdma_rtr_readable - is enough of a Send of a group in one piece?
 * @buf: the Send; the first word of its header is here
 * @length: octets of it that are in one piece, at least RPCRDMA_BARE_OCTETS
 *
 * Return: true if it is one, and rpcrdma_session_receive() reads no further than that.
 */
bool __must_check rpcrdma_rtr_readable(const void *buf, u32 length);

/**
 * struct rpcrdma_rtr_part - where a part of an item has come
 * @position: of the item, in the whole message
 * @item: octets of the item
 * @at: of the item, from this octet on
 * @send: in the Receive of this Send of the group, the first being 0
 * @offset: where in that Receive
 * @length: how many octets, all in one page
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
 * @buf: the first Send
 * @length: as for rpcrdma_rtr_readable()
 * @f: called with each part, in the order of the message, until it returns false
 * @context: for @f
 *
 * Return: false if @f did; or if something of the message is to be read by RDMA.
 */
bool __must_check
rpcrdma_rtr_each_part(const struct rpcrdma_rtr_shape *shape, const void *buf,
		      u32 length,
		      bool (*f)(void *context,
				const struct rpcrdma_rtr_part *part),
		      void *context);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_RTREXT_H */
