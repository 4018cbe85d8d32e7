#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what rpcrdmactl trace and set do: an archive with the events and the state, of
# client and server, without names of files; what others trace goes on; nothing is left at
# the end, after a signal, an error, or the next run if it was killed; settings that are
# listed, changed, refused, and followed by connections as the program says.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits --pair

# Whoever has no privileges may not look into the tree.
ctl=/tmp/rpcrdmactl
cp "$SELFTESTS/../../../../build/tools/rpcrdmactl" "$ctl" || exit
PATH=/tmp:$PATH
archive=/tmp/trace.tar.gz
unpacked=/tmp/unpacked
# The name of a file and of a program, which is in no archive.
secret=quite-a-secret

server() {
	serve 4
}

client() {
	begin
	check "trace: without the module" says 3 \
		"the module is not loaded: modprobe rpcrdma" "$ctl" trace
	check "set: without the module" says 3 "the module is not loaded: modprobe rpcrdma" "$ctl" set
	modprobe rpcrdma || bail "no module"
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "trace: no privileges" says 1 "only root may trace" nobody "$ctl" trace -o /tmp/none
	check "trace: no place for the archive" says 1 "/missing/file: No such file or directory" \
		"$ctl" trace -o /missing/file
	check "trace: an error leaves nothing" untouched
	records
	ends_early
	settings_change
	check "unmount" umount "$dir"
	unfit
	end_unloaded
}

nobody() { # COMMAND...
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$@"
}

says() { # STATUS TEXT COMMAND...
	local output status expected=$1 text=$2
	shift 2
	output=$("$@" 2>&1)
	status=$?
	echo "$status $output"
	[[ $status = "$expected" && $output = "rpcrdmactl: $text" ]]
}

# ---- what is recorded

works_secretly() {
	head -c 3M /dev/urandom > "$dir/$secret" && forget "$dir/$secret" &&
		cp /bin/cat "/tmp/$secret" && "/tmp/$secret" "$dir/$secret" > /dev/null &&
		ls "$dir" > /dev/null
}

# No instance, no event that is on, no part of an archive.
untouched() {
	local left=("$tracing"/instances/* ./rpcrdma-trace-* "$archive".* /tmp/none*)
	printf '%s\n' "${left[@]}"
	[[ ! -e $tracing/instances/rpcrdmactl && ${#left[@]} = 4 &&
		$(< "$tracing/events/rpcrdma/rpcrdma_tx/enable") = 0 ]]
}

while_it_works() { # COMMAND...
	local pid status
	"$@" > /tmp/said 2>&1 &
	pid=$!
	within 30 test -e "$tracing/instances/rpcrdmactl/tracing_on" || return
	cut_connections && works_secretly || return
	wait "$pid"
	status=$?
	cat /tmp/said
	return "$status"
}

unpack() {
	rm -rf "$unpacked" && mkdir "$unpacked" && tar -xzf "$archive" -C "$unpacked" \
		--strip-components=1 && find "$unpacked" -type f | sort
}

has_all() {
	local file
	for file in README about.json trace.txt log.txt \
		{before,after}/{connections,devices,listeners,module}.json \
		{before,after}/{connections,settings,metrics,mounts,server}.txt; do
		[[ -e $unpacked/$file ]] || { echo "no $file"; return 1; }
	done
	/usr/bin/python3 -S -c 'import json, sys
for name in sys.argv[1:]: json.load(open(name))' "$unpacked"/*.json "$unpacked"/*/*.json
}

tells() {
	cat "$unpacked/about.json"
	grep -q '"version": 2' "$unpacked/before/connections.json" &&
		grep -q "$SERVER4:20049" "$unpacked/after/connections.txt" &&
		grep -q '^window  *64 ' "$unpacked/before/settings.txt" &&
		grep -q 'proto=rdma' "$unpacked/before/mounts.txt" &&
		grep -q '^# EOF' "$unpacked/after/metrics.txt" &&
		grep -q '"module-version": "0' "$unpacked/about.json"
}

# Each leg of what happened meanwhile.
has_events() { # EVENT...
	local event
	for event; do
		grep -m 1 " $event: " "$unpacked/trace.txt" || { echo "no $event"; return 1; }
	done
}

keeps_secrets() {
	! grep -r "$secret" "$unpacked" && ! grep -r "$dir" "$unpacked" && ! grep -r /export "$unpacked"
}

only_owner() {
	[[ $(stat -c %a "$archive") = 600 ]]
}

goes_on() {
	[[ $(< "$tracing/events/rpcrdma/rpcrdma_wc/enable") = 1 ]] &&
		! grep -q 'rpcrdma_tx:' "$tracing/trace"
}

records() {
	trace rpcrdma/rpcrdma_wc
	check "trace: while it works" while_it_works "$ctl" trace -t 15 -o "$archive"
	check "trace: unpack" unpack
	check "trace: all files are there" has_all
	check "trace: what they tell" tells
	check "trace: its events" has_events rpcrdma_{tx,rx,cm,connect,up,lost,chunks} \
		xprtrdma_createmrs xprtrdma_mr_{fastreg,reminv} xprt_transmit rpc_stats_latency
	check "trace: chunks and why" says_why
	check "trace: no names of files, places and programs" keeps_secrets
	check "trace: only its owner may read it" only_owner
	check "trace: nothing is left" untouched
	check "trace: what others trace goes on" goes_on
	echo 0 > "$tracing/events/rpcrdma/rpcrdma_wc/enable"
	used_meanwhile > /tmp/meanwhile 2>&1 &
	check "trace: at the server" on_server server_records
	check "trace: at the server: the client goes on" wait $!
}

# The largest WRITEs and READs have a chunk, and what is small has none.
says_why() {
	local large='[0-9]* (ddp-threshold)' small='0 (small)' text
	for text in "item=$large result=$small avoid=0x0 chunks=READ" \
		"item=$small result=$large avoid=0x0 chunks=WRITE" \
		"item=$small result=$small avoid=0x0 chunks="; do
		grep -m 1 " rpcrdma_chunks: .* $text\$" "$unpacked/trace.txt" || return
	done
}

# A new connection, and Calls.
used_meanwhile() {
	sleep 2
	cut_connections && many_messages
}

server_records() {
	local pid
	"$ctl" trace -t 10 -o "$archive" > /tmp/said 2>&1 &
	pid=$!
	within 30 test -e "$tracing/instances/rpcrdmactl/tracing_on" || return
	wait "$pid" || return
	unpack && has_all && has_events rpcrdma_{request,connect,up,serve,rx,tx} &&
		grep ' rpcrdma_request: .* kept pending=1$' "$unpacked/trace.txt" &&
		grep -q 'rdma 20049' "$unpacked/before/server.txt" &&
		[[ ! -e $tracing/instances/rpcrdmactl ]] && keeps_secrets
}

# ---- it ends before its time

begin_trace() {
	rm -f "$archive" /tmp/recording*
	until_its_end > /dev/null 2>&1 &
	within 30 test -e "$tracing/instances/rpcrdmactl/events/rpcrdma/enable"
}

# bash lets a background process ignore SIGINT.
until_its_end() {
	env --default-signal=INT "$ctl" trace -t 300 -o "$archive" > /tmp/said 2>&1 &
	echo $! > /tmp/recording
	wait $!
	echo $? > /tmp/recording.status
}

ends_by() { # SIGNAL STATUS
	kill -s "$1" "$(< /tmp/recording)" && within 30 test -s /tmp/recording.status || return
	cat /tmp/said /tmp/recording.status
	[[ $(< /tmp/recording.status) = "$2" ]]
}

ends_early() {
	local signal
	for signal in INT:130 TERM:143 HUP:129; do
		check "trace: begin" begin_trace
		check "trace: a second one" says 1 "another rpcrdmactl trace is running" \
			"$ctl" trace -o /tmp/none
		check "trace: SIG${signal%:*}" ends_by "${signal%:*}" "${signal#*:}"
		check "trace: SIG${signal%:*}: the archive is there" unpack
		check "trace: SIG${signal%:*}: it is whole" has_all
		check "trace: SIG${signal%:*}: nothing is left" untouched
	done
	check "trace: begin once more" begin_trace
	check "trace: killed" ends_by KILL 137
	check "trace: the next one goes on" "$ctl" trace -t 0.1 -o "$archive"
	rm -f "$archive".*
	check "trace: and leaves nothing" untouched
}

# ---- settings

settings_change() {
	local name value
	"$ctl" set > /tmp/settings
	check "set: list" grep '^window  *64  *64  *3-16384  *messages  *both  *at once$' /tmp/settings
	check "set: JSON" bash -c "'$ctl' set -j | python3 -S -m json.tool"
	check "set: no privileges" says 1 "window: only root may set it" nobody "$ctl" set window=32
	check "set: who may not set may list" nobody "$ctl" set
	while read -r name value _; do
		check "set: $name is $value" value_of "$name" "$value"
		check "set: $name to what it is" prints "$name: $value, as before" \
			"$ctl" set "$name=$value"
	done < <(tail -n +2 /tmp/settings)
	check "set: window" prints "window: 128, before 64; connections that are up follow at once: 1" \
		"$ctl" set window=128
	check "set: connections have followed" within 10 window_is 128
	check "set: several" prints "window: 64, before 128; \
connections that are up follow as the peer sends: 1
ddp_threshold: 1024, before 16384; for new connections; those that are up keep the old value: 1" \
		"$ctl" set window=64 ddp_threshold=1024
	check "set: back" "$ctl" set ddp_threshold=16384
	check "set: one is wrong" says 2 "keepalive: x is not a number" "$ctl" set window=16 keepalive=x
	check "set: nothing was changed" value_of window 64
	check "set: messages" many_messages
	check "set: connections have followed back" within 10 window_is 64
	check "set: at the server" on_server "$ctl" set max_req_size=16384
	check "set: at the server: it is so" on_server value_of max_req_size 16384
	check "set: at the server: back" on_server "$ctl" set max_req_size=8192
}

prints() { # TEXT COMMAND...
	local output
	output=$("${@:2}" 2>&1) || return
	echo "$output"
	[[ $output = "$1" ]]
}

value_of() { # NAME VALUE
	local file
	for file in "$parameters/$1" /proc/sys/sunrpc/{,svc_rdma/}"$1"; do
		[[ -e $file ]] || continue
		[[ $(< "$file") = "$2" ]]
		return
	done
	return 1
}

many_messages() {
	(cd "$dir" && touch {1..60} && rm {1..60})
}

window_is() { # VALUE
	"$ctl" show -j | python3 -S -c 'import json, sys
for c in json.load(sys.stdin):
    if c["credits"]["window"] != int(sys.argv[1]): sys.exit(str(c["credits"]))' "$1"
}

# ---- a device that cannot be used

shape=/sys/module/rxe_shape/parameters/shape

# Without iWARP this adapter's queues are too short for a server.
unfit() {
	if ! on_server modprobe rxe_shape > /dev/null; then
		skip "unfit device" "rxe_shape is for kernels with KUnit"
		return
	fi
	check "unfit device: there is one" on_server becomes_unfit
	check "unfit device: no mount" refused 4.2 "$dir"
	check "unfit device: the event says why" on_server says_unfit
}

becomes_unfit() {
	trace rpcrdma/rpcrdma_unfit && within 30 nothing_left && echo irdma-x722 > "$shape" &&
		"$ctl" show devices
}

says_unfit() {
	local why
	why=$("$ctl" show -j devices | python3 -S -c 'import json, sys
print(json.load(sys.stdin)[0]["server-unfit"])')
	echo rxe > "$shape"
	echo 0 > "$tracing/events/rpcrdma/rpcrdma_unfit/enable"
	cat "$tracing/trace"
	grep " rpcrdma_unfit: rxe0 as server: $why\$" "$tracing/trace"
}

"$GUEST_ROLE"
