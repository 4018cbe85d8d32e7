# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Guests that are processes: user-mode Linux. They need neither root nor emulation."""

import contextlib
import ctypes
import dataclasses
import fcntl
import hashlib
import mmap
import os
import platform
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import disk
from machine import CMDLINE, HERE, Failure, Process, known, plain, stumbles

# A kernel that says nothing for so long does not come up.
PROBE_SECONDS = 60
UP_AND_DOWN = "reboot: Power down"
# What a kernel says when it dies of that.
NO_ROOM = "mount likely just ran out of space"
CONSOLE_SECONDS = 5
# What a process may have of each has to suffice for a guest's memory, which is a file. It is
# larger by the random distance between a program and its heap.
GAP_MIB = 1024
LIMITS = {resource.RLIMIT_AS: "ulimit -v", resource.RLIMIT_DATA: "ulimit -d",
          resource.RLIMIT_FSIZE: "ulimit -f"}
CGROUPS, PROC_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
CLOCK = HERE.parent.parent.parent / "build/clock"
# More of virtual time no test takes: one that does waits for what never comes.
VIRTUAL_SECONDS = 20000
CLOCK_READY_SECONDS = 20
SAME_ADDRESSES = ("setarch", "-R")
# What a guest says without it.
CLOCK_GONE = "time-travel external link is broken"
# Its exit status, as its README has them.
CLOCK_ENDED, CLOCK_FAILED, CLOCK_GUEST_DIED = 0, 1, 2
# From guest to guest. While a test waits for something else, as many RPCs are done as
# find time, and each has to be computed.
LATENCY_NS = 500_000
# What two guests may have sent each other and not read yet. A kernel gives as much as
# net.core.wmem_max allows, root what it asks for.
SOCKET_BUFFER = 8 << 20
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
# Kernels on one processor; more run on any.
MOST_PER_PROCESSOR = 64
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


def no_virtual_time():
    """Why this host has no virtual time for guests, or ''."""
    try:
        os.close(os.memfd_create("probe"))
        subprocess.run([*SAME_ADDRESSES, "true"], check=True, stderr=subprocess.PIPE, text=True)
    except subprocess.CalledProcessError as error:
        return f"'{' '.join(SAME_ADDRESSES)}' fails: {error.stderr.strip()}"
    except OSError as error:
        return disk.in_words(error, "memfd_create")
    return ""


def memory_limits():
    """[(octets, what limits them)] of what the control groups of this process allow."""
    found = []
    for line in PROC_CGROUP.read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top, name = (CGROUPS / "memory", "memory.limit_in_bytes") if controllers else \
            (CGROUPS, "memory.max")
        place = Path(path.lstrip("/"))
        for directory in (place, *place.parents):
            file = top / directory / name
            # In a container the path may be the host's.
            with contextlib.suppress(OSError, ValueError):
                found.append((int(file.read_text(encoding="ascii")), str(file)))
    return found


def too_little_memory(mebibytes):
    """Why a pair of guests with so much memory each cannot run here, or ''.

    What they do not touch takes nothing, and both hardly ever need all: so control groups
    have to allow the memory of one only.
    """
    limits = [(most, name) for kind, name in LIMITS.items()
              if (most := resource.getrlimit(kind)[0]) != resource.RLIM_INFINITY]
    for needed, found in ((mebibytes + GAP_MIB, limits), (mebibytes, memory_limits())):
        for most, name in found:
            if most < needed << 20:
                return f"{name} allows {most >> 20} MiB, a guest may need {needed}"
    try:
        memory_directory(2 * mebibytes)
    except Failure as failure:
        return str(failure)
    return ""


def impossible(mebibytes):
    """Why user-mode Linux with so much memory cannot run here, as far as can be told without
    it, or ''."""
    if platform.machine() != "x86_64":
        return f"it is built for x86_64 only, and this is {platform.machine()}"
    return too_little_memory(mebibytes) or ptrace_refused()


def refused(image, mebibytes, cache, *words):
    """Why guests with the kernel in image do not work here, or ''. words: which kernel that is, for
    guest.

    Only guests tell. That they work is kept in the cache until the host boots. Memory that the
    kernel does not touch is not taken from the host.
    """
    reason = impossible(mebibytes)
    if reason:
        return reason
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    limits = [resource.getrlimit(kind) for kind in LIMITS]
    key = hashlib.sha256(f"{boot}{image}{mebibytes}{limits} two".encode()).hexdigest()[:16]
    return known(cache / f"accelerator-uml-{key}",
                 lambda: does_not_boot(image, mebibytes) or stumbles(*words))


def does_not_boot(image, mebibytes):
    """Why the kernel in image does not come up and go down, or ''."""
    with tempfile.TemporaryDirectory(prefix="rpcrdma-uml-") as name:
        log = Path(name) / "log"
        process = boot_process(image, mebibytes, log, [
            "init=/bin/busybox", "--", "poweroff", "-f"])
        ended = process.wait_while(log, PROBE_SECONDS)
        process.kill()
        lines = [line for line in
                 log.read_text(encoding="utf-8", errors="replace").splitlines() if line]
    if not ended or process.process.returncode or not lines or UP_AND_DOWN not in lines[-1]:
        return f"it does not come up: {lines[-1] if lines else 'it says nothing'}"
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
            # A guest whose console nobody reads would wait for ever.
            with contextlib.suppress(OSError):
                self.file.write(text)


class Machine(Process):
    """A kernel. What it has said is in the file of its console when it has been killed."""

    def __init__(self, said, arguments, place, memory, **options):
        """memory: the directory where its memory is."""
        self.said, self.memory = said, memory
        super().__init__(arguments, said.end, place, **options)

    def out_of_room(self, console):
        """Where there was no room for its memory when it died, or None; console: what it said.
        What it had is free again by now."""
        return self.memory if NO_ROOM in console or disk.full(self.memory) else None

    def kill(self):
        """End it, now."""
        super().kill()
        self.said.join(CONSOLE_SECONDS)


class Processor:
    """One of the processors that we may use: the one with the fewest kernels.

    A kernel and a program in it wait for each other at each system call, and with virtual time
    one guest for the other. On two processors that takes a third more of their time than on one.
    How many kernels a processor has, locks in the cache say. So one that dies does not count.
    """

    def __init__(self, cache):
        directory = cache / "processors"
        self.number = self.lock = None
        numbers = sorted(os.sched_getaffinity(0))
        try:
            directory.mkdir(exist_ok=True)
            for turn in range(MOST_PER_PROCESSOR):
                for number in random.sample(numbers, len(numbers)):
                    # One that belongs to another user can be locked, too.
                    lock = os.fdopen(os.open(directory / f"{number}.{turn}",
                                             os.O_RDONLY | os.O_CREAT, 0o644), "rb")
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        self.number, self.lock = number, lock
                        return
                    except BlockingIOError:
                        lock.close()
        except OSError:
            # It works without, and takes longer.
            pass

    def use(self):
        """The caller and its children run there."""
        if self.number is not None:
            # It may have been taken from us meanwhile.
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {self.number})


def boot_process(image, mebibytes, console, arguments, plug=None):
    """A kernel started with these arguments on the host's root, read-only, where its
    console is to be."""
    plug = plug or Plug()

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if plug.processor:
            plug.processor.use()

    memory = memory_directory(mebibytes)
    said = Console(console)
    # Kernels from 6.16 run programs without ptrace if the host lets them, which takes a fifth
    # less of a processor (seccomp). Older ones hand the word to init, as any that they do not
    # know.
    process = Machine(
        said,
        [*plug.wrapper, image, f"mem={mebibytes}M", "rootfstype=hostfs", "rootflags=/", "ro",
         "noreboot", "seccomp=auto", "uml_dir=uml", "con=null", "ssl=null", "con0=null,fd:1",
         *CMDLINE.split(), *plug.arguments, *arguments],
        plug.processor, memory, pass_fds=plug.fds, preexec_fn=prepare, cwd=console.parent,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": "/",
             "TMPDIR": str(memory)} | plug.environment)
    os.close(said.end)
    return process


class Ethernet:
    """A cable between two guests, in real time: a pair of datagram sockets."""

    def __init__(self, cache):
        self.cache = cache
        self.ends = dict(zip(MACS, socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))
        for end in self.ends.values():
            for forced, plainly in ((SO_SNDBUFFORCE, socket.SO_SNDBUF),
                                    (SO_RCVBUFFORCE, socket.SO_RCVBUF)):
                try:
                    end.setsockopt(socket.SOL_SOCKET, forced, SOCKET_BUFFER)
                except PermissionError:
                    end.setsockopt(socket.SOL_SOCKET, plainly, SOCKET_BUFFER)

    def plug(self, role):
        """How a guest of this role is plugged in."""
        fd = self.ends[role].fileno()
        return Plug([f"vec0:transport=fd,fd={fd},mtu=9000,mac={MACS[role]},bpfflash=1"], (fd,),
                    processor=Processor(self.cache))

    def ended(self, _seconds=0):
        """Why there is no Ethernet any more, or ''."""
        return ""

    def unplug(self):
        """Nothing to do: sockets end with us."""


class Clock:
    """Virtual time, and an Ethernet in it: tools/testing/clock, for one guest or two.

    A run with the same seed in the same place does the same again, so nothing in what
    a guest is told may be new: its files are where its working directory is.
    """

    def __init__(self, out, roles, seed, cache, stall):
        """stall: a guest that computes for so many seconds without a look at the clock has
        lost its way."""
        self.out, self.roles, self.seed = out, roles, seed
        self.processor = Processor(cache)
        if not (CLOCK / "clock").exists():
            raise Failure("no virtual time yet: run 'make -C tools/testing/clock'")
        (out / "clock").mkdir()
        self.process = Process([CLOCK / "clock", "--guests", len(roles),
                                "--latency", LATENCY_NS,
                                "--trace", out / "clock/trace",
                                "--stall", stall,
                                "--limit", VIRTUAL_SECONDS,
                                *(f"--done={role}/status" for role in roles), "clock"],
                               out / "clock/log", cwd=out, preexec_fn=self.processor.use)
        end = time.monotonic() + CLOCK_READY_SECONDS
        while not (out / "clock/time").exists():
            if not self.process.running() or time.monotonic() > end:
                self.process.kill()
                raise Failure(f"no virtual time: {self.last_words()}")
            time.sleep(0.01)

    def last_words(self):
        """The line with which it ended."""
        lines = (self.out / "clock/log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "the clock says nothing"

    def plug(self, role):
        """How a guest of this role is plugged in."""
        number = self.roles.index(role) + 1
        return Plug([f"time-travel=ext:{number}:../clock/time",
                     f"virtio_uml.device=../clock/net.{number}:1",
                     # What a device sent before it was stopped would keep its
                     # owner until it is started again.
                     "virtio_net.napi_tx=0"],
                    environment={"LD_PRELOAD": str(CLOCK / "seeded.so"),
                                 "CLOCK_SEED": str(2 * self.seed + number)},
                    wrapper=SAME_ADDRESSES, processor=self.processor)

    def ended(self, seconds=0):
        """Why there is no virtual time any more, or ''; wait so long for its end."""
        return re.sub(r"\bguest (\d+)\b", lambda found:
                      f"{found[0]} ({self.roles[int(found[1]) - 1]})", self.last_words()) \
            if self.process.wait(seconds) else ""

    def who_died(self):
        """The roles of guests whose death has ended it, as far as is known."""
        status = self.process.process.returncode
        if status < 0 or status == CLOCK_FAILED:
            raise Failure(f"the clock failed ({status}): {self.last_words()}")
        if status not in (CLOCK_ENDED, CLOCK_GUEST_DIED):
            return ()
        found = re.search(r"\bguest (\d+) died\b", self.last_words())
        return (self.roles[int(found[1]) - 1],) if found else self.roles

    def unplug(self):
        """End it, after the guests, which cannot do without; its trace is to be whole."""
        self.process.ask_to_end(CLOCK_READY_SECONDS)
        self.process.kill()


@dataclasses.dataclass(frozen=True)
class Plug:
    """What a guest gets for its network and its time, and where it runs."""
    arguments: list = ()
    fds: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    wrapper: tuple = ()
    processor: Processor = None


def start(guest, ethernet, cache):
    """Boot a guest (of the harness); its Process. ethernet: None for a guest alone.

    Where its files are on the host, the guest is told by way of its working directory.
    """
    (guest.directory / "modules").symlink_to(plain(guest.modules))
    return boot_process(
        guest.kernel.image, guest.memory, guest.console,
        [f"init={HERE / 'first-init'}", "guest.machine=uml",
         "guest.modules=/proc/self/cwd/modules/.", "guest.out=/proc/self/cwd/..",
         *guest.cmdline.split()],
        ethernet.plug(guest.role) if ethernet else Plug(processor=Processor(cache)))
