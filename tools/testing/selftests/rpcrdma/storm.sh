#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a mount under load loses nothing, while jobs verify what they read and a
# program compares a file with its own copy:
#
# - connections break every few hundred Calls, on the client's side and on the server's;
# - an RDMA device is removed and comes back, again and again, on either side;
# - the server is stopped and started, again and again;
# - the server disappears, and comes back without its state (in life.sh it dies silently).
#
# Proves besides that nfsd can defer Calls, that mounts can be unmounted while they
# reconnect, and that the module cannot be removed while it is in use, but afterwards.

. "$(dirname "$0")/lib.sh"
in_guests --pair

provider=${PROVIDER:-siw}
rounds=3

# rxe of 6.12 may die of connections that are cut; faults.sh says how. Not all kernels
# have siw.
choose_provider() {
	[[ -n $PROVIDER ]] || modinfo -n siw > /dev/null || provider=rxe
	echo "# provider: $provider"
}

server() {
	choose_provider
	modprobe rpcrdma || exit
	frames_can_be_lost || exit
	serve 8
}

client() {
	choose_provider
	begin
	frames_can_be_lost || bail "no netem"
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir" nconnect=2
	check "the module stays" refuses
	check "server: the module stays" on_server refuses
	check "connections are traced" follow
	check "server: connections are traced" on_server follow
	if [[ -e /sys/kernel/debug/fail_sunrpc ]]; then
		stormy "connections break on the client" broken here client-disconnect
		stormy "connections break on the server" broken on_server server-disconnect
	else
		skip "connections break" "this kernel cannot break them"
	fi
	stormy "the client's device comes and goes" rounds_of here remove_device
	stormy "the server's device comes and goes" rounds_of on_server remove_device
	stormy "nfsd comes and goes" rounds_of on_server restart_nfsd
	stormy "the server dies and comes back" rounds_of on_server die_and_return
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	if [[ -e /sys/kernel/debug/fail_sunrpc ]]; then
		# nfsd does so for NFSv3 alone.
		check "v3: mount" mount_rdma 3 "$SERVER4" "$dir" timeo=100
		check "v3: requests are deferred" deferred
		check "v3: and after that" works
		check "v3: unmount" umount "$dir"
	else
		skip "requests are deferred" "this kernel has no way to have them so"
	fi
	unmounted_in_between
	end_unloaded
}

# Both programs run before, while and after the command does.
stormy() { # WHAT COMMAND...
	local jobs before
	rm -f /tmp/stop.jobs /tmp/jobs.well
	{ verifying && touch /tmp/jobs.well; } > /tmp/jobs.output 2>&1 &
	jobs=$!
	before=$failed
	during "$@"
	touch /tmp/stop.jobs
	check "$1: jobs that verify" jobs_end "$jobs"
	((failed == before)) || what_happened
}

follow() {
	trace_connections && trace rpcrdma/rpcrdma_{up,keepalive,call,retry}
}

# Until there is /tmp/stop.jobs.
verifying() {
	cat > /tmp/jobs <<- END
		[global]
		directory=$dir
		size=$(amount 16)M
		verify=crc32c
		verify_fatal=1
		bsrange=4k-1m
		blockalign=4k
		group_reporting
		[direct]
		rw=randrw
		direct=1
		numjobs=2
		[cached]
		rw=randrw
		fsync=16
	END
	local seed=${SEED:-$RANDOM}
	until [[ -e /tmp/stop.jobs ]]; do
		echo "seed $((++seed))"
		fio --output-format=terse --randseed="$seed" /tmp/jobs || return
	done
}

jobs_end() { # PID
	within 200 ended "$1" || { kill -9 "$1"; echo "still run"; return 1; }
	cat /tmp/jobs.output
	[[ -e /tmp/jobs.well ]]
}

# Every so many calls, where the kernel can do so; half as often is enough. How long
# that many calls last depends on the provider.
broken() { # WHERE FAULT
	local closed replies status often=300
	closed=$(closed) replies=$(replies)
	"$1" fail_every $often "$2" && sleep $((20 * PATIENCE)) &&
		within 100 closed_since "$closed" 2
	status=$?
	"$1" fail_every 0 "$2" && ((status == 0)) || return
	closed=$(($(closed) - closed)) replies=$(($(replies) - replies))
	echo "$closed connections closed, $replies replies"
	((closed >= 2 && closed * often * 2 >= replies))
}

# A Call that has to wait for what mountd says is put aside. If its connection is gone
# by then it is forgotten, else it is taken up again by any thread. Nobody writes:
# for a Call with pages, which cannot be put aside, nfsd ends the connection.
deferred() {
	local i pids=()
	on_server trace sunrpc/svc_defer{,_drop,_recv} || return
	echo data > "$dir/data"
	for ((i = 0; i < 4; i++)); do
		start small_reader
	done
	on_server fail_every 1 cache-wait
	for ((i = 0; i < 5; i++)); do
		on_server mountd_is_silent || break
		break_connections 1 || break
		on_server mountd_speaks || break
	done
	on_server killall -CONT rpc.mountd
	on_server fail_every 0 cache-wait
	kill -9 "${pids[@]}"
	within 30 all_ended "${pids[@]}" && ((i == 5))
}

mountd_is_silent() {
	: > "$tracing/trace"
	killall -STOP rpc.mountd && exportfs -f && within 30 traced svc_defer
}

mountd_speaks() {
	killall -CONT rpc.mountd && within 30 traced svc_defer_drop &&
		within 30 traced svc_defer_recv && return
	tail -n 20 "$tracing/trace"
	return 1
}

traced() { # EVENT
	grep -q " $1: " "$tracing/trace"
}

rounds_of() { # WHERE COMMAND
	local i before
	before=$(closed)
	for ((i = 0; i < rounds; i++)); do
		"$@" || return
		# Some work in between.
		within 60 gone_on "$(replies)" || return
	done
	(($(closed) >= before + rounds))
}

# A mount under load that is connecting again.
unmounted_in_between() {
	local versions=(3 4.2) options=("" -f -l) delays=(0 1.5 0.1 0.5) i
	local vers option delay
	for ((i = 0; i < 8 + $(amount 16); i++)); do
		vers=${versions[i % 2]} option=${options[i % 3]}
		delay=${delays[i / 2 % 4]}
		check "v$vers, umount${option:+ $option}, reachable $delay s after it is cut" \
			unmount_after "$vers" "$delay" "$option" || what_happened
	done
	check "in between: nothing left" within 60 nothing_left
}

# It has no connection when that begins, and can have one from DELAY seconds later on.
# A plain umount waits for nothing but what it has to write; it may find the mount in
# use, until those who use it are killed.
unmount_after() { # VERS DELAY OPTION
	local pids=() before status
	: > "$tracing/trace"
	mount_rdma "$1" "$SERVER4" "$dir" || return
	fill || return
	start direct_writer 64K
	start direct_reader 1M
	sleep 0.5
	before=$(closed)
	lossy 100 && cut_each && within 30 closed_since "$before"
	status=$?
	{ sleep "$2" && lossy 0; } &
	if [[ -n $3 ]]; then
		timeout $((60 * PATIENCE)) umount "$3" "$dir" || [[ $3 = -f ]] ||
			status=1
	fi
	kill -9 "${pids[@]}" 2> /dev/null
	echo "unmount, status $status"
	within 30 unmounts && echo "the others end" && within 30 all_ended "${pids[@]}" &&
		wait $! && echo "nothing is left" && within 60 nothing_left && ((status == 0))
}

unmounts() {
	! is_mounted "$dir" || umount "$dir"
}

"$GUEST_ROLE"
