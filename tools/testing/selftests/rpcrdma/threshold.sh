#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves by the module's counters that data travels as it should. An item of up to
# ddp_threshold bytes travels in the Payload stream, in as few Sends as possible, and
# no memory is registered for it. A larger one travels in a chunk, which is registered
# and invalidated once. The test repeats this with a threshold above 1 MiB and, with FULL=1,
# with a threshold of 0 and with NFSv3. READDIR is continued, not written into chunks.

. "$(dirname "$0")/lib.sh"
# shellcheck source=tools/testing/selftests/rpcrdma/ways.sh
. "$SELFTESTS/ways.sh"
in_guests --shared --pair

entries=2000

# A Call that takes more Sends than were ever allowed would go by a Call chunk.
server() {
	modprobe rpcrdma && echo 256 > $parameters/window && set_parameter grow 0
	serve 4
}

client() {
	begin
	head -c 4M /dev/urandom > /tmp/data
	modprobe rpcrdma
	# Sends of 8192 bytes, however many there are.
	check "sizes stay" set_parameter grow 0
	try 16384 4.2
	[[ -z $FULL ]] || try 16384 3
	[[ -z $FULL ]] || try 0 3
	try 4194304 4.2
	end
}

try() { # THRESHOLD VERS
	local what="threshold $1, v$2" size count by
	# New connections take it. Streams of any size are sent.
	echo "$1" > "$parameters/ddp_threshold"
	echo 4194304 > "$parameters/special_threshold"
	check "$what: mount" mount_rdma "$2" "$SERVER4" "$dir" || return
	for size in 4096 16384 65536 1048576; do
		((size > $1)) && by=by_chunk || by=by_stream
		count=$((size == 1048576 ? 2 : 3))
		remember
		check "$what: write $size" write_direct "$size" "$count"
		counters
		check "$what: write $size $by" "$by" "$size" "$count" call
		check "$what: server has it" server_has $((size * count))
		remember
		check "$what: read $size" read_direct "$size" "$count"
		counters
		check "$what: read $size $by" "$by" "$size" "$count" reply
	done
	[[ $1 = 16384 ]] && list "$what"
	rm -r "${dir:?}"/*
	check "$what: unmount" umount "$dir"
}

touch_all() {
	mkdir -p /export/many
	(cd /export/many && seq -f "name-of-some-length-%06g" "$entries" |
		xargs touch)
}

listed() {
	[[ $(find "$dir/many" -type f | wc -l) = "$entries" ]]
}

continued_reply() {
	echo "REPLY_MIDDLE: $((now[reply_middle] - before[reply_middle]))"
	grew registrations 0 && grew write_chunks 0 &&
		((now[reply_middle] > before[reply_middle] + 10))
}

list() { # WHAT
	on_server touch_all
	remember
	check "$1: READDIR" listed
	counters
	check "$1: READDIR by continued Replies" continued_reply
}

"$GUEST_ROLE"
