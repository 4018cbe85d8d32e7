#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that our server does the right thing with every message that a client can
# send. A program (tools/testing/peer) sends it messages of version 2, right and
# wrong, byte by byte. FILTER picks tests of that program, as gtest understands it.

. "$(dirname "$0")/lib.sh"
# The kernel's own transport does not speak version 2.
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared

filter=${FILTER:-$SERVER_FILTER}

export RPCRDMACTL=$SELFTESTS/../../../../build/tools/rpcrdmactl

# What a server does seldom, and here has to.
provoked=(rpcrdma/rpcrdma_{abandon,refuse,request,serve,wait})

alone() {
	# nfsd gives no delegation while lockd lets locks be reclaimed.
	modprobe lockd && echo 3 > /proc/sys/fs/nfs/nlm_grace_period &&
		echo 3 > /proc/sys/fs/nfs/nlm_timeout
	# A kernel that has no 4 MiB takes what it has.
	if ! { rdma_up rxe && largest_blocks &&
		echo 4194304 > /proc/fs/nfsd/max_block_size && server_up 4; }; then
		bail "no server"
	fi
	# server_changes.* ask for that.
	check "buffers grow" set_parameter grow 32768
	end_grace
	follow_events "${provoked[@]}"
	peer_tests "${filter:-server_*}"
	[[ -n $filter ]] || check "trace events" events_came "${provoked[@]}"
	check "nothing left" within 30 nothing_left
	sed 's/^/# /' /sys/kernel/debug/rpcrdma/totals
	check "stop the server" server_down
	check "remove the module" within 10 rmmod rpcrdma
	finish
}

"$GUEST_ROLE"
