/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What can be changed while the module is loaded: module parameters and sysctls.
 */
#ifndef _RPCRDMACTL_SETTINGS_H
#define _RPCRDMACTL_SETTINGS_H

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "message.h"

namespace rpcrdmactl
{

/* The arguments are wrong, and nothing has been done. */
class Usage : public std::runtime_error {
public:
	using std::runtime_error::runtime_error;
};

/* Where the file of a setting is. */
enum class Where : std::uint8_t { Parameter, ClientSysctl, ServerSysctl };

/*
 * Who uses a new value: connections that are up too, at once or when the old time is over, or
 * what is made later.
 */
enum class Takes : std::uint8_t { AtOnce, NextTime, Connections, Mounts };

/**
 * A setting
 * @name: of its file
 * @unit: of its value, as people write it
 * @normal: its default
 * @lowest: the least value that the module takes
 * @highest: the greatest
 * @role: "client", "server" or "both"
 */
struct Setting {
	const char *name;
	Where where;
	const char *unit;
	std::uint32_t normal;
	std::uint32_t lowest;
	std::uint32_t highest;
	const char *role;
	Takes takes;
};

/* A value that is asked for. */
struct Change {
	const Setting *setting = nullptr;
	std::uint32_t value = 0;
};

/* What has become of it. @now is what the kernel says after it was written. */
struct Changed {
	Change change;
	std::uint32_t before = 0;
	std::uint32_t now = 0;
};

/* Receives that are asked for on one connection, in octets, or zero. */
struct Sizes {
	std::uint32_t mine = 0;
	std::uint32_t peers = 0;
};

/* Understand receive-size=VALUE and peer-receive-size=VALUE, or throw Usage. */
[[nodiscard]] Sizes read_sizes(const std::vector<std::string> &texts);

/* Those that have an effect, each once. */
[[nodiscard]] std::span<const Setting> settings();

/**
 * Understand what is to be changed.
 *
 * @texts: NAME=VALUE each
 *
 * Throws Usage with a reason if one of them cannot be meant.
 */
[[nodiscard]] std::vector<Change>
read_changes(const std::vector<std::string> &texts);

/**
 * All settings as they are now; those that the module does not have are left out
 *
 * @root: /, or what stands for it
 *
 * Return: an array. Each member has "name", "value", "default", "lowest", "highest", "unit",
 * "role" and "takes-effect".
 */
[[nodiscard]] Json read_settings(const std::filesystem::path &root);

/**
 * Write all changes, or none.
 *
 * All files are opened before one is written. If the kernel then refuses a value, what was
 * written before is set back.
 *
 * Throws std::runtime_error: it says which one failed and, if something could not be set
 * back, that too.
 */
[[nodiscard]] std::vector<Changed>
write_changes(const std::filesystem::path &root,
	      const std::vector<Change> &changes);

/**
 * What a change means, for people, in one line
 *
 * @connections: those that are up, as the module tells them
 */
[[nodiscard]] std::string line_of_change(const Changed &changed,
					 const std::vector<Json> &connections);

/* The same for programs. */
[[nodiscard]] Json json_of_changes(const std::vector<Changed> &changed);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_SETTINGS_H */
