/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One connected queue pair, and memory that the other end can reach.
 *
 * Every failure throws peer::Failure, which fails the running test. Nothing
 * waits for ever.
 */
#ifndef _RPCRDMA_PEER_RDMA_H
#define _RPCRDMA_PEER_RDMA_H

#include "../unit/messages.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace peer
{

using unit::Octets;
using unit::Words;
using unit::operator+;

/* Milliseconds in which an answer comes, on an emulated machine. */
inline constexpr int kPatience = 10000;
/* Milliseconds without one after which none is expected. */
inline constexpr int kSilence = 300;
inline constexpr u16 kPort = 20049;

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Milliseconds of a clock that does not go back. */
long now();

/* What a Receive or the connection manager had to tell. */
struct Arrival {
	Octets octets;
	/* The handle of a Send With Invalidate. */
	std::optional<u32> invalidated;
};

class Link {
public:
	/*
	 * Receives posted, all of them again as soon as they complete, if the
	 * test does not want another number.
	 */
	static constexpr u32 kReceives = 96;
	static constexpr u32 kReceiveSize = 16384;
	/* The largest message that can be sent. */
	static constexpr u32 kSendSize = 32768;

	/*
	 * Connect, within @patience milliseconds, and as many again whenever
	 * @more says so then. Of its Receives, @receive_size bytes are used.
	 */
	Link(const char *address, u16 port, u32 receive_size,
	     u32 receives = kReceives, int patience = kPatience,
	     const std::function<bool()> &more = {});
	/* Accept what a Listener got hold of. */
	explicit Link(rdma_cm_id *id);
	~Link();
	Link(const Link &) = delete;
	Link &operator=(const Link &) = delete;

	/* Post a Send and see it complete. False: the connection is gone. */
	bool send(const Octets &octets, std::optional<u32> invalidate = {});
	/* RDMA Write to, or Read from, memory of the other end. */
	bool write(u32 handle, u64 address, const Octets &octets);
	bool read(u32 handle, u64 address, Octets &octets);
	std::optional<Arrival> receive(int ms);
	/* The other end has ended the connection, within @ms. */
	bool closed(int ms);
	[[nodiscard]] bool alive() const
	{
		return !gone_;
	}
	void disconnect();
	/* How often a Send is tried again that finds no Receive there; 7 is for ever. */
	[[nodiscard]] u32 receive_retries() const;

	/* Of this end, as the other one knows it. */
	[[nodiscard]] u16 port() const
	{
		return ntohs(rdma_get_src_port(id_));
	}
	[[nodiscard]] ibv_pd *pd() const
	{
		return id_->pd;
	}
	/* Of the other end's accept; what the provider has padded it with included. */
	[[nodiscard]] const Octets &private_data() const
	{
		return private_data_;
	}
	/* Bind a memory window; returns the handle. */
	u32 bind(ibv_mw *mw, ibv_mr *mr, void *start, u32 length);

private:
	void setup();
	void post_receive(u32 index);
	void await_event(rdma_cm_event_type wanted, int ms = kPatience,
			 const std::function<bool()> &more = {});
	void take_events();
	void progress();
	void wait(int ms);
	bool complete(ibv_send_wr *wr);
	bool transfer(ibv_wr_opcode opcode, u32 handle, u64 address,
		      Octets &octets);
	void destroy();

	rdma_event_channel *channel_ = nullptr;
	rdma_cm_id *id_ = nullptr;
	ibv_comp_channel *completions_ = nullptr;
	ibv_cq *send_cq_ = nullptr;
	ibv_cq *recv_cq_ = nullptr;
	ibv_mr *mr_ = nullptr;
	u32 receive_size_ = kReceiveSize;
	u32 receives_ = kReceives;
	/* One for each Receive, and one to send from. */
	Octets buffers_;
	std::deque<Arrival> arrived_;
	Octets private_data_;
	/* The next message is told. */
	bool armed_ = false;
	bool gone_ = false;
	/* The other end has said so. */
	bool ended_ = false;
};

/* Waits for connections; one at a time is taken. */
class Listener {
public:
	Listener(const char *address, u16 port);
	~Listener();
	Listener(const Listener &) = delete;
	Listener &operator=(const Listener &) = delete;

	/* The next connection, or nothing within @ms. */
	std::unique_ptr<Link> accept(int ms = kPatience);
	/* Reject so many from now on. */
	void refuse(u32 connections)
	{
		refuse_ = connections;
	}

private:
	rdma_event_channel *channel_;
	rdma_cm_id *id_ = nullptr;
	u32 refuse_ = 0;
};

/* What the peer may do to a region. */
enum class Access { Read, Write };

/* Memory that the other end may reach, with guard bytes around it. */
class Region {
public:
	Region(Link &link, u32 length, Access access, bool window = false);
	Region(Link &link, const Octets &content, bool window = false);
	~Region();
	Region(const Region &) = delete;
	Region &operator=(const Region &) = delete;

	[[nodiscard]] u32 handle() const
	{
		return handle_;
	}
	/* struct rpcrdma2_segment */
	[[nodiscard]] Words segment(u32 offset, u32 length) const;
	[[nodiscard]] Words segment() const
	{
		return segment(0, length_);
	}
	[[nodiscard]] Octets content(u32 offset, u32 length) const;
	/* Nothing was written from @written on, nor before the region. */
	[[nodiscard]] bool untouched_from(u32 written) const;

private:
	static constexpr u32 kGuard = 4096;
	static constexpr u8 kPattern = 0xa5;

	Octets memory_;
	u32 length_;
	u32 handle_;
	ibv_mr *mr_;
	ibv_mw *mw_ = nullptr;
};

} // namespace peer

#endif /* _RPCRDMA_PEER_RDMA_H */
