/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A file that is there as a whole or not at all.
 */
#ifndef _RPCRDMACTL_NEWFILE_H
#define _RPCRDMACTL_NEWFILE_H

#include <filesystem>
#include <string>

namespace rpcrdmactl
{

class NewFile {
public:
	/**
	 * Begin a file beside its final place, by a name that nobody knows before; only its
	 * owner may read it.
	 *
	 * @file: where it will be; a file that is there is replaced at the end
	 *
	 * Throws std::system_error if there can be no such file.
	 */
	explicit NewFile(std::filesystem::path file);
	/* Removes what commit() has not given its name. */
	~NewFile();
	NewFile(const NewFile &) = delete;
	NewFile &operator=(const NewFile &) = delete;

	[[nodiscard]] const std::filesystem::path &path() const
	{
		return file_;
	}
	/* To write to. */
	[[nodiscard]] int fd() const
	{
		return fd_;
	}

	/* It is complete: give it its name. Throws std::system_error. */
	void commit();

private:
	std::filesystem::path file_;
	std::string unfinished_;
	int fd_ = -1;
};

/**
 * Replace a file. Who reads it meanwhile sees the old text or the new one, whole.
 *
 * @file: the new one may be read and written by whom the umask allows it
 *
 * Throws std::system_error; the old file is there then.
 */
void replace_file(const std::filesystem::path &file, const std::string &text);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_NEWFILE_H */
