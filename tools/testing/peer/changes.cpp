// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "changes.h"

#include <gtest/gtest.h>

namespace peer::changes
{

const std::vector<Words> &bad_subsets()
{
	static const std::vector<Words> bad = {
		{ 1, 1, 1, 1, 0 }, /* done and rejected */
		{ 0, 1, 0, 0 }, /* neither */
		{ 1, 3, 1, 0, 0 }, /* one more than asked for */
		{ 0, 0, 2, 1, 1 }, /* the same in another word */
		{ 1, 1, 1, 0 }, /* cut short */
		{ 0xffffffff, 1, 1, 0 },
	};

	return bad;
}

Words numeric(u32 which, u32 value)
{
	return { which, 4, value };
}

Words announced(u32 receive_size)
{
	return Words{ 2 } + numeric(kExtensions, 1) +
	       numeric(kReceiveSize, receive_size);
}

Words answer(Peer &p, const Words &wanted)
{
	const u32 xid = p.new_xid();

	p.send(unit::prefix(xid, kRequest) + wanted);
	const Message m = p.next();
	EXPECT_EQ(m.htype(), kResponse) << m.describe();
	EXPECT_EQ(m.xid(), xid);
	return m.words(4);
}

void response(Peer &p, const Message &request, const Words &subsets)
{
	p.send(unit::prefix(request.xid(), kResponse) + subsets);
}

static Words an_update(Peer &p, u32 which, u32 value, u32 clears)
{
	return unit::prefix(p.new_xid(), kUpdate) + numeric(which, value) +
	       Words{ clears };
}

void update(Peer &p, u32 which, u32 value, bool clears)
{
	p.send(an_update(p, which, value, clears));
}

void update_refused(Peer &p, u32 which, u32 value, u32 clears,
		    const Words &error)
{
	refused(p, an_update(p, which, value, clears), error);
}

u64 refusals()
{
	return total("refused", "propval:") + total("refused", "xdr:");
}

void impossible(Peer &p)
{
	EXPECT_EQ(answer(p, Words{ 5 } + numeric(kSendSize, 1024) +
				    numeric(kSegments, 3) + numeric(0x7777, 1) +
				    numeric(kReceiveSize, 1024) +
				    numeric(kReverse, 3)),
		  (Words{ 0, 1, 0x1f, 0 }));
	/* One of several. */
	EXPECT_EQ(answer(p, Words{ 2 } + numeric(kSegments, 3) +
				    numeric(kSendSize, kSmall)),
		  (Words{ 1, 2, 1, 1, 0 }));
	EXPECT_EQ(answer(p, Words{ 0 }), (Words{ 0, 0, 0 }));
}

void malformed(Peer &p)
{
	const Words good = numeric(kReceiveSize, kSmall);

	refused(p, unit::prefix(p.new_xid(), kRequest) + Words{ 2 } + good,
		kBadXdr);
	refused(p,
		unit::prefix(p.new_xid(), kRequest) +
			Words{ 1, kReceiveSize, 8, 0, kLarge },
		kBadXdr);
	refused(p,
		unit::prefix(p.new_xid(), kRequest) + Words{ 1 } + good +
			Words{ 0 },
		kBadXdr);
	/* A subset with a bit that means none. */
	refused(p,
		unit::prefix(p.new_xid(), kInit) + Words{ 1 } + good +
			Words{ 1, 2 },
		kBadXdr);
	/* Neither a yes nor a no; and nothing is pending. */
	update_refused(p, kReceiveSize, kSmall, 2, kBadXdr);
	update_refused(p, kReceiveSize, kSmall, 1, kBadPropval);
	/* Too small to be sent anything. */
	update_refused(p, kReceiveSize, 64, 0, kBadPropval);
}

void unasked(Peer &p)
{
	p.send(unit::prefix(p.new_xid(), kResponse) + kDone);
	p.expect_silence();
}

void never_changes(Peer &p, u32 receive_size)
{
	p.send(unit::prefix(p.new_xid(), kInit) + Words{ 1 } +
	       numeric(kReceiveSize, receive_size) + Words{ 1, 1 });
	update_refused(p, kReceiveSize, 2 * receive_size, 0, kBadPropval);
}

} // namespace peer::changes
