#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that our server, if it demands host authentication, lets in who has the key, and
# nobody else: not who sends messages of an exchange out of order, too large, cut short, twice
# or once more, or says nothing; and that what one client does concerns no other. And that our
# client mounts from nobody else, and says why. A program (tools/testing/peer) is the clients,
# and then the server.

. "$(dirname "$0")/lib.sh"
# The kernel's own transport has no host authentication.
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits

alone() {
	if ! { rdma_up rxe && largest_blocks && server_up 4; }; then
		bail "no server"
	fi
	if ! { pipefs_up && modprobe -a nfs nfsv3; }; then
		bail "no client"
	fi
	check "key" make_key
	check "authentication is demanded" demand
	peer_tests "${FILTER:-auth_*}"
	check "nothing left" within 30 nothing_left
	cat /proc/sys/net/rpcrdma/auth_counts
	check "stop the server" server_down
	check "remove the module" within 10 rmmod rpcrdma
	finish
}

make_key() {
	head -c 32 /dev/urandom > /tmp/peer-key && keyctl link %keyring:.rpcrdma @u &&
		keyctl padd logon rpcrdma:peer-key %keyring:.rpcrdma < /tmp/peer-key
}

demand() {
	echo required > /proc/sys/net/rpcrdma/server_auth
}

"$GUEST_ROLE"
