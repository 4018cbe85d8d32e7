#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that RPCSEC_GSS works: a KDC and nfsd in the server, mounts with krb5,
# krb5i and krb5p. The client reads what it wrote, and the server has the same data, for
# files from 1 byte to more than 1 MiB, and with krb5p to more than 4 MiB; through the page cache,
# past it and through mmap. The module's counters show: with krb5, data moves by Read and Write
# chunks; integrity and privacy forbid that, so data travels in the Payload stream, continued
# up to special_threshold, and above that by Call and Reply chunks. With rtrext at both ends
# groups of Sends place up to 128 KiB of data with krb5, and none with integrity and privacy.
# Connections that break while data travels with krb5p do not damage it. Without FULL=1, NFSv3 is
# tried with krb5p only, and its connections do not break.

. "$(dirname "$0")/lib.sh"
. "$SELFTESTS/kerberos.sh"
in_guests --shared --pair

server() {
	rdma_up rxe && largest_blocks || exit
	if ! modprobe rpcsec_gss_krb5; then
		signal ready
		exit 0
	fi
	names && kdc_up && EXPORT_OPTIONS=sec=sys:krb5:krb5i:krb5p server_up 4 || exit
	rpc.svcgssd -p "${principals[0]}" || exit
	try_holes
	signal ready
	obey
}

client() {
	begin
	if ! modprobe rpcsec_gss_krb5; then
		skip "krb5" "no rpcsec_gss_krb5 in this kernel"
		finish
	fi
	modprobe rpcrdma
	gssd_up || bail "no rpc.gssd"
	head -c 2M /dev/urandom > /tmp/data
	flavor=$(strongest_flavor)
	for vers in 4.2 ${FULL:+3}; do
		try krb5 "$vers"
		try krb5i "$vers"
		[[ $flavor = krb5i ]] || try "$flavor" "$vers"
	done
	[[ -n $FULL ]] || try "$flavor" 3
	[[ $flavor = krb5p ]] || skip "krb5p" "this kernel's nfsd cannot"
	for vers in 4.2 ${FULL:+3}; do
		check "$flavor, v$vers: mount" mount_as "$flavor" "$vers"
		during "$flavor, v$vers: connections that break" break_connections 4
		check "$flavor, v$vers: unmount" umount "$dir"
	done
	as_documented
	check "nothing left" within 30 nothing_left
	end
}

# The commands of the documentation, with what this kernel can.
as_documented() {
	local lines line place text
	mapfile -t lines < <(/usr/bin/python3 "$SELFTESTS/../../docs/texts.py" kerberos)
	check "there are commands in the documentation" test ${#lines[@]} != 0
	for line in "${lines[@]}"; do
		IFS=$'\t' read -r place _ _ _ text <<< "$line"
		text=${text/sec=krb5p/sec=$flavor}
		text=${text/server:\/export/$server_name:\/}
		check "$place: $text" bash -c "$text"
		check "$place: unmount" umount /mnt
	done
}

# The module's counters that matter here: what they were is 'before'.
declare -A before
counters=("read chunks" "write chunks" "call chunks" "reply chunks"
	"messages CALL_MIDDLE sent" "messages CALL_EXTERNAL sent"
	"messages REPLY_MIDDLE received" "messages REPLY_EXTERNAL received"
	"messages XMTREQ sent" "messages XMTCONT sent"
	"messages XMTRESP received" "messages XMTCONT received")

value() { # COUNTER
	case $1 in
	*" sent") counter "${1% sent}" sent ;;
	*" received") counter "${1% received}" received ;;
	*) counter "$1" ;;
	esac
}

remember() {
	local name
	for name in "${counters[@]}"; do
		before[$name]=$(value "$name")
	done
}

# All counters as they were, but those named: they have grown by as much as follows
# them, or by any number if that is +.
grew() { # [COUNTER BY]...
	local name now by wrong=0
	local -A want
	while (($#)); do
		want[$1]=$2
		shift 2
	done
	for name in "${counters[@]}"; do
		now=$(value "$name") || return
		by=$((now - before[$name]))
		if [[ ${want[$name]-0} = + ]]; then
			((by > 0))
		else
			((by == ${want[$name]-0}))
		fi && continue
		echo "$name: $by, should be ${want[$name]-0}"
		wrong=1
	done
	return $wrong
}

# Two direct writes of SIZE and the counters that they have to move, then the same
# for reads.
writes() { # WHAT SIZE [COUNTER BY]...
	remember
	check "$1: write $2" write_direct "$2" 2
	check "$1: write $2: ${3-nothing} grew" grew "${@:3}"
	check "$1: write $2: server has it" server_has $(($2 * 2))
}

reads() { # WHAT SIZE [COUNTER BY]...
	remember
	check "$1: read $2" read_direct "$2" 2
	check "$1: read $2: ${3-nothing} grew" grew "${@:3}"
}

# Neither by chunks of their own nor by groups of Sends.
not_reduced() {
	local name
	for name in "read chunks" "write chunks" "messages XMTREQ sent" \
		"messages XMTRESP received"; do
		echo "$name: before ${before[$name]}, now $(value "$name")"
		((before["$name"] == $(value "$name"))) || return
	done
}

try() { # FLAVOR VERS
	local what="$1, v$2" largest=0
	check "$what: mount" mount_as "$1" "$2" || return
	check "$what: security" secured "$1"
	# The first RPCs set up contexts.
	on_server touch /export/file
	stat "$dir/file" > /dev/null
	# Until a server has seen larger messages its Receives are a page, with all headers.
	writes "$what" 2048
	reads "$what" 2048
	if [[ $1 = krb5 ]]; then
		if both_have_rtrext; then
			# Five Sends of seven pages each.
			writes "$what" 131072 "messages XMTREQ sent" 2 \
				"messages XMTCONT sent" 8
			reads "$what" 131072 "messages XMTREQ sent" 2 \
				"messages XMTRESP received" 2 "messages XMTCONT received" 8
		else
			writes "$what" 131072 "read chunks" 2
			reads "$what" 131072 "write chunks" 2
		fi
		writes "$what" 1048576 "read chunks" 2
		reads "$what" 1048576 "write chunks" 2
	else
		writes "$what" 32768 "messages CALL_MIDDLE sent" +
		reads "$what" 32768 "messages REPLY_MIDDLE received" +
		for size in 131072 1048576; do
			writes "$what" "$size" "call chunks" 2 \
				"messages CALL_EXTERNAL sent" 2
			reads "$what" "$size" "reply chunks" 2 \
				"messages REPLY_EXTERNAL received" 2
		done
	fi
	remember
	if [[ $2 = 3 ]]; then
		check "$what: random operations" run random random 7 "$(amount 40)"
	else
		[[ $1 != "$flavor" && -z $FULL ]] || largest=4194307
		check "$what: sizes and offsets" run table table "$largest"
	fi
	[[ $1 = krb5 ]] || check "$what: nothing reduced" not_reduced
	rm -f "${dir:?}"/*
	check "$what: unmount" umount "$dir"
}

"$GUEST_ROLE"
