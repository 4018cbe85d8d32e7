// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The sysctls of the kernel's own transport: sunrpc.rdma_* for clients and
 * sunrpc.svc_rdma.* for servers. Names, modes and ranges are the same, since scripts
 * use them. Documentation/drop-in.rst says what each does. The sysctls for the protocol
 * versions exist only here.
 */
#include <linux/slab.h>
#include <linux/sysctl.h>

#include "params.h"
#include "verbs/verbs.h"
#include "versions.h"

unsigned int rpcrdma_slots = RPCRDMA_DEF_SLOTS;
unsigned int rpcrdma_inline_read = RPCRDMA_DEF_INLINE;
unsigned int rpcrdma_inline_write = RPCRDMA_DEF_INLINE;
unsigned int rpcrdma_svc_inline = RPCRDMA_DEF_INLINE;
unsigned int rpcrdma_svc_reads = RPCRDMA_DEF_READS;

/* These have no effect here: they can only be written and read. */
static int rpcrdma_no_padding;
static int rpcrdma_no_strategy = 5;	/* FRWR, the only one there is */
static int rpcrdma_no_pad_optimize;
static int rpcrdma_no_counter;

static int rpcrdma_slots_min = 4, rpcrdma_slots_max = 16384;
static int rpcrdma_inline_min = 1024, rpcrdma_inline_max = 65536;
static int rpcrdma_svc_inline_min = 4096;
static int rpcrdma_requests_min = 4, rpcrdma_requests_max = 16384;
static int rpcrdma_reads_min = 1, rpcrdma_reads_max = 255;
static int rpcrdma_padding_max = PAGE_SIZE;
static int rpcrdma_strategy_max = 6;

/**
 * struct rpcrdma_svc_counter - counts for all servers on this machine
 * @value: the count since the module was loaded
 * @base: @value at the last write to the file
 */
struct rpcrdma_svc_counter {
	u64 (*value)(const struct rpcrdma_stats *stats);
	u64 base;
};

static u64 rpcrdma_svc_count_reads(const struct rpcrdma_stats *stats)
{
	return stats->rdma_reads;
}

static u64 rpcrdma_svc_count_writes(const struct rpcrdma_stats *stats)
{
	return stats->rdma_writes;
}

static u64 rpcrdma_svc_count_recvs(const struct rpcrdma_stats *stats)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < RPCRDMA_MAX_TYPES; i++)
		sum += stats->rx_type[i];
	return sum;
}

static u64 rpcrdma_svc_count_starved(const struct rpcrdma_stats *stats)
{
	return stats->sq_full;
}

static struct rpcrdma_svc_counter rpcrdma_svc_read = {
	.value = rpcrdma_svc_count_reads,
};

static struct rpcrdma_svc_counter rpcrdma_svc_write = {
	.value = rpcrdma_svc_count_writes,
};

static struct rpcrdma_svc_counter rpcrdma_svc_recv = {
	.value = rpcrdma_svc_count_recvs,
};

static struct rpcrdma_svc_counter rpcrdma_svc_starve = {
	.value = rpcrdma_svc_count_starved,
};

/* Any write sets the counter to zero. */
static int rpcrdma_counter_handler(rpcrdma_ctl_table *table, int write,
				   void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rpcrdma_svc_counter *counter = table->data;
	struct rpcrdma_stats *stats;
	unsigned long shown;
	struct ctl_table copy = {
		.data = &shown,
		.maxlen = sizeof(shown),
	};
	u64 value;

	stats = kmalloc(sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return -ENOMEM;
	rpcrdma_stats_of(RPCRDMA_ROLE_SERVER, stats);
	value = counter->value(stats);
	kfree(stats);
	if (write) {
		WRITE_ONCE(counter->base, value);
		return 0;
	}
	shown = value - READ_ONCE(counter->base);
	return proc_doulongvec_minmax(&copy, 0, buffer, lenp, ppos);
}

/* The module parameter window. */
/* cppcheck-suppress constParameter -- a proc_handler has this type on some kernels */
static int rpcrdma_requests_handler(rpcrdma_ctl_table *table, int write,
				    void *buffer, size_t *lenp, loff_t *ppos)
{
	int window = READ_ONCE(rpcrdma_window);
	struct ctl_table copy = *table;
	int rc;

	copy.data = &window;
	rc = proc_dointvec_minmax(&copy, write, buffer, lenp, ppos);
	if (!rc && write)
		rpcrdma_window_change(window);
	return rc;
}

#define RPCRDMA_SYSCTL(name, variable, min, max) {	\
	.procname = name,				\
	.data = &(variable),				\
	.maxlen = sizeof(int),				\
	.mode = 0644,					\
	.proc_handler = proc_dointvec_minmax,		\
	.extra1 = min,					\
	.extra2 = max,					\
}

#define RPCRDMA_COUNTER(name, counter) {		\
	.procname = name,				\
	.data = &(counter),				\
	.maxlen = sizeof(unsigned long),		\
	.mode = 0644,					\
	.proc_handler = rpcrdma_counter_handler,	\
}

#define RPCRDMA_NO_COUNTER(name)			\
	RPCRDMA_SYSCTL(name, rpcrdma_no_counter, SYSCTL_ZERO, SYSCTL_ZERO)

static struct ctl_table rpcrdma_client_sysctls[] = {
	RPCRDMA_SYSCTL("rdma_slot_table_entries", rpcrdma_slots,
		       &rpcrdma_slots_min, &rpcrdma_slots_max),
	RPCRDMA_SYSCTL("rdma_max_inline_read", rpcrdma_inline_read,
		       &rpcrdma_inline_min, &rpcrdma_inline_max),
	RPCRDMA_SYSCTL("rdma_max_inline_write", rpcrdma_inline_write,
		       &rpcrdma_inline_min, &rpcrdma_inline_max),
	RPCRDMA_SYSCTL("rdma_inline_write_padding", rpcrdma_no_padding,
		       SYSCTL_ZERO, &rpcrdma_padding_max),
	RPCRDMA_SYSCTL("rdma_memreg_strategy", rpcrdma_no_strategy,
		       SYSCTL_ZERO, &rpcrdma_strategy_max),
	RPCRDMA_SYSCTL("rdma_pad_optimize", rpcrdma_no_pad_optimize, NULL,
		       NULL),
	RPCRDMA_SYSCTL("rdma_min_version", rpcrdma_client_min,
		       &rpcrdma_version_lowest, &rpcrdma_version_highest),
	RPCRDMA_SYSCTL("rdma_max_version", rpcrdma_client_max,
		       &rpcrdma_version_lowest, &rpcrdma_version_highest),
	RPCRDMA_COMPAT_SYSCTL_END
};

static struct ctl_table rpcrdma_server_sysctls[] = {
	{
		.procname = "max_requests",
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = rpcrdma_requests_handler,
		.extra1 = &rpcrdma_requests_min,
		.extra2 = &rpcrdma_requests_max,
	},
	RPCRDMA_SYSCTL("max_req_size", rpcrdma_svc_inline,
		       &rpcrdma_svc_inline_min, &rpcrdma_inline_max),
	RPCRDMA_SYSCTL("max_outbound_read_requests", rpcrdma_svc_reads,
		       &rpcrdma_reads_min, &rpcrdma_reads_max),
	RPCRDMA_SYSCTL("min_version", rpcrdma_server_min,
		       &rpcrdma_version_lowest, &rpcrdma_version_highest),
	RPCRDMA_SYSCTL("max_version", rpcrdma_server_max,
		       &rpcrdma_version_lowest, &rpcrdma_version_highest),
	RPCRDMA_COUNTER("rdma_stat_read", rpcrdma_svc_read),
	RPCRDMA_COUNTER("rdma_stat_recv", rpcrdma_svc_recv),
	RPCRDMA_COUNTER("rdma_stat_write", rpcrdma_svc_write),
	RPCRDMA_COUNTER("rdma_stat_sq_starve", rpcrdma_svc_starve),
	RPCRDMA_NO_COUNTER("rdma_stat_rq_starve"),
	RPCRDMA_NO_COUNTER("rdma_stat_rq_poll"),
	RPCRDMA_NO_COUNTER("rdma_stat_rq_prod"),
	RPCRDMA_NO_COUNTER("rdma_stat_sq_poll"),
	RPCRDMA_NO_COUNTER("rdma_stat_sq_prod"),
	RPCRDMA_COMPAT_SYSCTL_END
};

static struct ctl_table_header *rpcrdma_client_header;
static struct ctl_table_header *rpcrdma_server_header;

/**
 * rpcrdma_sysctl_init - make the files under /proc/sys/sunrpc
 *
 * Return: 0 or %-ENOMEM. Succeeds on a kernel without sysctls, too.
 */
int rpcrdma_sysctl_init(void)
{
	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;
	rpcrdma_client_header = register_sysctl("sunrpc",
						rpcrdma_client_sysctls);
	rpcrdma_server_header = register_sysctl("sunrpc/svc_rdma",
						rpcrdma_server_sysctls);
	if (rpcrdma_client_header && rpcrdma_server_header)
		return 0;
	rpcrdma_sysctl_exit();
	return -ENOMEM;
}

/**
 * rpcrdma_sysctl_exit - remove the files under /proc/sys/sunrpc
 */
void rpcrdma_sysctl_exit(void)
{
	unregister_sysctl_table(rpcrdma_server_header);
	unregister_sysctl_table(rpcrdma_client_header);
	/* If one of both could not be registered this is called twice. */
	rpcrdma_server_header = NULL;
	rpcrdma_client_header = NULL;
}
