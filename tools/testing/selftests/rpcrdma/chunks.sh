#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that data is right in each way that messages and their items can travel:
# all in the Payload stream, all in chunks, or whole messages in chunks (Special
# Format, with and without Read and Write chunks). The module's counters
# show that each way was used. The items include the targets of symbolic links,
# results that are shorter than the room that the client offered, empty results, and
# directories of all sizes.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

seed=${SEED:-30}
# Of the targets of symbolic links.
lengths=(1 2 3 4 5 255 1000 4095)

server() {
	serve 4
}

client() {
	begin
	modprobe rpcrdma || bail "no module"
	local vers
	for vers in 3 4.2; do
		try "$vers" "streams" 4294967295 4294967295
		check "v$vers: streams: no chunk" moved 0 0 0 0
		try "$vers" "small chunks" 0 4294967295
		check "v$vers: small chunks: items only" moved 1 1 0 0
		try "$vers" "special" 4294967295 8192
		check "v$vers: special: messages only" moved 0 0 1 0
		try "$vers" "chunks and special" 65536 8192
		check "v$vers: chunks and special: all" moved 1 1 1 0
	done
	end
}

totals="read write call reply"

remember() {
	local what
	for what in $totals; do
		declare -g "had_$what=$(counter "$what chunks")"
	done
}

# Which kinds of chunks moved something since: 1 or 0 for each of $totals.
moved() { # READ WRITE CALL REPLY
	local what had now wrong=0
	for what in $totals; do
		had=had_$what now=$(counter "$what chunks")
		echo "$what chunks: ${!had} before, $now now, expected $1"
		(((now > had) == $1)) || wrong=1
		shift
	done
	return $wrong
}

try() { # VERS WHAT DDP-THRESHOLD SPECIAL-THRESHOLD
	local what="v$1: $2"
	echo "$3" > $parameters/ddp_threshold
	echo "$4" > $parameters/special_threshold
	remember
	check "$what: mount" mount_rdma "$1" "$SERVER4" "$dir" || return
	check "$what: random operations, seed $seed" \
		run random random "$seed" "$(amount 60)"
	seed=$((seed + 1))
	check "$what: ends of files" /usr/bin/python3 -S "$integrity" ends "$dir/short"
	check "$what: links" links
	check "$what: directories" directories
	check "$what: what does not exist" errors
	rm -rf "${dir:?}"/*
	check "$what: unmount" umount "$dir"
}

# Who makes a link knows its target: forgotten once for all, because guests then
# read all their programs again.
links() {
	local length target
	for length in "${lengths[@]}"; do
		printf -v target "%0${length}d" 7
		ln -s "$target" "$dir/link.$length" || return
	done
	echo 3 > /proc/sys/vm/drop_caches
	targets "$dir" && on_server targets /export
}

targets() { # DIRECTORY
	local i found target
	mapfile -t found < <(readlink "${lengths[@]/#/$1/link.}")
	for ((i = 0; i < ${#lengths[@]}; i++)); do
		printf -v target "%0${lengths[i]}d" 7
		[[ ${found[i]} = "$target" ]] || return
	done
}

# Of which this client has seen nothing yet.
directories() {
	local count
	for count in 1 "$(amount 400)"; do
		on_server fill "$count" || return
		(($(find "$dir/many.$count" -type f | wc -l) == count)) || return
		on_server rm -r "/export/many.$count"
	done
}

fill() { # COUNT
	local i
	mkdir "/export/many.$1" || return
	for ((i = 0; i < $1; i++)); do
		: > "/export/many.$1/a-name-that-takes-some-octets-of-its-own-$i"
	done
}

# Items that a Call offered a chunk for, and that its Reply does not have.
errors() {
	mkdir "$dir/directory" && echo x > "$dir/file" || return
	! cat "$dir/directory" && ! readlink "$dir/file" && ! cat "$dir/none"
}

"$GUEST_ROLE"
