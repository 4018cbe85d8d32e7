// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Preloaded into a guest: the guest's random numbers become a sequence that the number
 * CLOCK_SEED decides. UML takes no other random values from its host.
 */
#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

namespace
{

/* splitmix64 */
std::uint64_t next()
{
	static std::uint64_t state = [] {
		const char *seed = std::getenv("CLOCK_SEED");

		return seed ? std::strtoull(seed, nullptr, 10) : 0;
	}();
	std::uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

} /* namespace */

ssize_t getrandom(void *buffer, size_t length, unsigned int)
{
	auto *octets = static_cast<unsigned char *>(buffer);

	for (size_t i = 0; i < length; i++)
		octets[i] = static_cast<unsigned char>(next());
	return static_cast<ssize_t>(length);
}
