#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that client and server authenticate each other when both have the key, at every
# connection; that a mount fails soon, and both say why, with a wrong, missing, expired or
# revoked key, with a peer that does not authenticate, and with version 1, if that is
# required; that it works without if it is only offered; that keys can be changed while
# mounts go on; and that a server turns away who fails too often. rpcrdmactl shows policies,
# outcomes, keys and reasons of connections and counts, and tells of failures.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --waits --pair

auth=/proc/sys/net/rpcrdma
ctl=$SELFTESTS/../../../../build/tools/rpcrdmactl
first=0123456789abcdef0123456789abcdef
second=fedcba9876543210fedcba9876543210fedcba98

server() {
	serve 4
}

client() {
	begin
	modprobe rpcrdma
	check "off: as loaded" is_off
	check "off: as loaded there" on_server is_off
	check "off: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "off: nothing is counted" no_counts
	check "off: nothing is shown" shows_no_authentication
	check "off: policies" policies_are off off
	check "off: unmount" umount "$dir"
	values

	check "keyring: possessed" possess
	check "keyring: possessed there" on_server possess
	check "required: keys" both_have one "$first"
	check "required: set" both_set required
	check "required: mount" mounts_authenticated
	check "required: it counts" counted authenticated
	check "required: it counts there" on_server counted authenticated
	check "required: it is shown" shows required authenticated one
	check "required: it is shown there" on_server shows required authenticated one
	check "required: policies" policies_are off required
	check "required: policies there" on_server policies_are required off
	check "required: metrics" has_metric 'authentications_total{outcome="authenticated",reason="none"}'
	check "required: another connection" authenticates_again
	check "required: up, and who is there" comes_up_authenticated
	check "required: every size" table
	check "required: the same data there" same_table
	check "required: unmount" umount "$dir"

	check "wrong key: set" put_key one "$second"
	follow
	on_server follow
	fails "wrong key" proof refused
	check "wrong key: told" told \
		"auth-failed [0-9]* client .* - $SERVER4:20049 .* version 2: proof, key one"
	check "wrong key: told there" on_server told \
		"auth-failed [0-9]* server $SERVER4:20049 - .* version 2: refused, key one"
	check "wrong key: metrics" has_metric 'authentications_total{outcome="failed",reason="proof"}'
	check "wrong key: metrics there" on_server has_metric \
		'authentications_total{outcome="failed",reason="refused"}'
	check "wrong key: right again" put_key one "$first"
	check "wrong key: mount" works_again
	check "no key at the server: remove" on_server remove_key one
	fails "no key at the server" proof refused
	check "no key at the server: there again" on_server put_key one "$first"
	check "no key at the server: mount" works_again
	check "no key at the client: remove" remove_key one
	follow
	fails "no key at the client" no-key
	check "no key at the client: told" told "auth-failed - client - - $SERVER4:20049 - version -: no-key, key one"
	check "no key at the client: there again" put_key one "$first"
	check "expired: set" expires one
	fails "expired" no-key
	check "expired: there again" put_key one "$first"
	pause
	check "revoked: set" on_server revoke_key one
	fails "revoked" proof refused
	check "revoked: there again" on_server put_key one "$first"
	check "revoked: mount" works_again

	one_side
	version1
	rollover
	limited
	check "off again: set" both_set off
	check "nothing left" within 30 nothing_left
	end_unloaded
}

values() {
	check "values: no such policy" refuses_value $auth/server_auth demanded
	check "values: no name of a key" refuses_value $auth/client_key "a b"
	check "values: no address" refuses_value $auth/client_servers "here=off"
	check "values: no policy of it" refuses_value $auth/client_servers \
		"$SERVER4=on"
	check "values: no key of it" refuses_value $auth/client_servers \
		"$SERVER4=required:"
	check "values: no prefix" refuses_value $auth/client_servers \
		"$SERVER4/33=off"
	check "values: no number of bits" refuses_value $auth/client_servers \
		"$SERVER4/=off"
	check "values: no key of a client" refuses_value $auth/server_clients \
		"$CLIENT4=required:one"
	check "values: as they were" is_off
}

# What only one side asks for.
one_side() {
	check "client off: set" tell_auth client_auth off
	check "client off: mount fails" denied
	check "client off: it says why" logged "may require host authentication"
	check "client off: the server counts" on_server counted failed-missing
	check "server off: set" on_server tell_auth server_auth off
	check "server off: client requires" tell_auth client_auth required
	check "server off: mount fails" denied
	check "server off: it says why" logged "$SERVER4.*failed: missing"
	check "server off: client offers" tell_auth client_auth offered
	check "server off: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "server off: it counts" counted without-missing
	check "server off: it is shown" shows offered without one missing
	check "server off: metrics" has_metric 'authentications_total{outcome="without",reason="missing"}'
	check "server off: unmount" umount "$dir"
	check "server offers: set" on_server tell_auth server_auth offered
	check "server offers: mount" mounts_authenticated
	check "server offers: unmount" umount "$dir"
	check "server offers: client off" tell_auth client_auth off
	check "server offers: mount again" mount_rdma 4.2 "$SERVER4" "$dir"
	check "server offers: it counts" on_server counted without-missing
	check "server offers: unmount again" umount "$dir"
	check "one server: set" tell_auth client_servers "$SERVER4=required:one"
	check "one server: no other key" tell_auth client_key ""
	check "one server: mount" mounts_authenticated
	check "one server: unmount" umount "$dir"
	check "one server: its network" tell_auth client_servers \
		"$SERVER6/128=off ${SERVER4%.*}.0/24=required:one"
	check "one server: mount again" mounts_authenticated
	check "one server: unmount again" umount "$dir"
	check "one server: as before" tell_auth client_servers ""
	check "one server: key as before" tell_auth client_key one
	some_clients
}

# The server's policy by the client's address. The client does not authenticate.
some_clients() {
	check "some clients: server requires" on_server tell_auth server_auth required
	check "some clients: mount fails" denied
	check "some clients: not of this one" on_server tell_auth server_clients \
		"$CLIENT4=off"
	check "some clients: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "some clients: works" works
	check "some clients: unmount" umount "$dir"
	check "some clients: by another address it fails" denied "$SERVER6"
	check "some clients: not of its network" on_server tell_auth server_clients \
		"${CLIENT4%.*}.0/24=off $CLIENT6/64=off"
	check "some clients: mount, IPv6" mount_rdma 4.2 "$SERVER6" "$dir"
	check "some clients: unmount, IPv6" umount "$dir"
	pause
	check "some clients: of this one only" on_server tell_auth server_clients \
		"$CLIENT4/32=required 0.0.0.0/0=off ::/0=off"
	check "some clients: server is off" on_server tell_auth server_auth off
	check "some clients: the first one counts" denied
	check "some clients: another address" mount_rdma 4.2 "$SERVER6" "$dir"
	check "some clients: unmount another" umount "$dir"
	pause
	check "some clients: authenticate" tell_auth client_auth required
	check "some clients: as required" mounts_authenticated
	check "some clients: unmount at last" umount "$dir"
	pause
	check "some clients: one behind an interface" on_server interface_first "$CLIENT4=required"
	check "some clients: do not authenticate" tell_auth client_auth off
	check "some clients: the interface has gone" denied
	check "some clients: its rule is still there" on_server keeps_rule 'fe80::1%passing0=off'
	check "some clients: none" on_server tell_auth server_clients ""
}

# A list whose first rule names an interface that goes.
interface_first() { # RULE
	ip link add passing0 type dummy && tell_auth server_clients "fe80::1%passing0=off $1" &&
		ip link del passing0
}

keeps_rule() { # RULE
	[[ $(< $auth/server_clients) = "$1 "* ]]
}

version1() {
	check "version 1: set" on_server set_knob svc_rdma/max_version 1
	check "version 1: server off" on_server tell_auth server_auth off
	check "version 1: client requires" tell_auth client_auth required
	check "version 1: mount fails" denied
	check "version 1: it says why" logged "$SERVER4.*failed: version"
	check "version 1: client offers" tell_auth client_auth offered
	check "version 1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "version 1: spoken" speaks 1
	check "version 1: unmount" umount "$dir"
	check "version 1: set back" on_server set_knob svc_rdma/max_version 2
	check "old client: set" set_knob rdma_max_version 1
	check "old client: client off" tell_auth client_auth off
	check "old client: server requires" on_server tell_auth server_auth required
	check "old client: mount fails" denied
	check "old client: the server counts" on_server counted failed-version
	check "old client: client requires" tell_auth client_auth required
	check "old client: mount fails, too" denied
	check "old client: set back" set_knob rdma_max_version 2
}

rollover() {
	check "rollover: both required" both_set required
	check "rollover: mount" mounts_authenticated
	check "rollover: new key there" on_server put_key two "$second"
	check "rollover: new key" put_key two "$second"
	check "rollover: its name" tell_auth client_key two
	check "rollover: works" works
	check "rollover: new connection" authenticates_again
	check "rollover: old key goes there" on_server remove_key one
	check "rollover: old key goes" remove_key one
	check "rollover: still works" works
	check "rollover: another connection" authenticates_again
	check "rollover: the new key is shown" shows required authenticated two
	check "rollover: unmount" umount "$dir"
}

limited() {
	local i
	check "rate limit: wrong key" put_key two "$first"
	for i in 1 2 3; do
		check "rate limit: failure $i" denied
	done
	check "rate limit: right key" put_key two "$second"
	check "rate limit: turned away" not_mounted
	check "rate limit: it is counted" on_server has_metric authentication_turned_away_total
	check "rate limit: and in the sysctl" on_server counted turned-away
	pause
	check "rate limit: mount" mounts_authenticated
	check "rate limit: unmount" umount "$dir"
}

# A mount fails soon. Both sides say why, or only this one.
fails() { # WHAT REASON [REASON-THERE]
	check "$1: mount fails" denied
	echo "# $(< /tmp/refused)"
	check "$1: the client says why" logged "$SERVER4.*failed: $2"
	check "$1: the client counts" counted "failed-$2"
	[[ -z ${3-} ]] || check "$1: the server counts" on_server counted "failed-$3"
}

# Longer than a server turns away a client that has failed.
pause() {
	sleep 12
}

denied() { # [ADDRESS]
	refused 4.2 "$dir" "${1-}" && return
	! is_mounted "$dir" || umount "$dir"
	return 1
}

is_off() {
	grep . $auth/*
	[[ $(< $auth/server_auth) = off && $(< $auth/client_auth) = off &&
		-z $(< $auth/client_key) && -z $(< $auth/client_servers) &&
		-z $(< $auth/server_clients) ]]
}

no_counts() {
	cat $auth/auth_counts
	[[ $(< $auth/auth_counts) = authenticated=0 ]]
}

tell_auth() { # FILE VALUE
	echo "$2" > "$auth/$1" && [[ $(< "$auth/$1") = "$2" ]]
}

both_set() { # POLICY
	tell_auth client_auth "$1" && on_server tell_auth server_auth "$1"
}

both_have() { # NAME SECRET
	put_key "$1" "$2" && on_server put_key "$1" "$2" && tell_auth client_key "$1"
}

# Only who possesses a keyring may change a key in it.
possess() {
	keyctl link %keyring:.rpcrdma @u
}

put_key() { # NAME SECRET
	echo -n "$2" | keyctl padd logon "rpcrdma:$1" %keyring:.rpcrdma
}

key_of() { # NAME
	keyctl search %keyring:.rpcrdma logon "rpcrdma:$1"
}

remove_key() { # NAME
	keyctl unlink "$(key_of "$1")" %keyring:.rpcrdma
}

expires() { # NAME
	keyctl timeout "$(key_of "$1")" 1 && sleep 3
}

revoke_key() { # NAME
	keyctl revoke "$(key_of "$1")"
}

count() { # NAME
	local found
	found=$(sed -n "s/.*\<$1=\([0-9]*\).*/\1/p" $auth/auth_counts)
	echo "${found:-0}"
}

counted() { # NAME
	cat $auth/auth_counts
	(($(count "$1") > 0))
}

mounts_authenticated() {
	local before
	before=$(count authenticated)
	mount_rdma 4.2 "$SERVER4" "$dir" && works && speaks 2 &&
		(($(count authenticated) > before)) &&
		grep -h "^authentication: done key " /sys/kernel/debug/rpcrdma/conn/*
}

# After a failure that is no reason to be turned away.
works_again() {
	mounts_authenticated && umount "$dir"
}

authenticates_again() {
	local before
	before=$(count authenticated)
	cut_connections && works && (($(count authenticated) > before))
}

shows_no_authentication() {
	"$ctl" show -d && ! "$ctl" show -d | grep authentication
}

# What the only connection says of itself, in details and in JSON.
shows() { # POLICY OUTCOME KEY [REASON]
	local line="authentication: $2 ($1) key $3${4:+: $4}"
	"$ctl" show -d | grep authentication
	"$ctl" show -d | grep -qFx "  $line" &&
		"$ctl" show -j | /usr/bin/python3 -S -c 'import json, sys
auth, = [conn["authentication"] for conn in json.load(sys.stdin)]
print(auth)
wanted = dict(zip(("policy", "outcome", "key", "reason"), sys.argv[1:]))
sys.exit(auth != wanted)' "$@"
}

policies_are() { # SERVER CLIENT
	"$ctl" show module | grep "^  authentication: server $1 client $2"
}

# It is there and not zero.
has_metric() { # NAME{LABELS}
	"$ctl" metrics | grep '^rpcrdma_authentication' | tee /tmp/metrics
	grep -F "rpcrdma_$1 " /tmp/metrics | grep -qv ' 0$'
}

follow() {
	rm -f /tmp/events
	"$ctl" monitor > /tmp/events 2>&1 &
	echo $! > /tmp/follower
	disown
	sleep 1
}

# This has been told since follow().
told() { # PATTERN
	local status
	within 10 grep "^$1\$" /tmp/events
	status=$?
	cat /tmp/events
	kill "$(< /tmp/follower)"
	return $status
}

comes_up_authenticated() {
	follow
	authenticates_again || return
	told 'up .* authenticated, key one'
}

not_mounted() {
	! mount_rdma 4.2 "$SERVER4" "$dir" retry=0 && ! is_mounted "$dir"
}

"$GUEST_ROLE"
