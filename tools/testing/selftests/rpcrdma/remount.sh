#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the module is loaded and removed like the kernel's own: mount and nfsd
# load it by its aliases, from updates/; it cannot be removed while it is in use;
# many mounts leave nothing behind, and it can be removed on both sides. On a
# kernel with kmemleak the harness then looks for leaks.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

mounts=20

server() {
	check_not_loaded || exit
	serve 4
}

client() {
	begin
	check "client: not loaded before the first mount" check_not_loaded
	check "client: mount loads it" mount_rdma 4.2 "$SERVER4" "$dir"
	check "client: from updates/" from_updates
	check "client: cannot be removed while mounted" refuses
	check "client: still works" works 0
	check "client: unmount" umount "$dir"
	check "$mounts mounts" mount_often
	check "client: nothing left" within 10 nothing_left
	check "client: remove the module" rmmod rpcrdma
	check "client: gone" check_not_loaded
	check "client: mount loads it again" mount_rdma 3 "$SERVER6" "$dir"
	check "client: works" works 1
	check "server: loaded from updates/ by portlist" on_server from_updates
	check "server: cannot be removed while it serves" on_server refuses
	check "client: unmount" umount "$dir"
	check "client: nothing left" within 10 nothing_left

	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 10 nothing_left
	check "server: remove the module" on_server rmmod rpcrdma
	check "server: gone" on_server check_not_loaded
	check "server: portlist loads it again" on_server server_up 4
	check "server: from updates/" on_server from_updates
	check "client: mount" mount_rdma 4.1 "$SERVER4" "$dir"
	check "client: works" works 2
	check "client: unmount" umount "$dir"
	check "server: remove the module" on_server stop_and_remove
	check "client: remove the module" within 10 rmmod rpcrdma
	end
}

check_not_loaded() {
	[[ ! -e /sys/module/rpcrdma ]]
}

from_updates() {
	local file
	file=$(modinfo -n rpcrdma) || return
	echo "$file; version $(cat /sys/module/rpcrdma/version)"
	[[ $file = */updates/* && -s /sys/module/rpcrdma/version &&
		$(modinfo -F version rpcrdma) = "$(< /sys/module/rpcrdma/version)" ]]
}

stop_and_remove() {
	server_down && within 10 nothing_left && rmmod rpcrdma && check_not_loaded
}

works() { # NUMBER
	echo "$1" > "$dir/file" && sync -f "$dir" &&
		[[ $(on_server cat /export/file) = "$1" ]]
}

mount_often() {
	local vers=(3 4.2 4.0 4.1) address=("$SERVER4" "$SERVER6") i
	for ((i = 0; i < mounts; i++)); do
		mount_rdma "${vers[i % 4]}" "${address[i / 4 % 2]}" "$dir" || return
		echo "$i" > "$dir/file" || return
		if ((i % 4 == 0)); then
			# Above the threshold: regions, too.
			dd if=/dev/zero of="$dir/large" bs=256K count=1 \
				oflag=direct || return
		fi
		umount "$dir" || return
	done
}

"$GUEST_ROLE"
