/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A socket of generic netlink that speaks with the module.
 */
#ifndef _RPCRDMACTL_NETLINK_H
#define _RPCRDMACTL_NETLINK_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "message.h"

struct mnl_socket;

namespace rpcrdmactl
{

/* What the kernel has answered instead of what was asked for. */
class Refusal : public std::runtime_error {
public:
	Refusal(int error, const std::string &text)
		: std::runtime_error(text)
		, error_(error)
	{
	}
	/* A positive errno. */
	[[nodiscard]] int error() const
	{
		return error_;
	}

private:
	int error_;
};

/* The module that is asked is not there, or no longer. */
class NotLoaded : public std::runtime_error {
public:
	using std::runtime_error::runtime_error;
};

/**
 * Why a module does not answer, and what mends it.
 *
 * @module: its directory below /sys/module
 */
[[nodiscard]] std::string why_not_loaded(const std::filesystem::path &module);

class Netlink {
public:
	/* Throws NotLoaded, with what mends it, or std::system_error. */
	Netlink();

	/* With host authentication in this network namespace. */
	[[nodiscard]] Json module();
	[[nodiscard]] std::vector<Json> devices();
	[[nodiscard]] std::vector<Json> listeners();
	/* With the names of numbers. */
	[[nodiscard]] std::vector<Json> connections();
	/* Throws Refusal with ENOENT if there is none. */
	[[nodiscard]] Json connection(std::uint64_t id);

	/**
	 * Ask for Receives of other sizes on a connection.
	 *
	 * @receive: those of this side, in octets, or zero
	 * @peer_receive: those of the peer, or zero
	 *
	 * Throws Refusal.
	 */
	void resize(std::uint64_t id, std::uint32_t receive,
		    std::uint32_t peer_receive);

	/**
	 * Follow what the kernel tells of connections.
	 *
	 * @event: called with a command and what it is about; false ends it. After
	 *	messages were lost it is called with zero.
	 *
	 * Throws NotLoaded when the module is unloaded.
	 */
	void follow(const std::function<bool(unsigned, const Json &)> &event);

private:
	struct Close {
		void operator()(mnl_socket *socket) const;
	};
	using Receiver = std::function<void(const nlmsghdr &)>;

	[[nodiscard]] std::vector<Json> dump(std::uint8_t command, Set set);
	void ask_module(std::uint8_t command, std::uint16_t flags,
			const std::function<void(nlmsghdr &)> &attributes,
			const Receiver &receiver);
	void ask(std::uint16_t family, std::uint8_t command,
		 std::uint16_t flags,
		 const std::function<void(nlmsghdr &)> &attributes,
		 const Receiver &receiver);
	void answers(std::uint32_t seq, const Receiver &receiver);
	bool find_family();
	void join(std::uint32_t group);
	void check_same() const;

	std::unique_ptr<mnl_socket, Close> socket_;
	std::uint32_t seq_ = 0;
	std::uint16_t family_ = 0;
	std::uint32_t group_ = 0;
	std::optional<Json> module_;
};

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_NETLINK_H */
