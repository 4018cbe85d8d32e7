# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Guests that are processes: user-mode Linux. Neither root nor emulation is needed."""

import ctypes
import hashlib
import mmap
import os
import platform
import resource
import shutil
import signal
import socket
import tempfile
import threading
from pathlib import Path

from machine import CMDLINE, HERE, Failure, Process, plain

PROBE_SECONDS = 60
PROBE_MIB = 512
# What two guests may have sent each other and not read yet. A kernel gives as much as
# net.core.wmem_max allows, root what it asks for.
SOCKET_BUFFER = 8 << 20
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
PTRACE_TRACEME, PTRACE_SETOPTIONS, PTRACE_SYSEMU = 0, 0x4200, 31
PTRACE_O_EXITKILL = 1 << 20
MACS = {"server": "52:54:00:00:00:01", "client": "52:54:00:00:00:02"}


def ptrace_refused():
    """Why this host does not let a process run another's system calls, or ''."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long)

    def ptrace(request, pid, data):
        """Whether the request succeeds."""
        return libc.ptrace(request, pid, 0, data) == 0

    pid = os.fork()
    if not pid:
        if not ptrace(PTRACE_TRACEME, 0, 0):
            os._exit(1)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return "ptrace is not permitted"
    works = ptrace(PTRACE_SETOPTIONS, pid, PTRACE_O_EXITKILL) \
        and ptrace(PTRACE_SYSEMU, pid, 0)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "" if works else "ptrace cannot intercept system calls"


def executable(directory):
    """Whether memory backed by a file in directory may hold code."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.truncate(mmap.PAGESIZE)
            mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED,
                      mmap.PROT_READ | mmap.PROT_EXEC).close()
        return True
    except (OSError, ValueError):
        return False


def memory_directory(mebibytes):
    """Where the memory of guests can be, as files; Failure if nowhere."""
    places = [Path(p) for p in ("/dev/shm", os.environ.get("TMPDIR"), "/tmp", "/var/tmp")
              if p]
    for place in places:
        if place.is_dir() and executable(place) \
           and shutil.disk_usage(place).free >= mebibytes << 20:
            return place
    raise Failure(f"no {mebibytes} MiB free for the memory of user-mode Linux in "
                  f"{', '.join(map(str, places))}, or code in files there must not run")


def impossible():
    """Why user-mode Linux cannot run here, as far as can be told without it, or ''."""
    if platform.machine() != "x86_64":
        return f"it is built for x86_64 only, and this is {platform.machine()}"
    try:
        memory_directory(PROBE_MIB)
    except Failure as failure:
        return str(failure)
    return ptrace_refused()


def refused(image, cache):
    """Why the kernel in image does not boot here, or ''.

    Only a boot tells. That it works is kept in the cache until the host boots.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    key = hashlib.sha256(f"{boot}{image}".encode()).hexdigest()[:16]
    answer = cache / f"accelerator-uml-{key}"
    if answer.exists():
        return ""
    reason = impossible()
    if reason:
        return reason
    with tempfile.TemporaryDirectory(prefix="rpcrdma-uml-") as name:
        log = Path(name) / "log"
        process = boot_process(image, PROBE_MIB, log, [
            "init=/bin/busybox", "--", "poweroff", "-f"])
        ended = process.wait(PROBE_SECONDS)
        process.kill()
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if not any("Linux version" in line for line in lines):
        return lines[-1] if lines else "it says nothing"
    if not ended or process.process.returncode:
        return f"it does not come up: {lines[-1]}"
    answer.touch()
    return ""


class Console(threading.Thread):
    """Copies what a kernel says from a pipe to a file. (It does not write to files.)"""

    def __init__(self, path):
        super().__init__(daemon=True)
        reader, self.end = os.pipe()
        self.reader = open(reader, "rb", buffering=0)
        self.file = open(path, "wb", buffering=0)
        self.start()

    def run(self):
        """Until nobody has the other end any more."""
        while text := self.reader.read(1 << 16):
            self.file.write(text)


def boot_process(image, mebibytes, console, arguments, fds=()):
    """A kernel started with these arguments on the host's root, read-only."""
    def no_core():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    end = Console(console).end
    process = Process(
        [image, f"mem={mebibytes}M", "rootfstype=hostfs", "rootflags=/", "ro", "noreboot",
         "con=null", "ssl=null", f"con0=null,fd:{end}", *CMDLINE.split(), *arguments],
        end, pass_fds=(*fds, end), preexec_fn=no_core,
        env=os.environ | {"TMPDIR": str(memory_directory(mebibytes))})
    os.close(end)
    return process


class Ethernet:
    """A cable between two guests: a pair of datagram sockets."""

    def __init__(self):
        self.ends = dict(zip(MACS, socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))
        for end in self.ends.values():
            for forced, plainly in ((SO_SNDBUFFORCE, socket.SO_SNDBUF),
                                    (SO_RCVBUFFORCE, socket.SO_RCVBUF)):
                try:
                    end.setsockopt(socket.SOL_SOCKET, forced, SOCKET_BUFFER)
                except PermissionError:
                    end.setsockopt(socket.SOL_SOCKET, plainly, SOCKET_BUFFER)

    def plug(self, role):
        """(kernel arguments, file descriptors to pass) for a guest of this role."""
        fd = self.ends[role].fileno()
        return ([f"vec0:transport=fd,fd={fd},mtu=9000,mac={MACS[role]}"], (fd,))


def start(guest, ethernet):
    """Boot a guest (of the harness); its Process. ethernet: None for a guest alone."""
    plug, fds = ethernet.plug(guest.role) if ethernet else ([], ())
    return boot_process(
        guest.kernel.image, guest.memory, guest.console,
        [f"init={HERE / 'first-init'}", "guest.machine=uml",
         f"guest.modules={plain(guest.modules)}", f"guest.out={plain(guest.out)}",
         *plug, *guest.cmdline.split()], fds)
