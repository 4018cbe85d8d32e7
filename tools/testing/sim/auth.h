/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication between the ends of a connection: who asks for it, the keys, and
 * what may be true of a connection that opens.
 */
#ifndef _RPCRDMA_SIM_AUTH_H
#define _RPCRDMA_SIM_AUTH_H

#include "base.h"

#include <rpcrdma/auth.h>

namespace sim
{

class Conn;
class Link;
class World;
struct Options;
struct Pair;

namespace auth
{

/* Of the whole run. */
void plant(const Options &o);
/* Policies that leave a way to each other. */
void configure(Random &r, Pair &p);
/* A connection is about to be made. */
void begin(World &w, Pair &p);
/* It has been; a hostile peer may be there from its first message on. */
void begun(Link &l);
/* A message has come. */
void received(Conn &c);
/* "auth": RPC messages may flow. */
void ready(const Conn &c);

} // namespace auth

} // namespace sim

#endif /* _RPCRDMA_SIM_AUTH_H */
