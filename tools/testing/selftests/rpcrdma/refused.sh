#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that nothing hangs for ever while the server refuses connections: the Calls
# of a soft mount fail in time; kill -9 ends a process that waits; the client waits
# longer before each attempt to connect, however many Calls wait; and all of them go
# on when the server is back.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

soft=/mnt/soft

server() {
	serve 4
}

client() {
	begin
	refused_for_long
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	end
}

# A server whose address answers, but whose nfsd is not there.
refused_for_long() {
	local pids=() copies=() begin i
	check "mount" mount_rdma 3 "$SERVER4" "$dir"
	check "soft mount" \
		mount_rdma 3 "$SERVER4" "$soft" soft,timeo=50,retrans=1
	check "data" fill
	sleep 6
	check "stop the server" on_server server_down
	trace rpcrdma/rpcrdma_connect
	begin=$SECONDS
	for i in 1 2 3 4; do
		copy_part "$i" &
		copies+=($!)
	done
	start direct_writer 64K
	soft_fails > /tmp/soft 2>&1 &
	copies+=($!)
	sleep 5
	kill -9 "${pids[@]}" 2> /dev/null
	check "kill -9 ends one of five" within 30 all_ended "${pids[@]}"
	check "the soft mount gives up in time" within 60 grep '^after ' /tmp/soft
	while ((SECONDS < begin + 50)); do
		sleep 1
	done
	attempts
	check "attempts grow apart" grow_apart
	check "start the server" on_server server_up 4
	check "the other four end well" copied "${copies[@]}"
	check "with the same data" same_parts
	echo 0 > "$tracing/events/rpcrdma/rpcrdma_connect/enable"
	check "soft mount works again" ls "$soft"
	check "unmount" umount "$soft" "$dir"
	check "nothing left" within 60 nothing_left
}

copy_part() { # NUMBER
	dd if="$dir/data" of="$dir/part$1" iflag=direct oflag=direct bs=1M count=1 \
		skip="$1" status=none && : > "/tmp/copied$1"
}

copied() { # PID...
	within 120 all_ended "$@" && ls /tmp/copied{1,2,3,4}
}

same_parts() {
	local i
	for i in 1 2 3 4; do
		on_server cmp -n 1M /export/data "/export/part$i" "${i}M" 0 || return
	done
}

soft_fails() {
	local begin=$SECONDS
	dd if=/dev/zero of="$soft/soft" bs=4K count=1 oflag=direct && return 1
	in_time "$begin" 45
}

# Times at which an attempt began.
attempts() {
	awk '/rpcrdma_connect: .* address status=/ {
		for (i = 1; i <= NF; i++)
			if ($i ~ /^[0-9]+\.[0-9]+:$/)
				print $i + 0
	}' "$tracing/trace" > /tmp/attempts
}

# Each pause at least as long as the one before, but for the scheduler's sake; the
# last one several times the first; few in all; none longer than it may be.
grow_apart() {
	cat /tmp/attempts
	awk '
		NR > 1 {
			pause = $1 - last
			if (pause < before - 1.5 || pause > 45)
				bad = 1
			before = pause
			if (NR == 2)
				first = pause
		}
		{ last = $1 }
		END {
			print NR " attempts, last pause " before
			exit bad || NR < 3 || NR > 7 || before < 7
		}' /tmp/attempts
}

"$GUEST_ROLE"
