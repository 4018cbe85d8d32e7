#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what our client makes of every message that a server can send, and of
# servers that are sparing with credits or fall silent: a program
# (tools/testing/peer) is the server, of one file, and mounts from itself. FILTER
# picks tests of that program, as gtest understands it.

. "$(dirname "$0")/lib.sh"
# The kernel's own transport does not speak version 2.
[[ -z ${INTREE-} ]] || exit 4
in_guests --waits --env FILTER="${FILTER-}"

alone() {
	if ! { rdma_up rxe && pipefs_up && modprobe -a nfs nfsv3 nfsv4 rpcrdma; }; then
		bail "no client"
	fi
	# The program speaks version 2, and its tests say where another is wanted.
	check "version 2 alone" set_knob rdma_min_version 2
	peer_tests "${FILTER:-client_*}"
	check "nothing left" within 30 nothing_left
	sed 's/^/# /' /sys/kernel/debug/rpcrdma/totals
	check "remove the module" within 30 rmmod rpcrdma
	finish
}

"$GUEST_ROLE"
