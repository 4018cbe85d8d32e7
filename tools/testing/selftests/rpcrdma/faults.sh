#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the module survives when it gets no memory. Allocations that the module
# makes, or that others make for it, fail while a mount is made, during I/O, and during
# reconnects, on the client and on the server. A mount then soon
# succeeds or fails; an existing mount goes on and has the right data; nothing is left
# behind, and the module can be removed. The kernel must support failing allocations,
# and should have kmemleak. Without FULL=1 fewer intervals are tried, connections are cut less
# often, and NFSv3 only mounts.

. "$(dirname "$0")/lib.sh"
in_guests --needs checks --waits --pair --env WHERE="${WHERE-}"

# A connection that is given up while messages arrive is too much for rxe: in 6.12
# do_complete() of rxe_resp.c returns to RESPST_CHK_RESOURCE when it finds the queue
# pair in error, so that the packet is taken again, the last of a Send without any
# Receive, by which the kernel dies.
provider=${PROVIDER:-siw}

server() {
	if ! can_fail; then
		signal ready
		exit 0
	fi
	modprobe rpcrdma || exit
	serve 4
}

client() {
	local kind where slabs=(1 7 401 61) pages=(1 13)
	if ! can_fail; then
		skip "allocations that fail" "not in this kernel"
		finish
	fi
	modprobe rpcrdma
	begin
	[[ -z $FULL ]] || slabs=(1 3 7 29 61 127 401 211) pages=(1 3 13 41)
	for where in ${WHERE:-here on_server}; do
		check "$where: mounts, failslab" mounts "$where" failslab "${slabs[@]}"
		check "$where: mounts, fail_page_alloc" \
			mounts "$where" fail_page_alloc "${pages[@]}"
	done
	for where in ${WHERE:-here on_server}; do
		for kind in failslab fail_page_alloc; do
			check "$where, $kind: mount" mount_rdma 4.2 "$SERVER4" "$dir"
			# A client asks for pages for ACLs and callbacks alone.
			[[ $where = here && $kind = fail_page_alloc ]] ||
				during "$where, $kind: in the middle" \
					in_the_middle "$where" "$kind" reader
			during "$where, $kind: connections come back" \
				while_connecting "$where" "$kind"
			check "$where, $kind: unmount" umount "$dir"
			check "$where, $kind: nothing left" within 30 nothing_left
		done
		[[ -n $FULL ]] || continue
		check "$where, v3: mount" mount_rdma 3 "$SERVER4" "$dir"
		during "$where, v3: in the middle" \
			in_the_middle "$where" failslab reader
		[[ $where = on_server ]] || during "$where, v3: ACLs" \
			in_the_middle "$where" fail_page_alloc acl_reader
		check "$where, v3: unmount" umount "$dir"
		check "$where, v3: nothing left" within 30 nothing_left
	done
	end_unloaded
}

# With a few that fail, at another point each time. Of two allocations one is kmemleak's,
# which gets along without: the intervals are odd. None is too long to be met: a mount
# with NFSv3 makes over 250 allocations, and over 40 of pages, one with 4.2 over 500.
mounts() { # WHERE KIND INTERVAL...
	local interval vers=4.2 status failures
	for interval in "${@:3}"; do
		"$1" fail "$2" "$interval" 3 || return
		# Each failure can cost an attempt to connect, and the next waits up to a minute.
		timeout -s KILL $((180 * PATIENCE)) bash -c ". '$GUEST_LIB'
			mount_rdma '$vers' '$SERVER4' '$dir' retry=0"
		status=$?
		failures=$("$1" stop_failing "$2" 3)
		echo "v$vers, one of $interval, $failures times: status $status"
		((status == 0)) || is_mounted "$dir" && status=1
		((status < 124 && failures > 0)) || return
		! is_mounted "$dir" || { works && umount "$dir"; } || return
		within 30 nothing_left || return
		[[ $vers = 3 ]] && vers=4.2 || vers=3
	done
}

# The client has memory for as many RPCs as there were at once, and needs more when
# there are more; there all allocations fail for a while.
in_the_middle() { # WHERE KIND READER
	local failures i pids=() interval=17 status=0
	[[ $1 = on_server ]] || interval=1
	echo data > "$dir/data"
	"$1" fail "$2" "$interval" 1000000 || return
	for ((i = 0; i < 8; i++)); do
		start "$3"
	done
	sleep "$(for_a_while)"
	within 60 one_has_failed "$1" "$2"
	failures=$("$1" stop_failing "$2" 1000000)
	# What fails on the client is its own to mend.
	[[ $1 = on_server ]] || none_ended "${pids[@]}" || status=1
	kill -9 "${pids[@]}"
	echo "$failures failed"
	within 30 all_ended "${pids[@]}" || return
	((failures > 0 && status == 0))
}

# In virtual time readers begin at once, and would read all the time: each RPC has to be computed. So
# they read for a fifth of a second, and then not for one.
in_brief() {
	[[ -z $FULL ]] && virtual_time
}

for_a_while() {
	in_brief && echo 2 || echo 10
}

reader() {
	in_brief && exec "${tree[@]}" reads "$dir/data" 0.2
	small_reader
}

none_ended() { # PID...
	local pid
	for pid; do
		! ended "$pid" || { echo "a reader has ended"; return 1; }
	done
}

# Some readers take long to begin.
one_has_failed() { # WHERE KIND
	(($("$1" cat "/sys/kernel/debug/$2/times") < 1000000))
}

acl_reader() {
	exec /usr/bin/python3 -S "$SELFTESTS/tree.py" acls "$dir/data"
}

# Until attempts to connect have met it. Each takes hundreds of allocations; of pages
# some dozens, of which many are tried again one by one. So at first few fail, then more.
# In between nothing fails, and RPCs get through: no WRITE may take as long as a task that hangs.
while_connecting() { # WHERE KIND
	local i before failures=0 interval intervals=(331 61 13) cuts
	[[ $2 != fail_page_alloc ]] || intervals=(17 7 3)
	"$1" trace rpcrdma/rpcrdma_connect || return
	for interval in "${intervals[@]}"; do
		cuts=15
		[[ -n $FULL || $interval = "${intervals[-1]}" ]] || cuts=4
		for ((i = 0; i < cuts; i++)); do
			((i < 5)) || ! "$1" cannot_connect || break
			"$1" fail "$2" "$interval" 1000000 || return
			cut_connections
			# Some of the next ones last for so long that the client does not wait
			# before it connects again.
			rest 6
			failures=$((failures + $("$1" stop_failing "$2" 1000000)))
			before=$(replies)
			within 45 gone_on "$before" || { what_happened; listens; return 1; }
			listens || return
		done
		echo "one of $interval: $failures failed so far, $i times cut"
		! "$1" cannot_connect || return 0
	done
	return 1
}

# siw can lose its listener and tell nobody: see testing.rst.
listens() {
	[[ $provider != siw || -n $(on_server ss -Hltn 'sport = :20049') ]] && return
	echo "siw at the server does not listen any more: no client can connect until nfsd is restarted"
	return 1
}

cannot_connect() {
	grep "rpcrdma_connect: .* status=-12" "$tracing/trace"
}

"$GUEST_ROLE"
