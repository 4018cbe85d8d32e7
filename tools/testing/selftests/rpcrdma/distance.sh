#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves by the module's counters that large WRITEs travel by Sends where a round trip takes
# long, and by RDMA where it does not. A delay of 10 ms comes and goes while a mount is
# connected. The client measures that. WRITEs of 64 and 256 KiB then need no memory region
# and no RDMA Read, and the server copies their data once; READs go as before. Many at once take no
# more credits than there are, so none waits for credit. The setting switches it off. The same with
# the usual window and buffers that grow; then hardly any waits for a Send buffer. With rtrext
# at both ends WRITEs of up to 448 KiB go by groups of Sends there, and the server copies none of
# their data; READs of more than 128 KiB go by RDMA as ever, since that costs no round trip.

. "$(dirname "$0")/lib.sh"
# shellcheck source=tools/testing/selftests/rpcrdma/ways.sh
. "$SELFTESTS/ways.sh"
# shellcheck source=tools/testing/selftests/rpcrdma/groups.sh
. "$SELFTESTS/groups.sh"
in_guests --shared --waits --pair

ctl=$SELFTESTS/../../../../build/tools/rpcrdmactl
sizes=(65536 262144)
# The credits of a WRITE, or its Send buffers, may be back after the next WRITE has begun: there
# are enough for two, and a quarter is for others.
window=128
# Of 48 WRITEs at once, so many times at most one had to wait for a Send buffer, or for the adapter.
most_waits=4

server() {
	modprobe rpcrdma && usual && set_parameter grow 0 && set_parameter window "$window" || exit
	# More than a few threads: WRITEs that wait for one keep their credits.
	serve 16
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	head -c 4M /dev/urandom > /tmp/data
	modprobe rpcrdma
	usual
	check "sizes stay" set_parameter grow 0
	check "window" set_parameter window "$window"
	learn
	check "setting" set_parameter stream_from $((here + 3000))
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=0
	moves "near" by_chunk
	late 10
	check "10 ms are noticed" within 60 measured 10000 1000000
	check "they are shown" shown
	moves "far" by_stream
	crowd "far"
	late 0
	check "and that they are over" within 60 measured 1 $((here + 3000))
	moves "near again" by_chunk
	check "unmount" umount "$dir"

	check "switched off" set_parameter stream_from 0
	late 10
	check "off: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=0
	check "off: 10 ms are noticed" within 60 measured 10000 1000000
	moves "off" by_chunk
	late 0
	check "off: unmount" umount "$dir"
	as_usual
	with_rtrext
	end
}

# What the settings are when nobody changes them.
usual() {
	usual_grow=$(< "$parameters/grow")
	usual_window=$(< "$parameters/window")
}

have_usual() {
	set_parameter grow "$usual_grow" && set_parameter window "$usual_window"
}

# Buffers have grown before anything is counted.
as_usual() {
	check "usual: settings" have_usual
	check "usual: settings at the server" on_server have_usual
	check "usual: large WRITEs may travel in messages" set_parameter stream_from $((here + 3000))
	late 10
	check "usual: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=0
	check "usual: 10 ms are noticed" within 60 measured 10000 1000000
	check "usual: buffers grow" within 60 work_until write 64K grown
	octets=$usual_grow
	moves "usual" by_stream
	crowd "usual"
	check "usual: hardly any has waited for the send queue" \
		few_waits $((now[full] - before[full]))
	late 0
	check "usual: unmount" umount "$dir"
}

# With the usual settings, too. A Receive has seven pages besides its head, and a group 16 Sends.
with_rtrext() {
	local size
	check "rtrext: set" set_parameter rtrext 1
	check "rtrext: set at the server" on_server set_parameter rtrext 1
	check "rtrext: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=0
	check "rtrext: buffers" both_are 29696 29696
	late 10
	check "rtrext: 10 ms are noticed" within 60 measured 10000 1000000
	for size in 128 256 448; do
		check "rtrext: WRITE of $size KiB" places $size $(((size + 27) / 28))
	done
	check "rtrext: a WRITE that is too large for a group" streams 512
	check "rtrext: a file to read" prepare
	check "rtrext: READ of 128 KiB" fetches 128 5
	for size in 256 448; do
		check "rtrext: READ of $size KiB by chunk" writes_chunks $size
	done
	late 0
	check "rtrext: unmount" umount "$dir"
}

# In messages that are no groups.
streams() { # KIB
	writes "$1" || return
	((change[requests] == 0 && change[registrations] == 0 && change[reads] == 0)) &&
		((change[copied] >= $(number "$1") * $1 * 1024))
}

# The client's Sends, and the server's Receives.
grown() {
	[[ $(buffers send) = "$usual_grow" ]] &&
		on_server sizes_are "$(buffers receive)" "$usual_grow"
}

few_waits() { # COUNT
	echo "waits: $1"
	(($1 <= most_waits))
}

late() { # MILLISECONDS
	tc qdisc change dev "$(net_device)" root netem delay "$1ms"
}

round_trip() {
	sed -n 's/^round trip in us: //p' /sys/kernel/debug/rpcrdma/conn/*
}

# Some small Calls have been answered since. What was measured is between these.
measured() { # LEAST MOST
	local i us
	for ((i = 0; i < 10; i++)); do
		stat -t "$dir" > /tmp/stat || return
	done
	us=$(round_trip)
	echo "round trip: $us us"
	((us >= $1 && us <= $2))
}

# What a round trip takes here without a delay.
learn() {
	check "learn: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=0
	check "learn: measured" measured 1 1000000
	here=$(round_trip)
	echo "# $here us without a delay"
	check "learn: unmount" umount "$dir"
}

# rpcrdmactl is told the same.
shown() {
	local us
	us=$("$ctl" show -d | sed -n 's/.* round-trip \([0-9]*\).*/\1/p')
	echo "$us, $(round_trip)"
	[[ -n $us && $us = "$(round_trip)" ]]
}

moves() { # WHAT by_stream|by_chunk
	local size copied
	for size in "${sizes[@]}"; do
		copied=$(on_server counter "bytes copied" received)
		remember
		check "$1: write $size" write_direct "$size" 3
		counters
		check "$1: write $size $2" "$2" "$size" 3 call
		check "$1: write $size: copied by the server" copied_"$2" "$copied" $((size * 3))
		check "$1: server has it" server_has $((size * 3))
		remember
		check "$1: read $size" read_direct "$size" 3
		counters
		check "$1: read $size by_chunk" by_chunk "$size" 3 reply
	done
}

# Of the data of WRITEs that travel in messages the server copies all, once. Of others it copies
# none. It copies small Calls, such as those that open and close the file.
copied_by_stream() { # BEFORE DATA
	local by
	by=$(($(on_server counter "bytes copied" received) - $1))
	echo "copied: $by of $2"
	((by >= $2 && by < $2 + 4096))
}

copied_by_chunk() { # BEFORE DATA
	copied_by_stream "$1" 0
}

credit_waits() {
	sed -n 's/^waits for credit: //p' /sys/kernel/debug/rpcrdma/conn/*
}

# Sixteen WRITEs of 256 KiB at once need four times the credits.
crowd() { # WHAT
	local blocked
	blocked=$(credit_waits)
	remember
	check "$1: many at once" write_crowd
	counters
	check "$1: some by stream, others by chunk" both_ways 48
	check "$1: none has waited for credit" no_more_waits "$blocked"
	check "$1: each is right" crowd_same
}

# To make a file takes a round trip, in which nobody can make another one there.
write_crowd() {
	local i pids=()
	touch "$dir"/crowd.{0..15} || return
	for ((i = 0; i < 16; i++)); do
		dd if=/tmp/data of="$dir/crowd.$i" bs=262144 count=3 oflag=direct \
			conv=notrunc,nocreat 2> /dev/null &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || return
	done
}

both_ways() { # WRITES
	local chunks=$((now[read_chunks] - before[read_chunks]))
	echo "$chunks of $1 by chunk"
	((chunks > 0 && chunks < $1))
}

no_more_waits() { # BEFORE
	echo "$(credit_waits), before $1"
	[[ $(credit_waits) = "$1" ]]
}

crowd_same() {
	local i
	for ((i = 0; i < 16; i++)); do
		cmp -n $((3 * 262144)) /tmp/data "$dir/crowd.$i" || return
	done
	rm "$dir"/crowd.*
}

"$GUEST_ROLE"
