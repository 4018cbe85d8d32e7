// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>
#include <unistd.h>

#include "private_data.h"

namespace rpcrdmactl
{

namespace
{

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kNfsPort = 2049;
constexpr milliseconds kResolve{ 2000 };
/* The connection manager sends its request again after 4.3 seconds. */
constexpr milliseconds kConnect{ 9500 };
constexpr milliseconds kShort{ 1500 };
/* Of the InfiniBand specification: nobody listens there. */
constexpr int kInvalidServiceId = 8;
constexpr unsigned kQueuePairs = 1U << 24;

class Descriptor {
public:
	explicit Descriptor(int fd)
		: fd_(fd)
	{
	}
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;

	[[nodiscard]] int get() const
	{
		return fd_;
	}
	[[nodiscard]] bool good() const
	{
		return fd_ >= 0;
	}

private:
	int fd_;
};

struct Address {
	sockaddr_storage storage = {};
	socklen_t size = 0;

	[[nodiscard]] sockaddr *get()
	{
		return reinterpret_cast<sockaddr *>(&storage);
	}
	[[nodiscard]] int family() const
	{
		return storage.ss_family;
	}
	void set_port(unsigned port)
	{
		if (family() == AF_INET6)
			reinterpret_cast<sockaddr_in6 *>(&storage)->sin6_port =
				htons(static_cast<std::uint16_t>(port));
		else
			reinterpret_cast<sockaddr_in *>(&storage)->sin_port =
				htons(static_cast<std::uint16_t>(port));
	}
	[[nodiscard]] std::string text()
	{
		std::array<char, NI_MAXHOST> name{};

		return getnameinfo(get(), size, name.data(), name.size(),
				   nullptr, 0, NI_NUMERICHOST) ?
			       "" :
			       name.data();
	}
};

bool find_address(const std::string &name, Address &address)
{
	addrinfo hints = {};
	addrinfo *found = nullptr;

	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(name.c_str(), nullptr, &hints, &found) || !found)
		return false;
	std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
	address.size = found->ai_addrlen;
	freeaddrinfo(found);
	return true;
}

int ms_until(Clock::time_point end)
{
	const auto left = std::chrono::duration_cast<milliseconds>(
		end - Clock::now());

	return static_cast<int>(std::max<long>(left.count(), 0));
}

bool ready(int fd, short events, milliseconds wait)
{
	pollfd one = { fd, events, 0 };

	return poll(&one, 1, static_cast<int>(wait.count())) == 1;
}

Answer of_errno(int error)
{
	switch (error) {
	case 0:
		return Answer::Yes;
	case ECONNREFUSED:
		return Answer::Refused;
	case ETIMEDOUT:
		return Answer::Silent;
	default:
		return Answer::NoWay;
	}
}

Answer ask_tcp(Address to, unsigned port)
{
	const Descriptor fd(
		socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK, 0));
	int error = 0;
	socklen_t size = sizeof(error);

	if (!fd.good())
		return Answer::NotAsked;
	to.set_port(port);
	if (!connect(fd.get(), to.get(), to.size))
		return Answer::Yes;
	if (errno != EINPROGRESS)
		return of_errno(errno);
	if (!ready(fd.get(), POLLOUT, kShort))
		return Answer::Silent;
	if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size))
		return Answer::NotAsked;
	return of_errno(error);
}

/* One that RoCE throws away: it is too short. */
Answer ask_udp(Address to, unsigned port)
{
	const Descriptor fd(socket(to.family(), SOCK_DGRAM, 0));
	const char octet = 0;
	char answer = 0;

	to.set_port(port);
	if (!fd.good() || connect(fd.get(), to.get(), to.size) ||
	    send(fd.get(), &octet, 1, 0) != 1)
		return Answer::NotAsked;
	if (!ready(fd.get(), POLLIN, kShort))
		return Answer::Silent;
	return recv(fd.get(), &answer, 1, MSG_DONTWAIT) < 0 &&
			       errno == ECONNREFUSED ?
		       Answer::Refused :
		       Answer::Silent;
}

std::uint16_t checksum(std::span<const std::uint8_t> octets)
{
	std::uint32_t sum = 0;

	for (std::size_t i = 0; i < octets.size(); i++)
		sum += static_cast<std::uint32_t>(octets[i])
		       << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<std::uint16_t>(~sum);
}

/* A socket for echoes that are not cut in pieces; some systems let only root have one. */
Descriptor echo_socket(int family)
{
	const int protocol = family == AF_INET6 ? int{ IPPROTO_ICMPV6 } :
						  int{ IPPROTO_ICMP };
	int fd = socket(family, SOCK_DGRAM, protocol);

	if (fd < 0)
		fd = socket(family, SOCK_RAW, protocol);
	/* In spite of what the route is thought to take. */
	const int probe = IP_PMTUDISC_PROBE;
	if (fd >= 0 && family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe,
			   sizeof(probe));
	else if (fd >= 0)
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe,
			   sizeof(probe));
	return Descriptor(fd);
}

/* @octets: of the whole packet. */
Answer ask_echo(Address to, unsigned octets)
{
	constexpr std::size_t kHeader = 8, kMark = 8;
	const bool six = to.family() == AF_INET6;
	const Descriptor fd = echo_socket(to.family());
	const std::size_t size =
		std::max<std::size_t>(octets, 84) - (six ? 40 : 20);
	std::vector<std::uint8_t> echo(size), answer(size + 100);
	std::random_device random;

	to.set_port(0);
	if (!fd.good() || connect(fd.get(), to.get(), to.size))
		return Answer::NotAsked;
	echo[0] = six ? 128 : 8;
	for (std::size_t i = kHeader; i < kHeader + kMark; i++)
		echo[i] = static_cast<std::uint8_t>(random());
	const std::uint16_t sum = checksum(echo);
	echo[2] = static_cast<std::uint8_t>(sum >> 8);
	echo[3] = static_cast<std::uint8_t>(sum);
	if (send(fd.get(), echo.data(), size, 0) < 0)
		return errno == EMSGSIZE ? Answer::Refused : Answer::NotAsked;
	const auto end = Clock::now() + kShort;
	const std::span<const std::uint8_t> mark(echo.data() + kHeader, kMark);
	while (ready(fd.get(), POLLIN, milliseconds(ms_until(end)))) {
		const ssize_t got = recv(fd.get(), answer.data(), answer.size(),
					 MSG_DONTWAIT);
		if (got < 0)
			return Answer::NoWay;
		/* A raw socket has the header of IP, too, and sees its own question. */
		const std::span<const std::uint8_t> all(
			answer.data(), static_cast<std::size_t>(got));
		const auto at = std::ranges::search(all, mark).begin();
		if (at == all.end() ||
		    static_cast<std::size_t>(at - all.begin()) < kHeader)
			continue;
		if (*(at - kHeader) == (six ? 129 : 0))
			return Answer::Yes;
	}
	return Answer::Silent;
}

/* The interface whose address this machine takes for the way there. */
std::string interface_to(Address to)
{
	const Descriptor fd(socket(to.family(), SOCK_DGRAM, 0));
	Address mine;
	ifaddrs *all = nullptr;
	std::string name;

	mine.size = sizeof(mine.storage);
	to.set_port(kRocePort);
	if (!fd.good() || connect(fd.get(), to.get(), to.size) ||
	    getsockname(fd.get(), mine.get(), &mine.size) || getifaddrs(&all))
		return {};
	const std::string address = mine.text();
	for (const ifaddrs *at = all; at && name.empty(); at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != to.family())
			continue;
		Address one;
		one.size = mine.size;
		std::memcpy(&one.storage, at->ifa_addr, mine.size);
		if (one.text() == address)
			name = at->ifa_name;
	}
	freeifaddrs(all);
	return name;
}

/* An attempt at a connection. */
class Attempt {
public:
	Attempt(Address to, unsigned port)
		: to_(to)
		, channel_(rdma_create_event_channel())
	{
		to_.set_port(port);
		if (channel_ &&
		    rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP))
			id_ = nullptr;
	}
	~Attempt()
	{
		if (id_)
			rdma_destroy_id(id_);
		if (channel_)
			rdma_destroy_event_channel(channel_);
	}
	Attempt(const Attempt &) = delete;
	Attempt &operator=(const Attempt &) = delete;

	/* With what is learned on the way. */
	Answer run(Reach &reach, unsigned port)
	{
		if (!id_)
			return Answer::NotAsked;
		if (rdma_resolve_addr(id_, nullptr, to_.get(),
				      static_cast<int>(kResolve.count())))
			return resolved(errno, reach);
		Event event = next(kResolve * 2);
		if (event.type != RDMA_CM_EVENT_ADDR_RESOLVED)
			return resolved(-event.status, reach);
		if (rdma_resolve_route(id_, static_cast<int>(kResolve.count())))
			return resolved(errno, reach);
		event = next(kResolve * 2);
		if (event.type != RDMA_CM_EVENT_ROUTE_RESOLVED)
			return resolved(-event.status, reach);
		reach.iwarp = id_->verbs && id_->verbs->device &&
			      id_->verbs->device->transport_type ==
				      IBV_TRANSPORT_IWARP;
		if (reach.iwarp)
			return ask_tcp(to_, port);
		return connect(reach);
	}

private:
	struct Event {
		int type = -1;
		int status = -ETIMEDOUT;
		std::vector<std::uint8_t> private_data;
	};

	Event next(milliseconds wait)
	{
		Event event;
		rdma_cm_event *got = nullptr;

		if (!ready(channel_->fd, POLLIN, wait) ||
		    rdma_get_cm_event(channel_, &got))
			return event;
		event.type = got->event;
		event.status = got->status;
		const auto *data = static_cast<const std::uint8_t *>(
			got->param.conn.private_data);
		if (got->event == RDMA_CM_EVENT_CONNECT_RESPONSE && data)
			event.private_data.assign(
				data, data + got->param.conn.private_data_len);
		rdma_ack_cm_event(got);
		return event;
	}

	static Answer resolved(int error, Reach &reach)
	{
		if (error == ENODEV || error == EADDRNOTAVAIL)
			return Answer::NoDevice;
		reach.why = std::strerror(error);
		return Answer::NoWay;
	}

	/*
	 * There is no queue pair here, only a number for one, which nobody has had before:
	 * the server takes no second connection from one that it still remembers.
	 */
	Answer connect(Reach &reach)
	{
		std::array<std::uint8_t, RPCRDMA_CM_PRIVATE_SIZE> mine{};
		rpcrdma_cm_private about = rpcrdma::kDefaultPrivateData;
		rdma_conn_param param = {};
		std::random_device random;

		about.version2 = true;
		rpcrdma::encode_private_data(
			about, { mine.data(), static_cast<u32>(mine.size()) });
		param.private_data = mine.data();
		param.private_data_len = mine.size();
		param.responder_resources = 1;
		param.initiator_depth = 1;
		param.retry_count = 6;
		param.rnr_retry_count = 7;
		param.qp_num = 2 + random() % (kQueuePairs - 4);
		if (rdma_connect(id_, &param)) {
			reach.why = std::strerror(errno);
			return Answer::NoWay;
		}
		const Event event = next(kConnect);
		switch (event.type) {
		case -1:
			return Answer::Silent;
		case RDMA_CM_EVENT_CONNECT_RESPONSE:
			take(event, reach);
			return Answer::Yes;
		case RDMA_CM_EVENT_REJECTED:
			/* Whoever refuses for another reason is there. */
			return event.status == kInvalidServiceId ?
				       Answer::Refused :
				       Answer::Yes;
		case RDMA_CM_EVENT_UNREACHABLE:
			return Answer::Silent;
		default:
			reach.why = rdma_event_str(
				static_cast<rdma_cm_event_type>(event.type));
			return Answer::NoWay;
		}
	}

	/* A server that is told that it is over forgets it at once. */
	void take(const Event &event, Reach &reach)
	{
		rpcrdma_cm_private theirs = {};

		reach.told = rpcrdma::decode_private_data(
			{ event.private_data.data(),
			  static_cast<u32>(event.private_data.size()) },
			theirs);
		reach.version2 = theirs.version2;
		if (!rdma_establish(id_) && !rdma_disconnect(id_))
			static_cast<void>(next(kShort));
	}

	Address to_;
	rdma_event_channel *channel_;
	rdma_cm_id *id_ = nullptr;
};

Answer ask_rdma(const Address &to, unsigned port, Reach &reach)
{
	return Attempt(to, port).run(reach, port);
}

} // namespace

Target target_of(const std::string &text)
{
	Target target;
	const std::size_t colon = text.rfind(':');
	const bool bracket = text.starts_with("[");
	const bool has_port =
		colon != std::string::npos &&
		(bracket ? text[colon - 1] == ']' : text.find(':') == colon);
	std::string name = has_port ? text.substr(0, colon) : text;

	if (bracket && name.ends_with("]"))
		name = name.substr(1, name.size() - 2);
	target.server = name;
	if (has_port) {
		unsigned port = 0;
		const char *end = text.data() + text.size();
		const auto [at, error] =
			std::from_chars(text.data() + colon + 1, end, port);
		target.port = error == std::errc() && at == end &&
					      port < 65536 ?
				      port :
				      0;
	}
	return target;
}

Reach probe(const Target &target, const std::map<std::string, unsigned> &largest)
{
	Reach reach;
	Address to;

	reach.target = target;
	if (!find_address(target.server, to))
		return reach;
	reach.address = to.text();
	reach.peer = (to.family() == AF_INET6 ? "[" + reach.address + "]" :
						reach.address) +
		     ":" + std::to_string(target.port);
	reach.interface = interface_to(to);
	reach.rdma = ask_rdma(to, target.port, reach);
	if (reach.rdma == Answer::Yes) {
		const auto known = largest.find(reach.interface);
		if (known == largest.end() || reach.iwarp)
			return reach;
		reach.octets = known->second;
		reach.ping = ask_echo(to, 0);
		if (reach.ping == Answer::Yes)
			reach.whole = ask_echo(to, reach.octets);
		return reach;
	}
	if (reach.rdma == Answer::Refused && target.port != kNfsRdmaPort) {
		Reach other;
		reach.usual = ask_rdma(to, kNfsRdmaPort, other);
	}
	reach.tcp = ask_tcp(to, kNfsPort);
	if (reach.rdma == Answer::Silent || reach.rdma == Answer::NoWay) {
		reach.ping = ask_echo(to, 0);
		if (!reach.iwarp)
			reach.udp = ask_udp(to, kRocePort);
	}
	return reach;
}

} // namespace rpcrdmactl
