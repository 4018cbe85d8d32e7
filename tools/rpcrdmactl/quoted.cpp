// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "quoted.h"

#include <algorithm>
#include <string_view>

namespace rpcrdmactl
{

namespace
{

/* What means nothing to any shell, wherever it is. */
bool is_plain(char c)
{
	constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "abcdefghijklmnopqrstuvwxyz"
					    "0123456789_./:@%+,=-";

	return kPlain.find(c) != std::string_view::npos;
}

bool is_control(char c)
{
	return static_cast<unsigned char>(c) < ' ' || c == '\177';
}

} // namespace

std::string octal(char octet)
{
	const unsigned value = static_cast<unsigned char>(octet);
	std::string text = "\\";

	for (const unsigned shift : { 6U, 3U, 0U })
		text += static_cast<char>('0' + (value >> shift & 7));
	return text;
}

std::string quoted(const std::string &word)
{
	/* A command stays in one line: bash, ksh and zsh know these quotes. */
	const bool control = std::ranges::any_of(word, is_control);
	std::string text = control ? "$'" : "'";

	if (!word.empty() && std::ranges::all_of(word, is_plain))
		return word;
	for (const char c : word) {
		if (control && (is_control(c) || c == '\'' || c == '\\'))
			text += octal(c);
		else if (c == '\'')
			text += "'\\''";
		else
			text += c;
	}
	return text + "'";
}

std::string in_one_line(std::string text)
{
	std::ranges::replace_if(text, is_control, '?');
	return text;
}

} // namespace rpcrdmactl
