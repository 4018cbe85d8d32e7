# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Every test here sources this first. It moves the script into guests, and
# prints TAP for it.
#
#	. "$(dirname "$0")/lib.sh"
#	in_guests --pair		# or nothing, for one guest
#	server() { ...; }		# run in the server
#	client() { check "name" command...; finish; }
#	"$GUEST_ROLE"
#
# Started on a host, a script restarts itself through tools/testing/guest/guest,
# whose options in_guests takes. $KERNEL and $INTREE choose the kernel and whose
# transport runs; see guest --help. Without $KERNEL, tools/testing/guest/choose chooses it.
# $SLOW divides the amount of work, $PATIENCE multiplies time-outs; pace() has their values.
# $VIRTUAL is the seed of a run in virtual time (Documentation/testing.rst). $CPUS is the
# number of processors of a guest, instead of guest's default. $OUT is a directory that
# keeps the logs, also of a run that passes. With $FULL, tests also do things that take
# long and show little more. $PARAMETERS are parameters that the module is loaded with, such as
# rtrext=1; $CLIENT_PARAMETERS and $SERVER_PARAMETERS are those of one guest.

SELFTESTS=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
integrity=$SELFTESTS/integrity.py
# -S: to look for other people's modules takes longer than the rest of Python's beginning.
tree=(/usr/bin/python3 -S "$SELFTESTS/tree.py")
dir=/mnt/nfs
other=/mnt/other
apart4=192.0.2.3
parameters=/sys/module/rpcrdma/parameters
tracing=/sys/kernel/tracing
provider=${PROVIDER:-rxe} # or siw; see rdma_up
ran=0 failed=0

# SLOW and PATIENCE for a kernel: checkers take time, and emulation takes more. The machine
# may have other work. With FULL=1 there is more where that takes least. Whether Debian's kernel is
# emulated its guest knows.
pace() { # KERNEL
	case $1 in
	stock*) echo 0 3 ;;
	uml-[0-9]*) echo 1 2 ;;
	uml-debug*) [[ -n ${FULL-} ]] && echo 2 3 || echo 3 3 ;;
	*) echo 8 3 ;;
	esac
}

# Where Debian's kernel is emulated, it does as much as one with checks; with FULL=1 all of it.
settle_pace() {
	((SLOW == 0)) || return
	SLOW=1
	[[ -n $FULL ]] || ! has_text /proc/cpuinfo "QEMU TCG CPU" || SLOW=8
}

# --shared is for a test that others may precede and follow in the same guests: see 'run' and
# 'together'. --needs is for one that would skip itself on other kernels than those that 'choose'
# has for that word; it counts if no KERNEL is named. --waits is for one that mostly waits: it
# runs in virtual time if the kernel and the host have that.
in_guests() { # [--shared] [--needs WORD] [--waits] [OPTION OF guest]...
	local slow patience virtual=() needs=selftests
	[[ ${1-} != --shared ]] || shift
	if [[ -z ${GUEST_ROLE-} ]]; then
		if [[ ${1-} = --needs ]]; then
			needs=$2
			shift 2
		fi
		if [[ -z ${KERNEL-} ]]; then
			KERNEL=$("$SELFTESTS/../../guest/choose" "$needs") || exit
			export KERNEL
		fi
		read -r slow patience < <(pace "$KERNEL")
		if [[ ${1-} = --waits ]]; then
			shift
			if [[ $KERNEL = uml* && -z ${VIRTUAL-} ]]; then
				VIRTUAL=${SEED:-1} virtual=(--or-real-time)
			fi
		fi
		exec "$SELFTESTS/../../guest/guest" \
			${VIRTUAL:+--virtual-time "$VIRTUAL"} "${virtual[@]}" \
			--env KERNEL="$KERNEL" --env SLOW="${SLOW:-$slow}" --env SEED="${SEED-}" \
			--env FULL="${FULL-}" ${CPUS:+--cpus "$CPUS"} ${OUT:+--out "$OUT"} \
			--env FILTER="${FILTER-}" --env CLIENT_FILTER="${CLIENT_FILTER-}" \
			--env SERVER_FILTER="${SERVER_FILTER-}" --env PROVIDER="${PROVIDER-}" \
			--env CLIENT_PARAMETERS="${PARAMETERS-} ${CLIENT_PARAMETERS-}" \
			--env SERVER_PARAMETERS="${PARAMETERS-} ${SERVER_PARAMETERS-}" \
			--env PATIENCE="${PATIENCE:-$patience}" "$@" "$(realpath "$0")"
	fi
	# shellcheck source=tools/testing/guest/guest-lib.sh
	. "$GUEST_LIB"
	settle_pace
	settle_parameters
	[[ $GUEST_ROLE = server ]] || echo "TAP version 13"
}

# What the module is loaded with. A guest that checks much takes as long for an answer as one
# that is far away, and then the module does not use RDMA for large Calls. Tests that count
# must not depend on that.
settle_parameters() {
	local known options=$CLIENT_PARAMETERS word
	[[ ! -e /run/settled ]] && : > /run/settled || return 0
	[[ $GUEST_ROLE != server ]] || options=$SERVER_PARAMETERS
	known=$(modinfo -p rpcrdma 2> /dev/null)
	for word in $options; do
		[[ $known = *"${word%%=*}:"* ]] || bail "the module has no parameter ${word%%=*}"
	done
	[[ $known != *stream_from:* ]] || options="stream_from=0 $options"
	mkdir -p /etc/modprobe.d &&
		echo "options rpcrdma $options" > /etc/modprobe.d/rpcrdma_tests.conf
}

# One test: the command succeeds. If it fails, its output is shown.
check() { # NAME COMMAND...
	local output
	output=$("${@:2}" 2>&1)
	found "$1" $? "$output" "${@:2}"
}

# The same of what has been done already. A subshell takes a guest longer than this.
found() { # NAME STATUS OUTPUT COMMAND...
	ran=$((ran + 1))
	if (($2 == 0)); then
		echo "ok $ran - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $ran - $1"
	echo "# status $2 of: ${*:4}"
	[[ -z $3 ]] || echo "# ${3//$'\n'/$'\n# '}"
	return 1
}

skip() { # NAME REASON
	ran=$((ran + 1))
	echo "ok $ran - $1 # SKIP $2"
}

# End the script: the plan, and whether anything failed.
finish() {
	echo "1..$ran"
	exit $((failed > 0))
}

# Nothing further makes sense.
bail() { # REASON
	echo "Bail out! $*"
	exit 1
}

# N divided by $SLOW, but at least 1.
amount() { # N
	echo $(($1 < SLOW ? 1 : $1 / SLOW))
}

# What has begun at BEGIN has taken less than SECONDS, or than more of them where the machine may have
# other work.
in_time() { # BEGIN SECONDS
	local took=$((SECONDS - $1)) most=$(($2 * PATIENCE))
	! virtual_time || most=$2
	echo "after $took s, may take $most"
	((took < most))
}

# The command succeeds within SECONDS, on a kernel that is not slow.
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1 * PATIENCE))
	shift
	until "$@"; do
		((SECONDS < end)) || return
		nap "$glance"
	done
}

# Serve until the client signals 'done', and do what it asks with on_server.
serve() { # [THREADS [SIZE]]
	rdma_up "$provider" && answer_late && largest_blocks && server_up "$@" || exit
	try_holes
	signal ready
	obey
}

# nfsd of Linux 6.1 loses data of a tmpfs that follows a hole, when a READ begins within
# a page of the hole: whatever the transport, so TCP is asked. Where it is so, files
# that integrity.py works on have no holes.
try_holes() {
	[[ $(uname -r) = 6.1.* ]] || return 0
	local mount=/mnt/holes
	mkdir -p "$mount" && dd if=/dev/urandom of=/export/holes bs=4096 seek=1 count=3 &&
		mount -t nfs -o vers=3,proto=tcp,mountproto=tcp,nolock \
			"$SERVER4:/export" "$mount" &&
		dd if="$mount/holes" of=/tmp/holes bs=8192 count=1 skip=2048 \
			iflag=direct,skip_bytes && umount "$mount" || return
	cmp -i 2048:0 -n 8192 /export/holes /tmp/holes || signal no-holes
	rm /export/holes
} > /dev/null 2>&1

# rsize and wsize of 1 MiB, whatever memory the guest has.
largest_blocks() {
	nfsd_loaded &&
		echo 1048576 > /proc/fs/nfsd/max_block_size
}

# Tests ask often, and in a guest it takes long to start a program. So this starts none.
obey() {
	local ask name
	local -A heard
	until [[ -e $GUEST_SHARED/done ]]; do
		for ask in "$GUEST_SHARED"/ask.*; do
			name=${ask##*/ask.}
			[[ -z ${heard[$name]-} && -e $ask ]] || continue
			heard[$name]=1
			(eval "$(< "$GUEST_SHARED/command.$name")") \
				> "$GUEST_SHARED/answer.$name" 2>&1
			echo $? > "$GUEST_SHARED/status.$name"
			signal "answered.$name"
		done
		nap "$glance"
	done
}

# Run a command in the server: one of its programs, or a function of the script. What it
# prints is text.
on_server() { # COMMAND...
	# In virtual time programs go on while this one waits.
	local name=$BASHPID-$EPOCHREALTIME text glance=0.2
	echo "${@@Q}" > "$GUEST_SHARED/command.$name"
	signal "ask.$name"
	await "answered.$name" $((300 * PATIENCE)) || return
	IFS= read -rd '' text < "$GUEST_SHARED/answer.$name"
	printf %s "$text"
	return "$(< "$GUEST_SHARED/status.$name")"
}

# The client's first steps.
begin() {
	rdma_up "$provider" || bail "no RDMA device"
	await ready || bail "no server"
	if [[ -e $GUEST_SHARED/no-holes ]]; then
		echo "# no holes in files: nfsd of this kernel loses data behind them"
		export NO_HOLES=1
	fi
}

end() {
	groups_went
	leave
}

# The other guest need not wait any more.
leave() {
	signal 'done'
	finish
}

both_have_rtrext() {
	[[ $CLIENT_PARAMETERS = *rtrext=1* && $SERVER_PARAMETERS = *rtrext=1* ]]
}

# A run with rtrext at both ends would show nothing if it were not used.
groups_went() {
	! both_have_rtrext || [[ ! -e /sys/kernel/debug/rpcrdma/totals ]] ||
		check "Calls by groups of Sends" test "$(counter 'messages XMTREQ' sent)" -gt 0
}

# The same, and the module leaves nothing in either guest.
end_unloaded() {
	groups_went
	check "remove the module" within 30 rmmod rpcrdma
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	check "server: remove the module" on_server within 30 rmmod rpcrdma
	end
}

# A counter in the module's totals: its first number, or that after WORD. These kinds have no
# line until there is one.
counter() { # NAME [WORD]
	local without_line=
	case $1 in
	"messages "* | "refused "* | "errors "*) without_line=0 ;;
	esac
	figure /sys/kernel/debug/rpcrdma/totals "$@"
}

# The same in the line of this name of a file. It fails if there is none, or no number. It
# starts no program: tests ask often, and in a guest that takes long.
figure() { # FILE NAME [WORD]
	local -a lines value
	local line i found=${without_line-}
	mapfile -t lines < "$1" || return
	for line in "${lines[@]}"; do
		[[ $line = "$2: "* ]] || continue
		read -ra value <<< "${line#"$2: "}"
		found=
		[[ -n ${3-} ]] || found=${value[0]}
		for ((i = 0; i + 1 < ${#value[@]}; i++)); do
			[[ ${value[i]} != "${3-}" ]] || found=${value[i + 1]}
		done
		break
	done
	[[ $found =~ ^-?[0-9]+$ ]] ||
		complain "$1: no number of \"$2\"${3:+ after \"$3\"}" || return
	echo "$found"
}

# Messages of all connections, both ways.
messages() {
	sed -n 's/^messages [^:]*: sent \([0-9]*\) received \([0-9]*\)$/\1 \2/p' \
		/sys/kernel/debug/rpcrdma/totals | awk '{ sum += $1 + $2 } END { print sum }'
}

# Workers have run since 'trace workqueue/workqueue_execute_start', and of the module's none but FUNCTION.
no_work() { # [FUNCTION]
	echo 0 > "$tracing/events/workqueue/workqueue_execute_start/enable"
	grep -q "workqueue_execute_start:" "$tracing/trace" || complain "nothing was seen" || return
	! grep "function rpcrdma_" "$tracing/trace" | grep -v "function ${1:-none} " | head -20 |
		grep .
}

# No connection is left, nor what it had. All but the first two are counted until they
# are freed, whether or not a connection still knows them.
nothing_left() {
	local conns=(/sys/kernel/debug/rpcrdma/conn/*) name
	[[ ! -e ${conns[0]} ]] && (($(counter connections open) == 0)) || return
	for name in "connections not freed" regions "receive buffers" "send buffers" \
		"callbacks under way"; do
		(($(counter "$name") == 0)) || return
	done
}

# The transport that is loaded is the kernel's, not ours.
kernels_own() {
	[[ -e /sys/module/rpcrdma && ! -e /sys/module/rpcrdma/version ]]
}

# Show what the program prints, as subtests. It is killed, with status 124, if it prints no
# line for SECONDS.
lively() { # SECONDS PROGRAM...
	local lines program line silent status
	exec {lines}< <(exec "${@:2}")
	program=$!
	while :; do
		IFS= read -rt "$1" -u "$lines" line
		silent=$?
		((silent == 0)) || break
		echo "    $line"
	done
	((silent <= 128)) || kill -9 "$program"
	wait "$program" 2> /dev/null
	status=$?
	exec {lines}<&-
	((silent <= 128)) || return 124
	return "$status"
}

# I/O without OPEN waits until nobody can reclaim anything. No client has anything to reclaim, but a
# kernel that keeps no record of clients does not know.
end_grace() {
	echo Y > /proc/fs/nfsd/v4_end_grace || within 30 grep -q Y /proc/fs/nfsd/v4_end_grace
}

# Tests of tools/testing/peer, as subtests of one more. If one fails, how connections
# came and went is shown.
peer_tests() { # FILTER
	local status peer=$SELFTESTS/../../../../build/peer/peer
	check "program" timeout 10 "$peer" --gtest_list_tests || return
	trace_connections
	echo "# Subtest: ${peer##*/}"
	lively $((200 * PATIENCE)) "$peer" --gtest_filter="$1"
	status=$?
	ran=$((ran + 1))
	if ((status == 0)); then
		echo "ok $ran - ${peer##*/}"
	else
		failed=$((failed + 1))
		sed 's/^/# /' "$tracing/trace"
		echo "not ok $ran - ${peer##*/} # status $status"
	fi
	echo 0 > "$tracing/events/enable"
}

# A mount on DIRECTORY fails soon; what it said goes to /tmp/refused. One attempt of
# mount(8): more of them would only take longer.
refused() { # VERS DIRECTORY [ADDRESS]
	local begin=$SECONDS output status
	output=$(timeout $((60 * PATIENCE)) bash -c ". '$GUEST_LIB'
		mount_rdma '$1' '${3:-$SERVER4}' '$2' retry=0" 2>&1)
	status=$?
	echo "status $status after $((SECONDS - begin)) s: $output" | tee /tmp/refused
	((status != 0 && status != 124)) && in_time "$begin" 30 && ! is_mounted "$2"
}

# The program ends well, and the server has the file that it should have left. Its
# checksum is in /tmp/FILE.content.
run() { # WHAT FILE ARGUMENT...
	local output content
	output=$(/usr/bin/python3 -S "$integrity" "$1" "$dir/$2" "${@:3}") || {
		echo "$output"
		return 1
	}
	content=${output##*$'\n'}
	sync -f "$dir"
	on_server /usr/bin/python3 -S "$integrity" same "/export/$2" "$content" || return
	echo "$content" > "/tmp/$2.content"
}

# When nfsd has been restarted, the NFS client writes again what it has not committed. It does
# so even over what a program has written past the page cache since, up to Linux 7.3 and with
# the kernel's own transport, too. fsync() waits until all is committed.
sync_first() { # COMMAND...
	unset SYNC_FIRST
	[[ $* != *restart_nfsd* && $* != *die_and_return* ]] || export SYNC_FIRST=1
}

# The program runs before, while and after the command does.
during() { # WHAT COMMAND...
	local pid before
	rm -f /tmp/stop /tmp/stop.rest /tmp/output
	sync_first "${@:2}"
	/usr/bin/python3 -S "$integrity" random "$dir/file" "${SEED:-$ran}" /tmp/stop \
		> /tmp/output 2>&1 &
	pid=$!
	sleep 1
	check "$1" "${@:2}"
	before=$(replies)
	check "$1: goes on" within 60 gone_on "$before"
	touch /tmp/stop
	check "$1: the same data here" ends_well "$pid"
	check "$1: the same data there" same_there
}

# Wait for SECONDS. Programs of integrity.py that go on until /tmp/stop do little meanwhile, except
# in the last second: what comes next finds them at work, and with $FULL all of this.
rest() { # SECONDS
	[[ -n $FULL ]] || : > /tmp/stop.rest
	sleep $(($1 - 1))
	rm -f /tmp/stop.rest
	sleep 1
}

# The last events that are traced, here and there, and who listens.
what_happened() {
	local where
	for where in here on_server; do
		echo "# events, $where:"
		"$where" tail -n 60 "$tracing/trace" | sed 's/^/# /'
		"$where" ss -Htlne | sed 's/^/# /'
	done
}

gone_on() { # BEFORE
	(($(replies) >= $1 + 20))
}

# Replies that this client's transports have got, whatever module they are of.
replies() {
	awk '$1 == "xprt:" && $2 == "rdma" { n += $9 } END { print n + 0 }' \
		/proc/self/mountstats
}

ends_well() { # PID [OUTPUT]
	within 90 ended "$1" || { kill -9 "$1"; echo "still runs"; return 1; }
	cat "${2:-/tmp/output}"
	grep -q '^[0-9a-f]\{8\}-[0-9]*$' "${2:-/tmp/output}"
}

ended() { # PID
	[[ ! -e /proc/$1 || $(< "/proc/$1/stat") = *') Z '* ]]
}

same_there() {
	on_server /usr/bin/python3 -S "$integrity" same /export/file \
		"$(tail -n 1 /tmp/output)"
}

# siw of 6.12 accepts a connection, and only then takes the socket over from the handshake. It
# does not see what a client sends in between, until more comes. So what a server sends is out
# a moment later.
lateness() {
	[[ $provider != siw || $GUEST_ROLE != server ]] || echo delay 1ms
}

answer_late() {
	[[ -z $(lateness) ]] || frames_can_be_lost
}

# The queueing discipline is there from the beginning: while one replaces another
# packets are refused, and rxe takes that for the end of a queue pair, the one of
# the connection manager included, which only a new device brings back.
frames_can_be_lost() {
	# shellcheck disable=SC2046 # several words, or none
	tc qdisc replace dev "$(net_device)" root netem loss 0% $(lateness)
}

lossy() { # PERCENT
	# shellcheck disable=SC2046
	tc qdisc change dev "$(net_device)" root netem loss "$1%" $(lateness)
}

lose() { # SECONDS
	lossy 100 && sleep "$1" && lossy 0
}

# siw of 6.12 dies if a peer connects to a device that goes. So nothing that is sent leaves
# this guest meanwhile, neither the end of the old connections nor an answer to a new one.
device_down() {
	local peers=("$CLIENT4" "$CLIENT6") peer status
	if [[ $provider != siw ]]; then
		rdma_down "$provider"
		return
	fi
	[[ $GUEST_ROLE = server ]] || peers=("$SERVER4" "$SERVER6")
	for peer in "${peers[@]}"; do
		ip route add blackhole "$peer" || return
	done
	# siw accepts what has connected already. If it does not, a kernel that dies now has its
	# reason in its log; most live.
	sleep 1
	within 5 all_accepted ||
		echo "# the device goes while connections are not accepted" |
		tee /dev/kmsg
	rdma_down siw
	status=$?
	for peer in "${peers[@]}"; do
		ip route del blackhole "$peer" || return
	done
	return $status
}

# Nobody waits in the queue of a listener.
all_accepted() {
	! ss -Hlt | grep -v '^LISTEN *0 '
}

remove_device() {
	device_down && sleep 2 && rdma_up "$provider"
}

restart_nfsd() {
	server_down && sleep 1 && server_up 4
}

# Nothing that the server says arrives any more, not even its farewell.
die_and_return() { # [SECONDS]
	lossy 100 && server_down && within 30 nothing_left && sleep "${1:-1}" &&
		server_up 4 && lossy 0
}

# Every sunrpc transport of ours: its directory in sysfs.
transports() {
	ls -dv /sys/kernel/sunrpc/xprt-switches/switch-*/xprt-*-rdma
}

# So many connections are open.
connections() { # COUNT
	grep ^connections: /sys/kernel/debug/rpcrdma/totals
	(($(counter connections open) == $1))
}

closed() {
	counter connections closed
}

closed_since() { # BEFORE [COUNT]
	(($(closed) >= $1 + ${2:-1}))
}

carrier() { # DEVICE
	[[ $(< "/sys/class/net/$1/carrier") = 1 ]]
}

# No frame gets through, either way, from now on; and no longer.
away() {
	on_server lossy 100 && lossy 100
}

back() {
	lossy 0 && on_server lossy 0
}

# Every connection of ours is cut: who sets the address of a transport, be it the
# same, disconnects it.
cut_connections() {
	local transport all
	all=$(transports) || return
	for transport in $all; do
		tell "$transport/dstaddr" "$SERVER4" || return
	done
}

# The same, and one that is locked is tried again, no other: a connection that has just been
# made anew may stay. A transport may go by itself meanwhile. One without a connection, perhaps of
# an earlier mount, may be locked for minutes while it connects: it is left alone.
cut_each() {
	local transport all
	all=$(transports) || return
	for transport in $all; do
		within 30 cut_one "$transport" || return
	done
}

cut_one() { # TRANSPORT
	! grep -qsw CONNECTED "$1/xprt_state" || tell "$1/dstaddr" "$SERVER4"
}

here() { # COMMAND...
	"$@"
}

# The module stays while it is used.
refuses() {
	local users
	users=$(cat /sys/module/rpcrdma/refcnt) || return
	echo "$users users"
	((users > 0)) && ! rmmod rpcrdma && [[ -e /sys/module/rpcrdma ]]
}

# Programs in the background, to be killed; the array pids gets theirs.
start() { # COMMAND...
	"$@" > /dev/null 2>&1 &
	pids+=($!)
	disown
}

direct_writer() { # SIZE
	exec dd if=/dev/zero of="$dir/direct-$1" bs="$1" count=100000 oflag=direct
}

direct_reader() { # SIZE
	exec dd if="$dir/data" of=/dev/null bs="$1" iflag=direct
}

small_reader() {
	exec "${tree[@]}" reads "$dir/data"
}

waits() { # PID
	[[ $(< "/proc/$1/stat") = *') D '* ]]
} 2> /dev/null

all_wait() { # PID...
	local pid
	for pid; do
		waits "$pid" || return
	done
}

all_ended() { # PID...
	local pid
	for pid; do
		ended "$pid" || return
	done
}

# These files, which are written back, leave the page cache, so who reads them asks the server.
# /proc/sys/vm/drop_caches would forget all programs, too, which guests then read again.
forget() { # FILE...
	local file
	for file; do
		dd if="$file" iflag=nocache count=0 status=none || return
	done
}

# From /tmp/data to the file, or back; and what the server has of it.

write_direct() { # SIZE COUNT
	dd if=/tmp/data of="$dir/file" bs="$1" count="$2" oflag=direct
}

read_direct() { # SIZE COUNT
	dd if="$dir/file" of=/tmp/back bs="$1" count="$2" iflag=direct &&
		cmp -n $(($1 * $2)) /tmp/data /tmp/back
}

checksum() { # OCTETS
	head -c "$1" /export/file | cksum
}

server_has() { # OCTETS
	[[ $(on_server checksum "$1") = $(head -c "$1" /tmp/data | cksum) ]]
}

fill() {
	dd if=/dev/urandom of="$dir/data" bs=1M count=8 oflag=direct
}

works() {
	echo "works $ran" > "$dir/after" && sync -f "$dir" &&
		[[ $(on_server cat /export/after) = "works $ran" ]]
}

same_data() {
	local here there
	there=$(on_server sha256sum /export/data) || return
	here=$(dd if="$dir/data" bs=1M iflag=direct status=none | sha256sum) || return
	echo "here $here, there $there"
	[[ ${here%% *} = "${there%% *}" ]]
}

# Nobody uses a memory region.
all_free() {
	local conns=(/sys/kernel/debug/rpcrdma/conn/*)
	cat "${conns[@]}"
	awk '/^regions:/ { if ($2 != $4) bad = 1 } END { exit bad }' "${conns[@]}"
}

can_fail() {
	modprobe "$provider" || modprobe "rdma_$provider" || return
	[[ -e /sys/kernel/debug/failslab/require-start &&
		-e /sys/kernel/debug/fail_page_alloc/require-start ]]
}

# First and last address of the module's functions.
text() {
	awk '$4 == "[rpcrdma]" && tolower($2) == "t" { print $1 }' /proc/kallsyms |
		sort | sed -n '1p; $p'
}

# Where the functions of siw under which nothing may fail begin, and where the one behind them does;
# nothing without siw. If siw_connect() fails the server stops listening, see testing.rst; if
# siw_mr_add_mem() does, siw_alloc_mr() of 6.12 leaks its page list.
spared_of_siw() {
	awk '$4 == "[siw]" { print $1, $3 }' /proc/kallsyms | sort | awk '
		BEGIN {
			count = split("siw_connect siw_accept siw_create_listen siw_mr_add_mem " \
				      "siw_create_qp", names, " ")
		}
		found == 4 && !end && $1 != begun { end = $1 }
		$2 == names[found + 1] {
			begun = $1
			if (!found++)
				print begun
		}
		END {
			print end
			exit NR && found < count
		}'
}

# Where what fail() asks for is, found once: there are many names to go through.
whose=() spared=()
find_functions() {
	local ends
	((${#whose[@]} == 0)) || return 0
	ends=$(spared_of_siw) ||
		{ echo "siw has its functions in another order: too many would be spared"; return 1; }
	mapfile -t spared <<< "$ends"
	mapfile -t whose <<< "$(text)"
	((${#whose[@]} == 2))
}

# Of the allocations with this module on the stack, so many, of each INTERVAL one.
fail() { # KIND INTERVAL TIMES
	local attr=/sys/kernel/debug/$1
	find_functions || return
	echo N > "$attr/task-filter"
	echo N > "$attr/ignore-gfp-wait"
	[[ $1 != fail_page_alloc ]] || echo 0 > "$attr/min-order"
	echo 0 > "$attr/verbose"
	echo 32 > "$attr/stacktrace-depth"
	echo "0x${spared[0]:-0}" > "$attr/reject-start"
	echo "0x${spared[1]:-0}" > "$attr/reject-end"
	echo "0x${whose[0]}" > "$attr/require-start"
	echo "0x${whose[1]}" > "$attr/require-end"
	echo "$2" > "$attr/interval"
	echo "$3" > "$attr/times"
	echo 100 > "$attr/probability"
}

# How many have failed of those that should at most.
stop_failing() { # KIND TIMES
	local attr=/sys/kernel/debug/$1
	echo 0 > "$attr/probability"
	echo $(($2 - $(< "$attr/times")))
}

# A connection breaks every so many calls; CALLS 0: no longer.
fail_every() { # CALLS FAULT
	local attr=/sys/kernel/debug/fail_sunrpc what
	for what in client-disconnect server-disconnect cache-wait; do
		echo Y > "$attr/ignore-$what"
	done
	echo N > "$attr/ignore-$2"
	echo 0 > "$attr/verbose"
	echo N > "$attr/task-filter"
	echo -1 > "$attr/times"
	echo "$1" > "$attr/interval"
	echo $(($1 ? 100 : 0)) > "$attr/probability"
}

# From now on; what was traced before is gone.
trace() { # SYSTEM/EVENT...
	local event
	: > "$tracing/trace"
	for event; do
		echo 1 > "$tracing/events/$event/enable" || return
	done
}

# The same in a buffer apart, beside what else is traced, until events_came().
follow_events() { # SYSTEM/EVENT...
	local event
	mkdir "$tracing/instances/followed" || return
	for event; do
		echo 1 > "$tracing/instances/followed/events/$event/enable" || return
	done
}

# Each has come since; its first one is shown.
events_came() { # SYSTEM/EVENT...
	local event status=0
	for event; do
		echo 0 > "$tracing/instances/followed/events/$event/enable"
		grep -m 1 " ${event#*/}: " "$tracing/instances/followed/trace" && continue
		echo "no ${event#*/}"
		status=1
	done
	rmdir "$tracing/instances/followed"
	return $status
}

# How they come and go, and whose Calls fail.
trace_connections() {
	trace rpcrdma/rpcrdma_{cm,connect,lost,retry} sunrpc/xprt_disconnect_{auto,force} \
		sunrpc/rpc_call_rpcerror
}

# The kernel waits for the transport to be free, and can find it taken each time.
tell() { # FILE OF A TRANSPORT, WHAT
	timeout $((5 * PATIENCE)) bash -c "echo '$2' > '$1'"
}

# Delegations: a second client is the server itself, over TCP.

mount_other() { # VERS
	[[ -d $other ]] || mkdir -p "$other"
	mount -t nfs -o "vers=$1,proto=tcp" "$SERVER4:/" "$other"
}

# Delegations of this file, or of those that the pattern matches, that our client holds. The
# other client may hold some, too, and with a newer kernel ours may hold one of the directory.
delegations() { # FILE
	grep -l "^address: \"$CLIENT4" /proc/fs/nfsd/clients/*/info |
		sed 's/info$/states/' | xargs cat | grep -c "type: deleg.*[\"/]$1\""
}

holds() { # COUNT FILE
	(($(on_server delegations "$2") >= $1))
}

make_file() { # NAME
	echo old > "/export/$1"
}

# The first opens may come before the server has seen that callbacks get through.
delegated() { # NAME
	on_server make_file "$1" && within 90 read_holds "$1"
}

read_holds() { # NAME
	[[ $(< "$dir/$1") = old ]] && holds 1 "$1"
}

write_other() { # NAME
	echo new > "$other/$1"
}

# The server makes it, quickly; the client lists it.
large_directory() { # ENTRIES
	mkdir /export/large
	(cd /export/large && seq -f "an-entry-with-a-name-of-some-length-%06g" "$1" |
		xargs touch)
}

lists() { # ENTRIES
	local found
	found=$(find "$dir/large" -type f | sort -u | wc -l)
	echo "found $found"
	((found == $1))
}

# The NFSv4 ACL here means what the POSIX ACL of the server's file system does. Either this client
# has not asked for it yet, or it is what tree.py has just got from the server.
same_acl() { # FILE ENTRIES
	local here there
	here=$("${tree[@]}" granted "$dir/$1") || return
	there=$(on_server "${tree[@]}" granted "/export/$1") || return
	echo "here $here"
	echo "there $there"
	[[ $here = "$there" && ${here%% *} = "$2" ]]
}

connects() {
	awk '$1 == "xprt:" && $2 == "rdma" { sum += $5 } END { print sum + 0 }' \
		/proc/self/mountstats
}

connected_since() { # BEFORE
	(($(connects) > $1))
}

# One that lasts for less than five seconds lets the next wait for longer.
break_connections() { # [COUNT]
	local i before
	for ((i = 0; i < ${1:-3}; i++)); do
		before=$(connects)
		cut_each || break
		within 60 connected_since "$before" || break
		rest 6
	done
	echo "connected again $i times"
	((i == ${1:-3}))
}

# Lines with which the only connection describes itself begin so.
one_connection() { # LINE...
	local line
	cat /sys/kernel/debug/rpcrdma/conn/*
	for line; do
		grep -q "^$line" /sys/kernel/debug/rpcrdma/conn/* || return
	done
}

# Open connections all speak VERSION.
speaks() { # VERSION
	grep -h ^version: /sys/kernel/debug/rpcrdma/conn/* > /tmp/speaks || return
	cat /tmp/speaks
	! grep -v "^version: $1$" /tmp/speaks
}

# A number after this word, of the only connection.
buffers() { # WORD
	local conns=(/sys/kernel/debug/rpcrdma/conn/*)
	[[ ${#conns[@]} = 1 && -e ${conns[0]} ]] ||
		complain "not one connection: ${conns[*]}" || return
	figure "${conns[0]}" buffers "$1"
}

# Sends have this size, and Receives that one; none has another.
sizes_are() { # SEND RECEIVE
	echo "send $(buffers send) receive $(buffers receive) others $(buffers size)"
	[[ $(buffers send) = "$1" && $(buffers receive) = "$2" && $(buffers size) = 0 ]]
}

both_are() { # SEND RECEIVE, as the client has them [SERVER'S-RECEIVE]
	sizes_are "$1" "$2" && on_server sizes_are "$2" "${3-$1}"
}

# Past the page cache.
write() { # SIZE COUNT
	dd if=/dev/urandom of="$dir/file" bs="$1" count="$2" oflag=direct conv=notrunc
}

read_back() { # SIZE COUNT
	dd if="$dir/file" of=/dev/null bs="$1" count="$2" iflag=direct
}

work_until() { # write|read_back SIZE COMMAND...
	"$1" "$2" 16 && sleep 0.3 && "${@:3}"
}

# Everything that a mount of VERS has to stand, if it is of version 1; at the end
# that has our module SPEAKS tells.
serves_in_version_1() { # VERS [SPEAKS]...
	local vers=$1
	check "v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || return
	check "v$vers: version 1" "${@:2}" speaks 1
	check "v$vers: every size" table
	check "v$vers: the same data there" same_table
	if [[ $vers = 4.2 || -n $FULL && $vers = 4.1 ]]; then
		check "v$vers: second client" on_server mount_other "$vers"
		check "v$vers: delegation" delegated "$vers"
		check "v$vers: recalled" recalled "$vers"
		check "v$vers: second client leaves" on_server umount "$other"
	fi
	look_for_many
	check "v$vers: unmount" umount "$dir"
}

# When a Send of the kernel's own client of 6.12 completes, it looks at all before that did not ask
# for a completion. If the answer to a callback is among them and its session is gone by then, so
# is that memory (KASAN). One of sixteen or so asks. The server's recall of a delegation when
# somebody there looks at the file is such a callback.
look_for_many() {
	local i
	for ((i = 0; i < 40; i++)); do
		[[ ! -e $dir/missing-$i ]] || return
	done
}

# Messages of groups of Sends that this end has sent and received so far.
group_messages() {
	local name way sum=0 more
	for name in XMTREQ XMTRESP XMTCONT REPTERR; do
		for way in sent received; do
			more=$(counter "messages $name" "$way") || return
			sum=$((sum + more))
		done
	done
	echo "$sum"
}

no_groups_since() { # BEFORE WHERE
	local now
	now=$("$2" group_messages) || return
	echo "before $1, now $now"
	[[ $now = "$1" ]]
}

connected_no_more() { # BEFORE
	echo "connections: before $1, now $(connects)"
	(($(connects) == $1))
}

# A mount whose ends do not both have rtrext. WHERE ('here' or 'on_server') is an end that has
# it: that one speaks the version SPOKEN. Data of all sizes in both directions, a large directory
# and ACLs travel without groups, and on one connection; without FULL=1 data alone, if that is asked
# for.
beside_rtrext() { # WHAT VERS WHERE SPOKEN [data]
	local groups connects
	check "$1: mount" mount_rdma "$2" "$SERVER4" "$dir" || return
	check "$1: version $4" within 30 "$3" speaks "$4"
	groups=$("$3" group_messages)
	connects=$(connects)
	check "$1: every size" table
	check "$1: the same data there" same_table
	if [[ -z ${5-} || -n $FULL ]]; then
		replies_of_unknown_size "$1" "$2"
	fi
	check "$1: no groups" no_groups_since "$groups" "$3"
	check "$1: it is the same connection" connected_no_more "$connects"
	check "$1: works" works
	look_for_many
	check "$1: unmount" umount "$dir"
}

replies_of_unknown_size() { # WHAT VERS
	check "$1: a large directory there" on_server large_directory 1000
	check "$1: a large directory" lists 1000
	if [[ $2 = 3 ]]; then
		check "$1: an ACL" "${tree[@]}" acl "$dir/acl" 300
	else
		check "$1: an ACL there" on_server "${tree[@]}" acl /export/acl 220
		check "$1: the same ACL here" same_acl acl/file 223
		check "$1: an ACL" "${tree[@]}" acl4 "$dir/acl/file" 200
		check "$1: the same ACL there" same_acl acl/file 203
	fi
	check "$1: removed" on_server rm -r /export/large /export/acl
}

table() {
	/usr/bin/python3 -S "$integrity" table "$dir/table" > /tmp/sum || {
		cat /tmp/sum
		return 1
	}
}

same_table() {
	on_server /usr/bin/python3 -S "$integrity" same /export/table \
		"$(tail -n 1 /tmp/sum)"
}

recalled() { # NAME
	on_server write_other "$1" && [[ $(< "$dir/$1") = new ]] &&
		(($(on_server delegations "$1") == 0))
}

set_knob() { # FILE VALUE
	echo "$2" > "/proc/sys/sunrpc/$1" && [[ $(< "/proc/sys/sunrpc/$1") = "$2" ]]
}

knob_is() { # FILE VALUE
	cat "/proc/sys/sunrpc/$1"
	[[ $(< "/proc/sys/sunrpc/$1") = "$2" ]]
}

set_parameter() { # NAME VALUE
	echo "$2" > "$parameters/$1" && parameter_is "$@"
}

parameter_is() { # NAME VALUE
	cat "$parameters/$1"
	[[ $(< "$parameters/$1") = "$2" ]]
}

refuses_value() { # FILE VALUE
	! echo "$2" > "$1"
}

# No mount, and the client's kernel says of the server what is wrong.
nothing_in_common() { # WHAT
	! mount_rdma 4.2 "$SERVER4" "$dir" retry=0 &&
		dmesg | grep "rpcrdma: $SERVER4 $1"
}

# Another network namespace, with an RDMA address of its own, $apart4, from which PEER
# can be reached. rxe receives in the initial namespace alone, and sends from there by
# the number of the interface that has the address. So the other's interface gets the
# same number, and then the initial one the other's address.
apart_up() { # PEER HARDWARE-ADDRESS
	local device index here i
	device=$(net_device)
	index=$(< "/sys/class/net/$device/ifindex")
	ip netns add apart &&
		ip link add apart0 link "$device" type macvlan mode private || return
	# On its way there it keeps its number if that is free, and else takes the
	# lowest that is.
	here=$(< /sys/class/net/apart0/ifindex)
	for ((i = 2; i < index; i++)); do
		apart ip link add "taken$i" index "$i" type dummy || return
	done
	apart ip link add "taken$here" index "$here" type dummy &&
		ip link set apart0 netns apart &&
		apart sysctl -q net.ipv4.conf.all.arp_ignore=8 &&
		apart ip link set lo up &&
		apart ip link set apart0 mtu 9000 up &&
		apart ip addr add "$apart4/24" dev apart0 &&
		apart ip neigh replace "$1" lladdr "$2" nud permanent dev apart0 &&
		ip addr add "$apart4/32" dev "$device" && mkdir -p "$other"
}

apart_down() {
	ip netns del apart
	ip addr del "$apart4/32" dev "$(net_device)"
}

# In the other network namespace, in the same of mounts.
apart() { # COMMAND...
	nsenter --net=/run/netns/apart "$@"
}

# Nobody listens there: it is refused, and soon.
unserved() { # ADDRESS
	local status
	timeout $((60 * PATIENCE)) mount -t nfs \
		-o vers=4.2,proto=rdma,port=20049,retry=0 "$1:/" "$other"
	status=$?
	((status != 0 && status != 124)) && ! is_mounted "$other"
}

lladdr() {
	cat "/sys/class/net/$(net_device)/address"
}

logged() { # TEXT
	dmesg | tail -n 50 | grep "$1"
}

# A command of the texts: FUNCTION types it in the guest that it is for. It is skipped if
# its program is not installed, or does not work on this kernel. Both guests are alike.
command_of_text() { # PLACE client|server COMMAND FUNCTION
	local name="$1: $2: $3" program=${3#(}
	program=${program#sudo }
	program=${program%%[ |]*}
	if ! type "$program" > /dev/null 2>&1; then
		skip "$name" "$program is not installed"
	elif [[ $program = bpftrace ]] && ! can_bpf; then
		skip "$name" "this kernel has no BPF for trace events"
	elif [[ $2 = server ]]; then
		check "$name" on_server "$4" "$3"
	else
		check "$name" "$4" "$3"
	fi
}

can_bpf() {
	timeout 60 bpftrace -e 'BEGIN { exit(); }' > /dev/null 2>&1
}
