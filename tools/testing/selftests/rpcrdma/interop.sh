#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that this module and the kernel's own serve and mount each other: a source
# tree that is copied and compared, sizes and offsets of data, fio with verification of
# 4 KiB to 1 MiB, large directories, ACLs, delegations that are recalled, connections
# that break while data is written, sizes of messages that the two ends negotiate,
# krb5p or, if the server's kernel cannot do that, krb5i. It can also run ours against
# ours, and the kernel's own against itself: a test that fails there too is not a fault of
# the pair.
#
#	interop.sh [CLIENT/SERVER]...
#
# CLIENT and SERVER are 'ours', on $KERNEL, or a kernel that uses its own transport,
# e.g. 'ours/stock-6.1'. Without arguments: ours with the kernel's own of $KERNEL, both
# ways, NFSv4.2 and v3, data; with FULL=1 all kernels, all of NFS, and
# everything above. VERSIONS="4.2 ..." and PARTS="data trees ..." pick from that. PAIRS=
# of them run at a time.

. "$(dirname "$0")/lib.sh"

client_is=${client_is-} server_is=${server_is-}
sources=$SELFTESTS/../../../..
sysctls=/proc/sys/sunrpc

on_host() {
	local kernel=${KERNEL:-stock-6.12} number wrong=0 line work status
	local versions="4.2 3" parts="data"
	local -a pairings=("ours/$kernel" "$kernel/ours") running=()
	if [[ $kernel = uml* ]]; then
		echo "1..0 # SKIP its pairings are of Debian's kernels"
		exit 4
	fi
	# The checking kernel would take hours.
	if [[ -n ${FULL-} && $kernel = stock* ]]; then
		# 4.2 has to do with Kerberos: see there.
		versions="4.1 4.0 4.2 3" parts=""
		pairings=()
		for line in 6.12 6.1 7.3; do
			pairings+=("ours/stock-$line" "stock-$line/ours")
		done
	fi
	(($#)) && pairings=("$@")
	if ! [[ ${PAIRS:-1} =~ ^[1-9][0-9]?$ ]]; then
		echo "Bail out! PAIRS=$PAIRS is no number of pairings from 1 to 99"
		exit 1
	fi
	echo "TAP version 13"
	echo "1..${#pairings[@]}"
	work=$(mktemp -d) || exit
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$work'" EXIT
	# Who takes a space out of it may run.
	mkfifo "$work/free" && exec 8<> "$work/free" || exit
	printf '%*s' "${PAIRS:-1}" "" >&8
	for number in "${!pairings[@]}"; do
		: > "$work/$number"
		# It ends with this script, and so do its guests.
		setpriv --pdeathsig TERM "$(realpath "$0")" --in-turn "${VERSIONS-$versions}" \
			"${PARTS-$parts}" "${pairings[number]%/*}" \
			"${pairings[number]#*/}" >> "$work/$number" 2>&1 &
		running+=($!)
	done
	for number in "${!pairings[@]}"; do
		echo "# Subtest: ${pairings[number]}"
		tail -n +1 -f --pid="${running[number]}" "$work/$number" | sed -u 's/^/    /'
		wait "${running[number]}"
		status=$?
		if ((status == 0)); then
			echo "ok $((number + 1)) - ${pairings[number]}"
		else
			echo "not ok $((number + 1)) - ${pairings[number]} # status $status"
			wrong=1
		fi
	done
	return $wrong
}

# Waits until fewer than PAIRS= of them run.
in_turn() { # VERSIONS PARTS CLIENT SERVER
	local status
	read -rN1 -u8
	pair "$@" 8>&-
	status=$?
	printf ' ' >&8
	return "$status"
}

pair() { # VERSIONS PARTS CLIENT SERVER
	local -a intree=()
	case $3/$4 in
	ours/ours) ;;
	ours/*) intree=(--intree server --intree-kernel "$4") ;;
	*/ours) intree=(--intree client --intree-kernel "$3") ;;
	*) intree=(--intree both --intree-kernel "$3") ;;
	esac
	# Without them, or guest would take them for all.
	setpriv --pdeathsig TERM env -u INTREE "$SELFTESTS/../../guest/guest" --pair \
		--env SLOW="${SLOW:-1}" --env PATIENCE="${PATIENCE:-1}" \
		--env VERSIONS="$1" --env PARTS="$2" --env client_is="$3" \
		--env server_is="$4" "${intree[@]}" "$(realpath "$0")"
}

# What there is to do with a version of NFS, if nobody picks: v4.0 and v4.1 differ from
# v4.2 in nothing that others than these parts would see.
parts_of() { # VERS
	case $PARTS,$1 in
	,4.2) echo trees data delegations breaks sizes kerberos ;;
	,3) echo trees data breaks sizes kerberos ;;
	,4.1) echo data delegations breaks ;;
	,*) echo data breaks ;;
	*) echo "$PARTS" ;;
	esac
}

if [[ ${1-} = --in-turn ]]; then
	in_turn "${@:2}"
	exit
elif [[ -z ${GUEST_ROLE-} ]]; then
	on_host "$@"
	exit
fi
# shellcheck source=tools/testing/selftests/rpcrdma/kerberos.sh
. "$SELFTESTS/kerberos.sh"
in_guests --pair

server() {
	rdma_up rxe && largest_blocks || exit
	if kerberos; then
		names && kdc_up || exit
		export EXPORT_OPTIONS=sec=sys:krb5i:krb5p
	fi
	# A delegation that is not returned in this time is revoked.
	LEASE=60 server_up 8 || exit
	! kerberos || rpc.svcgssd -p "${principals[0]}" || exit
	try_holes
	signal ready
	obey
}

client() {
	begin
	modprobe rpcrdma
	check "client: $client_is" runs "$client_is"
	check "server: $server_is" on_server runs "$server_is"
	local vers part begin
	for vers in $VERSIONS; do
		for part in $(parts_of "$vers"); do
			[[ $(type -t "test_$part") = function ]] || bail "no part $part"
			begin=$SECONDS
			"test_$part" "$vers" "v$vers: $part"
			echo "# v$vers: $part: $((SECONDS - begin)) s"
		done
	done
	check "remove the module" within 30 rmmod rpcrdma
	check "server: stop" on_server server_down
	check "server: remove the module" on_server within 30 rmmod rpcrdma
	end
}

kerberos() {
	[[ -z $PARTS || $PARTS = *kerberos* ]]
}

# This guest has the transport that it should have.
runs() { # ours|KERNEL
	local line
	echo "$(uname -r): $(cat /sys/module/rpcrdma/version)"
	if [[ $1 = ours ]]; then
		[[ -e /sys/module/rpcrdma/version ]]
	else
		# That of Debian 13 is called 6.12.trixie.
		line=${1#*-} line=${line%.trixie}
		kernels_own && [[ $(uname -r) = "$line".* ]]
	fi
}

# Which version of RPC-over-RDMA the two ends have to speak.
version() {
	[[ $client_is/$server_is = ours/ours ]] && echo 2 || echo 1
}

# What our end says of the connection.
ours_says() { # LINE...
	if [[ $client_is = ours ]]; then
		one_connection "$@"
	else
		on_server one_connection "$@"
	fi
}

mounted() { # VERS WHAT [OPTIONS]
	check "$2: mount" mount_rdma "$1" "${4-$SERVER4}" "$dir" "${3-}" || return
	check "$2: over RDMA" over_rdma "$1"
	[[ $client_is = ours || $server_is = ours ]] || return 0
	check "$2: version $(version)" ours_says "version: $(version)"
}

unmounted() { # WHAT
	rm -rf "${dir:?}"/*
	check "$1: nothing left of the files" on_server empty
	[[ $client_is = ours ]] || look_for_many
	check "$1: unmount" umount "$dir"
	[[ $client_is != ours ]] || check "$1: nothing left" within 30 nothing_left
	[[ $server_is != ours ]] || check "$1: server: nothing left" \
		on_server within 30 nothing_left
}

over_rdma() { # VERS
	grep " $dir nfs" /proc/mounts
	grep " $dir nfs" /proc/mounts | grep "vers=$1" | grep -q proto=rdma
}

empty() {
	ls -A /export
	[[ -z $(ls -A /export) ]]
}

# ---- a source tree, large directories, ACLs

parts_of_tree=(net include Documentation tools/testing/{peer,selftests,sim,unit})

copy_tree() {
	local part
	for part in "${parts_of_tree[@]}"; do
		mkdir -p "$dir/tree/$part" && cp -a "$sources/$part/." "$dir/tree/$part" || return
	done
	sync -f "$dir"
}

compare_tree() { # DIRECTORY
	local part
	echo 3 > /proc/sys/vm/drop_caches
	for part in "${parts_of_tree[@]}"; do
		diff -r "$sources/$part" "$1/tree/$part" || return
	done
	(($(find "$1/tree" -type f | wc -l) > 100))
}

same_listing() { # NAME
	local here there
	echo 3 > /proc/sys/vm/drop_caches
	here=$("${tree[@]}" list "$dir/$1") || return
	there=$(on_server "${tree[@]}" list "/export/$1") || return
	echo "here $here, there $there"
	[[ $here = "$there" ]]
}

test_trees() { # VERS WHAT
	mounted "$@" || return
	check "$2: copy a source tree" copy_tree
	check "$2: the same here" compare_tree "$dir"
	check "$2: the same there" on_server compare_tree /export
	check "$2: small files" "${tree[@]}" make "$dir/make" 200
	check "$2: the same there" same_listing make
	check "$2: links" "${tree[@]}" links "$dir/links"
	check "$2: the same there" same_listing links
	on_server large_directory 3000
	check "$2: a large directory" lists 3000
	if [[ $1 = 3 ]]; then
		# nfsd fails with longer ones, whatever the transport.
		check "$2: an ACL" "${tree[@]}" acl "$dir/acl" 300
		check "$2: the same there" same_listing acl
	else
		# The kernel's own client fails with those that are much longer.
		on_server "${tree[@]}" acl /export/acl 220
		check "$2: an ACL of the server's" same_acl acl/file 223
		check "$2: an ACL" "${tree[@]}" acl4 "$dir/acl/file" 200
		check "$2: the same there" same_acl acl/file 203
	fi
	unmounted "$2"
}

# ---- data

verified() { # IO-SIZE SIZE
	mkdir -p "$dir/fio" &&
		fio --name=verify --directory="$dir/fio" --rw=randwrite --direct=1 \
			--ioengine=psync --numjobs=2 --size="$2" --bs="$1" \
			--verify=crc32c --verify_fatal=1 --verify_state_save=0 \
			--minimal
}

test_data() { # VERS WHAT
	local sizes
	mounted "$@" || return
	check "$2: sizes and offsets" run table table $((8 << 20))
	check "$2: random operations" run random random 11 60
	for sizes in "4k 1m" "16k 3m" "64k 8m" "256k 8m" "1m 8m"; do
		check "$2: fio, ${sizes% *}" verified "${sizes% *}" "${sizes#* }"
	done
	unmounted "$2"
}

# ---- delegations

# The writer waits for the recall, and less long than for a revocation.
recalled_in_time() { # NAME
	local begin=$SECONDS
	recalled "$1" || return
	echo "after $((SECONDS - begin)) s"
	((SECONDS - begin < 40))
}

test_delegations() { # VERS WHAT
	# Callbacks of v4.0 are calls to the client by TCP.
	[[ $1 = 4.[12] ]] || return
	mounted "$@" || return
	check "$2: second client" on_server mount_other "$1"
	for name in "$1.a" "$1.b"; do
		check "$2: $name" delegated "$name"
		check "$2: $name: recalled" recalled_in_time "$name"
	done
	check "$2: second client leaves" on_server umount "$other"
	unmounted "$2"
}

# ---- connections that break

# nfsd of 6.12 gives a client of NFSv4.0 that reclaims an open file a delegation to
# write, does not know the client again in its next SETATTR that leaves the size alone,
# and answers that the file is empty; over TCP, too.
leases() { # 0|1
	echo "$1" > /proc/sys/fs/leases-enable
}

test_breaks() { # VERS WHAT
	mounted "$@" || return
	during "$2: the client disconnects" break_connections
	[[ $1 != 4.0 ]] || check "$2: server: no delegations" on_server leases 0
	during "$2: the server restarts" on_server restart_nfsd
	[[ $1 != 4.0 ]] || check "$2: server: delegations again" on_server leases 1
	unmounted "$2"
}

# ---- sizes of messages

set_client() { # SIZE
	echo "$1" > $sysctls/rdma_max_inline_read &&
		echo "$1" > $sysctls/rdma_max_inline_write
}

size_of_client() {
	cat $sysctls/rdma_max_inline_read
}

size_of_server() {
	cat $sysctls/svc_rdma/max_req_size
}

set_server() { # SIZE
	echo "$1" > $sysctls/svc_rdma/max_req_size
}

# The other end asks for so much, and our Sends are no longer.
peer_has() { # SIZE OURS
	local largest=$(($1 < $2 ? $1 : $2))
	ours_says "peer properties: .*receive $1 " "largest send: $largest$"
}

local_invalidations() {
	awk '$1 == "xprt:" && $2 == "rdma" { print $27; exit }' /proc/self/mountstats
}

# One region, which the server invalidates with its answer, so that the client need not.
# With a small inline size a Call may need one of its own.
invalidated() {
	local before after
	before=$(local_invalidations)
	dd if=/dev/zero of="$dir/many" bs=16k count=8 oflag=direct &&
		dd if="$dir/many" of=/dev/null bs=16k iflag=direct || return
	after=$(local_invalidations)
	echo "local invalidations: before $before, after $after"
	((after == before))
}

test_sizes() { # VERS WHAT
	[[ $1 = 4.2 || $1 = 3 ]] || return
	local sizes what mine peer client server
	client=$(size_of_client) server=$(on_server size_of_server)
	for sizes in "1024 65536" "1024 4096" "65536 4096" "16384 65536"; do
		what="$2: client ${sizes% *}, server ${sizes#* }"
		set_client "${sizes% *}"
		on_server set_server "${sizes#* }"
		mounted "$1" "$what" || continue
		if [[ $client_is = ours ]]; then
			mine=${sizes% *} peer=${sizes#* }
		else
			mine=${sizes#* } peer=${sizes% *}
		fi
		[[ $client_is/$server_is != *ours* ]] ||
			check "$what: agreed upon" peer_has "$peer" "$mine"
		check "$what: direct" verified 1m 4m
		((${sizes% *} < 4096)) || check "$what: remote invalidation" invalidated
		check "$what: random operations" run random random 12 30
		check "$what: small files" "${tree[@]}" make "$dir/make" 40
		check "$what: the same there" same_listing make
		unmounted "$what"
	done
	set_client "$client"
	on_server set_server "$server"
}

# ---- privacy

test_kerberos() { # VERS WHAT
	local flavor
	# Not before: a client that could use it does so with NFSv4, and that of 6.1
	# has no NFSv4.0 mount then of a server that was restarted.
	pgrep -x rpc.gssd > /dev/null || gssd_up || bail "no rpc.gssd"
	flavor=$(strongest_flavor)
	mounted "$1" "$2" "sec=$flavor" "$server_name" || return
	check "$2: security" secured "$flavor"
	check "$2: sizes and offsets" run table table $((3 << 20))
	check "$2: fio" verified 256k 4m
	during "$2: the client disconnects" break_connections
	unmounted "$2"
}

"$GUEST_ROLE"
