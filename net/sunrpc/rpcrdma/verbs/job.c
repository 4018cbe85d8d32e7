// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work Requests without a message, which are RDMA Reads. And what follows for a Call if an RDMA
 * Read for it, or a Send of its Reply, fails.
 */
#include <trace/events/rpcrdma_v2.h>

#include "send.h"

/* Would the operation break another connection, too? Tell the owner. */
static void rpcrdma_wc_fault(struct rpcrdma_conn *conn, const struct ib_wc *wc,
			     u64 call)
{
	switch (wc->status) {
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_LOC_PROT_ERR:
	case IB_WC_LOC_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_ACCESS_ERR:
		conn->ops->fault(conn, call, true);
		break;
	case IB_WC_LOC_QP_OP_ERR:
	case IB_WC_REM_OP_ERR:
		/*
		 * There was no memory, perhaps only now. Or siw reports this for
		 * an operation under way when the connection broke for another reason.
		 */
		conn->ops->fault(conn, call, false);
		break;
	default:
		break;
	}
}

/**
 * rpcrdma_conn_fault - a Work Request for a Call of the peer has failed
 * @conn: the connection; it ends
 * @what: the operation
 * @wc: its completion
 * @call: rpcrdma_call_id() of the Call
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_fault(struct rpcrdma_conn *conn, const char *what,
			const struct ib_wc *wc, u64 call)
{
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		trace_rpcrdma_wc(conn->id, what, wc);
	/* Before the peer can send the Call again. */
	if (conn->ops->fault)
		rpcrdma_wc_fault(conn, wc, call);
	rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
}

static void rpcrdma_job_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_job *job = container_of(wc->wr_cqe, struct rpcrdma_job,
					       cqe);
	struct rpcrdma_conn *conn = job->conn;

	if (wc->status != IB_WC_SUCCESS) {
		/* rpcrdma_send_flush() ends it: siw may complete it again. */
		rpcrdma_conn_fault(conn, "RDMA Read", wc, job->call);
		return;
	}
	spin_lock(&conn->lock);
	list_del_init(&job->link);
	conn->sq_avail += job->cost;
	spin_unlock(&conn->lock);
	trace_rpcrdma_read_done(conn->id, lower_32_bits(job->call));
	job->done(job, 0);
	rpcrdma_conn_pump(conn);
}

/**
 * rpcrdma_conn_job - queue Work Requests that carry no message
 * @conn: the connection
 * @job: its cost, call, post and done are set; the connection owns it until its @done
 *
 * Context: Process context, no lock held.
 *
 * Return: 0, %-ENOTCONN if the connection is over, or %-ENOSPC if the job can
 * never fit the send queue; @job->done then does not run.
 */
int rpcrdma_conn_job(struct rpcrdma_conn *conn, struct rpcrdma_job *job)
{
	if (!rpcrdma_conn_fits(conn, job->cost))
		return -ENOSPC;
	job->conn = conn;
	job->cqe.done = rpcrdma_job_done;
	spin_lock(&conn->lock);
	if (!rpcrdma_conn_open(conn)) {
		spin_unlock(&conn->lock);
		return -ENOTCONN;
	}
	list_add_tail(&job->link, &conn->job_queue);
	rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
	return 0;
}
