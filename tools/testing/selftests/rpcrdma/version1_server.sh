#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what our client does at a server that speaks version 1 only, the kernel's
# own: the mount fails soon, says that the protocol is not supported, and leaves
# nothing behind.

. "$(dirname "$0")/lib.sh"
in_guests --pair --intree server

dir=/mnt/nfs

server() {
	serve 4
}

client() {
	begin
	check "server: the kernel's own transport" on_server kernels_own
	local vers
	for vers in 3 4.2; do
		check "v$vers: mount fails in time" refused_as_unsupported "$vers"
		echo "# $(< /tmp/refused)"
		check "v$vers: nothing left" within 10 nothing_left
	done
	check "remove the module" within 10 rmmod rpcrdma
	check "mount over TCP" mount -t nfs -o vers=4.2,proto=tcp "$SERVER4:/" "$dir"
	check "unmount" umount "$dir"
	end
}

refused_as_unsupported() { # VERS
	refused "$1" "$dir" && grep -q "not supported" /tmp/refused
}

"$GUEST_ROLE"
