// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "settings.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <system_error>
#include <unistd.h>

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint32_t kMost = UINT32_MAX;
/* Of any connection; the module knows what one can have. */
constexpr std::uint32_t kLeastReceive = 1024;
constexpr std::uint32_t kMostReceive = 65536;

/* tools/testing/docs/check compares this with the module. */
constexpr Setting kSettings[] = {
	{ "ddp_threshold", Where::Parameter, "bytes", 16384, 0, kMost,
	  "client", Takes::Connections },
	{ "special_threshold", Where::Parameter, "bytes", 65536, 0, kMost,
	  "client", Takes::Connections },
	{ "stream_from", Where::Parameter, "microseconds", 500, 0, kMost,
	  "client", Takes::Connections },
	{ "window", Where::Parameter, "messages", 64, 3, 16384,
	  "both", Takes::AtOnce },
	{ "grow", Where::Parameter, "bytes", 32768, 0, 65536,
	  "both", Takes::Connections },
	{ "rtrext", Where::Parameter, "switch", 0, 0, 1,
	  "both", Takes::Connections },
	{ "rtrext_offer", Where::Parameter, "kind", 0, 0, 3,
	  "client", Takes::AtOnce },
	{ "keepalive", Where::Parameter, "seconds", 30, 0, kMost,
	  "client", Takes::NextTime },
	{ "idle_timeout", Where::Parameter, "seconds", 300, 0, kMost,
	  "client", Takes::Mounts },
	{ "memory", Where::Parameter, "MiB", 0, 0, kMost,
	  "both", Takes::AtOnce },
	{ "client_min_version", Where::Parameter, "version", 1, 1, 2,
	  "client", Takes::Connections },
	{ "client_max_version", Where::Parameter, "version", 2, 1, 2,
	  "client", Takes::Connections },
	{ "server_min_version", Where::Parameter, "version", 1, 1, 2,
	  "server", Takes::Connections },
	{ "server_max_version", Where::Parameter, "version", 2, 1, 2,
	  "server", Takes::Connections },
	{ "rdma_slot_table_entries", Where::ClientSysctl, "operations", 128, 4, 16384,
	  "client", Takes::Mounts },
	{ "rdma_max_inline_read", Where::ClientSysctl, "bytes", 8192, 1024, 65536,
	  "client", Takes::Connections },
	{ "rdma_max_inline_write", Where::ClientSysctl, "bytes", 8192, 1024, 65536,
	  "client", Takes::Connections },
	{ "max_req_size", Where::ServerSysctl, "bytes", 8192, 4096, 65536,
	  "server", Takes::Connections },
	{ "max_outbound_read_requests", Where::ServerSysctl, "reads", 16, 1, 255,
	  "server", Takes::Connections },
};

/* Sysctls that are another name of a module parameter, or have no effect. */
struct OtherName {
	const char *name;
	const char *same;
};

constexpr OtherName kOthers[] = {
	{ "max_requests", "window" },
	{ "rdma_min_version", "client_min_version" },
	{ "rdma_max_version", "client_max_version" },
	{ "min_version", "server_min_version" },
	{ "max_version", "server_max_version" },
	{ "rdma_inline_write_padding", nullptr },
	{ "rdma_memreg_strategy", nullptr },
	{ "rdma_pad_optimize", nullptr },
};

const char *takes_effect(Takes takes)
{
	return takes == Takes::AtOnce	   ? "at once" :
	       takes == Takes::NextTime	   ? "after the old time" :
	       takes == Takes::Connections ? "new connections" :
					     "new mounts";
}

fs::path file_of(const fs::path &root, const Setting &setting)
{
	const fs::path directory = setting.where == Where::Parameter ?
					   "sys/module/rpcrdma/parameters" :
				   setting.where == Where::ClientSysctl ?
					   "proc/sys/sunrpc" :
					   "proc/sys/sunrpc/svc_rdma";

	return root / directory / setting.name;
}

/* Nothing if an older module does not have it, or the kernel has no sysctls. */
std::optional<std::uint32_t> find_value(const fs::path &root,
					const Setting &setting)
{
	std::ifstream file(file_of(root, setting));
	std::uint32_t value = 0;

	if (!(file >> value))
		return {};
	return value;
}

std::uint32_t read_value(const fs::path &root, const Setting &setting)
{
	const std::optional<std::uint32_t> value = find_value(root, setting);

	if (!value)
		throw std::runtime_error(
			std::string(setting.name) +
			": the module that is loaded does not have it");
	return *value;
}

const Setting &find_setting(const std::string &name)
{
	const auto *const found =
		std::ranges::find_if(kSettings, [&](const Setting &setting) {
			return setting.name == name;
		});

	if (found != std::end(kSettings))
		return *found;
	for (const OtherName &other : kOthers) {
		if (other.name != name)
			continue;
		throw Usage(name +
			    (other.same ? std::string(": it is the same as ") +
						  other.same + ": set that" :
					  ": it has no effect"));
	}
	throw Usage(name +
		    ": there is no such setting; rpcrdmactl set lists them");
}

/* What follows the sign in NAME=VALUE. */
std::uint32_t read_value_of(const std::string &name, const std::string &text,
			    std::size_t sign, std::uint32_t lowest,
			    std::uint32_t highest)
{
	std::uint32_t value = 0;

	if (sign == std::string::npos || sign + 1 == text.size())
		throw Usage(name + ": to which value? " + name + "=VALUE");
	const char *begin = text.data() + sign + 1;
	const char *end = text.data() + text.size();
	const auto [at, error] = std::from_chars(begin, end, value);
	if (error == std::errc::invalid_argument || at != end)
		throw Usage(name + ": " + begin + " is not a number");
	if (error != std::errc() || value < lowest || value > highest)
		throw Usage(name + ": " + begin + " is not in the range " +
			    std::to_string(lowest) + " to " +
			    std::to_string(highest));
	return value;
}

Change read_change(const std::string &text)
{
	const std::size_t sign = text.find('=');
	const std::string asked = text.substr(0, sign);
	const Setting &setting = find_setting(asked);

	return { &setting, read_value_of(setting.name, text, sign,
					 setting.lowest, setting.highest) };
}

/* The file of a setting, opened to be written; nothing is written to it yet. */
class OpenSetting {
public:
	OpenSetting(const fs::path &root, const Setting &setting)
		: name_(setting.name)
		, before_(read_value(root, setting))
		, fd_(open(file_of(root, setting).c_str(),
			   O_WRONLY | O_CLOEXEC))
	{
		if (fd_ >= 0)
			return;
		if (errno == EACCES || errno == EPERM)
			throw std::runtime_error(name_ +
						 ": only root may set it");
		throw std::system_error(errno, std::generic_category(), name_);
	}
	~OpenSetting()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	OpenSetting(OpenSetting &&from) noexcept
		: name_(std::move(from.name_))
		, before_(from.before_)
		, fd_(from.fd_)
	{
		from.fd_ = -1;
	}
	OpenSetting(const OpenSetting &) = delete;
	OpenSetting &operator=(const OpenSetting &) = delete;
	OpenSetting &operator=(OpenSetting &&) = delete;

	/* Return: zero or an errno. */
	[[nodiscard]] int put(std::uint32_t value) const
	{
		const std::string text = std::to_string(value) + "\n";
		const ssize_t put = pwrite(fd_, text.data(), text.size(), 0);

		if (put < 0)
			return errno;
		return static_cast<std::size_t>(put) == text.size() ? 0 : EIO;
	}
	[[nodiscard]] const std::string &name() const
	{
		return name_;
	}
	[[nodiscard]] std::uint32_t before() const
	{
		return before_;
	}

private:
	std::string name_;
	std::uint32_t before_;
	int fd_;
};

/* Set back what was written. Return: the end of the message about it. */
std::string set_back(const std::vector<OpenSetting> &files, std::size_t written)
{
	std::string changed;

	while (written--)
		if (files[written].put(files[written].before()))
			changed += " " + files[written].name();
	return changed.empty() ? "; nothing is changed" :
				 "; these could not be set back:" + changed;
}

} // namespace

std::span<const Setting> settings()
{
	return kSettings;
}

std::vector<Change> read_changes(const std::vector<std::string> &texts)
{
	std::vector<Change> changes;

	for (const std::string &text : texts) {
		const Change change = read_change(text);
		if (std::ranges::any_of(changes, [&](const Change &other) {
			    return other.setting == change.setting;
		    }))
			throw Usage(std::string(change.setting->name) +
				    ": it is given twice");
		changes.push_back(change);
	}
	return changes;
}

Sizes read_sizes(const std::vector<std::string> &texts)
{
	Sizes sizes;

	for (const std::string &text : texts) {
		const std::size_t sign = text.find('=');
		const std::string name = text.substr(0, sign);
		if (name != "receive-size" && name != "peer-receive-size")
			throw Usage(name + ": a connection has receive-size and "
					   "peer-receive-size");
		std::uint32_t &size =
			name == "receive-size" ? sizes.mine : sizes.peers;
		if (size)
			throw Usage(name + ": it is given twice");
		size = read_value_of(name, text, sign, kLeastReceive,
				     kMostReceive);
	}
	if (texts.empty())
		throw Usage("--id: to which size? receive-size=VALUE or "
			    "peer-receive-size=VALUE");
	return sizes;
}

Json read_settings(const fs::path &root)
{
	Json all = Json::array();

	for (const Setting &setting : kSettings)
		if (const auto value = find_value(root, setting))
			all.push_back({ { "name", setting.name },
					{ "value", *value },
					{ "default", setting.normal },
					{ "lowest", setting.lowest },
					{ "highest", setting.highest },
					{ "unit", setting.unit },
					{ "role", setting.role },
					{ "takes-effect",
					  takes_effect(setting.takes) } });
	return all;
}

std::vector<Changed> write_changes(const fs::path &root,
				   const std::vector<Change> &changes)
{
	std::vector<OpenSetting> files;
	std::vector<Changed> done;

	for (const Change &change : changes)
		files.emplace_back(root, *change.setting);
	for (std::size_t i = 0; i < files.size(); i++) {
		const int error = files[i].put(changes[i].value);
		if (error)
			throw std::runtime_error(
				files[i].name() + ": the kernel refuses " +
				std::to_string(changes[i].value) + ": " +
				std::strerror(error) + set_back(files, i));
	}
	for (std::size_t i = 0; i < files.size(); i++)
		done.push_back({ changes[i], files[i].before(),
				 read_value(root, *changes[i].setting) });
	return done;
}

std::string line_of_change(const Changed &changed,
			   const std::vector<Json> &connections)
{
	const Setting &setting = *changed.change.setting;
	const std::string name = setting.name;
	const std::string role = setting.role;
	std::string line = name + ": " + std::to_string(changed.now);

	if (changed.now == changed.before)
		return line + ", as before";
	line += ", before " + std::to_string(changed.before) + "; ";
	const auto up = std::ranges::count_if(connections, [&](const Json &c) {
		return role == "both" || c.value("role", "") == role;
	});
	switch (setting.takes) {
	case Takes::AtOnce:
		/* What the peer has been allowed stays allowed. */
		if (name == "window" && changed.now < changed.before)
			return line +
			       "connections that are up follow as the peer sends: " +
			       std::to_string(up);
		return line + "connections that are up follow at once: " +
		       std::to_string(up);
	case Takes::NextTime:
		return line +
		       "connections that are up follow when the old time is over: " +
		       std::to_string(up);
	case Takes::Connections:
		return line +
		       "for new connections; those that are up keep the old "
		       "value: " +
		       std::to_string(up);
	default:
		return line + "for new mounts; those that are there keep the "
			      "old value";
	}
}

Json json_of_changes(const std::vector<Changed> &changed)
{
	Json all = Json::array();

	for (const Changed &c : changed)
		all.push_back({ { "name", c.change.setting->name },
				{ "before", c.before },
				{ "value", c.now },
				{ "takes-effect",
				  takes_effect(c.change.setting->takes) } });
	return all;
}

} // namespace rpcrdmactl
