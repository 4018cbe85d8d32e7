#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what rpcrdmactl and the netlink interface tell of connections: without the
# module and without privileges; the same as debugfs and mountstats, with either version
# of the protocol; of the caller's network namespace alone; metrics that parsers take;
# connections that come up and go down, with the reason, and attempts that fail; messages out
# of a capture; that the module is unloaded while monitor and watch run.
# While connections are cut, they are dumped without end, on both sides: nothing is
# told twice, a dump has several parts, and nobody waits.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

# lib.sh has variables with the names "status" and "ask".
program=(/usr/bin/python3 "$SELFTESTS/status.py")
# Whoever has no privileges may not look into the tree.
ctl=/tmp/rpcrdmactl
cp "$SELFTESTS/../../../../build/tools/rpcrdmactl" "$ctl" || exit

server() {
	serve 4
}

client() {
	begin
	check "without the module" without_module
	modprobe rpcrdma || bail "no module"
	check "no connection" shows_none "$ctl"
	check "bad questions" "${program[@]}" refused
	check "module" "$ctl" show module
	check "devices" shows_device
	for version in 1 2; do
		in_version "$version"
	done
	notifications
	check "notifications: an attempt that is refused" refused_and_why
	cuts
	check "nothing left" within 30 nothing_left
	unloads
	end_unloaded
}

without_module() {
	local output code
	output=$("$ctl" show 2>&1)
	code=$?
	echo "$code $output"
	[[ $code = 3 && $output = "rpcrdmactl: the module is not loaded: modprobe rpcrdma" ]]
}

shows_none() { # COMMAND...
	local output
	output=$("$@" show -j) || return
	echo "$output"
	[[ $output = "[]" ]]
}

shows_device() {
	"$ctl" show devices && "$ctl" show devices | grep -q 'rxe0 *IB/RoCE *0 *yes *yes$'
}

in_version() { # VERSION
	check "version $1: set" set_parameter client_max_version "$1"
	check "version $1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "version $1: work" works_and_reads
	check "version $1: capture" captured "$1"
	check "version $1: as debugfs and mountstats" "${program[@]}" compare "$ctl"
	check "version $1: the same at the server" on_server "${program[@]}" compare "$ctl"
	check "version $1: metrics" "${program[@]}" metrics "$ctl"
	check "version $1: metrics of the mount" mount_speaks "$1"
	promtool_reads "version $1: promtool"
	check "version $1: table" "$ctl" show
	check "version $1: details" "$ctl" show -d
	check "version $1: which mount it is for" shown_with "$dir" \
		"$ctl" show
	check "version $1: which export it is for" on_server shown_with /export "$ctl" show
	check "version $1: watch" watches
	check "version $1: listener" on_server listens
	check "version $1: unmount" umount "$dir"
}

promtool_reads() { # NAME
	if type promtool > /dev/null 2>&1; then
		check "$1" says_nothing promtool check metrics
	else
		skip "$1" "promtool is not installed"
	fi
}

says_nothing() { # COMMAND...
	local output
	output=$("$ctl" metrics -f prometheus | "$@" 2>&1) || { echo "$output"; return 1; }
	echo "$output"
	[[ -z $output ]]
}

mount_speaks() { # VERSION
	local labels="mount=\"$dir\",peer=\"$SERVER4:20049\",protocol=\"rdma\""
	"$ctl" metrics > /tmp/metrics
	grep '^rpcrdma_mount_info' /tmp/metrics
	grep -qxF "rpcrdma_mount_info{$labels,version=\"$1\"} 1" /tmp/metrics
}

works_and_reads() {
	head -c 3M /dev/urandom > "$dir/data" && forget "$dir/data" &&
		cat "$dir/data" > /dev/null && ls "$dir" > /dev/null
}

# All that goes over the network in a moment is valid.
captured() { # VERSION
	local device
	device=$(net_device)
	rm -f /tmp/capture
	"${program[@]}" capture "$device" /tmp/capture &
	within 60 test -s /tmp/capture || return
	nap 1
	stat "$dir/missing"
	wait $!
	"$ctl" decode --pcap /tmp/capture > /tmp/decoded || return
	grep ' CALL ' /tmp/decoded
	grep -q ": version $1 .* xid" /tmp/decoded && ! grep wrong /tmp/decoded
}

# The line of a connection ends with what it is for.
shown_with() { # PATH COMMAND...
	"${@:2}" | tee /tmp/shown && grep -E " up .* $1\$" /tmp/shown
}

watches() {
	"$ctl" watch -n 2 -i 0.2 < /dev/null > /tmp/watched && cat /tmp/watched &&
		(($(grep -c "$SERVER4:20049" /tmp/watched) == 2))
}

listens() {
	"$ctl" show listeners && "$ctl" show listeners | grep -q ':20049 .* yes '
}

notifications() {
	local pid
	"$ctl" monitor -n 6 > /tmp/events &
	pid=$!
	nap 1
	check "notifications: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "no privileges" without_privileges
	check "another network namespace" elsewhere
	check "no such connection" no_such_connection
	check "notifications: cut" cut_once
	check "metrics: why the connection before was lost" tells_of_loss
	check "notifications: unmount" umount "$dir"
	check "notifications: told" within 30 ended "$pid"
	check "notifications: version, up, down and why" told
}

# One that lasts for less than five seconds lets the next wait for longer.
cut_once() {
	local before
	nap 6
	before=$(connects)
	cut_connections && within 60 connected_since "$before" && ls "$dir" > /dev/null
}

tells_of_loss() {
	"$ctl" show -d | grep '^  reconnects: 1$' || return
	"$ctl" metrics -o /tmp/metrics
	grep "^rpcrdma_reconnection_info{.*,role=\"client\",peer=\"$SERVER4:20049\",reason=\"..*\"} 1\$" \
		/tmp/metrics
}

told() {
	local events=(version up down version up down) i
	mapfile -t lines < /tmp/events
	printf '%s\n' "${lines[@]}"
	((${#lines[@]} == 6)) || return
	for i in "${!lines[@]}"; do
		[[ ${lines[i]} = "${events[i]} "*" client $CLIENT4:"*" - $SERVER4:20049 rxe0 version 2"* ]] ||
			return
	done
	[[ ${lines[0]} = *" (best)" && ${lines[2]} = *" after "*": "* &&
		${lines[5]} = *": closed by this side" ]]
}

nobody() { # COMMAND...
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$@"
}

without_privileges() {
	nobody "$ctl" show | tee /tmp/shown && grep -q "$SERVER4:20049" /tmp/shown
}

elsewhere() {
	ip netns add elsewhere && shows_none ip netns exec elsewhere "$ctl" &&
		ip netns del elsewhere
}

no_such_connection() {
	local output
	output=$("$ctl" show --id 1000000 2>&1)
	[[ $? = 4 && $output = "rpcrdmactl: no such connection in this network namespace" ]]
}

# It was never up, and this side has not closed it.
refused_and_why() {
	local pid
	timeout $((60 * PATIENCE)) "$ctl" monitor -n 1 > /tmp/event &
	pid=$!
	nap 1
	timeout $((60 * PATIENCE)) mount -t nfs \
		-o vers=4.2,proto=rdma,port=20050,retry=0 "$SERVER4:/" "$dir"
	within 30 ended "$pid" && cat /tmp/event &&
		grep -q "^down .* client .* - $SERVER4:20050 .* never up, .*: invalid service ID$" \
			/tmp/event
}

# Both notice that the module is gone, also if it comes again.
unloads() {
	local command
	for command in monitor "watch -i 1"; do
		until_end "$command" &
	done
	nap 2
	check "unloaded: unload" modprobe -r rpcrdma
	check "unloaded: load again" modprobe rpcrdma
	check "unloaded: while others ask" asked_meanwhile
	for command in monitor watch; do
		check "unloaded: $command ends" within 30 test -s "/tmp/$command.status"
		check "unloaded: $command says why" ended_unloaded "$command"
	done
}

# What any user may ask for must be there as long as it can be asked for. On one processor an
# answer hardly ever falls into the moment in which it is not; then this shows only that the module
# can be unloaded.
asked_meanwhile() {
	local asks i rc=0
	while :; do "$ctl" show module; done > /dev/null 2>&1 &
	asks=$!
	for i in 1 2 3 4; do
		modprobe -r rpcrdma && modprobe rpcrdma || rc=$?
	done
	kill "$asks"
	wait "$asks"
	return "$rc"
}

until_end() { # COMMAND
	local status name=${1%% *}
	# shellcheck disable=SC2086 # it has arguments
	"$ctl" $1 < /dev/null > /dev/null 2> "/tmp/$name.error"
	status=$?
	echo "$status" > "/tmp/$name.status"
}

ended_unloaded() { # COMMAND
	local status error
	status=$(< "/tmp/$1.status") error=$(< "/tmp/$1.error")
	echo "$status $error"
	[[ $status = 3 && $error = "rpcrdmactl: the module "* ]]
}

# Several connections, so that a dump has several parts.
cuts() {
	check "cuts: mount" mount_rdma 4.2 "$SERVER4" "$dir" nconnect=8
	check "cuts: work" works_and_reads
	begin_dump
	on_server begin_dump
	check "cuts: connections" break_connections "$(amount 6)"
	check "cuts: dumped here" end_dump
	check "cuts: dumped there" on_server end_dump
	check "cuts: work again" works_and_reads
	check "cuts: unmount" umount "$dir"
}

begin_dump() {
	"${program[@]}" dump /tmp/stop > /tmp/dumped 2>&1 &
	echo $! > /tmp/dumper
}

end_dump() {
	touch /tmp/stop
	within 30 ended "$(< /tmp/dumper)" && cat /tmp/dumped &&
		grep -q '^[1-9][0-9]* dumps' /tmp/dumped
}

"$GUEST_ROLE"
