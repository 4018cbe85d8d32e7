#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that large items go by chunk from the start of a connection, even if there are
# more items at once than memory regions: nothing is sent in parts because a region is
# missing. The same holds after a connection has been lost.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

writers=24
each=2

server() {
	serve 8
}

client() {
	begin
	head -c "$((each << 20))" /dev/urandom > /tmp/data
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "write" by_chunk read all_write
	check "unmount" umount "$dir"
	check "mount again" mount_rdma 4.2 "$SERVER4" "$dir"
	check "read" by_chunk write all_read
	check "restart nfsd" on_server restart_nfsd
	check "write after that" by_chunk read all_write
	check "server has it" on_server have "$(cksum < /tmp/data)"
	check "unmount at the end" umount "$dir"
	end_unloaded
}

# Each by a process of its own, all at once.
all() { # COMMAND...
	local n pids=()
	for ((n = 0; n < writers; n++)); do
		"$@" "$dir/$n" &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		wait "$n" || return
	done
}

write_one() { # FILE
	dd if=/tmp/data of="$1" bs=1M oflag=direct
}

read_one() { # FILE
	dd if="$1" bs=1M iflag=direct | cmp - /tmp/data
}

all_write() {
	all write_one
}

all_read() {
	all read_one
}

# Every byte went by chunks of that kind, and nothing in parts.
by_chunk() { # read|write COMMAND...
	local bytes parts
	bytes=$(counter "bytes by $1 chunk")
	parts=$(in_parts)
	"${@:2}" || return
	bytes=$(($(counter "bytes by $1 chunk") - bytes))
	parts=$(($(in_parts) - parts))
	echo "bytes by $1 chunk: $bytes, messages that are parts: $parts"
	((bytes == writers * each << 20 && parts == 0))
}

in_parts() {
	echo $(($(counter "messages CALL_MIDDLE" sent) +
		$(counter "messages REPLY_MIDDLE" received)))
}

have() { # CHECKSUM
	local n
	for ((n = 0; n < writers; n++)); do
		[[ $(cksum < "/export/$n") = "$1" ]] || return
	done
}

"$GUEST_ROLE"
