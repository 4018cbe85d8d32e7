#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that nfsd in a network namespace of its own serves a client outside, in that
# namespace only; that nfsd and then the namespace can be removed while the client
# keeps its mount, that nothing is left of them and the module can be removed; and
# that the mount goes on when there is such a namespace again.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

server() {
	rdma_up rxe && modprobe nfsd || exit
	signal ready
	obey
}

client() {
	local maker
	begin
	mkdir -p "$other"
	check "namespace" on_server apart_up "$CLIENT4" "$(lladdr)"
	check "rping" within 30 rping_there
	check "nfsd in the namespace" on_server apart_server_up
	check "mount" mount_rdma 4.2 "$apart4" "$dir"
	check "not served outside" unserved "$SERVER4"
	check "sizes and offsets" run table table
	check "random operations" run random random 21 "$(amount 60)"
	check "data" fill
	check "the same there" same_data
	check "nfsd restarts" on_server apart_restart
	check "nfsd restarts: works" within 60 works

	check "namespace deleted" on_server apart_ends
	mkdir "$dir/made" &
	maker=$!
	check "namespace deleted: nothing left" on_server within 30 nothing_left
	check "namespace deleted: no address left" on_server within 30 no_address
	check "namespace deleted: remove the module" on_server within 30 rmmod rpcrdma
	check "the client waits" waits_for_server "$maker"
	check "another one" on_server apart_up "$CLIENT4" "$(lladdr)"
	check "another one: nfsd" on_server apart_server_up
	check "another one: the client goes on" within 120 ended "$maker"
	check "another one: it has done its work" on_server test -d /export/made
	check "another one: works" within 60 works
	check "another one: the same data" same_data
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	end_unloaded
}

rping_there() {
	on_server rping_apart && timeout 15 rping -c -a "$apart4" -C 2
}

rping_apart() {
	apart timeout 20 rping -s -a "$apart4" -C 2 > /dev/null 2>&1 &
	sleep 2
}

# The file system of nfsd is that of the namespace in which it is mounted.
apart_server_up() {
	# shellcheck disable=SC2016 # for the inner shell
	apart bash -c '. "$GUEST_LIB" && server_up 4'
}

apart_restart() {
	server_down && sleep 1 && apart_server_up
}

# What holds a namespace: its name, its processes, its file systems. nfsd ends with
# the one of its own.
apart_ends() {
	killall rpc.mountd rpcbind && sleep 1 && umount /proc/fs/nfsd &&
		umount /var/lib/nfs/rpc_pipefs && apart_down
}

# The device has no GID for $apart4 any more.
no_address() {
	local gids=(/sys/class/infiniband/rxe0/ports/1/gids/*)
	[[ -e ${gids[0]} ]] && ! grep -i 'ffff:c000:0203$' "${gids[@]}"
}

waits_for_server() { # PID
	sleep 5
	[[ -d /proc/$1 ]] && ! on_server test -d /export/made
}

"$GUEST_ROLE"
