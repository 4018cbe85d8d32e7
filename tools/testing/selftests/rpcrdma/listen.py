#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Make nfsd, which has no threads yet, listen for RDMA connections on some addresses.

  listen.py ADDRESS...         IPv4 addresses: RDMA port 20049; TCP port 2049 on all

/proc/fs/nfsd/portlist can only bind all addresses; nfsd's netlink family accepts one.
Exit status 4: the nfsd of this kernel cannot do this.
"""

import errno
import socket
import struct
import sys

from pyroute2 import NetlinkError
from pyroute2.netlink import NLA_F_NESTED, NLM_F_ACK, NLM_F_REQUEST, genlmsg, nla
from pyroute2.netlink.generic import GenericNetlinkSocket

LISTENER_SET = 6
CANNOT = 4


class Listeners(genlmsg):
    """All there shall be (Documentation/netlink/specs/nfsd.yaml of the kernel)."""

    nla_map = (("UNSPEC", "none"), ("LISTENER", "listener"))

    class listener(nla):
        """One of them."""

        nla_flags = NLA_F_NESTED
        nla_map = (("UNSPEC", "none"), ("ADDR", "cdata"), ("TRANSPORT_NAME", "asciiz"))


def attribute_of(transport, address, port):
    """One listener."""
    name = struct.pack("=H2s4s8x", socket.AF_INET, struct.pack("!H", port),
                       socket.inet_aton(address))
    return ("LISTENER", {"attrs": [("ADDR", name), ("TRANSPORT_NAME", transport)]})


def main(*addresses):
    """Tell it."""
    nfsd, message = GenericNetlinkSocket(), Listeners()
    message["cmd"], message["version"] = LISTENER_SET, 1
    message["attrs"] = [attribute_of("tcp", "0.0.0.0", 2049)]
    message["attrs"] += [attribute_of("rdma", address, 20049) for address in addresses]
    try:
        nfsd.bind("nfsd", Listeners)
        nfsd.nlm_request(message, msg_type=nfsd.prid, msg_flags=NLM_F_REQUEST | NLM_F_ACK)
    except NetlinkError as error:
        if error.code not in (errno.ENOENT, errno.EOPNOTSUPP):
            raise
        print(error)
        sys.exit(CANNOT)


if __name__ == "__main__":
    main(*sys.argv[1:])
