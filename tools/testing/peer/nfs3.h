/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An NFSv3 server: as much as the kernel's client needs for one directory with
 * one file. It answers every Call correctly unless a test tells it otherwise.
 */
#ifndef _RPCRDMA_PEER_NFS3_H
#define _RPCRDMA_PEER_NFS3_H

#include "peer.h"

#include <atomic>
#include <map>
#include <sys/types.h>
#include <thread>

namespace peer
{

enum Proc : u32 {
	kNull = 0,
	kGetattr3 = 1,
	kSetattr3 = 2,
	kLookup3 = 3,
	kAccess3 = 4,
	kRead3 = 6,
	kWrite3 = 7,
	kReaddir3 = 16,
	kReaddirplus3 = 17,
	kFsstat3 = 18,
	kFsinfo3 = 19,
	kPathconf3 = 20,
	kCommit3 = 21,
};

/* Answers the MOUNT protocol over TCP; one file handle is all it has. */
class MountDaemon {
public:
	MountDaemon();
	~MountDaemon();
	[[nodiscard]] u16 port() const
	{
		return port_;
	}

private:
	void serve();
	bool answer(int fd);

	int listener_;
	u16 port_;
	std::atomic<bool> stop_ = false;
	std::thread thread_;
};

/* System calls in a process of their own, which may hang. */
class Child {
public:
	/* @work returns an errno. */
	explicit Child(const std::function<int()> &work);
	~Child();
	Child(Child &&other) noexcept
		: pid_(other.pid_)
		, status_(other.status_)
	{
		other.pid_ = 0;
	}
	Child(const Child &) = delete;

	/* It has ended. */
	bool ended();
	/* Its errno; it has ended. */
	[[nodiscard]] int result() const
	{
		return status_;
	}

private:
	pid_t pid_;
	int status_ = -1;
};

/* While this exists, the module is set otherwise. */
class Setting {
public:
	Setting(std::string file, u32 value);
	~Setting();
	Setting(const Setting &) = delete;
	Setting &operator=(const Setting &) = delete;

private:
	std::string file_;
	std::string before_;
};

struct Parameter : Setting {
	Parameter(const std::string &name, u32 value)
		: Setting("/sys/module/rpcrdma/parameters/" + name, value)
	{
	}
};

/* The client may speak version 1, too; else wire_client.sh forbids it. */
struct Version1 : Setting {
	Version1()
		: Setting("/proc/sys/sunrpc/rdma_min_version", 1)
	{
	}
};

class Nfs3 {
public:
	static constexpr u32 kFileSize = 1 << 20;
	static const char kWhere[];

	Nfs3();
	~Nfs3();

	/* How the connection is opened; the usual answer by default. */
	std::function<void(Peer &)> opening;
	/* @answer takes the calls of @proc. False: answer as usual. */
	void on(Proc proc, std::function<bool(Peer &, const Rpc &)> answer);
	/* From now on for all of them. */
	void usual_answers()
	{
		hooks_.clear();
	}
	/* Every message that is no RPC message, nor GRANT. */
	std::function<void(Peer &, const Message &)> control;
	/* The first message of each RPC message. True: forget it. */
	std::function<bool(Peer &, const Message &)> message;
	/* How the Reply to @call goes out, instead of by reply(). */
	std::function<void(Peer &, const Rpc &call, const Octets &stream)>
		sender;

	/* Serve until it has ended; its errno. Throws after @seconds. */
	int serve(Child &child, int seconds = 40);
	int serve(const std::function<int()> &work, int seconds = 40)
	{
		Child child(work);

		return serve(child, seconds);
	}
	/* Serve for a while. */
	void serve_for(int ms);

	/* What mount(2) comes to. */
	int try_mount(const std::string &options = "", int seconds = 40);
	void mount(const std::string &options = "");
	void unmount();
	/* One direct READ or WRITE through the mount, compared. */
	int read(u32 offset, u32 length, int seconds = 40);
	int write(u32 offset, u32 length, int seconds = 40);
	/* A call that is no READ or WRITE, past all caches. */
	int stat(int seconds = 40);
	/* The names in the directory, which fill more than 1024 bytes. */
	int list(int seconds = 40);

	/* READs and WRITEs of either kind are right. Throws if one is not. */
	void works();
	/* The same with the usual answers; and unmount. */
	void works_again();
	/* The same, over the connection that there was. */
	void works_on();

	/* The usual answer to @call, in a Reply of the usual form. */
	void reply(Peer &p, const Rpc &call);
	[[nodiscard]] Octets result(Peer &p, const Rpc &call);
	void error(Peer &p, const Rpc &call, const Words &body);
	/* @data into a chunk, in order; false if it does not fit. */
	static bool write_chunk(Peer &p, const Chunk &offered,
				const Octets &data, Chunk &written);

	/* Columns of mountstats, see Documentation/drop-in.rst. */
	static constexpr u32 kBadXids = 8;
	static constexpr u32 kReplySegments = 13;
	/* What mountstats says of the mount's transport in @column. */
	[[nodiscard]] static u64 statistic(u32 column);
	/* What debugfs says that all connections together did. */
	[[nodiscard]] static u64 total(const std::string &name);
	/* Why the client's last connection in this test ended, as the trace says. */
	[[nodiscard]] static std::string loss();
	/* Calls of @proc that have come. */
	[[nodiscard]] u32 count(Proc proc) const;
	void forget()
	{
		counts_.clear();
	}
	/* Reject so many connections. */
	void refuse(u32 connections)
	{
		listener_.refuse(connections);
	}
	[[nodiscard]] u32 connections() const
	{
		return connections_;
	}
	/* The connection that there is. */
	[[nodiscard]] Peer &peer();
	/* Read lists of the call that came last. */
	Rpc last;

private:
	void step(int ms);
	void take(Message m);
	[[nodiscard]] Octets unreduced(Peer &p, const Rpc &call);
	[[nodiscard]] Words attributes(bool directory) const;
	void reply_version1(Peer &p, const Rpc &call, const Words &writes,
			    const Octets &stream);

	u16 port_;
	Listener listener_;
	MountDaemon mountd_;
	std::unique_ptr<Peer> peer_;
	std::map<u32, u32> counts_;
	std::map<u32, std::function<bool(Peer &, const Rpc &)>> hooks_;
	Octets content_;
	u32 connections_ = 0;
	u32 changes_ = 1;
	bool mounted_ = false;
	/* Where the data of a READ is in the result, if it is one. */
	u32 data_at_ = 0;
	u32 data_length_ = 0;
};

/* A counted array of segments. */
Words words_of(const Chunk &chunk);
/* A Write list of one. */
Words write_list(const Chunk &chunk);

/* Write lists that do not return what was offered. */
Words returning_longer_segments(const Chunk &offered);
Words returning_other_handles(const Chunk &offered);
Words returning_more_segments(const Chunk &offered);
Words returning_more_chunks(const Chunk &offered);

} // namespace peer

#endif /* _RPCRDMA_PEER_NFS3_H */
