#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that mounts over RDMA work, with each version of NFS and each address family,
# and that data moves in both directions. Without FULL=1 there is one address for NFSv4.1.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

sizes=(0 1 1000 4096 65537 3000000)

server() {
	serve 4
}

client() {
	rdma_up rxe || bail "no RDMA device"
	await ready || bail "no server"
	for size in "${sizes[@]}"; do
		head -c "$size" /dev/urandom > "/tmp/$size"
	done
	for vers in 4.2 4.1 3; do
		for address in "$SERVER4" "$SERVER6"; do
			[[ -n $FULL || $vers != 4.1 || $address = "$SERVER6" ]] || continue
			round_trip "$vers" "$address"
		done
	done
	leave
}

over_rdma() {
	grep " $dir nfs" /proc/mounts
	grep -q " $dir nfs.*proto=rdma" /proc/mounts
}

write_all() {
	for size in "${sizes[@]}"; do
		cp "/tmp/$size" "$dir/$size" || return
	done
	sync -f "$dir"
}

# Past the page cache, or it would answer.
compare_all() {
	forget "${sizes[@]/#/$dir/}" || return
	for size in "${sizes[@]}"; do
		cmp "/tmp/$size" "$dir/$size" || return
	done
}

round_trip() { # VERS ADDRESS
	local what="v$1 $2"
	if ! check "$what: mount" mount_rdma "$1" "$2" "$dir"; then
		return
	fi
	check "$what: proto=rdma" over_rdma
	check "$what: write" write_all
	check "$what: read back" compare_all
	check "$what: remove" rm -r "${sizes[@]/#/$dir/}"
	check "$what: unmount" umount "$dir"
}

"$GUEST_ROLE"
