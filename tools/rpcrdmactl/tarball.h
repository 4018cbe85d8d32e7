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

struct archive;

namespace rpcrdmactl
{

class Tarball {
public:
	/**
	 * Begin an archive beside its final place, readable by its owner alone.
	 *
	 * @file: where it will be; a file that is there is replaced at the end
	 *
	 * Throws std::system_error if there can be no such file.
	 */
	explicit Tarball(const std::filesystem::path &file);
	/* Removes what commit() has not made a file of its own. */
	~Tarball();
	Tarball(const Tarball &) = delete;
	Tarball &operator=(const Tarball &) = delete;

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

	std::filesystem::path file_;
	std::string unfinished_;
	int fd_ = -1;
	std::time_t time_;
	std::unique_ptr<archive, Free> archive_;
};

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_TARBALL_H */
