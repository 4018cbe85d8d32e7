// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "queues.h"
#include "../device.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace ttclock;

namespace
{

constexpr u64 kAddress = 0x200000;
constexpr u64 kMemory = 65536;
constexpr u64 kReceiveQueue = 0;
constexpr u64 kTransmitQueue = 1024;
constexpr u64 kBuffers = 4096;
constexpr u32 kHeader = 12;

/* The requests, by their numbers in the specification. */
enum : u32 {
	GetFeatures = 1,
	SetFeatures = 2,
	SetMemTable = 5,
	SetVringNum = 8,
	SetVringAddr = 9,
	SetVringBase = 10,
	GetProtocolFeatures = 15,
	SetProtocolFeatures = 16,
	SetVringEnable = 18,
	GetConfig = 24,
	VringKick = 35,
};

struct State {
	u32 index, number;
};
struct Addresses {
	u32 index, flags;
	u64 descriptors, used, available, log;
};
struct Table {
	u32 count, padding;
	u64 guest_address, size, user_address, offset;
};

struct Recorder : Device::Line {
	void transmit(u32, Frame frame) override
	{
		sent.push_back(std::move(frame));
	}
	void look(u32) override
	{
		looks++;
	}
	void received(u32, const Frame &) override
	{
		got++;
	}
	void dropped(u32, const Frame &) override
	{
		lost++;
	}

	std::vector<Frame> sent;
	u32 looks = 0, got = 0, lost = 0;
};

class DeviceTest : public ::testing::Test {
protected:
	template <typename T>
	std::optional<Message> request(u32 number, const T &payload,
				       File file = {})
	{
		Message m;

		m.request = number;
		m.flags = Message::kVersion | Message::kNeedReply;
		m.set(payload);
		if (file.open())
			m.files.push_back(std::move(file));
		return d.handle(std::move(m));
	}
	u64 get(u32 number)
	{
		Message m;

		m.request = number;
		return d.handle(std::move(m))->as<u64>();
	}
	void show_memory()
	{
		request(SetMemTable,
			Table{ 1, 0, kAddress, kMemory, kAddress, 0 },
			File(dup(file.fd())));
	}
	/* As virtio_uml and virtio_net do. */
	void up()
	{
		request(SetProtocolFeatures, get(GetProtocolFeatures));
		request(SetFeatures, get(GetFeatures));
		show_memory();
		for (u32 i = 0; i < Device::kQueues; i++) {
			const Queue &q = i ? tx : rx;

			request(SetVringNum, State{ i, Queue::kSize });
			request(SetVringBase, State{ i, 0 });
			request(SetVringAddr,
				Addresses{ i, 0, q.descriptors(), q.used(),
					   q.available(), UINT64_MAX });
			request(SetVringEnable, State{ i, 1 });
		}
	}
	/* A buffer to receive in, of @size bytes. */
	void offer(u16 index, u32 size)
	{
		rx.describe(index, kAddress + kBuffers + index * 4096u, size,
			    Queue::kWritable);
		rx.offer(index);
	}
	std::shared_ptr<const Frame> frame(std::size_t size)
	{
		Frame f(size);

		for (std::size_t i = 0; i < size; i++)
			f[i] = static_cast<u8>(i);
		return std::make_shared<const Frame>(std::move(f));
	}

	File file{ memfd_create("test", MFD_CLOEXEC) };
	int grown = ftruncate(file.fd(), kMemory);
	Mapping mapping{ file, 0, kMemory };
	Octets memory = mapping.octets();
	Queue rx{ memory, kAddress, kReceiveQueue };
	Queue tx{ memory, kAddress, kTransmitQueue };
	Recorder line;
	Device d{ 4, 9000, line };
};

} /* namespace */

TEST_F(DeviceTest, handle__answers_if_an_answer_is_wanted)
{
	Message m;

	m.request = SetFeatures;
	m.set(get(GetFeatures));
	EXPECT_FALSE(d.handle(std::move(m)));

	const auto reply = request(SetFeatures, get(GetFeatures));

	ASSERT_TRUE(reply);
	EXPECT_EQ(reply->flags, Message::kVersion | Message::kReply);
	EXPECT_EQ(reply->as<u64>(), 0u);
}

TEST_F(DeviceTest, config__address_and_mtu)
{
	struct __attribute__((packed)) {
		u32 offset, size, flags;
		u8 mac[6];
		u16 status, pairs, mtu;
	} config = { 0, 12, 0, {}, 0, 0, 0 };
	const auto reply = request(GetConfig, config);

	ASSERT_TRUE(reply);
	config = reply->as<decltype(config)>();
	EXPECT_EQ(config.mac[0], 2u);
	EXPECT_EQ(config.mac[5], 5u);
	EXPECT_EQ(config.mtu, 9000u);
	config.size = 13;
	EXPECT_THROW(request(GetConfig, config), Failure);
	EXPECT_THROW(request(GetConfig, u64(0)), Failure);
}

TEST_F(DeviceTest, all_features_or_none)
{
	const u64 inband = u64(1) << 14;
	const u64 mergeable = u64(1) << 15;

	EXPECT_THROW(request(SetProtocolFeatures,
			     get(GetProtocolFeatures) & ~inband),
		     Failure);
	EXPECT_THROW(request(SetFeatures, get(GetFeatures) & ~mergeable),
		     Failure);
	EXPECT_THROW(request(SetFeatures, get(GetFeatures) | 1), Failure);
}

TEST_F(DeviceTest, kick__sends_what_is_there)
{
	up();
	memory[kBuffers + kHeader] = 0xab;
	tx.describe(0, kAddress + kBuffers, kHeader + 10, Queue::kNext, 1);
	tx.describe(1, kAddress + kBuffers + 1000, 50);
	tx.offer(0);
	tx.describe(2, kAddress + kBuffers, kHeader + 14);
	tx.offer(2);
	request(VringKick, State{ Device::kTransmit, 0 });
	ASSERT_EQ(line.sent.size(), 2u);
	EXPECT_EQ(line.sent[0].size(), 60u);
	EXPECT_EQ(line.sent[0][0], 0xab);
	EXPECT_EQ(line.sent[1].size(), 14u);
	EXPECT_EQ(tx.used_index(), 2u);
	EXPECT_EQ(d.flush(), (std::vector<u32>{ Device::kTransmit }));
	EXPECT_TRUE(d.flush().empty());
}

TEST_F(DeviceTest, kick__too_little_or_too_much)
{
	up();
	tx.describe(0, kAddress + kBuffers, kHeader - 1);
	tx.offer(0);
	EXPECT_THROW(request(VringKick, State{ Device::kTransmit, 0 }),
		     Failure);
	tx.describe(0, kAddress + kBuffers, kHeader + 9000 + 19);
	EXPECT_THROW(request(VringKick, State{ Device::kTransmit, 0 }),
		     Failure);
	tx.describe(0, kAddress + kBuffers, kHeader + 9000 + 18);
	request(VringKick, State{ Device::kTransmit, 0 });
	EXPECT_EQ(line.sent.size(), 1u);
}

TEST_F(DeviceTest, flush__one_frame_in_several_buffers)
{
	up();
	offer(0, 1000);
	offer(1, 1000);
	offer(2, 1000);
	d.receive(frame(1500));
	EXPECT_EQ(d.flush(), (std::vector<u32>{ Device::kReceive }));
	EXPECT_EQ(line.got, 1u);
	EXPECT_EQ(rx.used_index(), 2u);
	EXPECT_EQ(rx.used_length(0), 1000u);
	EXPECT_EQ(rx.used_length(1), 1500 + kHeader - 1000);
	EXPECT_EQ(memory[kBuffers + 10], 2u) << "buffers";
	EXPECT_EQ(memory[kBuffers + kHeader + 5], 5u);
	EXPECT_EQ(memory[kBuffers + 4096], (1000 - kHeader) % 256);
}

TEST_F(DeviceTest, flush__waits_for_room)
{
	up();
	offer(0, 1000);
	d.receive(frame(1500));
	d.receive(frame(100));
	EXPECT_TRUE(d.flush().empty()) << "nothing overtakes";
	EXPECT_EQ(rx.used_index(), 0u);
	offer(1, 1000);
	offer(2, 1000);
	request(VringKick, State{ Device::kReceive, 0 });
	EXPECT_EQ(line.looks, 1u);
	EXPECT_EQ(d.flush(), (std::vector<u32>{ Device::kReceive }));
	EXPECT_EQ(line.got, 2u);
	EXPECT_EQ(rx.used_length(2), 100 + kHeader);
	request(VringKick, State{ Device::kReceive, 0 });
	EXPECT_EQ(line.looks, 1u) << "nothing waits any more";
}

TEST_F(DeviceTest, receive__drops_what_nobody_takes)
{
	d.receive(frame(100));
	EXPECT_EQ(line.lost, 1u);
	up();
	d.receive(frame(100));
	EXPECT_EQ(line.lost, 1u);
	for (u32 i = 0; i < 16384; i++)
		d.receive(frame(100));
	EXPECT_EQ(line.lost, 2u);
}

TEST_F(DeviceTest, in_use__until_the_driver_disables_it)
{
	EXPECT_FALSE(d.in_use());
	up();
	EXPECT_TRUE(d.in_use());
	EXPECT_THROW(show_memory(), Failure);
	request(SetVringEnable, State{ 1, 0 });
	EXPECT_TRUE(d.in_use());
	request(SetVringEnable, State{ 0, 0 });
	EXPECT_FALSE(d.in_use());
	EXPECT_THROW(request(VringKick, State{ 0, 0 }), Failure);
	show_memory();
	EXPECT_THROW(request(SetVringEnable, State{ 0, 1 }), Failure)
		<< "its queues are gone with the memory";
}

TEST_F(DeviceTest, handle__refuses_what_it_does_not_know)
{
	EXPECT_THROW(request(99, u64(0)), Failure);
	EXPECT_THROW(request(SetVringNum, State{ 2, 8 }), Failure);
	EXPECT_THROW(request(SetVringNum, u32(0)), Failure);
	EXPECT_THROW(request(SetMemTable,
			     Table{ 1, 0, kAddress, kMemory, kAddress, 0 }),
		     Failure)
		<< "no file";
	EXPECT_THROW(request(SetMemTable,
			     Table{ 2, 0, kAddress, kMemory, kAddress, 0 },
			     File(dup(file.fd()))),
		     Failure);
}

TEST(message, write_and_read)
{
	int fds[2];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);

	File here(fds[0]), there(fds[1]);
	Message m;

	m.request = 7;
	m.set(u64(42));
	ASSERT_TRUE(m.write(here));

	const auto got = Message::read(there);

	ASSERT_TRUE(got);
	EXPECT_EQ(got->request, 7u);
	EXPECT_EQ(got->as<u64>(), 42u);
	EXPECT_THROW((void)got->as<u32>(), Failure);
	here.close();
	EXPECT_FALSE(Message::read(there)) << "the other end is gone";
}

TEST(message, read__refuses_what_is_none)
{
	for (const std::array<u32, 3> header :
	     { std::array<u32, 3>{ 1, 2, 0 }, { 1, 1, 4097 } }) {
		int fds[2];

		ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);

		const File here(fds[0]), there(fds[1]);

		ASSERT_TRUE(write_all(here, header.data(), sizeof(header)));
		EXPECT_THROW(Message::read(there), Failure);
	}
}
