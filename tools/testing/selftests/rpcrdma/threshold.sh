#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves by the module's counters that data travels as it should. An item of up to
# ddp_threshold bytes travels in the Payload stream, in as few Sends as possible, and
# no memory is registered for it. A larger one travels in a chunk, which is registered
# and invalidated once. The test repeats this with a threshold above 1 MiB and, with FULL=1,
# with a threshold of 0 and with NFSv3. READDIR is continued, not written into chunks.

. "$(dirname "$0")/lib.sh"
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

# The module's counters that matter here: what they were is 'before', what they
# are is 'now'.
declare -A before now
counters() {
	local name value sent received
	now=([call_middle]=0 [reply_middle]=0 [invalidates]=0)
	while IFS=: read -r name value; do
		read -r _ sent _ received <<< "$value"
		case $name in
		"messages CALL_MIDDLE") now[call_middle]=$sent ;;
		"messages REPLY_MIDDLE") now[reply_middle]=$received ;;
		"read chunks") now[read_chunks]=$value ;;
		"write chunks") now[write_chunks]=$value ;;
		"bytes by read chunk") now[read_bytes]=$value ;;
		"bytes by write chunk") now[write_bytes]=$value ;;
		registrations) now[registrations]=$value ;;
		*" invalidates") now[invalidates]=$((now[invalidates] + value)) ;;
		esac
	done < /sys/kernel/debug/rpcrdma/totals
}

remember() {
	local name
	counters
	for name in "${!now[@]}"; do
		before[$name]=${now[$name]}
	done
}

# The counter has grown by this much.
grew() { # COUNTER BY
	local by=$((now[$1] - before[$1]))
	echo "$1: $by, should be $2"
	((by == $2))
}

# Sends of type MIDDLE for a message with a payload of SIZE: 8192 bytes each, of
# which 20 are header. The last Send has 8192 less 32, or for a Reply less 20. What
# else is in the message, 100 to 400 bytes, tips no count for the sizes here.
middles() { # SIZE
	local left=$(($1 + 250 - 8160))
	echo $((left > 0 ? (left + 8171) / 8172 : 0))
}

by_stream() { # SIZE COUNT CALL|REPLY
	local call=0 reply=0 middle=$(($(middles "$1") * $2))
	[[ $3 = call ]] && call=$middle || reply=$middle
	grew registrations 0 && grew read_chunks 0 && grew write_chunks 0 &&
		grew call_middle "$call" && grew reply_middle "$reply"
}

by_chunk() { # SIZE COUNT CALL|REPLY
	local read=0 write=0
	[[ $3 = call ]] && read=$2 || write=$2
	grew read_chunks "$read" && grew read_bytes $((read * $1)) &&
		grew write_chunks "$write" && grew write_bytes $((write * $1)) &&
		grew registrations "$2" && grew invalidates "$2" &&
		grew call_middle 0 && grew reply_middle 0
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
