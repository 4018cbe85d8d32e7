/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Maps memory for a device. Software devices map nothing, so there nothing fails: on a kernel with
 * KUnit, tests say what comes of a mapping.
 */
#ifndef _RPCRDMA_VERBS_DMA_H
#define _RPCRDMA_VERBS_DMA_H

#include <linux/kconfig.h>
#include <rdma/ib_verbs.h>

#if IS_ENABLED(CONFIG_KUNIT)

/*
 * Gets what has been mapped: @count entries of @list, which is NULL for memory in one piece; and
 * -@count when that is no longer mapped. Return: entries that are left of @list; 0: it cannot be
 * mapped.
 */
extern int (*rpcrdma_dma_tested)(struct scatterlist *list, int count);

static inline int rpcrdma_dma_entries(struct scatterlist *list, int count)
{
	int (*test)(struct scatterlist *list, int count) =
		READ_ONCE(rpcrdma_dma_tested);

	return test ? test(list, count) : count;
}

#else

static inline int rpcrdma_dma_entries(struct scatterlist *list, int count)
{
	return count;
}

#endif

static inline void rpcrdma_dma_unmap_single(struct ib_device *device, u64 addr,
					    size_t size,
					    enum dma_data_direction dir)
{
	rpcrdma_dma_entries(NULL, -1);
	ib_dma_unmap_single(device, addr, size, dir);
}

/* Return: false if it cannot be mapped. */
static inline bool rpcrdma_dma_map_single(struct ib_device *device,
					  const void *from, size_t size,
					  enum dma_data_direction dir, u64 *addr)
{
	*addr = ib_dma_map_single(device, (void *)from, size, dir);
	if (ib_dma_mapping_error(device, *addr))
		return false;
	if (rpcrdma_dma_entries(NULL, 1))
		return true;
	ib_dma_unmap_single(device, *addr, size, dir);
	return false;
}

static inline void rpcrdma_dma_unmap_page(struct ib_device *device, u64 addr,
					  size_t size,
					  enum dma_data_direction dir)
{
	rpcrdma_dma_entries(NULL, -1);
	ib_dma_unmap_page(device, addr, size, dir);
}

/* Return: likewise. */
static inline bool rpcrdma_dma_map_page(struct ib_device *device,
					struct page *page, u32 offset,
					size_t size, enum dma_data_direction dir,
					u64 *addr)
{
	*addr = ib_dma_map_page(device, page, offset, size, dir);
	if (ib_dma_mapping_error(device, *addr))
		return false;
	if (rpcrdma_dma_entries(NULL, 1))
		return true;
	ib_dma_unmap_page(device, *addr, size, dir);
	return false;
}

/* @count is that of rpcrdma_dma_map_sg(). */
static inline void rpcrdma_dma_unmap_sg(struct ib_device *device,
					struct scatterlist *list, int count,
					enum dma_data_direction dir,
					unsigned long attrs)
{
	rpcrdma_dma_entries(list, -count);
	ib_dma_unmap_sg_attrs(device, list, count, dir, attrs);
}

/* Return: entries that it maps to, which may be fewer; 0 if it cannot be mapped. */
static inline int rpcrdma_dma_map_sg(struct ib_device *device,
				     struct scatterlist *list, int count,
				     enum dma_data_direction dir)
{
	const int mapped = ib_dma_map_sg(device, list, count, dir);
	const int left = mapped ? rpcrdma_dma_entries(list, mapped) : 0;

	if (mapped && !left)
		ib_dma_unmap_sg(device, list, count, dir);
	return left;
}

#endif /* _RPCRDMA_VERBS_DMA_H */
