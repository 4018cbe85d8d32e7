/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages out of a capture: the RDMA Sends of RoCE, versions 1 and 2, and of InfiniBand,
 * over reliable connections. iWARP is not known.
 */
#ifndef _RPCRDMACTL_CAPTURE_H
#define _RPCRDMACTL_CAPTURE_H

#include <functional>
#include <string>

#include "decode.h"

namespace rpcrdmactl
{

/**
 * One Send, put together from its packets
 * @time: seconds since the epoch, of its last packet
 * @from: address of the sender; "lid 5" if it is one of InfiniBand's subnet
 * @to: the same of the receiver
 * @queue_pair: the receiver's
 * @octets: the message
 */
struct CapturedSend {
	double time = 0;
	std::string from;
	std::string to;
	std::uint32_t queue_pair = 0;
	Octets octets;
};

/**
 * Give every Send of a capture to @take, in the order in which they end.
 *
 * @path: a file that libpcap can read; "-" is standard input
 *
 * A Send whose beginning, or a packet of which, is not in the capture is left out, and so
 * is what is sent again. A message of RPC-over-RDMA begins with its XID and a version,
 * 1 or 2; Sends of others are left out, too.
 *
 * Throws std::runtime_error if it is no capture, or of a kind of link that is not known.
 *
 * Return: how many of these packets were left out because the capture has not all of them.
 */
unsigned read_capture(const std::string &path,
		  const std::function<void(const CapturedSend &)> &take);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_CAPTURE_H */
