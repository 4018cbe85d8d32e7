#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a server needs no other code for one more extension: our server, built with a list
# that has an extension of the tests ('make extended'), speaks it with a peer that announces it,
# refuses it from others, and shows it by its names. A program (tools/testing/peer) is the clients.

. "$(dirname "$0")/lib.sh"
# The kernel's own transport has no extensions.
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared

top=$SELFTESTS/../../../..
extended=$top/build/$KERNEL/extended/lib/modules/$(uname -r)/updates/rpcrdma.ko
export RPCRDMACTL=$top/build/tools/rpcrdmactl

alone() {
	check "insert the module with the extension" insert || bail "no module"
	if ! { rdma_up rxe && largest_blocks && server_up 4; }; then
		bail "no server"
	fi
	peer_tests "${FILTER:-ping_server.*}"
	[[ -n ${FILTER-} ]] || check "debugfs has its names" named
	check "nothing left" within 30 nothing_left
	check "stop the server" server_down
	check "remove the module" within 10 rmmod rpcrdma
	finish
}

# It is not where modprobe looks.
insert() {
	local depends
	IFS=, read -ra depends < <(modinfo -F depends "$extended") &&
		[[ ! -e /sys/module/rpcrdma ]] && modprobe -a "${depends[@]}" &&
		insmod "$extended"
}

named() {
	local name
	for name in PING PONG PINGS NOTED_CALL; do
		grep "^messages $name: " /sys/kernel/debug/rpcrdma/totals || return
	done
}

"$GUEST_ROLE"
