# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A Kerberos realm of two guests, for tests to source after lib.sh: the KDC is in the
# server.

dir=${dir-/mnt/nfs}
realm=EXAMPLE.TEST
server_name=server.example.test
client_name=client.example.test
principals=("nfs/$server_name" "nfs/$client_name")

# What both guests have to know. The file system under /etc is theirs alone.
names() {
	cat >> /etc/hosts <<- END
		$SERVER4 $server_name server
		$CLIENT4 $client_name client
	END
	cat > /etc/krb5.conf <<- END
		[libdefaults]
			default_realm = $realm
			dns_lookup_kdc = false
			dns_lookup_realm = false
			dns_canonicalize_hostname = false
			rdns = false
			permitted_enctypes = aes256-cts-hmac-sha1-96
		[realms]
			$realm = {
				kdc = $server_name
			}
		[domain_realm]
			.example.test = $realm
	END
	# The server takes the client's machine, in whose name root acts, for root.
	cat > /etc/idmapd.conf <<- END
		[General]
		Domain = example.test
		[Translation]
		GSS-Methods = static,nsswitch
		[Static]
		nfs/$client_name@$realm = root
	END
}

kdc_up() {
	local principal
	mkdir -p /run/krb5kdc
	# Where it is usually only the host's root can look.
	export KRB5_KDC_PROFILE=/run/krb5kdc/kdc.conf
	cat > "$KRB5_KDC_PROFILE" <<- END
		[realms]
			$realm = {
				database_name = /run/krb5kdc/principal
				key_stash_file = /run/krb5kdc/stash
				supported_enctypes = aes256-cts-hmac-sha1-96:normal
			}
		[logging]
			kdc = FILE:$GUEST_OUT/krb5kdc.log
	END
	kdb5_util -r "$realm" -P "$RANDOM$RANDOM" create -s || return
	for principal in "${principals[@]}"; do
		kadmin.local -r "$realm" addprinc -randkey "$principal" || return
	done
	kadmin.local -r "$realm" ktadd -k /etc/krb5.keytab "${principals[0]}" &&
		kadmin.local -r "$realm" ktadd -k "$GUEST_SHARED/krb5.keytab" \
			"${principals[1]}" && krb5kdc
}

gssd_up() {
	names && cp "$GUEST_SHARED/krb5.keytab" /etc/krb5.keytab && pipefs_up &&
		rpc.gssd -p /var/lib/nfs/rpc_pipefs && within 60 tcp_works krb5i
}

# In a guest with all checks on, the daemons need longer for their first context than
# a mount waits.
tcp_works() { # FLAVOR
	mkdir -p "$dir" &&
		mount -t nfs -o "vers=4.2,proto=tcp,sec=$1" "$server_name:/" "$dir" &&
		umount "$dir"
}

# Print the strongest flavor that the server's kernel has: nfsd of Linux 6.1 does not do
# krb5p, whatever the transport. Any other has to, or its tests fail.
strongest_flavor() {
	if [[ $(on_server uname -r) = 6.1.* ]] && ! tcp_works krb5p > /dev/null 2>&1; then
		echo krb5i
	else
		echo krb5p
	fi
}

mount_as() { # FLAVOR VERS
	mount_rdma "$2" "$server_name" "$dir" "sec=$1"
}

secured() { # FLAVOR
	grep " $dir nfs" /proc/mounts
	grep " $dir nfs" /proc/mounts | grep proto=rdma | grep -q "sec=$1,"
}
