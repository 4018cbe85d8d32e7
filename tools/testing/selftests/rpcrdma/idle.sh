#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a mount on another port than 20049 works and survives a restart of the
# server; what an idle connection costs with the usual settings; and that it is closed, and made
# again when it is needed.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

server() {
	serve 4
}

client() {
	begin
	another_port
	costs_little
	idle
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	end
}

another_port() {
	check "port: nobody listens there" no_listener
	check "port: the server listens there, too" on_server listen 20050
	check "port: mount" mount_rdma 3 "$SERVER4" "$dir" port=20050
	check "port: it is that one" \
		grep -q "^connection: .* - $SERVER4:20050" \
		/sys/kernel/debug/rpcrdma/conn/*
	during "port: nfsd restarted, elsewhere first" on_server restart_elsewhere
	check "port: unmount" umount "$dir"
	check "port: nothing left" within 30 nothing_left
}

no_listener() {
	local begin=$SECONDS
	timeout $((60 * PATIENCE)) bash -c ". '$GUEST_LIB'
		mount_rdma 3 '$SERVER4' '$dir' port=20050,retry=0" && return 1
	in_time "$begin" 30 && ! is_mounted "$dir" && within 10 nothing_left
}

listen() { # PORT
	echo "rdma $1" > /proc/fs/nfsd/portlist && cat /proc/fs/nfsd/portlist
}

# Refused at first, as nobody listens on the client's port.
restart_elsewhere() {
	server_down && sleep 1 && server_up 4 && sleep 2 && listen 20050
}

# With the usual settings. The client looks every keepalive seconds. If nothing has come since its last
# look, it asks, and at the next look the answer has come. So it asks at every second look.
costs_little() {
	local keepalive asked
	modprobe rpcrdma
	keepalive=$(< "$parameters/keepalive")
	check "costs: mount" mount_rdma 3 "$SERVER4" "$dir"
	check "costs: data" write 4096 3
	# After a minute sizes are as at the beginning. The time from here on is less than idle_timeout.
	sleep 100
	check "costs: what workers do is seen" begin_to_count
	check "costs: the same at the server" on_server begin_to_count
	asked=$(counter keep-alives)
	sleep $((4 * keepalive))
	check "costs: 2 questions in $((4 * keepalive)) s" asks_since "$asked" 2
	check "costs: each takes one message each way" counted_since
	check "costs: at the server, too" on_server counted_since
	check "costs: no worker of the module but that" no_work rpcrdma_keepalive_worker
	check "costs: no worker of the module at the server" on_server no_work
	check "costs: it is the same connection" connections 1
	check "costs: unmount" umount "$dir"
	check "costs: nothing left" within 30 nothing_left
}

# How many messages there were so far, both ways, is in a file: obey() starts a shell for this.
begin_to_count() {
	trace workqueue/workqueue_execute_start && messages > /tmp/messages
}

# In real time the sleep may take longer than it should.
asks_since() { # BEFORE COUNT
	local by=$(($(counter keep-alives) - $1))
	echo "asked $by times"
	((by == $2)) || { ! virtual_time && ((by > 0 && by <= $2 + 1)); }
}

counted_since() {
	local by=$(($(messages) - $(< /tmp/messages)))
	echo "messages: $by"
	((by == 4)) || { ! virtual_time && ((by > 0 && by <= 6)); }
}

# NFSv3: a lease keeps NFSv4 talking.
idle() {
	echo 8 > /sys/module/rpcrdma/parameters/idle_timeout
	check "idle: mount" mount_rdma 3 "$SERVER4" "$dir"
	check "idle: data" fill
	check "idle: the connection goes" within 60 nothing_left
	check "idle: at the server, too" on_server within 30 nothing_left
	check "idle: the same data" same_data
	check "idle: the connection is back" connections 1
	check "idle: it goes again" within 60 nothing_left
	check "idle: it stays while it is used" stays
	echo 300 > /sys/module/rpcrdma/parameters/idle_timeout
	check "idle: unmount" umount "$dir"
	check "idle: nothing left" within 30 nothing_left
	# Sooner than the 5 s after which a connection has been of use.
	echo 3 > /sys/module/rpcrdma/parameters/idle_timeout
	check "idle soon: mount" mount_rdma 3 "$SERVER4" "$dir"
	check "idle soon: it comes back after restarts of the server" comes_back
	echo 300 > /sys/module/rpcrdma/parameters/idle_timeout
	check "idle soon: unmount" umount "$dir"
	check "idle soon: nothing left" within 30 nothing_left
}

# The server ends some connections, the client others. Only what could not be used is a reason to
# wait before the next attempt, each time longer.
comes_back() {
	local i begin took lost=0
	for ((i = 0; i < 4; i++)); do
		within 30 nothing_left && reads_block || return
		on_server restarted || return
		begin=${EPOCHREALTIME/./}
		reads_block || return
		took=$(((${EPOCHREALTIME/./} - begin) / 1000))
		echo "after $took ms"
		((took < 10000)) || return
		# The client may have been faster, and closed it as idle.
		! "$SELFTESTS/../../../../build/tools/rpcrdmactl" show -j | grep -q '"previous-loss"' || ((++lost))
	done
	echo "ended by the server: $lost"
	((lost > 2))
}

restarted() {
	server_down && server_up 4
}

reads_block() {
	dd if="$dir/data" of=/dev/null bs=4K count=1 iflag=direct
}

# Something every other second for longer than the time-out.
stays() {
	local before i
	stat "$dir/data" > /dev/null
	before=$(closed)
	for ((i = 0; i < 7; i++)); do
		reads_block || return
		sleep 2
	done
	echo "closed: before $before, after $(closed)"
	(($(closed) == before)) && connections 1
}

"$GUEST_ROLE"
