#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a server lets many clients in at once, and rejects none: also if it has no
# memory for all of them, or its adapter no memory regions, when the others wait until some are gone;
# and if many come and say nothing. Clients are scripted peers (tools/testing/peer). And that 32 mounts with nconnect=4,
# made at the same time, work; that all memory is given back; and that connections without work use
# no processor, and not more memory than Documentation/sizing.rst says.

. "$(dirname "$0")/lib.sh"
# The kernel's own transport has no such counters.
[[ -z ${INTREE-} ]] || exit 4
in_guests --waits ${FULL:+--memory 3072} --env CROWD="${CROWD-}"
crowd_program=$SELFTESTS/../../../../build/peer/peer
export RPCRDMACTL=$SELFTESTS/../../../../build/tools/rpcrdmactl

besides=()
alone() {
	local all=${CROWD:-$((FULL ? 500 : 96))}
	export CROWD=24
	# Both are more than the 64 new ones that sunrpc of 6.12 has at a time. That of 6.1 ends
	# connections when there are more than 20 for each thread.
	if ! { rdma_up rxe && largest_blocks && server_up $((FULL ? 32 : 8)); }; then
		bail "no server"
	fi
	check "program" has_test comes_back_at_once
	# The most that is held counts from the beginning: so this comes first.
	check "the server has room for some clients" set_parameter memory 1
	check "1 MiB means 16" limit_is $((16 * 1024 * 1024))
	check "$CROWD clients wait for each other" crowd waits_for_memory
	check "some had to wait" held_back_more
	check "no more was held than may be" most_is_at_most $((16 * 1024 * 1024))
	check "all is given back at first" within 60 nothing_held
	local waited
	waited=$(budget held-back)
	CROWD=$all
	check "the server has room for $CROWD clients" set_parameter memory 2048
	check "$CROWD clients come at once, and come back at once" crowd comes_back_at_once
	check "the budget was used" most_is_at_least $((CROWD * 1024 * 1024))
	check "all is given back" within 60 nothing_held
	CROWD=80
	check "$CROWD silent clients do not keep others out" crowd passes_by_silent_ones
	check "nothing had to wait for memory" held_back "$waited"
	check "all is given back again" within 60 nothing_held
	check "memory as before" set_parameter memory 0
	with_few_regions

	check "a server's Receives begin small" set_parameter grow 32768
	# A connection has this from its beginning: later it would ask once more before.
	check "idle: the client need not ask" set_parameter keepalive 600
	mounts=$((FULL ? 32 : 8))
	check "$mounts mounts with nconnect=4 at once" mount_all
	check "each has its connections" all_connected
	check "data by all of them" at_once use_one
	idle
	holds_as_sizing_says
	check "unmount" umount_all
	check "nothing left" within 60 nothing_left
	check "a smaller window" set_parameter window 16
	check "a smaller window: $mounts mounts" mount_all
	check "a smaller window: each has its connections" all_connected
	as_sizing_says "a smaller window" 16
	check "a Receive of a server holds 1.8 KiB for a Call" each_holds 48
	check "a smaller window: unmount" umount_all
	check "a smaller window: nothing left" within 60 nothing_left
	check "a window as before" set_parameter window 64
	check "all is given back in the end" within 60 nothing_held
	check "stop the server" server_down
	check "remove the module" within 10 rmmod rpcrdma
	finish
}

limit_is() { # BYTES
	echo "limit: $(budget limit)"
	[[ $(budget limit) = "$1" ]]
}

most_is_at_most() { # BYTES
	echo "most: $(budget most), should be $1 at most"
	(($(budget most) <= $1))
}

# A server's connection takes 64 regions of an adapter like erdma, which has 2048 of them.
with_few_regions() {
	local shape=/sys/module/rxe_shape/parameters/shape
	if ! modprobe rxe_shape; then
		skip "few regions" "rxe_shape is for kernels with KUnit"
		return
	fi
	CROWD=40
	check "few regions: such an adapter" eval "echo erdma > $shape"
	check "few regions: $CROWD clients wait for each other" crowd waits_for_regions
	check "few regions: all is given back" within 60 nothing_held
	check "few regions: rxe as before" eval "echo rxe > $shape"
}

has_test() { # TEST
	timeout 10 "$crowd_program" --gtest_list_tests | grep -q "$1"
}

crowd() { # TEST
	timeout $((120 * PATIENCE)) "$crowd_program" --gtest_filter="crowd.$1"
}

# One number of the module's budget.
budget() { # NAME
	"$RPCRDMACTL" show module -j |
		/usr/bin/python3 -S -c 'import json, sys
print(json.load(sys.stdin)["memory"][sys.argv[1]])' "$1"
}

nothing_held() {
	[[ $(budget held) = 0 ]] || { echo "held: $(budget held)"; false; }
}

most_is_at_least() { # BYTES
	echo "most: $(budget most)"
	(($(budget most) >= $1))
}

held_back() { # COUNT
	echo "held back: $(budget held-back)"
	[[ $(budget held-back) = "$1" ]]
}

held_back_more() {
	echo "held back: $(budget held-back), most: $(budget most)"
	(($(budget held-back) > 0))
}

# Call a function with the number of each mount. Return: whether all succeeded.
at_once() { # FUNCTION
	local i pids=() status=0
	for ((i = 1; i <= mounts; i++)); do
		"$1" "$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	return $status
}

mount_all() {
	local i device
	device=$(net_device)
	for ((i = 1; i <= mounts; i++)); do
		ip addr replace "198.51.100.$i/24" dev "$device" || return
	done
	within 10 have_gids || return
	at_once mount_one
}

# rxe has one for each address, a moment later.
have_gids() {
	local found
	found=$(cat /sys/class/infiniband/rxe0/ports/1/gids/* 2> /dev/null |
		grep -c ':ffff:c633:64')
	echo "GIDs: $found"
	((found >= mounts))
}

mount_one() { # NUMBER
	mount_rdma 3 "198.51.100.$1" "/mnt/crowd$1" nconnect=4
}

all_connected() {
	echo "connections: $(grep -l '^role: client' /sys/kernel/debug/rpcrdma/conn/* | wc -l)"
	within 30 connected $((4 * mounts))
}

# nconnect opens further connections when there is work for them.
connected() { # COUNT
	local i
	for ((i = 1; i <= mounts; i++)); do
		ls "/mnt/crowd$i" > /dev/null || return
	done
	(($(grep -l '^role: client' /sys/kernel/debug/rpcrdma/conn/* | wc -l) >= $1))
}

use_one() { # NUMBER
	dd if=/dev/urandom of="/tmp/crowd$1" bs=64K count=8 status=none &&
		cp "/tmp/crowd$1" "/mnt/crowd$1/data$1" &&
		sync "/mnt/crowd$1/data$1" &&
		cmp "/tmp/crowd$1" "/export/data$1"
}

# No message in so many seconds.
quiet() {
	local before
	before=$(messages)
	sleep 3
	[[ $(messages) = "$before" ]]
}

# The client asks nothing within the time that keepalive leaves it.
idle() {
	local before doorbells after rung
	check "idle: what was under way is over" within 30 quiet
	# After a minute sizes are to be as at the beginning.
	sleep 70
	before=$(messages) doorbells=$(counter doorbells)
	check "idle: what workers do is seen" trace workqueue/workqueue_execute_start
	sleep 20
	check "idle: no worker of the module runs" no_work
	after=$(messages) rung=$(counter doorbells)
	check "idle: no message in 20 s ($before, $after)" test "$before" = "$after"
	check "idle: no doorbell in 20 s" test "$doorbells" = "$rung"
	check "idle: as before" set_parameter keepalive 30
	as_sizing_says idle 64
}

# Buffers by Documentation/sizing.rst: 24 Sends, and one Receive more than the window has; at a
# server small ones, and one buffer more. With rtrext both have what others grow to, and one more.
as_sizing_says() { # WHEN WINDOW
	local client=$((($2 + 1) * 8 + 24 * 8)) server=$((($2 + 1) * 4 + 8 + 24 * 8))
	! both_have_rtrext || client=$((($2 + 2 + 24) * 32)) server=$((($2 + 2 + 24) * 32))
	check "$1: a client's connections have $client KiB" all_have client $((client * 1024))
	check "$1: a server's connections have $server KiB" all_have server $((server * 1024))
	besides[$2]=$(held_besides)
}

# What the module holds for a server's connection besides its buffers: the least of all, in bytes.
held_besides() {
	"$RPCRDMACTL" show -j | /usr/bin/python3 -S -c 'import json, sys
print(min(conn["held-memory"] - conn["buffer-memory"]
          for conn in json.load(sys.stdin) if conn["role"] == "server"))'
}

# All of it by Documentation/sizing.rst, while a connection is at rest.
holds_as_sizing_says() {
	check "idle: 1.1 MiB of a server's connection is a reserve" all_hold server reserve 11
	# Buffers of rtrext take more: as_sizing_says() looks at these.
	both_have_rtrext && return
	check "idle: a client's connections hold 0.8 MiB" all_hold client held-memory 8
	check "idle: a server's connections hold 1.8 MiB" all_hold server held-memory 18
}

# Of each connection with this role; structs may be larger on a kernel with checks.
all_hold() { # ROLE NAME TENTHS_OF_MIB
	"$RPCRDMACTL" show -j | /usr/bin/python3 -S -c 'import json, sys
role, name, tenths = sys.argv[1:]
found = [conn.get(name, conn.get("memory", {}).get(name))
         for conn in json.load(sys.stdin) if conn["role"] == role]
mib = int(tenths) / 10 * 2 ** 20
print(f"from {min(found)} to {max(found)}, should be about {mib:.0f}")
sys.exit(not all(0.9 * mib <= each <= 1.1 * mib for each in found))' "$1" "$2" "$3"
}

# So many Receives more. Structs may be larger on a kernel with checks, and each has a few of these.
each_holds() { # RECEIVES
	local each=$(((besides[64] - besides[16]) / $1))
	echo "window of 64: ${besides[64]}, of 16: ${besides[16]}, each Receive: $each"
	((each >= 1800 && each < 2800))
}

# Buffers of each connection with this role.
all_have() { # ROLE BYTES
	local files found
	mapfile -t files < <(grep -l "^role: $1" /sys/kernel/debug/rpcrdma/conn/*)
	found=$(sed -n 's/^buffers: .* bytes //p' "${files[@]}" | sort | uniq -c)
	echo "connections and bytes: $found"
	((${#files[@]} >= 4 * mounts)) && [[ $found = *" $2" && $found != *$'\n'* ]]
}

umount_all() {
	local i
	for ((i = 1; i <= mounts; i++)); do
		umount "/mnt/crowd$i" || return
	done
}

"$GUEST_ROLE"
