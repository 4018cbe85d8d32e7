#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A firewall for a guest of user-mode Linux, whose kernel has no rules for packets.

    drop.py DEVICE PORT     UDP packets to this port do not come in any more
    drop.py DEVICE          all packets come in

The driver of the Ethernet gives the host a filter, in the form of classic BPF. It takes it
like firmware, which ethtool(8) would load with --flash.
"""

import ctypes
import fcntl
import pathlib
import socket
import struct
import sys

SIOCETHTOOL, ETHTOOL_FLASHDEV = 0x8946, 0x33
FIRMWARE = pathlib.Path("/lib/firmware/drop.bpf")
HALF, OCTET, EQUAL, RETURN = 0x28, 0x30, 0x15, 0x06
AT_TYPE, AT_PROTOCOL, AT_PORT = 12, 23, 36
IPV4, UDP = 0x0800, 17
ALL = 2**32 - 1


def program(port):
    """Operation, whether to skip if it is not so, and a number: of IPv4 without options."""
    if port is None:
        return [(RETURN, 0, ALL)]
    return [(HALF, 0, AT_TYPE), (EQUAL, 5, IPV4), (OCTET, 0, AT_PROTOCOL), (EQUAL, 3, UDP),
            (HALF, 0, AT_PORT), (EQUAL, 1, port), (RETURN, 0, 0), (RETURN, 0, ALL)]


def main(device, port=None):
    """Load it."""
    FIRMWARE.parent.mkdir(parents=True, exist_ok=True)
    FIRMWARE.write_bytes(b"".join(
        struct.pack("=HBBI", operation, 0, skip, number)
        for operation, skip, number in program(port and int(port))))
    flash = ctypes.create_string_buffer(
        struct.pack("=II128s", ETHTOOL_FLASHDEV, 0, FIRMWARE.name.encode()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL,
                    struct.pack("=16sQ8x", device.encode(), ctypes.addressof(flash)))


if __name__ == "__main__":
    main(*sys.argv[1:])
