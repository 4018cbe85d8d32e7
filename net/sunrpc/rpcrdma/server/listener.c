// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening for RDMA connections.
 *
 * The connection manager's thread only puts a request on a list; an nfsd
 * thread accepts it. Until then the request can become void: the client gives
 * up, or the device is removed. The thread that takes the request off the list must
 * end it, or put it back, if the module has no memory for another connection. Then it waits
 * until there is some. It also waits if too many clients have only just come, or if the device
 * has no memory region left. Nobody tells of these, so it is tried again and again.
 *
 * A listener on one address is bound to a device. When the device is removed,
 * or the address moves to another device, the rdma_cm_id has to be replaced. A
 * work item does that, and tries again until the address is back.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/xprt.h>

#include <trace/events/rpcrdma_v2.h>

#include "server.h"

/* Time between two attempts to listen. */
#define RPCRDMA_RELISTEN	HZ
/* Between two attempts to get memory regions of a device. */
#define RPCRDMA_REGIONS_LOOK	HZ

struct workqueue_struct *rpcrdma_svc_wq;

static const struct svc_xprt_ops rpcrdma_listener_ops;

/* Guards the list of listeners, which ascends by number. */
static DEFINE_SPINLOCK(rpcrdma_listeners_lock);
static LIST_HEAD(rpcrdma_listeners);
static u64 rpcrdma_listener_ids;

static struct rpcrdma_listener *rpcrdma_listener_of(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_listener, xprt);
}

/* Take @svc off the list. Return: false if another thread did it before. */
static bool rpcrdma_listener_take(struct rpcrdma_listener *l,
				  struct rpcrdma_svc_xprt *svc)
{
	bool mine;

	spin_lock(&l->lock);
	mine = !list_empty(&svc->pending);
	if (mine) {
		list_del_init(&svc->pending);
		l->n_pending--;
		trace_rpcrdma_request(svc->cm_id, "given up", l->n_pending);
	}
	spin_unlock(&l->lock);
	return mine;
}

/* Events of a connection that is not accepted yet. */
static int rpcrdma_pending_event(struct rdma_cm_id *cm_id,
				 struct rdma_cm_event *event)
{
	struct rpcrdma_svc_xprt *svc = cm_id->context;

	trace_rpcrdma_cm(cm_id, event);
	WRITE_ONCE(svc->gone, true);
	if (rpcrdma_listener_take(svc->listener, svc))
		rpcrdma_svc_discard(&svc->xprt);
	return 0;
}

/*
 * Let a thread of nfsd accept requests, unless they wait for clients that came before. Return: true
 * if the caller then has to enqueue the listener.
 */
static bool rpcrdma_listener_calls(struct rpcrdma_listener *l)
{
	lockdep_assert_held(&l->lock);
	if (l->crowded || list_empty(&l->pending))
		return false;
	set_bit(XPT_CONN, &l->xprt.xpt_flags);
	return true;
}

static int rpcrdma_connect_request(struct rpcrdma_listener *l,
				   struct rdma_cm_id *cm_id,
				   const struct rdma_conn_param *param)
{
	struct rpcrdma_svc_xprt *svc;
	bool wanted;

	svc = rpcrdma_svc_alloc(l, cm_id, param);
	if (!svc) {
		trace_rpcrdma_request(cm_id, "no memory",
				      READ_ONCE(l->n_pending));
		trace_rpcrdma_connect(l->xprt.xpt_remotebuf, "request",
				      -ENOMEM);
		return -ENOMEM;
	}

	spin_lock(&l->lock);
	if (l->closed || l->n_pending >= RPCRDMA_MAX_PENDING) {
		trace_rpcrdma_request(cm_id, l->closed ? "listener closed" :
				      "too many", l->n_pending);
		spin_unlock(&l->lock);
		trace_rpcrdma_connect(svc->xprt.xpt_remotebuf, "request",
				      -EBUSY);
		/* rdma_cm rejects the request and destroys its cm_id. */
		svc->cm_id = NULL;
		rpcrdma_svc_discard(&svc->xprt);
		return -EBUSY;
	}
	cm_id->context = svc;
	cm_id->event_handler = rpcrdma_pending_event;
	list_add_tail(&svc->pending, &l->pending);
	l->n_pending++;
	trace_rpcrdma_request(cm_id, "kept", l->n_pending);
	wanted = rpcrdma_listener_calls(l);
	spin_unlock(&l->lock);

	if (wanted)
		svc_xprt_enqueue(&l->xprt);
	return 0;
}

static int rpcrdma_listener_event(struct rdma_cm_id *cm_id,
				  struct rdma_cm_event *event)
{
	struct rpcrdma_listener *l = cm_id->context;

	trace_rpcrdma_cm(cm_id, event);
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rpcrdma_connect_request(l, cm_id, &event->param.conn);
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		spin_lock(&l->lock);
		if (!l->closed)
			queue_delayed_work(rpcrdma_svc_wq, &l->listen, 0);
		spin_unlock(&l->lock);
		break;
	default:
		break;
	}
	return 0;
}

/* What @cm_id, listening or NULL, means for who looks. */
static void rpcrdma_listener_shows(struct rpcrdma_listener *l,
				   const struct rdma_cm_id *cm_id)
{
	spin_lock(&l->lock);
	l->listening = cm_id;
	l->device_name[0] = '\0';
	if (cm_id && cm_id->device)
		strscpy(l->device_name, cm_id->device->name,
			sizeof(l->device_name));
	spin_unlock(&l->lock);
}

static int rpcrdma_listener_bind(struct rpcrdma_listener *l,
				 struct sockaddr *sap)
{
	struct rdma_cm_id *cm_id;
	int rc;

	lockdep_assert_held(&l->binding);
	cm_id = rdma_create_id(l->xprt.xpt_net, rpcrdma_listener_event, l,
			       RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);

	/* So the same port can be bound for both address families. */
	rc = IS_ENABLED(CONFIG_IPV6) ? rdma_set_afonly(cm_id, 1) : 0;
	if (!rc)
		rc = rdma_bind_addr(cm_id, sap);
	if (!rc) {
		l->cm_id = cm_id;
		/* The caller may have left the port open. Set it before events come. */
		svc_xprt_set_local(&l->xprt, (struct sockaddr *)
				   &cm_id->route.addr.src_addr,
				   svc_addr_len(sap));
		rc = rdma_listen(cm_id, RPCRDMA_LISTEN_BACKLOG);
	}
	if (rc) {
		l->cm_id = NULL;
		rdma_destroy_id(cm_id);
	}
	rpcrdma_listener_shows(l, l->cm_id);
	return rc;
}

static void rpcrdma_listener_again(struct work_struct *work)
{
	struct rpcrdma_listener *l = container_of(to_delayed_work(work),
						  struct rpcrdma_listener,
						  listen);
	int rc;

	mutex_lock(&l->binding);
	if (l->cm_id)
		rdma_destroy_id(l->cm_id);
	l->cm_id = NULL;

	rc = rpcrdma_listener_bind(l, (struct sockaddr *)&l->xprt.xpt_local);
	mutex_unlock(&l->binding);
	trace_rpcrdma_connect(l->xprt.xpt_remotebuf, "listen again", rc);
	if (!rc)
		return;
	spin_lock(&l->lock);
	if (!l->closed)
		queue_delayed_work(rpcrdma_svc_wq, &l->listen,
				   RPCRDMA_RELISTEN);
	spin_unlock(&l->lock);
}

/*
 * sunrpc ends the oldest connection that has shown no file handle yet, if there are too many of
 * these. When all clients come back at once, each would end the connection of another one. So
 * requests wait until clients that came before have shown theirs. They may be some that never
 * will: so one request is accepted now and then all the same. Others can be accepted at the same
 * time, by another listener or TCP: an eighth is left for them.
 */
static bool rpcrdma_listener_crowded(const struct rpcrdma_listener *l)
{
	const struct svc_serv *serv = l->xprt.xpt_server;
	u32 limit = rpcrdma_compat_max_new(serv);
	int new;

	lockdep_assert_held(&l->lock);
	if (!limit ||
	    get_jiffies_64() - l->accepted >= RPCRDMA_NEWCOMER_GAP)
		return false;
	/* sunrpc reads it without a lock, too, and can count one down twice. */
	new = data_race(serv->sv_tmpcnt);
	return new > 0 && new >= limit - limit / 8;
}

/* Threads of nfsd do not look: each time that one does, sunrpc ends a connection if it has to. */
static void rpcrdma_listener_look(struct work_struct *work)
{
	struct rpcrdma_listener *l = container_of(to_delayed_work(work),
						  struct rpcrdma_listener,
						  look);
	bool wanted;

	spin_lock(&l->lock);
	l->crowded = !l->closed && rpcrdma_listener_crowded(l);
	if (l->crowded)
		queue_delayed_work(rpcrdma_svc_wq, &l->look,
				   RPCRDMA_NEWCOMER_LOOK);
	wanted = rpcrdma_listener_calls(l);
	spin_unlock(&l->lock);

	if (wanted)
		svc_xprt_enqueue(&l->xprt);
}

static void rpcrdma_listener_detach(struct svc_xprt *xprt);

static struct svc_xprt *rpcrdma_listener_create(struct svc_serv *serv,
						struct net *net,
						struct sockaddr *sap, int salen,
						int flags)
{
	struct rpcrdma_listener *l;
	int rc;

	if (sap->sa_family != AF_INET && sap->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);

	svc_xprt_init(net, &rpcrdma_svc_class, &l->xprt, serv);
	l->xprt.xpt_ops = &rpcrdma_listener_ops;
	set_bit(XPT_LISTENER, &l->xprt.xpt_flags);
	set_bit(XPT_CONG_CTRL, &l->xprt.xpt_flags);
	strscpy(l->xprt.xpt_remotebuf, "listener",
		sizeof(l->xprt.xpt_remotebuf));
	INIT_DELAYED_WORK(&l->listen, rpcrdma_listener_again);
	INIT_DELAYED_WORK(&l->look, rpcrdma_listener_look);
	mutex_init(&l->binding);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->pending);

	spin_lock(&rpcrdma_listeners_lock);
	l->id = ++rpcrdma_listener_ids;
	list_add_tail(&l->link, &rpcrdma_listeners);
	spin_unlock(&rpcrdma_listeners_lock);

	/* From now on requests may come, before nfsd knows the listener. */
	mutex_lock(&l->binding);
	rc = rpcrdma_listener_bind(l, sap);
	mutex_unlock(&l->binding);
	trace_rpcrdma_connect(l->xprt.xpt_remotebuf, "listen", rc);
	if (rc) {
		/* An event may have come before. */
		rpcrdma_listener_detach(&l->xprt);
		rpcrdma_svc_discard(&l->xprt);
		return ERR_PTR(rc);
	}
	return &l->xprt;
}

/*
 * There is no memory for @svc: it waits, and all behind it. Or, @regions: its device has no
 * regions; those behind it may have another device, so the next look begins with them. Return:
 * false if there is no point in that any more.
 */
static bool rpcrdma_listener_hold_back(struct rpcrdma_listener *l,
				       struct rpcrdma_svc_xprt *svc,
				       bool regions)
{
	bool held;

	spin_lock(&l->lock);
	held = !l->closed && !READ_ONCE(svc->gone);
	if (held) {
		if (regions) {
			list_add_tail(&svc->pending, &l->pending);
			queue_delayed_work(rpcrdma_svc_wq, &l->look,
					   RPCRDMA_REGIONS_LOOK);
		} else {
			list_add(&svc->pending, &l->pending);
		}
		l->n_pending++;
		trace_rpcrdma_request(svc->cm_id,
				      regions ? "no regions" : "held back",
				      l->n_pending);
		/* There may be some by now: then nobody else wakes this listener. */
		if (l->retry)
			set_bit(XPT_CONN, &l->xprt.xpt_flags);
		else
			clear_bit(XPT_CONN, &l->xprt.xpt_flags);
	}
	spin_unlock(&l->lock);
	return held;
}

/**
 * rpcrdma_listeners_retry - there may be memory for connections that were held back
 *
 * Context: Process context. Does not sleep.
 */
void rpcrdma_listeners_retry(void)
{
	struct rpcrdma_listener *l;
	bool wanted;

	spin_lock(&rpcrdma_listeners_lock);
	list_for_each_entry(l, &rpcrdma_listeners, link) {
		spin_lock(&l->lock);
		l->retry = true;
		wanted = rpcrdma_listener_calls(l);
		spin_unlock(&l->lock);
		if (wanted)
			svc_xprt_enqueue(&l->xprt);
	}
	spin_unlock(&rpcrdma_listeners_lock);
}

static struct svc_xprt *rpcrdma_listener_accept(struct svc_xprt *xprt)
{
	struct rpcrdma_listener *l = rpcrdma_listener_of(xprt);
	struct rpcrdma_svc_xprt *svc;
	int rc;

	spin_lock(&l->lock);
	svc = list_first_entry_or_null(&l->pending, struct rpcrdma_svc_xprt,
				       pending);
	if (svc && rpcrdma_listener_crowded(l)) {
		trace_rpcrdma_request(svc->cm_id, "waits for others",
				      l->n_pending);
		l->crowded = true;
		clear_bit(XPT_CONN, &xprt->xpt_flags);
		queue_delayed_work(rpcrdma_svc_wq, &l->look,
				   RPCRDMA_NEWCOMER_LOOK);
		spin_unlock(&l->lock);
		return NULL;
	}
	if (svc) {
		list_del_init(&svc->pending);
		l->n_pending--;
		l->accepted = get_jiffies_64();
	}
	l->retry = false;
	if (list_empty(&l->pending))
		clear_bit(XPT_CONN, &xprt->xpt_flags);
	spin_unlock(&l->lock);
	if (!svc)
		return NULL;

	rc = rpcrdma_svc_accept(svc);
	trace_rpcrdma_connect(svc->xprt.xpt_remotebuf, "accept", rc);
	/* With a connection it was rdma_accept() that has failed. */
	if ((rc == -EDQUOT || rc == -ENOBUFS) && !svc->conn &&
	    rpcrdma_listener_hold_back(l, svc, rc == -ENOBUFS))
		return NULL;
	if (rc) {
		rpcrdma_svc_discard(&svc->xprt);
		return NULL;
	}
	return &svc->xprt;
}

static void rpcrdma_listener_detach(struct svc_xprt *xprt)
{
	struct rpcrdma_listener *l = rpcrdma_listener_of(xprt);
	struct rpcrdma_svc_xprt *svc;

	spin_lock(&rpcrdma_listeners_lock);
	list_del_init(&l->link);
	spin_unlock(&rpcrdma_listeners_lock);
	spin_lock(&l->lock);
	l->closed = true;
	spin_unlock(&l->lock);
	cancel_delayed_work_sync(&l->listen);
	/* sunrpc calls rpcrdma_listener_accept() no more, so only it queues itself. */
	cancel_delayed_work_sync(&l->look);

	/* No request comes after this. */
	if (l->cm_id)
		rdma_destroy_id(l->cm_id);
	l->cm_id = NULL;

	spin_lock(&l->lock);
	while ((svc = list_first_entry_or_null(&l->pending,
					       struct rpcrdma_svc_xprt,
					       pending))) {
		list_del_init(&svc->pending);
		l->n_pending--;
		trace_rpcrdma_request(svc->cm_id, "listener closed",
				      l->n_pending);
		spin_unlock(&l->lock);
		rpcrdma_svc_discard(&svc->xprt);
		spin_lock(&l->lock);
	}
	spin_unlock(&l->lock);
}

/* Detached before, or never bound. */
static void rpcrdma_listener_free(struct svc_xprt *xprt)
{
	kfree(rpcrdma_listener_of(xprt));
}

/* A listener has no data, but some callers call these without a check. */
static int rpcrdma_listener_recvfrom(struct svc_rqst *rqstp)
{
	svc_xprt_received(rqstp->rq_xprt);
	return 0;
}

static int rpcrdma_listener_has_wspace(struct svc_xprt *xprt)
{
	return 1;
}

static void rpcrdma_listener_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
}

static void rpcrdma_listener_kill_temp(struct svc_xprt *xprt)
{
}

static const struct svc_xprt_ops rpcrdma_listener_ops = {
	.xpo_create = rpcrdma_listener_create,
	.xpo_accept = rpcrdma_listener_accept,
	.xpo_has_wspace = rpcrdma_listener_has_wspace,
	.xpo_recvfrom = rpcrdma_listener_recvfrom,
	.xpo_release_ctxt = rpcrdma_listener_release_ctxt,
	.xpo_detach = rpcrdma_listener_detach,
	.xpo_free = rpcrdma_listener_free,
	.xpo_kill_temp_xprt = rpcrdma_listener_kill_temp,
};

struct svc_xprt_class rpcrdma_svc_class = {
	.xcl_name = "rdma",
	.xcl_owner = THIS_MODULE,
	.xcl_ops = &rpcrdma_listener_ops,
	.xcl_max_payload = RPCSVC_MAXPAYLOAD,
	.xcl_ident = XPRT_TRANSPORT_RDMA,
};

/**
 * rpcrdma_listener_next - what is to be said of one listener after another
 * @net: the network namespace that it has to be in
 * @from: the lowest number that it may have
 * @info: filled in
 *
 * Context: Process context. Does not sleep.
 *
 * Return: false if there is none.
 */
bool rpcrdma_listener_next(const struct net *net, u64 from,
			   struct rpcrdma_listener_info *info)
{
	struct rpcrdma_listener *l;
	bool found = false;

	spin_lock(&rpcrdma_listeners_lock);
	list_for_each_entry(l, &rpcrdma_listeners, link) {
		/* While it is made it has no address. */
		if (l->id < from || l->xprt.xpt_net != net ||
		    !l->xprt.xpt_locallen)
			continue;
		found = true;
		info->id = l->id;
		memcpy(&info->address, &l->xprt.xpt_local,
		       sizeof(info->address));
		info->length = l->xprt.xpt_locallen;
		spin_lock(&l->lock);
		info->listening = l->listening;
		info->pending = l->n_pending;
		memcpy(info->device_name, l->device_name,
		       sizeof(info->device_name));
		spin_unlock(&l->lock);
		break;
	}
	spin_unlock(&rpcrdma_listeners_lock);
	return found;
}

/**
 * rpcrdma_server_init - offer the transport to RPC services
 *
 * Return: 0, %-ENOMEM, or %-EEXIST if another module has registered it.
 */
int rpcrdma_server_init(void)
{
	int rc;

	rc = rpcrdma_svc_calls_init();
	if (rc)
		return rc;
	rpcrdma_svc_wq = alloc_workqueue("rpcrdma_svc", WQ_UNBOUND, 0);
	if (!rpcrdma_svc_wq) {
		rc = -ENOMEM;
		goto out_calls;
	}
	rc = rpcrdma_svc_bc_init();
	if (rc)
		goto out_wq;
	rc = svc_reg_xprt_class(&rpcrdma_svc_class);
	if (rc)
		goto out_bc;
	return 0;

out_bc:
	rpcrdma_svc_bc_exit();
out_wq:
	destroy_workqueue(rpcrdma_svc_wq);
out_calls:
	rpcrdma_svc_calls_exit();
	return rc;
}

/**
 * rpcrdma_server_exit - wait for the last connection to be gone
 *
 * Context: Process context. May sleep. Every svc_xprt held a reference to the
 * module, so none is left; the work that frees them may still run.
 */
void rpcrdma_server_exit(void)
{
	svc_unreg_xprt_class(&rpcrdma_svc_class);
	rpcrdma_svc_bc_exit();
	destroy_workqueue(rpcrdma_svc_wq);
	rpcrdma_svc_calls_exit();
}
