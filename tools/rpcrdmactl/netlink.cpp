// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "netlink.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/genetlink.h>
#include <sys/socket.h>
#include <system_error>

#include "attributes.h"
#include "spec.h"

namespace rpcrdmactl
{

namespace
{

/* As large as the kernel's largest part of a dump. */
constexpr std::size_t kBufferSize = 32768;

const std::filesystem::path kModule = "/sys/module/rpcrdma";

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

/* The kernel's own text, if it has one, else that of the errno. */
std::string refusal_text(const nlmsghdr &message, int error)
{
	const auto *reply =
		static_cast<const nlmsgerr *>(mnl_nlmsg_get_payload(&message));
	std::size_t skip = sizeof(*reply);

	if (!(message.nlmsg_flags & NLM_F_ACK_TLVS))
		return std::strerror(error);
	/* What was asked comes before its attributes. */
	if (!(message.nlmsg_flags & NLM_F_CAPPED))
		skip += reply->msg.nlmsg_len - sizeof(reply->msg);
	std::string said = std::strerror(error);
	each_attribute(payload_of(message, skip),
		       [&](std::uint16_t type, Payload payload) {
			       if (type == NLMSGERR_ATTR_MSG)
				       said = text(payload);
		       });
	return said;
}

void throw_if_refused(const nlmsghdr &message)
{
	const auto *reply =
		static_cast<const nlmsgerr *>(mnl_nlmsg_get_payload(&message));

	if (mnl_nlmsg_get_payload_len(&message) < sizeof(reply->error))
		throw std::runtime_error("message is too short");
	/* That of the end of a dump is zero, or why it ends. */
	const int error = -reply->error;
	if (error)
		throw Refusal(error, message.nlmsg_type == NLMSG_ERROR ?
					     refusal_text(message, error) :
					     std::strerror(error));
}

/* Empty: one that is part of the kernel, or none. */
std::string state_of(const std::filesystem::path &module)
{
	std::ifstream file(module / "initstate");
	std::string state;

	file >> state;
	return state;
}

[[noreturn]] void unloaded()
{
	throw NotLoaded("the module was unloaded meanwhile");
}

} // namespace

std::string why_not_loaded(const std::filesystem::path &module)
{
	std::error_code ignored;

	if (!std::filesystem::exists(module, ignored))
		return "the module is not loaded: modprobe rpcrdma";
	if (!std::filesystem::exists(module / "version", ignored))
		return "the kernel's own rpcrdma is loaded: modprobe -r "
		       "rpcrdma && modprobe rpcrdma";
	if (const auto state = state_of(module); state != "live")
		return "the module is being loaded or unloaded: try again";
	return "the loaded module is too old for this program: modprobe -r "
	       "rpcrdma && modprobe rpcrdma";
}

void Netlink::Close::operator()(mnl_socket *socket) const
{
	mnl_socket_close(socket);
}

Netlink::Netlink()
	: socket_(mnl_socket_open(NETLINK_GENERIC))
{
	int on = 1;

	if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID))
		fail("netlink");
	/* Without these the texts of errors are shorter. */
	mnl_socket_setsockopt(socket_.get(), NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(socket_.get(), NETLINK_CAP_ACK, &on, sizeof(on));
	/* The module may be loaded just now. */
	if (!find_family() && !find_family())
		throw NotLoaded(why_not_loaded(kModule));
}

/* Return: whether there is one. */
bool Netlink::find_family()
{
	const auto take_group = [this](std::uint16_t, Payload group) {
		std::uint32_t id = 0;
		bool ours = false;
		each_attribute(group, [&](std::uint16_t type, Payload payload) {
			if (type == CTRL_ATTR_MCAST_GRP_ID)
				id = integer<std::uint32_t>(payload);
			else if (type == CTRL_ATTR_MCAST_GRP_NAME)
				ours = text(payload) == RPCRDMA_MCGRP_CONN;
		});
		if (ours)
			group_ = id;
	};
	const auto take = [&](std::uint16_t type, Payload payload) {
		if (type == CTRL_ATTR_FAMILY_ID)
			family_ = integer<std::uint16_t>(payload);
		else if (type == CTRL_ATTR_MCAST_GROUPS)
			each_attribute(payload, take_group);
	};

	try {
		ask(
			GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0,
			[](nlmsghdr &message) {
				mnl_attr_put_strz(&message,
						  CTRL_ATTR_FAMILY_NAME,
						  RPCRDMA_FAMILY_NAME);
			},
			[&](const nlmsghdr &message) {
				each_attribute(payload_of(message, GENL_HDRLEN),
					       take);
			});
	} catch (const Refusal &refusal) {
		if (refusal.error() != ENOENT)
			throw;
		return false;
	}
	return true;
}

/* Without the module the kernel's answer is the same as without the connection. */
void Netlink::ask_module(std::uint8_t command, std::uint16_t flags,
			 const std::function<void(nlmsghdr &)> &attributes,
			 const Receiver &receiver)
{
	try {
		ask(family_, command, flags, attributes, receiver);
	} catch (const Refusal &refusal) {
		if (refusal.error() == ENOENT)
			check_same();
		/* No dump begins any more while the module is being unloaded. */
		if (refusal.error() == EPROTONOSUPPORT)
			unloaded();
		throw;
	}
}

/* A module that was loaded again has another number, and another socket is not disturbed. */
void Netlink::check_same() const
{
	std::uint16_t now = 0;

	try {
		now = Netlink().family_;
	} catch (const NotLoaded &) {
		unloaded();
	}
	if (now != family_)
		unloaded();
}

void Netlink::ask(std::uint16_t family, std::uint8_t command,
		  std::uint16_t flags,
		  const std::function<void(nlmsghdr &)> &attributes,
		  const Receiver &receiver)
{
	alignas(nlmsghdr) char buffer[512] = {};
	nlmsghdr *message = mnl_nlmsg_put_header(buffer);

	message->nlmsg_type = family;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message->nlmsg_seq = ++seq_;
	auto *genl = static_cast<genlmsghdr *>(
		mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)));
	genl->cmd = command;
	genl->version = RPCRDMA_FAMILY_VERSION;
	if (attributes)
		attributes(*message);
	if (mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0)
		fail("netlink");
	answers(seq_, receiver);
}

/* The messages of one datagram. Return: whether @take wants more of them. */
static bool each_message(const char *buffer, ssize_t size,
			 const std::function<bool(const nlmsghdr &)> &take)
{
	auto left = static_cast<int>(size);
	const auto *message = reinterpret_cast<const nlmsghdr *>(buffer);

	for (; mnl_nlmsg_ok(message, left);
	     message = mnl_nlmsg_next(message, &left))
		if (!take(*message))
			return false;
	return true;
}

/* Up to the acknowledgement, or the end of the dump. */
void Netlink::answers(std::uint32_t seq, const Receiver &receiver)
{
	alignas(nlmsghdr) static char buffer[kBufferSize];
	const auto take = [&](const nlmsghdr &message) {
		if (message.nlmsg_seq != seq)
			return true;
		if (message.nlmsg_type == NLMSG_ERROR ||
		    message.nlmsg_type == NLMSG_DONE) {
			throw_if_refused(message);
			return false;
		}
		receiver(message);
		return true;
	};
	ssize_t got;

	do {
		got = mnl_socket_recvfrom(socket_.get(), buffer,
					  sizeof(buffer));
		if (got < 0)
			fail("netlink");
	} while (each_message(buffer, got, take));
}

std::vector<Json> Netlink::dump(std::uint8_t command, Set set)
{
	std::vector<Json> all;

	ask_module(command, NLM_F_DUMP, {}, [&](const nlmsghdr &message) {
		all.push_back(read_message(message, set));
	});
	return all;
}

Json Netlink::module()
{
	if (module_)
		return *module_;
	Json module;
	ask_module(RPCRDMA_CMD_MODULE_GET, 0, {},
		   [&](const nlmsghdr &message) {
			   module = read_message(message, kSetModule);
		   });
	try {
		ask_module(RPCRDMA_CMD_AUTH_GET, 0, {},
			   [&](const nlmsghdr &message) {
				   module["authentication"] =
					   read_message(message, kSetAuth);
			   });
	} catch (const Refusal &refusal) {
		/* An older module has none. */
		if (refusal.error() != EOPNOTSUPP)
			throw;
	}
	module_ = std::move(module);
	return *module_;
}

std::vector<Json> Netlink::devices()
{
	return dump(RPCRDMA_CMD_DEVICE_GET, kSetDevice);
}

std::vector<Json> Netlink::listeners()
{
	return dump(RPCRDMA_CMD_LISTENER_GET, kSetListener);
}

std::vector<Json> Netlink::connections()
{
	std::vector<Json> all = dump(RPCRDMA_CMD_CONN_GET, kSetConn);

	for (Json &conn : all)
		name_numbers(conn, module());
	return all;
}

Json Netlink::connection(std::uint64_t id)
{
	Json conn;

	ask_module(
		RPCRDMA_CMD_CONN_GET, 0,
		[id](nlmsghdr &message) {
			mnl_attr_put_u64(&message, RPCRDMA_A_CONN_ID, id);
		},
		[&](const nlmsghdr &message) {
			conn = read_message(message, kSetConn);
		});
	name_numbers(conn, module());
	return conn;
}

void Netlink::resize(std::uint64_t id, std::uint32_t receive,
		     std::uint32_t peer_receive)
{
	ask_module(
		RPCRDMA_CMD_CONN_SET, 0,
		[=](nlmsghdr &message) {
			mnl_attr_put_u64(&message, RPCRDMA_A_CONN_ID, id);
			if (receive)
				mnl_attr_put_u32(&message,
						 RPCRDMA_A_CONN_RECEIVE_SIZE,
						 receive);
			if (peer_receive)
				mnl_attr_put_u32(
					&message,
					RPCRDMA_A_CONN_PEER_RECEIVE_SIZE,
					peer_receive);
		},
		[](const nlmsghdr &) {});
}

void Netlink::join(std::uint32_t group)
{
	if (mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &group,
				  sizeof(group)))
		fail("netlink");
}

void Netlink::follow(const std::function<bool(unsigned, const Json &)> &event)
{
	alignas(nlmsghdr) static char buffer[kBufferSize];
	const auto take = [&](const nlmsghdr &message) {
		if (says_gone(message, family_))
			unloaded();
		if (message.nlmsg_type != family_)
			return true;
		const auto *genl = static_cast<const genlmsghdr *>(
			mnl_nlmsg_get_payload(&message));
		return event(genl->cmd, read_message(message, kSetConn));
	};

	/* The group "notify" of nlctrl has the number of that family. */
	join(GENL_ID_CTRL);
	join(group_);
	/* It could have gone before this was told. */
	check_same();
	for (;;) {
		const ssize_t got = mnl_socket_recvfrom(socket_.get(), buffer,
							sizeof(buffer));
		if (got < 0 && errno == ENOBUFS) {
			if (!event(0, {}))
				return;
			check_same();
			continue;
		}
		if (got < 0)
			fail("netlink");
		if (!each_message(buffer, got, take))
			return;
	}
}

} // namespace rpcrdmactl
