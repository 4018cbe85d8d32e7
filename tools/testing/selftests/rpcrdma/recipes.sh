#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the recipes of Documentation/trace-events.rst work, those of programs that are
# installed and work on this kernel: each has something to show. Meanwhile there are small and
# large READs and WRITEs, which wait for credit, and connections that break.
# $FILTER is a pattern of the recipes to be tried.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --waits --pair

texts=$SELFTESTS/../../docs/texts.py
PATH=$(realpath "$SELFTESTS/../../../../build/tools"):$PATH

server() {
	serve 4
}

client() {
	local lines line place where text i pids=()
	begin
	modprobe rpcrdma || bail "no module"
	mapfile -t lines < <(/usr/bin/python3 "$texts" client server |
		grep '^Documentation/trace-events.rst' | grep -e "${FILTER:-.}")
	((${#lines[@]} > 0)) || bail "no recipes"
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "data" fill
	check "a small window" on_server set_parameter window 3
	start works_without_end
	for i in {1..5}; do
		start reads_without_end
	done
	for line in "${lines[@]}"; do
		IFS=$'\t' read -r place _ _ where text <<< "$line"
		command_of_text "$place" "$where" "$text" recipe
	done
	kill "${pids[@]}"
	check "the work ends" within 30 all_ended "${pids[@]}"
	check "unmount" within 30 umount "$dir"
	end_unloaded
}

# One that lasts for less than five seconds lets the next wait for longer.
works_without_end() {
	local next=$((SECONDS + 6))
	while head -c 1M /dev/urandom > "$dir/file" && forget "$dir/file" &&
		cat "$dir/file" > /dev/null && ls "$dir" > /dev/null; do
		nap 1
		((SECONDS < next)) && continue
		cut_connections
		next=$((SECONDS + 6))
	done
}

# Many Calls at once, and then none: what is recorded has to be read on this kernel. In virtual
# time a program begins at once, and does much in a second.
reads_without_end() {
	local seconds=1
	! virtual_time || seconds=0.05
	exec "${tree[@]}" reads "$dir/data" "$seconds"
}

# Where guests are emulated, on a busy machine, little happens in some seconds.
recipe() { # TEXT
	local i
	for i in {1..4}; do
		recipe_once "$1" && return
	done
	return 1
}

# Connections break every few seconds, and Calls wait now and then: what shows that goes on for
# longer than the text says. In the end there is something to see: events in the file that is named, or what was
# printed.
recipe_once() { # TEXT
	local text=${1//conn == 1/conn >= 1} file status
	if [[ $text = *rpcrdma_lost* || $text = *rpcrdma_wait* ]]; then
		text=${text//sleep 2/sleep 10}
		text=${text//interval:s:2 /interval:s:10 }
	fi
	cd /tmp && timeout $((120 * PATIENCE)) bash -c "$text" < /dev/null > /tmp/recipe 2>&1
	status=$?
	tail -n 40 /tmp/recipe
	((status == 0)) || return
	case $text in
	"trace-cmd record "*)
		file=${text#* -o }
		trace-cmd report -i "${file%% *}" 2> /dev/null | grep -m 1 ': rpcrdma_'
		;;
	"trace-cmd start "*) nap 2 ;;
	"trace-cmd report "* | "trace-cmd show "*) grep -m 1 ': rpcrdma_' /tmp/recipe ;;
	bpftrace*printf*) grep -m 1 '^[0-9][0-9]* [a-z]' /tmp/recipe ;;
	bpftrace*) grep -m 1 -E '^(@.*:|[[].*[])]) +[1-9][0-9]*( +[|]|$)' /tmp/recipe ;;
	esac
}

"$GUEST_ROLE"
