/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How an RPC message travels (section 6.6, D9). For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_PLAN_H
#define _RPCRDMA_PLAN_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What earlier attempts at an RPC have shown that the peer does not take, or
 * does need (section 7.3).
 */
enum rpcrdma_avoid {
	RPCRDMA_AVOID_READ_CHUNK	= 1 << 0,
	RPCRDMA_AVOID_WRITE_CHUNK	= 1 << 1,
	RPCRDMA_AVOID_CALL_CHUNK	= 1 << 2,
	RPCRDMA_NEED_REPLY_CHUNK	= 1 << 3,
	RPCRDMA_AVOID_REPLY_CHUNK	= 1 << 4,
	RPCRDMA_NEED_CALL_CHUNK		= 1 << 5,
	RPCRDMA_SEEN_TOO_LONG		= 1 << 6,
	RPCRDMA_SEEN_TOO_LONG_AGAIN	= 1 << 7,
};

/**
 * struct rpcrdma_call_shape - a Call as the upper layer built it
 * @length: octets of the whole message
 * @item: the DDP-eligible argument, length zero if there is none; its length
 *	is without XDR roundup
 * @result_max: largest DDP-eligible result expected, zero if there is none
 * @reply_max: largest Reply that the upper layer has room for
 * @avoid: enum rpcrdma_avoid, from rpcrdma_plan_retry(); zero at first
 * @round_trip: the connection's shortest one, in microseconds; zero if it is not known
 * @sends: Sends that it may take of those for which there are buffers now
 * @reducible: false forbids reduction (RPCSEC_GSS integrity or privacy)
 * @reply_expected: false for Call-only procedures, which carry no chunks (4.7)
 */
struct rpcrdma_call_shape {
	u32 length;
	struct rpcrdma_range item;
	u32 result_max;
	u32 reply_max;
	u32 avoid;
	u32 round_trip;
	u32 sends;
	bool reducible;
	bool reply_expected;
};

/**
 * struct rpcrdma_call_plan - how a Call will travel
 * @read_chunk: move @item of the shape by a Read chunk
 * @write_chunk: offer a Write chunk of result_max octets
 * @call_chunk: Special Format: the Payload stream goes by a Call chunk
 * @reply_chunk: offer a Reply chunk of reply_max octets
 * @reply_max: that of the shape
 * @stream_length: octets left in the Payload stream
 * @removed: what the Read chunk takes out of the stream, XDR roundup included
 * @read_pad: octets of that roundup which go by the Read chunk, behind the item
 * @chunks_required: version 1, where there is no other way
 * @call_waits: with no region free now, wait for one for the Read or Call chunk
 * @result_waits: the same for the Write or Reply chunk
 * @max_segments: most segments that its chunks may have together
 * @streamed: it would have a Read chunk or a Call chunk if the round trip were shorter
 *
 * A caller without enough memory regions may leave a chunk out, unless chunks are
 * required or it must wait for a region. It changes the plan here, and sends the whole
 * stream without a Read chunk.
 */
struct rpcrdma_call_plan {
	bool read_chunk;
	bool write_chunk;
	bool call_chunk;
	bool reply_chunk;
	u32 reply_max;
	u32 stream_length;
	struct rpcrdma_range removed;
	u32 read_pad;
	bool chunks_required;
	bool call_waits;
	bool result_waits;
	u32 max_segments;
	bool streamed;
};

void rpcrdma_plan_call(const struct rpcrdma_session *s,
		       const struct rpcrdma_call_shape *shape,
		       struct rpcrdma_call_plan *plan);

/* Why an item or a message has a chunk, or has none. */
enum rpcrdma_chunk_reason {
	RPCRDMA_CHUNK_SMALL,		/* none: it is not large */
	RPCRDMA_CHUNK_NOT_ALLOWED,	/* none: it may not be reduced, or carry chunks */
	RPCRDMA_CHUNK_REFUSED,		/* none: the peer has refused it */
	RPCRDMA_CHUNK_DDP,		/* above ddp_threshold */
	RPCRDMA_CHUNK_SPECIAL,		/* above special_threshold */
	RPCRDMA_CHUNK_CREDITS,		/* more Sends than the peer has granted at once */
	RPCRDMA_CHUNK_SEND_SIZE,	/* version 1: it may not fit one Send */
	RPCRDMA_CHUNK_ASKED,		/* the peer has refused it without */
	RPCRDMA_CHUNK_TOO_LONG,		/* a message was too long for its Receive */
	RPCRDMA_CHUNK_PLACED,		/* none: Sends place it (rtrext) */
	RPCRDMA_CHUNK_ROUND_TRIP,	/* none: fetching it would take longer */
	RPCRDMA_CHUNK_OFFERED,		/* none: memory is in a direction (rtrext) */
	RPCRDMA_CHUNK_REASONS,
};

/**
 * struct rpcrdma_plan_reasons - what a plan was made of, for people
 * @chunks: the chunks, as those flags of enum rpcrdma_avoid that would avoid them
 * @call: enum rpcrdma_chunk_reason, for the Call: that of the Call chunk if it has one
 * @result: enum rpcrdma_chunk_reason, for the Reply
 */
struct rpcrdma_plan_reasons {
	u32 chunks;
	u32 call;
	u32 result;
};

/**
 * rpcrdma_plan_why - why does a Call travel as it will?
 * @s: the session, since the plan was made unchanged
 * @shape: that the plan was made for
 * @plan: as rpcrdma_plan_call() has made it
 * @why: filled in
 *
 * For traces: nothing depends on it.
 */
void rpcrdma_plan_why(const struct rpcrdma_session *s,
		      const struct rpcrdma_call_shape *shape,
		      const struct rpcrdma_call_plan *plan,
		      struct rpcrdma_plan_reasons *why);

/**
 * rpcrdma_plan_retry - may a Call be sent again after RDMA2_ERROR?
 * @plan: how it travelled
 * @rx: FAIL_RPC, about this Call
 * @avoid: shape.avoid of that plan; for the next one on return
 *
 * Each retry adds to @avoid, so there are few of them (sections 6.6.4, 7.3).
 *
 * Return: 0 to plan and send again, or the negative errno of the RPC.
 */
s32 __must_check rpcrdma_plan_retry(const struct rpcrdma_call_plan *plan,
				    const struct rpcrdma_rx *rx, u32 *avoid);

/**
 * rpcrdma_plan_outdated - may a Call be planned again that was not begun?
 * @plan: how it was to travel, which the session called RPCRDMA_TX_INVALID: the
 *	peer has refused a header type meanwhile (section 7.1.3)
 * @avoid: as for rpcrdma_plan_retry(), which this is like
 *
 * Return: 0 to plan and send again, or the negative errno of the RPC.
 */
s32 __must_check rpcrdma_plan_outdated(const struct rpcrdma_call_plan *plan,
				       u32 *avoid);

/**
 * rpcrdma_plan_too_long - may a Call be sent again when a message that no Receive
 *	could take has ended its connection before its Reply came?
 * @avoid: as for rpcrdma_plan_retry(), which this is like
 *
 * Return: 0 to plan and send again, or the negative errno of the RPC.
 */
s32 __must_check rpcrdma_plan_too_long(u32 *avoid);

/**
 * struct rpcrdma_write_job - one RDMA Write that a Reply needs
 * @source: octets of the unreduced Reply
 * @target: where they go
 */
struct rpcrdma_write_job {
	struct rpcrdma_range source;
	struct rpcrdma_segment target;
};

/**
 * struct rpcrdma_reply_plan - how a Reply will travel
 * @errcode: nonzero: send this error instead; @index and @needed belong to it
 * @index: see rpcrdma_session_refuse()
 * @needed: see rpcrdma_session_refuse()
 * @stream_length: octets left in the Payload stream
 * @n_removed: how many entries of @removed are used
 * @removed: what the Write chunks take out of the stream, ascending, XDR
 *	roundup included
 * @n_jobs: how many entries of @jobs are used
 * @external: Special Format: the stream goes into the Reply chunk
 * @jobs: the RDMA Writes, in order
 * @chunks: Write list and Reply chunk to return: the Call's, with lengths as
 *	written
 */
struct rpcrdma_reply_plan {
	u32 errcode;
	u32 index;
	u32 needed;
	u32 stream_length;
	u32 n_removed;
	struct rpcrdma_range removed[RPCRDMA_MAX_CHUNKS];
	u32 n_jobs;
	bool external;
	struct rpcrdma_write_job jobs[RPCRDMA_MAX_WRITE_JOBS];
	struct rpcrdma_chunks chunks;
};

/**
 * rpcrdma_plan_reply - match results with the Write chunks of the Call
 * @s: the session
 * @call: chunk lists of the Call
 * @length: octets of the whole Reply
 * @results: DDP-eligible results in Reply order, lengths without XDR roundup
 * @n_results: how many; further ones than chunks stay in the stream
 * @plan: filled in
 */
void rpcrdma_plan_reply(const struct rpcrdma_session *s,
			const struct rpcrdma_chunks *call, u32 length,
			const struct rpcrdma_range *results, u32 n_results,
			struct rpcrdma_reply_plan *plan);

/**
 * struct rpcrdma_piece - where some octets of an unreduced Call come from
 * @target: their place in the unreduced message
 * @segment: index in rpcrdma_chunks.reads, or -1 for the received stream
 * @source: offset in the received stream, or in the segment
 */
struct rpcrdma_piece {
	struct rpcrdma_range target;
	s32 segment;
	u32 source;
};

#define RPCRDMA_MAX_PIECES	(2 * RPCRDMA_MAX_SEGMENTS + 1)

/**
 * rpcrdma_layout_call - lay out a Call that has Read chunks (section 4.5.1)
 * @chunks: as given by rpcrdma_session_receive(), so already valid
 * @stream_length: octets of the received stream
 * @pieces: room for RPCRDMA_MAX_PIECES entries
 *
 * XDR roundup after a chunk is in no piece: the caller's memory there is zero.
 *
 * Return: number of pieces, ascending by target offset.
 */
u32 __must_check rpcrdma_layout_call(const struct rpcrdma_chunks *chunks,
				     u32 stream_length,
				     struct rpcrdma_piece *pieces);

/**
 * rpcrdma_call_id - a number that identifies a Call when it is sent again
 * @xid: its XID, host order
 * @length: octets of the received stream, of all its parts
 * @stream: the first octets of that
 * @len: how many have come with the first part, which may be none
 * @secret: any; the same for Calls to be compared
 *
 * Several Requesters can share an address and so use the same XID at the same time.
 *
 * Return: the XID in the lower half, and a sum of what does not change when the same
 * Call is sent by another connection.
 */
u64 __must_check rpcrdma_call_id(u32 xid, u64 length, const void *stream,
				 u32 len, u64 secret);

/**
 * rpcrdma_call_divides - can what is behind a place in a Call have memory of its own?
 * @stream: the first octets of the received stream
 * @len: how many are at hand
 * @position: the place, in the whole Call
 *
 * sunrpc wants the RPC header, and what RPCSEC_GSS reads, in one piece of memory.
 *
 * Return: true if only the RPC program reads what is from there on.
 */
bool __must_check rpcrdma_call_divides(const void *stream, u32 len,
				       u32 position);

/**
 * rpcrdma_call_item - the only item that was taken out of a Call
 * @chunks: as for rpcrdma_layout_call()
 * @stream: the first octets of the received stream
 * @len: how many are at hand
 * @item: set to its place in the unreduced Call, without XDR roundup
 *
 * Such a Call can be taken apart there, so that the item begins where memory does.
 *
 * Return: false if it has several items, or none, or see rpcrdma_call_divides().
 */
bool __must_check rpcrdma_call_item(const struct rpcrdma_chunks *chunks,
				    const void *stream, u32 len,
				    struct rpcrdma_range *item);

/**
 * rpcrdma_stream_run - map the reduced stream to the unreduced message
 * @removed: ranges taken out, ascending, not overlapping
 * @n_removed: how many
 * @offset: octet of the reduced stream
 * @unreduced: its octet in the unreduced message
 *
 * Return: how many octets follow there without a gap; U32_MAX after the last
 * range.
 */
u32 __must_check rpcrdma_stream_run(const struct rpcrdma_range *removed,
				    u32 n_removed, u32 offset, u32 *unreduced);

/**
 * rpcrdma_written - octets that a Reply says were written into a Write chunk
 * @offered: chunk lists of the Call
 * @returned: chunk lists of the Reply
 * @index: chunk, from zero
 * @length: set to the octets
 *
 * Return: false if the Reply returned other segments than were offered, or
 * lengths that do not fill them in order (section 4.5.2.1).
 */
bool __must_check rpcrdma_written(const struct rpcrdma_chunks *offered,
				  const struct rpcrdma_chunks *returned,
				  u32 index, u32 *length);

/**
 * rpcrdma_replied - octets that a Reply says were written into the Reply chunk
 * @offered: chunk lists of the Call
 * @returned: chunk lists of the Reply
 * @length: set to the octets
 *
 * Return: false as for rpcrdma_written().
 */
bool __must_check rpcrdma_replied(const struct rpcrdma_chunks *offered,
				  const struct rpcrdma_chunks *returned,
				  u32 *length);

/**
 * rpcrdma_inv_handle - a handle for the Reply to invalidate
 * @chunks: of a Call
 *
 * Return: one of the handles, or zero if there is none.
 */
u32 __must_check rpcrdma_inv_handle(const struct rpcrdma_chunks *chunks);

/**
 * rpcrdma_first_words - does a stream from a body chunk belong to its header?
 * @stream: its first octets
 * @len: how many are there
 * @xid: of the header, host order
 * @dir: of the header
 *
 * The session does this for messages that it has seen (section 7.2, D7).
 *
 * Return: false for a message to be treated as malformed: a Call is answered
 * with BAD_XDR, a Reply fails its RPC.
 */
bool __must_check rpcrdma_first_words(const void *stream, u32 len, u32 xid,
				      enum rpcrdma_dir dir);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_PLAN_H */
