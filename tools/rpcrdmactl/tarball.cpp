// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "tarball.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpcrdmactl
{

namespace
{

[[noreturn]] void fail(const std::filesystem::path &file, int error)
{
	throw std::system_error(error, std::generic_category(), file);
}

} // namespace

void Tarball::Free::operator()(archive *a) const
{
	archive_write_free(a);
}

Tarball::Tarball(const std::filesystem::path &file)
	: file_(file)
	, time_(std::time(nullptr))
	, archive_(archive_write_new())
{
	if (!archive_)
		fail(file, ENOMEM);
	check(archive_write_add_filter_gzip(archive_.get()));
	check(archive_write_set_format_pax_restricted(archive_.get()));
	check(archive_write_open_fd(archive_.get(), file_.fd()));
}

void Tarball::check(long result) const
{
	if (result < ARCHIVE_OK)
		throw std::runtime_error(file_.path().string() + ": " +
					 archive_error_string(archive_.get()));
}

void Tarball::begin(const std::string &name, long long size)
{
	struct FreeEntry {
		void operator()(archive_entry *entry) const
		{
			archive_entry_free(entry);
		}
	};
	const std::unique_ptr<archive_entry, FreeEntry> entry(
		archive_entry_new2(archive_.get()));

	archive_entry_set_pathname(entry.get(), name.c_str());
	archive_entry_set_filetype(entry.get(), AE_IFREG);
	archive_entry_set_perm(entry.get(), 0644);
	archive_entry_set_size(entry.get(), size);
	archive_entry_set_mtime(entry.get(), time_, 0);
	check(archive_write_header(archive_.get(), entry.get()));
}

void Tarball::put(const char *data, std::size_t size)
{
	check(archive_write_data(archive_.get(), data, size));
}

void Tarball::add(const std::string &name, const std::string &text)
{
	begin(name, static_cast<long long>(text.size()));
	put(text.data(), text.size());
}

void Tarball::add(const std::string &name, std::FILE *content)
{
	std::array<char, 65536> block;
	std::size_t got = 0;
	struct stat status = {};

	if (std::fflush(content) || fstat(fileno(content), &status))
		fail(file_.path(), errno);
	begin(name, status.st_size);
	std::rewind(content);
	while ((got = std::fread(block.data(), 1, block.size(), content)))
		put(block.data(), got);
	if (std::ferror(content))
		fail(file_.path(), EIO);
}

void Tarball::commit()
{
	check(archive_write_close(archive_.get()));
	if (fsync(file_.fd()))
		fail(file_.path(), errno);
	file_.commit();
}

} // namespace rpcrdmactl
