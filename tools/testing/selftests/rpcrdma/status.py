#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What tools.sh asks of the netlink interface and of rpcrdmactl.

    status.py compare CTL           JSON against debugfs and mountstats
    status.py metrics CTL           the metrics, read by parsers of both formats
    status.py dump STOP             dump without end until the file STOP is there
    status.py refused               what the kernel says to bad questions
    status.py capture DEVICE FILE   the first frames of RoCE as a capture, for a second
"""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

DEBUGFS = "/sys/kernel/debug/rpcrdma/conn/"
NETLINK_GENERIC, SOL_NETLINK, NETLINK_EXT_ACK, NETLINK_CAP_ACK = 16, 270, 11, 10
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLMSGERR_ATTR_MSG = 1
# As include/uapi/linux/rpcrdma.h has them.
CMD_DEVICE_GET, CMD_CONN_GET, A_CONN_ID = 2, 3, 2


def run(ctl, *arguments):
    """What rpcrdmactl prints."""
    return subprocess.run([ctl, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def debugfs(conn):
    """The lines of a connection in debugfs, by name."""
    with open(DEBUGFS + str(conn), encoding="ascii") as file:
        parts = (line.partition(":") for line in file)
        return {name: value.strip() for name, _, value in parts}


def still(ctl):
    """Connections in both forms, at a moment at which they do nothing."""
    for _ in range(20):
        before = {name: debugfs(name) for name in os.listdir(DEBUGFS)}
        told = json.loads(run(ctl, "show", "-j"))
        after = {name: debugfs(name) for name in os.listdir(DEBUGFS)}
        for lines in (*before.values(), *after.values()):
            del lines["age in ms"]
        if before == after:
            return before, told
    sys.exit("the connections are never still")


def words(text):
    """{'window': 64, 'used': 3} of 'window: 64 used 3', without the first name."""
    found = text.split()
    return {name: int(value) for name, value in zip(found[::2], found[1::2])}


def same(what, one, other):
    """End unless both are the same."""
    if one != other:
        sys.exit(f"{what}: {one} in debugfs, {other} in JSON")


def compare_conn(lines, conn):
    """All that both of them have."""
    names = f"{conn['local-address']} - {conn['peer-address']}"
    same("addresses", lines["connection"], names)
    same("role", lines["role"], conn["role"])
    same("version", int(lines["version"]), conn["version"])
    credits = conn["credits"]
    window = words("window " + lines["window"])
    same("window", [window[name] for name in ("window", "used", "high")],
         [credits[name] for name in ("window", "in-use", "high-water")])
    same("credits", int(lines["peer credits"]), credits["available"])
    same("sends", int(lines["sends"]), credits["sent"])
    same("receives", int(lines["receives"]), credits["received"])
    same("time waited", int(lines["waited for credit in us"]), credits["time-waited"])
    same("round trip", int(lines["round trip in us"]), conn.get("round-trip", 0))
    if conn["version"] == 2:
        same("limit", (credits["sent"] + credits["available"]) % 2**32, credits["limit"])
    for whose in ("local", "peer"):
        told = conn[f"{whose}-properties"]
        reverse = ["none", "simple", "continued", "general"].index(told["reverse"])
        same("properties", words(lines[f"{whose} properties"]),
             words(lines[f"{whose} properties"]) |
             {"send": told["send-size"], "receive": told["receive-size"],
              "segment": told["segment-size"], "segments": told["segment-count"],
              "reverse": reverse})
    regions = words("total " + lines["regions"])
    same("regions", regions, {name: conn["regions"][name] for name in regions})
    counts = {f"messages {c['name']}": f"sent {c['sent']} received {c['received']}"
              for c in conn["header-type"]}
    same("messages", {name: value for name, value in lines.items()
                      if name.startswith("messages ")}, counts)
    octets = conn["octets"]
    for name, key in (("inline", "inline"), ("continued", "continued"),
                      ("on wire by Send", "wire")):
        same(name, lines[f"bytes {name}"],
             f"sent {octets[key + '-sent']} received {octets[key + '-received']}")
    for kind in ("read", "write", "call", "reply"):
        same(kind, int(lines[f"bytes by {kind} chunk"]), octets[f"{kind}-chunk"])
    same("formats", formats(lines), conn["formats"])


def formats(lines):
    """RPC messages by format, of what debugfs tells of types and continued messages."""
    told = {}
    for direction in ("sent", "received"):
        count = {name: words(value)[direction] for name, value in lines.items()
                 if re.match("messages |continued messages", name)}

        def of(*types, counted=count):
            return sum(counted.get(f"messages {name}", 0) for name in types)

        continued = count["continued messages"]
        told[f"simple-{direction}"] = of("MSG", "CALL_INLINE", "REPLY_INLINE") - continued
        told[f"continued-{direction}"] = continued
        told[f"special-{direction}"] = of("NOMSG", "CALL_EXTERNAL", "REPLY_EXTERNAL")
    return told


def mountstats():
    """Regions of all transports, as mountstats counts them; see drop-in.rst."""
    with open("/proc/self/mountstats", encoding="utf-8") as file:
        return sum(int(line.split()[25]) for line in file
                   if line.split()[:2] == ["xprt:", "rdma"])


def compare(ctl):
    """JSON against debugfs and mountstats."""
    lines, told = still(ctl)
    same("connections", sorted(lines, key=int), [str(conn["id"]) for conn in told])
    for conn in told:
        compare_conn(lines[str(conn["id"])], conn)
    clients = [conn for conn in told if conn["role"] == "client"]
    made = sum(conn["regions"]["total"] for conn in clients)
    if clients and made != mountstats():
        sys.exit(f"regions: {mountstats()} in mountstats, {made} in JSON")
    for conn in clients:
        if json.loads(run(ctl, "show", "-j", "--id", str(conn["id"])))[0]["id"] != conn["id"]:
            sys.exit("another connection than was asked for")
    print(f"{len(told)} connections are the same")


def metrics(ctl):
    """Both parsers take the text, and find the same in it. In the older format the types are
    the same, too."""
    # pylint: disable=import-outside-toplevel
    from prometheus_client import parser
    from prometheus_client.openmetrics import parser as openmetrics
    text = run(ctl, "metrics")
    new = {(sample.name, tuple(sorted(sample.labels.items())), sample.value)
           for family in openmetrics.text_string_to_metric_families(text)
           for sample in family.samples}
    old = {(sample.name, tuple(sorted(sample.labels.items())), sample.value)
           for family in parser.text_string_to_metric_families(text)
           for sample in family.samples}
    if new != old:
        sys.exit(f"the parsers differ: {new ^ old}")
    types = [{family.name: family.type for family in families} for families in
             (openmetrics.text_string_to_metric_families(text),
              parser.text_string_to_metric_families(run(ctl, "metrics", "-f", "prometheus")))]
    if types[0] != types[1]:
        sys.exit(f"the types differ: {types[0].items() ^ types[1].items()}")
    conns = {sample[1] for sample in new if sample[0] == "rpcrdma_connection_info"}
    if len(conns) != len(json.loads(run(ctl, "show", "-j"))):
        sys.exit("not all connections are there")
    print(f"{len(new)} samples")


class Netlink:
    """A socket of generic netlink. The kernel makes no message of a dump that is larger
    than what is received at once, or a page."""

    def __init__(self, size=65536):
        self.size = size
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        self.socket.bind((0, 0))
        self.family = GENL_ID_CTRL
        for attr, value in self.ask(CTRL_CMD_GETFAMILY, NLM_F_ACK,
                                    self.attribute(CTRL_ATTR_FAMILY_NAME, b"rpcrdma\0"))[0]:
            if attr == CTRL_ATTR_FAMILY_ID:
                self.family = struct.unpack("H", value[:2])[0]

    @staticmethod
    def attribute(kind, value):
        """One attribute, with its padding."""
        return (struct.pack("HH", len(value) + 4, kind) + value).ljust(
            (len(value) + 7) & ~3, b"\0")

    @staticmethod
    def attributes(data):
        """[(type, value)] of what is in a message."""
        found = []
        while len(data) >= 4:
            length, kind = struct.unpack("HH", data[:4])
            found.append((kind & 0x3fff, data[4:length]))
            data = data[(length + 3) & ~3:]
        return found

    def send(self, command, flags, attributes=b""):
        """Ask."""
        data = struct.pack("BBH", command, 1, 0) + attributes
        self.socket.send(struct.pack("IHHII", 16 + len(data), self.family,
                                     NLM_F_REQUEST | flags, 1, 0) + data)

    def messages(self):
        """Messages of what has come next: (type, flags, content)."""
        data = self.socket.recv(self.size)
        while len(data) >= 16:
            length, kind, flags, _, _ = struct.unpack("IHHII", data[:16])
            yield kind, flags, data[16:length]
            data = data[(length + 3) & ~3:]

    def ask(self, command, flags, attributes=b""):
        """The attributes of each answer; raises OSError with the kernel's text."""
        answers = []
        self.send(command, flags, attributes)
        while True:
            for kind, flags, content in self.messages():
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    error = struct.unpack("i", content[:4])[0]
                    if error:
                        skip = 20 if kind == NLMSG_ERROR else 4
                        said = dict(self.attributes(content[skip:])).get(
                            NLMSGERR_ATTR_MSG, b"\0")
                        raise OSError(-error, said[:-1].decode())
                    return answers
                answers.append(self.attributes(content[4:]))


def conn_id(attributes):
    """The number of a connection."""
    return struct.unpack("Q", dict(attributes)[A_CONN_ID])[0]


def dump(stop):
    """Dumps that wait between their parts, one beside the other, and questions.

    With $FULL one follows the other at once, which takes all of a processor.
    """
    pause = 0 if os.environ.get("FULL") else 0.05
    first, second = Netlink(4096), Netlink(4096)
    dumps, seen, most = 0, set(), 0
    while not os.path.exists(stop):
        last, done, parts = 0, False, 0
        first.send(CMD_CONN_GET, NLM_F_DUMP)
        while not done:
            before = last
            for kind, _, content in first.messages():
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    if struct.unpack("i", content[:4])[0]:
                        sys.exit("a dump has failed")
                    done = True
                    continue
                number = conn_id(Netlink.attributes(content[4:]))
                if number <= last:
                    sys.exit(f"{number} follows {last}")
                last = number
                seen.add(number)
            parts += last > before
            # What is left of it comes when other connections are there.
            for conn in second.ask(CMD_CONN_GET, NLM_F_DUMP):
                try:
                    second.ask(CMD_CONN_GET, NLM_F_ACK, Netlink.attribute(
                        A_CONN_ID, struct.pack("Q", conn_id(conn))))
                except FileNotFoundError:
                    pass
        dumps += 1
        most = max(most, parts)
        time.sleep(pause)
    if most < 3:
        sys.exit(f"{dumps} dumps of {len(seen)} connections, in {most} parts at most")
    print(f"{dumps} dumps of {len(seen)} connections, in up to {most} parts")


def refused():
    """Each bad question has its own answer."""
    netlink = Netlink()
    number = Netlink.attribute(A_CONN_ID, struct.pack("Q", 10**9))
    for error, text, command, flags, attributes in (
            (22, "which connection is not said", CMD_CONN_GET, NLM_F_ACK, b""),
            (2, "no such connection in this network namespace", CMD_CONN_GET, NLM_F_ACK,
             number),
            (22, "a dump takes no attributes", CMD_CONN_GET, NLM_F_DUMP, number),
            (34, "", CMD_CONN_GET, NLM_F_ACK,
             Netlink.attribute(A_CONN_ID, struct.pack("Q", 0))),
            (22, "invalid attribute length", CMD_CONN_GET, NLM_F_ACK,
             Netlink.attribute(A_CONN_ID, struct.pack("I", 1))),
            (22, "", CMD_CONN_GET, NLM_F_ACK, Netlink.attribute(40, b"\0\0\0\0")),
            (22, "", CMD_DEVICE_GET, NLM_F_DUMP, number),
            (95, "", CMD_DEVICE_GET, NLM_F_ACK, b""),
            (95, "", 99, NLM_F_ACK, b"")):
        try:
            netlink.ask(command, flags, attributes)
        except OSError as refusal:
            if refusal.errno == error and text in refusal.strerror:
                continue
            sys.exit(f"expected {error} '{text}', got {refusal}")
        sys.exit(f"not refused: {command} {flags} {attributes}")


def capture(device, path):
    """Frames of RoCE, both ways."""
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    frames.bind((device, 0))
    frames.settimeout(0.2)
    end = time.monotonic() + 10
    count, quiet = 0, False
    with open(path, "wb") as file:
        file.write(struct.pack("IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        file.flush()
        while time.monotonic() < end and not (count and quiet):
            try:
                frame = frames.recv(65535)
            except TimeoutError:
                quiet = True
                continue
            count += struct.pack(">H", 4791) in frame[34:60]
            now = time.time()
            file.write(struct.pack("IIII", int(now), int(now % 1 * 1e6), len(frame),
                                   len(frame)) + frame)


if __name__ == "__main__":
    {"compare": compare, "metrics": metrics, "dump": dump, "refused": refused,
     "capture": capture}[sys.argv[1]](*sys.argv[2:])
