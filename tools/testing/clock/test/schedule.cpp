// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "../schedule.h"

#include <gtest/gtest.h>

using namespace ttclock;

using Kind = Schedule::Step::Kind;

namespace
{

constexpr Time kSlice = 1000;

/* Have @guest run, as it must be its turn, then wait for @time. */
void turn(Schedule &s, u32 guest, Time time, Time event = kForever)
{
	const Schedule::Step step = s.next(event);

	ASSERT_EQ(step.kind, Kind::Run);
	ASSERT_EQ(step.guest, guest);
	s.request(guest, time);
	s.wait(guest);
}

Schedule two()
{
	Schedule s(2, kSlice);

	s.start(0);
	s.start(1);
	return s;
}

} /* namespace */

TEST(schedule, nobody_runs_before_all_have_come)
{
	Schedule s(2, kSlice);

	s.start(1);
	EXPECT_EQ(s.next(kForever).kind, Kind::Gather);
	s.start(0);
	turn(s, 0, 10);
	turn(s, 1, 10);
}

TEST(schedule, the_earliest_runs_first)
{
	Schedule s = two();

	turn(s, 0, 30);
	turn(s, 1, 20);
	turn(s, 1, 25);
	EXPECT_EQ(s.now(), 20u);
	turn(s, 1, 40);
	turn(s, 0, 50);
	EXPECT_EQ(s.now(), 30u);
}

TEST(schedule, the_lower_number_runs_first_at_the_same_time)
{
	Schedule s = two();

	turn(s, 0, 10);
	turn(s, 1, 10);
	turn(s, 0, 10);
	turn(s, 0, 11);
	turn(s, 1, 11);
	turn(s, 0, 12);
}

TEST(schedule, an_event_comes_before_a_guest_at_the_same_time)
{
	Schedule s = two();

	turn(s, 0, 10);
	turn(s, 1, 10);

	const Schedule::Step step = s.next(10);

	EXPECT_EQ(step.kind, Kind::Event);
	EXPECT_EQ(step.time, 10u);
	EXPECT_EQ(s.now(), 10u);
	turn(s, 0, 20);
}

TEST(schedule, a_guest_runs_freely_until_something_else_is_due)
{
	Schedule s = two();

	turn(s, 0, 10);
	turn(s, 1, 500);
	EXPECT_EQ(s.next(kForever).free_until, 500u);
	s.request(0, 700);
	s.wait(0);
	EXPECT_EQ(s.next(600).free_until, 600u);
	s.request(1, 800);
	s.wait(1);
	EXPECT_EQ(s.next(600).kind, Kind::Event);
	EXPECT_EQ(s.next(kForever).free_until, 800u);
}

TEST(schedule, a_guest_does_not_run_freely_beside_another)
{
	Schedule s = two();

	EXPECT_EQ(s.next(kForever).free_until, 0u);
}

TEST(schedule, a_guest_shows_up_after_a_slice)
{
	Schedule s(1, kSlice);

	s.start(0);
	EXPECT_EQ(s.next(kForever).free_until, kSlice);
}

TEST(schedule, a_request_takes_the_place_of_the_last)
{
	Schedule s = two();

	turn(s, 0, 50);
	turn(s, 1, 40);
	/* An interrupt does this. */
	s.request(0, 30);
	turn(s, 0, 60);
	EXPECT_EQ(s.now(), 30u);
}

TEST(schedule, an_event_cuts_short_who_runs_freely)
{
	Schedule s = two();

	turn(s, 0, 10);
	turn(s, 1, 500);
	ASSERT_EQ(s.next(kForever).free_until, 500u);
	EXPECT_EQ(s.shorten(500), std::nullopt);
	EXPECT_EQ(s.shorten(300), std::optional<Time>(300));
	EXPECT_EQ(s.shorten(300), std::nullopt);
	s.update(0, 299);
	EXPECT_THROW(s.update(0, 300), Failure);
}

TEST(schedule, update_must_not_go_back_or_too_far)
{
	Schedule s = two();

	EXPECT_THROW(s.update(0, 0), Failure);
	turn(s, 0, 10);
	turn(s, 1, 20);
	s.next(kForever);
	s.update(0, 10);
	s.update(0, 19);
	EXPECT_EQ(s.now(), 19u);
	EXPECT_THROW(s.update(0, 18), Failure);
	EXPECT_THROW(s.update(0, 20), Failure);
	EXPECT_THROW(s.update(1, 19), Failure);
}

TEST(schedule, sleeping_for_ever_is_noticed)
{
	Schedule s = two();

	turn(s, 0, kForever);
	turn(s, 1, kForever + 1);
	EXPECT_EQ(s.next(kForever).kind, Kind::Forever);
	EXPECT_EQ(s.now(), 0u);
	EXPECT_EQ(s.next(70).kind, Kind::Event);
	EXPECT_EQ(s.now(), 70u);
}

TEST(schedule, an_end_leaves_the_others)
{
	Schedule s = two();

	ASSERT_EQ(s.next(kForever).kind, Kind::Run);
	s.end(0);
	turn(s, 1, 10);
	turn(s, 1, 20);
	s.end(1);
	EXPECT_EQ(s.next(kForever).kind, Kind::Ended);
}

TEST(schedule, what_makes_no_sense_is_refused)
{
	Schedule s(1, kSlice);

	EXPECT_THROW(s.request(0, 1), Failure);
	EXPECT_THROW(s.wait(0), Failure);
	s.start(0);
	EXPECT_THROW(s.start(0), Failure);
	EXPECT_THROW(s.wait(0), Failure);
	s.next(kForever);
	EXPECT_THROW(s.wait(0), Failure) << "without a request";
	s.request(0, 100);
	s.wait(0);
	s.next(kForever);
	EXPECT_THROW(s.request(0, 99), Failure);
}
