#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that data is right after anything that can happen to a connection: frames
# lost for less than RC's retries last, and for longer; the RDMA device gone on the
# client, and on the server; nfsd stopped and started. A program that compares a
# file with its own copy runs on throughout. A soft mount gives up in time when the
# server is away, and umount -f gets rid of it.

. "$(dirname "$0")/lib.sh"
in_guests --pair

dir=/mnt/nfs
integrity=$SELFTESTS/integrity.py

server() {
	serve 4
}

client() {
	begin
	device=$(net_device)
	tc qdisc add dev "$device" root netem loss 0% || bail "no netem"
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir"
	during "frames lost for 2 s" lose 2
	during "frames lost for 9 s" lose 9
	during "device removed on the client" remove_device
	during "device removed on the server" on_server remove_device
	during "nfsd restarted" on_server restart_nfsd
	check "unmount" umount "$dir"
	check "v3: mount" mount_rdma 3 "$SERVER4" "$dir"
	during "v3: frames lost for 9 s" lose 9
	during "v3: nfsd restarted" on_server restart_nfsd
	check "v3: unmount" umount "$dir"

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

# The program runs before, while and after the command does.
during() { # WHAT COMMAND...
	local pid before
	rm -f /tmp/stop /tmp/output
	/usr/bin/python3 "$integrity" random "$dir/file" "${SEED:-$ran}" /tmp/stop \
		> /tmp/output 2>&1 &
	pid=$!
	sleep 1
	check "$1" "${@:2}"
	before=$(counter "messages REPLY_INLINE" received)
	check "$1: goes on" within 60 gone_on "$before"
	touch /tmp/stop
	check "$1: the same data here" ends_well "$pid"
	check "$1: the same data there" same_there
}

gone_on() { # BEFORE
	(($(counter "messages REPLY_INLINE" received) >= $1 + 20))
}

ends_well() { # PID
	within 90 ended "$1" || { kill -9 "$1"; echo "still runs"; return 1; }
	cat /tmp/output
	grep -q '^[0-9a-f]\{8\}-[0-9]*$' /tmp/output
}

ended() { # PID
	[[ ! -e /proc/$1 || $(< "/proc/$1/stat") = *') Z '* ]]
}

same_there() {
	on_server /usr/bin/python3 "$integrity" same /export/file \
		"$(tail -n 1 /tmp/output)"
}

# The queueing discipline is there from the beginning: while one replaces another
# packets are refused, and rxe takes that for the end of a queue pair, the one of
# the connection manager included, which only a new device brings back.
lose() { # SECONDS
	tc qdisc change dev "$device" root netem loss 100% && sleep "$1" &&
		tc qdisc change dev "$device" root netem loss 0%
}

remove_device() {
	rdma_down rxe && sleep 2 && rdma_up rxe
}

restart_nfsd() {
	server_down && sleep 1 && server_up 4
}

gives_up() {
	local begin=$SECONDS
	dd if=/dev/zero of="$dir/soft" bs=4K count=1 oflag=direct && return 1
	echo "after $((SECONDS - begin)) s"
	((SECONDS - begin < 60))
}

works() {
	echo works > "$dir/after" && sync -f "$dir" &&
		[[ $(on_server cat /export/after) = works ]]
}

"$GUEST_ROLE"
