/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * All sizes and times. Sizes are in bytes unless the name or comment says otherwise.
 */
#ifndef _RPCRDMA_PARAMS_H
#define _RPCRDMA_PARAMS_H

#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>

/*
 * Largest READ or WRITE of an NFS client of Linux, and what surrounds it in the largest
 * message. nfsd says how large they may be from others.
 */
#define RPCRDMA_MAX_PAYLOAD	SZ_1M
#define RPCRDMA_SURROUNDING	SZ_64K
#define RPCRDMA_MAX_MESSAGE	(RPCRDMA_MAX_PAYLOAD + RPCRDMA_SURROUNDING)

/* Send and Receive buffers, and the number of Receives offered to the peer. */
#define RPCRDMA_DEF_INLINE	8192
/*
 * What Sends and Receives of a connection grow to if that pays and its peer takes part. With
 * 32 KiB a WRITE up to the threshold below takes one Send. The module parameter grow changes it.
 */
#define RPCRDMA_DEF_GROW	SZ_32K
#define RPCRDMA_MAX_GROW	SZ_64K
/*
 * Server: what Receives are at the beginning and at rest, if the client takes part: a page,
 * since the smallest Receive of pages is one. A client cannot begin so: it says what it has
 * before it knows its server.
 */
#define RPCRDMA_REST_INLINE	PAGE_SIZE
/*
 * Server: Receives until the first message has come, which is all that a client may send
 * before it has heard of the server (D2).
 */
#define RPCRDMA_OPENING_RECVS	2
#define RPCRDMA_DEF_WINDOW	64
#define RPCRDMA_MAX_WINDOW	16384
/*
 * A connection has queues for so many Receives, or for the window of the moment if that is larger.
 * It begins with so many at most, and as many are posted at a time.
 */
#define RPCRDMA_WINDOW_STEP	256
#define RPCRDMA_SEND_RING	64
/*
 * Sends that have a buffer at rest: a quarter of the ring, which may wait for the completion of one
 * Send, and some more.
 */
#define RPCRDMA_SEND_REST	(RPCRDMA_SEND_RING / 4 + 8)

/*
 * DDP-eligible items up to this size travel in the Payload stream. The
 * module parameter ddp_threshold changes it.
 */
#define RPCRDMA_DEF_THRESHOLD	SZ_16K

/*
 * Payload streams up to this size travel in Sends, larger ones in a body chunk
 * if possible. The module parameter special_threshold changes it.
 */
#define RPCRDMA_DEF_SPECIAL	SZ_64K

/*
 * Client: microseconds of a round trip from which on larger Calls travel in Sends, too, if
 * that is cheaper. What two machines take for a small Call is less. The module parameter
 * stream_from changes it.
 */
#define RPCRDMA_DEF_STREAM_FROM	500
/* Calls and Replies up to this size tell how long a round trip takes. */
#define RPCRDMA_ROUND_TRIP_SIZE	SZ_8K
/* Of the Send buffers, one in so many is for others than these large Calls. */
#define RPCRDMA_STREAM_SPARES	8

/* Client: seconds of silence before it asks whether the server is there. */
#define RPCRDMA_DEF_KEEPALIVE	30
/* Client that does not ask: time between two looks whether Calls wait in vain for credit. */
#define RPCRDMA_UNASKED_INTERVAL	(60U * HZ)

/* Client: RPCs at once, and memory regions for them. */
#define RPCRDMA_DEF_SLOTS	128
#define RPCRDMA_MAX_MRS		256
#define RPCRDMA_MR_BATCH	16
#define RPCRDMA_MR_PAGES	(RPCRDMA_MAX_PAYLOAD / PAGE_SIZE + 1)

#define RPCRDMA_BIND_TIMEOUT	(60U * HZ)
#define RPCRDMA_CM_TIMEOUT_MS	5000
#define RPCRDMA_CONNECT_TIMEOUT	(60U * HZ)
#define RPCRDMA_INIT_REEST	(5U * HZ)
#define RPCRDMA_MAX_REEST	(30U * HZ)
/* The client remembers this long that a server did not answer version 2. */
#define RPCRDMA_SILENT_SECONDS	(60U * 60)
/* Seconds. The module parameter idle_timeout changes it. */
#define RPCRDMA_IDLE_TIMEOUT	(5U * 60)

/*
 * Server. All clients of a cluster may connect at once when the server comes back. Bounds:
 * connection requests that iWARP keeps; requests that this module keeps until they are
 * accepted, some kilobytes each; for each connection: Calls of version 1 that wait
 * for a thread in their Receives, memory of Calls that no nfsd thread has picked up,
 * Replies that are not yet sent and their memory, RDMA contexts and the scatter elements
 * of each of their Work Requests.
 */
#define RPCRDMA_LISTEN_BACKLOG	1024
#define RPCRDMA_MAX_PENDING	4096
#define RPCRDMA_SVC_V1_KEPT	16
/*
 * Server: if too many clients have shown no file handle yet, so much time is between two requests
 * that a listener accepts all the same, and it looks so often whether there are fewer. Then 64 of
 * them, sunrpc's limit, have six seconds.
 */
#define RPCRDMA_NEWCOMER_GAP	(HZ / 10)
#define RPCRDMA_NEWCOMER_LOOK	(HZ / 50)
/*
 * Server: a Call of so many bytes is not copied; the thread takes the pages of its Receive.
 * For each page, one is mapped and one unmapped, which costs more than to copy a small Call.
 */
#define RPCRDMA_SVC_SWAP	SZ_2K
#define RPCRDMA_SVC_CALL_MEMORY	(8 * RPCRDMA_MAX_MESSAGE)
#define RPCRDMA_SVC_REPLIES	(2 * RPCRDMA_DEF_WINDOW)
#define RPCRDMA_SVC_REPLY_MEMORY	(16 * RPCRDMA_MAX_PAYLOAD)
/*
 * Server: what Replies of a connection may take without being in its account, which needs a
 * lock: some of up to 16 KiB at a time.
 */
#define RPCRDMA_SVC_REPLY_POOL	SZ_128K
#define RPCRDMA_SVC_RW_CTXS	64
#define RPCRDMA_SVC_RW_PAGES	16

/*
 * Server: data of a Reply of so many bytes in one piece is not copied, the adapter takes it
 * from where it is. That takes one mapping and one unmapping a page, which cost more than to
 * copy less.
 */
#define RPCRDMA_SVC_GATHER	SZ_2K
/* Server: how long it turns away a client that has failed to authenticate too often. */
#define RPCRDMA_AUTH_PAUSE_SECONDS	10

/* Server: RDMA Reads under way at once; device and client may lower it. */
#define RPCRDMA_DEF_READS	16

/*
 * rtrext: what of a server's Receive is before its pages, for header and Payload stream. It
 * travels with each Send that has data, filled or not.
 */
#define RPCRDMA_RTR_HEAD	SZ_1K
/*
 * Server: Replies that went by groups and are kept, in case that the client refuses one. The
 * one that was sent first is dropped when there are more, or when they have more bytes.
 */
#define RPCRDMA_SVC_SENT	16
#define RPCRDMA_SVC_SENT_MEMORY	SZ_1M
/*
 * And no longer than twice so many seconds: a client refuses a Reply as soon as it has come,
 * and whoever has not got it after this time waits for a Reply to a Call that is sent again.
 */
#define RPCRDMA_SVC_SENT_SECONDS	10
/* The module parameter rtrext is a switch. */
#define RPCRDMA_MAX_RTREXT	1
/* Client: what it does with the memory of a Write chunk, see rtrext_offer in module.c. */
#define RPCRDMA_OFFER_EXRW	1
#define RPCRDMA_OFFER_CHOICE	2
#define RPCRDMA_OFFER_BYSIZE	3
#define RPCRDMA_MAX_RTREXT_OFFER	RPCRDMA_OFFER_BYSIZE

/* Sysctls; new mounts and connections use them. sysctl.c */
extern unsigned int rpcrdma_slots;
extern unsigned int rpcrdma_inline_read;
extern unsigned int rpcrdma_inline_write;
extern unsigned int rpcrdma_svc_inline;
extern unsigned int rpcrdma_svc_reads;

int rpcrdma_sysctl_init(void);
void rpcrdma_sysctl_exit(void);

/* module.c, with what sets them in verbs/rtr.c and verbs/window.c */
extern unsigned int rpcrdma_rtrext;
extern const struct kernel_param_ops rpcrdma_rtrext_ops;
extern unsigned int rpcrdma_rtrext_offer;
extern const struct kernel_param_ops rpcrdma_rtrext_offer_ops;
extern unsigned int rpcrdma_window;
void rpcrdma_window_change(unsigned int window);
extern const struct kernel_param_ops rpcrdma_window_ops;

/* module.c; resize.c */
extern unsigned int rpcrdma_grow;
extern u64 rpcrdma_recv_limit;
extern const struct kernel_param_ops rpcrdma_grow_ops;

#endif /* _RPCRDMA_PARAMS_H */
