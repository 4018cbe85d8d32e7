#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a hard mount under load survives a network that is away for 90 seconds, in
# both versions of the protocol and with nconnect=4: each connection is lost once and comes
# back by itself once, every program goes on, the data is the same at both ends, and no task
# hangs in the kernel. Programs go past the page cache: who waits there can be killed, and so
# does not count as hung, however long the network is away. Then programs write through it and
# flush: they cannot be killed, and so may wait a minute longer than the network is away.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits --pair

outage=90
connections=4
# More than connections, so that each of these always has a Call under way.
programs=$((FULL ? 8 : 6))
hung=/proc/sys/kernel/hung_task_timeout_secs
# Less than the 60 s after which an RPC begins to be late.
usual_wait=45
# 150 s: a task that flushes waits for the 90 s without a network, then up to 30 s for the client's next
# attempt to connect, and then until the pages of others are written.
flush_wait=$((outage + 60))

server() {
	finds_hung_tasks "$usual_wait" || exit
	modprobe rpcrdma && frames_can_be_lost || exit
	serve 8
}

client() {
	begin
	if ! finds_hung_tasks "$usual_wait" || ! modprobe rpcrdma || ! frames_can_be_lost; then
		bail "cannot begin"
	fi
	[[ -e $hung ]] || skip "no task hangs" "this kernel finds no task that hangs"
	blackout 2 direct
	blackout 1 direct
	check "flushes may wait" finds_hung_tasks "$flush_wait"
	check "server: likewise" on_server finds_hung_tasks "$flush_wait"
	blackout 2 cached
	blackout 1 cached
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	end
}

# A kernel that somebody else has built may have none of that.
finds_hung_tasks() { # SECONDS
	[[ ! -e $hung ]] || echo "$1" > "$hung"
}

blackout() { # VERSION direct|cached
	local what="version $1, $2" pids=() i
	check "$what: set" set_knob rdma_max_version "$1"
	check "$what: mount" mount_rdma 4.2 "$SERVER4" "$dir" "nconnect=$connections"
	check "$what: $connections connections" within 30 connections "$connections"
	check "$what: spoken" speaks "$1"
	trace rpcrdma/rpcrdma_{up,lost} && on_server trace rpcrdma/rpcrdma_{up,lost}
	rm -f /tmp/stop /tmp/stop.rest /tmp/output.*
	each_transport > /tmp/before
	ls /sys/kernel/debug/rpcrdma/conn > /tmp/conns
	# Not by check, which would start them in a shell of its own.
	for ((i = 0; i < programs; i++)); do
		/usr/bin/python3 -S "$integrity" "$2" "$dir/$i" $((${SEED:-1} + i)) /tmp/stop \
			> "/tmp/output.$i" 2>&1 &
		pids+=($!)
	done
	check "$what: each connection carries load" within 60 loaded /tmp/before
	check "$what: the network is away for $outage s" network_away
	each_transport > /tmp/after
	check "$what: each connection goes on" within 120 loaded /tmp/after
	touch /tmp/stop
	for ((i = 0; i < programs; i++)); do
		check "$what: program $i: the same data here" ends_well "${pids[i]}" "/tmp/output.$i"
		check "$what: program $i: the same data there" same_data_of "$i"
	done
	kill -9 "${pids[@]}" 2> /dev/null
	# Time for another reset, if there is to be one.
	sleep 20
	check "$what: each connection came back once" came_back_once
	check "$what: $connections connections again" connections "$connections"
	check "$what: each connection was lost once" lost_once
	check "$what: server: $connections new connections" on_server comes_up
	check "$what: still spoken" speaks "$1"
	check "$what: unmount" umount "$dir"
	check "$what: nothing left" within 30 nothing_left
}

# Then programs on the first connections that come back do little until the last one is there.
network_away() {
	away || return
	[[ -n $FULL ]] || : > /tmp/stop.rest
	sleep "$outage" && back
}

# For each transport of the mount: how often it has connected, and its Replies.
each_transport() {
	awk '$1 == "xprt:" && $2 == "rdma" { print $5, $9 }' /proc/self/mountstats
}

# Each has got 20 Replies since what is in FILE.
loaded() { # FILE
	each_transport | paste -d ' ' "$1" - | tee /tmp/loaded
	awk -v n="$connections" '$4 >= $2 + 20 { ok++ } END { exit ok != n }' /tmp/loaded
}

same_data_of() { # PROGRAM
	on_server /usr/bin/python3 -S "$integrity" same "/export/$1" \
		"$(tail -n 1 "/tmp/output.$1")"
}

came_back_once() {
	each_transport | paste -d ' ' /tmp/before - | tee /tmp/came
	awk -v n="$connections" '$3 == $1 + 1 { ok++ } END { exit ok != n || NR != n }' /tmp/came
}

# So many have come up since trace() was called. Attempts meanwhile never do.
comes_up() {
	grep 'rpcrdma_\(up\|lost\): ' "$tracing/trace"
	(($(came_up | wc -l) == connections))
}

came_up() {
	sed -n 's/.* rpcrdma_up: conn=\([0-9]*\) .*/\1/p' "$tracing/trace"
}

# All of the first ones, and none of those that have come up since.
lost_once() {
	local id
	comes_up || return
	for id in $(< /tmp/conns); do
		(($(lost "$id") == 1)) || return
	done
	for id in $(came_up); do
		(($(lost "$id") == 0)) || return
	done
}

lost() { # NUMBER
	grep -c " rpcrdma_lost: conn=$1 " "$tracing/trace"
}

"$GUEST_ROLE"
