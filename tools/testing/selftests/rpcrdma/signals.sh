#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that kill -9 ends readers and writers of a hard mount, past the page cache
# and through it, while the server is away and while it answers; that they leave
# nothing behind; and that the mount works when the server is back, with the
# right data.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

server() {
	frames_can_be_lost || exit
	serve 4
}

client() {
	local vers
	begin
	frames_can_be_lost || bail "no netem"
	for vers in 3 4.2; do
		check "v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || continue
		killed "v$vers"
		check "v$vers: unmount" umount "$dir"
		check "v$vers: nothing left" within 60 nothing_left
	done
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	end
}

killed() { # WHAT
	local pids=() writer=() before
	check "$1: data" fill_both
	start direct_writer 4K
	start direct_writer 1M
	start direct_reader 1M
	start cached_reader
	sleep 2
	start cached_writer
	writer=("${pids[@]: -1}")
	unset 'pids[-1]'
	check "$1: the server is away" away
	start direct_reader 64K
	start cached_reader
	check "$1: they wait" within 30 none_runs "${pids[@]}"
	kill -9 "${pids[@]}" "${writer[@]}" 2> /dev/null
	check "$1: kill -9 ends them" within 30 all_ended "${pids[@]}"
	# The kernel does not give up what the writer has in the page cache.
	check "$1: the server is back" back
	check "$1: the killed writer ends" within 120 all_ended "${writer[@]}"
	check "$1: works" works
	check "$1: the same data" same_data
	check "$1: every region is free" within 20 all_free

	pids=()
	before=$(connects)
	check "$1: kill -9 in the middle, often" kill_often
	echo "# $1: $(amount 8) times 4 programs killed, $(($(connects) - before)) connections lost by that"
	check "$1: no kill costs more than one connection" at_most $(($(connects) - before)) "$(amount 8)"
	check "$1: works after that" works
	check "$1: the same data after that" same_data
	check "$1: every region is free after that" within 20 all_free
}

fill_both() {
	fill && cp "$dir/data" "$dir/cached-data"
}

# Not what direct_reader reads: a read through the cache waits for those past it,
# and no signal ends that.
cached_reader() {
	echo 1 > /proc/sys/vm/drop_caches
	exec dd if="$dir/cached-data" of=/dev/null bs=64K
}

cached_writer() {
	exec dd if=/dev/zero of="$dir/cached" bs=64K count=1000 conv=fsync
}

# Each has ended or waits for the server in the kernel.
none_runs() { # PID...
	local pid
	for pid; do
		ended "$pid" || waits "$pid" || return
	done
}

at_most() { # COUNT MOST
	echo "$1, may be $2"
	(($1 <= $2))
}

# The server may be about to use memory of a Call whose program is killed. The client takes that memory
# away first, and what the server does then may end the connection.
kill_often() {
	local i rounds
	rounds=$(amount 8)
	for ((i = 0; i < rounds; i++)); do
		start direct_writer 1M
		start direct_writer 128K
		start direct_reader 1M
		start cached_reader
		sleep "0.$((i % 4 + 1))"
		kill -9 "${pids[@]}" 2> /dev/null
		within 30 all_ended "${pids[@]}" || return
		pids=()
	done
}

"$GUEST_ROLE"
