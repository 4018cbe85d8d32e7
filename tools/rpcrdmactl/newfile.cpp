// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "newfile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path &file, int error)
{
	throw std::system_error(error, std::generic_category(), file);
}

/* It can only be read by setting another one. */
mode_t current_umask()
{
	const mode_t mask = umask(077);

	umask(mask);
	return mask;
}

} // namespace

NewFile::NewFile(fs::path file)
	: file_(std::move(file))
	, unfinished_(file_.string() + ".XXXXXX")
{
	std::error_code ignored;

	/* Renaming would take the place of a device, too. */
	if (fs::exists(file_, ignored) && !fs::is_regular_file(file_, ignored))
		fail(file_, fs::is_directory(file_, ignored) ? EISDIR : EEXIST);
	/* In a directory of others nobody can have put a link there. */
	fd_ = mkostemp(unfinished_.data(), O_CLOEXEC);
	if (fd_ < 0)
		fail(file_, errno);
}

NewFile::~NewFile()
{
	close(fd_);
	if (!unfinished_.empty())
		unlink(unfinished_.c_str());
}

void NewFile::commit()
{
	if (std::rename(unfinished_.c_str(), file_.c_str()))
		fail(file_, errno);
	unfinished_.clear();
}

void replace_file(const fs::path &file, const std::string &text)
{
	NewFile unfinished(file);
	std::string_view left = text;

	while (!left.empty()) {
		const ssize_t put =
			write(unfinished.fd(), left.data(), left.size());
		if (put >= 0)
			left.remove_prefix(static_cast<std::size_t>(put));
		else if (errno != EINTR)
			fail(file, errno);
	}
	if (fchmod(unfinished.fd(), 0666 & ~current_umask()))
		fail(file, errno);
	unfinished.commit();
}

} // namespace rpcrdmactl
