#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a client reads what it has written, and that the server has the same
# data: sizes around a page, a Send, the chunk threshold, rsize and wsize; through the
# page cache, past it, and through mmap; with NFSv3 and v4.2, over IPv4 and IPv6.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

seed=${SEED:-20}

server() {
	serve 4
}

client() {
	begin
	try 3 "$SERVER4" $(($(amount 16) << 20))
	try 4.2 "$SERVER4" $(($(amount 64) << 20))
	try 4.2 "$SERVER6"
	end
}

blocks_are() {
	grep " $dir nfs" /proc/mounts
	grep " $dir nfs" /proc/mounts | grep rsize=1048576 | grep -q wsize=1048576
}

flip_octet() { # FILE
	printf x | dd of="$1" bs=1 seek=100001 conv=notrunc status=none
}

notices() { # FILE
	forget "$dir/$1"
	! /usr/bin/python3 -S "$integrity" same "$dir/$1" "$(< "/tmp/$1.content")"
}

try() { # VERS ADDRESS [LARGEST]
	local what="v$1 $2"
	check "$what: mount" mount_rdma "$1" "$2" "$dir" || return
	check "$what: blocks of 1 MiB" blocks_are
	[[ -z ${3-} ]] || check "$what: sizes and offsets" run table table "$3"
	check "$what: random operations, seed $seed" \
		run random random "$seed" "$(amount 150)"
	seed=$((seed + 1))
	on_server flip_octet /export/random
	check "$what: a wrong octet on the server is noticed" notices random
	check "$what: unmount" umount "$dir"
}

"$GUEST_ROLE"
