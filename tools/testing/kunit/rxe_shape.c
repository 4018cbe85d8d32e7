// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Makes rxe look like another adapter.
 *
 * It lowers the limits that rxe reports to those of the other adapter, for ib_core and
 * all its users. rxe itself can do more, and would execute Work Requests that the adapter
 * could not. So this module checks the Work Requests of RC queue pairs before rxe gets
 * them, and refuses those that break a limit. It also refuses queues that are too long,
 * and more regions than max_mr. "broken" counts what was refused, "checked" counts all Work
 * Requests. That completions do not overflow their queue is not checked here: the unit tests
 * sizes.adapters__* compare its length with what can be posted.
 *
 *	echo mlx5 > /sys/module/rxe_shape/parameters/shape
 *
 * applies to new connections; "rxe" restores rxe.
 *
 *	echo regions > /sys/module/rxe_shape/parameters/probe
 *
 * makes one region too many, and "completions" a queue that is too long. That fails unless
 * this module refuses them.
 *
 *	modprobe rxe_shape ack_timeout=20
 *
 * makes rxe wait for longer until it sends again what the peer has not confirmed, and until it
 * gives a connection up. Otherwise it does so after four seconds, in which an emulated guest on
 * a busy machine may do nothing.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "adapters.h"
#include "atomic_param.h"
#include "rxe_between.h"

/**
 * struct rxe_shape_device - a device of rxe
 * @link: of all
 * @device: the device, until it goes
 * @attrs: what it said before
 */
struct rxe_shape_device {
	struct list_head link;
	struct ib_device *device;
	struct ib_device_attr attrs;
};

static LIST_HEAD(rxe_shape_devices);
/* Guards the list, and the changing of shapes. */
static DEFINE_MUTEX(rxe_shape_lock);
static const struct rpcrdma_adapter *rxe_shape;
static atomic_t rxe_shape_broken = ATOMIC_INIT(0);
static atomic_t rxe_shape_checked = ATOMIC_INIT(0);
/* Regions that were made here and exist; of all devices together. */
static DEFINE_XARRAY(rxe_shape_mrs);
static atomic_t rxe_shape_n_mrs = ATOMIC_INIT(0);

static unsigned char rxe_shape_ack_timeout;
module_param_named(ack_timeout, rxe_shape_ack_timeout, byte, 0644);
MODULE_PARM_DESC(ack_timeout, "wait for at least 4.096 us * 2^this to be acknowledged");

static int rxe_shape_refuse(const char *what, u32 is, u32 limit)
{
	atomic_inc(&rxe_shape_broken);
	pr_warn_ratelimited("rxe_shape: %s: %u, limit %u\n", what, is, limit);
	return -EINVAL;
}

/* Return: 0, or the error if @is is more than @limit. */
static int rxe_shape_check(const char *what, u32 is, u32 limit)
{
	return is > limit ? rxe_shape_refuse(what, is, limit) : 0;
}

static const struct rpcrdma_device_limits *rxe_shape_limits(const struct ib_qp *qp)
{
	const struct rpcrdma_adapter *shape = READ_ONCE(rxe_shape);

	return shape && qp->qp_type == IB_QPT_RC ? &shape->limits : NULL;
}

static int rxe_shape_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			       struct ib_udata *udata)
{
	const struct rpcrdma_device_limits *l = rxe_shape_limits(qp);
	const struct ib_qp_cap *cap = &attr->cap;

	if (l && (rxe_shape_check("max_send_wr", cap->max_send_wr, l->max_qp_wr) ||
		  rxe_shape_check("max_recv_wr", cap->max_recv_wr, l->max_qp_wr) ||
		  rxe_shape_check("max_send_sge", cap->max_send_sge,
				  l->max_send_sge) ||
		  rxe_shape_check("max_recv_sge", cap->max_recv_sge,
				  l->max_recv_sge)))
		return -EINVAL;
	return rxe_between_ops.create_qp(qp, attr, udata);
}

static int rxe_shape_create_cq(struct ib_cq *cq,
			       const struct ib_cq_init_attr *attr,
			       struct rpcrdma_cq_request *attrs)
{
	const struct rpcrdma_adapter *shape = READ_ONCE(rxe_shape);

	if (shape && rxe_shape_check("completions", attr->cqe, shape->limits.max_cqe))
		return -EINVAL;
	return rxe_between_ops.create_cq(cq, attr, attrs);
}

static int rxe_shape_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			       struct ib_udata *udata)
{
	const u8 ack_timeout = min_t(u8, READ_ONCE(rxe_shape_ack_timeout), 31);
	const struct rpcrdma_device_limits *l = rxe_shape_limits(qp);
	struct ib_qp_attr patient;

	/* 0 is for ever. */
	if (mask & IB_QP_TIMEOUT && attr->timeout && attr->timeout < ack_timeout) {
		patient = *attr;
		patient.timeout = ack_timeout;
		attr = &patient;
	}
	if (l && mask & IB_QP_MAX_QP_RD_ATOMIC &&
	    rxe_shape_check("max_rd_atomic", attr->max_rd_atomic, l->max_reads_out))
		return -EINVAL;
	if (l && mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	    rxe_shape_check("max_dest_rd_atomic", attr->max_dest_rd_atomic,
			    l->max_reads_in))
		return -EINVAL;
	return rxe_between_ops.modify_qp(qp, attr, mask, udata);
}

static int rxe_shape_check_send(const struct rpcrdma_device_limits *l,
				const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return rxe_shape_check("elements of an RDMA Read", wr->num_sge,
				       l->max_sge_rd);
	case IB_WR_REG_MR:
		if (!l->fast_reg)
			return rxe_shape_refuse("registration", 1, 0);
		return 0;
	case IB_WR_LOCAL_INV:
		if (!l->local_inv)
			return rxe_shape_refuse("invalidation", 1, 0);
		return 0;
	default:
		return rxe_shape_check("elements", wr->num_sge, l->max_send_sge);
	}
}

static int rxe_shape_post_send(struct ib_qp *qp, const struct ib_send_wr *first,
			       const struct ib_send_wr **bad)
{
	const struct rpcrdma_device_limits *l = rxe_shape_limits(qp);
	const struct ib_send_wr *wr;

	for (wr = l ? first : NULL; wr; wr = wr->next) {
		atomic_inc(&rxe_shape_checked);
		if (!rxe_shape_check_send(l, wr))
			continue;
		*bad = first;
		return -EINVAL;
	}
	return rxe_between_ops.post_send(qp, first, bad);
}

static int rxe_shape_post_recv(struct ib_qp *qp, const struct ib_recv_wr *first,
			       const struct ib_recv_wr **bad)
{
	const struct rpcrdma_device_limits *l = rxe_shape_limits(qp);
	const struct ib_recv_wr *wr;

	for (wr = l ? first : NULL; wr; wr = wr->next) {
		atomic_inc(&rxe_shape_checked);
		if (!rxe_shape_check("elements of a Receive", wr->num_sge,
				     l->max_recv_sge))
			continue;
		*bad = first;
		return -EINVAL;
	}
	return rxe_between_ops.post_recv(qp, first, bad);
}

/* rxe sees to it that a region holds no more than it was made for. */
static struct ib_mr *rxe_shape_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
					u32 pages)
{
	const struct rpcrdma_adapter *shape = READ_ONCE(rxe_shape);
	u32 count = atomic_inc_return(&rxe_shape_n_mrs);
	struct ib_mr *mr = ERR_PTR(-EINVAL);
	int rc;

	if (shape && rxe_shape_check("pages of a region", pages,
				     shape->limits.max_fast_reg_pages))
		goto out;
	if (shape && rxe_shape_check("regions", count, shape->limits.max_mr)) {
		mr = ERR_PTR(-ENOMEM);
		goto out;
	}
	mr = rxe_between_ops.alloc_mr(pd, type, pages);
	if (IS_ERR(mr))
		goto out;
	rc = xa_err(xa_store(&rxe_shape_mrs, (unsigned long)mr, mr, GFP_KERNEL));
	if (!rc)
		return mr;
	/* ib_core would fill it in. */
	mr->device = pd->device;
	mr->pd = pd;
	rxe_between_ops.dereg_mr(mr, NULL);
	mr = ERR_PTR(rc);
out:
	atomic_dec(&rxe_shape_n_mrs);
	return mr;
}

/* Those that were made before this module was there do not count. */
static int rxe_shape_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	const unsigned long index = (unsigned long)mr;
	/* Afterwards another may be at the same address. */
	const bool counts = xa_erase(&rxe_shape_mrs, index);
	int rc;

	rc = rxe_between_ops.dereg_mr(mr, udata);
	if (!counts)
		return rc;
	/* It stays, and there was room for it. */
	if (rc && !xa_err(xa_store(&rxe_shape_mrs, index, mr, GFP_KERNEL)))
		return rc;
	atomic_dec(&rxe_shape_n_mrs);
	return rc;
}

/* Never more than the device said itself. */
static void rxe_shape_apply(const struct rxe_shape_device *sd)
{
	const struct rpcrdma_adapter *shape = rxe_shape;
	struct ib_device_attr attrs = sd->attrs;
	const struct rpcrdma_device_limits *l;

	if (shape) {
		l = &shape->limits;
		attrs.max_send_sge = min_t(u32, attrs.max_send_sge, l->max_send_sge);
		attrs.max_recv_sge = min_t(u32, attrs.max_recv_sge, l->max_recv_sge);
		attrs.max_sge_rd = min_t(u32, attrs.max_sge_rd, l->max_sge_rd);
		attrs.max_qp_wr = min_t(u32, attrs.max_qp_wr, l->max_qp_wr);
		attrs.max_cqe = min_t(u32, attrs.max_cqe, l->max_cqe);
		attrs.max_mr = min_t(u32, attrs.max_mr, l->max_mr);
		attrs.max_fast_reg_page_list_len =
			min_t(u32, attrs.max_fast_reg_page_list_len,
			      l->max_fast_reg_pages);
		attrs.max_qp_rd_atom = min_t(u32, attrs.max_qp_rd_atom, l->max_reads_in);
		attrs.max_qp_init_rd_atom =
			min_t(u32, attrs.max_qp_init_rd_atom, l->max_reads_out);
		/* rxe cannot be iWARP, but have its memory registered as often. */
		attrs.max_sgl_rd = l->iwarp ? 1 : l->max_sgl_rd;
		if (!l->fast_reg)
			attrs.device_cap_flags &= ~IB_DEVICE_MEM_MGT_EXTENSIONS;
		/* rpcrdma_driver() of verbs/conn.c knows of this. */
		if (!l->local_inv)
			attrs.vendor_part_id = RDMA_DRIVER_HNS;
		if (!shape->sg_gaps)
			attrs.kernel_cap_flags &= ~IBK_SG_GAPS_REG;
	}
	sd->device->attrs = attrs;
}

static int rxe_shape_set(const char *value, const struct kernel_param *kp)
{
	const struct rpcrdma_adapter *shape = NULL;
	struct rxe_shape_device *sd;
	unsigned int i;

	for (i = 0; !shape && i < ARRAY_SIZE(rpcrdma_adapters); i++)
		if (sysfs_streq(value, rpcrdma_adapters[i].name))
			shape = &rpcrdma_adapters[i];
	if (!shape)
		return -EINVAL;
	mutex_lock(&rxe_shape_lock);
	WRITE_ONCE(rxe_shape, shape);
	list_for_each_entry(sd, &rxe_shape_devices, link)
		rxe_shape_apply(sd);
	mutex_unlock(&rxe_shape_lock);
	return 0;
}

static int rxe_shape_get(char *buffer, const struct kernel_param *kp)
{
	const struct rpcrdma_adapter *shape = READ_ONCE(rxe_shape);

	return sysfs_emit(buffer, "%s\n", shape ? shape->name : "rxe");
}

static const struct kernel_param_ops rxe_shape_param = {
	.set = rxe_shape_set,
	.get = rxe_shape_get,
};

module_param_cb(shape, &rxe_shape_param, NULL, 0644);
MODULE_PARM_DESC(shape, "the adapter to look like");

module_param_atomic(broken, rxe_shape_broken);
MODULE_PARM_DESC(broken, "how often a limit was broken");
module_param_atomic(checked, rxe_shape_checked);
MODULE_PARM_DESC(checked, "Work Requests that were looked at");

/* Make @count regions. Return: why that did not work, or 0. */
static int rxe_shape_probe_mrs(struct ib_device *device, u32 count)
{
	struct ib_mr **mrs, *mr;
	struct ib_pd *pd;
	int rc = 0;
	u32 n = 0;

	mrs = kvcalloc(count, sizeof(*mrs), GFP_KERNEL);
	if (!mrs)
		return -ENOMEM;
	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd)) {
		kvfree(mrs);
		return PTR_ERR(pd);
	}
	while (!rc && n < count) {
		mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);
		rc = PTR_ERR_OR_ZERO(mr);
		if (!rc)
			mrs[n++] = mr;
	}
	while (n)
		ib_dereg_mr(mrs[--n]);
	ib_dealloc_pd(pd);
	kvfree(mrs);
	return rc;
}

static int rxe_shape_probe_cq(struct ib_device *device, u32 cqe)
{
	const struct ib_cq_init_attr attr = { .cqe = cqe };
	struct ib_cq *cq = ib_create_cq(device, NULL, NULL, NULL, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ib_destroy_cq(cq);
	return 0;
}

/* What is refused here is not counted. */
static int rxe_shape_probe(const char *value, const struct kernel_param *kp)
{
	const struct rpcrdma_adapter *shape = READ_ONCE(rxe_shape);
	const int broken = atomic_read(&rxe_shape_broken);
	struct rxe_shape_device *sd;
	int rc = -EINVAL;

	if (!shape)
		return -EINVAL;
	mutex_lock(&rxe_shape_lock);
	sd = list_first_entry_or_null(&rxe_shape_devices,
				      struct rxe_shape_device, link);
	if (!sd)
		rc = -ENODEV;
	else if (sysfs_streq(value, "regions") && shape->limits.max_mr <= SZ_4K)
		rc = rxe_shape_probe_mrs(sd->device, shape->limits.max_mr + 1);
	else if (sysfs_streq(value, "completions"))
		rc = rxe_shape_probe_cq(sd->device, shape->limits.max_cqe + 1);
	mutex_unlock(&rxe_shape_lock);
	if (atomic_cmpxchg(&rxe_shape_broken, broken + 1, broken) == broken + 1)
		return 0;
	return rc ?: -EIO;
}

static const struct kernel_param_ops rxe_shape_probe_param = {
	.set = rxe_shape_probe,
};

module_param_cb(probe, &rxe_shape_probe_param, NULL, 0200);
MODULE_PARM_DESC(probe, "break a limit, which must fail: regions, completions");

static struct ib_client rxe_shape_client;

static int rxe_shape_add(struct ib_device *device)
{
	struct rxe_shape_device *sd;

	sd = kzalloc(sizeof(*sd), GFP_KERNEL);
	if (!sd)
		return -ENOMEM;
	sd->device = device;
	sd->attrs = device->attrs;
	mutex_lock(&rxe_shape_lock);
	if (!rxe_between(device)) {
		mutex_unlock(&rxe_shape_lock);
		kfree(sd);
		return -EOPNOTSUPP;
	}
	list_add(&sd->link, &rxe_shape_devices);
	device->ops.create_qp = rxe_shape_create_qp;
	device->ops.modify_qp = rxe_shape_modify_qp;
	device->ops.post_send = rxe_shape_post_send;
	device->ops.post_recv = rxe_shape_post_recv;
	device->ops.create_cq = rxe_shape_create_cq;
	device->ops.alloc_mr = rxe_shape_alloc_mr;
	device->ops.dereg_mr = rxe_shape_dereg_mr;
	rxe_shape_apply(sd);
	mutex_unlock(&rxe_shape_lock);
	ib_set_client_data(device, &rxe_shape_client, sd);
	return 0;
}

static void rxe_shape_remove(struct ib_device *device, void *data)
{
	struct rxe_shape_device *sd = data;

	mutex_lock(&rxe_shape_lock);
	list_del(&sd->link);
	mutex_unlock(&rxe_shape_lock);
	kfree(sd);
}

static struct ib_client rxe_shape_client = {
	.name = "rxe_shape",
	.add = rxe_shape_add,
	.remove = rxe_shape_remove,
};

static int __init rxe_shape_init(void)
{
	return ib_register_client(&rxe_shape_client);
}
module_init(rxe_shape_init);

MODULE_DESCRIPTION("rxe with the limits of another adapter");
MODULE_LICENSE("Dual BSD/GPL");
