/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What extensions send beside RPC messages, and what becomes of it. The simulator as it
 * is has none (no_pings.cpp). A second build has the one that only tests have
 * (../extension/sim_ping.cpp), xcharext (../extension/sim_xcharext.cpp) and rtrext
 * (../extension/sim_groups.cpp).
 */
#ifndef _RPCRDMA_SIM_PINGS_H
#define _RPCRDMA_SIM_PINGS_H

#include "rpc.h"

#include <rpcrdma/adapt.h>
#include <rpcrdma/rtrext.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace sim
{

class Conn;
class Link;
class Outgoing;
struct Part;
struct Receive;
struct Pair;
struct Tally;

namespace groups
{
struct Sending;
}

namespace pings
{

/* What struct rpcrdma_resize has in the kernel, with the same names. */
struct Sizes {
	rpcrdma_adapt rule;
	bool begun = false;
	u32 wish = 0; /* of an administrator, for the Receives of this end */
	u32 goal = 0;
	u32 affordable = UINT32_MAX;
	u32 cap = UINT32_MAX;
	u32 wanted_send = 0;
	bool small_sends = false;
	u32 limit = UINT32_MAX;
	u32 lift = 0;
	u32 asked_receive = 0;
	u32 asked_send = 0;
	u32 now = 0; /* milliseconds */
	bool kept = false;
	bool refused = false;
	u32 moved = 0;
	u32 memory = UINT32_MAX; /* for each Receive */
	/* that this end has sent, each counted several times */
	u32 messages = 0;
	u32 continued = 0;
	u32 parts = 0;
};

/* A group of a Call of this end that has no answer yet. */
struct SentGroup {
	u32 number; /* of all groups of this end */
	bool settled; /* a REPTERR about it has nothing sent again */
};

/* Of all groups with one XID. An answer does not say which of them it is about. */
struct SentCall {
	std::vector<SentGroup> open;
	u32 held = 0; /* Receives for the largest Reply to one of these */
};

/* Of one end of a connection. */
struct Ledger {
	std::vector<u32> asked; /* XIDs of PINGs that are not answered */
	std::vector<u32> strays; /* likewise, of those that nobody announced */
	Octets last; /* PONG that was sent */
	Sizes sizes;
	std::shared_ptr<groups::Sending> sending;
	bool coming = false; /* a group */
	/* Calls of this end that went by groups, by Outgoing::sending. */
	std::map<u32, std::shared_ptr<groups::Sending>> directed;
	/* Those that are still to be answered, by XID; and groups so far, of both directions. */
	std::map<u32, SentCall> calls;
	u32 n_groups = 0;
	/* Groups of each Call; and those Calls whose promise may be forgotten too early. */
	std::map<u32, u32> groups_of;
	std::set<u32> forgotten;
	/* Replies that the peer has just refused. */
	std::vector<u32> refused;
	/* Of each Send of a group that is to come: its group has to be refused. */
	std::deque<bool> spoilt;
	bool spoils = false; /* has done so */
	bool refuses = false; /* what has just come */
	/* The RPC that the last group has failed. The rest of that group may be refused besides. */
	std::optional<u32> failed;
};

/* What one side of a pair has left to send, whatever its connection. */
struct Budget {
	u32 acts = 0; /* PING or PINGS */
	u32 strays = 0;
	u32 changes = 0; /* of properties */
	bool ruled = false; /* the rule of core/adapt.h says which */
	bool groups = false;
	bool places = false; /* data of the other side, in its Receives */
	/* Sends of groups that are yet to be spoilt, so that the other side refuses them. */
	u32 spoils = 0;
	/* Calls that are yet to be sent again, by a further group. */
	u32 repeats = 0;
	/*
	 * A server makes most of its Receives when it has heard its client, and they have this
	 * size if the client can ask for more. Zero: as without.
	 */
	u32 rest = 0;
};

/* Who announces what. */
void configure(Random &r, Pair &p);
[[nodiscard]] bool can_act(const Conn &c);
void act(Conn &c);
/* A type that a hostile peer may put into a header. */
[[nodiscard]] u32 some_type(Random &r);

/*
 * The core has written a control message to @buffer, which may become another. @between:
 * the parts of a message.
 */
void sent(Conn &c, bool between, rpcrdma_tx &tx, u8 *buffer);
/* The core has written a Send of an RPC message. */
void wrote(Conn &c, const rpcrdma_tx &tx);
/* Messages may go by headers of an extension: those never go alone. */
[[nodiscard]] bool may_carry(const Conn &c);
/*
 * @m goes by headers of an extension, or will. Return: so it does, with @result as that of
 * rpcrdma_session_next_send(), and @size of the Send if that has more than header and payload.
 */
[[nodiscard]] bool carry(Conn &c, Outgoing *m, u8 *buffer, rpcrdma_tx &tx,
			 u32 &size, u32 &result);
/* A Call that has gone out by @c may be sent again. */
[[nodiscard]] bool repeats(const Conn &c);
/* It is. */
void repeated(Conn &c);
/* What a Call that begins in @r directs. */
[[nodiscard]] std::shared_ptr<const rpcrdma_rtr_directions>
directions(const Conn &c, const Receive &r);
/*
 * Plan a Reply of @length octets as its Call directs, as rpcrdma_svc_reply_directed(). Return:
 * false if it is to go by the types of -07, or without directions.
 */
[[nodiscard]] bool plan_reply(Conn &c, Outgoing &m, u32 length,
			      rpcrdma_reply_plan &plan);
/*
 * A Reply has come by a group that begins in @first: does it do what its Call directs?
 * @written: filled in with what has gone to memory, as the Write list of a Reply of -07
 */
[[nodiscard]] bool answers(const Conn &c, const Receive &first,
			   rpcrdma_chunks &written);
/* Say how Receives are made. */
void declare(Conn &c);
/* rpcrdma_session_receive(), with its planted bugs. */
void receive(Conn &c, const u8 *buffer, u32 length, rpcrdma_rx &rx);
/* A part of an RPC message that goes by headers of an extension. */
[[nodiscard]] inline bool part_of_group(const rpcrdma_rx &rx)
{
	return rpcrdma_rtr_carries(rx.htype);
}
/*
 * Items of a Call that has come in these Receives are to be read by RDMA: then @chunks is filled
 * in. @placed: others are in the Receives.
 */
[[nodiscard]] bool fetches(const Conn &c, const std::vector<Part> &parts,
			   rpcrdma_chunks &chunks, bool &placed);
/*
 * What has come in these Receives: a Reply of @length octets, without what went by RDMA; or a
 * Call, with room for that.
 */
[[nodiscard]] Octets lay_out(const Conn &c, const std::vector<Part> &parts,
			     u32 length);
/* Replies that the peer has just refused. */
[[nodiscard]] std::vector<u32> refused_replies(Conn &c);
/* A Call was refused, and may be sent again by the types of -07. */
[[nodiscard]] bool group_refused(const rpcrdma_rx &rx);
/* "pings": the core has taken a message. */
void received(Conn &c, rpcrdma_rx &rx, const u8 *buffer, u32 length);
/* Most Receives are made when the first message has come. */
[[nodiscard]] bool begins_small(const Conn &c);
/* It has come. */
void begin(Conn &c);
/* RPC messages can flow. */
void opened(Conn &c);
/* A Receive of this end may have another size now. */
void reposted(Conn &c);
/* It was sent to be refused. */
[[nodiscard]] bool stray(const Conn &c, const rpcrdma_rx &rx);
/* What is not answered never will be. */
void gone(Conn &c);

/* "pings": when nothing can happen any more. */
void quiet(const Link &l);

void print(const Tally &t);
[[nodiscard]] bool reaches(const Tally &t);
/* This build has them. */
[[nodiscard]] bool there_are();

} // namespace pings

} // namespace sim

#endif /* _RPCRDMA_SIM_PINGS_H */
