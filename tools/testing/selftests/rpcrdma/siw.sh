#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the module also works over siw, which is iWARP. With
# iWARP the side that connects must send first, and memory that an RDMA Read fills
# must be registered. Data is right, also after nfsd and the devices have been
# removed and have come back; nothing is left behind. Without FULL=1 nothing is removed under NFSv3.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

provider=siw

server() {
	if ! modprobe siw; then
		signal ready
		exit 0
	fi
	serve 4
}

client() {
	local vers
	if ! modprobe siw; then
		skip "siw" "not in this kernel"
		finish
	fi
	begin
	for vers in 3 4.2; do
		check "v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || continue
		check "v$vers: sizes and offsets" run table table
		check "v$vers: random operations" run random random 7 "$(amount 80)"
		[[ -z $FULL && $vers = 3 ]] || removals "v$vers"
		during "v$vers: connections are cut" break_connections 5
		check "v$vers: no Call is blamed for that" on_server none_blamed
		check "v$vers: unmount" umount "$dir"
		check "v$vers: nothing left" within 30 nothing_left
	done
	end_unloaded
}

removals() { # NAME
	during "$1: nfsd restarts" on_server restart_nfsd
	during "$1: the client's device is removed" remove_device
	during "$1: the server's device is removed" on_server remove_device
}

# The server takes no operation that broke with its connection for the cause.
none_blamed() {
	grep failed /sys/kernel/debug/rpcrdma/totals
	(($(counter "calls that broke the connection") == 0))
}

"$GUEST_ROLE"
