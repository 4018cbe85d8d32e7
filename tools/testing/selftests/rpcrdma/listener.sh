#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a listener on one address of the server accepts connections to that
# address and to no other; that it listens again when its device was removed and has
# returned, while a mount is in use; that it tries until it succeeds; and that nfsd can
# be stopped meanwhile.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits --pair

second4=192.0.2.11

server() {
	ip addr add "$second4/24" dev "$(net_device)" || exit
	rdma_up rxe && largest_blocks && server_up 4 || exit
	signal ready
	obey
}

client() {
	local status
	begin
	mkdir -p "$other"
	on_server serve_on "$SERVER4" > /tmp/listen 2>&1
	status=$?
	if ((status == 4)); then
		skip "one address" "nfsd of this kernel cannot be told: $(< /tmp/listen)"
		end
	fi
	check "one address: listen" here_is "$status" /tmp/listen || bail "no listener"
	check "one address: in nfsd's list" on_server listeners 1
	check "one address: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "one address: works" works
	check "another address: it is the server's" await_port "$second4" 2049
	check "another address: no mount" unserved "$second4"
	check "watch" on_server trace rpcrdma/rpcrdma_connect
	during "the device goes and returns" on_server remove_device
	check "the device goes and returns: listened again" on_server listened_again
	during "again" on_server remove_device
	check "again: listened again" on_server listened_again
	check "again: another address: no mount" unserved "$second4"
	check "both addresses: nfsd restarts" on_server serve_on "$SERVER4" "$second4"
	check "both addresses: in nfsd's list" on_server listeners 2
	check "both addresses: mount" mount_rdma 3 "$second4" "$other"
	check "both addresses: works" within 60 works
	check "both addresses: unmount" umount "$other"
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	check "stop nfsd without the device" on_server stop_without_device
	end_unloaded
}

# nfsd has to be told before it has threads. rpc.nfsd, which finds it listening then,
# does not set these times.
serve_on() { # ADDRESS...
	server_down
	echo 10 > /proc/fs/nfsd/nfsv4gracetime && echo 10 > /proc/fs/nfsd/nfsv4leasetime &&
		/usr/bin/python3 "$SELFTESTS/listen.py" "$@" && server_up 4
}

here_is() { # STATUS OUTPUT
	cat "$2"
	return "$1"
}

listeners() { # COUNT
	cat /proc/fs/nfsd/portlist
	(($(grep -c '^rdma 20049' /proc/fs/nfsd/portlist) == $1))
}

# Without the device it cannot, with it it can. The trace begins anew.
listened_again() {
	grep 'listen again' "$tracing/trace" > /tmp/again
	: > "$tracing/trace"
	cat /tmp/again
	head -n 1 /tmp/again | grep -v 'status=0$' && tail -n 1 /tmp/again | grep 'status=0$'
}

stop_without_device() {
	rdma_down rxe && sleep 2 && server_down && within 30 nothing_left && rdma_up rxe
}

"$GUEST_ROLE"
