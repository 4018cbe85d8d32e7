// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Buffers that outlive their connection.
 *
 * When a connection is lost, WRITEs may wait for the next connection, and only these WRITEs
 * may free memory. So the next connection gets the buffers of the last one.
 */
#include <linux/slab.h>

#include "../params.h"
#include "verbs.h"

/**
 * rpcrdma_spare_get - get a buffer
 * @s: the spares, or NULL if none are kept
 * @size: bytes
 * @node: NUMA node for a new buffer
 * @gfp: for a new buffer
 *
 * Context: Process context. May sleep. One caller at a time for @s.
 *
 * Return: the buffer, not initialized, or NULL.
 */
void *rpcrdma_spare_get(struct rpcrdma_spares *s, u32 size, int node, gfp_t gfp)
{
	void *buf;

	if (s && s->size != size) {
		rpcrdma_spares_free(s);
		s->size = size;
	}
	if (!s || !s->first)
		return kmalloc_node(size, gfp, node);
	buf = s->first;
	s->first = *(void **)buf;
	s->count--;
	return buf;
}

/**
 * rpcrdma_spare_put - keep a buffer, or free it
 * @s: as for rpcrdma_spare_get()
 * @buf: the buffer
 * @size: its bytes
 *
 * The next connection begins with small ones, and accounts for those. So a larger buffer is
 * replaced by a small one. Without memory for that it is kept: the next connection needs it.
 */
void rpcrdma_spare_put(struct rpcrdma_spares *s, void *buf, u32 size)
{
	void *small = NULL;

	if (!s || size < s->size || s->count > RPCRDMA_WINDOW_STEP) {
		kfree(buf);
		return;
	}
	if (size > s->size)
		small = kmalloc_node(s->size, GFP_NOWAIT | __GFP_NOWARN |
						      __GFP_NOMEMALLOC,
				     page_to_nid(virt_to_page(buf)));
	if (small) {
		kfree(buf);
		buf = small;
	}
	*(void **)buf = s->first;
	s->first = buf;
	s->count++;
}

/**
 * rpcrdma_spares_free - free all of them
 * @s: the spares
 */
void rpcrdma_spares_free(struct rpcrdma_spares *s)
{
	void *buf;

	while (s->first) {
		buf = s->first;
		s->first = *(void **)buf;
		kfree(buf);
	}
	s->count = 0;
}
