#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a server works that registers memory for each of its RDMA Reads and
# Writes, as iWARP requires, and adapters that read into few elements of
# memory at a time: ib_core.force_mr makes rxe do so. A region has no gaps, and at most 256
# pages. READs and WRITEs of up to 1 MiB leave the same data on both sides: by Read and
# Write chunks, by Call chunks with these or alone, and, with krb5p, by Call and Reply
# chunks. Callbacks work. The server's trace events show that a WRITE of 1 MiB is read
# into 256 pages, which is one region, and that no operation fails.

. "$(dirname "$0")/lib.sh"
. "$SELFTESTS/kerberos.sh"
. "$SELFTESTS/operations.sh"
in_guests --pair --append ib_core.force_mr=1

server() {
	rdma_up rxe && largest_blocks || exit
	if modprobe rpcsec_gss_krb5; then
		names && kdc_up || exit
		export EXPORT_OPTIONS=sec=sys:krb5:krb5i:krb5p
	fi
	server_up 4 || exit
	[[ -z ${EXPORT_OPTIONS-} ]] || rpc.svcgssd -p "${principals[0]}" || exit
	try_holes
	trace rpcrdma/rpcrdma_rw && trace_failures || exit
	signal ready
	obey
}

client() {
	begin
	modprobe rpcrdma || bail "no module"
	head -c 4M /dev/urandom > /tmp/data
	by_chunks
	in_bodies
	privately
	check "server: every operation fits" on_server nothing_failed
	check "server: no Call is blamed" on_server none_blamed
	check "nothing left" within 30 nothing_left
	end
}

# Without the parameter a server of rxe's has no region at all.
regions_are_there() {
	local count
	rdma resource show
	count=$(rdma resource show | sed 's/.* mr \([0-9]*\).*/\1/')
	((count >= 64))
}

# Reads that found no region free wait for one (EAGAIN).
trace_failures() {
	local event=$tracing/instances/failed/events/rpcrdma/rpcrdma_rw
	mkdir "$tracing/instances/failed" && echo 'wrs < 0 && wrs != -11' > "$event/filter" &&
		echo 1 > "$event/enable"
}

nothing_failed() {
	! grep wrs= "$tracing/instances/failed/trace"
}

none_blamed() {
	(($(counter "calls that broke the connection") == 0))
}

by_chunks() {
	local vers
	for vers in 3 4.2; do
		check "v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || continue
		check "server: it registers" on_server regions_are_there
		on_server forget_operations
		# Three Work Requests: a region that was used before is invalidated first.
		check "v$vers: write 1 MiB" write_direct 1048576 4
		check "v$vers: server has it" server_has $((4 << 20))
		check "v$vers: each in 256 pages, one region" \
			on_server operations FROM 1048576 256 "[23]"
		check "v$vers: read 1 MiB" read_direct 1048576 4
		check "v$vers: each from one region" \
			on_server operations TO 1048576 256 "[23]"
		check "v$vers: sizes and offsets" run table table
		check "v$vers: random operations" run random random 7 "$(amount 60)"
		if [[ $vers = 4.2 ]]; then
			check "v$vers: second client" on_server mount_other "$vers"
			check "v$vers: delegation" delegated "$vers"
			check "v$vers: recalled" recalled "$vers"
			check "v$vers: second client leaves" on_server umount "$other"
		fi
		rm -f "${dir:?}"/*
		check "v$vers: unmount" umount "$dir"
	done
}

# Whole Calls in Call chunks, with and without items beside them.
in_bodies() {
	local vers threshold
	for vers in 3 4.2; do
		for threshold in 4294967295 65536; do
			echo "$threshold" > "$parameters/ddp_threshold"
			echo 8192 > "$parameters/special_threshold"
			whole "v$vers, items above $threshold" "$vers"
		done
	done
	echo 16384 > "$parameters/ddp_threshold"
	echo 65536 > "$parameters/special_threshold"
}

whole() { # WHAT VERS
	local calls
	check "$1: mount" mount_rdma "$2" "$SERVER4" "$dir" || return
	calls=$(counter "call chunks")
	check "$1: write 1 MiB" write_direct 1048576 2
	check "$1: write 32 KiB" write_direct 32768 2
	check "$1: server has it" server_has $((64 << 10))
	check "$1: read 32 KiB" read_direct 32768 2
	check "$1: write 1 MiB again" write_direct 1048576 2
	check "$1: read 1 MiB" read_direct 1048576 2
	check "$1: random operations" run random random 8 "$(amount 40)"
	check "$1: Call chunks" grown "call chunks" "$calls"
	rm -f "${dir:?}"/*
	check "$1: unmount" umount "$dir"
}

grown() { # COUNTER BEFORE
	echo "$(counter "$1"), was $2"
	(($(counter "$1") > $2))
}

privately() {
	local flavor calls replies
	if ! modprobe rpcsec_gss_krb5; then
		skip "krb5p" "no rpcsec_gss_krb5 in this kernel"
		return
	fi
	gssd_up || bail "no rpc.gssd"
	flavor=$(strongest_flavor)
	check "$flavor: mount" mount_as "$flavor" 4.2 || return
	calls=$(counter "call chunks") replies=$(counter "reply chunks")
	check "$flavor: write 1 MiB" write_direct 1048576 2
	check "$flavor: server has it" server_has $((2 << 20))
	check "$flavor: read 1 MiB" read_direct 1048576 2
	check "$flavor: Call chunks" grown "call chunks" "$calls"
	check "$flavor: Reply chunks" grown "reply chunks" "$replies"
	check "$flavor: sizes and offsets" run table table
	rm -f "${dir:?}"/*
	check "$flavor: unmount" umount "$dir"
}

"$GUEST_ROLE"
