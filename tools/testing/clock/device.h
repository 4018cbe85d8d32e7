/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A guest's network device: the device's side of vhost-user, as far as
 * arch/um/drivers/virtio_uml.c and virtio_net use it.
 */
#ifndef _RPCRDMA_CLOCK_DEVICE_H
#define _RPCRDMA_CLOCK_DEVICE_H

#include "files.h"
#include "ring.h"
#include "wire.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace ttclock
{

/* A message of vhost-user, without its length. */
struct Message {
	static constexpr u32 kVersion = 1;
	static constexpr u32 kVersionMask = 3;
	static constexpr u32 kReply = 4;
	static constexpr u32 kNeedReply = 8;
	/* What the guest's messages keep within by far. */
	static constexpr u32 kMaximum = 4096;

	u32 request = 0;
	u32 flags = kVersion;
	std::vector<u8> payload;
	std::vector<File> files;

	/* Empty if the other end is gone. */
	static std::optional<Message> read(const File &from);
	[[nodiscard]] bool write(const File &to) const;

	/* The payload as T, which it has to be. */
	template <typename T> [[nodiscard]] T as() const
	{
		T value;

		if (payload.size() != sizeof(value))
			wrong_size();
		__builtin_memcpy(&value, payload.data(), sizeof(value));
		return value;
	}
	template <typename T> void set(const T &value)
	{
		const u8 *p = reinterpret_cast<const u8 *>(&value);

		payload.assign(p, p + sizeof(value));
	}

private:
	[[noreturn]] void wrong_size() const;
};

class Device {
public:
	/* Where its frames go. */
	class Line {
	public:
		virtual void transmit(u32 guest, Frame frame) = 0;
		/* It has to look at its queues once the guest waits. */
		virtual void look(u32 guest) = 0;
		virtual void received(u32 guest, const Frame &frame) = 0;
		virtual void dropped(u32 guest, const Frame &frame) = 0;

	protected:
		~Line() = default;
	};

	/* The driver's two queues. */
	static constexpr u32 kReceive = 0;
	static constexpr u32 kTransmit = 1;
	static constexpr u32 kQueues = 2;

	Device(u32 guest, u16 mtu, Line &line)
		: guest_(guest)
		, mtu_(mtu)
		, line_(line)
	{
	}
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	/* Do what @m wants; the answer, if it wants one. */
	std::optional<Message> handle(Message m);

	/* The driver has gone. */
	void reset();

	/* @frame has arrived. It waits until there is room for it. */
	void receive(std::shared_ptr<const Frame> frame);

	/* Fill the guest's buffers. The queues it has to be interrupted for. */
	std::vector<u32> flush();

	/* What goes to the guest uncalled for; not open without. */
	[[nodiscard]] const File &calls() const
	{
		return calls_;
	}
	/* The driver uses it. */
	[[nodiscard]] bool in_use() const;

private:
	[[nodiscard]] Ring &ring(u32 index);
	void get_config(const Message &m, Message &reply) const;
	void set_memory(Message m);
	void kick(u32 index);
	void transmit();
	[[nodiscard]] bool place(const Frame &frame);

	u32 guest_;
	u16 mtu_;
	Line &line_;
	File calls_;
	std::vector<Mapping> mappings_;
	Memory memory_;
	std::array<Ring, kQueues> rings_{ Ring(memory_), Ring(memory_) };
	std::deque<std::shared_ptr<const Frame>> arrived_;
};

} /* namespace ttclock */

#endif
