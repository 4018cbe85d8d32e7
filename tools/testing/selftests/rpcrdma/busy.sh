#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what a server does while all its threads are stuck in a file system that is
# frozen. Clients that connect meanwhile, more than a few hundred at once, wait to be
# accepted and are not rejected; those that give up leave nothing behind.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --pair

dir=/mnt/nfs
requests=300

# One thread, and a file system that can be frozen under it.
server() {
	! freezable || disk || exit
	serve 1
}

freezable() {
	modprobe -a loop ext4 2> /dev/null
}

disk() {
	local device
	truncate -s 64M /run/disk && mkfs.ext4 -q /run/disk && mkdir -p /export &&
		device=$(losetup --find --show /run/disk) && mount "$device" /export
}

client() {
	local pid writer
	begin
	if ! freezable; then
		skip "server stuck" "no ext4 to freeze in this kernel"
		end
	fi
	check "mount" mount_rdma 3 "$SERVER4" "$dir"
	check "freeze" on_server fsfreeze -f /export
	dd if=/dev/urandom of="$dir/file" bs=64K count=4 oflag=direct 2> /tmp/output &
	writer=$!
	check "the server's thread is stuck" within 30 on_server stuck
	check "watch" on_server trace rpcrdma/rpcrdma_{cm,connect}
	ucmatose -c "$requests" -C 0 -s "$SERVER4" -p 20049 > /tmp/connects 2>&1 &
	pid=$!
	check "$requests requests at once" within 60 on_server requested "$requests"
	check "none is rejected" on_server none_refused
	kill -9 "$pid"
	check "thaw" on_server fsfreeze -u /export
	check "the write ends" within 60 ended "$writer"
	check "and has succeeded" wait "$writer"
	check "works" within 60 works
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	check "server: nothing left" on_server within 60 nothing_left
	end_unloaded
}

stuck() {
	local stat
	for stat in /proc/[0-9]*/stat; do
		[[ $(< "$stat") != *'(nfsd) D '* ]] || return 0
	done
	return 1
} 2> /dev/null

requested() { # COUNT
	local count
	count=$(grep -c 'rpcrdma_connect: .* request status=\|rpcrdma_cm: .*connect request' \
		"$tracing/trace")
	echo "$count requests"
	((count >= $1))
}

none_refused() {
	! grep 'rpcrdma_connect: .* request status=-' "$tracing/trace"
}

"$GUEST_ROLE"
