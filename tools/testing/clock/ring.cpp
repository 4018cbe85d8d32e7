// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring.h"

#include <cstring>

namespace ttclock
{

namespace
{

/* As in the virtio specification, 2.7. The host is little-endian as is the ring. */
struct Descriptor {
	u64 address;
	u32 length;
	u16 flags;
	u16 next;
};
static_assert(sizeof(Descriptor) == 16);

constexpr u16 kNext = 1;
constexpr u16 kWritable = 2;
constexpr u16 kIndirect = 4; /* never negotiated */

constexpr u16 kNoInterrupt = 1;

/* Of both the available and the used ring: u16 flags, u16 index, entries. */
constexpr u64 kFlags = 0;
constexpr u64 kIndex = 2;
constexpr u64 kEntries = 4;
constexpr u64 kUsedEntry = 8;

u64 total(const std::vector<Octets> &pieces)
{
	u64 sum = 0;

	for (const Octets &piece : pieces)
		sum += piece.size();
	return sum;
}

} /* namespace */

Octets Memory::at(u64 address, u64 length) const
{
	for (const Region &r : regions_)
		if (address >= r.address &&
		    address - r.address <= r.octets.size() &&
		    length <= r.octets.size() - (address - r.address))
			return r.octets.subspan(address - r.address, length);
	refuse("refers to memory that it does not show");
}

u64 Chain::readable_size() const
{
	return total(readable);
}

u64 Chain::writable_size() const
{
	return total(writable);
}

void Ring::set_size(u32 size)
{
	if (!size || size > kMaximumSize || (size & (size - 1)))
		refuse("has a queue of " + std::to_string(size) + " buffers");
	if (enabled_)
		refuse("changes the size of a queue in use");
	size_ = size;
}

void Ring::set_addresses(u64 descriptors, u64 available, u64 used)
{
	if (!size_)
		refuse("has a queue without a size");
	if (descriptors % 16 || available % 2 || used % 4)
		refuse("has a queue that is not aligned");

	const Octets table =
		memory_->at(descriptors, size_ * sizeof(Descriptor));
	const Octets available_ring =
		memory_->at(available, kEntries + size_ * sizeof(u16));
	const Octets used_ring =
		memory_->at(used, kEntries + size_ * kUsedEntry);

	descriptors_ = table;
	available_ = available_ring;
	used_ring_ = used_ring;
	used_ = load(used_ring_, kIndex);
}

void Ring::set_base(u16 base)
{
	next_ = base;
}

void Ring::enable(bool enabled)
{
	if (enabled && descriptors_.empty())
		refuse("enables a queue that has no memory");
	enabled_ = enabled;
	if (!enabled)
		news_ = false;
}

u16 Ring::load(const Octets &from, u64 offset) const
{
	return __atomic_load_n(reinterpret_cast<u16 *>(&from[offset]),
			       __ATOMIC_ACQUIRE);
}

u16 Ring::available() const
{
	const u16 count = static_cast<u16>(load(available_, kIndex) - next_);

	if (count > size_)
		refuse("makes " + std::to_string(count) +
		       " buffers available in a queue of " +
		       std::to_string(size_));
	return count;
}

Chain Ring::look(u16 ahead) const
{
	const u16 slot = static_cast<u16>(next_ + ahead) % size_;
	u16 index = load(available_, kEntries + slot * sizeof(u16));
	Chain chain;
	Descriptor d;

	chain.head = index;
	/* Longer than the queue, it would have to come back to itself. */
	for (u32 pieces = 0; pieces < size_; pieces++) {
		if (index >= size_)
			refuse("refers to a descriptor that does not exist");
		std::memcpy(&d, &descriptors_[index * sizeof(d)], sizeof(d));
		if (d.flags & kIndirect)
			refuse("uses an indirect descriptor");
		if (d.flags & kWritable)
			chain.writable.push_back(
				memory_->at(d.address, d.length));
		else if (!chain.writable.empty())
			refuse("has something to read after something to "
			       "write");
		else
			chain.readable.push_back(
				memory_->at(d.address, d.length));
		if (!(d.flags & kNext))
			return chain;
		index = d.next;
	}
	refuse("has descriptors in a circle");
}

void Ring::use(u16 head, u32 written)
{
	const u64 entry = kEntries + (used_ % size_) * kUsedEntry;
	const u32 id = head;

	std::memcpy(&used_ring_[entry], &id, sizeof(id));
	std::memcpy(&used_ring_[entry + sizeof(id)], &written, sizeof(written));
	next_++;
	used_++;
	news_ = true;
	__atomic_store_n(reinterpret_cast<u16 *>(&used_ring_[kIndex]), used_,
			 __ATOMIC_RELEASE);
}

bool Ring::interrupt()
{
	if (!enabled_ || !news_)
		return false;
	news_ = false;
	return !(load(available_, kFlags) & kNoInterrupt);
}

} /* namespace ttclock */
