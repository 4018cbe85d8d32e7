#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a server that registers memory for each of its RDMA Reads and Writes (see
# registered.sh) waits for memory regions when all of a connection are in use: Replies and
# Calls wait until others have given some back, and none of them fails. A program
# (tools/testing/peer) has them all in use for as long as it wants, since it gives no credit.
# Or it sends Calls at once that need three times as many.
# FILTER picks tests of that program, as gtest understands it.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --append ib_core.force_mr=1

alone() {
	modprobe lockd nlm_grace_period=3 nlm_timeout=3
	if ! { rdma_up rxe && server_up 4; }; then
		bail "no server"
	fi
	end_grace
	peer_tests "${FILTER:-registered_server*:server_read_chunk.many_*}"
	check "nothing left" within 30 nothing_left
	check "stop the server" server_down
	check "remove the module" within 10 rmmod rpcrdma
	finish
}

"$GUEST_ROLE"
