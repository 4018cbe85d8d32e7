/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcrdma

#if !defined(_TRACE_RPCRDMA_V2_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_RPCRDMA_V2_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rpcrdma/auth.h>
#include <rpcrdma/names.h>
#include <rpcrdma/plan.h>

/* Names that trace-cmd can show without asking the module. */
#define rpcrdma_show_action(x)						\
	__print_symbolic(x,						\
		{ RPCRDMA_RX_DROP,		"drop" },		\
		{ RPCRDMA_RX_CONTROL,		"control" },		\
		{ RPCRDMA_RX_PAYLOAD,		"payload" },		\
		{ RPCRDMA_RX_FAIL_RPC,		"fail" },		\
		{ RPCRDMA_RX_CLOSE,		"close" })

TRACE_EVENT(rpcrdma_rx,
	TP_PROTO(u32 conn, const struct rpcrdma_rx *rx, u32 len),
	TP_ARGS(conn, rx, len),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, htype)
		__field(u32, action)
		__field(u32, len)
		__field(u32, offset)
		__field(u32, credits)
		__field(bool, taken_back)
		__field(u32, detail_at)
		__field(bool, refused)
		__string(type, rpcrdma_type_name(rx->type))
		__string(reason, rpcrdma_reason_name(rx->reason))
		__string(detail, rx->detail ? rx->detail : "")
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = rx->xid;
		__entry->htype = rx->htype;
		__entry->action = rx->action;
		__entry->len = len;
		__entry->offset = rx->stream_offset;
		__entry->credits = rx->credits;
		__entry->taken_back = rx->taken_back;
		rpcrdma_assign_str(type, rpcrdma_type_name(rx->type));
		__entry->detail_at = rx->detail_at;
		__entry->refused = rx->detail != NULL;
		rpcrdma_assign_str(reason, rpcrdma_reason_name(rx->reason));
		rpcrdma_assign_str(detail, rx->detail ? rx->detail : "");
	),
	TP_printk("conn=%u xid=0x%08x %s htype=%u len=%u offset=%u %s (%s%s%s) at=%u credits=%u%s",
		  __entry->conn, __entry->xid, __get_str(type),
		  __entry->htype, __entry->len, __entry->offset,
		  rpcrdma_show_action(__entry->action), __get_str(reason),
		  __entry->refused ? ": " : "", __get_str(detail),
		  __entry->detail_at, __entry->credits,
		  __entry->taken_back ? " taken back" : "")
);

TRACE_EVENT(rpcrdma_tx,
	TP_PROTO(u32 conn, const struct rpcrdma_tx *tx, u32 len),
	TP_ARGS(conn, tx, len),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, htype)
		__field(u32, len)
		__field(u32, offset)
		__string(type, rpcrdma_type_name(tx->type))
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = tx->xid;
		__entry->htype = tx->htype;
		__entry->len = len;
		__entry->offset = tx->payload.offset;
		rpcrdma_assign_str(type, rpcrdma_type_name(tx->type));
	),
	TP_printk("conn=%u xid=0x%08x %s htype=%u len=%u offset=%u",
		  __entry->conn, __entry->xid, __get_str(type),
		  __entry->htype, __entry->len, __entry->offset)
);

TRACE_EVENT(rpcrdma_refuse,
	TP_PROTO(u32 conn, const struct rpcrdma_tx *tx),
	TP_ARGS(conn, tx),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, arg0)
		__field(u32, arg1)
		__string(errcode, rpcrdma_errcode_name(tx->errcode))
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = tx->xid;
		__entry->arg0 = tx->errargs[0];
		__entry->arg1 = tx->errargs[1];
		rpcrdma_assign_str(errcode, rpcrdma_errcode_name(tx->errcode));
	),
	TP_printk("conn=%u xid=0x%08x %s %u %u", __entry->conn, __entry->xid,
		  __get_str(errcode), __entry->arg0, __entry->arg1)
);

/* A REPTERR has no code of version 2: the core names its own. */
#define rpcrdma_rx_errcode(rx)						\
	((rx)->reported && !(rx)->errcode && (rx)->detail ?		\
	 (rx)->detail : rpcrdma_errcode_name((rx)->errcode))

TRACE_EVENT(rpcrdma_retry,
	TP_PROTO(u32 conn, const struct rpcrdma_rx *rx, u32 avoid, int status),
	TP_ARGS(conn, rx, avoid, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, arg0)
		__field(u32, arg1)
		__field(u32, avoid)
		__field(int, status)
		__string(errcode, rpcrdma_rx_errcode(rx))
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = rx->xid;
		__entry->arg0 = rx->errargs[0];
		__entry->arg1 = rx->errargs[1];
		__entry->avoid = avoid;
		__entry->status = status;
		rpcrdma_assign_str(errcode, rpcrdma_rx_errcode(rx));
	),
	TP_printk("conn=%u xid=0x%08x %s %u %u avoid=0x%x status=%d",
		  __entry->conn, __entry->xid, __get_str(errcode),
		  __entry->arg0, __entry->arg1, __entry->avoid,
		  __entry->status)
);

#define rpcrdma_show_auth(x)						\
	__print_symbolic(x,						\
		{ RPCRDMA_AUTH_DONE,		"authenticated" },	\
		{ RPCRDMA_AUTH_WITHOUT,		"without" },		\
		{ RPCRDMA_AUTH_FAILED,		"failed" })

TRACE_EVENT(rpcrdma_auth,
	TP_PROTO(u32 conn, const char *key, u32 state, u32 reason,
		 const char *name),
	TP_ARGS(conn, key, state, reason, name),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, state)
		__string(key, key)
		__string(reason, rpcrdma_auth_reason_name(reason))
		__string(name, name)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->state = state;
		rpcrdma_assign_str(key, key);
		rpcrdma_assign_str(reason, rpcrdma_auth_reason_name(reason));
		rpcrdma_assign_str(name, name);
	),
	TP_printk("conn=%u %s (%s) key=%s %s", __entry->conn,
		  rpcrdma_show_auth(__entry->state), __get_str(reason),
		  __get_str(key), __get_str(name))
);

TRACE_EVENT(rpcrdma_keepalive,
	TP_PROTO(u32 conn, u32 xid, const char *what),
	TP_ARGS(conn, xid, what),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__string(what, what)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		rpcrdma_assign_str(what, what);
	),
	TP_printk("conn=%u xid=0x%08x %s", __entry->conn, __entry->xid,
		  __get_str(what))
);

/* The exchange of properties is complete. */
TRACE_EVENT(rpcrdma_up,
	TP_PROTO(u32 conn, u32 version, const char *name),
	TP_ARGS(conn, version, name),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, version)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->version = version;
		rpcrdma_assign_str(name, name);
	),
	TP_printk("conn=%u version=%u %s", __entry->conn, __entry->version,
		  __get_str(name))
);

TRACE_EVENT(rpcrdma_lost,
	TP_PROTO(u32 conn, const char *why),
	TP_ARGS(conn, why),
	TP_STRUCT__entry(
		__field(u32, conn)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->conn = conn;
		rpcrdma_assign_str(why, why);
	),
	TP_printk("conn=%u %s", __entry->conn, __get_str(why))
);

TRACE_EVENT(rpcrdma_window,
	TP_PROTO(u32 conn, u32 window, int status),
	TP_ARGS(conn, window, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, window)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->window = window;
		__entry->status = status;
	),
	TP_printk("conn=%u window=%u status=%d", __entry->conn,
		  __entry->window, __entry->status)
);

/* Sends or Receives of a connection get another size. */
TRACE_EVENT(rpcrdma_resize,
	TP_PROTO(u32 conn, const char *what, u32 size),
	TP_ARGS(conn, what, size),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, size)
		__string(what, what)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->size = size;
		rpcrdma_assign_str(what, what);
	),
	TP_printk("conn=%u %s size=%u", __entry->conn, __get_str(what),
		  __entry->size)
);

/* A message is not sent now, since it lacks something. */
TRACE_EVENT(rpcrdma_wait,
	TP_PROTO(u32 conn, u32 xid, const char *what),
	TP_ARGS(conn, xid, what),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__string(what, what)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		rpcrdma_assign_str(what, what);
	),
	TP_printk("conn=%u xid=0x%08x %s", __entry->conn, __entry->xid,
		  __get_str(what))
);

#define rpcrdma_show_chunks(x)						\
	__print_flags(x, "|",						\
		{ RPCRDMA_AVOID_READ_CHUNK,	"READ" },		\
		{ RPCRDMA_AVOID_WRITE_CHUNK,	"WRITE" },		\
		{ RPCRDMA_AVOID_CALL_CHUNK,	"CALL" },		\
		{ RPCRDMA_AVOID_REPLY_CHUNK,	"REPLY" })

/* A Call is planned: which chunks it is to have, and why. */
TRACE_EVENT(rpcrdma_chunks,
	TP_PROTO(u32 conn, u32 xid, const struct rpcrdma_call_shape *shape,
		 const struct rpcrdma_plan_reasons *why),
	TP_ARGS(conn, xid, shape, why),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, len)
		__field(u32, item)
		__field(u32, result)
		__field(u32, avoid)
		__field(u32, chunks)
		__string(call_why, rpcrdma_chunk_reason_name(why->call))
		__string(result_why, rpcrdma_chunk_reason_name(why->result))
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		__entry->len = shape->length;
		__entry->item = shape->item.length;
		__entry->result = shape->result_max;
		__entry->avoid = shape->avoid;
		__entry->chunks = why->chunks;
		rpcrdma_assign_str(call_why,
				   rpcrdma_chunk_reason_name(why->call));
		rpcrdma_assign_str(result_why,
				   rpcrdma_chunk_reason_name(why->result));
	),
	TP_printk("conn=%u xid=0x%08x len=%u item=%u (%s) result=%u (%s) avoid=0x%x chunks=%s",
		  __entry->conn, __entry->xid, __entry->len, __entry->item,
		  __get_str(call_why), __entry->result,
		  __get_str(result_why), __entry->avoid,
		  rpcrdma_show_chunks(__entry->chunks))
);

/* A chunk of the plan cannot be had: the Call goes without. */
TRACE_EVENT(rpcrdma_without,
	TP_PROTO(u32 conn, u32 xid, u32 chunk, int status),
	TP_ARGS(conn, xid, chunk, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, chunk)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		__entry->chunk = chunk;
		__entry->status = status;
	),
	TP_printk("conn=%u xid=0x%08x %s status=%d", __entry->conn,
		  __entry->xid, rpcrdma_show_chunks(__entry->chunk),
		  __entry->status)
);

/* Parts of a message have come, and the rest will not be taken. */
TRACE_EVENT(rpcrdma_abandon,
	TP_PROTO(u32 conn, u32 xid, u32 dir, const char *why),
	TP_ARGS(conn, xid, dir, why),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, dir)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		__entry->dir = dir;
		rpcrdma_assign_str(why, why);
	),
	TP_printk("conn=%u xid=0x%08x %s %s", __entry->conn, __entry->xid,
		  __print_symbolic(__entry->dir,
				   { RPCRDMA_CALL, "CALL" },
				   { RPCRDMA_REPLY, "REPLY" }),
		  __get_str(why))
);

/* Calls that were kept may try again. */
TRACE_EVENT(rpcrdma_room,
	TP_PROTO(u32 conn),
	TP_ARGS(conn),
	TP_STRUCT__entry(
		__field(u32, conn)
	),
	TP_fast_assign(
		__entry->conn = conn;
	),
	TP_printk("conn=%u", __entry->conn)
);

/* A Call gets no Reply: why. */
TRACE_EVENT(rpcrdma_call,
	TP_PROTO(u32 conn, u32 xid, const char *what, int status),
	TP_ARGS(conn, xid, what, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(int, status)
		__string(what, what)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		__entry->status = status;
		rpcrdma_assign_str(what, what);
	),
	TP_printk("conn=%u xid=0x%08x %s status=%d", __entry->conn,
		  __entry->xid, __get_str(what), __entry->status)
);

TRACE_EVENT(rpcrdma_wc,
	TP_PROTO(u32 conn, const char *what, const struct ib_wc *wc),
	TP_ARGS(conn, what, wc),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, vendor_err)
		__string(what, what)
		__string(status, ib_wc_status_msg(wc->status))
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->vendor_err = wc->vendor_err;
		rpcrdma_assign_str(what, what);
		rpcrdma_assign_str(status, ib_wc_status_msg(wc->status));
	),
	TP_printk("conn=%u %s: %s (0x%x)", __entry->conn, __get_str(what),
		  __get_str(status), __entry->vendor_err)
);

TRACE_EVENT(rpcrdma_cm,
	TP_PROTO(const struct rdma_cm_id *id,
		 const struct rdma_cm_event *event),
	TP_ARGS(id, event),
	TP_STRUCT__entry(
		__field(int, status)
		__string(event, rdma_event_msg(event->event))
		__array(u8, src, sizeof(struct sockaddr_in6))
		__array(u8, dst, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		__entry->status = event->status;
		rpcrdma_assign_str(event, rdma_event_msg(event->event));
		memcpy(__entry->src, &id->route.addr.src_addr,
		       sizeof(struct sockaddr_in6));
		memcpy(__entry->dst, &id->route.addr.dst_addr,
		       sizeof(struct sockaddr_in6));
	),
	TP_printk("%pISpc - %pISpc %s status=%d", __entry->src, __entry->dst,
		  __get_str(event), __entry->status)
);

#define rpcrdma_show_direction(x)					\
	__print_symbolic(x,						\
		{ DMA_BIDIRECTIONAL,		"BIDIR" },		\
		{ DMA_TO_DEVICE,		"TO_DEVICE" },		\
		{ DMA_FROM_DEVICE,		"FROM_DEVICE" },	\
		{ DMA_NONE,			"NONE" })

/*
 * These three events have the same names and meanings in the kernel's own transport: a Work
 * Request that registers a memory region is posted, a Work Request that invalidates it is
 * posted, a Reply has come that has invalidated it. Common fields have the same names.
 */
DECLARE_EVENT_CLASS(xprtrdma_mr_class,
	TP_PROTO(u32 conn, u32 index, const struct ib_mr *mr, int nents,
		 u32 dir),
	TP_ARGS(conn, index, mr, nents, dir),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, index)
		__field(u32, mr_id)
		__field(int, nents)
		__field(u32, handle)
		__field(u32, length)
		__field(u64, offset)
		__field(u32, dir)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->index = index;
		__entry->mr_id = mr->res.id;
		__entry->nents = nents;
		__entry->handle = mr->rkey;
		__entry->length = mr->length;
		__entry->offset = mr->iova;
		__entry->dir = dir;
	),
	TP_printk("conn=%u region=%u mr.id=%u nents=%d %u@0x%016llx:0x%08x (%s)",
		  __entry->conn, __entry->index, __entry->mr_id,
		  __entry->nents, __entry->length,
		  (unsigned long long)__entry->offset, __entry->handle,
		  rpcrdma_show_direction(__entry->dir))
);

#define DEFINE_MR_EVENT(name)						\
	DEFINE_EVENT(xprtrdma_mr_class, xprtrdma_mr_##name,		\
		TP_PROTO(u32 conn, u32 index, const struct ib_mr *mr,	\
			 int nents, u32 dir),				\
		TP_ARGS(conn, index, mr, nents, dir))

DEFINE_MR_EVENT(fastreg);
DEFINE_MR_EVENT(localinv);
DEFINE_MR_EVENT(reminv);

DECLARE_EVENT_CLASS(rpcrdma_mr_class,
	TP_PROTO(u32 conn, u32 index, u32 handle),
	TP_ARGS(conn, index, handle),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, index)
		__field(u32, handle)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->index = index;
		__entry->handle = handle;
	),
	TP_printk("conn=%u region=%u handle=0x%08x", __entry->conn,
		  __entry->index, __entry->handle)
);

/* A Local Invalidate is done: the peer cannot reach the region any more. */
DEFINE_EVENT(rpcrdma_mr_class, rpcrdma_mr_invalidated,
	TP_PROTO(u32 conn, u32 index, u32 handle),
	TP_ARGS(conn, index, handle));

/* A connection ends and takes back a region that was lost before. */
DEFINE_EVENT(rpcrdma_mr_class, rpcrdma_mr_lost,
	TP_PROTO(u32 conn, u32 index, u32 handle),
	TP_ARGS(conn, index, handle));

/* Regions were allocated. The kernel's own transport has the name, too. */
TRACE_EVENT(xprtrdma_createmrs,
	TP_PROTO(u32 conn, u32 count),
	TP_ARGS(conn, count),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, count)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->count = count;
	),
	TP_printk("conn=%u created %u regions", __entry->conn, __entry->count)
);

/* An RDMA Read or Write of the server: how many Work Requests it takes, or an errno. */
TRACE_EVENT(rpcrdma_rw,
	TP_PROTO(u32 conn, u32 xid, u32 dir, u32 nents, u32 length, u32 handle,
		 u64 offset, int wrs),
	TP_ARGS(conn, xid, dir, nents, length, handle, offset, wrs),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, dir)
		__field(u32, nents)
		__field(u32, length)
		__field(u32, handle)
		__field(u64, offset)
		__field(int, wrs)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		__entry->dir = dir;
		__entry->nents = nents;
		__entry->length = length;
		__entry->handle = handle;
		__entry->offset = offset;
		__entry->wrs = wrs;
	),
	TP_printk("conn=%u xid=0x%08x nents=%u %u@0x%016llx:0x%08x wrs=%d (%s)",
		  __entry->conn, __entry->xid, __entry->nents, __entry->length,
		  (unsigned long long)__entry->offset, __entry->handle,
		  __entry->wrs, rpcrdma_show_direction(__entry->dir))
);

/* The server has fetched what a Call has in Read chunks. */
TRACE_EVENT(rpcrdma_read_done,
	TP_PROTO(u32 conn, u32 xid),
	TP_ARGS(conn, xid),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
	),
	TP_printk("conn=%u xid=0x%08x", __entry->conn, __entry->xid)
);

/* An nfsd thread has taken a Call. */
TRACE_EVENT(rpcrdma_serve,
	TP_PROTO(u32 conn, u32 xid, u32 len, u32 ready),
	TP_ARGS(conn, xid, len, ready),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, xid)
		__field(u32, len)
		__field(u32, ready)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->xid = xid;
		__entry->len = len;
		__entry->ready = ready;
	),
	TP_printk("conn=%u xid=0x%08x len=%u ready=%u", __entry->conn,
		  __entry->xid, __entry->len, __entry->ready)
);

/* What becomes of a client's request for a connection, until it is accepted. */
TRACE_EVENT(rpcrdma_request,
	TP_PROTO(const struct rdma_cm_id *id, const char *what, u32 pending),
	TP_ARGS(id, what, pending),
	TP_STRUCT__entry(
		__field(u32, pending)
		__string(what, what)
		__array(u8, client, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		__entry->pending = pending;
		rpcrdma_assign_str(what, what);
		memcpy(__entry->client, &id->route.addr.dst_addr,
		       sizeof(struct sockaddr_in6));
	),
	TP_printk("%pISpc %s pending=%u", __entry->client, __get_str(what),
		  __entry->pending)
);

/* A device cannot carry connections. */
TRACE_EVENT(rpcrdma_unfit,
	TP_PROTO(const char *device, u32 role, const char *why),
	TP_ARGS(device, role, why),
	TP_STRUCT__entry(
		__field(u32, role)
		__string(device, device)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->role = role;
		rpcrdma_assign_str(device, device);
		rpcrdma_assign_str(why, why);
	),
	TP_printk("%s as %s: %s", __get_str(device),
		  __print_symbolic(__entry->role,
				   { RPCRDMA_ROLE_CLIENT, "client" },
				   { RPCRDMA_ROLE_SERVER, "server" }),
		  __get_str(why))
);

TRACE_EVENT(rpcrdma_connect,
	TP_PROTO(const char *server, const char *step, int status),
	TP_ARGS(server, step, status),
	TP_STRUCT__entry(
		__field(int, status)
		__string(server, server)
		__string(step, step)
	),
	TP_fast_assign(
		__entry->status = status;
		rpcrdma_assign_str(server, server);
		rpcrdma_assign_str(step, step);
	),
	TP_printk("%s %s status=%d", __get_str(server), __get_str(step),
		  __entry->status)
);

TRACE_EVENT(rpcrdma_broken,
	TP_PROTO(const char *file, int line, const char *what),
	TP_ARGS(file, line, what),
	TP_STRUCT__entry(
		__field(int, line)
		__string(file, file)
		__string(what, what)
	),
	TP_fast_assign(
		__entry->line = line;
		rpcrdma_assign_str(file, file);
		rpcrdma_assign_str(what, what);
	),
	TP_printk("%s:%d %s", __get_str(file), __entry->line, __get_str(what))
);

#endif /* _TRACE_RPCRDMA_V2_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH trace/events
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rpcrdma_v2
#include <trace/define_trace.h>
