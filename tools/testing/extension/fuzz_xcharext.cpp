// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The caller's part of xcharext: it asks, allows, and says that something has changed.
 */
#include "../fuzz/extension.h"
#include "abi.h"
#include "properties.h"

using rpcrdma::Port;
using rpcrdma::Xcharext;

namespace fuzz
{

bool Extension::change(rpcrdma_session &s, Choices &in)
{
	const u8 choice = in.octet();
	const u32 which =
		in.flip() ? 1 + in.up_to(5) : Xcharext::kRemoteInvalidation;
	const u32 number = in.flip() ? in.number() : 1024 * in.up_to(4);
	/* Send buffers are no larger than that. */
	const auto local = [&] {
		return rpcrdma::session(&s).with<Xcharext>(
			[&](Xcharext &, Port &port) {
				return port.local(which);
			});
	};
	const u32 before = local();

	if (choice < 0x60) {
		const rpcrdma_xchar_number wanted[2] = {
			{ which, number },
			{ 1 + in.up_to(5), in.number() },
		};

		if (!rpcrdma_xchar_request(&s, wanted, 1 + in.up_to(1)))
			return false;
		FUZZ_CHECK(rpcrdma_xchar_asking(&s, which) ==
			   RPCRDMA_XCHAR_QUEUED);
		FUZZ_CHECK(local() == before);
		return true;
	}
	if (choice < 0xa0) {
		(void)!rpcrdma_xchar_allow(&s, which, in.number(), number);
		return false;
	}
	if (choice < 0xb0)
		return rpcrdma_xchar_fix(&s, &which, 1);
	/* It has buffers of the size that it began with. */
	const u32 wanted = rpcrdma_xchar_wanted(&s, which);
	if (which == 1 && number > before)
		return rpcrdma_xchar_changed(&s, which, before);
	if (!rpcrdma_xchar_changed(&s, which, number))
		return false;
	FUZZ_CHECK(local() == number);
	FUZZ_CHECK(!wanted || number <= wanted);
	FUZZ_CHECK(!rpcrdma_xchar_wanted(&s, which));
	return true;
}

} // namespace fuzz
