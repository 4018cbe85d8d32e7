#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a server works while all its threads are stuck in a frozen file system.
# Hundreds of clients that connect meanwhile wait to be accepted and are not rejected;
# clients that give up leave nothing behind.
# The device can be removed meanwhile: the removal waits for no nfsd thread.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits --pair

requests=300
# Of the WRITEs that wait for the thread, or for one that waits for it.
sizes=(4K 64K 256K)

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
	device_removed
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	check "server: nothing left" on_server within 60 nothing_left
	end_unloaded
}

device_removed() {
	local size fd fds=() writers=()
	dd if=/dev/urandom of=/tmp/written bs=64K count=16 status=none
	# To open one later would take a Reply.
	for size in "${sizes[@]}"; do
		exec {fd}> "$dir/file.$size"
		fds+=("$fd")
	done
	check "freeze again" on_server fsfreeze -f /export
	for size in "${!sizes[@]}"; do
		dd if=/tmp/written bs="${sizes[size]}" oflag=direct 1>&"${fds[size]}" \
			2> "/tmp/output.${sizes[size]}" &
		writers+=($!)
	done
	check "the thread is stuck again" within 30 on_server stuck
	check "all wait for it" within 30 all_wait "${writers[@]}"
	if check "the server's device is removed" on_server removed; then
		check "the thread is still stuck" on_server stuck
		check "nothing of the device is left" on_server no_buffers
		check "the device returns" on_server rdma_up "$provider"
		check "thaw again" on_server fsfreeze -u /export
	else
		on_server fsfreeze -u /export
		check "the device returns" on_server within 60 removed_and_back
	fi
	check "the writes end" within 120 all_ended "${writers[@]}"
	for fd in "${fds[@]}"; do
		exec {fd}>&-
	done
	check "and have succeeded" wait_for "${writers[@]}"
	for size in "${sizes[@]}"; do
		check "the same data, $size" cmp /tmp/written "$dir/file.$size"
		check "the same data there, $size" same_written "file.$size"
	done
	check "works again" within 60 works
}

# What waits in the kernel cannot be killed.
removed() {
	local pid
	rdma_down "$provider" &
	pid=$!
	within 30 ended "$pid" || {
		echo "it waits"
		return 1
	}
	wait "$pid"
}

removed_and_back() {
	[[ ! -e /sys/class/infiniband/${provider}0 ]] && rdma_up "$provider"
}

# What is left of the connection is what the thread has of it.
no_buffers() {
	local name
	cat /sys/kernel/debug/rpcrdma/totals
	(($(counter connections open) == 0)) || return
	for name in "receive buffers" "send buffers"; do
		(($(counter "$name") == 0)) || return
	done
}

wait_for() { # PID...
	local pid
	cat /tmp/output.*
	for pid; do
		wait "$pid" || return
	done
}

same_written() { # FILE
	local here there
	here=$(sha256sum < /tmp/written)
	there=$(on_server sha256sum "/export/$1") || return
	echo "here $here, there $there"
	[[ ${here%% *} = "${there%% *}" ]]
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
