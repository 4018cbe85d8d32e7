/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An NFS client: as much of NFSv4.0 as it takes to move data without state
 * (the root, names, I/O with the anonymous stateid), and sessions of NFSv4.1.
 */
#ifndef _RPCRDMA_PEER_NFS_H
#define _RPCRDMA_PEER_NFS_H

#include "peer.h"

#include <functional>

namespace peer
{

/* NFSv4's operations, forth and back. */
enum : u32 {
	kGetattr = 9,
	kLookup = 15,
	kOpen = 18,
	kPutrootfh = 24,
	kRead = 25,
	kReadlink = 27,
	kRemove = 28,
	kWrite = 38,
	kExchangeId = 42,
	kCreateSession = 43,
	kSequence = 53,
	kDestroyClientid = 57,
	kReclaimComplete = 58,
	kReadPlus = 68,
	kCbRecall = 4,
	kCbSequence = 11
};

/* The operations of a COMPOUND, and the RPC message that they make. */
class Compound {
public:
	Compound &root();
	Compound &lookup(const std::string &name);
	Compound &getattr();
	/* The largest READ and WRITE. */
	Compound &largest();
	Compound &read(u64 offset, u32 count);
	Compound &readlink();
	Compound &remove(const std::string &name);
	/* A WRITE up to the length of its data, which is to be added. */
	Compound &write(u64 offset, u32 length);
	Compound &data(const Octets &octets);

	/* Bytes of the RPC message so far: a position for a Read chunk. */
	[[nodiscard]] u32 position() const;
	[[nodiscard]] Octets message(u32 xid) const;

private:
	Compound &op(const Words &w);
	[[nodiscard]] static Words header(u32 xid, u32 ops);

	Octets octets_;
	u32 ops_ = 0;
};

/* One operation's result. */
struct Result {
	u32 op;
	u32 status;
	/*
	 * READ and READLINK: how long the data is, and the data if it is here. GETATTR: the
	 * attributes.
	 */
	u32 length = 0;
	Octets data;
};

/* Files in the export, which is in this guest, and calls about them. */
class Nfs {
public:
	static constexpr u32 kSize = 200000;
	static const char kLink[];

	explicit Nfs(Peer &peer)
		: peer_(peer)
	{
		prepare();
	}

	/* The content of the file "data". */
	[[nodiscard]] static Octets data(u32 offset, u32 length);
	/* An empty file to be written to, and what it has then. */
	static void create(const std::string &name);
	[[nodiscard]] static Octets written(const std::string &name);

	[[nodiscard]] static Compound file(const std::string &name)
	{
		return Compound().root().lookup(name);
	}
	[[nodiscard]] static Compound read(const std::string &name, u64 offset,
					   u32 count)
	{
		return file(name).read(offset, count);
	}

	/* Send in one message with these lists, and take the Reply. */
	Rpc call(const Compound &c, const Lists &lists = {},
		 u32 inv_handle = 0);
	/* Send it; the Reply's XID is returned. */
	u32 send(const Compound &c, const Lists &lists = {},
		 u32 inv_handle = 0);

	/*
	 * What a Reply's stream says. @reduced: for each READ and READLINK in
	 * turn, whether its data is elsewhere.
	 */
	[[nodiscard]] static std::vector<Result>
	results(const Octets &stream, const std::vector<bool> &reduced = {});
	/* The data of the READ that came last, in the stream. */
	[[nodiscard]] static Octets read_result(const Rpc &reply);

private:
	static void prepare();

	Peer &peer_;
};

/* A session of NFSv4.1 or later, of a client of its own, with a way back. */
class Session {
public:
	/* Bytes that a callback may have, which is what our own client says. */
	static constexpr u32 kCallback = 4096;
	/* Program of the callbacks. */
	static constexpr u32 kProgram = 0x40000000;

	/* @take: gets Calls that come while an answer is awaited. */
	Session(Peer &peer, u32 minor, std::function<void(const Rpc &)> take);

	/* SEQUENCE and these. Return: all results, of which none failed. */
	Words compound(const std::vector<Words> &ops, const Lists &lists = {});
	/* The Reply to the last. */
	[[nodiscard]] const Rpc &reply() const
	{
		return reply_;
	}
	[[nodiscard]] const Words &id() const
	{
		return id_;
	}
	[[nodiscard]] const Words &client() const
	{
		return client_;
	}
	/* Of this client, among those of this program. */
	[[nodiscard]] u32 number() const
	{
		return number_;
	}

private:
	static Words channel(u32 octets, u32 requests);
	Words call(const std::vector<Words> &ops, const Lists &lists = {});

	static u32 numbers;

	Peer &peer_;
	u32 minor_;
	std::function<void(const Rpc &)> take_;
	u32 number_;
	Words client_;
	Words id_;
	u32 sequence_ = 0;
	Rpc reply_;
};

} // namespace peer

#endif /* _RPCRDMA_PEER_NFS_H */
