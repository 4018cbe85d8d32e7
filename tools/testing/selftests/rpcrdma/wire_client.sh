#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that our client does the right thing with every message that a server can
# send, and with servers that grant few credits or fall silent. A program
# (tools/testing/peer) is the server: it has one file, and the client in the same
# guest mounts it. FILTER picks tests of that program, as gtest understands it.

. "$(dirname "$0")/lib.sh"
# The kernel's own transport does not speak version 2.
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits

filter=${FILTER:-$CLIENT_FILTER}

# What a client does seldom, and here has to.
provoked=(rpcrdma/rpcrdma_{abandon,chunks,mr_invalidated,retry,wait} rpcrdma/xprtrdma_mr_localinv)

alone() {
	if ! { rdma_up rxe && pipefs_up && modprobe -a nfs nfsv3 nfsv4 rpcrdma; }; then
		bail "no client"
	fi
	# The program speaks version 2, and its tests say where another is wanted.
	check "version 2 alone" set_knob rdma_min_version 2
	follow_events "${provoked[@]}"
	peer_tests "${filter:-client_*}"
	[[ -n $filter ]] || check "trace events" events_came "${provoked[@]}"
	check "nothing left" within 30 nothing_left
	sed 's/^/# /' /sys/kernel/debug/rpcrdma/totals
	check "remove the module" within 30 rmmod rpcrdma
	finish
}

"$GUEST_ROLE"
