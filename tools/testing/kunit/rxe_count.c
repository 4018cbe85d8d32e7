// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counts what the users of rxe ask of it.
 *
 * /sys/kernel/debug/rxe_count has a line for each counter, "name: number", since the
 * module was loaded. RC queue pairs of the kernel count, which are those of transports;
 * what the connection manager sends does not. It is counted before rxe is asked, the same
 * way for each transport, and what a transport says of itself is not asked.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "rxe_between.h"

/* What is counted, in the order of rxe_count_names. */
enum rxe_count {
	SENDS,
	SENDS_WITH_INV,
	READS,
	WRITES,
	REG_MRS,
	LOCAL_INVS,
	OTHER_SENDS,
	SEND_OCTETS,
	SEND_OCTETS_IN_PLACE,
	READ_OCTETS,
	WRITE_OCTETS,
	REGISTERED_OCTETS,
	ELEMENTS,
	SEND_DOORBELLS,
	RECEIVES,
	RECEIVE_DOORBELLS,
	SEND_COMPLETIONS,
	RECEIVE_COMPLETIONS,
	FAILED_COMPLETIONS,
	REFUSED,
	RXE_COUNTS
};

static const char * const rxe_count_names[RXE_COUNTS] = {
	[SENDS] = "Sends",
	[SENDS_WITH_INV] = "Sends with invalidate",
	[READS] = "RDMA Reads",
	[WRITES] = "RDMA Writes",
	[REG_MRS] = "registrations",
	[LOCAL_INVS] = "local invalidates",
	[OTHER_SENDS] = "other Work Requests",
	[SEND_OCTETS] = "octets by Send",
	[SEND_OCTETS_IN_PLACE] = "octets by Send in place",
	[READ_OCTETS] = "octets by RDMA Read",
	[WRITE_OCTETS] = "octets by RDMA Write",
	[REGISTERED_OCTETS] = "octets registered",
	[ELEMENTS] = "elements",
	[SEND_DOORBELLS] = "send doorbells",
	[RECEIVES] = "Receives posted",
	[RECEIVE_DOORBELLS] = "receive doorbells",
	[SEND_COMPLETIONS] = "send completions",
	[RECEIVE_COMPLETIONS] = "receive completions",
	[FAILED_COMPLETIONS] = "failed completions",
	[REFUSED] = "refused",
};

static atomic64_t rxe_counts[RXE_COUNTS];
/* Devices are taken one after the other. */
static DEFINE_MUTEX(rxe_count_lock);

static void rxe_count(enum rxe_count what, u64 by)
{
	atomic64_add(by, &rxe_counts[what]);
}

static bool rxe_count_is_rc(const struct ib_qp *qp)
{
	return qp->qp_type == IB_QPT_RC;
}

/*
 * Whether the adapter gathers this from where a file or a process has it. What is
 * elsewhere a transport has written or copied there, or was handed by nfsd or sunrpc in
 * memory of theirs.
 */
static bool rxe_count_in_place(const struct ib_sge *sge)
{
	/* To rxe an address is one of the kernel. 6.1 has no ib_virt_dma_to_ptr(). */
	const void *at = (const void *)(uintptr_t)sge->addr;
	struct folio *folio;

	if (!virt_addr_valid(at))
		return false;
	folio = page_folio(virt_to_page(at));
	return !folio_test_slab(folio) && READ_ONCE(folio->mapping);
}

static u64 rxe_count_octets(const struct ib_send_wr *wr)
{
	u64 octets = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		octets += wr->sg_list[i].length;
	rxe_count(ELEMENTS, wr->num_sge);
	return octets;
}

static void rxe_count_send(const struct ib_send_wr *wr)
{
	int i;

	rxe_count(SEND_OCTETS, rxe_count_octets(wr));
	for (i = 0; i < wr->num_sge; i++)
		if (rxe_count_in_place(&wr->sg_list[i]))
			rxe_count(SEND_OCTETS_IN_PLACE, wr->sg_list[i].length);
}

static void rxe_count_work(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		rxe_count(SENDS, 1);
		rxe_count_send(wr);
		break;
	case IB_WR_SEND_WITH_INV:
		rxe_count(SENDS_WITH_INV, 1);
		rxe_count_send(wr);
		break;
	case IB_WR_RDMA_READ:
		rxe_count(READS, 1);
		rxe_count(READ_OCTETS, rxe_count_octets(wr));
		break;
	case IB_WR_RDMA_WRITE:
		rxe_count(WRITES, 1);
		rxe_count(WRITE_OCTETS, rxe_count_octets(wr));
		break;
	case IB_WR_REG_MR:
		rxe_count(REG_MRS, 1);
		rxe_count(REGISTERED_OCTETS, reg_wr(wr)->mr->length);
		break;
	case IB_WR_LOCAL_INV:
		rxe_count(LOCAL_INVS, 1);
		break;
	default:
		rxe_count(OTHER_SENDS, 1);
	}
}

static int rxe_count_post_send(struct ib_qp *qp, const struct ib_send_wr *first,
			       const struct ib_send_wr **bad)
{
	const bool rc = rxe_count_is_rc(qp);
	const struct ib_send_wr *wr;
	int ret;

	for (wr = rc ? first : NULL; wr; wr = wr->next)
		rxe_count_work(wr);
	if (rc)
		rxe_count(SEND_DOORBELLS, 1);
	ret = rxe_between_ops.post_send(qp, first, bad);
	if (rc && ret)
		rxe_count(REFUSED, 1);
	return ret;
}

static int rxe_count_post_recv(struct ib_qp *qp, const struct ib_recv_wr *first,
			       const struct ib_recv_wr **bad)
{
	const bool rc = rxe_count_is_rc(qp);
	const struct ib_recv_wr *wr;
	int ret;

	for (wr = rc ? first : NULL; wr; wr = wr->next)
		rxe_count(RECEIVES, 1);
	if (rc)
		rxe_count(RECEIVE_DOORBELLS, 1);
	ret = rxe_between_ops.post_recv(qp, first, bad);
	if (rc && ret)
		rxe_count(REFUSED, 1);
	return ret;
}

static int rxe_count_poll_cq(struct ib_cq *cq, int entries, struct ib_wc *wc)
{
	int i, found = rxe_between_ops.poll_cq(cq, entries, wc);

	for (i = 0; i < found; i++) {
		if (!wc[i].qp || !rxe_count_is_rc(wc[i].qp))
			continue;
		/* Of what has failed nothing but its queue pair is known. */
		if (wc[i].status != IB_WC_SUCCESS)
			rxe_count(FAILED_COMPLETIONS, 1);
		else if (wc[i].opcode & IB_WC_RECV)
			rxe_count(RECEIVE_COMPLETIONS, 1);
		else
			rxe_count(SEND_COMPLETIONS, 1);
	}
	return found;
}

static int rxe_count_show(struct seq_file *m, void *data)
{
	unsigned int i;

	for (i = 0; i < RXE_COUNTS; i++)
		seq_printf(m, "%s: %lld\n", rxe_count_names[i],
			   atomic64_read(&rxe_counts[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rxe_count);

static int rxe_count_add(struct ib_device *device)
{
	bool taken;

	mutex_lock(&rxe_count_lock);
	taken = rxe_between(device);
	if (taken) {
		device->ops.post_send = rxe_count_post_send;
		device->ops.post_recv = rxe_count_post_recv;
		device->ops.poll_cq = rxe_count_poll_cq;
	}
	mutex_unlock(&rxe_count_lock);
	return taken ? 0 : -EOPNOTSUPP;
}

static struct ib_client rxe_count_client = {
	.name = "rxe_count",
	.add = rxe_count_add,
};

static int __init rxe_count_init(void)
{
	debugfs_create_file("rxe_count", 0444, NULL, NULL, &rxe_count_fops);
	return ib_register_client(&rxe_count_client);
}
module_init(rxe_count_init);

MODULE_DESCRIPTION("counts what is asked of rxe");
MODULE_LICENSE("Dual BSD/GPL");
