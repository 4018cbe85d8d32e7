#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that 'rpcrdmactl doctor' alone tells what is wrong: nothing where all is well, and
# of each of ten broken set-ups the one thing that is broken. The command that it names is
# typed, and then nothing is wrong any more.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --pair

ctl=$SELFTESTS/../../../../build/tools/rpcrdmactl
release=$(uname -r)

server() {
	serve 4
}

client() {
	begin
	if ! pipefs_up || ! modprobe rpcrdma || ! mkdir -p "$dir" "$other"; then
		bail "cannot begin"
	fi
	all_is_well
	wrong_port
	kernels_own_module
	no_device
	no_rxe
	nobody_listens
	fallen_back
	version_1_server
	keys_differ
	firewall
	starved
	check "memlock: found" with_little_memory
	check "memlock: what mends it" grep memlock /tmp/mend
	check "memlock: nothing is wrong with more" content
	check "at the end: nothing here" content
	check "at the end: nothing there" on_server content
	check "at the end: nothing left" within 30 nothing_left
	end_unloaded
}

# ---- what doctor says

# It warns of nothing.
content() { # [SERVER]
	local status
	"$ctl" doctor "$@" > /tmp/said
	status=$?
	echo "status $status"
	cat /tmp/said
	((status == 0)) && [[ -s /tmp/said ]] && ! grep -v '^ok ' /tmp/said
}

says() { # PATTERN
	grep "$1" /tmp/said
}

# Of all that is not well it says this alone. What mends it is then in /tmp/mend.
finds() { # PATTERN [SERVER]
	local lines status wanted=1
	"$ctl" doctor "${@:2}" > /tmp/said
	status=$?
	echo "status $status, wanted: $1"
	cat /tmp/said
	[[ $1 = fail* ]] || wanted=5
	mapfile -t lines < <(grep -v '^ok ' /tmp/said)
	# shellcheck disable=SC2053 # it is a pattern
	((status == wanted && ${#lines[@]} == 2)) && [[ ${lines[0]} = $1 ]] &&
		[[ ${lines[1]} = "  "* ]] && echo "${lines[1]#  }" > /tmp/mend
}

# The command has to look like this. What stands behind "at the server:" is typed there.
mends() { # PATTERN
	local command there
	command=$(< /tmp/mend)
	echo "mend: $command"
	# shellcheck disable=SC2053 # it is a pattern
	[[ $command = $1 ]] || return
	if [[ $command = "at "*": "* ]]; then
		command=${command#at *: }
		there=${command%%; then: *}
		on_server bash -c "$there" || return
		[[ $command = *"; then: "* ]] || return 0
		command=${command#*; then: }
	fi
	bash -c "$command"
}

# The whole of it: what is found, with which server, and what mends it.
found_and_mended() { # NAME PATTERN MEND [SERVER]
	check "$1: found" finds "$2" "${@:4}"
	check "$1: mended" mends "$3"
	check "$1: nothing is wrong any more" within 30 content "${@:4}"
}

# ---- set-ups

mounted_by() { # PROTOCOL
	grep " $dir nfs" /proc/mounts | grep -E ",proto=$1[, ]"
}

unmounted() {
	! is_mounted "$dir" || umount "$dir"
}

in_fstab() { # OPTIONS
	echo "$SERVER4:/ $dir nfs $1 0 0" > /etc/fstab
}

all_is_well() {
	check "all is well: without a mount" content
	check "all is well: at the server" on_server content
	check "all is well: the server listens" on_server says "listens on RDMA at .*:20049$"
	check "all is well: it can be reached" content "$SERVER4"
	check "all is well: it has answered" says "^ok network: $SERVER4:20049 answers by RDMA$"
	check "all is well: by its other address" content "$SERVER6"
	check "all is well: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "all is well: with a mount" content
	check "all is well: version" says "^ok mount: $dir speaks version 2$"
	check "all is well: at the server of a mount" on_server content
	check "all is well: JSON" json_is_well
	check "all is well: unmount" unmounted
}

json_is_well() {
	"$ctl" doctor -j "$SERVER4" | /usr/bin/python3 -S -c '
import json, sys
sys.exit(any(one["verdict"] != "ok" for one in json.load(sys.stdin)))'
}

wrong_port() {
	check "wrong port: in fstab" in_fstab vers=4.2,proto=rdma,port=20050
	found_and_mended "wrong port" \
		"fail network: nobody listens on RDMA at $SERVER4:20050, but at port 20049" \
		"sed -i * /etc/fstab && mount $dir"
	check "wrong port: it is mounted by RDMA" mounted_by rdma
	check "wrong port: unmount" unmounted
	: > /etc/fstab
}

kernels_own_module() {
	check "the kernel's own module: load it" load_kernels_own
	found_and_mended "the kernel's own module" \
		"fail module: another module rpcrdma is loaded, the kernel's own or an older one" \
		"modprobe -r rpcrdma && modprobe rpcrdma"
	check "the kernel's own module: ours is back" test -s /sys/module/rpcrdma/version
}

load_kernels_own() {
	local files
	mapfile -t files < <(find -L "/lib/modules/$release/kernel" -name 'rpcrdma.ko*')
	within 30 rmmod rpcrdma && insmod "${files[0]}" && kernels_own
}

no_device() {
	check "no device: remove it" rdma_down rxe
	found_and_mended "no device" "fail device: there is no RDMA device" \
		"rdma link add rxe0 type rxe netdev $(net_device)"
}

# There is a device, but on another network. And the kernel has no module for one.
no_rxe() {
	check "rxe missing: it is elsewhere" rxe_elsewhere
	found_and_mended "rxe missing" \
		"fail network: no RDMA device is on $(net_device), which leads to $SERVER4" \
		"rdma link add rxe1 type rxe netdev $(net_device)" "$SERVER4"
	check "rxe missing: as before" rxe_here
	check "no module rxe: take it away" without_rxe
	check "no module rxe: found" finds \
		"fail device: there is no RDMA adapter, and the kernel has no module rdma_rxe"
	check "no module rxe: mended" with_rxe
	check "no module rxe: nothing is wrong any more" within 30 content
}

rxe_elsewhere() {
	rdma_down rxe && ip link add elsewhere0 mtu 9000 type veth peer name elsewhere1 mtu 9000 &&
		ip link set elsewhere1 up && ip link set elsewhere0 up &&
		ip addr add 198.51.100.1/24 dev elsewhere0 &&
		rdma link add rxe0 type rxe netdev elsewhere0
}

rxe_here() {
	rdma link delete rxe0 && rdma link delete rxe1 && ip link del elsewhere0 && rdma_up rxe
}

# All modules but one, as links to the others.
without_rxe() {
	rdma_down rxe && within 10 rmmod rdma_rxe && mkdir /tmp/all /tmp/lesser &&
		mount --bind "/lib/modules/$release" /tmp/all &&
		cp -rsL /tmp/all/. /tmp/lesser &&
		find /tmp/lesser -name 'rdma_rxe.ko*' -delete &&
		find /tmp/lesser -maxdepth 1 -name 'modules.*' ! -name modules.builtin \
			! -name modules.builtin.modinfo ! -name modules.order -delete &&
		mount --bind /tmp/lesser "/lib/modules/$release" && depmod -a &&
		! modprobe rdma_rxe
}

# Its package is installed, and then what doctor says.
with_rxe() {
	cat /tmp/mend
	umount "/lib/modules/$release" && bash -c "$(sed 's/.*; then: //' /tmp/mend)"
}

nobody_listens() {
	check "nobody listens: be silent" on_server falls_silent
	check "nobody listens: found there" on_server finds \
		"warn server: nfsd runs and does not listen on RDMA"
	found_and_mended "nobody listens" \
		"fail network: nobody listens on RDMA at $SERVER4:20049" \
		"at the server: echo rdma 20049 > /proc/fs/nfsd/portlist" "$SERVER4"
	check "nobody listens: nothing is wrong there" on_server content
	check "no nfsd: stop it" on_server server_down
	check "no nfsd: found" finds "fail network: nfsd does not run at $SERVER4" "$SERVER4"
	# There is no systemd in a guest.
	check "no nfsd: start it" on_server server_up 4
	check "no nfsd: nothing is wrong any more" within 30 content "$SERVER4"
}

falls_silent() {
	rpc.nfsd 0 && rpc.nfsd --grace-time 10 --lease-time 10 4 &&
		echo Y > /proc/fs/nfsd/v4_end_grace && ! grep rdma /proc/fs/nfsd/portlist
}

# NFS 4.1 and 4.2 take the connection that they have with the server.
fallen_back() {
	check "fallen back: in fstab" in_fstab vers=4.2,proto=rdma,port=20049
	check "fallen back: a mount by TCP" mount_other 4.2
	check "fallen back: mount" mount "$dir"
	check "fallen back: it is TCP" mounted_by tcp
	found_and_mended "fallen back" \
		"fail mount: $dir uses tcp, and /etc/fstab asks for RDMA" \
		"umount $other $dir && mount $dir"
	check "fallen back: it is RDMA" mounted_by rdma
	check "fallen back: unmount" unmounted
	: > /etc/fstab
}

version_1_server() {
	check "version 1: set" on_server set_parameter server_max_version 1
	check "version 1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	found_and_mended "version 1" \
		"warn mount: $dir speaks version 1, since the server speaks no higher one" \
		"at the server: echo 2 > *server_max_version; then: umount $dir && mount -o *"
	check "version 1: it is version 2" says "^ok mount: $dir speaks version 2$"
	check "version 1: unmount" unmounted
}

# Both demand host authentication, and have different keys of one name.
keys_differ() {
	check "keys: here" has_key 0
	check "keys: another one there" on_server has_key 1
	check "keys: no mount" refused 4.2 "$dir"
	check "keys: found" finds "warn network: the key one of host authentication is not \
the same here and at the server $SERVER4"
	check "keys: what mends it" grep -Fx \
		"here and at $SERVER4: keyctl padd logon rpcrdma:one %keyring:.rpcrdma < FILE" \
		/tmp/mend
	check "keys: the same there" on_server has_key 0
	check "keys: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "keys: nothing is wrong any more" within 30 content
	check "keys: unmount" unmounted
	check "keys: off" no_authentication
	check "keys: off there" on_server no_authentication
}

has_key() { # LAST-DIGIT
	keyctl link %keyring:.rpcrdma @u && printf '%032d' "$1" | keyctl padd logon rpcrdma:one %keyring:.rpcrdma &&
		sysctl -w net.rpcrdma.client_key=one net.rpcrdma.client_auth=required \
			net.rpcrdma.server_auth=required
}

no_authentication() {
	sysctl -w net.rpcrdma.client_auth=off net.rpcrdma.server_auth=off
}

# With rules of the server if its kernel has such, else a firewall between the two.
firewall() {
	local there="fail network: $SERVER4 is there, and does not answer by RDMA"
	if on_server nft list ruleset > /dev/null 2>&1; then
		check "firewall: rules" on_server shut_by_rules
		check "firewall: found" finds "$there: a firewall drops UDP port 4791" "$SERVER4"
		check "firewall: doctor is asked there" grep "^at the server: rpcrdmactl doctor$" /tmp/mend
		check "firewall: found there" on_server finds "fail network: rules of this machine \
drop udp port 4791, which RDMA needs: table inet guard, chain input"
		check "firewall: mended there" on_server mends \
			"nft insert rule inet guard input udp dport 4791 accept"
		check "firewall: nothing is wrong there any more" on_server content
		check "firewall: no rules" on_server nft flush ruleset
	elif grep -q vec0: /proc/cmdline; then
		check "firewall: between the two" on_server drop 4791
		check "firewall: found" finds "$there: a firewall drops UDP port 4791" "$SERVER4"
		check "firewall: doctor is asked there" grep "^at the server: rpcrdmactl doctor$" /tmp/mend
		check "firewall: it is not the server's own" on_server content
		check "firewall: open it" on_server drop
	else
		skip "firewall" "the kernel has no rules, and the network no filter"
		return
	fi
	check "firewall: nothing is wrong any more" within 30 content "$SERVER4"
}

shut_by_rules() {
	nft -f - <<- END
		table inet guard {
			chain input {
				type filter hook input priority 0; policy drop;
				ct state established,related accept
				iifname "lo" accept
				meta l4proto { icmp, ipv6-icmp } accept
				tcp dport { 111, 2049, 20048 } accept
			}
		}
	END
}

drop() { # [PORT]
	/usr/bin/python3 -S "$SELFTESTS/drop.py" "$(net_device)" "$@"
}

# The server lets the client send three messages ahead; many programs read.
starved() {
	local pids=() i
	check "starved: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "starved: data" fill
	check "starved: a small window" on_server set_parameter window 3
	for ((i = 0; i < 8; i++)); do
		start small_reader
	done
	check "starved: found" within 30 finds \
		"warn load: the connection with $SERVER4:20049 waits for credit, * times a second"
	check "starved: mended" mends "at $SERVER4:20049: echo * > /sys/module/rpcrdma/parameters/window"
	check "starved: nothing is wrong any more" within 30 content
	check "starved: the programs go on" all_run "${pids[@]}"
	kill "${pids[@]}"
	check "starved: the programs end" within 30 all_ended "${pids[@]}"
	check "starved: unmount" within 10 unmounted
}

# The limit of whoever asks.
with_little_memory() {
	(ulimit -l 64 && finds "warn device: a program may lock no more than 65536 octets of memory: *")
}

all_run() { # PID...
	local pid
	for pid; do
		! ended "$pid" || return
	done
}

"$GUEST_ROLE"
