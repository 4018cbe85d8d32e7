#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the module can be replaced and taken away while clients keep their mounts: by
# another version of it, and by the kernel's own. Files under updates/ can be replaced at any
# time; what is loaded stays until nobody uses it. When nfsd stops, the server's module can
# be exchanged, and mounts of clients, idle ones too, go on with what is there then. On a
# client that takes an unmount. Without updates/ the kernel's own is back at both ends.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --waits --pair

installed=/lib/modules/$(uname -r)/updates

server() {
	modules_writable && modprobe rpcrdma || exit
	serve 4
}

client() {
	begin
	check "modules can be exchanged" modules_writable
	modprobe rpcrdma || bail "no module"
	check "an idle connection is closed soon" set_parameter idle_timeout 8
	check "another version: which there is" loaded_is "$(versions_of first)"
	mounted "first"
	another_version
	kernels_own_back
	ours_again
	unmounted "at the end"
	end_unloaded
}

another_version() {
	check "another version: installed" install_another
	check "another version: server: installed" on_server install_another
	check "another version: not loaded yet" still_the_first
	check "another version: server: not loaded yet" on_server still_the_first
	check "another version: the idle connection goes" within 60 connections 1
	check "another version: cannot be removed while mounted" refuses
	check "another version: works" goes_on
	check "another version: the idle connection goes again" within 60 connections 1
	check "another version: server: exchanged" on_server exchanged
	check "another version: server: loaded" on_server loaded_is "$(versions_of another)"
	check "another version: the mounts go on" goes_on
	check "another version: version 2" speaks 2
	unmounted "another version"
	check "another version: remove the module" within 30 modprobe -r rpcrdma
	mounted "another version"
	check "another version: loaded" loaded_is "$(versions_of another)"
	check "another version: the same data" same_everywhere
}

kernels_own_back() {
	check "removed: server: not installed any more" on_server not_installed
	check "removed: server: nobody has noticed" \
		on_server loaded_is "$(versions_of another)"
	check "removed: server: exchanged" on_server exchanged
	check "removed: server: the kernel's own" on_server kernels_own
	check "removed: the mounts go on" goes_on
	check "removed: version 1" speaks 1
	check "removed: not installed any more" not_installed
	check "removed: works" goes_on
	unmounted "removed"
	check "removed: remove the module" within 30 modprobe -r rpcrdma
	mounted "removed"
	check "removed: the kernel's own" kernels_own
	check "removed: the same data" same_everywhere
	check "removed: nfsd stops and starts" on_server restart_nfsd
	check "removed: the mounts go on with the kernel's own" goes_on
}

ours_again() {
	check "again: server: installed" on_server install_first
	check "again: server: exchanged" on_server exchanged
	check "again: server: loaded" on_server loaded_is "$(versions_of first)"
	check "again: the mounts of the kernel's own go on" goes_on
	check "again: version 1" on_server speaks 1
	check "again: installed" install_first
	unmounted "again"
	check "again: remove the kernel's own" within 30 modprobe -r rpcrdma
	mounted "again"
	check "again: loaded" loaded_is "$(versions_of first)"
	check "again: version 2" speaks 2
	check "again: the same data" same_everywhere
}

# An overlay, since the host's are read-only. What is installed is kept in /tmp/updates.
modules_writable() {
	mkdir -p /run/modules/{upper,work} && cp -a "$installed" /tmp/updates &&
		mount -t overlay -o "lowerdir=/lib/modules,upperdir=/run/modules/upper,$(
		)workdir=/run/modules/work" modules /lib/modules
}

# The version that is installed as the first, and that of install_another().
versions_of() { # first|another
	local version
	version=$(modinfo -F version "$(find /tmp/updates -name rpcrdma.ko)") || return
	[[ $1 = first ]] || version=${version//[0-9]/9}
	echo "$version"
}

# The same module, and another number in it.
install_another() {
	local file
	file=$(modinfo -n rpcrdma) &&
		sed -z '/^version=/y/0123456789/9999999999/' "$file" > /tmp/another.ko &&
		mv /tmp/another.ko "$file" && depmod -a && found_is updates &&
		[[ $(modinfo -F version rpcrdma) = "$(versions_of another)" ]]
}

install_first() {
	cp -a /tmp/updates "$installed" && depmod -a && found_is updates
}

not_installed() {
	rm -r "$installed" && depmod -a && found_is kernel
}

# Where modprobe would take the module from.
found_is() { # DIRECTORY
	modinfo -n rpcrdma
	[[ $(modinfo -n rpcrdma) = "/lib/modules/$(uname -r)/$1"/* ]]
}

# modprobe does nothing either.
still_the_first() {
	modprobe rpcrdma && loaded_is "$(versions_of first)"
}

loaded_is() { # VERSION
	cat /sys/module/rpcrdma/version
	[[ -n $1 && $(< /sys/module/rpcrdma/version) = "$1" ]]
}

# In the server, as the guide for administrators says. The kernel's own module of 6.12 frees
# connections by the system's workqueue, and forgets to wait for that when it is removed.
exchanged() {
	server_down && sleep 2 && within 30 modprobe -r rpcrdma && [[ ! -e /sys/module/rpcrdma ]] &&
		server_up 4
}

# One mount whose lease keeps it talking, and one that nobody uses.
mounted() { # WHAT
	check "$1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "$1: mount, NFSv3" mount_rdma 3 "$SERVER4" "$other"
	[[ -e $dir/data ]] || check "$1: data" fill
}

unmounted() { # WHAT
	check "$1: unmount" umount "$dir" "$other"
}

goes_on() {
	works && ran=$ran.3 dir=$other works && same_everywhere
}

# By way of both mounts what the server has.
same_everywhere() {
	same_data && dir=$other same_data
}

"$GUEST_ROLE"
