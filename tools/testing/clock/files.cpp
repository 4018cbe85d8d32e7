// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace ttclock
{

namespace
{

/* Of one message. */
constexpr std::size_t kFiles = 8;

/* A message is written at once; its end cannot be far. */
constexpr timeval kReceiveTimeout = { 30, 0 };

union Control {
	cmsghdr header;
	char space[CMSG_SPACE(kFiles * sizeof(int))];
};

void take_files(msghdr &message, std::vector<File> *files)
{
	for (cmsghdr *c = CMSG_FIRSTHDR(&message); c;
	     c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;

		const std::size_t count =
			(c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (std::size_t i = 0; i < count; i++) {
			int fd;

			std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd),
				    sizeof(fd));

			File file(fd);

			if (files)
				files->push_back(std::move(file));
		}
	}
}

} /* namespace */

void host_failed(const std::string &what)
{
	throw Failure(Status::Host, what + ": " + std::strerror(errno));
}

File::~File()
{
	if (fd_ >= 0)
		::close(fd_);
}

Mapping::Mapping(const File &file, u64 offset, u64 size)
{
	void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       file.fd(), static_cast<off_t>(offset));

	if (p == MAP_FAILED)
		host_failed("mapping a guest's memory");
	octets_ = { static_cast<u8 *>(p), size };
}

Mapping::~Mapping()
{
	if (!octets_.empty())
		munmap(octets_.data(), octets_.size());
}

Listener::Listener(std::string path)
	: path_(std::move(path))
	, file_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
	const std::string before = path_ + ".new";
	sockaddr_un address = {};

	if (!file_.open())
		host_failed("socket");
	address.sun_family = AF_UNIX;
	if (before.size() >= sizeof(address.sun_path))
		throw Failure(Status::Host,
			      path_ + " is too long for a socket");
	std::memcpy(address.sun_path, before.c_str(), before.size());
	unlink(before.c_str());
	if (bind(file_.fd(), reinterpret_cast<sockaddr *>(&address),
		 sizeof(address)) ||
	    listen(file_.fd(), SOMAXCONN) ||
	    rename(before.c_str(), path_.c_str()))
		host_failed(path_);
}

Listener::~Listener()
{
	if (file_.open())
		unlink(path_.c_str());
}

File Listener::accept() const
{
	File file(accept4(file_.fd(), nullptr, nullptr, SOCK_CLOEXEC));

	if (!file.open())
		host_failed("accept");
	setsockopt(file.fd(), SOL_SOCKET, SO_RCVTIMEO, &kReceiveTimeout,
		   sizeof(kReceiveTimeout));
	return file;
}

bool read_all(const File &from, void *data, std::size_t size,
	      std::vector<File> *files)
{
	std::size_t done = 0;

	while (done < size) {
		Control control;
		iovec vector = { static_cast<char *>(data) + done,
				 size - done };
		msghdr message = {};

		message.msg_iov = &vector;
		message.msg_iovlen = 1;
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);

		const ssize_t n =
			recvmsg(from.fd(), &message, MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			refuse("stops within a message");
		if (n <= 0)
			return false;
		take_files(message, files);
		done += static_cast<std::size_t>(n);
	}
	return true;
}

bool write_all(const File &to, const void *data, std::size_t size,
	       std::span<const int> fds)
{
	std::size_t done = 0;

	while (done < size) {
		Control control = {};
		iovec vector = { const_cast<char *>(
					 static_cast<const char *>(data)) +
					 done,
				 size - done };
		msghdr message = {};

		message.msg_iov = &vector;
		message.msg_iovlen = 1;
		if (!done && !fds.empty()) {
			message.msg_control = &control;
			message.msg_controllen = CMSG_SPACE(fds.size_bytes());
			control.header.cmsg_level = SOL_SOCKET;
			control.header.cmsg_type = SCM_RIGHTS;
			control.header.cmsg_len = CMSG_LEN(fds.size_bytes());
			std::memcpy(CMSG_DATA(&control.header), fds.data(),
				    fds.size_bytes());
		}

		const ssize_t n = sendmsg(to.fd(), &message, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += static_cast<std::size_t>(n);
	}
	return true;
}

} /* namespace ttclock */
