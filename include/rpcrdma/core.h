/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The protocol core for C: what a session is and does. Beside it there is a header for each of
 * the other parts: plan.h (how an RPC message travels), sizes.h, regions.h, private_data.h,
 * silence.h, recent.h, budget.h, round_trip.h, adapt.h, auth.h, names.h, and for the extensions
 * rtrext.h and xcharext.h.
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
RPCRDMA_ENUM(rpcrdma_dir) {
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

RPCRDMA_ENUM(rpcrdma_rx_action) {
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
 * @errargs: FAIL_RPC, if @reported: the words with rdma_err, or of rpcrdma_rtr_reported()
 * @detail: with a @reason, what of the message is wrong, in words that last; or of that function
 * @detail_at: of an RPC message's header so many octets could be read; zero if nobody can say
 * @kick: something may be sent now that could not be before
 * @credits: Sends that the peer allows now
 * @taken_back: rdma_credit was less than in the message before (D2)
 * @ample: the peer still has credit for more than half of the window, so Receives that may wait
 *	by rpcrdma_session_may_wait() may wait longer; never in version 1
 * @opened: this message completed the initial exchange (section 4.3)
 * @abandon: the partly received message of direction @dir is void: free it.
 *	Set with any action; it is carried out before @action.
 * @dir: PAYLOAD, and @abandon: of the message
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
	enum rpcrdma_rx_action action;
	u32 reason;
	u32 htype;
	u32 type;
	u32 vers;
	u32 xid;
	/* Together, so that the compiler clears several of them at a time. */
	const char *detail;
	u32 detail_at;
	s32 error;
	u32 errcode;
	u32 errargs[2];
	u32 inv_handle;
	bool reported;
	bool opened;
	bool abandon;
	bool external;
	bool kick;
	bool taken_back;
	bool ample;
	bool last;
	u32 credits;
	enum rpcrdma_dir dir;
	struct rpcrdma_range payload;
	u32 stream_offset;
	u32 stream_length;
	u32 unreduced_length;
	struct rpcrdma_chunks chunks;
};

/**
 * struct rpcrdma_message - an RPC message to be sent, and how far it got
 * @xid: rdma_xid, host order
 * @dir: Call or Reply
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
	enum rpcrdma_dir dir;
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
	u32 errcode;
	u32 errargs[2];
	bool first;
	bool last;
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
 * rpcrdma_session_reserved - Sends that are still to come of Calls that were admitted
 * @s: the session
 *
 * Return: how many.
 */
u32 rpcrdma_session_reserved(const struct rpcrdma_session *s);

/**
 * rpcrdma_session_put_back - a Call was admitted, but its caller keeps it nevertheless
 * @s: the session
 * @msg: the Call, not begun
 *
 * The next Call can have its credits.
 */
void rpcrdma_session_put_back(struct rpcrdma_session *s,
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

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_CORE_H */
