/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The functions of the protocol core for C.
 *
 * The core is deterministic: it performs no I/O, allocates nothing, takes no
 * lock and reads no clock. Each object lives in memory of the caller, who
 * serializes all calls that name the same object. No call sleeps. Every size
 * is in octets unless it says otherwise. Section numbers are those of
 * draft-ietf-nfsv4-rpcrdma-version-two-07; D1 and so on are in
 * Documentation/protocol-notes.rst.
 */
#ifndef _RPCRDMA_CORE_H
#define _RPCRDMA_CORE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The most chunks and segments that one transport header may carry here. In version 1
 * each list may have RPCRDMA_MAX_SEGMENTS segments.
 */
#define RPCRDMA_MAX_SEGMENTS	16
#define RPCRDMA_MAX_CHUNKS	8
/* Control messages that wait for a credit; a peer that causes more is cut off. */
#define RPCRDMA_MAX_CONTROL	16
/* RDMA Writes of one Reply: segments, and gaps that reduced items leave. */
#define RPCRDMA_MAX_WRITE_JOBS	(RPCRDMA_MAX_SEGMENTS + RPCRDMA_MAX_CHUNKS + 1)
/* A window is zero or at least this (D3). */
#define RPCRDMA_MIN_WINDOW	3
#define RPCRDMA_MIN_RECV_SIZE	1024

enum rpcrdma_role {
	RPCRDMA_ROLE_CLIENT,	/* opened the connection */
	RPCRDMA_ROLE_SERVER,	/* accepted it */
};

/* Values are those of msg_type in RFC 5531. */
enum rpcrdma_dir {
	RPCRDMA_CALL = 0,
	RPCRDMA_REPLY = 1,
};

/* rdma_htype, sections 6.1 and 8.4; rdma_proc of version 1 (RFC 8166, 4.2.4) */
enum rpcrdma_htype {
	RPCRDMA1_MSG = 0,
	RPCRDMA1_NOMSG = 1,
	RPCRDMA1_MSGP = 2,
	RPCRDMA1_DONE = 3,
	RPCRDMA2_ERROR = 4,
	RPCRDMA2_GRANT = 5,
	RPCRDMA2_CONNPROP_MIDDLE = 6,
	RPCRDMA2_CONNPROP_FINAL = 7,
	RPCRDMA2_CALL_EXTERNAL = 8,
	RPCRDMA2_CALL_MIDDLE = 9,
	RPCRDMA2_CALL_INLINE = 10,
	RPCRDMA2_REPLY_EXTERNAL = 11,
	RPCRDMA2_REPLY_MIDDLE = 12,
	RPCRDMA2_REPLY_INLINE = 13,
};

/*
 * Header types by an index without gaps, for counters and sets. That of a type above is
 * its number on the wire; one is for all types that are not known; those of extensions
 * follow. rpcrdma_type_count() says how many there are.
 */
#define RPCRDMA_TYPE_UNKNOWN	14
#define RPCRDMA_MAX_TYPES	32

/* Properties by an index; rpcrdma_property_count() says how many there are. */
#define RPCRDMA_MAX_PROPERTIES	16

/*
 * rdma_err, section 7. In version 1, BAD_XDR is ERR_CHUNK, which stands for all other
 * errors, too.
 */
enum rpcrdma_errcode {
	RPCRDMA2_ERR_NONE = 0,	/* not on the wire */
	RPCRDMA2_ERR_VERS = 1,
	RPCRDMA2_ERR_BAD_XDR = 2,
	RPCRDMA2_ERR_BAD_PROPVAL = 3,
	RPCRDMA2_ERR_INVAL_HTYPE = 4,
	RPCRDMA2_ERR_INVAL_CONT = 5,
	RPCRDMA2_ERR_READ_CHUNKS = 6,
	RPCRDMA2_ERR_WRITE_CHUNKS = 7,
	RPCRDMA2_ERR_SEGMENTS = 8,
	RPCRDMA2_ERR_WRITE_RESOURCE = 9,
	RPCRDMA2_ERR_REPLY_RESOURCE = 10,
	RPCRDMA2_ERR_VERS_MISMATCH = 11,
	RPCRDMA2_ERR_SYSTEM = 100,
};

/* Reverse-Direction Support, section 5.2.5 */
enum rpcrdma_reverse {
	RPCRDMA_RVRSDIR_NONE = 0,
	RPCRDMA_RVRSDIR_SIMPLE = 1,
	RPCRDMA_RVRSDIR_CONT = 2,
	RPCRDMA_RVRSDIR_GENL = 3,
};

/* struct rpcrdma2_segment */
struct rpcrdma_segment {
	u32 handle;
	u32 length;
	u64 offset;
};

/* struct rpcrdma2_read_segment */
struct rpcrdma_read_segment {
	u32 position;
	struct rpcrdma_segment target;
};

/**
 * struct rpcrdma_write_chunk - one counted array of segments
 * @count: number of segments; zero is an empty Write chunk
 * @first: index of its first segment in rpcrdma_chunks.write_segs
 */
struct rpcrdma_write_chunk {
	u32 count;
	u32 first;
};

/**
 * struct rpcrdma_chunks - every chunk list that a header can carry
 * @n_call: segments of the Call chunk (Position zero; EXTERNAL Calls)
 * @n_reads: segments of the Read list
 * @n_writes: chunks of the Write list
 * @n_write_segs: segments used in @write_segs, the Reply chunk's included
 * @has_reply: the Reply chunk is present
 * @call: the Call chunk
 * @reads: the Read list, in list order
 * @writes: the Write list, in list order
 * @reply: the Reply chunk
 * @write_segs: the segments that @writes and @reply refer to
 */
struct rpcrdma_chunks {
	u32 n_call;
	u32 n_reads;
	u32 n_writes;
	u32 n_write_segs;
	bool has_reply;
	struct rpcrdma_segment call[RPCRDMA_MAX_SEGMENTS];
	struct rpcrdma_read_segment reads[RPCRDMA_MAX_SEGMENTS];
	struct rpcrdma_write_chunk writes[RPCRDMA_MAX_CHUNKS];
	struct rpcrdma_write_chunk reply;
	struct rpcrdma_segment write_segs[RPCRDMA_MAX_SEGMENTS];
};

/**
 * struct rpcrdma_range - some octets of an unreduced Payload stream
 * @offset: first octet
 * @length: how many
 */
struct rpcrdma_range {
	u32 offset;
	u32 length;
};

/* ------------------------------------------------------------------ */
/* Session                                                            */
/* ------------------------------------------------------------------ */

/**
 * struct rpcrdma_properties - transport properties, section 5.2
 * @send_size: Maximum Send Size
 * @recv_size: Receive Buffer Size
 * @max_segment_size: Maximum Segment Size
 * @max_segments: Maximum Segment Count
 * @reverse: Reverse-Direction Support, enum rpcrdma_reverse
 */
struct rpcrdma_properties {
	u32 send_size;
	u32 recv_size;
	u32 max_segment_size;
	u32 max_segments;
	u32 reverse;
};

struct rpcrdma_auth;

/**
 * struct rpcrdma_config - how this side of a session behaves
 * @role: enum rpcrdma_role
 * @window: Receives offered to the peer, one less than are posted (D3); at
 *	least RPCRDMA_MIN_WINDOW, since nothing could reopen a window of zero
 * @max_message: largest RPC message accepted, Read chunks included
 * @max_reverse_call: the same for a Call that a server sends to this client; zero means
 *	@max_message
 * @max_read_chunks: most Read chunks accepted in one Call
 * @max_write_chunks: most Write chunks accepted in one Call
 * @first_xid: XID of the CONNPROP message (D6)
 * @ddp_threshold: items up to this size stay in the Payload stream (D9)
 * @special_threshold: Payload streams up to this size are sent, larger ones go
 *	by a body chunk where that is possible (D13)
 * @stream_from: from this round-trip time on, in microseconds, larger ones are sent, too,
 *	if that is cheaper (D26); zero for never
 * @reserve: credits that only probes may use while Calls are outstanding
 *	(keep-alive of the NFS binding); zero or one
 * @local: properties to advertise; also this side's own limits
 * @send_room: see rpcrdma_session_send_room(); zero if buffers for Sends are as large as
 *	the Maximum Send Size in @local
 * @min_version: lowest version of the protocol to speak, 1 or 2
 * @max_version: the highest; both zero means version 2 alone
 * @extensions: extensions to announce, a bit each, by their place in the core's list,
 *	whose first is the base protocol; bits that mean none are ignored
 * @auth: host authentication, see auth.h; NULL if it is off
 */
struct rpcrdma_config {
	u32 role;
	u32 window;
	u32 max_message;
	u32 max_reverse_call;
	u32 max_read_chunks;
	u32 max_write_chunks;
	u32 first_xid;
	u32 ddp_threshold;
	u32 special_threshold;
	u32 stream_from;
	u32 reserve;
	struct rpcrdma_properties local;
	u32 send_room;
	u32 min_version;
	u32 max_version;
	u32 extensions;
	const struct rpcrdma_auth *auth;
};

#define RPCRDMA_ALL_EXTENSIONS	(~0U)

/* Storage for one session; the core checks that it suffices. Tests have more extensions. */
#ifndef RPCRDMA_SESSION_WORDS
#define RPCRDMA_SESSION_WORDS	512
#endif
struct rpcrdma_session {
	u64 opaque[RPCRDMA_SESSION_WORDS];
};

/* Why a message was not delivered, or why a connection must close. */
enum rpcrdma_reason {
	RPCRDMA_REASON_NONE,
	RPCRDMA_REASON_SHORT,		/* under 16 octets: dropped (D4) */
	RPCRDMA_REASON_VERSION,		/* version not spoken here */
	RPCRDMA_REASON_VERSION_MISMATCH,/* not the connection's version */
	RPCRDMA_REASON_HTYPE,		/* unknown or unsupported header type */
	RPCRDMA_REASON_XDR,		/* header does not parse, or breaks D7 */
	RPCRDMA_REASON_XID,		/* rdma_xid is not the message's xid */
	RPCRDMA_REASON_DIRECTION,	/* header type is not the message's msg_type */
	RPCRDMA_REASON_PROPVAL,		/* malformed property */
	RPCRDMA_REASON_CONTINUATION,	/* sequence broken */
	RPCRDMA_REASON_TOO_LARGE,	/* message beyond this side's bound */
	RPCRDMA_REASON_CHUNKS,		/* more chunks or segments than accepted */
	RPCRDMA_REASON_DISCARDING,	/* rest of a message already refused */
	RPCRDMA_REASON_UNKNOWN_ERROR,	/* unrecognized rdma_err: dropped */
	RPCRDMA_REASON_EARLY,		/* sent before it was allowed to */
	RPCRDMA_REASON_CREDIT,		/* peer overran its credits */
	RPCRDMA_REASON_CREDIT_LIMIT,	/* rdma_credit is no possible limit */
	RPCRDMA_REASON_FLOOD,		/* too many refused messages unanswered */
	RPCRDMA_REASON_NO_VERSION,	/* peer speaks no version of ours */
	RPCRDMA_REASON_DIALECT,		/* peer means something else by version 2 (D25) */
	RPCRDMA_REASON_INVARIANT,	/* a bug here */
	RPCRDMA_REASON_AUTH,		/* host authentication failed, or is refused */
	RPCRDMA_REASON_COUNT
};

enum rpcrdma_rx_action {
	RPCRDMA_RX_DROP,	/* nothing for the caller to do; see reason */
	RPCRDMA_RX_CONTROL,	/* no RPC message: taken in by the session */
	RPCRDMA_RX_PAYLOAD,	/* octets of an RPC message: place them */
	RPCRDMA_RX_FAIL_RPC,	/* the Call of ours with this XID has failed */
	RPCRDMA_RX_CLOSE,	/* the connection cannot go on */
};

/**
 * struct rpcrdma_rx - what a received message means
 * @action: enum rpcrdma_rx_action
 * @reason: enum rpcrdma_reason, for DROP, FAIL_RPC and CLOSE
 * @htype: rdma_htype as received, zero if there was none
 * @type: its index, RPCRDMA_TYPE_UNKNOWN if there was none
 * @vers: rdma_vers as received
 * @xid: rdma_xid, host order
 * @error: FAIL_RPC: a negative errno; rdma_err decides (section 7)
 * @errcode: of an ERROR, the rdma_err received, if it is known; FAIL_RPC: that, or what
 *	was sent in answer
 * @reported: FAIL_RPC: the peer sent an ERROR about it; false if a Reply was
 *	malformed
 * @errargs: FAIL_RPC, if @reported: the words that came with rdma_err
 * @kick: something may be sent now that could not be before
 * @credits: Sends that the peer allows now
 * @taken_back: rdma_credit was less than in the message before (D2)
 * @ample: the peer still has credit for more than half of the window, so Receives that may wait
 *	by rpcrdma_session_may_wait() may wait longer; never in version 1
 * @opened: this message completed the initial exchange (section 4.3)
 * @abandon: the partly received message of direction @dir is void: free it.
 *	Set with any action; it is carried out before @action.
 * @dir: PAYLOAD, and @abandon: enum rpcrdma_dir
 * @last: PAYLOAD: these are the final octets and @chunks is valid
 * @payload: PAYLOAD: where they are in the Receive buffer
 * @stream_offset: PAYLOAD: where they belong in the (reduced) Payload stream
 * @stream_length: PAYLOAD: size of the whole (reduced) Payload stream
 * @unreduced_length: last: size of the message once Read chunks are back in
 * @inv_handle: last: what the Reply may invalidate, zero if nothing
 * @external: last: the message's stream is in the Call or Reply chunk
 * @chunks: last: the chunk lists
 */
struct rpcrdma_rx {
	u32 action;
	u32 reason;
	u32 htype;
	u32 type;
	u32 vers;
	u32 xid;
	s32 error;
	u32 errcode;
	u32 errargs[2];
	bool reported;
	bool kick;
	u32 credits;
	bool taken_back;
	bool ample;
	bool opened;
	bool abandon;
	bool last;
	bool external;
	u32 dir;
	struct rpcrdma_range payload;
	u32 stream_offset;
	u32 stream_length;
	u32 unreduced_length;
	u32 inv_handle;
	struct rpcrdma_chunks chunks;
};

/**
 * struct rpcrdma_message - an RPC message to be sent, and how far it got
 * @xid: rdma_xid, host order
 * @dir: enum rpcrdma_dir
 * @length: size of the (reduced) Payload stream; a multiple of four
 * @inv_handle: Calls: one of the handles in @chunks, or zero
 * @chunks: chunk lists for the final header, or NULL
 * @external: Special Format: the stream is in the Call or Reply chunk of
 *	@chunks, whose segments are together as long as it, and one header is
 *	all that is sent
 * @call_only: Calls: no Reply is expected, so there may be no chunks (4.7)
 * @probe: may use the credits that rpcrdma_config.reserve keeps back
 * @sent: octets of the stream already sent; zero at first, kept by the core
 * @types: Calls: header types that it went by, a bit each, by index; zero at first,
 *	kept by the core
 * @reserved: Calls: Sends for which rpcrdma_session_admit() keeps credits; zero at first,
 *	kept by the core. It moves to a copy that is sent instead.
 * @outstanding: Calls: sent whole, and rpcrdma_session_end_call() is still to
 *	come; false at first, kept by the core
 *
 * Lives as long as it is being sent, a Call until it has ended.
 */
struct rpcrdma_message {
	u32 xid;
	u32 dir;
	u32 length;
	u32 inv_handle;
	const struct rpcrdma_chunks *chunks;
	bool external;
	bool call_only;
	bool probe;
	u32 sent;
	u32 types;
	u32 reserved;
	bool outstanding;
};

/**
 * struct rpcrdma_tx - one Send to be posted
 * @xid: rdma_xid, host order
 * @htype: rdma_htype
 * @type: its index
 * @header_length: octets of Transport stream written to the buffer
 * @payload: octets of the message's stream to be appended to them
 * @first: this is the first Send of the message
 * @last: this is the last Send of the message
 * @errcode: of an ERROR, the rdma_err of version 2 that it stands for; else zero
 * @errargs: the words that belong to it
 * @more: ask again, also without a message. If not set, there is nothing to send without
 *	one until the session is told of another event.
 */
struct rpcrdma_tx {
	u32 xid;
	u32 htype;
	u32 type;
	u32 header_length;
	struct rpcrdma_range payload;
	bool first;
	bool last;
	u32 errcode;
	u32 errargs[2];
	bool more;
};

enum rpcrdma_tx_result {
	RPCRDMA_TX_NONE,	/* nothing to send */
	RPCRDMA_TX_BLOCKED,	/* something to send, but no credit for it */
	RPCRDMA_TX_CONTROL,	/* post the control message that was written */
	RPCRDMA_TX_MESSAGE,	/* post this part of the message */
	RPCRDMA_TX_INVALID,	/* the message cannot be sent as planned */
	RPCRDMA_TX_REFUSED,	/* the peer takes no parts: this one is over */
};

/**
 * struct rpcrdma_session_info - the state of a session, for display
 * @version: protocol version in force, zero before it is known
 * @local: properties that this side advertised
 * @peer: properties in force for the peer
 * @max_send: largest Send to the peer
 * @max_segment_size: largest segment that a Call of this side may have
 * @max_segments: most segments that it may have
 * @sent: Sends posted
 * @received: Receives completed
 * @peer_credits: Sends the peer allows now
 * @window: Receives this side offers
 * @window_used: Receives of the window that the peer may not use now
 * @window_high: the most that @window_used has been
 * @blocked: how often a message had to wait for credit
 * @taken_back: how often the peer has taken credit back (D2)
 * @outstanding: Calls sent whole that have not ended
 */
struct rpcrdma_session_info {
	u32 version;
	struct rpcrdma_properties local;
	struct rpcrdma_properties peer;
	u32 max_send;
	u32 max_segment_size;
	u32 max_segments;
	u32 sent;
	u32 received;
	u32 peer_credits;
	u32 window;
	u32 window_used;
	u32 window_high;
	u32 blocked;
	u32 taken_back;
	u32 outstanding;
};

/**
 * rpcrdma_session_init - begin a session on a new connection
 * @s: storage, any content
 * @cfg: copied
 *
 * The session is in the state of section 4.3: a client has its CONNPROP_FINAL
 * to send and may send nothing else before an answer comes; a server waits. The
 * answer may be that the server speaks version 1; if @cfg allows that, too, the
 * session goes on with it. A client that speaks version 1 alone has nothing to
 * agree on. A server speaks the version that its client begins with (D5).
 *
 * Return: false if @cfg contradicts itself (window, sizes); @s is unusable.
 */
bool __must_check rpcrdma_session_init(struct rpcrdma_session *s,
				       const struct rpcrdma_config *cfg);

/**
 * rpcrdma_session_receive - take in one received message
 * @s: the session
 * @buf: the message, at least four-octet aligned
 * @len: its size
 * @rx: filled in with what to do
 *
 * The Receive counts as used until rpcrdma_session_release() gives it back.
 * An RDMA2_ERROR that is due is remembered and leaves through
 * rpcrdma_session_next_send(); @rx->kick says so.
 */
void rpcrdma_session_receive(struct rpcrdma_session *s, const void *buf,
			     u32 len, struct rpcrdma_rx *rx);

/* Octets that tell rpcrdma_header_is_bare() all, and no more than a page. */
#define RPCRDMA_BARE_OCTETS	64

/**
 * rpcrdma_header_is_bare - is a message received by its first octets alone?
 * @buf: its first RPCRDMA_BARE_OCTETS octets, at least four-octet aligned
 *
 * For memory that is not in one piece. A bare header is that of a message, or a part of
 * one, without chunks. Of such a message rpcrdma_session_receive() reads nothing that is
 * behind these octets, whatever the state of the session.
 *
 * Return: true if only they need be at the address that rpcrdma_session_receive() gets.
 */
bool __must_check rpcrdma_header_is_bare(const void *buf);

/**
 * rpcrdma_session_release - Receives are posted again and can be offered
 * @s: the session
 * @count: how many
 *
 * Call it after the Receive is back on the queue, never before (D3). A caller
 * that cannot yet take another message holds back the call.
 *
 * Return: true if a GRANT became due; the caller then sends.
 */
bool __must_check rpcrdma_session_release(struct rpcrdma_session *s, u32 count);

/**
 * rpcrdma_session_next_send - what to post next
 * @s: the session
 * @msg: the message at the head of the caller's queue, or NULL
 * @buf: Send buffer, four-octet aligned
 * @size: its size, at least the local send_size
 * @tx: filled in for CONTROL and MESSAGE
 *
 * Control messages go first; between the parts of @msg only a GRANT goes (D7). The
 * Send is counted as posted: the caller posts in the order of these calls, or closes
 * the connection. Once a message has been begun the caller keeps offering it
 * until @tx->last, or until the result is REFUSED: the peer has dropped what it
 * was sent of the message (section 7.1.3), and the next one may begin.
 *
 * Return: enum rpcrdma_tx_result. INVALID leaves the session unchanged.
 */
u32 __must_check rpcrdma_session_next_send(struct rpcrdma_session *s,
					   struct rpcrdma_message *msg,
					   void *buf, u32 size,
					   struct rpcrdma_tx *tx);

/**
 * rpcrdma_session_admit - may the caller begin a Call now, or must it keep it?
 * @s: the session
 * @msg: the Call, complete but not begun; or NULL: any Call at all
 *
 * A Call that is admitted has a credit for each of its Sends (section 4.2.1), so it waits
 * for no other Call of this side. If no admitted Call is left to be sent, one credit is
 * enough: the peer may never allow as many at one time as this Call needs.
 * After this the caller offers @msg to rpcrdma_session_next_send(), or ends it with
 * rpcrdma_session_end_call(), or asks again. Nobody has to ask: Calls that were not admitted
 * are sent as credits allow.
 *
 * Return: true if it may. With NULL nothing is kept for it.
 */
bool __must_check rpcrdma_session_admit(struct rpcrdma_session *s,
					struct rpcrdma_message *msg);

/**
 * rpcrdma_session_room - may a Call begin that was not admitted before?
 * @s: the session
 *
 * The caller asks whenever there is nothing more to send: what makes room also lets
 * rpcrdma_rx.kick or rpcrdma_session_end_call() say that something may be sent.
 *
 * Return: true once after rpcrdma_session_admit() has refused a Call, when it would admit
 * it. Then the caller asks for admission again.
 */
bool __must_check rpcrdma_session_room(struct rpcrdma_session *s);

/**
 * rpcrdma_session_call_refused - the peer has answered a Call with an ERROR
 * @s: the session that it was sent on
 * @msg: the Call
 * @rx: FAIL_RPC, about this Call
 *
 * Only the caller knows which of its Calls has that XID, and that it is still one of
 * them (D6). The header type that was refused is not sent again (section 7.1.3), nor
 * is anything of a version that was refused (7.1.1, 7.1.2).
 *
 * Return: enum rpcrdma_reason: why the session has closed, if that leaves nothing to
 * be sent; else RPCRDMA_REASON_NONE.
 */
u32 __must_check rpcrdma_session_call_refused(struct rpcrdma_session *s,
					      struct rpcrdma_message *msg,
					      const struct rpcrdma_rx *rx);

/**
 * rpcrdma_session_end_call - nobody waits for the Reply to a Call any more
 * @s: the session that it was sent on
 * @msg: a Call of which nothing more is going to be sent
 *
 * Its Reply has come, or it has failed, or its caller has given it up. A Reply may come
 * for a Call that was given up, so only the caller knows how many Calls are
 * outstanding. In version 1 a Call that is given up keeps its credit until it is
 * answered. A second call, or one for a Call that was never sent, changes nothing.
 *
 * Return: true if something may be sent now that could not be before; the
 * caller then sends.
 */
bool __must_check rpcrdma_session_end_call(struct rpcrdma_session *s,
					   struct rpcrdma_message *msg);

/**
 * rpcrdma_session_refuse - answer a Call with RDMA2_ERROR instead of a Reply
 * @s: the session
 * @xid: of the Call, host order
 * @errcode: enum rpcrdma_errcode
 * @index: WRITE_RESOURCE: chunk index from one; others: the error's count
 * @needed: WRITE_RESOURCE and REPLY_RESOURCE: octets needed
 *
 * If parts of a Call with this XID have come and more are to come, those are
 * discarded, and the caller forgets what it has of them.
 *
 * Return: false if no more errors can wait; the caller closes the connection.
 */
bool __must_check rpcrdma_session_refuse(struct rpcrdma_session *s, u32 xid,
					 u32 errcode, u32 index, u32 needed);

/**
 * rpcrdma_session_set_window - offer more or fewer Receives from now on
 * @s: the session
 * @window: at least RPCRDMA_MIN_WINDOW
 *
 * To grow, first post as many Receives as @window is larger than the one in
 * rpcrdma_session_info. What was offered is never taken back: a window that
 * shrinks does so as Receives complete, which then are not posted again, see
 * rpcrdma_session_retire(). Until then the larger one is in force.
 *
 * Return: true if a GRANT became due, or something may be sent now that could not be
 * before; the caller then sends.
 */
bool __must_check rpcrdma_session_set_window(struct rpcrdma_session *s,
					     u32 window);

/**
 * rpcrdma_session_send_room - buffers for Sends have another size from now on
 * @s: the session
 * @octets: of the smallest one, at least RPCRDMA_MIN_RECV_SIZE
 *
 * No Send is larger, however large the Maximum Send Size of this side is, which is the most
 * that it may ever be. In version 1 it must not change once the version is known.
 */
void rpcrdma_session_send_room(struct rpcrdma_session *s, u32 octets);

/**
 * rpcrdma_session_retire - is one completed Receive needed any longer?
 * @s: the session
 *
 * To be asked before a Receive is posted again.
 *
 * Return: true if the window has become smaller: this Receive stays off the
 * queue and no rpcrdma_session_release() follows for it.
 */
bool __must_check rpcrdma_session_retire(struct rpcrdma_session *s);

/**
 * rpcrdma_session_may_wait - may free Receives stay off the queue, to be posted together?
 * @s: the session
 * @count: how many there are
 *
 * To be asked when a Receive has become free, and, while there are any, after
 * rpcrdma_session_receive() and rpcrdma_session_set_window(). As long as the answer is
 * "yes", the peer has credit for more than half of the window without them.
 *
 * Return: false if they have to be posted and released now.
 */
bool __must_check rpcrdma_session_may_wait(const struct rpcrdma_session *s,
					   u32 count);

/** rpcrdma_session_ready - the initial exchange is done, messages may flow */
bool __must_check rpcrdma_session_ready(const struct rpcrdma_session *s);

/** rpcrdma_session_version - in force, zero before it is known */
u32 __must_check rpcrdma_session_version(const struct rpcrdma_session *s);

/**
 * rpcrdma_session_max_segment_size - of Calls of this side (sections 5.2.3 and 5.2.4)
 * @s: the session
 *
 * Return: octets; rpcrdma_session_info() has the same number.
 */
u32 __must_check
rpcrdma_session_max_segment_size(const struct rpcrdma_session *s);

void rpcrdma_session_info(const struct rpcrdma_session *s,
			  struct rpcrdma_session_info *info);

/**
 * struct rpcrdma_numbers - properties as numbers, by index, for people
 * @extensions: extensions that are in use, a bit each, by their place in the list
 * @known: those that have a number, a bit each
 * @local: what this side advertised
 * @peer: what is in force for the peer
 */
struct rpcrdma_numbers {
	u32 extensions;
	u32 known;
	u32 local[RPCRDMA_MAX_PROPERTIES];
	u32 peer[RPCRDMA_MAX_PROPERTIES];
};

void rpcrdma_session_numbers(const struct rpcrdma_session *s,
			     struct rpcrdma_numbers *numbers);

/* ------------------------------------------------------------------ */
/* Payload planning (section 6.6, D9)                                 */
/* ------------------------------------------------------------------ */

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
 * rpcrdma_plan_overtaken - may a Call be planned again that was not begun?
 * @plan: how it was to travel, which the session called RPCRDMA_TX_INVALID: the
 *	peer has refused a header type meanwhile (section 7.1.3)
 * @avoid: as for rpcrdma_plan_retry(), which this is like
 *
 * Return: 0 to plan and send again, or the negative errno of the RPC.
 */
s32 __must_check rpcrdma_plan_overtaken(const struct rpcrdma_call_plan *plan,
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
 * @dir: enum rpcrdma_dir of the header
 *
 * The session does this for messages that it has seen (section 7.2, D7).
 *
 * Return: false for a message to be treated as malformed: a Call is answered
 * with BAD_XDR, a Reply fails its RPC.
 */
bool __must_check rpcrdma_first_words(const void *stream, u32 len, u32 xid,
				      u32 dir);

/* ------------------------------------------------------------------ */
/* Facts about peers, remembered for a while                          */
/* ------------------------------------------------------------------ */

#define RPCRDMA_MAX_RECENT	64
#define RPCRDMA_RECENT_SECONDS	120
/* Suspicions that are as good as knowing. */
#define RPCRDMA_MAX_SUSPECTED	3

/**
 * struct rpcrdma_recent_entry - one thing
 * @peer: whose, by any key that survives its reconnects
 * @id: what: rpcrdma_call_id() of a Call, a port; host order
 * @since: when, in seconds
 * @suspected: how often, at most RPCRDMA_MAX_SUSPECTED, which means known; zero is
 *	an empty entry
 */
struct rpcrdma_recent_entry {
	u64 peer;
	u64 id;
	u32 since;
	u32 suspected;
};

/**
 * struct rpcrdma_recent - all of them; all zero is empty
 * @seconds: how long each is remembered; zero is RPCRDMA_RECENT_SECONDS
 * @entries: in a full table a new one takes the place of the oldest of the peer that
 *	has the most
 */
struct rpcrdma_recent {
	u32 seconds;
	struct rpcrdma_recent_entry entries[RPCRDMA_MAX_RECENT];
};

/**
 * rpcrdma_recent_note - remember something for as long as the table does
 * @t: the table
 * @peer: whose
 * @id: what: of a Call whose RDMA operation has ended its connection (section 7.3)
 *	what rpcrdma_call_id() returned
 * @now: seconds of any clock that does not go back
 *
 * What is there already is as of @now.
 */
void rpcrdma_recent_note(struct rpcrdma_recent *t, u64 peer, u64 id, u32 now);

/**
 * rpcrdma_recent_suspect - the same, if it may be chance
 * @t: the table
 * @peer: whose
 * @id: what
 * @now: seconds
 *
 * It is known once it has been suspected RPCRDMA_MAX_SUSPECTED times, with less
 * than RPCRDMA_RECENT_SECONDS between them.
 *
 * Return: true if it is known now.
 */
bool rpcrdma_recent_suspect(struct rpcrdma_recent *t, u64 peer, u64 id,
			    u32 now);

/**
 * rpcrdma_recent_known - has it been noted, not long ago?
 * @t: the table
 * @peer: whose
 * @id: what
 * @now: seconds
 */
bool __must_check rpcrdma_recent_known(const struct rpcrdma_recent *t, u64 peer,
				       u64 id, u32 now);

/* Words of a filter: if the table has few entries, it nearly always says no. See below. */
#define RPCRDMA_RECENT_WORDS	16

/**
 * rpcrdma_recent_bit - the bit of an entry in a filter
 * @peer: whose
 * @id: what
 *
 * Return: a bit in a filter; others may share it.
 */
u32 __must_check rpcrdma_recent_bit(u64 peer, u64 id);

/**
 * rpcrdma_recent_filter - make a filter of a table
 * @t: the table
 * @now: seconds
 * @words: gets the bits of all known entries, and no others: if the bit of an entry is
 *	clear it is not known, and the table need not be locked
 */
void rpcrdma_recent_filter(const struct rpcrdma_recent *t, u32 now,
			   u64 words[RPCRDMA_RECENT_WORDS]);

/**
 * rpcrdma_recent_forget - remove an entry that is not true any more
 * @t: the table
 * @peer: whose
 * @id: what
 * @now: seconds
 *
 * Return: true if it was known.
 */
bool __must_check rpcrdma_recent_forget(struct rpcrdma_recent *t, u64 peer,
					u64 id, u32 now);

/* ------------------------------------------------------------------ */
/* Registration bookkeeping                                           */
/* ------------------------------------------------------------------ */

/*
 * Life of a memory region:
 *
 *   FREE -take-> HELD -post-> ACTIVE -remote_inv-----------------> HELD
 *                              |  \---invalidate-> INVALIDATING -done-> HELD
 *   HELD -put-> FREE
 *   any  -lost-> LOST (the queue pair died: destroy it, never reuse it)
 *
 * HELD: the peer cannot reach it; it may be mapped, unmapped, posted or put.
 * ACTIVE and INVALIDATING: the peer may reach it; nothing may touch its memory
 * mapping and put is refused.
 */
enum rpcrdma_mr_state {
	RPCRDMA_MR_NONE,	/* the slot has no region */
	RPCRDMA_MR_FREE,
	RPCRDMA_MR_HELD,
	RPCRDMA_MR_ACTIVE,
	RPCRDMA_MR_INVALIDATING,
	RPCRDMA_MR_LOST,
	RPCRDMA_MR_STATES
};

enum rpcrdma_mr_event {
	RPCRDMA_MR_POST,	/* registration is about to be posted */
	RPCRDMA_MR_REMOTE_INV,	/* a Receive completed with its handle */
	RPCRDMA_MR_LOCAL_INV,	/* Local Invalidate is about to be posted */
	RPCRDMA_MR_INV_DONE,	/* Local Invalidate completed */
	RPCRDMA_MR_LOSE,	/* the queue pair is dead */
	RPCRDMA_MR_EVENTS
};

/**
 * struct rpcrdma_mr_slot - bookkeeping for one memory region
 * @handle: rkey while not FREE; then a link
 * @state: enum rpcrdma_mr_state
 * @next: free list link
 */
struct rpcrdma_mr_slot {
	u32 handle;
	u16 state;
	u16 next;
};

/**
 * struct rpcrdma_mr_table - all memory regions of one connection
 * @slots: caller's array
 * @capacity: its size, under 65535
 * @free_head: internal
 * @count: slots in each state
 */
struct rpcrdma_mr_table {
	struct rpcrdma_mr_slot *slots;
	u32 capacity;
	u32 free_head;
	u32 count[RPCRDMA_MR_STATES];
};

void rpcrdma_mr_table_init(struct rpcrdma_mr_table *t,
			   struct rpcrdma_mr_slot *slots, u32 capacity);

/** rpcrdma_mr_add - slot @index now has a region. Return: false if it had one */
bool __must_check rpcrdma_mr_add(struct rpcrdma_mr_table *t, u32 index);

/** rpcrdma_mr_take - a free region, or -1 if there is none; it becomes HELD */
s32 __must_check rpcrdma_mr_take(struct rpcrdma_mr_table *t);

/**
 * rpcrdma_mr_event - something happened to a region
 * @t: the table
 * @index: the slot
 * @event: enum rpcrdma_mr_event
 * @handle: the rkey meant; must be the slot's own, except that POST sets it and
 *	LOSE, which concerns the region, ignores it
 *
 * Return: false if that cannot happen in this state; nothing changes.
 */
bool __must_check rpcrdma_mr_event(struct rpcrdma_mr_table *t, u32 index,
				   u32 event, u32 handle);

/** rpcrdma_mr_put - give back a HELD region. Return: false if it is not HELD */
bool __must_check rpcrdma_mr_put(struct rpcrdma_mr_table *t, u32 index);

/* ------------------------------------------------------------------ */
/* Sizes of a connection                                              */
/* ------------------------------------------------------------------ */

/**
 * struct rpcrdma_device_limits - the limits that a device reports
 * @max_send_sge: elements of memory that a Send or RDMA Write can take from
 * @max_recv_sge: elements that a Receive can fill
 * @max_sge_rd: elements that an RDMA Read can fill
 * @max_sgl_rd: ib_core registers the memory of an RDMA Read with more elements; zero if
 *	it never does
 * @max_qp_wr: Work Requests on one queue
 * @max_cqe: completions in one completion queue
 * @max_mr: memory regions of the device; zero if it does not say
 * @max_fast_reg_pages: pages of one region
 * @max_reads_in: RDMA Reads of a peer that are answered at once
 * @max_reads_out: RDMA Reads to a peer at once
 * @page_size: of the machine, in octets
 * @fast_reg: it registers memory by Work Requests
 * @iwarp: what an RDMA Read fills must be registered
 */
struct rpcrdma_device_limits {
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_sge_rd;
	u32 max_sgl_rd;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_mr;
	u32 max_fast_reg_pages;
	u32 max_reads_in;
	u32 max_reads_out;
	u32 page_size;
	bool fast_reg;
	bool iwarp;
};

/* Elements of a Send at most. */
#define RPCRDMA_MAX_GATHER	16

/* No adapter has fewer pages in a region. Memory is counted as if all had so many. */
#define RPCRDMA_LEAST_RW_PAGES	16

/* Pages of a Receive at most; a larger one is one buffer. */
#define RPCRDMA_MAX_RECV_PAGES	16

/**
 * struct rpcrdma_wants - what the owner of a connection would like to have
 * @window: Receives offered to the peer now
 * @max_window: the most that it may ever be
 * @recv_size: octets of a Receive
 * @recv_most: what Receives may grow to, in octets; not less than @recv_size, or zero
 * @recv_pages: Receives are to be of pages, which the owner can replace one by one
 * @recv_head: octets of a Receive that are in a page of their own, before the others
 * @send_ring: Sends outstanding
 * @send_size: octets of a Send
 * @send_most: what Sends may grow to, in octets; not less than @send_size, or zero
 * @gather: Sends are to take data from where it is
 * @regions: memory regions that the peer reaches, zero for none
 * @region_pages: pages of each
 * @max_payload: largest item of an RPC, in octets
 * @max_message: largest RPC message with all its items, in octets
 * @rw_ctxs: RDMA Read and Write contexts of ib_core, zero for none
 * @rw_sges: elements of each of their Work Requests
 * @rw_ops: operations of one message at most
 * @reads_in: RDMA Reads that the peer may have under way, zero for none
 * @reads_out: RDMA Reads that this side may have under way, zero for none
 */
struct rpcrdma_wants {
	u32 window;
	u32 max_window;
	u32 recv_size;
	u32 recv_most;
	bool recv_pages;
	u32 recv_head;
	u32 send_ring;
	u32 send_size;
	u32 send_most;
	bool gather;
	u32 regions;
	u32 region_pages;
	u32 max_payload;
	u32 max_message;
	u32 rw_ctxs;
	u32 rw_sges;
	u32 rw_ops;
	u32 reads_in;
	u32 reads_out;
};

/* Why a device cannot carry a connection. */
enum rpcrdma_unfit {
	RPCRDMA_FIT,
	RPCRDMA_UNFIT_ELEMENTS,		/* nothing can be sent or received */
	RPCRDMA_UNFIT_RECEIVES,		/* not even the smallest window */
	RPCRDMA_UNFIT_SENDS,		/* the largest message would wait for ever */
	RPCRDMA_UNFIT_READS,		/* no RDMA Reads */
	RPCRDMA_UNFIT_READ_ELEMENTS,	/* no memory for them to fill */
	RPCRDMA_UNFIT_REGISTRATION,	/* they need memory registered, and it is not */
	RPCRDMA_UNFIT_REGIONS,		/* iWARP, and too little can be registered */
	RPCRDMA_UNFIT_COUNT
};

/**
 * struct rpcrdma_sizes - the sizes of a connection
 * @unfit: enum rpcrdma_unfit; unless it is RPCRDMA_FIT nothing else is set
 * @window: Receives offered to the peer now
 * @max_window: the most that the queues have room for
 * @budget: Work Requests that may be on the send queue, but for invalidations
 * @send_wr: length of the send queue, at least; ib_core may add some
 * @recv_wr: length of the receive queue
 * @send_cqe: length of the completion queue for Sends
 * @recv_cqe: length of that for Receives
 * @send_sge: elements of each Work Request of the send queue
 * @gather_sge: of them, those that a Send uses at most; one if all its data is copied
 * @recv_sge: elements of each Receive
 * @recv_pages: pages of each Receive, an element each; zero if it is one buffer
 * @recv_most: what Receives may grow to with as many elements, in octets
 * @rw_ctxs: RDMA Read and Write contexts
 * @rw_pages: pages of an RDMA Read or Write at most; larger ones are cut
 * @largest: Work Requests of the operations of one message, at most
 * @regions: memory regions at most
 * @region_pages: pages of each
 * @first_regions: how many one Call can need
 * @chunk_payload: largest item that chunks can carry wherever in a page it begins, in
 *	octets
 * @version1: chunks can carry the largest item, as version 1 needs
 * @reads_in: RDMA Reads that the peer may have under way
 * @reads_out: RDMA Reads that this side may have under way
 */
struct rpcrdma_sizes {
	u32 unfit;
	u32 window;
	u32 max_window;
	u32 budget;
	u32 send_wr;
	u32 recv_wr;
	u32 send_cqe;
	u32 recv_cqe;
	u32 send_sge;
	u32 gather_sge;
	u32 recv_sge;
	u32 recv_pages;
	u32 recv_most;
	u32 rw_ctxs;
	u32 rw_pages;
	u32 largest;
	u32 regions;
	u32 region_pages;
	u32 first_regions;
	u32 chunk_payload;
	bool version1;
	u32 reads_in;
	u32 reads_out;
};

/**
 * rpcrdma_device_limit - a limit as struct ib_device_attr has it
 * @said: some members of it are signed up to Linux 7.2, all are unsigned since
 *
 * Return: the limit; zero for less than nothing.
 */
u32 __must_check rpcrdma_device_limit(s64 said);

/**
 * rpcrdma_size_conn - compute the sizes of a connection
 * @limits: of its device
 * @wants: what is wanted
 * @sizes: filled in; no more than the device can do
 *
 * Return: false if the device cannot carry the connection; @sizes->unfit tells why.
 */
bool __must_check rpcrdma_size_conn(const struct rpcrdma_device_limits *limits,
				    const struct rpcrdma_wants *wants,
				    struct rpcrdma_sizes *sizes);

/* ------------------------------------------------------------------ */
/* RFC 8797 private data                                              */
/* ------------------------------------------------------------------ */

#define RPCRDMA_CM_PRIVATE_SIZE	8

/**
 * struct rpcrdma_cm_private - RFC 8797 connection private data
 * @send_size: in octets; multiple of 1024, at most 262144
 * @recv_size: in octets; likewise
 * @remote_inv: Send With Invalidate is welcome
 * @given: decoded: the peer has sent it, this is not the default
 * @version2: the sender answers a message of version 2 (D5); by a flag that is reserved,
 *	so that all others ignore it
 */
struct rpcrdma_cm_private {
	u32 send_size;
	u32 recv_size;
	bool remote_inv;
	bool given;
	bool version2;
};

void rpcrdma_cm_private_encode(const struct rpcrdma_cm_private *p, void *buf);

/* If @buf is no such message, @p is the RFC's default. */
void rpcrdma_cm_private_decode(const void *buf, u32 len,
			       struct rpcrdma_cm_private *p);

/**
 * rpcrdma_session_private - the peer's private data has come
 * @s: the session
 * @p: as decoded, or the default
 *
 * In force if version 1 is. Until this is called the RFC's default is.
 */
void rpcrdma_session_private(struct rpcrdma_session *s,
			     const struct rpcrdma_cm_private *p);

/* Milliseconds that a client waits for the answer to its first message (D5). */
#define RPCRDMA_OPENING_MOST	10000
#define RPCRDMA_OPENING_LEAST	2000
/* Round trips that are as good as that, for a server that may be of version 1. */
#define RPCRDMA_OPENING_TRIPS	32

/**
 * rpcrdma_opening_wait - how long is the answer to the first message worth waiting for?
 * @p: what the server has said when it accepted
 * @round_trip: milliseconds that it took to accept
 *
 * Return: milliseconds.
 */
u32 __must_check rpcrdma_opening_wait(const struct rpcrdma_cm_private *p,
				      u32 round_trip);

/* ------------------------------------------------------------------ */
/* A server that is silent                                            */
/* ------------------------------------------------------------------ */

enum rpcrdma_silence_verdict {
	RPCRDMA_SILENCE_WAIT,		/* there is nothing to do */
	RPCRDMA_SILENCE_ASK,		/* send a probe */
	RPCRDMA_SILENCE_UNANSWERED,	/* no answer to the probe: give the connection up */
	RPCRDMA_SILENCE_NO_CREDIT,	/* Calls wait for credit that cannot come: likewise */
};

/**
 * struct rpcrdma_silence - how long a client has heard nothing; zero at first
 * @received: messages received at the last look
 * @quiet: looks without a message since the one before
 * @stalled: those of them at which Calls waited for credit and nothing was outstanding
 */
struct rpcrdma_silence {
	u32 received;
	u32 quiet;
	u32 stalled;
};

/**
 * struct rpcrdma_silence_seen - a connection when a client looks
 * @received: of struct rpcrdma_session_info
 * @outstanding: likewise
 * @may_ask: the client is to ask, and can
 * @asked: the probe is not answered
 * @posted: all of the probe is out
 * @kept: a Call was not admitted, and waits
 */
struct rpcrdma_silence_seen {
	u32 received;
	u32 outstanding;
	bool may_ask;
	bool asked;
	bool posted;
	bool kept;
};

/**
 * rpcrdma_silence_look - look at a connection, an interval after the last look
 * @s: of this connection
 * @seen: the connection now
 *
 * Return: enum rpcrdma_silence_verdict. The caller gives up a silent server at the third
 * look at the latest, with two exceptions: as long as a Reply is awaited, a Call or a
 * probe may wait for credit; and without @may_ask nobody finds out that a server is dead
 * to which nothing is to be sent.
 */
u32 __must_check rpcrdma_silence_look(struct rpcrdma_silence *s,
				      const struct rpcrdma_silence_seen *seen);

/* ------------------------------------------------------------------ */
/* Names, for traces and counters                                     */
/* ------------------------------------------------------------------ */

/** rpcrdma_type_count - header types there are, no more than RPCRDMA_MAX_TYPES */
u32 __must_check rpcrdma_type_count(void);
/** rpcrdma_type_name - of a header type, by its index */
const char *rpcrdma_type_name(u32 type);
/** rpcrdma_htype_name - of a header type, by its number on the wire */
const char *rpcrdma_htype_name(u32 htype);
/** rpcrdma_extension_count - extensions there are, the base protocol included */
u32 __must_check rpcrdma_extension_count(void);
/** rpcrdma_extension_name - of an extension, by its place in the list */
const char *rpcrdma_extension_name(u32 extension);
/** rpcrdma_property_count - properties there are, at most RPCRDMA_MAX_PROPERTIES */
u32 __must_check rpcrdma_property_count(void);
/** rpcrdma_property_name - of a property, by its index */
const char *rpcrdma_property_name(u32 property);
const char *rpcrdma_reason_name(u32 reason);
const char *rpcrdma_errcode_name(u32 errcode);
const char *rpcrdma_unfit_name(u32 unfit);
const char *rpcrdma_chunk_reason_name(u32 reason);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_CORE_H */
