#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the sysctls decide which versions our client and server speak; that the
# module parameters already decide it for the first connection; and that a mount that
# began with version 1 speaks version 2 after the server was upgraded and the client
# has reconnected.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits --pair

server() {
	serve 4
}

client() {
	begin
	check "old server: set" on_server set_knob svc_rdma/max_version 1
	check "old server: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "old server: version 1" speaks 1
	check "old server: every size" table
	check "old server: the same data there" same_table
	check "upgraded: set" on_server set_knob svc_rdma/max_version 2
	check "upgraded: nfsd restarted" on_server restart_nfsd
	check "upgraded: works" within 60 works
	check "upgraded: version 2" within 60 speaks 2
	check "upgraded: every size" table
	check "upgraded: the same data there" same_table
	check "upgraded: unmount" umount "$dir"
	check "old client: set" set_knob rdma_max_version 1
	check "old client: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "old client: version 1 there" on_server speaks 1
	check "old client: works" works
	check "old client: unmount" umount "$dir"
	check "nothing in common: set" on_server set_knob svc_rdma/min_version 2
	check "nothing in common: no mount" \
		nothing_in_common "does not speak version 1"
	check "nothing in common: set back" on_server set_knob svc_rdma/min_version 1
	check "out of range" refuses_value /proc/sys/sunrpc/rdma_max_version 3
	# Later the module is loaded without rtrext.
	groups_went
	parameters
	check "nothing left" within 30 nothing_left
	check "server: nothing left" on_server within 30 nothing_left
	leave
}

parameters() {
	check "parameters: remove the module" within 30 rmmod rpcrdma
	check "parameters: loaded out of range" not_loaded_with client_max_version=3
	check "parameters: loaded with version 1" modprobe rpcrdma client_max_version=1
	check "parameters: sysctl" knob_is rdma_max_version 1
	check "parameters: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "parameters: version 1 there" on_server within 30 speaks 1
	check "parameters: unmount" umount "$dir"
	check "parameters: set" set_parameter client_max_version 2
	check "parameters: sysctl follows" knob_is rdma_max_version 2
	check "parameters: out of range" \
		refuses_value $parameters/client_max_version 3
	check "parameters: as it was" knob_is rdma_max_version 2
	check "parameters: mount again" mount_rdma 4.2 "$SERVER4" "$dir"
	check "parameters: version 2 there" on_server within 30 speaks 2
	check "parameters: unmount again" umount "$dir"
	check "server's parameters: set" on_server set_parameter server_max_version 1
	check "server's parameters: sysctl follows" \
		on_server knob_is svc_rdma/max_version 1
	check "server's parameters: out of range" \
		on_server refuses_value $parameters/server_max_version 3
	check "server's parameters: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "server's parameters: version 1" within 30 speaks 1
	check "server's parameters: unmount" umount "$dir"
}

not_loaded_with() { # PARAMETER
	! modprobe rpcrdma "$1" && [[ ! -e /sys/module/rpcrdma ]]
}

"$GUEST_ROLE"
