#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what Sends and Receives that change while connected bring and cost (xcharext): Sends
# of a WRITE and a READ before and after, the memory of a connection at rest, where a server's
# Receives are small, grown, and after it was idle; that a peer without the extension and one
# with less room change nothing else; that a change meets lost connections and other windows;
# and that an administrator can ask for one.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

count=$SELFTESTS/count.py
ctl=$SELFTESTS/../../../../build/tools/rpcrdmactl
counting=
# A server's Receives at rest, if its client takes part.
rest=4096
small=8192
large=32768

server() {
	rdma_up rxe && largest_blocks || exit
	modprobe rxe_count
	# No lease that has to be renewed keeps a connection busy.
	LEASE=3600 server_up 4 && /usr/bin/python3 -S "$count" prepare /export || exit
	try_holes
	signal ready
	obey
}

client() {
	begin
	modprobe rpcrdma || bail "no module"
	! modprobe rxe_count || counting=1
	# What is up to 64 KiB goes by Send.
	check "threshold" set_parameter ddp_threshold 65536
	check "threshold of bodies" set_parameter special_threshold 131072
	fixed
	grows
	limited
	wished
	changes_under_load
	check "nothing left" within 30 nothing_left
	end_unloaded
}

show() {
	cat /sys/kernel/debug/rpcrdma/conn/*
}

# Sends per operation, at the end that sends the data. More operations could make the Receives
# larger while they are counted.
sends() { # READ|WRITE KIB NUMBER
	local end=client found
	[[ $1 = WRITE ]] || end=server
	rm -f /tmp/counts
	/usr/bin/python3 -S "$count" few "$dir" /tmp/counts "$1 $2 KiB" || return
	found=$(/usr/bin/python3 -S -c 'import json, sys
line = json.loads(open("/tmp/counts").read())
print(round(line[sys.argv[1]]["Sends"] / line["n"]))' "$end")
	cat /tmp/counts
	echo "$1 $2 KiB: $found Sends"
	[[ $found = "$3" ]]
}

counted() { # NAME READ|WRITE KIB NUMBER
	if [[ -n $counting ]]; then
		check "$1: $2 of $3 KiB takes $4 Sends" sends "$2" "$3" "$4"
	else
		skip "$1: $2 of $3 KiB takes $4 Sends" "rxe_count is for kernels with KUnit"
	fi
}

# Small messages, until no Receive is left that has another size.
drip_until() { # COMMAND...
	/usr/bin/python3 -S -c 'import os, sys
for i in range(100):
    os.utime(sys.argv[1])' "$dir/file" && "$@"
}

asked() {
	show | grep '^changes'
}

never_asked() {
	show | grep -E '^changes|XCH' && return 1
	return 0
}

shows_it() {
	"$ctl" show -d | grep -x '  extensions: xcharext'
}

# Neither end announces the extension, then only one.
fixed() {
	local end
	for end in both server client; do
		[[ $end = client ]] ||
			check "fixed, $end: not the server" on_server set_parameter grow 0
		[[ $end = server ]] || check "fixed, $end: not the client" set_parameter grow 0
		check "fixed, $end: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
		if [[ $end = both ]]; then
			at_rest=$(buffers bytes)
			at_rest_there=$(on_server buffers bytes)
		fi
		check "fixed, $end: data" write 16K 100
		sleep 5
		check "fixed, $end: all is as it was" both_are "$small" "$small"
		check "fixed, $end: nobody has asked" never_asked
		check "fixed, $end: nor the server" on_server never_asked
		if [[ $end = both ]]; then
			counted fixed WRITE 16 3
			counted fixed WRITE 64 9
			counted fixed READ 16 3
		fi
		check "fixed, $end: unmount" umount "$dir"
		check "fixed, $end: grow" set_parameter grow "$large"
		check "fixed, $end: grow at the server" on_server set_parameter grow "$large"
	done
}

grows() {
	check "growth: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	check "growth: small at first" both_are "$small" "$small" "$rest"
	check "growth: the extension is shown" shows_it
	check "growth: less memory than without" less_memory
	echo "# memory at rest: $at_rest + $at_rest_there without the extension," \
		"$(buffers bytes) + $(on_server buffers bytes) with it"
	check "growth: a few WRITEs change nothing" write 16K 10
	sleep 3
	check "growth: they have not" both_are "$small" "$small" "$rest"
	counted "at first" WRITE 4 2
	check "growth: WRITEs" within 60 work_until write 16K both_are "$large" "$small"
	check "growth: the data" run random data 7 60
	counted grown WRITE 16 1
	counted grown WRITE 64 3
	check "growth: READs" within 60 work_until read_back 16K both_are "$large" "$large"
	counted grown READ 16 1
	counted grown READ 64 3
	echo "# memory: grown $(buffers bytes) + $(on_server buffers bytes)"
	check "growth: what it takes" more_memory
	rests
	check "growth: again" within 60 work_until write 16K both_are "$large" "$small"
	check "growth: unmount" umount "$dir"
}

memory_is() { # HERE THERE
	echo "$(buffers bytes) $(on_server buffers bytes), should be $1 $2"
	[[ $(buffers bytes) = "$1" && $(on_server buffers bytes) = "$2" ]]
}

# 65 Receives of the server are smaller.
less_memory() {
	memory_is "$at_rest" $((at_rest_there - 65 * (small - rest)))
}

# 65 Receives at each end, and 64 Sends, of which 24 have a buffer at rest.
more_memory() {
	local more=$((65 * (large - small) + 64 * large - 24 * small))
	within 10 memory_is $((at_rest + more)) $((at_rest_there + more))
}

# Sends become smaller at once, Receives as messages come.
rests() {
	check "idle: a minute and a half" sleep 90
	check "idle: nobody sends large messages" within 30 send_small
	check "idle: Receives go as messages come" within 60 drip_until \
		both_are "$small" "$small" "$rest"
	# The last Sends that were in use are replaced when they have completed.
	check "idle: as much memory as at first" within 60 less_memory
	counted idle WRITE 16 5
}

send_small() {
	echo "$(buffers send) $(on_server buffers send)"
	[[ $(buffers send) = "$small" && $(on_server buffers send) = "$small" ]]
}

# The server has less room.
limited() {
	check "limited: grow at the server" on_server set_parameter grow 16384
	check "limited: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	check "limited: WRITEs" within 60 work_until write 16K both_are 16384 "$small"
	counted limited WRITE 16 2
	check "limited: READs" within 60 work_until read_back 16K both_are 16384 16384
	counted limited READ 16 2
	check "limited: unmount" umount "$dir"
	check "limited: no longer" on_server set_parameter grow "$large"
}

id() {
	basename /sys/kernel/debug/rpcrdma/conn/*
}

# What an administrator asks for.
wished() {
	check "wish: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	check "wish: too much" refuses_wish 1 receive-size=65536
	check "wish: no such connection" refuses_wish 4 receive-size=16384 999999
	check "wish: it can be asked for" "$ctl" set --id "$(id)" receive-size=16384 \
		peer-receive-size=32768
	check "wish: it is granted" within 60 drip_until sizes_are "$large" 16384
	counted wish WRITE 16 1
	check "wish: the server makes use of it" within 60 work_until read_back 16K \
		both_are "$large" 16384
	counted wish READ 16 2
	check "wish: less" "$ctl" set --id "$(id)" receive-size=8192
	check "wish: less is granted" within 60 drip_until sizes_are "$large" "$small"
	check "wish: the server sends no more" on_server sizes_are "$small" "$large"
	check "wish: it stays" sleep 90
	check "wish: it has stayed" both_are "$large" "$small"
	check "wish: unmount" umount "$dir"
}

refuses_wish() { # STATUS WISH [ID]
	local output code
	output=$("$ctl" set --id "${3-$(id)}" "$2" 2>&1)
	code=$?
	echo "$code $output"
	((code == $1))
}

# While connections break, and windows change.
changes_under_load() {
	local i
	check "load: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	start_work
	for ((i = 0; i < 6; i++)); do
		sleep 2
		set_parameter window $((i % 2 ? 64 : 8)) > /dev/null || return
		on_server set_parameter window $((i % 2 ? 8 : 64)) > /dev/null || return
		((i % 3)) || cut_connections
	done
	check "load: windows as before" set_parameter window 64
	check "load: and at the server" on_server set_parameter window 64
	touch /tmp/stop
	check "load: the same data here" ends_well "$worker"
	check "load: the same data there" same_there
	check "load: unmount" umount "$dir"
}

start_work() {
	rm -f /tmp/stop /tmp/output
	/usr/bin/python3 -S "$integrity" random "$dir/file" "${SEED:-5}" /tmp/stop \
		> /tmp/output 2>&1 &
	worker=$!
}

"$GUEST_ROLE"
