#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a mount survives failures of the server and of the network: the
# server dies silently and comes back without its state; the cable is pulled at
# either end; the server gets another hardware address, and moves to another IP
# address and back. Meanwhile a program compares a file with its own copy. At
# the end both sides have the same data.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

MOVED4=192.0.2.11

server() {
	# An address goes without those that were added after it.
	echo 1 > /proc/sys/net/ipv4/conf/all/promote_secondaries
	frames_can_be_lost || exit
	serve 4
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir"
	during "the server dies and comes back" on_server die_and_return
	during "the server dies for longer than RC tries" on_server die_and_return 12
	during "cable pulled at the client" pull_cable
	during "cable pulled at the server" on_server pull_cable
	trace rpcrdma/rpcrdma_lost
	during "the server's hardware address changes" \
		on_server change_hardware_address
	check "the server's hardware address changes: noticed" within 30 \
		grep 'rpcrdma_lost: .* unreachable' "$tracing/trace"
	during "the server moves" move "$SERVER4" "$MOVED4"
	during "the server moves back" move "$MOVED4" "$SERVER4"
	check "unmount" umount "$dir"
	check "nothing left" within 30 nothing_left
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	end
}

# The packets that rxe could not send have ended its queue pairs; see lib.sh.
pull_cable() {
	local device
	device=$(net_device) &&
		ip link set "$device" down && sleep 3 && rdma_down rxe &&
		ip link set "$device" up && within 30 carrier "$device" && rdma_up rxe
}

# And it says so, as one that takes over another's address does.
change_hardware_address() {
	local device
	device=$(net_device) &&
		echo 1 > /proc/sys/net/ipv4/conf/all/arp_notify &&
		ip link set "$device" address 52:54:00:c0:ff:ee
}

# The new address is there, the old one is not, and the client is told.
move() { # FROM TO
	local xprt
	on_server change_address "$@" || return
	for xprt in $(transports); do
		within 60 tell "$xprt/dstaddr" "$2" || { stacks; return 1; }
	done
	within 60 connected_to "$2"
}

# Who is in this module or in sunrpc, for those who want to know why.
stacks() {
	local task
	for task in /proc/[0-9]*; do
		grep -qE 'rpcrdma|sunrpc' "$task/stack" &&
			echo "$(< "$task/comm"):" && cat "$task/stack"
	done 2> /dev/null
	cat /sys/kernel/sunrpc/xprt-switches/switch-*/xprt-*-rdma/xprt_state
}

# Without the device in between, rxe would send farewells from an address that is
# not there, for which it gives up the connection manager's queue pair.
change_address() { # FROM TO
	local device
	device=$(net_device) && rdma_down rxe &&
		ip addr add "$2/24" dev "$device" &&
		ip addr del "$1/24" dev "$device" && rdma_up rxe
}

connected_to() { # ADDRESS
	grep -qs "^connection: .* - $1:20049" /sys/kernel/debug/rpcrdma/conn/*
}

"$GUEST_ROLE"
