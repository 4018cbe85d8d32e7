#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that data is right after anything that can happen to a connection: frames are
# lost for a shorter and for a longer time than RC retries; the RDMA device is
# removed, on the client and on the server; nfsd is stopped and started. Meanwhile a
# program compares a file with its own copy. A connection ends, and its file in debugfs
# disappears, even if a program reads that file. If the server is away, a soft mount gives
# up in time, and umount -f removes the mount.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

server() {
	serve 4
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir"
	during "frames lost for 2 s" lose 2
	during "frames lost for 9 s" lose 9
	check "a page there" on_server page
	during "somebody looks at the connection" look
	during "device removed on the client" remove_device
	during "device removed on the server" on_server remove_device
	during "nfsd restarted" on_server restart_nfsd
	check "unmount" umount "$dir"
	[[ -z $FULL ]] || version3

	check "soft: mount" mount_rdma 3 "$SERVER4" "$dir" soft,timeo=30,retrans=1
	check "soft: stop the server" on_server server_down
	check "soft: gives up in time" gives_up
	check "soft: umount -f" timeout 60 umount -f "$dir"
	check "soft: nothing left" within 30 nothing_left
	check "soft: start the server" on_server server_up 4
	check "soft: mount" mount_rdma 3 "$SERVER4" "$dir"
	check "soft: works" works
	check "soft: unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	end
}

version3() {
	check "v3: mount" mount_rdma 3 "$SERVER4" "$dir"
	during "v3: frames lost for 9 s" lose 9
	during "v3: nfsd restarted" on_server restart_nfsd
	check "v3: unmount" umount "$dir"
}

page() {
	head -c 4096 /dev/zero > /export/page
}

# Into memory that only comes by that connection, when nothing does any more.
look() {
	local pid before looked conn=(/sys/kernel/debug/rpcrdma/conn/*)
	before=$(closed)
	/usr/bin/python3 - "$dir/page" "${conn[0]}" <<- 'END' > /tmp/look 2>&1 &
		import mmap, os, sys, time

		with open(sys.argv[1], "r+b") as file:
		    page = mmap.mmap(file.fileno(), 4096)
		conn = os.open(sys.argv[2], os.O_RDONLY)
		open("/tmp/looks", "w").close()
		while not os.path.exists("/tmp/lost"):
		    time.sleep(0.1)
		os.readv(conn, [memoryview(page)])
		sys.exit(page[:11] != b"connection:")
	END
	pid=$!
	within 30 test -e /tmp/looks && lossy 100 && touch /tmp/lost &&
		within 60 closed_since "$before" && within 30 gone_from_debugfs "${conn[0]}" &&
		! ended "$pid"
	looked=$?
	lossy 0
	if ((looked == 0)); then
		within 60 ended "$pid" && wait "$pid"
		looked=$?
	fi
	cat /tmp/look
	rm -f /tmp/looks /tmp/lost
	return "$looked"
}

# It would wait for ever for who waits with the lock of the directory.
gone_from_debugfs() { # FILE
	absent "$1" &
	within 10 ended $! && wait $!
}

absent() { # FILE
	[[ ! -e $1 ]]
}

gives_up() {
	local begin=$SECONDS
	dd if=/dev/zero of="$dir/soft" bs=4K count=1 oflag=direct && return 1
	in_time "$begin" 60
}

"$GUEST_ROLE"
