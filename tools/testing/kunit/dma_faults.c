// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lets some of rpcrdma's mappings for the device fail, as when an IOMMU or bounce buffers are used
 * up. Software devices map nothing, and so never fail.
 *
 *	modprobe dma_faults
 *	echo 301 > /sys/module/dma_faults/parameters/every
 *
 * makes each 301st fail, until 0 is written there. "failed" counts those, "mapped" says how many
 * entries are mapped now. It is loaded before there is a connection, and removed when there is none
 * any more.
 */
#include "atomic_param.h"
#include "verbs/dma.h"

static unsigned int every;
module_param(every, uint, 0644);
MODULE_PARM_DESC(every, "one of so many fails; 0: none");

static atomic_t dma_faults_count = ATOMIC_INIT(0);
static atomic_t dma_faults_failed = ATOMIC_INIT(0);
static atomic_t dma_faults_mapped = ATOMIC_INIT(0);

module_param_atomic(failed, dma_faults_failed);
MODULE_PARM_DESC(failed, "how many have failed");
module_param_atomic(mapped, dma_faults_mapped);
MODULE_PARM_DESC(mapped, "entries that are mapped now");

static int dma_faults_test(struct scatterlist *list, int count)
{
	const unsigned int one_of = READ_ONCE(every);

	if (count > 0 && one_of &&
	    !((unsigned int)atomic_inc_return(&dma_faults_count) % one_of)) {
		atomic_inc(&dma_faults_failed);
		return 0;
	}
	atomic_add(count, &dma_faults_mapped);
	return count;
}

static int __init dma_faults_init(void)
{
	WRITE_ONCE(rpcrdma_dma_tested, dma_faults_test);
	return 0;
}
module_init(dma_faults_init);

static void __exit dma_faults_exit(void)
{
	WRITE_ONCE(rpcrdma_dma_tested, NULL);
}
module_exit(dma_faults_exit);

MODULE_DESCRIPTION("mappings of rpcrdma's that fail");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
