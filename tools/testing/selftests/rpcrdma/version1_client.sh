#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what a client that speaks version 1 only, the kernel's own, meets at our
# server: an answer that refuses the version, so that the mount fails soon and
# does not hang; no harm to the server, which goes on serving others; and TCP
# works beside it.

. "$(dirname "$0")/lib.sh"
in_guests --pair --intree client

dir=/mnt/nfs

server() {
	serve 4
}

client() {
	begin
	modprobe rpcrdma
	check "client: the kernel's own transport" kernels_own
	local vers
	for vers in 3 4.2; do
		check "v$vers: mount fails in time" refused "$vers" "$dir"
		echo "# $(< /tmp/refused)"
		check "v$vers: mount over TCP" mount_tcp "$vers"
		check "v$vers: works" works "$vers"
		check "v$vers: unmount" umount "$dir"
	done
	check "server: answered with an error" on_server answered
	check "server: nothing left" on_server within 30 no_connection
	check "server: stops" on_server server_down
	check "server: remove the module" on_server within 10 rmmod rpcrdma
	end
}

mount_tcp() { # VERS
	local path=/
	[[ $1 = 3 ]] && path=/export
	timeout 60 mount -t nfs -o "vers=$1,proto=tcp,nolock" "$SERVER4:$path" "$dir"
}

works() { # TEXT
	echo "$1" > "$dir/file" && sync -f "$dir" &&
		[[ $(on_server cat /export/file) = "$1" ]]
}

answered() {
	cat /sys/kernel/debug/rpcrdma/totals
	(($(counter "refused version") >= 2 && $(counter "messages ERROR" sent) >= 2))
}

no_connection() {
	(($(counter connections open) == 0))
}

"$GUEST_ROLE"
