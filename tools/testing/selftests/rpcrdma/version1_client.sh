#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that our server serves the kernel's own client, which speaks version 1 only:
# data of all sizes with each version of NFS, recalled delegations, a connection that
# is lost while a program writes, and a client of version 2 at the same time. With rtrext
# at the server nothing else happens: no message goes by a group. If version 1 is forbidden,
# the mount fails soon and the server says why.

. "$(dirname "$0")/lib.sh"
in_guests --pair --intree client

own=/mnt/own

server() {
	LEASE=60 serve 8
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	modprobe rpcrdma
	check "client: the kernel's own transport" kernels_own
	local vers
	for vers in 3 4.0 4.1 4.2; do
		serves_in_version_1 "$vers" on_server
	done

	check "with rtrext: set" on_server set_parameter rtrext 1
	beside_rtrext "with rtrext, v3" 3 on_server 1 data
	beside_rtrext "with rtrext, v4.2" 4.2 on_server 1
	check "with rtrext: no longer" on_server set_parameter rtrext 0

	check "with version 2: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "with version 2: the server mounts from itself" on_server mount_own
	check "with version 2: both are spoken" on_server both_spoken
	check "with version 2: data of that" on_server own_works
	during "with version 2: frames lost for 9 s" lose 9
	check "with version 2: that leaves" on_server umount "$own"
	look_for_many
	check "with version 2: unmount" umount "$dir"

	check "forbidden" on_server set_knob svc_rdma/min_version 2
	on_server trace rpcrdma/rpcrdma_rx
	check "forbidden: mount fails in time" refused 4.2 "$dir"
	echo "# $(< /tmp/refused)"
	check "forbidden: the server's trace says why" on_server traced_refusal
	check "forbidden: its log does not: anybody could fill it" \
		on_server not_logged "is not spoken"
	check "forbidden: mount over TCP" mount -t nfs -o vers=4.2,proto=tcp \
		"$SERVER4:/" "$dir"
	check "forbidden: unmount" umount "$dir"
	check "server: nothing left" on_server within 30 nothing_left
	check "server: stops" on_server server_down
	check "server: remove the module" on_server within 10 rmmod rpcrdma
	end
}

traced_refusal() {
	grep -m 1 'rpcrdma_rx: .*(version: ' "$tracing/trace"
}

not_logged() { # TEXT
	! logged "$1"
}

mount_own() {
	mount_rdma 4.2 "$SERVER4" "$own"
}

both_spoken() {
	grep -h ^version: /sys/kernel/debug/rpcrdma/conn/* | sort | uniq -c |
		tee /tmp/versions
	grep -q 'version: 1' /tmp/versions && grep -q 'version: 2' /tmp/versions
}

own_works() {
	/usr/bin/python3 -S "$integrity" table "$own/own" > /tmp/own || return
	/usr/bin/python3 -S "$integrity" same /export/own "$(tail -n 1 /tmp/own)"
}

"$GUEST_ROLE"
