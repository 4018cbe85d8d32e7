// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions by fast registration. The core's table says what may happen
 * to a region; this file calls the verbs that do it.
 *
 * A region is mapped while it is HELD. It becomes ACTIVE with the Send that
 * tells its handle to the peer. It is unmapped only when it is HELD again:
 * after a Send With Invalidate has named it, or after a Local Invalidate has
 * completed. The regions of a dead queue pair are never used again.
 *
 * When no region is free, the caller leaves its item in the Payload stream, or
 * waits until ops->room says that there are more. A connection begins
 * with as many regions as one Call can need. A work item allocates more in the
 * background, up to a limit, before the last one is taken. Another one frees these when none
 * has been in use for a while, or when memory is short.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/sched.h>

#include <trace/events/rpcrdma_v2.h>

#include "../budget.h"
#include "../params.h"
#include "dma.h"
#include "verbs.h"

/* With fewer free regions than this, more are allocated. */
#define RPCRDMA_MR_FEW		8
/* Pause after an allocation that failed. */
#define RPCRDMA_MR_RETRY	(HZ / 4)
/* Between two looks whether there are too many. */
#define RPCRDMA_MR_LOOK		(30 * HZ)

/*
 * Regions take no gaps, also with a device that has others (IB_MR_TYPE_SG_GAPS, which
 * is mlx5 alone). An item has none: its pages follow each other. The body of a Call or
 * Reply has two at most, where its head and its pages end, so a special chunk takes up
 * to three regions. With gaps it would take one. But the type is chosen here, before
 * anybody knows what the region will be for, and mlx5 pays for gaps with each READ and
 * WRITE: twice as many octets describe each page, fewer pages fit the Work Request, and
 * an access looks them up indirectly. Its driver avoids that where there are no gaps.
 * A second pool would be for special chunks alone, which version 2 uses above
 * special_threshold only.
 */
static struct rpcrdma_mr *rpcrdma_mr_alloc(struct rpcrdma_conn *conn)
{
	int node = ibdev_to_node(conn->cm_id->device);
	struct rpcrdma_mr *mr;

	mr = kzalloc_node(sizeof(*mr), GFP_KERNEL, node);
	if (!mr)
		return NULL;
	mr->sgl = kmalloc_array_node(conn->mr_pages, sizeof(*mr->sgl),
				     GFP_KERNEL, node);
	if (!mr->sgl)
		goto out_free;
	sg_init_table(mr->sgl, conn->mr_pages);
	mr->mr = ib_alloc_mr(conn->pd, IB_MR_TYPE_MEM_REG, conn->mr_pages);
	if (IS_ERR(mr->mr))
		goto out_free;
	mr->conn = conn;
	INIT_LIST_HEAD(&mr->link);
	atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_REGIONS]);
	return mr;

out_free:
	kfree(mr->sgl);
	kfree(mr);
	return NULL;
}

static void rpcrdma_mr_free(struct rpcrdma_mr *mr)
{
	ib_dereg_mr(mr->mr);
	atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_REGIONS]);
	kfree(mr->sgl);
	kfree(mr);
}

/* The region in slot @i, or in the next slot that has one. Return: NULL if there is none. */
static struct rpcrdma_mr *rpcrdma_mr_from(const struct rpcrdma_conn *conn, u32 i)
{
	for (; i < conn->mr_table.capacity; i++)
		if (conn->mrs[i])
			return conn->mrs[i];
	return NULL;
}

static struct rpcrdma_mr *rpcrdma_mr_after(const struct rpcrdma_mr *mr)
{
	return rpcrdma_mr_from(mr->conn, mr->index + 1);
}

/*
 * Allocate more in the background, on a workqueue that works when memory is short: the
 * waiting RPC may be a WRITE that frees memory.
 */
static void rpcrdma_mr_grow_later(struct rpcrdma_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_conn_dead(conn) && conn->n_mrs < conn->mr_table.capacity)
		queue_delayed_work(xprtiod_workqueue, &conn->mr_work,
				   conn->mr_delay);
}

/* Look whether there are more regions than the connection needs, later. */
static void rpcrdma_mr_look_later(struct rpcrdma_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_conn_dead(conn) && conn->n_mrs > conn->mr_first)
		queue_delayed_work(xprtiod_workqueue, &conn->mr_rest_work,
				   RPCRDMA_MR_LOOK);
}

/* What a region takes here; an adapter has some bytes more for each page. */
static u32 rpcrdma_mr_memory(const struct rpcrdma_conn *conn)
{
	return sizeof(struct rpcrdma_mr) +
	       conn->mr_pages * sizeof(struct scatterlist);
}

/**
 * rpcrdma_frwr_memory - what the pool takes at first
 * @conn: its connection; mr_pages is known
 * @sizes: how many regions there may be
 *
 * Return: bytes.
 */
u64 rpcrdma_frwr_memory(const struct rpcrdma_conn *conn,
			const struct rpcrdma_sizes *sizes)
{
	return (u64)sizes->first_regions * rpcrdma_mr_memory(conn) +
	       (u64)sizes->regions * (sizeof(*conn->mr_slots) +
				      sizeof(*conn->mrs));
}

/* Grow the pool by up to @count regions. Return: how many were added. */
static u32 rpcrdma_frwr_grow(struct rpcrdma_conn *conn, u32 count)
{
	struct rpcrdma_mr *mr;
	u32 added = 0;

	/* Nobody else adds regions. */
	while (added < count &&
	       READ_ONCE(conn->n_mrs) < conn->mr_table.capacity) {
		mr = rpcrdma_mr_alloc(conn);
		if (!mr)
			break;
		spin_lock(&conn->lock);
		while (conn->mrs[mr->index])
			mr->index++;
		if (!rpcrdma_mr_add(&conn->mr_table, mr->index)) {
			spin_unlock(&conn->lock);
			rpcrdma_mr_free(mr);
			break;
		}
		conn->mrs[mr->index] = mr;
		WRITE_ONCE(conn->n_mrs, conn->n_mrs + 1);
		conn->stats.regions++;
		spin_unlock(&conn->lock);
		added++;
	}
	if (added)
		trace_xprtrdma_createmrs(conn->id, added);
	return added;
}

/*
 * Tell the owner, if it found too few regions, to try again. Nearly always it did not. The caller
 * has held the lock since regions came: whoever found too few before that is seen, and who looks
 * after that finds them.
 */
static void rpcrdma_frwr_more(struct rpcrdma_conn *conn)
{
	bool told;

	if (!READ_ONCE(conn->mr_short))
		return;
	spin_lock(&conn->lock);
	told = conn->mr_short;
	WRITE_ONCE(conn->mr_short, false);
	spin_unlock(&conn->lock);
	if (told && conn->ops->room)
		conn->ops->room(conn);
}

/* The same, as far as the budget has memory for it. */
static u32 rpcrdma_frwr_grow_more(struct rpcrdma_conn *conn, u32 count)
{
	const u64 size = rpcrdma_mr_memory(conn);
	u32 added;

	count = min(count, conn->mr_table.capacity - READ_ONCE(conn->n_mrs));
	if (rpcrdma_conn_charge(conn, count * size, conn->must)) {
		count = 1;
		if (rpcrdma_conn_charge(conn, size, conn->must))
			return 0;
	}
	added = rpcrdma_frwr_grow(conn, count);
	rpcrdma_conn_uncharge(conn, (count - added) * size);
	return added;
}

static void rpcrdma_frwr_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(to_delayed_work(work),
						 struct rpcrdma_conn, mr_work);
	unsigned int noio;
	u32 added;

	/* Reclaim could wait for an RPC that waits for this connection. */
	noio = memalloc_noio_save();
	added = rpcrdma_frwr_grow_more(conn, RPCRDMA_MR_BATCH);
	memalloc_noio_restore(noio);
	spin_lock(&conn->lock);
	/* If somebody asks while it runs, it runs again and finds all made: no lack of memory. */
	conn->mr_delay = added || conn->n_mrs == conn->mr_table.capacity ?
			 0 : RPCRDMA_MR_RETRY;
	rpcrdma_mr_look_later(conn);
	spin_unlock(&conn->lock);
	/* Even without new regions: the waiting RPC may be gone, with others behind it. */
	rpcrdma_frwr_more(conn);
}

/* Free one region that nobody uses. Return: false if there is none, or not too many are left. */
static bool rpcrdma_frwr_less(struct rpcrdma_conn *conn)
{
	struct rpcrdma_mr *mr = NULL;
	s32 index;

	spin_lock(&conn->lock);
	index = rpcrdma_mr_remove(&conn->mr_table, conn->mr_first);
	if (index >= 0) {
		/* Only who takes it from the table finds it. */
		swap(mr, conn->mrs[index]);
		WRITE_ONCE(conn->n_mrs, conn->n_mrs - 1);
	}
	spin_unlock(&conn->lock);
	if (!mr)
		return false;
	rpcrdma_mr_free(mr);
	rpcrdma_conn_uncharge(conn, rpcrdma_mr_memory(conn));
	return true;
}

/* Without work it does not run for long: the first ones are left. */
static void rpcrdma_frwr_rest_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(to_delayed_work(work),
						 struct rpcrdma_conn,
						 mr_rest_work);
	unsigned int noio;
	bool rested;

	spin_lock(&conn->lock);
	/* One in use would bring the others back. */
	rested = rpcrdma_mr_rested(&conn->mr_table, 0);
	spin_unlock(&conn->lock);
	if (rested || rpcrdma_memory_short()) {
		/* A driver may allocate memory for that. */
		noio = memalloc_noio_save();
		if (rpcrdma_frwr_less(conn)) {
			while (rpcrdma_frwr_less(conn))
				;
			trace_rpcrdma_resize(conn->id, "number of regions",
					     READ_ONCE(conn->n_mrs));
		}
		memalloc_noio_restore(noio);
	}
	spin_lock(&conn->lock);
	rpcrdma_mr_look_later(conn);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_frwr_short - will ops->room be called?
 * @conn: the connection
 *
 * Context: Process context, no lock held.
 *
 * Return: true if a region was missing, and none has come back since.
 */
bool rpcrdma_frwr_short(struct rpcrdma_conn *conn)
{
	bool missing;

	spin_lock(&conn->lock);
	missing = conn->mr_short;
	spin_unlock(&conn->lock);
	return missing;
}

/* Not signaled: it completes only if it fails, and before the Work Requests it flushes. */
static void rpcrdma_frwr_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_conn *conn = container_of(wc->wr_cqe,
						 struct rpcrdma_conn,
						 mr_reg_cqe);

	if (wc->status == IB_WC_SUCCESS)
		return;
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		trace_rpcrdma_wc(conn->id, "Registration", wc);
	rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
}

/**
 * rpcrdma_frwr_setup - make the pool of memory regions
 * @conn: the connection, queue pair created
 * @sizes: how many regions there may be, and how large each is
 *
 * Return: 0 or %-ENOMEM. The caller cleans up.
 */
int rpcrdma_frwr_setup(struct rpcrdma_conn *conn,
		       const struct rpcrdma_sizes *sizes)
{
	const u32 max_mrs = sizes->regions;

	INIT_DELAYED_WORK(&conn->mr_work, rpcrdma_frwr_worker);
	INIT_DELAYED_WORK(&conn->mr_rest_work, rpcrdma_frwr_rest_worker);
	conn->mr_reg_cqe.done = rpcrdma_frwr_reg_done;
	init_waitqueue_head(&conn->mr_wait);
	conn->mr_pages = sizes->region_pages;
	if (!max_mrs)
		return 0;

	conn->mr_slots = kvcalloc(max_mrs, sizeof(*conn->mr_slots),
				  GFP_KERNEL);
	conn->mrs = kvcalloc(max_mrs, sizeof(*conn->mrs), GFP_KERNEL);
	if (!conn->mr_slots || !conn->mrs)
		return -ENOMEM;
	rpcrdma_mr_table_init(&conn->mr_table, conn->mr_slots, max_mrs);
	conn->mr_first = min(sizes->first_regions, conn->mr_table.capacity);
	return rpcrdma_frwr_grow(conn, conn->mr_first) < conn->mr_first ?
		       -ENOMEM :
		       0;
}

/**
 * rpcrdma_frwr_cleanup - destroy the pool
 * @conn: drained and reclaimed, or never connected
 */
void rpcrdma_frwr_cleanup(struct rpcrdma_conn *conn)
{
	struct rpcrdma_mr *mr, *next;

	for (mr = rpcrdma_mr_from(conn, 0); mr; mr = next) {
		next = rpcrdma_mr_after(mr);
		rpcrdma_mr_free(mr);
	}
	conn->n_mrs = 0;
	kvfree(conn->mrs);
	kvfree(conn->mr_slots);
	conn->mrs = NULL;
	conn->mr_slots = NULL;
}

/* May flush an IOMMU or copy megabytes: never call it under a lock. */
static void rpcrdma_mr_unmap(struct rpcrdma_mr *mr)
{
	lockdep_assert_not_held(&mr->conn->lock);
	if (mr->nents)
		rpcrdma_dma_unmap_sg(mr->conn->cm_id->device, mr->sgl,
				     mr->nents, mr->dir, mr->attrs);
	mr->nents = 0;
}

/* The core's table refused a step: a bug here, which ends only this connection. */
static void rpcrdma_mr_broken(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	lockdep_assert_held(&conn->lock);
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	if (!rpcrdma_conn_dead(conn))
		rpcrdma_conn_lost_later(conn, "region in the wrong state");
}

static void rpcrdma_mr_step(struct rpcrdma_mr *mr, u32 event)
{
	struct rpcrdma_conn *conn = mr->conn;

	if (!rpcrdma_mr_event(&conn->mr_table, mr->index, event, mr->mr->rkey))
		rpcrdma_mr_broken(conn);
}

/* A region for @mrs, or NULL. @most: bytes that the peer lets it have at most, perhaps none. */
static struct rpcrdma_mr *rpcrdma_mr_get(struct rpcrdma_conn *conn,
					 struct list_head *mrs, u32 *most)
{
	struct rpcrdma_mr *mr = NULL;
	s32 index = -1;

	spin_lock(&conn->lock);
	*most = rpcrdma_session_max_segment_size(&conn->session);
	if (!rpcrdma_conn_dead(conn) && conn->n_mrs)
		index = rpcrdma_mr_take(&conn->mr_table);
	if (index >= 0) {
		mr = conn->mrs[index];
		list_add_tail(&mr->link, mrs);
	} else {
		conn->stats.no_mr++;
		WRITE_ONCE(conn->mr_short, true);
	}
	if (conn->n_mrs &&
	    conn->mr_table.count[RPCRDMA_MR_FREE] < RPCRDMA_MR_FEW)
		rpcrdma_mr_grow_later(conn);
	spin_unlock(&conn->lock);
	return mr;
}

/*
 * Memory that a chunk shows to the peer: pages, or bytes at an address.
 * Bytes count from the start of the first page.
 */
struct rpcrdma_memory {
	struct page **pages;
	u8 *address;
	u32 offset;
	u32 length;
};

static struct page *rpcrdma_memory_page(const struct rpcrdma_memory *memory,
					u32 offset)
{
	if (memory->pages)
		return memory->pages[offset >> PAGE_SHIFT];
	return virt_to_page(memory->address + (offset - memory->offset));
}

/*
 * Map bytes @offset.. of @memory. Return: bytes mapped, %-ENOBUFS if a DMA mapping
 * is not possible now, or %-EIO if the region cannot hold them.
 */
static int rpcrdma_mr_map(struct rpcrdma_mr *mr,
			  const struct rpcrdma_memory *memory, u32 offset,
			  u32 length, bool remote_write)
{
	struct ib_device *device = mr->conn->cm_id->device;
	const unsigned int n = min_t(u32, mr->conn->mr_pages,
				     PFN_UP(offset_in_page(offset) + length));
	unsigned int mapped_nents, i;
	struct scatterlist *sg;
	u32 mapped = 0, run;
	int rc;

	/* Only the entries in use: most chunks have a few pages. */
	sg_init_table(mr->sgl, n);
	for_each_sg(mr->sgl, sg, n, i) {
		run = min_t(u32, length - mapped,
			    PAGE_SIZE - offset_in_page(offset + mapped));
		sg_set_page(sg, rpcrdma_memory_page(memory, offset + mapped),
			    run, offset_in_page(offset + mapped));
		mapped += run;
	}

	mr->dir = remote_write ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	mr->attrs = 0;
	/* It may map to fewer entries than given; unmapping takes the given number. */
	mapped_nents = rpcrdma_dma_map_sg(device, mr->sgl, n, mr->dir);
	if (!mapped_nents)
		return -ENOBUFS;
	mr->nents = n;

	rc = ib_map_mr_sg(mr->mr, mr->sgl, mapped_nents, NULL, PAGE_SIZE);
	if (rc != mapped_nents)
		return -EIO;

	ib_update_fast_reg_key(mr->mr, ib_inc_rkey(mr->mr->rkey));
	memset(&mr->reg, 0, sizeof(mr->reg));
	mr->reg.wr.wr_cqe = &mr->conn->mr_reg_cqe;
	mr->reg.wr.opcode = IB_WR_REG_MR;
	mr->reg.mr = mr->mr;
	mr->reg.key = mr->mr->rkey;
	mr->reg.access = remote_write ?
		IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE :
		IB_ACCESS_REMOTE_READ;
	return mapped;
}

/* As rpcrdma_frwr_undo(). */
bool __rpcrdma_frwr_undo(struct rpcrdma_conn *conn, struct list_head *mrs)
{
	struct rpcrdma_mr *mr, *tmp;
	LIST_HEAD(held);

	spin_lock(&conn->lock);
	list_for_each_entry_safe(mr, tmp, mrs, link)
		if (conn->mr_slots[mr->index].state == RPCRDMA_MR_HELD)
			list_move_tail(&mr->link, &held);
	/* While mr_unmapping is not zero, no other thread touches HELD regions. */
	conn->mr_unmapping += !list_empty(&held);
	spin_unlock(&conn->lock);
	if (list_empty(&held))
		return false;

	list_for_each_entry(mr, &held, link)
		rpcrdma_mr_unmap(mr);

	spin_lock(&conn->lock);
	list_for_each_entry_safe(mr, tmp, &held, link) {
		/* Pairs with list_empty_careful() in rpcrdma_frwr_none(). */
		list_del_init_careful(&mr->link);
		if (!rpcrdma_mr_put(&conn->mr_table, mr->index))
			rpcrdma_mr_broken(conn);
	}
	if (!--conn->mr_unmapping)
		wake_up_all(&conn->mr_wait);
	spin_unlock(&conn->lock);
	return true;
}

/* Give back the last @count regions of @mrs, or none if rpcrdma_frwr_reclaim() has taken all. */
static void rpcrdma_frwr_undo_last(struct rpcrdma_conn *conn,
				   struct list_head *mrs, u32 count)
{
	struct rpcrdma_mr *mr, *tmp;
	LIST_HEAD(last);

	spin_lock(&conn->lock);
	list_for_each_entry_safe_reverse(mr, tmp, mrs, link) {
		if (!count--)
			break;
		list_move(&mr->link, &last);
	}
	spin_unlock(&conn->lock);
	rpcrdma_frwr_undo(conn, &last);
}

static int rpcrdma_frwr_map_memory(struct rpcrdma_conn *conn,
				   struct list_head *mrs,
				   const struct rpcrdma_memory *memory,
				   bool remote_write,
				   struct rpcrdma_segment *segs, u32 max_segs)
{
	u32 offset = memory->offset, left = memory->length;
	u32 n = 0, taken = 0, most;
	struct rpcrdma_mr *mr;
	int rc;

	while (left) {
		if (n == max_segs || !conn->mr_table.capacity) {
			rc = -EMSGSIZE;
			goto out_undo;
		}
		mr = rpcrdma_mr_get(conn, mrs, &most);
		taken += !!mr;
		/*
		 * It would not help to wait. The peer may have forbidden segments since this
		 * was planned.
		 */
		if (!most) {
			rc = -EMSGSIZE;
			goto out_undo;
		}
		if (!mr) {
			rc = -EAGAIN;
			goto out_undo;
		}
		rc = rpcrdma_mr_map(mr, memory, offset,
				    min(left, most),
				    remote_write);
		if (rc < 0)
			goto out_undo;
		segs[n].handle = mr->mr->rkey;
		segs[n].length = rc;
		segs[n].offset = mr->mr->iova;
		n++;
		offset += rc;
		left -= rc;
	}
	return n;

out_undo:
	rpcrdma_frwr_undo_last(conn, mrs, taken);
	return rc;
}

/**
 * rpcrdma_frwr_map - prepare regions for a chunk
 * @conn: the connection
 * @mrs: list of the RPC; regions are added to its end
 * @range: bytes, counted from the start of the first page
 * @pages: the memory; pinned by the caller until rpcrdma_frwr_put() or
 *	rpcrdma_frwr_undo()
 * @remote_write: the peer will write, else read
 * @segs: filled in
 * @max_segs: room in @segs
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: number of segments; %-EAGAIN if too few regions are free until
 * ops->room is called, %-EMSGSIZE if @segs has no room: in both cases @mrs is
 * unchanged and the item can stay in the Payload stream; %-ENOBUFS if the memory
 * cannot be mapped now, %-EIO if it never can.
 */
int rpcrdma_frwr_map(struct rpcrdma_conn *conn, struct list_head *mrs,
		     const struct rpcrdma_range *range, struct page **pages,
		     bool remote_write, struct rpcrdma_segment *segs,
		     u32 max_segs)
{
	struct rpcrdma_memory memory = {
		.pages = pages,
		.offset = range->offset,
		.length = range->length,
	};

	return rpcrdma_frwr_map_memory(conn, mrs, &memory, remote_write, segs,
				       max_segs);
}

/**
 * rpcrdma_frwr_map_kvec - prepare regions for a part of a chunk
 * @conn: the connection
 * @mrs: list of the RPC; regions are added to its end
 * @vec: the memory; stays until rpcrdma_frwr_put()
 * @remote_write: the peer will write, else read
 * @segs: filled in
 * @max_segs: room in @segs
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: as rpcrdma_frwr_map(); %-EMSGSIZE also for memory outside the kernel's
 * direct mapping.
 */
int rpcrdma_frwr_map_kvec(struct rpcrdma_conn *conn, struct list_head *mrs,
			  const struct kvec *vec, bool remote_write,
			  struct rpcrdma_segment *segs, u32 max_segs)
{
	struct rpcrdma_memory memory = {
		.address = vec->iov_base,
		.offset = offset_in_page(vec->iov_base),
		.length = vec->iov_len,
	};

	if (vec->iov_len && !virt_addr_valid(vec->iov_base))
		return -EMSGSIZE;
	return rpcrdma_frwr_map_memory(conn, mrs, &memory, remote_write, segs,
				       max_segs);
}

/**
 * rpcrdma_frwr_chain - registration Work Requests in front of a Send
 * @mrs: regions that are mapped and not yet posted
 * @next: the Work Request after them
 *
 * Context: the pump, no lock held; it posts them and @next in one chain.
 *
 * Return: the first Work Request of the chain.
 */
struct ib_send_wr *rpcrdma_frwr_chain(struct list_head *mrs,
				      struct ib_send_wr *next)
{
	struct rpcrdma_conn *conn;
	struct rpcrdma_mr *mr;

	if (list_empty(mrs))
		return next;
	conn = list_first_entry(mrs, struct rpcrdma_mr, link)->conn;
	spin_lock(&conn->lock);
	list_for_each_entry_reverse(mr, mrs, link) {
		rpcrdma_mr_step(mr, RPCRDMA_MR_POST);
		trace_xprtrdma_mr_fastreg(conn->id, mr->index, mr->mr,
					  mr->nents, mr->dir);
		mr->reg.wr.next = next;
		next = &mr->reg.wr;
		conn->stats.registrations++;
	}
	spin_unlock(&conn->lock);
	return next;
}

/**
 * rpcrdma_frwr_remote_inv - a Reply came by Send With Invalidate
 * @conn: the connection
 * @mrs: regions of the RPC that the Reply belongs to
 * @handle: the invalidated handle
 *
 * A handle of no region in @mrs ends the connection: the peer may access memory of
 * other RPCs.
 */
void rpcrdma_frwr_remote_inv(struct rpcrdma_conn *conn, struct list_head *mrs,
			     u32 handle)
{
	struct rpcrdma_mr *mr;
	bool found = false;

	spin_lock(&conn->lock);
	list_for_each_entry(mr, mrs, link) {
		if (mr->mr->rkey != handle)
			continue;
		found = rpcrdma_mr_event(&conn->mr_table, mr->index,
					 RPCRDMA_MR_REMOTE_INV, handle);
		conn->stats.remote_invalidates++;
		trace_xprtrdma_mr_reminv(conn->id, mr->index, mr->mr,
					 mr->nents, mr->dir);
		break;
	}
	spin_unlock(&conn->lock);
	if (!found)
		rpcrdma_conn_lost(conn, "unknown handle invalidated");
}

static void rpcrdma_frwr_inv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_mr *mr = container_of(wc->wr_cqe, struct rpcrdma_mr,
					     cqe);
	struct rpcrdma_conn *conn = mr->conn;
	struct rpcrdma_inv *waiter = NULL;
	bool ok = wc->status == IB_WC_SUCCESS;

	if (!ok) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			trace_rpcrdma_wc(conn->id, "Local Invalidate", wc);
		rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
	}
	spin_lock(&conn->lock);
	/* If not, rpcrdma_frwr_reclaim() calls it after it has unmapped the memory. */
	if (ok) {
		swap(waiter, mr->waiter);
		trace_rpcrdma_mr_invalidated(conn->id, mr->index,
					     mr->mr->rkey);
	}
	rpcrdma_mr_step(mr, ok ? RPCRDMA_MR_INV_DONE : RPCRDMA_MR_LOSE);
	spin_unlock(&conn->lock);
	if (waiter)
		waiter->done(waiter);
}

/* As rpcrdma_frwr_invalidate(). */
bool __rpcrdma_frwr_invalidate(struct rpcrdma_conn *conn, struct list_head *mrs,
			       struct rpcrdma_inv *inv)
{
	struct ib_send_wr *first = NULL, **prev = &first;
	struct rpcrdma_mr *mr, *last = NULL;

	spin_lock(&conn->lock);
	list_for_each_entry(mr, mrs, link) {
		if (conn->mr_slots[mr->index].state == RPCRDMA_MR_HELD)
			continue;
		last = mr;
		if (!rpcrdma_conn_invalidates(conn) ||
		    conn->mr_slots[mr->index].state != RPCRDMA_MR_ACTIVE)
			continue;
		rpcrdma_mr_step(mr, RPCRDMA_MR_LOCAL_INV);
		mr->cqe.done = rpcrdma_frwr_inv_done;
		memset(&mr->inv, 0, sizeof(mr->inv));
		mr->inv.wr_cqe = &mr->cqe;
		mr->inv.opcode = IB_WR_LOCAL_INV;
		/* Each completes by itself, so each is accounted for. */
		mr->inv.send_flags = IB_SEND_SIGNALED;
		mr->inv.ex.invalidate_rkey = mr->mr->rkey;
		*prev = &mr->inv;
		prev = &mr->inv.next;
		conn->stats.local_invalidates++;
		trace_xprtrdma_mr_localinv(conn->id, mr->index, mr->mr,
					   mr->nents, mr->dir);
	}
	/*
	 * In order: when the last is done, all are. If it cannot be posted or
	 * fails, the memory is safe when the queue pair is dead, and
	 * rpcrdma_frwr_reclaim() tells the waiter.
	 */
	if (last)
		last->waiter = inv;
	if (first && ib_post_send(conn->qp, first, NULL))
		rpcrdma_conn_lost_later(conn, "post Local Invalidate");
	spin_unlock(&conn->lock);
	return last;
}

struct rpcrdma_inv_wait {
	struct rpcrdma_inv inv;
	struct completion done;
};

static void rpcrdma_frwr_wake(struct rpcrdma_inv *inv)
{
	complete(&container_of(inv, struct rpcrdma_inv_wait, inv)->done);
}

/**
 * rpcrdma_frwr_invalidate_wait - take regions away from the peer, and wait
 * @conn: the connection
 * @mrs: regions of one RPC; empty when this returns
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_frwr_invalidate_wait(struct rpcrdma_conn *conn,
				  struct list_head *mrs)
{
	struct rpcrdma_inv_wait wait = { .inv.done = rpcrdma_frwr_wake };

	init_completion(&wait.done);
	/* Regions that another thread reclaims are not put: wait for that thread. */
	do {
		if (rpcrdma_frwr_invalidate(conn, mrs, &wait.inv))
			wait_for_completion(&wait.done);
		rpcrdma_frwr_put(conn, mrs);
	} while (!rpcrdma_frwr_none(mrs));
}

/**
 * rpcrdma_frwr_keep_cpu - the CPU writes to memory that the peer may write to
 * @conn: the connection
 * @mrs: regions of one RPC
 * @segs: a chunk among them, which the Reply did not use
 * @n_segs: its segments
 *
 * When the regions are unmapped, a bounce buffer or cache must not overwrite what the CPU
 * wrote.
 */
void rpcrdma_frwr_keep_cpu(struct rpcrdma_conn *conn, struct list_head *mrs,
			   const struct rpcrdma_segment *segs, u32 n_segs)
{
	struct rpcrdma_mr *mr;
	u32 i;

	spin_lock(&conn->lock);
	list_for_each_entry(mr, mrs, link)
		for (i = 0; i < n_segs; i++)
			if (segs[i].handle == mr->mr->rkey)
				mr->attrs = DMA_ATTR_SKIP_CPU_SYNC;
	spin_unlock(&conn->lock);
}

/* As rpcrdma_frwr_put(). */
void __rpcrdma_frwr_put(struct rpcrdma_conn *conn, struct list_head *mrs)
{
	if (__rpcrdma_frwr_undo(conn, mrs))
		rpcrdma_frwr_more(conn);
}

/**
 * rpcrdma_frwr_reclaim - take back every region of a drained queue pair
 * @conn: the connection, dead and drained
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_frwr_reclaim(struct rpcrdma_conn *conn)
{
	struct rpcrdma_inv *waiter;
	struct rpcrdma_mr *mr;

	cancel_delayed_work_sync(&conn->mr_work);
	cancel_delayed_work_sync(&conn->mr_rest_work);
	spin_lock(&conn->lock);
	wait_event_cmd(conn->mr_wait, !conn->mr_unmapping,
		       spin_unlock(&conn->lock), spin_lock(&conn->lock));
	/* Nobody adds or removes any more. */
	for (mr = rpcrdma_mr_from(conn, 0); mr; mr = rpcrdma_mr_after(mr))
		if (!rpcrdma_mr_event(&conn->mr_table, mr->index,
				      RPCRDMA_MR_LOSE, mr->mr->rkey))
			trace_rpcrdma_mr_lost(conn->id, mr->index,
					      mr->mr->rkey);
	spin_unlock(&conn->lock);

	/* LOST: they stay in their lists, and the owners of the lists wait. */
	for (mr = rpcrdma_mr_from(conn, 0); mr; mr = rpcrdma_mr_after(mr))
		rpcrdma_mr_unmap(mr);

	spin_lock(&conn->lock);
	for (mr = rpcrdma_mr_from(conn, 0); mr; mr = rpcrdma_mr_after(mr))
		list_del_init(&mr->link);
	/* Regions whose Local Invalidate was never posted */
	for (mr = rpcrdma_mr_from(conn, 0); mr; mr = rpcrdma_mr_after(mr)) {
		waiter = mr->waiter;
		mr->waiter = NULL;
		if (!waiter)
			continue;
		spin_unlock(&conn->lock);
		waiter->done(waiter);
		spin_lock(&conn->lock);
	}
	spin_unlock(&conn->lock);
}
