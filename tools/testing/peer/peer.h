/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One end of a connection. It speaks version 2 and sends whatever a test
 * wants. It keeps account of credits (section 4.2.1) and checks that the
 * kernel obeys them. It does not use the core, which is what the tests are
 * for. It can also read Calls of version 1; how many of them there may be, it
 * does not check.
 */
#ifndef _RPCRDMA_PEER_PEER_H
#define _RPCRDMA_PEER_PEER_H

#include "rdma.h"

#include <atomic>
#include <functional>
#include <string>

namespace peer
{

struct Segment {
	u32 handle;
	u32 length;
	u64 offset;
};
using Chunk = std::vector<Segment>;

/* A message as it came. */
struct Message {
	Octets octets;
	std::optional<u32> invalidated;

	[[nodiscard]] u32 word(u32 index) const;
	[[nodiscard]] u32 xid() const
	{
		return word(0);
	}
	[[nodiscard]] u32 vers() const
	{
		return word(1);
	}
	[[nodiscard]] u32 credit() const
	{
		return word(2);
	}
	[[nodiscard]] u32 htype() const
	{
		return word(3);
	}
	/* From word @index on, or none. */
	[[nodiscard]] Words words(u32 index) const;
	[[nodiscard]] std::string describe() const;
};

/* An RPC message, put together from however many messages. */
struct Rpc {
	u32 xid = 0;
	bool external = false;
	Octets stream;
	u32 inv_handle = 0;
	/* By position; a position may appear more than once. */
	std::vector<std::pair<u32, Segment>> call;
	std::vector<std::pair<u32, Segment>> reads;
	std::vector<Chunk> writes;
	std::optional<Chunk> reply;
	std::optional<u32> invalidated;
	/* How many messages, and the largest of them. */
	u32 pieces = 0;
	u32 largest = 0;

	[[nodiscard]] u32 word(u32 index) const
	{
		return unit::word_at(stream, index);
	}
};

class Peer {
public:
	/* Credits offered, as long as a test does not say otherwise. */
	static constexpr u32 kWindow = 64;

	explicit Peer(std::unique_ptr<Link> link)
		: link_(std::move(link))
	{
	}
	/*
	 * Connected to the server in this guest; nothing has been said yet.
	 * @receive_size: of the Receives, whatever the server is told of them.
	 */
	static Peer connect(u32 receive_size = Link::kReceiveSize,
			    u32 receives = Link::kReceives,
			    int patience = kPatience,
			    const std::function<bool()> &more = {});
	/* The exchange of section 4.3 is over. @set: the property set. */
	static Peer open(const Words &set = { 0 },
			 u32 receive_size = Link::kReceiveSize);

	Link &link()
	{
		return *link_;
	}
	[[nodiscard]] const Link &link() const
	{
		return *link_;
	}
	/* It has announced an extension: the kernel may send messages of that. */
	void speak_extensions()
	{
		speak(kFirstExtended, kExtended);
	}
	/* The same, of an extension with so many types from @first on. */
	void speak(u32 first, u32 types)
	{
		spoken_.emplace_back(first, types);
	}
	/* Nothing of version 2 any more. */
	void speak_version1()
	{
		version_ = 1;
	}
	[[nodiscard]] u32 version() const
	{
		return version_;
	}
	/* Does @m belong to an RPC message? */
	[[nodiscard]] bool is_rpc(const Message &m) const
	{
		return version_ == 1 ?
			       m.vers() == 1 && m.htype() <= RPCRDMA1_NOMSG :
			       m.htype() >= RPCRDMA2_CALL_EXTERNAL;
	}
	[[nodiscard]] static u32 new_xid()
	{
		return last_xid.fetch_add(1) + 1;
	}

	/* Send, with the credit word filled in, when there is credit for it. */
	void send(const Words &message);
	void send(const Words &header, const Octets &payload,
		  std::optional<u32> invalidate = {});
	/*
	 * The same for a message at which the kernel may end the connection:
	 * the queue pair can be gone before it has acknowledged the message.
	 */
	void send_last(const Words &header, const Octets &payload = {},
		       std::optional<u32> invalidate = {});
	/* Send just these bytes, now. */
	bool send_as_is(const Octets &message,
			std::optional<u32> invalidate = {});
	/* Offer so many messages more than have come, from now on. */
	void offer(u32 credits)
	{
		window_ = credits;
		frozen_ = false;
	}
	/* Put this into every credit word from now on. */
	void freeze(u32 credit)
	{
		word_ = credit;
		frozen_ = true;
	}
	void send_grant();

	/* The next message of any kind, if one comes. */
	std::optional<Message> poll(int ms);
	/* The next message that is no GRANT. */
	Message next(int ms = kPatience);
	/* The next, which is an ERROR with this body and nothing else. */
	void expect_error(u32 xid, const Words &body, u32 vers = 2);
	/* Nothing comes but GRANTs. */
	void expect_silence(int ms = kSilence);
	void expect_closed(int ms = kPatience);
	/* A NULL call is answered. */
	void expect_works();
	/* The next RPC message. */
	Rpc next_rpc(int ms = kPatience);
	/* The RPC message that begins with @first. */
	Rpc rpc_from(Message first);
	/*
	 * The Reply to @xid is the next RPC message. This is not for several Calls at once: the
	 * threads of nfsd answer them in any order. A test that fails here takes its Regions away
	 * while the server still reads from them. Then the server reports a remote access error,
	 * which is not what was wrong.
	 */
	Rpc reply(u32 xid);

	/* Messages that may be sent now. */
	[[nodiscard]] s32 credit() const
	{
		return static_cast<s32>(limit_ - sent_);
	}
	[[nodiscard]] u32 received() const
	{
		return received_;
	}
	[[nodiscard]] u32 sent() const
	{
		return sent_;
	}
	[[nodiscard]] u32 grants() const
	{
		return grants_;
	}
	/* The kernel's property set; which and value of the numeric ones. */
	[[nodiscard]] u32 property(u32 which) const;
	void take_properties(const Message &m);
	/* It has changed one of them. */
	void learn(u32 which, u32 value);
	/* Bytes of the largest message that the kernel takes. */
	[[nodiscard]] u32 receive_size() const
	{
		return version_ == 1 ? 1024 : property(2);
	}

private:
	/* Header types of xcharext and rtrext: INITXCH and those after it. */
	static constexpr u32 kFirstExtended = 0xffffff01;
	static constexpr u32 kExtended = 8;

	static std::atomic<u32> last_xid;

	[[nodiscard]] bool speaks(u32 htype) const;
	[[nodiscard]] std::string story() const;
	[[noreturn]] void fail(const std::string &what) const;
	void note(const char *what, const Octets &message);
	void await_credit();
	bool put(const Words &header, const Octets &payload,
		 std::optional<u32> invalidate);
	std::optional<Message> arrival(int ms);
	void take_credit(const Message &m);
	[[nodiscard]] Rpc rpc_from_version1(const Message &m) const;
	[[nodiscard]] u32 credit_word() const
	{
		return frozen_ ? word_ : received_ + window_;
	}

	std::unique_ptr<Link> link_;
	u32 version_ = 2;
	u32 window_ = kWindow;
	u32 word_ = 0;
	bool frozen_ = false;
	u32 sent_ = 0;
	u32 received_ = 0;
	u32 limit_ = 1;
	u32 grants_ = 0;
	std::vector<std::pair<u32, u32>> properties_;
	/* Types of extensions: the first, and how many. */
	std::vector<std::pair<u32, u32>> spoken_;
	std::deque<std::string> story_;
	/* Came while there was no credit to send. */
	std::deque<Message> waiting_;
};

/* Messages. */
Words words(const Octets &octets);

/* The lists of a Call, in words, without its Call chunk. */
struct Lists {
	Words reads;
	Words writes;
	/* With its discriminator, or empty. */
	Words reply;

	/* Add a Read segment. */
	Lists &read(u32 position, const Words &segment);
	/* Add a Write chunk. */
	Lists &write(const std::vector<Words> &segments);
	Lists &reply_chunk(const std::vector<Words> &segments);
	[[nodiscard]] Words done() const;
};

Words call_header(u32 xid, const Lists &lists, u32 inv_handle = 0);
Words call_external(u32 xid, const std::vector<Words> &call,
		    const Lists &lists = {}, u32 inv_handle = 0);

/* A NULL call of NFS. */
Words null_call(u32 xid);
/* Its answer. */
bool is_null_reply(const Rpc &reply);

} // namespace peer

#endif /* _RPCRDMA_PEER_PEER_H */
