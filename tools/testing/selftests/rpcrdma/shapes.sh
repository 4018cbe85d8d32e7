#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that both ends keep the limits of an adapter. On both sides the module
# rxe_shape makes rxe report the limits of another adapter (tools/testing/kunit/adapters.h)
# and refuses Work Requests, queues and regions beyond them. With each shape READs and WRITEs of 1 MiB leave
# the same data on both sides, without encryption and with krb5p, and callbacks work.
# The server's trace events show that its RDMA Reads and Writes take as many Work Requests
# as that adapter needs. A client whose adapter cannot invalidate memory registers none, so the
# server needs no RDMA operation. At the end no limit has been broken. Without FULL=1 that is NFSv4.2,
# and krb5p only with the first shape and with such a client.
#
# rxe stays RoCE: for an iWARP adapter, ib_core registers the memory of RDMA Reads as it
# would there, but nothing else is like iWARP.

. "$(dirname "$0")/lib.sh"
. "$SELFTESTS/kerberos.sh"
. "$SELFTESTS/operations.sh"
in_guests --shared --needs checks --pair

shape=/sys/module/rxe_shape/parameters

# For 1 MiB: bytes and elements of each RDMA operation, Work Requests of a Read and of a
# Write; and what the client looks like, if not the same. Registered memory may have to be
# invalidated first. The queues of an irdma-x722 have room only for iWARP, which rxe is not.
shapes=(
	"mlx5 1048576 256 [23] 16"
	"mlx4 1048576 256 16 16"
	"irdma 1048576 256 20 20"
	"bnxt_re 1048576 256 43 43"
	"cxgb4 524288 128 [23] 8"
	"qedr 1048576 256 64 64"
	"hns 1048576 256 16 16 rxe"
	"hns 0"
	"erdma 1048576 256 [23] 43"
)

server() {
	rdma_up rxe && largest_blocks || exit
	if ! modprobe rxe_shape; then
		signal ready
		exit 0
	fi
	if modprobe rpcsec_gss_krb5; then
		names && kdc_up || exit
		export EXPORT_OPTIONS=sec=sys:krb5:krb5i:krb5p
	fi
	server_up 4 || exit
	[[ -z ${EXPORT_OPTIONS-} ]] || rpc.svcgssd -p "${principals[0]}" || exit
	try_holes
	trace rpcrdma/rpcrdma_rw || exit
	signal ready
	obey
}

client() {
	local line flavor=''
	begin
	if ! modprobe rxe_shape; then
		skip "shapes" "rxe_shape is for kernels with KUnit"
		finish
	fi
	modprobe rpcrdma || bail "no module"
	check "rxe_shape refuses regions and queues" refuses
	head -c 4M /dev/urandom > /tmp/data
	if modprobe rpcsec_gss_krb5; then
		gssd_up || bail "no rpc.gssd"
		flavor=$(strongest_flavor)
	else
		skip "krb5p" "no rpcsec_gss_krb5 in this kernel"
	fi
	for line in "${shapes[@]}"; do
		# shellcheck disable=SC2086 # several words
		try $line
		if [[ -n $flavor && (-n $FULL || $line = "${shapes[0]}" || $line = *' 0') ]]; then
			privately "${line%% *}" "$flavor"
		fi
	done
	check "no limit was broken" unbroken
	check "server: no limit was broken" on_server unbroken
	check "nothing left" within 30 nothing_left
	end
}

# Nothing is under way that was begun with another shape.
become() { # SHAPE
	within 30 nothing_left && echo "$1" > "$shape/shape" && [[ $(< "$shape/shape") = "$1" ]]
}

refuses() {
	become erdma && echo regions > "$shape/probe" && echo completions > "$shape/probe"
}

unbroken() {
	grep . "$shape/broken" "$shape/checked"
	dmesg | grep rxe_shape:
	(($(< "$shape/broken") == 0 && $(< "$shape/checked") > 0))
}

no_operations() {
	! grep rpcrdma_rw: "$tracing/trace"
}

try() { # SHAPE OCTETS ELEMENTS READS WRITES [CLIENT]
	local vers name="$1${6+ as the server}"
	check "$name: the client's device" become "${6-$1}" || return
	check "$name: the server's device" on_server become "$1" || return
	for vers in ${FULL:+3} 4.2; do
		check "$name, v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || continue
		on_server forget_operations
		check "$name, v$vers: write 1 MiB" write_direct 1048576 4
		check "$name, v$vers: server has it" server_has $((4 << 20))
		(($2 == 0)) || check "$name, v$vers: Work Requests of RDMA Reads" \
			on_server operations FROM "$2" "$3" "$4"
		check "$name, v$vers: read 1 MiB" read_direct 1048576 4
		(($2 == 0)) || check "$name, v$vers: Work Requests of RDMA Writes" \
			on_server operations TO "$2" "$3" "$5"
		(($2 > 0)) || check "$name, v$vers: no RDMA operation" on_server no_operations
		check "$name, v$vers: random operations" run random random 7 "$(amount 40)"
		[[ $vers = 3 ]] || call_back "$name" "$vers"
		rm -f "${dir:?}"/*
		check "$name, v$vers: unmount" umount "$dir"
	done
}

call_back() { # SHAPE VERS
	check "$1, v$2: second client" on_server mount_other "$2"
	check "$1, v$2: delegation" delegated "$1"
	check "$1, v$2: recalled" recalled "$1"
	check "$1, v$2: second client leaves" on_server umount "$other"
}

privately() { # SHAPE FLAVOR
	check "$1, $2: mount" mount_as "$2" 4.2 || return
	check "$1, $2: write 1 MiB" write_direct 1048576 2
	check "$1, $2: server has it" server_has $((2 << 20))
	check "$1, $2: read 1 MiB" read_direct 1048576 2
	rm -f "${dir:?}"/*
	check "$1, $2: unmount" umount "$dir"
}

"$GUEST_ROLE"
