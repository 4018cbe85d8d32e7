/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A compressed tar archive that is there as a whole or not at all.
 */
#ifndef _RPCRDMACTL_TARBALL_H
#define _RPCRDMACTL_TARBALL_H

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "newfile.h"

struct archive;

namespace rpcrdmactl
{

class Tarball {
public:
	/**
	 * Begin an archive beside its final place, readable by its owner alone. What commit()
	 * has not given its name is removed at the end.
	 *
	 * @file: where it will be; a file that is there is replaced at the end
	 *
	 * Throws std::system_error if there can be no such file.
	 */
	explicit Tarball(const std::filesystem::path &file);

	/**
	 * Add a file to it.
	 *
	 * @name: with the directory in it
	 * @text: what is in the file
	 *
	 * Throws std::runtime_error, for instance if the disk is full.
	 */
	void add(const std::string &name, const std::string &text);
	/* The same; the file has all that @content has, from its beginning. */
	void add(const std::string &name, std::FILE *content);

	/* It is complete: give it its name. Throws std::runtime_error. */
	void commit();

private:
	struct Free {
		void operator()(archive *a) const;
	};

	void check(long result) const;
	void begin(const std::string &name, long long size);
	void put(const char *data, std::size_t size);

	NewFile file_;
	std::time_t time_;
	/* The first that goes: it may write what it still has. */
	std::unique_ptr<archive, Free> archive_;
};

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_TARBALL_H */
