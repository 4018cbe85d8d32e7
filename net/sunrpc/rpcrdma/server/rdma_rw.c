// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA Reads and Writes by the rdma_rw API, which registers memory for the devices
 * that need it.
 *
 * A set of operations is filled one by one, chained, and posted once. It is
 * freed when its last Work Request has completed, or when the queue pair has
 * been drained. If the client has not made its memory accessible for an
 * operation, the connection ends, and the set tells which Call the operation
 * was for.
 *
 * Registered memory takes regions from those of the queue pair, which it has from its beginning.
 * If too few are free, others come back when a set is freed, if there is one: rpcrdma_conn.rw_sets
 * counts them. Who frees a set looks afterwards for what waits: rpcrdma_svc_freed().
 */
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "../verbs/dma.h"
#include "server.h"

/* One of the Work Requests failed or was flushed. */
static void rpcrdma_svc_rw_failed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_svc_rw *rw = container_of(wc->wr_cqe,
						 struct rpcrdma_svc_rw, cqe);

	/* Not signaled: only a Work Request that failed completes. */
	if (wc->status == IB_WC_SUCCESS)
		return;
	rpcrdma_conn_fault(rw->conn, rw->dir == DMA_FROM_DEVICE ?
			   "RDMA Read" : "RDMA Write", wc, rw->call);
}

/**
 * rpcrdma_svc_rw_alloc - an empty set of operations
 * @conn: connection they will go through
 * @call: rpcrdma_call_id() of the Call they are for
 * @dir: %DMA_FROM_DEVICE for RDMA Reads, %DMA_TO_DEVICE for RDMA Writes
 * @max_ops: largest number of operations, without those that large ones are cut into
 * @octets: most bytes that all of them move together
 * @gfp: how to get memory
 *
 * Context: Process context. May sleep, if @gfp says so.
 *
 * Return: the set, or NULL.
 */
struct rpcrdma_svc_rw *rpcrdma_svc_rw_alloc(struct rpcrdma_conn *conn, u64 call,
					    enum dma_data_direction dir,
					    u32 max_ops, u32 octets, gfp_t gfp)
{
	/* Each operation can begin and end inside a page. */
	const u32 max_sge = octets / PAGE_SIZE + 2 * max_ops;
	struct rpcrdma_svc_rw *rw;

	max_ops += max_sge / conn->rw_pages;
	rw = kzalloc(struct_size(rw, ops, max_ops), gfp);
	if (!rw)
		return NULL;
	rw->conn = conn;
	rw->cqe.done = rpcrdma_svc_rw_failed;
	rw->call = call;
	rw->dir = dir;
	rw->max_ops = max_ops;
	rw->max_sge = max_sge;
	rw->sgl = kvmalloc_array(rw->max_sge, sizeof(*rw->sgl), gfp);
	if (!rw->sgl) {
		kfree(rw);
		return NULL;
	}
	sg_init_table(rw->sgl, rw->max_sge);
	atomic_inc(&conn->rw_sets);
	/* A full barrier: see rpcrdma_svc_rw_none(). */
	atomic_inc_return(&conn->rw_made);
	return rw;
}

/**
 * rpcrdma_svc_rw_none - does no set of a connection exist?
 * @conn: the connection
 * @made: filled in, for rpcrdma_svc_rw_only()
 *
 * Return: true if so. There may be one a moment later.
 */
bool rpcrdma_svc_rw_none(const struct rpcrdma_conn *conn, u32 *made)
{
	*made = atomic_read(&conn->rw_made);
	/* A set that is not counted here is made later, and counted there. */
	smp_rmb();
	return !atomic_read_acquire(&conn->rw_sets);
}

/**
 * rpcrdma_svc_rw_only - has there been one set only since none existed?
 * @conn: the connection
 * @made: of rpcrdma_svc_rw_none(), which has returned true
 *
 * Return: true if so. If that set found too few memory regions free, nobody else had any.
 */
bool rpcrdma_svc_rw_only(const struct rpcrdma_conn *conn, u32 made)
{
	return (u32)atomic_read(&conn->rw_made) == made + 1;
}

/**
 * rpcrdma_svc_rw_free - end a set of operations
 * @rw: none of them is under way; the queue pair still exists
 *
 * Context: Process context.
 */
void rpcrdma_svc_rw_free(struct rpcrdma_svc_rw *rw)
{
	struct rpcrdma_conn *conn = rw->conn;
	struct rpcrdma_svc_op *op;

	while (rw->n_ops) {
		op = &rw->ops[--rw->n_ops];
		rpcrdma_dma_entries(NULL, -1);
		rdma_rw_ctx_destroy(&op->ctx, conn->qp, conn->cm_id->port_num,
				    op->sgl, op->nents, rw->dir);
	}
	kvfree(rw->sgl);
	kfree(rw);
	/*
	 * A full barrier: who sees the new number finds the regions, and who does not was seen
	 * to wait.
	 */
	atomic_dec_return(&conn->rw_sets);
}

static bool rpcrdma_svc_rw_sge(struct rpcrdma_svc_rw *rw, struct page *page,
			       u32 offset, u32 length)
{
	if (rw->n_sge == rw->max_sge)
		return false;
	sg_set_page(&rw->sgl[rw->n_sge++], page, length, offset);
	return true;
}

static bool rpcrdma_svc_rw_array(struct rpcrdma_svc_rw *rw,
				 struct page **pages,
				 const struct rpcrdma_range *range)
{
	u32 offset = range->offset;
	u32 left = range->length;
	u32 run;

	while (left) {
		run = min_t(u32, left, PAGE_SIZE - offset_in_page(offset));
		if (!rpcrdma_svc_rw_sge(rw, pages[offset >> PAGE_SHIFT],
					offset_in_page(offset), run))
			return false;
		offset += run;
		left -= run;
	}
	return true;
}

/* ib_core maps the elements, and unmaps them if there is another failure. */
static int rpcrdma_svc_rw_init(struct rpcrdma_svc_rw *rw,
			       struct rpcrdma_svc_op *op, u64 address,
			       u32 handle)
{
	struct rpcrdma_conn *conn = rw->conn;
	int rc;

	rc = rdma_rw_ctx_init(&op->ctx, conn->qp, conn->cm_id->port_num,
			      op->sgl, op->nents, 0, address, handle, rw->dir);
	if (rc < 0 || rpcrdma_dma_entries(NULL, 1))
		return rc;
	rdma_rw_ctx_destroy(&op->ctx, conn->qp, conn->cm_id->port_num, op->sgl,
			    op->nents, rw->dir);
	return -EIO;
}

/* Make one operation of the scatter elements from @first on, @length bytes. */
static int rpcrdma_svc_rw_commit(struct rpcrdma_svc_rw *rw, u32 first,
				 u32 length, u32 handle, u64 address)
{
	struct rpcrdma_conn *conn = rw->conn;
	struct rpcrdma_svc_op *op;
	int rc;

	if (rw->n_ops == rw->max_ops || rw->n_sge == first)
		return -EINVAL;
	op = &rw->ops[rw->n_ops];
	op->sgl = &rw->sgl[first];
	op->nents = rw->n_sge - first;
	sg_mark_end(&rw->sgl[rw->n_sge - 1]);
	rc = rpcrdma_svc_rw_init(rw, op, address, handle);
	trace_rpcrdma_rw(conn->id, lower_32_bits(rw->call), rw->dir, op->nents, length, handle,
			 address, rc);
	/* The mapping returns -EIO if all bounce buffers are in use. */
	if (rc < 0)
		return rc == -EIO ? -ENOMEM : rc;
	rw->cost += rc;
	rw->n_ops++;
	return 0;
}

static int rpcrdma_svc_rw_kvec(struct rpcrdma_svc_rw *rw,
			       const struct kvec *kvec,
			       const struct rpcrdma_range *range, u32 handle,
			       u64 address)
{
	void *start = kvec->iov_base + range->offset;
	u32 first = rw->n_sge;

	if (!rpcrdma_svc_rw_sge(rw, virt_to_page(start), offset_in_page(start),
				range->length))
		return -EINVAL;
	return rpcrdma_svc_rw_commit(rw, first, range->length, handle,
				     address);
}

/**
 * rpcrdma_svc_rw_pages - add operations on an array of pages
 * @rw: the set
 * @pages: the array
 * @range: bytes of it
 * @handle: remote memory
 * @address: likewise
 *
 * It is one operation, or more if there are more pages than one may have.
 *
 * Context: Process context. May sleep.
 *
 * Return: 0, %-EAGAIN if the device has no memory region free for it, or
 * another negative errno.
 */
int rpcrdma_svc_rw_pages(struct rpcrdma_svc_rw *rw, struct page **pages,
			 const struct rpcrdma_range *range, u32 handle,
			 u64 address)
{
	const u32 most = rw->conn->rw_pages << PAGE_SHIFT;
	struct rpcrdma_range r = *range;
	u32 left = range->length, first;
	int rc = -EINVAL;

	while (left) {
		first = rw->n_sge;
		r.length = min_t(u32, left, most - offset_in_page(r.offset));
		if (!rpcrdma_svc_rw_array(rw, pages, &r))
			return -EINVAL;
		rc = rpcrdma_svc_rw_commit(rw, first, r.length, handle,
					   address);
		if (rc)
			return rc;
		r.offset += r.length;
		address += r.length;
		left -= r.length;
	}
	return rc;
}

/**
 * rpcrdma_svc_rw_xdr - add operations on an XDR buffer
 * @rw: the set
 * @xdr: the buffer
 * @range: bytes of it
 * @handle: remote memory
 * @address: likewise
 *
 * Head, pages and tail have operations of their own: a memory region cannot have gaps.
 *
 * Context: Process context. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int rpcrdma_svc_rw_xdr(struct rpcrdma_svc_rw *rw, const struct xdr_buf *xdr,
		       const struct rpcrdma_range *range, u32 handle,
		       u64 address)
{
	u32 offset = range->offset;
	u32 left = range->length;
	struct rpcrdma_range r;
	int rc = -EINVAL;

	if (offset > xdr->len || left > xdr->len - offset)
		return -EINVAL;

	if (offset < xdr->head[0].iov_len && left) {
		r.offset = offset;
		r.length = min_t(u32, left, xdr->head[0].iov_len - offset);
		rc = rpcrdma_svc_rw_kvec(rw, &xdr->head[0], &r, handle,
					 address);
		if (rc)
			return rc;
		offset += r.length;
		left -= r.length;
		address += r.length;
	}
	offset -= xdr->head[0].iov_len;
	if (left && offset < xdr->page_len) {
		r.offset = xdr->page_base + offset;
		r.length = min_t(u32, left, xdr->page_len - offset);
		rc = rpcrdma_svc_rw_pages(rw, xdr->pages, &r, handle, address);
		if (rc)
			return rc;
		offset += r.length;
		left -= r.length;
		address += r.length;
	}
	offset -= xdr->page_len;
	if (left) {
		r.offset = offset;
		r.length = left;
		rc = rpcrdma_svc_rw_kvec(rw, &xdr->tail[0], &r, handle,
					 address);
	}
	return rc;
}

/**
 * rpcrdma_svc_rw_chain - the Work Requests of a set
 * @rw: the set, not empty; this is called once for it
 * @cqe: completion of the last one, if @next is NULL
 * @next: the Work Request after them, or NULL
 *
 * The caller keeps the set until they have completed or the queue pair is drained:
 * each may report its own failure.
 *
 * Return: the first Work Request.
 */
struct ib_send_wr *rpcrdma_svc_rw_chain(struct rpcrdma_svc_rw *rw,
					struct ib_cqe *cqe,
					struct ib_send_wr *next)
{
	struct rpcrdma_conn *conn = rw->conn;
	struct ib_send_wr *first = next, *wr;
	u32 i = rw->n_ops;

	while (i--)
		first = rdma_rw_ctx_wrs(&rw->ops[i].ctx, conn->qp,
					conn->cm_id->port_num,
					first ? NULL : cqe, first);
	for (wr = first; wr != next; wr = wr->next)
		if (!wr->wr_cqe)
			wr->wr_cqe = &rw->cqe;
	return first;
}
