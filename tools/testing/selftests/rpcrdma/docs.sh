#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the commands in the documentation work: those that are typed at "server#", at
# "client#" and at "machine#", which is both, in the order of the pages.
# tools/testing/docs/texts.py finds them.
#
# The class of a block of commands says what has to be when it begins: "unmounted",
# "silent" (nfsd does not listen on RDMA), "no-device", "grown" (the share is mounted, and both
# sides can change buffers while connected), "rules" (there is a firewall). Without a class the
# share is mounted, and nfsd listens.
#
# Names in the texts stand for others: see in_guest(). A command whose program is not
# installed is skipped.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --waits --pair

share=/mnt
texts=$SELFTESTS/../../docs/texts.py
PATH=$(realpath "$SELFTESTS/../../../../build/tools"):$PATH

server() {
	known_server && serve 4
}

client() {
	local lines line place block state where text last='' page=''
	begin
	if ! known_server || ! pipefs_up || ! modprobe rpcrdma; then
		bail "cannot begin"
	fi
	mapfile -t lines < <(/usr/bin/python3 "$texts" client server machine)
	((${#lines[@]} > 20)) || bail "no commands: ${lines[*]}"
	for line in "${lines[@]}"; do
		IFS=$'\t' read -r place block state where text <<< "$line"
		if [[ $block != "$last" ]]; then
			if [[ ${place%%:*} != "$page" ]]; then
				page=${place%%:*}
				check "$page: as at first" as_at_first
			fi
			last=$block
			check "$place: the state before: $state" begin_block "$state"
		fi
		if [[ $state = rules ]] && ! nft list ruleset > /dev/null 2>&1; then
			skip "$place: $where: $text" "the kernel has no rules"
		elif [[ $where = machine ]]; then
			# README.md is about one machine.
			[[ $page = README.md ]] ||
				command_of_text "$place" server "$text" typed
			command_of_text "$place" client "$text" typed
		else
			command_of_text "$place" "$where" "$text" typed
		fi
	done
	check "unmount" unmounted
	end_unloaded
}

known_server() {
	echo "$SERVER4 server" >> /etc/hosts
}

# What one page demands of hosts is not for the next.
as_at_first() {
	unmounted && no_authentication && on_server no_authentication
}

no_authentication() {
	sysctl -w net.rpcrdma.client_auth=off net.rpcrdma.server_auth=off
}

# ---- the state in which a block begins

begin_block() { # STATE
	case $1 in
	rules)
		! nft list ruleset > /dev/null 2>&1 ||
			{ on_server filtered && filtered && on_server listens && mounted; }
		;;
	unmounted)
		unmounted && on_server listens
		;;
	silent)
		unmounted && on_server falls_silent
		;;
	no-device)
		unmounted && rdma_down rxe
		;;
	grown)
		unmounted && set_parameter grow 32768 &&
			on_server set_parameter grow 32768 && mounted
		;;
	*)
		on_server listens && mounted
		;;
	esac
}

unmounted() {
	! is_mounted "$share" || umount "$share"
}

mounted() {
	is_mounted "$share" ||
		mount -t nfs -o proto=rdma,port=20049 "$SERVER4:/" "$share"
	ls "$share"
}

# As Debian's own file of rules has it.
filtered() {
	nft "add table inet filter; add chain inet filter input { type filter hook input priority 0; }"
}

listens() {
	has_text /proc/fs/nfsd/portlist $'\nrdma 20049' ||
		echo rdma 20049 > /proc/fs/nfsd/portlist
}

# What is exported stays. There is nothing to reclaim.
falls_silent() {
	rpc.nfsd 0 && rpc.nfsd --grace-time 10 --lease-time 10 4 &&
		echo Y > /proc/fs/nfsd/v4_end_grace && ! grep rdma /proc/fs/nfsd/portlist
}

# ---- one command

# The text as it is for this guest. The server exports /export as the root of NFSv4, and
# there is no statd.
in_guest() { # COMMAND
	local text=$1
	text=${text//eth0/$(net_device)}
	text=${text//sudo /}
	# Both hosts have the same key.
	text=${text//head -c 32 \/dev\/urandom/printf %032d 7}
	[[ $text != *"--id 7"* ]] || text=${text//--id 7/--id $(first_id)}
	if [[ $text = *vers=3* ]]; then
		text=${text//vers=3/vers=3,nolock}
	else
		text=${text//server:\/export/server:\/}
	fi
	echo "$text"
}

first_id() {
	rpcrdmactl show -j | python3 -S -c 'import json, sys
print(json.load(sys.stdin)[0]["id"])'
}

# What goes on until somebody ends it is ended, or goes on beside the next command. doctor
# may warn: no guest's module is signed. What an unmounted share had may take a moment to go.
typed() { # COMMAND
	local text status
	text=$(in_guest "$1")
	case $text in
	tcpdump*)
		many_files &
		timeout 5 bash -c "$text" < /dev/null > /tmp/decoded
		wait $!
		grep -m 3 ' CALL' /tmp/decoded
		;;
	"timeout "*tcpdump*)
		many_files &
		bash -c "${text/timeout 10/timeout 5}" < /dev/null
		wait $! && has_packets /tmp/file.pcap
		;;
	"rpcrdmactl monitor" | "rpcrdmactl watch")
		timeout 3 bash -c "$text" < /dev/null
		status=$?
		((status == 124))
		;;
	"rping -s"*)
		setsid timeout 60 bash -c "$text" < /dev/null > /tmp/rping 2>&1 &
		nap 2
		;;
	"rpcrdmactl doctor")
		bash -c "$text"
		status=$?
		((status == 0 || status == 5))
		;;
	"modprobe -r"*)
		within 10 bash -c "$text"
		;;
	*)
		bash -c "$text" < /dev/null
		;;
	esac
}

# What there is to capture. Of a burst a slow tcpdump may miss most.
many_files() {
	local i
	nap 1
	for ((i = 0; i < 50; i++)); do
		[[ ! -e $share/missing-$i ]] || return
		nap 0.05
	done
}

# More than a header, which a capture of nothing has as well.
has_packets() { # FILE
	local size
	size=$(stat -c %s "$1") && echo "$size octets" && ((size > 24))
}

"$GUEST_ROLE"
