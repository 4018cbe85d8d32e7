// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "json_text.h"

#include "quoted.h"

namespace rpcrdmactl
{

std::string json_text(const Json &json, int indent)
{
	return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string utf8(const std::string &text)
{
	std::string plain;

	/* What is replaced is not what it was. */
	if (Json::parse(json_text(text)).get<std::string>() == text)
		return text;
	for (const char c : text)
		plain += static_cast<unsigned char>(c) < 0x80 ?
				 std::string(1, c) :
				 octal(c);
	return plain;
}

} // namespace rpcrdmactl
