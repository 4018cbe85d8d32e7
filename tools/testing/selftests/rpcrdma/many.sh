#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that many small operations work, and Replies whose size the
# client does not know before: directories with thousands of long names, symbolic
# links of up to PATH_MAX, hard links, deep paths, long ACLs by NFSACL and NFSv4,
# extended attributes of up to 64 KiB. Server and client see the same tree.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

server() {
	serve 4
}

client() {
	begin
	try 3 500
	try 4.2 300
	end
}

make_tree() { # WHAT ARGUMENT...
	"${tree[@]}" "$1" "$dir/$1" "${@:2}"
}

same_on_server() { # WHAT [COUNT]
	local here there
	echo 3 > /proc/sys/vm/drop_caches
	here=$("${tree[@]}" list "$dir/$1") || return
	there=$(on_server "${tree[@]}" list "/export/$1") || return
	echo "here $here, there $there"
	[[ $here = "$there" && ${here#* } = "${2:-${here#* }}" ]]
}

changed_while_listing() {
	local found
	found=$(find "$dir/large" -type f -name '*17' -print -delete | wc -l)
	echo "removed $found of $(($1 / 100))"
	((found == $1 / 100)) && on_server test ! -e \
		/export/large/an-entry-with-a-name-of-some-length-000017
}

# Its tmpfs keeps attributes of users since Linux 6.6.
keeps_attributes() {
	/usr/bin/python3 -S -c 'import os; os.setxattr("/export", "user.try", b"")' &&
		/usr/bin/python3 -S -c 'import os; os.removexattr("/export", "user.try")'
}

empty() {
	[[ -z $(ls -A /export) ]]
}

by_middle() {
	local after
	after=$(counter "messages REPLY_MIDDLE" received)
	echo "REPLY_MIDDLE received: before $before, after $after"
	((after > before))
}

try() { # VERS FILES
	local what="v$1" files entries before
	files=$(amount "$2")
	entries=$(($(amount 50) * 100))
	check "$what: mount" mount_rdma "$1" "$SERVER4" "$dir" || return
	check "$what: create, stat, rename, unlink $files files" make_tree make "$files"
	check "$what: same on the server" same_on_server make
	on_server large_directory "$entries"
	before=$(counter "messages REPLY_MIDDLE" received)
	check "$what: list $entries entries" lists "$entries"
	[[ -e /sys/kernel/debug/rpcrdma ]] &&
		check "$what: READDIR was continued" by_middle
	check "$what: remove some while listing" changed_while_listing "$entries"
	check "$what: symbolic and hard links" make_tree links
	check "$what: same on the server" same_on_server links 116
	check "$what: a deep path" make_tree deep
	check "$what: same on the server" same_on_server deep
	if [[ $1 = 3 ]]; then
		# nfsd fails with longer ones, whatever the transport.
		check "$what: an ACL of 300 users" make_tree acl 300
		check "$what: same on the server" same_on_server acl
	else
		on_server "${tree[@]}" acl /export/acl 1000
		check "$what: an ACL of 1000 users of the server's" \
			same_acl acl/file 1003
		check "$what: an ACL of 900 users" "${tree[@]}" acl4 "$dir/acl/file" 900
		check "$what: same on the server" same_acl acl/file 903
		if on_server keeps_attributes; then
			check "$what: attributes" make_tree xattr 65536
			check "$what: same on the server" same_on_server xattr
		else
			skip "$what: attributes" "tmpfs has none in this kernel"
		fi
	fi
	on_server rm -r /export/large
	check "$what: remove everything" rm -r "$dir"/*
	check "$what: nothing left on the server" on_server empty
	check "$what: unmount" umount "$dir"
}

"$GUEST_ROLE"
