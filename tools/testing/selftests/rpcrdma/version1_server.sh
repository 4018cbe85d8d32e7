#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that our client mounts from the kernel's own server, which speaks version 1
# only: the client falls back to version 1 on the same connection, in no noticeable
# time. Data of all sizes with each version of NFS, recalled delegations, connections
# that are lost while a program writes. With rtrext at the client nothing else happens: no
# message goes by a group. If version 1 is forbidden, the mount fails soon and the client says
# why.

. "$(dirname "$0")/lib.sh"
in_guests --pair --intree server

server() {
	LEASE=60 serve 8
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	check "server: the kernel's own transport" on_server kernels_own
	local vers
	for vers in 3 4.0 4.1 4.2; do
		serves_in_version_1 "$vers"
	done
	check "nothing left" within 10 nothing_left

	check "fall back" falls_back
	during "frames lost for 9 s" lose 9
	check "frames lost for 9 s: version 1" speaks 1
	during "nfsd restarted" on_server restart_nfsd
	check "unmount" umount "$dir"

	check "version 1 alone: set" set_knob rdma_max_version 1
	check "version 1 alone: mount" nothing_is_refused timed alone
	check "falling back takes no visibly longer" \
		no_longer "$(< /tmp/took.fallback)" "$(< /tmp/took.alone)"
	check "version 1 alone: works" works
	check "version 1 alone: unmount" umount "$dir"
	check "version 1 alone: as before" set_knob rdma_max_version 2

	check "with rtrext: set" set_parameter rtrext 1
	beside_rtrext "with rtrext, v3" 3 here 1 data
	beside_rtrext "with rtrext, v4.2" 4.2 here 1
	check "with rtrext: no longer" set_parameter rtrext 0

	check "forbidden" set_knob rdma_min_version 2
	for vers in 3 4.2; do
		check "forbidden: v$vers: mount fails in time" \
			refused_as_unsupported "$vers"
		echo "# $(< /tmp/refused)"
		check "forbidden: v$vers: nothing left" within 10 nothing_left
	done
	check "forbidden: says why" logged "speaks no version"
	check "remove the module" within 10 rmmod rpcrdma
	end
}

# By one connection, which the server has refused one version on.
falls_back() {
	local closed refused
	closed=$(closed)
	refused=$(counter "messages ERROR" received)
	timed fallback || return
	(($(closed) == closed)) && speaks 1 &&
		(($(counter "messages ERROR" received) == refused + 1))
}

# Mount. How many milliseconds it took is in /tmp/took.NAME.
timed() { # NAME
	local begin=${EPOCHREALTIME/./}
	mount_rdma 4.2 "$SERVER4" "$dir" &&
		echo $(((${EPOCHREALTIME/./} - begin) / 1000)) > "/tmp/took.$1"
}

# Both wait for the same things, so that emulation does not count.
no_longer() { # MILLISECONDS ALONE
	echo "with version 2 refused $1 ms, version 1 alone $2 ms"
	(($1 <= $2 + 2000 * PATIENCE))
}

nothing_is_refused() { # COMMAND...
	local refused
	refused=$(counter "messages ERROR" received)
	"$@" && speaks 1 && (($(counter "messages ERROR" received) == refused))
}

refused_as_unsupported() { # VERS
	refused "$1" "$dir" && grep -q "not supported" /tmp/refused
}

"$GUEST_ROLE"
