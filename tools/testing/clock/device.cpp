// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "device.h"

#include <algorithm>
#include <cstring>

namespace ttclock
{

namespace
{

/* The requests of the vhost-user specification that UML's driver makes. */
enum class Request : u32 {
	GetFeatures = 1,
	SetFeatures = 2,
	SetOwner = 3,
	SetMemTable = 5,
	SetVringNum = 8,
	SetVringAddr = 9,
	SetVringBase = 10,
	GetProtocolFeatures = 15,
	SetProtocolFeatures = 16,
	SetVringEnable = 18,
	SetSlaveReqFd = 21,
	GetConfig = 24,
	SetConfig = 25,
	VringKick = 35,
};

constexpr u64 bit(u32 n)
{
	return u64(1) << n;
}

constexpr u64 kNetMtu = bit(3);
constexpr u64 kNetMac = bit(5);
/* A frame may lie in several buffers, so that large ones need no large buffers. */
constexpr u64 kNetMergeable = bit(15);
constexpr u64 kProtocolFeatures = bit(30);
constexpr u64 kVersion1 = bit(32);
constexpr u64 kOptional = kNetMtu | kNetMac | kProtocolFeatures;
constexpr u64 kFeatures = kOptional | kNetMergeable | kVersion1;

constexpr u64 kReplyAck = bit(3);
constexpr u64 kSlaveRequests = bit(5);
constexpr u64 kConfig = bit(9);
constexpr u64 kInband = bit(14);
/* Without any of these, frames would pass outside of the virtual time. */
constexpr u64 kProtocol = kReplyAck | kSlaveRequests | kConfig | kInband;

struct Header {
	u32 request;
	u32 flags;
	u32 size;
};

struct ConfigHeader {
	u32 offset;
	u32 size;
	u32 flags;
};

/* The configuration space of a network device. */
struct __attribute__((packed)) NetConfig {
	u8 mac[6];
	u16 status;
	u16 queue_pairs;
	u16 mtu;
};

struct VringState {
	u32 index;
	u32 number;
};

struct VringAddresses {
	u32 index;
	u32 flags;
	u64 descriptors;
	u64 used;
	u64 available;
	u64 log;
};

struct Regions {
	u32 count;
	u32 padding;
};

struct Region {
	u64 guest_address;
	u64 size;
	u64 user_address;
	u64 offset;
};

/* Before each frame; zero but for the number of buffers. */
struct __attribute__((packed)) NetHeader {
	u8 flags;
	u8 gso_type;
	u16 header_length;
	u16 gso_size;
	u16 checksum_start;
	u16 checksum_offset;
	u16 buffers;
};
static_assert(sizeof(NetHeader) == 12);

constexpr std::size_t kEthernetHeader = 14;
constexpr std::size_t kVlanTag = 4;

/* Frames that wait for room; a driver that takes none does not keep them all. */
constexpr std::size_t kMaximumArrived = 16384;

} /* namespace */

std::optional<Message> Message::read(const File &from)
{
	Message m;
	Header header;

	if (!read_all(from, &header, sizeof(header), &m.files))
		return {};
	if ((header.flags & kVersionMask) != kVersion || header.size > kMaximum)
		refuse("sends what is no message of vhost-user");
	m.request = header.request;
	m.flags = header.flags;
	m.payload.resize(header.size);
	if (!read_all(from, m.payload.data(), header.size, &m.files))
		return {};
	return m;
}

bool Message::write(const File &to) const
{
	const Header header = { request, flags,
				static_cast<u32>(payload.size()) };
	std::vector<u8> octets(sizeof(header) + payload.size());

	std::memcpy(octets.data(), &header, sizeof(header));
	std::copy(payload.begin(), payload.end(),
		  octets.begin() + sizeof(header));
	return write_all(to, octets.data(), octets.size());
}

void Message::wrong_size() const
{
	refuse("sends request " + std::to_string(request) +
	       " of vhost-user with " + std::to_string(payload.size()) +
	       " octets");
}

Ring &Device::ring(u32 index)
{
	if (index >= kQueues)
		refuse("uses queue " + std::to_string(index));
	return rings_[index];
}

bool Device::in_use() const
{
	return std::ranges::any_of(rings_, &Ring::enabled);
}

void Device::reset()
{
	rings_ = { Ring(memory_), Ring(memory_) };
	memory_.clear();
	mappings_.clear();
	calls_.close();
	arrived_.clear();
}

std::optional<Message> Device::handle(Message m)
{
	Message reply;
	bool answer = m.flags & Message::kNeedReply;

	reply.request = m.request;
	reply.flags = Message::kVersion | Message::kReply;
	reply.set(u64(0)); /* done */

	switch (static_cast<Request>(m.request)) {
	case Request::GetFeatures:
		reply.set(kFeatures);
		answer = true;
		break;
	case Request::SetFeatures:
		if ((m.as<u64>() | kOptional) != kFeatures)
			refuse("wants other features than its device has");
		break;
	case Request::SetOwner:
		break;
	case Request::GetProtocolFeatures:
		reply.set(kProtocol);
		answer = true;
		break;
	case Request::SetProtocolFeatures:
		if (m.as<u64>() != kProtocol)
			refuse("cannot keep its device within virtual time");
		break;
	case Request::SetSlaveReqFd:
		if (m.files.size() != 1)
			refuse("shows no way to interrupt it");
		calls_ = std::move(m.files[0]);
		break;
	case Request::GetConfig:
		get_config(m, reply);
		answer = true;
		break;
	case Request::SetConfig:
		/* Nothing there can be changed. */
		reply.set(u64(1));
		break;
	case Request::SetMemTable:
		set_memory(std::move(m));
		break;
	case Request::SetVringNum: {
		const auto state = m.as<VringState>();

		ring(state.index).set_size(state.number);
		break;
	}
	case Request::SetVringBase: {
		const auto state = m.as<VringState>();

		ring(state.index).set_base(static_cast<u16>(state.number));
		break;
	}
	case Request::SetVringAddr: {
		const auto a = m.as<VringAddresses>();

		ring(a.index).set_addresses(a.descriptors, a.available, a.used);
		break;
	}
	case Request::SetVringEnable: {
		const auto state = m.as<VringState>();

		ring(state.index).enable(state.number);
		break;
	}
	case Request::VringKick:
		kick(m.as<VringState>().index);
		break;
	default:
		refuse("makes request " + std::to_string(m.request) +
		       " of vhost-user");
	}
	if (!answer)
		return {};
	return reply;
}

void Device::get_config(const Message &m, Message &reply) const
{
	NetConfig config = {};
	ConfigHeader header;

	/* Locally administered. */
	config.mac[0] = 2;
	config.mac[5] = static_cast<u8>(guest_ + 1);
	config.mtu = mtu_;
	config.queue_pairs = 1;

	if (m.payload.size() < sizeof(header))
		refuse("asks for its configuration, but not for how much");
	std::memcpy(&header, m.payload.data(), sizeof(header));
	if (header.size != m.payload.size() - sizeof(header))
		refuse("asks for its configuration in two sizes");
	reply.payload.assign(m.payload.size(), 0);
	std::memcpy(reply.payload.data(), &header, sizeof(header));
	if (header.offset >= sizeof(config))
		return;
	std::memcpy(&reply.payload[sizeof(header)],
		    reinterpret_cast<const u8 *>(&config) + header.offset,
		    std::min<std::size_t>(header.size,
					  sizeof(config) - header.offset));
}

void Device::set_memory(Message m)
{
	Regions regions;

	if (in_use())
		refuse("changes its memory while it is in use");
	if (m.payload.size() < sizeof(regions))
		refuse("shows no memory");
	std::memcpy(&regions, m.payload.data(), sizeof(regions));
	/* The driver always has room for two. */
	if (regions.count > m.files.size() ||
	    m.payload.size() <
		    sizeof(regions) + u64(regions.count) * sizeof(Region))
		refuse("shows less memory than it says");
	rings_ = { Ring(memory_), Ring(memory_) };
	memory_.clear();
	mappings_.clear();
	for (u32 i = 0; i < regions.count; i++) {
		Region r;

		std::memcpy(&r,
			    &m.payload[sizeof(regions) + i * sizeof(Region)],
			    sizeof(r));
		mappings_.emplace_back(m.files[i], r.offset, r.size);
		/* UML has its physical addresses in both places. */
		memory_.add(r.user_address, mappings_.back().octets());
	}
}

void Device::kick(u32 index)
{
	if (!ring(index).enabled())
		refuse("kicks a queue that is not enabled");
	if (index == kTransmit)
		transmit();
	else if (!arrived_.empty())
		line_.look(guest_);
}

void Device::transmit()
{
	Ring &r = rings_[kTransmit];
	constexpr std::size_t header = sizeof(NetHeader);

	while (r.available()) {
		const Chain chain = r.look(0);
		const u64 size = chain.readable_size();
		Frame frame;

		if (size < header ||
		    size > header + kEthernetHeader + kVlanTag + mtu_)
			refuse("sends " + std::to_string(size) + " octets");
		frame.reserve(size);
		for (const Octets &piece : chain.readable)
			frame.insert(frame.end(), piece.begin(), piece.end());
		frame.erase(frame.begin(),
			    frame.begin() + static_cast<long>(header));
		r.use(chain.head, 0);
		line_.transmit(guest_, std::move(frame));
	}
}

void Device::receive(std::shared_ptr<const Frame> frame)
{
	if (!rings_[kReceive].enabled() || arrived_.size() >= kMaximumArrived)
		line_.dropped(guest_, *frame);
	else
		arrived_.push_back(std::move(frame));
}

bool Device::place(const Frame &frame)
{
	Ring &r = rings_[kReceive];
	const u64 size = sizeof(NetHeader) + frame.size();
	const u16 available = r.available();
	std::vector<Chain> chains;
	u64 room = 0;

	while (room < size && chains.size() < available) {
		chains.push_back(r.look(static_cast<u16>(chains.size())));
		room += chains.back().writable_size();
	}
	if (room < size)
		return false;

	NetHeader header = {};
	std::vector<u8> octets(sizeof(header));

	header.buffers = static_cast<u16>(chains.size());
	std::memcpy(octets.data(), &header, sizeof(header));
	octets.insert(octets.end(), frame.begin(), frame.end());

	std::size_t done = 0;

	for (const Chain &chain : chains) {
		const std::size_t before = done;

		for (const Octets &piece : chain.writable) {
			const std::size_t n =
				std::min(piece.size(), octets.size() - done);

			std::copy_n(octets.begin() + static_cast<long>(done), n,
				    piece.begin());
			done += n;
		}
		r.use(chain.head, static_cast<u32>(done - before));
	}
	return true;
}

std::vector<u32> Device::flush()
{
	std::vector<u32> interrupts;

	if (rings_[kReceive].enabled())
		while (!arrived_.empty() && place(*arrived_.front())) {
			line_.received(guest_, *arrived_.front());
			arrived_.pop_front();
		}
	for (u32 i = 0; i < kQueues; i++)
		if (rings_[i].interrupt())
			interrupts.push_back(i);
	return interrupts;
}

} /* namespace ttclock */
