// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rdma.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <unistd.h>

namespace peer
{

long now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

[[noreturn]] static void fail(const std::string &what)
{
	throw Failure(what + ": " + std::strerror(errno));
}

static sockaddr_in socket_address(const char *address, u16 port)
{
	sockaddr_in sin = {};

	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	if (address && inet_pton(AF_INET, address, &sin.sin_addr) != 1)
		throw Failure(std::string("no address: ") + address);
	return sin;
}

/* The next event, or NULL after @ms. */
static rdma_cm_event *next_event(rdma_event_channel *channel, int ms)
{
	pollfd fd = { channel->fd, POLLIN, 0 };
	rdma_cm_event *event = nullptr;

	if (poll(&fd, 1, ms) == 1 && rdma_get_cm_event(channel, &event))
		fail("rdma_get_cm_event");
	return event;
}

static rdma_conn_param connection()
{
	rdma_conn_param param = {};

	param.responder_resources = 16;
	param.initiator_depth = 16;
	param.retry_count = 6;
	/* A Receive that is missing is somebody's mistake. */
	param.rnr_retry_count = 0;
	return param;
}

Link::Link(const char *address, u16 port, u32 receive_size, u32 receives,
	   int patience, const std::function<bool()> &more)
	: receive_size_(receive_size)
	, receives_(receives)
{
	sockaddr_in sin = socket_address(address, port);
	rdma_conn_param param = connection();

	channel_ = rdma_create_event_channel();
	if (!channel_)
		fail("rdma_create_event_channel");
	try {
		if (rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP))
			fail("rdma_create_id");
		if (rdma_resolve_addr(id_, nullptr,
				      reinterpret_cast<sockaddr *>(&sin), 2000))
			fail("rdma_resolve_addr");
		await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
		if (rdma_resolve_route(id_, 2000))
			fail("rdma_resolve_route");
		await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
		setup();
		if (rdma_connect(id_, &param))
			fail("rdma_connect");
		await_event(RDMA_CM_EVENT_ESTABLISHED, patience, more);
	} catch (...) {
		destroy();
		throw;
	}
}

Link::Link(rdma_cm_id *id)
	: id_(id)
{
	rdma_conn_param param = connection();

	channel_ = rdma_create_event_channel();
	if (!channel_ || rdma_migrate_id(id_, channel_))
		fail("rdma_migrate_id");
	try {
		setup();
		if (rdma_accept(id_, &param))
			fail("rdma_accept");
		await_event(RDMA_CM_EVENT_ESTABLISHED);
	} catch (...) {
		destroy();
		throw;
	}
}

Link::~Link()
{
	destroy();
}

void Link::destroy()
{
	disconnect();
	if (id_ && id_->qp)
		rdma_destroy_qp(id_);
	if (mr_)
		ibv_dereg_mr(mr_);
	if (send_cq_)
		ibv_destroy_cq(send_cq_);
	if (recv_cq_)
		ibv_destroy_cq(recv_cq_);
	if (completions_)
		ibv_destroy_comp_channel(completions_);
	if (id_)
		rdma_destroy_id(id_);
	if (channel_)
		rdma_destroy_event_channel(channel_);
}

void Link::setup()
{
	ibv_qp_init_attr attr = {};

	completions_ = ibv_create_comp_channel(id_->verbs);
	if (!completions_)
		fail("ibv_create_comp_channel");
	send_cq_ = ibv_create_cq(id_->verbs, 16, nullptr, nullptr, 0);
	recv_cq_ = ibv_create_cq(id_->verbs, static_cast<int>(receives_ + 1),
				 nullptr, completions_, 0);
	if (!send_cq_ || !recv_cq_)
		fail("ibv_create_cq");
	attr.send_cq = send_cq_;
	attr.recv_cq = recv_cq_;
	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_wr = 16;
	attr.cap.max_recv_wr = receives_;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_sge = 1;
	if (rdma_create_qp(id_, nullptr, &attr))
		fail("rdma_create_qp");

	buffers_.resize(receives_ * kReceiveSize + kSendSize);
	mr_ = ibv_reg_mr(id_->pd, buffers_.data(), buffers_.size(),
			 IBV_ACCESS_LOCAL_WRITE);
	if (!mr_)
		fail("ibv_reg_mr");
	for (u32 i = 0; i < receives_; i++)
		post_receive(i);
}

void Link::post_receive(u32 index)
{
	ibv_sge sge = {};
	ibv_recv_wr wr = {};
	ibv_recv_wr *bad;

	sge.addr = reinterpret_cast<uintptr_t>(&buffers_[index * kReceiveSize]);
	sge.length = receive_size_;
	sge.lkey = mr_->lkey;
	wr.wr_id = index;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (ibv_post_recv(id_->qp, &wr, &bad))
		fail("ibv_post_recv");
}

void Link::await_event(rdma_cm_event_type wanted, int ms,
		       const std::function<bool()> &more)
{
	rdma_cm_event *event;

	do
		event = next_event(channel_, ms);
	while (!event && more && more());
	if (!event)
		throw Failure(std::string("no event, expected ") +
			      rdma_event_str(wanted));
	const rdma_cm_event_type type = event->event;
	const int status = event->status;
	const auto &conn = event->param.conn;
	if (type == RDMA_CM_EVENT_ESTABLISHED && conn.private_data)
		private_data_.assign(static_cast<const u8 *>(conn.private_data),
				     static_cast<const u8 *>(conn.private_data) +
					     conn.private_data_len);
	rdma_ack_cm_event(event);
	if (type != wanted)
		throw Failure(std::string(rdma_event_str(type)) + ", status " +
			      std::to_string(status) + ", expected " +
			      rdma_event_str(wanted));
}

/* rxe hands the kernel's IB_WC_WITH_INVALIDATE to user space as it is. */
static constexpr unsigned int kRxeWithInv = 1 << 2;

void Link::take_events()
{
	while (rdma_cm_event *event = next_event(channel_, 0)) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
		    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			gone_ = ended_ = true;
		rdma_ack_cm_event(event);
	}
}

/* Take in whatever has come. */
void Link::progress()
{
	take_events();

	ibv_wc wc;
	while (ibv_poll_cq(recv_cq_, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			gone_ = true;
			continue;
		}
		const auto start = buffers_.begin() +
				   static_cast<long>(wc.wr_id * kReceiveSize);
		Arrival a = { Octets(start, start + wc.byte_len), {} };

		if (wc.wc_flags & (IBV_WC_WITH_INV | kRxeWithInv))
			a.invalidated = wc.invalidated_rkey;
		arrived_.push_back(std::move(a));
		post_receive(static_cast<u32>(wc.wr_id));
	}
}

/*
 * Wait for a message or for news of the connection, at most @ms. The first call after
 * an event only arms the queue: what came before that is looked at once more.
 */
void Link::wait(int ms)
{
	pollfd fds[] = { { channel_->fd, POLLIN, 0 },
			 { completions_->fd, POLLIN, 0 } };

	if (!armed_) {
		if (ibv_req_notify_cq(recv_cq_, 0))
			fail("ibv_req_notify_cq");
		armed_ = true;
		return;
	}
	/* The time may be over by now, and less than nothing is for ever. */
	if (poll(fds, 2, std::max(ms, 0)) > 0 && fds[1].revents) {
		ibv_cq *cq;
		void *context;

		if (ibv_get_cq_event(completions_, &cq, &context))
			fail("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		armed_ = false;
	}
}

bool Link::complete(ibv_send_wr *wr)
{
	const long end = now() + kPatience;
	const long soon = now() + kPatience / 4;
	/* Hundreds that look all the time would leave no processor for what they wait for. */
	constexpr useconds_t kLongest = 20000;
	useconds_t pause = 50;
	bool flushed = false;
	ibv_send_wr *bad;
	ibv_wc wc;

	wr->send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(id_->qp, wr, &bad)) {
		gone_ = true;
		return false;
	}
	while (ibv_poll_cq(send_cq_, 1, &wc) == 0) {
		if (now() > end)
			throw Failure("a Send does not complete");
		/* rxe of 6.1 retries for longer when the other end has gone. */
		if (now() > soon && !flushed) {
			take_events();
			flushed = gone_ && !rdma_disconnect(id_);
		}
		usleep(pause);
		pause = std::min(2 * pause, kLongest);
	}
	if (wc.status != IBV_WC_SUCCESS)
		gone_ = true;
	return wc.status == IBV_WC_SUCCESS;
}

bool Link::send(const Octets &octets, std::optional<u32> invalidate)
{
	u8 *buffer = &buffers_[receives_ * kReceiveSize];
	ibv_send_wr wr = {};
	ibv_sge sge = {};

	if (octets.size() > kSendSize)
		throw Failure("too large to send");
	std::copy(octets.begin(), octets.end(), buffer);
	sge.addr = reinterpret_cast<uintptr_t>(buffer);
	sge.length = static_cast<u32>(octets.size());
	sge.lkey = mr_->lkey;
	wr.opcode = invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
	if (invalidate)
		wr.invalidate_rkey = *invalidate;
	wr.sg_list = &sge;
	wr.num_sge = octets.empty() ? 0 : 1;
	return complete(&wr);
}

bool Link::transfer(ibv_wr_opcode opcode, u32 handle, u64 address,
		    Octets &octets)
{
	ibv_send_wr wr = {};
	ibv_sge sge = {};

	if (octets.empty())
		return true;
	ibv_mr *mr = ibv_reg_mr(id_->pd, octets.data(), octets.size(),
				IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		fail("ibv_reg_mr");
	sge.addr = reinterpret_cast<uintptr_t>(octets.data());
	sge.length = static_cast<u32>(octets.size());
	sge.lkey = mr->lkey;
	wr.opcode = opcode;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = handle;
	const bool done = complete(&wr);
	ibv_dereg_mr(mr);
	return done;
}

bool Link::write(u32 handle, u64 address, const Octets &octets)
{
	Octets copy = octets;

	return transfer(IBV_WR_RDMA_WRITE, handle, address, copy);
}

bool Link::read(u32 handle, u64 address, Octets &octets)
{
	return transfer(IBV_WR_RDMA_READ, handle, address, octets);
}

u32 Link::bind(ibv_mw *mw, ibv_mr *mr, void *start, u32 length)
{
	ibv_send_wr wr = {};

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = mr;
	wr.bind_mw.bind_info.addr = reinterpret_cast<uintptr_t>(start);
	wr.bind_mw.bind_info.length = length;
	wr.bind_mw.bind_info.mw_access_flags =
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	if (!complete(&wr))
		throw Failure("cannot bind a memory window");
	return wr.bind_mw.rkey;
}

std::optional<Arrival> Link::receive(int ms)
{
	const long end = now() + ms;

	for (;;) {
		/* What came before the end of a connection counts. */
		const bool last = gone_ || now() > end;

		progress();
		if (!arrived_.empty()) {
			Arrival a = std::move(arrived_.front());

			arrived_.pop_front();
			return a;
		}
		if (last)
			return {};
		wait(static_cast<int>(end - now() + 1));
	}
}

bool Link::closed(int ms)
{
	const long end = now() + ms;

	while (progress(), !gone_ && now() < end)
		wait(static_cast<int>(end - now() + 1));
	/* It says nothing if it has not seen the connection established. */
	const long soon = now() + kSilence;

	while (progress(), gone_ && !ended_ && now() < soon)
		wait(static_cast<int>(soon - now() + 1));
	return gone_;
}

u32 Link::receive_retries() const
{
	ibv_qp_init_attr init = {};
	ibv_qp_attr attr = {};

	if (ibv_query_qp(id_->qp, &attr, IBV_QP_RNR_RETRY, &init))
		fail("ibv_query_qp");
	return attr.rnr_retry;
}

void Link::disconnect()
{
	if (!id_ || !id_->qp)
		return;
	rdma_disconnect(id_);
	gone_ = true;
}

Listener::Listener(const char *address, u16 port)
	: channel_(rdma_create_event_channel())
{
	sockaddr_in sin = socket_address(address, port);

	if (!channel_ || rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP))
		fail("rdma_create_id");
	if (rdma_bind_addr(id_, reinterpret_cast<sockaddr *>(&sin)))
		fail("rdma_bind_addr");
	if (rdma_listen(id_, 8))
		fail("rdma_listen");
}

Listener::~Listener()
{
	rdma_destroy_id(id_);
	rdma_destroy_event_channel(channel_);
}

std::unique_ptr<Link> Listener::accept(int ms)
{
	const long end = now() + ms;

	do {
		const int left = static_cast<int>(end - now());
		rdma_cm_event *event =
			next_event(channel_, left > 0 ? left : 0);

		if (!event)
			return nullptr;
		const rdma_cm_event_type type = event->event;
		rdma_cm_id *id = event->id;
		rdma_ack_cm_event(event);
		if (type != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		if (!refuse_)
			return std::make_unique<Link>(id);
		refuse_--;
		rdma_reject(id, nullptr, 0);
		rdma_destroy_id(id);
	} while (now() < end);
	return nullptr;
}

Region::Region(Link &link, u32 length, Access access, bool window)
	: memory_(length + 2 * kGuard, kPattern)
	, length_(length)
{
	int flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;

	flags |= access == Access::Read ? IBV_ACCESS_REMOTE_READ :
					  IBV_ACCESS_REMOTE_WRITE;
	/* The guards are reachable too: only who keeps the rules spares them. */
	mr_ = ibv_reg_mr(link.pd(), memory_.data(), memory_.size(), flags);
	if (!mr_)
		fail("ibv_reg_mr");
	handle_ = mr_->rkey;
	if (!window)
		return;
	mw_ = ibv_alloc_mw(link.pd(), IBV_MW_TYPE_2);
	if (!mw_)
		fail("ibv_alloc_mw");
	handle_ = link.bind(mw_, mr_, memory_.data(),
			    static_cast<u32>(memory_.size()));
}

Region::Region(Link &link, const Octets &content, bool window)
	: Region(link, static_cast<u32>(content.size()), Access::Read, window)
{
	std::copy(content.begin(), content.end(), memory_.begin() + kGuard);
}

Region::~Region()
{
	if (mw_)
		ibv_dealloc_mw(mw_);
	ibv_dereg_mr(mr_);
}

Words Region::segment(u32 offset, u32 length) const
{
	const u64 start =
		reinterpret_cast<uintptr_t>(memory_.data()) + kGuard + offset;

	return { handle_, length, static_cast<u32>(start >> 32),
		 static_cast<u32>(start) };
}

Octets Region::content(u32 offset, u32 length) const
{
	const auto start = memory_.begin() + kGuard + offset;

	return Octets(start, start + length);
}

bool Region::untouched_from(u32 written) const
{
	for (u32 i = 0; i < memory_.size(); i++)
		if ((i < kGuard || i >= kGuard + written) &&
		    memory_[i] != kPattern)
			return false;
	return true;
}

} // namespace peer
