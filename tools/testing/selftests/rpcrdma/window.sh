#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the credit window can change while a connection is in use, at either
# end: jobs that verify what they read go on, the connection shows the new window, and
# Receives are allocated and freed.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

parameter=/sys/module/rpcrdma/parameters/window

server() {
	serve 8
}

client() {
	begin
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir" nconnect=1
	check "the default" is_everywhere 64
	check "nothing under 3" refuses 2
	check "nothing over 16384" refuses 16385
	check "nothing that is no number" refuses all
	check "still the default" is_everywhere 64

	(load; echo $? > /tmp/loaded) &
	local window
	for window in 8 3 128 64; do
		check "client: $window" change "$window"
		check "server: $window" on_server change "$window"
		check "$window: goes on" goes_on
	done
	# Both at once, without waiting for what the one before was to bring about.
	check "one after the other" bounce
	check "after that" within 60 is_everywhere 16
	touch /tmp/stop
	check "data" ends_well
	check "a new connection has it" remount 24
	check "at the server, too" on_server bounce_to 600
	check "a new connection has a large one" remount 600
	check "600: at both ends" within 60 is_everywhere 600
	rm /tmp/stop /tmp/loaded
	(load; echo $? > /tmp/loaded) &
	check "600: goes on" goes_on
	check "smaller, and larger again" bounce
	check "600: goes on after that" goes_on
	check "client: 600 again" change 600
	touch /tmp/stop
	check "600: data" ends_well
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	check "server: nothing left" on_server within 30 nothing_left
	end
}

# Every connection has this window, and no Receive more than it takes.
is_everywhere() { # WINDOW
	is_here "$1" && on_server is_here "$1"
}

is_here() { # WINDOW
	grep -H -e '^window:' -e '^receive buffers' /sys/kernel/debug/rpcrdma/conn/*
	awk -v window="$1" '
		/^window:/ { n++; ok += $2 == window }
		/^receive buffers:/ { ok += $3 == window + 1 }
		END { exit !(n && ok == 2 * n) }' /sys/kernel/debug/rpcrdma/conn/*
}

refuses() { # VALUE
	! echo "$1" 2> /dev/null > "$parameter" && [[ $(< "$parameter") = 64 ]]
}

change() { # WINDOW
	echo "$1" > "$parameter" && within 60 is_here "$1"
}

bounce() {
	local window
	for window in 200 5 40 3 256 16; do
		echo "$window" > "$parameter" || return
		on_server bounce_to "$window" || return
	done
}

bounce_to() { # WINDOW
	echo "$1" > "$parameter"
}

# Read, write and verify until told to stop; all sizes, so that messages travel in
# one Send, in many, and by chunk.
load() {
	local rounds=0
	cat > /tmp/jobs <<- END
		[global]
		directory=$dir
		size=$(amount 4)M
		rw=randrw
		verify=crc32c
		verify_fatal=1
		bsrange=4k-128k
		blockalign=4k
		direct=1
		thread
		group_reporting
		[jobs]
		numjobs=12
	END
	while [[ ! -e /tmp/stop ]]; do
		fio --randseed="$rounds" --output-format=terse /tmp/jobs \
			> /tmp/fio 2>&1 || return
		rounds=$((rounds + 1))
	done
	echo "$rounds" > /tmp/rounds
}

loaded() {
	[[ -s /tmp/loaded ]]
}

goes_on() {
	local before
	before=$(counter "messages REPLY_INLINE" received)
	within 60 received "$((before + 100))"
}

received() { # MESSAGES
	(($(counter "messages REPLY_INLINE" received) >= $1))
}

ends_well() {
	within 120 loaded && cat /tmp/fio && (($(< /tmp/loaded) == 0 && $(< /tmp/rounds) > 0))
}

remount() { # WINDOW
	umount "$dir" && echo "$1" > "$parameter" &&
		mount_rdma 4.2 "$SERVER4" "$dir" && within 60 is_here "$1"
}

"$GUEST_ROLE"
