// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "queues.h"

#include <gtest/gtest.h>

using namespace ttclock;

namespace
{

constexpr u64 kAddress = 0x10000;
constexpr u64 kBuffers = kAddress + 4096;

class RingTest : public ::testing::Test {
protected:
	RingTest()
	{
		memory.add(kAddress, octets);
		r.set_size(Queue::kSize);
		r.set_addresses(q.descriptors(), q.available(), q.used());
		r.enable(true);
	}

	alignas(16) u8 octets[8192] = {};
	Memory memory;
	Queue q{ octets, kAddress, 0 };
	Ring r{ memory };
};

} /* namespace */

TEST(memory, at__only_what_is_shown)
{
	std::vector<u8> a(100), b(100);
	Memory m;

	m.add(1000, a);
	m.add(1100, b);
	EXPECT_EQ(m.at(1000, 100).data(), a.data());
	EXPECT_EQ(m.at(1110, 5).data(), &b[10]);
	EXPECT_EQ(m.at(1200, 0).size(), 0u);
	EXPECT_THROW((void)m.at(999, 1), Failure);
	EXPECT_THROW((void)m.at(1099, 2), Failure) << "regions do not join";
	EXPECT_THROW((void)m.at(1199, 2), Failure);
	EXPECT_THROW((void)m.at(1150, UINT64_MAX), Failure);
	EXPECT_THROW((void)m.at(UINT64_MAX, 1), Failure);
	m.clear();
	EXPECT_THROW((void)m.at(1000, 1), Failure);
}

TEST_F(RingTest, nothing_at_first)
{
	EXPECT_EQ(r.available(), 0u);
	EXPECT_FALSE(r.interrupt());
}

TEST_F(RingTest, a_buffer_in_pieces)
{
	q.describe(3, kBuffers, 10, Queue::kNext, 5);
	q.describe(5, kBuffers + 10, 20, Queue::kNext | Queue::kWritable, 1);
	q.describe(1, kBuffers + 30, 40, Queue::kWritable);
	q.offer(3);
	ASSERT_EQ(r.available(), 1u);

	const Chain c = r.look(0);

	EXPECT_EQ(c.head, 3u);
	EXPECT_EQ(c.readable_size(), 10u);
	EXPECT_EQ(c.writable_size(), 60u);
	EXPECT_EQ(c.writable[1].data(), &octets[4096 + 30]);
	r.use(c.head, 60);
	EXPECT_EQ(r.available(), 0u);
	EXPECT_EQ(q.used_index(), 1u);
	EXPECT_EQ(q.used_id(0), 3u);
	EXPECT_EQ(q.used_length(0), 60u);
}

TEST_F(RingTest, look__ahead)
{
	for (u16 i : { 2, 4, 6 }) {
		q.describe(i, kBuffers + i, 1);
		q.offer(i);
	}
	EXPECT_EQ(r.look(2).head, 6u);
	r.use(2, 0);
	EXPECT_EQ(r.look(0).head, 4u);
	EXPECT_EQ(r.available(), 2u);
}

TEST_F(RingTest, indexes_wrap)
{
	for (u32 i = 0; i < 70000; i++) {
		const u16 index = i % Queue::kSize;

		q.describe(index, kBuffers, 1);
		q.offer(index);
		ASSERT_EQ(r.available(), 1u);
		ASSERT_EQ(r.look(0).head, index);
		r.use(index, i);
		ASSERT_EQ(q.used_index(), static_cast<u16>(i + 1));
		ASSERT_EQ(q.used_length(static_cast<u16>(i)), i);
	}
}

TEST_F(RingTest, interrupt__once_and_only_if_wanted)
{
	q.describe(0, kBuffers, 1);
	q.offer(0);
	q.offer(0);
	q.offer(0);
	r.use(0, 0);
	r.use(0, 0);
	EXPECT_TRUE(r.interrupt());
	EXPECT_FALSE(r.interrupt());
	q.set_flags(1);
	r.use(0, 0);
	EXPECT_FALSE(r.interrupt());
	q.set_flags(0);
	EXPECT_FALSE(r.interrupt()) << "the driver has looked by itself";
}

TEST_F(RingTest, more_buffers_than_the_queue_holds)
{
	q.set_index(Queue::kSize);
	EXPECT_EQ(r.available(), Queue::kSize);
	q.set_index(Queue::kSize + 1);
	EXPECT_THROW((void)r.available(), Failure);
	q.set_index(UINT16_MAX);
	EXPECT_THROW((void)r.available(), Failure) << "it went back";
}

TEST_F(RingTest, a_descriptor_that_does_not_exist)
{
	q.offer(Queue::kSize);
	EXPECT_THROW((void)r.look(0), Failure);
	q.describe(1, kBuffers, 1, Queue::kNext, UINT16_MAX);
	q.offer(1);
	EXPECT_THROW((void)r.look(1), Failure);
}

TEST_F(RingTest, a_circle_of_descriptors)
{
	q.describe(0, kBuffers, 1, Queue::kNext, 1);
	q.describe(1, kBuffers, 1, Queue::kNext, 0);
	q.offer(0);
	EXPECT_THROW((void)r.look(0), Failure);
	q.describe(2, kBuffers, 1, Queue::kNext, 2);
	q.offer(2);
	EXPECT_THROW((void)r.look(1), Failure);
}

TEST_F(RingTest, a_chain_as_long_as_the_queue)
{
	for (u16 i = 0; i < Queue::kSize; i++)
		q.describe(i, kBuffers, 1,
			   i == Queue::kSize - 1 ? 0 : Queue::kNext,
			   static_cast<u16>(i + 1));
	q.offer(0);
	EXPECT_EQ(r.look(0).readable_size(), Queue::kSize);
}

TEST_F(RingTest, memory_that_is_not_shown)
{
	q.describe(0, kAddress + sizeof(octets) - 1, 2);
	q.offer(0);
	EXPECT_THROW((void)r.look(0), Failure);
	q.describe(1, kBuffers, UINT32_MAX, Queue::kWritable);
	q.offer(1);
	EXPECT_THROW((void)r.look(1), Failure);
}

TEST_F(RingTest, flags_that_were_not_agreed_on)
{
	q.describe(0, kBuffers, 16, Queue::kIndirect);
	q.offer(0);
	EXPECT_THROW((void)r.look(0), Failure);
	q.describe(1, kBuffers, 1, Queue::kWritable | Queue::kNext, 2);
	q.describe(2, kBuffers, 1);
	q.offer(1);
	EXPECT_THROW((void)r.look(1), Failure);
}

TEST(ring, set_size__powers_of_two)
{
	Memory m;
	Ring r(m);

	EXPECT_THROW(r.set_size(0), Failure);
	EXPECT_THROW(r.set_size(3), Failure);
	EXPECT_THROW(r.set_size(65536), Failure);
	r.set_size(32768);
}

TEST(ring, set_addresses__all_of_the_queue_in_memory_that_is_shown)
{
	alignas(16) u8 octets[1024];
	Memory m;
	Ring r(m);

	m.add(kAddress, octets);
	EXPECT_THROW(r.set_addresses(kAddress, kAddress, kAddress), Failure)
		<< "no size yet";
	r.set_size(64);
	EXPECT_THROW(r.set_addresses(kAddress + 16, kAddress, kAddress),
		     Failure);
	EXPECT_THROW(r.set_addresses(kAddress, kAddress + 1022, kAddress),
		     Failure);
	EXPECT_THROW(r.set_addresses(kAddress, kAddress, kAddress + 1020),
		     Failure);
	EXPECT_THROW(r.set_addresses(kAddress, kAddress + 1, kAddress),
		     Failure);
	EXPECT_THROW(r.set_addresses(kAddress, kAddress, kAddress + 2),
		     Failure);
	EXPECT_THROW(r.enable(true), Failure);
	r.set_addresses(kAddress, kAddress, kAddress);
	r.enable(true);
	EXPECT_THROW(r.set_size(32), Failure);
}
