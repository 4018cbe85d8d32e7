/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Files of the tests.
 */
#ifndef _RPCRDMACTL_TEST_DATA_H
#define _RPCRDMACTL_TEST_DATA_H

#include <fstream>
#include <sstream>

#include "text.h"

namespace test
{

inline std::string file(const std::string &name)
{
	std::ifstream in(name);
	std::ostringstream out;

	out << in.rdbuf();
	return out.str();
}

/* What the module could have told. */
inline rpcrdmactl::Status status()
{
	const auto all = rpcrdmactl::Json::parse(file("test/data/status.json"));

	rpcrdmactl::Status status = { all.at("module"), all.at("devices"),
				      all.at("listeners"),
				      all.at("connections") };

	for (const auto &mount : all.at("mounts"))
		status.mounts.push_back({ mount.at("point"), mount.at("peer"),
					  mount.at("protocol") });
	return status;
}

} // namespace test

#endif /* _RPCRDMACTL_TEST_DATA_H */
