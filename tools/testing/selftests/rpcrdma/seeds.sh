#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A storm by seed: proves that two mounts and their server survive all events that the
# seed chooses. The seed draws the provider, versions and parameters, and then events and
# their times, at both ends: connections are cut, devices removed, the server stopped or
# dead, memory refused, frames lost or late, tasks killed, mounts forced away and made
# again, parameters changed. Programs on the first mount must see no error; on the other,
# programs that are killed or get errors begin again. Afterwards all work goes on without
# help, the data is right at both ends, and nothing is left.
#
# SEED= is the seed of the storm and of the virtual time, so a storm can be repeated:
# 'make storm' runs many. PLANT=data spoils a file at the server, PLANT=silence stops all
# frames: the test must find these.
# PROVIDER= overrides the provider of the seed. EVENTS= are trace events: a run that
# fails leaves client/trace and server/trace.

. "$(dirname "$0")/lib.sh"
: "${SEED:=1}"
[[ -n ${GUEST_ROLE-} ]] || VIRTUAL=$SEED
# Nobody gets on in silence, and the kernel says so, too.
expected=()
[[ ${PLANT-} != silence ]] || expected=(--allow "INFO: task .* blocked for more than")
in_guests --pair "${expected[@]}" --env PLANT="${PLANT-}" --env PROVIDER="${PROVIDER-}" \
	--env EVENTS="${EVENTS-rpcrdma}"

work=(/usr/bin/python3 -S "$SELFTESTS/work.py")
disturbed=/mnt/disturbed
stop=/tmp/stop
trouble=1000000 # of failed allocations, more than there can be
declare -A short=() # of which kinds some fail now

# A number of FIRST to LAST, by SplitMix64: neighbouring seeds have nothing in common.
draw() { # FIRST LAST
	local z
	state=$((state + 0x9e3779b97f4a7c15))
	z=$(((state ^ (state >> 30 & 0x3ffffffff)) * 0xbf58476d1ce4e5b9))
	z=$(((z ^ (z >> 27 & 0x1fffffffff)) * 0x94d049bb133111eb))
	z=$(((z ^ (z >> 31 & 0x1ffffffff)) & 0x7fffffffffffffff))
	drawn=$(($1 + z % ($2 - $1 + 1)))
}

pick() { # WORD...
	draw 1 $#
	picked=${!drawn}
}

# Milliseconds, of any magnitude.
draw_time() {
	pick '10 60' '60 400' '400 2000'
	# shellcheck disable=SC2086 # two words
	draw $picked
}

# Draw the events of both ends, in order of time: "MILLISECONDS WHERE WHAT...".
# Both ends draw the same.
draw_storm() {
	local i kinds count time=0 where lasts
	state=$SEED
	pick siw siw rxe
	provider=${PROVIDER:-$picked}
	pick 3 4.0 4.1 4.2 4.2
	vers=$picked
	pick 3 4.1 4.2
	disturbed_vers=$picked
	draw 1 2
	nconnect=$drawn
	draw_parameters
	begin_here=$drawn_parameters
	draw_parameters
	begin_there=$drawn_parameters
	kinds=(cut cut broken device nfsd dies silence weather memory memory kill kill
		umount parameters)
	draw 4 8
	count=$drawn
	storm=()
	for ((i = 0; i < count; i++)); do
		draw_time
		time=$((time + drawn))
		draw_time
		lasts=$drawn
		pick client server
		where=$picked
		pick "${kinds[@]}"
		draw_event "$picked"
	done
	mapfile -t storm < <(printf '%s\n' "${storm[@]}" | sort -n -s -k1,1)
	lasts=${storm[-1]%% *}
	calm=$((lasts + 500))
	# The last one drawn, so that all else is as without it.
	draw $((lasts / 2)) "$lasts"
	planted=$drawn
}

happens() { # MILLISECONDS WHERE WHAT...
	storm+=("$*")
}

# At $time, for $lasts, at the $where end if it can be at both.
draw_event() { # KIND
	local end=$((time + lasts))
	case $1 in
	cut) happens "$time" client cut ;;
	broken)
		draw 5 60
		happens "$time" "$where" fail_every "$drawn" "$where-disconnect"
		happens "$end" "$where" fail_every 0 "$where-disconnect"
		;;
	device) happens "$time" "$where" device "$lasts" ;;
	nfsd | dies) happens "$time" server "$1" "$lasts" ;;
	silence)
		# Longer than TCP and the connection manager go on trying, now and then.
		draw 1 4
		((drawn > 1)) || lasts=$((lasts * 10))
		happens "$time" "$where" silence "$lasts"
		;;
	weather)
		draw 0 30
		local loss=$drawn
		draw 0 20
		local delay=$drawn
		draw 0 $drawn
		local jitter=$drawn
		pick 0 0 1 10
		happens "$time" "$where" weather \
			"loss 0.$loss% delay ${delay}ms ${jitter}ms duplicate $picked%"
		happens "$end" "$where" weather "loss 0%"
		;;
	memory)
		pick failslab fail_page_alloc
		local kind=$picked
		# siw of 6.12 gives up listening when it gets no page at all: see testing.rst.
		draw 17 101
		if [[ $where = server && $kind = fail_page_alloc ]]; then
			picked=$drawn
		else
			pick 1 3 7 "$drawn" "$drawn"
		fi
		happens "$time" "$where" refuse "$kind" "$picked"
		happens "$end" "$where" grant "$kind"
		;;
	kill) happens "$time" client kill_disturbed ;;
	umount)
		pick -f -l ''
		happens "$time" client mount_again "$lasts" "$picked"
		;;
	parameters)
		draw_parameters
		happens "$time" "$where" set_all "$drawn_parameters"
		;;
	esac
}

draw_parameters() {
	pick 3 4 8 32 64 256
	drawn_parameters="window=$picked"
	# siw_try_1seg() of 6.12 takes the wrong part of what is read by RDMA when that is no
	# more than 24 octets, in two pages. So siw is not asked for so little.
	pick 0 1024 4096 4096 16384 4194304
	[[ $provider != siw ]] || picked=$((picked < 32 ? 32 : picked))
	drawn_parameters+=" ddp_threshold=$picked"
	pick 4096 16384 65536 4194304
	drawn_parameters+=" special_threshold=$picked"
	# Where the module's memory is refused TCP may have none to say that siw has closed it. The
	# client notices after twice as long; no task may hang for 50 seconds.
	pick 1 5 10 20
	drawn_parameters+=" keepalive=$picked"
	pick 1 8 300 300
	drawn_parameters+=" idle_timeout=$picked"
	pick 0 1
	drawn_parameters+=" rtrext=$picked"
	pick 1 2 2 2
	drawn_parameters+=" client_max_version=$picked"
	pick 1 2 2 2
	drawn_parameters+=" server_max_version=$picked"
	pick 0 16384 32768 32768 65536
	drawn_parameters+=" grow=$picked"
	# The guests are neighbours: 1 has much travel as it does on a long way.
	pick 0 1 500
	drawn_parameters+=" stream_from=$picked"
	# It is no draw of its own: each seed has the other parameters and events that it always had.
	drawn_parameters+=" rtrext_offer=$((state >> 8 & 3))"
}

# As 'name=value name=value'.
set_all() { # PARAMETERS
	local word
	for word in $1; do
		set_parameter "${word%=*}" "${word#*=}" > /dev/null || return
	done
}

pause() { # MILLISECONDS
	local seconds
	printf -v seconds %d.%03d $(($1 / 1000)) $(($1 % 1000))
	nap "$seconds"
}

# What happens at this end, each when its time has come; false if any of it could not.
rage() {
	local event time where what status=0 now
	begin=$(< "$GUEST_SHARED/begin")
	for event in "${storm[@]}"; do
		read -r time where what <<< "$event"
		[[ $where = "$GUEST_ROLE" ]] || continue
		now=$(((${EPOCHREALTIME/./} - begin) / 1000))
		((now >= time)) || pause $((time - now))
		read -ra what <<< "$what"
		[[ ${what[0]} != set_all && ${what[0]} != weather ]] ||
			what=("${what[0]}" "${what[*]:1}")
		note "${what[*]}"
		"${what[@]}" || { note "${what[*]}: status $?"; status=1; }
	done
	return $status
}

# With the milliseconds since the storm began.
note() { # TEXT
	echo "# $(((${EPOCHREALTIME/./} - begin) / 1000)) $GUEST_ROLE $1"
}

# What there can be none of, or only some of, is over.
subside() {
	local kind
	for kind in failslab fail_page_alloc; do
		grant "$kind"
	done
	fail_every 0 client-disconnect
	weather "loss 0%"
}

# A transport that somebody else has just locked is cut the next time.
cut() {
	cut_connections || true
}

# A device that comes while there is no memory is not used until it comes again.
device() { # MILLISECONDS
	device_down && pause "$1" || return
	grant failslab
	rdma_up "$provider"
}

# It fails for as long as each allocation is refused, so that comes to its end.
at_last() { # COMMAND...
	within 10 "$@" && return
	grant failslab
	grant fail_page_alloc
	within 60 "$@"
}

nfsd() { # MILLISECONDS
	server_down && pause "$1" && at_last server_up 4
}

dies() { # MILLISECONDS
	lossy 100 && server_down && at_last nothing_left && pause "$1" &&
		at_last server_up 4 && lossy 0
}

silence() { # MILLISECONDS
	lossy 100 && pause "$1" && lossy 0
}

weather() { # WHAT NETEM TAKES
	# shellcheck disable=SC2086 # words
	tc qdisc change dev "$(net_device)" root netem $1
}

# Not all kernels can have allocations fail for the module alone.
refuse() { # KIND INTERVAL
	((refusing)) || return 0
	grant "$1"
	short[$1]=1
	fail "$1" "$2" $trouble
}

# scripts/storm adds up how many there were.
grant() { # KIND
	[[ -n ${short[$1]-} ]] || return 0
	unset "short[$1]"
	note "$(stop_failing "$1" $trouble) refused"
}

# In the middle of what they do.
kill_disturbed() {
	local pid
	for pid in "$stop.pids"/*; do
		kill -9 "${pid##*/}"
	done
	return 0
}

# It is made again once that can be done, whatever else happens until then.
mount_again() { # MILLISECONDS [OPTION]
	wait "${mounter-}" 2> /dev/null
	[[ -n ${2-} ]] || kill_disturbed
	# shellcheck disable=SC2086 # an option or none
	umount ${2-} "$disturbed" || [[ ${2-} != -l ]] || return
	{
		pause "$1"
		within 300 mount_disturbed
	} > /dev/null 2>&1 &
	mounter=$!
}

mount_disturbed() {
	is_mounted "$disturbed" ||
		timeout -s KILL 200 bash -c ". '$GUEST_LIB'
			mount_rdma '$disturbed_vers' '$SERVER4' '$disturbed' nosharecache,retry=0"
}

ready_for_it() {
	modprobe -a rpcrdma nfsd nfsv3 nfsv4 && frames_can_be_lost || return
	echo 8192 > "$tracing/buffer_size_kb"
	echo mono > "$tracing/trace_clock"
	echo "$EVENTS" > "$tracing/set_event"
	refusing=0
	if can_fail; then
		refusing=1
		find_functions || return
	fi
}

server() {
	draw_storm
	ready_for_it || exit
	set_all "$begin_there" || exit
	rdma_up "$provider" && largest_blocks && server_up 4 || exit
	# A client of NFSv4.0 that returns a delegation for writing asks for the size in the
	# same request. nfsd of 6.12 asks back, is told that there is no delegation any
	# more, and takes that for a size of 0.
	[[ $vers != 4.0 ]] || echo 0 > /proc/sys/fs/leases-enable
	mkdir -p /export/disturbed
	signal ready
	await begin 600 || exit
	[[ $PLANT != data ]] || { pause "$planted" && spoil; } &
	rage && signal raged
	subside
	[[ $PLANT != silence ]] || lossy 100
	signal calm
	obey
}

client() {
	draw_storm
	echo "# seed $SEED: $provider, v$vers nconnect=$nconnect, disturbed v$disturbed_vers"
	echo "# client: $begin_here"
	echo "# server: $begin_there"
	printf '# %s\n' "${storm[@]}"
	ready_for_it || bail "this kernel cannot"
	set_all "$begin_here" || bail "parameters"
	begin
	((refusing)) || echo "# memory is not refused: this kernel cannot do so for the module alone"
	check "mount" mount_rdma "$vers" "$SERVER4" "$dir" "nconnect=$nconnect,nosharecache"
	check "mount what is disturbed" mount_disturbed
	"${work[@]}" run "$dir" "$disturbed" "$SEED" \
		$((calm + 2500)) "$stop" > /tmp/output 2>&1 &
	worker=$!
	within 60 working
	now=${EPOCHREALTIME/./}
	echo $((now + 2500000)) > "$GUEST_SHARED/new.begin"
	mv "$GUEST_SHARED/new.begin" "$GUEST_SHARED/begin"
	storms=0
	rage || storms=1
	subside
	check "the storm, client" test $storms = 0
	check "the storm, server" server_raged
	note "is calm"
	[[ $PLANT = silence ]] ||
		check "what is disturbed is mounted" within 300 disturbed_back || stuck
	touch "$stop"
	check "the work ends" gets_on_until ended "$worker" || stuck
	note "has done its work"
	check "the same data here" worked_well
	[[ $PLANT != data ]] || on_server spoil
	read -ra sums < <(tail -n 1 /tmp/output)
	check "the same data there" on_server "${work[@]}" same /export "${sums[@]}"
	check "works" works
	check "every region is free" within 30 all_free
	check "unmount" umount "$dir"
	check "unmount what is disturbed" umount "$disturbed"
	check "nothing left" within 60 nothing_left
	((failed == 0)) || { keep_trace; on_server keep_trace; }
	end_unloaded
}

# Nothing further makes sense; who waits for what is in the log.
stuck() {
	on_server keep_trace
	keep_trace
	echo w > /proc/sysrq-trigger
	bail "stuck"
}

keep_trace() {
	cp "$tracing/trace" "$GUEST_OUT/trace"
}

# As long as anybody gets on with his work, the command may take.
gets_on_until() { # COMMAND...
	local last='' now still=0
	until "$@"; do
		now=$(cat "$stop.progress"/*)
		still=$((still + 1))
		[[ $now = "$last" ]] || still=0
		((still < 300)) || { echo "nobody gets on: $now"; return 1; }
		last=$now
		nap 1
	done
}

working() {
	[[ -e $stop.pids ]]
}

server_raged() {
	await calm 600 && [[ -e $GUEST_SHARED/raged ]]
}

# The mount that was to come has come, and no half of one that went.
disturbed_back() {
	is_mounted "$disturbed" || { ended "${mounter:-1}" && mount_disturbed; }
}

worked_well() {
	cat /tmp/output
	grep -q '^file-0=.* file-1=.* names=' /tmp/output
}

# The file is another than those who wrote it think.
spoil() {
	"${work[@]}" spoil /export/file-0
}

"$GUEST_ROLE"
