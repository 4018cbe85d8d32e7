/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * File descriptors, mapped memory and Unix sockets that close by themselves.
 */
#ifndef _RPCRDMA_CLOCK_FILES_H
#define _RPCRDMA_CLOCK_FILES_H

#include "base.h"

#include <span>
#include <utility>
#include <vector>

namespace ttclock
{

class File {
public:
	File() = default;
	explicit File(int fd)
		: fd_(fd)
	{
	}
	File(File &&other) noexcept
		: fd_(std::exchange(other.fd_, -1))
	{
	}
	File &operator=(File &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	~File();

	[[nodiscard]] int fd() const
	{
		return fd_;
	}
	[[nodiscard]] bool open() const
	{
		return fd_ >= 0;
	}
	void close()
	{
		*this = File();
	}

private:
	int fd_ = -1;
};

/* A part of a file, shared with whoever else maps it. */
class Mapping {
public:
	Mapping(const File &file, u64 offset, u64 size);
	Mapping(Mapping &&other) noexcept
		: octets_(std::exchange(other.octets_, {}))
	{
	}
	Mapping &operator=(Mapping &&) = delete;
	~Mapping();

	[[nodiscard]] std::span<u8> octets() const
	{
		return octets_;
	}

private:
	std::span<u8> octets_;
};

/* A socket at a path, which shows up when it can be connected to. */
class Listener {
public:
	explicit Listener(std::string path);
	Listener(Listener &&) = default;
	Listener &operator=(Listener &&) = delete;
	~Listener();

	[[nodiscard]] int fd() const
	{
		return file_.fd();
	}
	[[nodiscard]] File accept() const;

private:
	std::string path_;
	File file_;
};

/* False if the other end is gone. A message that stops half way is refused. */
bool read_all(const File &from, void *data, std::size_t size,
	      std::vector<File> *files = nullptr);
bool write_all(const File &to, const void *data, std::size_t size,
	       std::span<const int> fds = {});

/* What the host said, for what was tried. */
[[noreturn]] void host_failed(const std::string &what);

} /* namespace ttclock */

#endif
