// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "private_data.h"
#include "xdr.h"

namespace rpcrdma
{

static constexpr u32 kMagic = 0xf6ab0e18;
static constexpr u8 kFormat = 1;
static constexpr u8 kFlagRemoteInv = 1;
/* Reserved by RFC 8797: peers that do not know it ignore it. */
static constexpr u8 kFlagVersion2 = 0x80;
/* Sizes travel in this unit, minus one. */
static constexpr u32 kUnit = 1024;
static constexpr u32 kUnitsMax = 256;

/* In the order of the message. */
enum Place : u32 {
	kAtFormat = 4,
	kAtFlags = 5,
	kAtSendSize = 6,
	kAtRecvSize = 7,
};
static_assert(kAtRecvSize + 1 == RPCRDMA_CM_PRIVATE_SIZE);

static u8 to_units(u32 octets)
{
	const u32 units = octets / kUnit;

	if (!units)
		return 0;
	return static_cast<u8>((units < kUnitsMax ? units : kUnitsMax) - 1);
}

static u32 from_units(u8 units)
{
	return (u32{ units } + 1) * kUnit;
}

u32 announced_size(u32 octets)
{
	return from_units(to_units(octets));
}

void encode_private_data(const rpcrdma_cm_private &p, MutableBytes out)
{
	store_be32(out.data(), kMagic);
	out[kAtFormat] = kFormat;
	out[kAtFlags] =
		static_cast<u8>((p.remote_inv ? kFlagRemoteInv : 0) |
				(p.version2 ? kFlagVersion2 : 0));
	out[kAtSendSize] = to_units(p.send_size);
	out[kAtRecvSize] = to_units(p.recv_size);
}

bool decode_private_data(Bytes in, rpcrdma_cm_private &p)
{
	p = kDefaultPrivateData;
	if (in.size() < RPCRDMA_CM_PRIVATE_SIZE ||
	    load_be32(in.data()) != kMagic || in[kAtFormat] != kFormat)
		return false;
	p.send_size = from_units(in[kAtSendSize]);
	p.recv_size = from_units(in[kAtRecvSize]);
	p.remote_inv = in[kAtFlags] & kFlagRemoteInv;
	p.version2 = in[kAtFlags] & kFlagVersion2;
	p.given = true;
	return true;
}

u32 opening_wait(const PrivateData &p, u32 round_trip)
{
	const u64 trips = u64{ round_trip } * RPCRDMA_OPENING_TRIPS;

	if (p.version2 || trips > RPCRDMA_OPENING_MOST)
		return RPCRDMA_OPENING_MOST;
	return trips < RPCRDMA_OPENING_LEAST ? u32{ RPCRDMA_OPENING_LEAST } :
					       static_cast<u32>(trips);
}

} // namespace rpcrdma
