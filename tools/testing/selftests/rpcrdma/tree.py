#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Make trees of many small things, and say what a tree has, for both sides.

  tree.py make DIR COUNT       COUNT files with long names, one renamed or removed
                               now and then
  tree.py links DIR            symbolic links up to PATH_MAX, hard links
  tree.py deep DIR             directories in directories
  tree.py acl DIR COUNT        a file with a POSIX ACL of COUNT users
  tree.py acls FILE            give it one, and have it asked for again and again
  tree.py reads FILE [SECONDS] open, read 4 KiB and close, again and again, without a fork;
                               for so many seconds, and then none for one
  tree.py acl4 FILE COUNT      give it an NFSv4 ACL of COUNT other users
  tree.py granted FILE         whom its ACL, NFSv4's or POSIX, lets do what
  tree.py xattr DIR LARGEST    user.* attributes of up to LARGEST bytes
  tree.py list DIR             a checksum of names, types, sizes, content, targets,
                               link counts, and how many there are
"""

import mmap
import os
import struct
import sys
import time
import zlib

ACL = "system.posix_acl_access"
ACL4 = "system.nfs4_acl"
# What r, w and x are to nfsd.
MASKS = {4: 0x1, 2: 0x2 | 0x4, 1: 0x20}
TARGETS = (1, 3, 4, 5, 59, 60, 61, 127, 128, 1000, 4000, 4092, 4093, 4094, 4095)
VALUES = (0, 1, 3, 100, 4000, 7900, 8192, 16384, 16385, 40000, 65536)


def make(directory, count):
    """Many files; a large directory."""
    os.mkdir(directory)
    for i in range(int(count)):
        name = f"{directory}/{i:06d}-{'long' * (i % 50)}"
        with open(name, "wb") as file:
            file.write(b"%d\n" % i * (i % 7))
        if os.stat(name).st_size != len(b"%d\n" % i) * (i % 7):
            raise SystemExit(f"{name}: wrong size")
        if i % 10 == 3:
            os.rename(name, f"{directory}/renamed-{i}")
        elif i % 10 == 7:
            os.unlink(name)


def links(directory):
    """Symbolic links of every length, and names of one file."""
    os.mkdir(directory)
    for length in TARGETS:
        os.symlink("x" * length, f"{directory}/to-{length}")
    with open(f"{directory}/file", "wb") as file:
        file.write(b"file")
    for i in range(100):
        os.link(f"{directory}/file", f"{directory}/hard-{i}")


def deep(directory):
    """Down as far as a path goes."""
    while len(directory) < 3500:
        os.mkdir(directory)
        directory += "/" + "d" * 200
    with open(f"{directory[:-201]}/bottom", "wb") as file:
        file.write(b"bottom")


def give_acl(name, count):
    """A long one; its bytes."""
    users = [(2, 4, 10000 + i) for i in range(int(count))]
    entries = [(1, 6, 0xffffffff), *users, (4, 4, 0xffffffff), (16, 7, 0xffffffff),
               (32, 4, 0xffffffff)]
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
    os.setxattr(name, ACL, value)
    return value


def check_acl(name, value):
    """What the server says it is."""
    forget()
    if os.getxattr(name, ACL) != value:
        raise SystemExit(f"{name}: another ACL came back")


def acls(name):
    """Until somebody kills it."""
    value = give_acl(name, 100)
    while True:
        check_acl(name, value)


def reads(name, burst="inf"):
    """Past the page cache, until somebody kills it."""
    page = mmap.mmap(-1, 4096)
    while True:
        end = time.monotonic() + float(burst)
        while time.monotonic() < end:
            file = os.open(name, os.O_RDONLY | os.O_DIRECT)
            os.preadv(file, [page], 0)
            os.close(file)
        time.sleep(1)


def acl(directory, count):
    """A long ACL, which has to come back as it went."""
    os.mkdir(directory)
    name = f"{directory}/file"
    with open(name, "wb"):
        pass
    check_acl(name, give_acl(name, count))


def granted_posix(value):
    """{who: bits of rwx}"""
    entries = list(struct.iter_unpack("<HHI", value[4:]))
    mask = next((bits for tag, bits, _ in entries if tag == 16), 7)
    return {{1: "OWNER@", 2: str(who), 4: "GROUP@", 32: "EVERYONE@"}[tag]:
            bits & mask if tag in (2, 4) else bits
            for tag, bits, who in entries if tag != 16}


def granted_nfs4(value):
    """The same: of what is allowed and denied, the first counts."""
    allowed, denied = {}, {}
    count, at = struct.unpack_from(">I", value)[0], 4
    for _ in range(count):
        kind, _, mask, length = struct.unpack_from(">4I", value, at)
        who = value[at + 16:at + 16 + length].decode()
        at += 16 + (length + 3 & ~3)
        ours, others = (denied, allowed) if kind else (allowed, denied)
        ours[who] = ours.get(who, 0) | mask & ~others.get(who, 0)
    if at != len(value):
        raise SystemExit(f"NFSv4 ACL: {len(value)} octets, {at} of them understood")
    return {who: sum(bit for bit, mask in MASKS.items() if allows & mask == mask)
            for who, allows in allowed.items()}


def acl4(name, count):
    """A long one, as NFSv4 has it, which has to come back with the same meaning."""
    who = {"OWNER@": 6, "GROUP@": 4, "EVERYONE@": 4}
    who.update({str(20000 + i): 4 | i & 3 for i in range(int(count))})
    value = struct.pack(">I", len(who))
    for one, bits in who.items():
        mask = sum(allowed for bit, allowed in MASKS.items() if bits & bit)
        value += struct.pack(">4I", 0, 0, mask, len(one)) + one.encode()
        value += bytes(-len(one) % 4)
    os.setxattr(name, ACL4, value)
    forget()
    if granted_nfs4(os.getxattr(name, ACL4)) != who:
        raise SystemExit(f"{name}: another NFSv4 ACL came back")


def granted(name):
    """For the other side to compare."""
    try:
        who = granted_nfs4(os.getxattr(name, ACL4))
    except OSError:
        who = granted_posix(os.getxattr(name, ACL))
    print(len(who), *(f"{one}:{who[one]}" for one in sorted(who)))


def value_of(size):
    """An attribute's."""
    return bytes((size + i * 7) & 255 for i in range(size))


def xattr(directory, largest):
    """Attributes of every size."""
    os.mkdir(directory)
    for size in (v for v in VALUES if v <= int(largest)):
        name = f"{directory}/{size}"
        with open(name, "wb"):
            pass
        os.setxattr(name, "user.large", value_of(size))
    for i in range(200):
        os.setxattr(f"{directory}/0", f"user.{i}-{'many' * (i % 40)}", b"v")
    forget()
    for name in sorted(os.listdir(directory)):
        if os.getxattr(f"{directory}/{name}", "user.large") != value_of(int(name)):
            raise SystemExit(f"{directory}/{name}: another value came back")
    if len(os.listxattr(f"{directory}/0")) < 201:
        raise SystemExit(f"{directory}/0: attributes are missing")


def forget():
    """Ask the server again."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def describe(path, attributes):
    """What one thing is."""
    status = os.lstat(path)
    what = [path, status.st_mode, status.st_nlink]
    if os.path.islink(path):
        what.append(os.readlink(path))
    elif os.path.isfile(path):
        with open(path, "rb") as file:
            what += [status.st_size, file.read()]
        for name in attributes:
            what.append(os.getxattr(path, name))
    return repr(what).encode()


def listing(directory):
    """Of everything below."""
    attributes = {"acl": [ACL], "xattr": ["user.large"]}.get(os.path.basename(directory), ())
    os.chdir(directory)
    total, count = 0, 0
    for where, directories, files in os.walk("."):
        directories.sort()
        for name in sorted(directories + files):
            total = zlib.crc32(describe(os.path.join(where, name), attributes), total)
            count += 1
    print(f"{total:08x} {count}")


if __name__ == "__main__":
    {"make": make, "links": links, "deep": deep, "acl": acl, "acls": acls, "reads": reads,
     "acl4": acl4, "granted": granted, "xattr": xattr, "list": listing}[sys.argv[1]](*sys.argv[2:])
