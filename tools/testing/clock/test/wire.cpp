// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "../wire.h"

#include <gtest/gtest.h>

using namespace ttclock;

namespace
{

constexpr Time kLatency = 100;

/* From guest @from to guest @to. */
Frame frame(u8 from, u8 to, std::size_t size = 60)
{
	Frame f(size);

	f[0] = 2;
	f[5] = to;
	f[6] = 2;
	f[11] = from;
	return f;
}

/* Without those that tell a sender that it has sent. */
std::vector<u32> guests(const std::vector<Event> &events)
{
	std::vector<u32> found;

	for (const Event &e : events)
		if (e.frame)
			found.push_back(e.guest);
	return found;
}

} /* namespace */

TEST(wire, a_frame_arrives_after_the_latency)
{
	Wire w(2, kLatency, 0);

	EXPECT_EQ(w.due(), kForever);
	w.send(0, 7, frame(0, 1));
	EXPECT_EQ(w.due(), 7 + kLatency);
	EXPECT_TRUE(w.take(7 + kLatency - 1).empty());

	const std::vector<Event> events = w.take(7 + kLatency);

	ASSERT_EQ(events.size(), 2u);
	EXPECT_EQ(events[0].guest, 1u);
	EXPECT_EQ(*events[0].frame, frame(0, 1));
	EXPECT_EQ(events[1].guest, 0u);
	EXPECT_EQ(events[1].frame, nullptr);
	EXPECT_EQ(w.due(), kForever);
}

TEST(wire, frames_arrive_in_the_order_in_which_they_were_sent)
{
	Wire w(3, kLatency, 0);

	w.send(2, 5, frame(2, 0, 61));
	w.send(1, 5, frame(1, 0, 62));
	w.send(2, 5, frame(2, 0, 63));

	std::vector<std::size_t> sizes;

	for (const Event &e : w.take(5 + kLatency))
		if (e.frame && e.guest == 0)
			sizes.push_back(e.frame->size());
	EXPECT_EQ(sizes, (std::vector<std::size_t>{ 61, 62, 63 }));
}

TEST(wire, an_unknown_destination_means_all_others)
{
	Wire w(3, kLatency, 0);

	w.send(1, 0, frame(1, 9));
	EXPECT_EQ(guests(w.take(kLatency)), (std::vector<u32>{ 0, 2 }));
}

TEST(wire, a_destination_that_has_sent_is_known)
{
	Wire w(3, kLatency, 0);

	w.send(2, 0, frame(9, 1));
	w.take(kLatency);
	w.send(1, 0, frame(1, 9));
	EXPECT_EQ(guests(w.take(kLatency)), (std::vector<u32>{ 2 }));
}

TEST(wire, nobody_gets_his_own)
{
	Wire w(2, kLatency, 0);

	w.send(0, 0, frame(0, 0));
	EXPECT_EQ(guests(w.take(kLatency)), std::vector<u32>());
}

TEST(wire, a_group_means_all_others)
{
	Wire w(3, kLatency, 0);
	Frame f = frame(0, 1);

	f[0] = 0x33;
	w.send(1, 0, frame(1, 0));
	w.take(kLatency);
	w.send(0, 0, f);
	EXPECT_EQ(guests(w.take(kLatency)), (std::vector<u32>{ 1, 2 }));
}

TEST(wire, a_line_is_busy_with_a_frame)
{
	/* One byte in eight nanoseconds. */
	Wire w(2, kLatency, 1000000000);

	w.send(0, 0, frame(0, 1, 100));
	w.send(0, 0, frame(0, 1, 100));
	w.send(1, 0, frame(1, 0, 100));
	EXPECT_EQ(w.due(), 800 + kLatency);
	EXPECT_EQ(guests(w.take(800 + kLatency)), (std::vector<u32>{ 1, 0 }));
	EXPECT_EQ(w.due(), 1600 + kLatency);
	EXPECT_EQ(guests(w.take(1600 + kLatency)), (std::vector<u32>{ 1 }));
	w.send(0, 5000, frame(0, 1, 100));
	EXPECT_EQ(w.due(), 5800 + kLatency);
}

TEST(wire, a_look_is_made_once)
{
	Wire w(2, kLatency, 0);

	w.look(1, 5);
	w.look(1, 5);
	w.look(0, 5);
	EXPECT_EQ(w.take(5).size(), 2u);
}

TEST(wire, a_frame_without_a_header_is_refused)
{
	Wire w(2, kLatency, 0);

	EXPECT_THROW(w.send(0, 0, Frame(13)), Failure);
	w.send(0, 0, Frame(14));
}

TEST(wire, the_hash_is_that_of_the_specification)
{
	EXPECT_EQ(hash({}), 0xcbf29ce484222325u);
	EXPECT_EQ(hash({ 'a' }), 0xaf63dc4c8601ec8cu);
}
