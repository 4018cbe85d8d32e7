/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How fields of messages are written.
 */
#ifndef _RPCRDMACTL_FIELDS_H
#define _RPCRDMACTL_FIELDS_H

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <ostream>
#include <string>

#include <rpcrdma/core.h>

#include "message.h"

namespace rpcrdmactl
{

inline std::string hex(std::uint64_t value, int digits)
{
	char text[32];

	std::snprintf(text, sizeof(text), "0x%0*llx", digits,
		      static_cast<unsigned long long>(value));
	return text;
}

inline Json segment(const rpcrdma_segment &s)
{
	return { { "handle", hex(s.handle, 8) },
		 { "length", s.length },
		 { "offset", hex(s.offset, 16) } };
}

inline std::string plain(const Json &value)
{
	return value.is_string() ? value.get<std::string>() : value.dump();
}

/* Those of the named fields that are there, a line each. */
inline void field_lines(std::ostream &out, const Json &fields,
			std::initializer_list<const char *> names)
{
	for (const char *name : names)
		if (fields.contains(name))
			out << "  " << name << ": " << plain(fields.at(name))
			    << "\n";
}

/* The same for fields that have fields of their own, which are in the line. */
inline void group_lines(std::ostream &out, const Json &fields,
			std::initializer_list<const char *> names)
{
	for (const char *name : names) {
		if (!fields.contains(name))
			continue;
		out << "  " << name << ":";
		for (const auto &[key, value] : fields.at(name).items())
			out << " " << key << " " << plain(value);
		out << "\n";
	}
}

inline std::string segment_line(const Json &s)
{
	return (s.contains("position") ?
			"position " + s.at("position").dump() + " " :
			"") +
	       "handle " + plain(s.at("handle")) + " length " +
	       s.at("length").dump() + " offset " + plain(s.at("offset"));
}

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_FIELDS_H */
