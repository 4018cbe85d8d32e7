/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Records trace events into a buffer of its own: an instance of tracefs. What others trace
 * is not touched.
 */
#ifndef _RPCRDMACTL_RECORDER_H
#define _RPCRDMACTL_RECORDER_H

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rpcrdmactl
{

/* An event to be recorded. Without a name it is all of the system. */
struct EventName {
	const char *system;
	const char *name;
};

/* Those that help with a fault of NFS over RDMA and tell no names of files or users. */
[[nodiscard]] std::span<const EventName> recorded_events();

class Recorder {
public:
	/**
	 * Begin to record.
	 *
	 * @root: /, or what stands for it
	 *
	 * Throws std::runtime_error: this user may not, there is no tracefs, or another process
	 * records. Nothing is left then.
	 */
	explicit Recorder(const std::filesystem::path &root);
	/* Nothing of it is left. */
	~Recorder();
	Recorder(const Recorder &) = delete;
	Recorder &operator=(const Recorder &) = delete;

	/* From now on nothing is added. */
	void stop();

	/* Events and systems that are recorded; a kernel may lack some. */
	[[nodiscard]] const std::vector<std::string> &events() const
	{
		return events_;
	}
	/* KiB of its buffer, for each processor. */
	[[nodiscard]] unsigned buffer() const
	{
		return buffer_;
	}
	/* Events that were overwritten, since the buffer was full. */
	[[nodiscard]] std::uint64_t overwritten() const;
	/**
	 * Write what was recorded, as tracefs shows it but without the names of processes that
	 * are no kernel threads.
	 *
	 * Throws std::runtime_error.
	 */
	void write_to(std::FILE *out) const;

private:
	void put(const std::filesystem::path &file,
		 const std::string &text) const;
	void enable();
	void hold();
	void release();

	std::filesystem::path instance_;
	std::vector<std::string> events_;
	unsigned buffer_ = 0;
	int held_ = -1;
};

/* A line of the trace without the name of a process, unless that is a kernel thread. */
[[nodiscard]] std::string without_process(const std::string &line);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_RECORDER_H */
