// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * WRITEs by groups of Sends (rtrext).
 *
 * The data are copied into the Sends: then they need neither a registration nor the
 * server's RDMA Read, and the Call may be cancelled at any time. What a group cannot carry
 * now goes in the form that the planner has chosen.
 */
#include "../params.h"
#include "client.h"

/**
 * rpcrdma_req_plan_group - let a Call go by a group, if it can
 * @req: the RPC; its plan changes, and @req->tm.group is set
 * @conn: the connection, with its lock held
 * @shape: of the Call
 *
 * Only for data of a page or more, since they begin with a page at the server.
 */
void rpcrdma_req_plan_group(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct rpcrdma_call_shape *shape)
	__must_hold(&conn->lock)
{
	const u32 padded = xdr_align_size(shape->item.length);
	struct rpcrdma_message *msg = &req->tm.msg;
	struct rpcrdma_call_plan *plan = &req->plan;

	req->tm.group = NULL;
	if (req->no_group || !shape->reducible ||
	    shape->item.length < PAGE_SIZE ||
	    shape->item.offset + padded > shape->length ||
	    plan->chunks_required || plan->write_chunk || plan->call_chunk ||
	    plan->reply_chunk)
		return;
	msg->xid = be32_to_cpu(req->rqst.rq_xid);
	msg->dir = RPCRDMA_CALL;
	msg->length = shape->length - padded;
	msg->sent = 0;
	msg->external = false;
	msg->chunks = NULL;
	msg->call_only = !shape->reply_expected;
	if (!rpcrdma_rtr_plan(&conn->session, msg, shape->item.offset,
			      shape->item.length, &req->group))
		return;
	plan->read_chunk = false;
	plan->stream_length = msg->length;
	plan->removed.offset = shape->item.offset;
	plan->removed.length = padded;
	req->tm.group = &req->group;
}

/**
 * rpcrdma_req_ungroup - a Call cannot be sent as planned
 * @req: the RPC
 *
 * Return: true if it was to go by a group: now it can be sent in another form.
 */
bool rpcrdma_req_ungroup(struct rpcrdma_req *req)
{
	if (!req->tm.group)
		return false;
	req->no_group = true;
	return true;
}

/**
 * rpcrdma_req_group_refused - a Call has been refused
 * @req: the RPC
 * @rx: what the peer says of it
 *
 * Return: true if it went by a group, and another form may be accepted.
 */
bool rpcrdma_req_group_refused(struct rpcrdma_req *req,
			       const struct rpcrdma_rx *rx)
{
	if (!rx->reported)
		return false;
	switch (rx->errcode) {
	case RPCRDMA2_ERR_NONE:	/* a REPTERR */
	case RPCRDMA2_ERR_BAD_XDR:
	case RPCRDMA2_ERR_INVAL_HTYPE:
	case RPCRDMA2_ERR_INVAL_CONT:
	case RPCRDMA2_ERR_READ_CHUNKS:
	case RPCRDMA2_ERR_SEGMENTS:
		return rpcrdma_req_ungroup(req);
	default:
		return false;
	}
}
