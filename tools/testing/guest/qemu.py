# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Guests under QEMU: accelerator, initramfs, command line."""

import hashlib
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from machine import CMDLINE, HERE, Failure, Process, known, output, plain, stumbles

QEMU = "qemu-system-x86_64"
# A guest that says nothing for so long does not come up.
PROBE_SECONDS = 10
UP_AND_DOWN = "reboot: Restarting system"
# Of an emulated guest. TCG before QEMU 8 leaves garbage in the flags of a
# CMPXCHG16B, and an interrupt that comes right after it kills the kernel: once in
# some hours of work, in kmem_cache_alloc. Linux does without the instruction.
# And without fast REP MOVSB, which TCG does octet by octet: data.sh takes two thirds
# of the processor time.
EMULATED_CPU = "max,cx16=off,erms=off,fsrm=off"
# What first-init needs before the host's file system is there.
BOOT_MODULES = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay")


def initramfs(directory, modules, release, init=HERE / "first-init"):
    """Write directory/initramfs: busybox, an init and the modules to get going.

    modules: the lib/modules of the guest; release: which kernel's to take.
    """
    busybox = shutil.which("busybox")
    if not busybox:
        raise Failure("no program busybox: run scripts/install-deps")
    tree = directory / "initramfs.d"
    (tree / "bin").mkdir(parents=True)
    (tree / "modules").mkdir()
    shutil.copy(busybox, tree / "bin/busybox")
    shutil.copy(init, tree / "init")
    (tree / "init").chmod(0o755)
    names = []
    if modules:
        # What has no file is part of the kernel. Debian's packages of 7.3 have no list of
        # that, so modprobe would not know it.
        files = (modules / release / "modules.dep").read_text(encoding="utf-8")
        apart = [name for name in BOOT_MODULES if f"/{name}.ko" in files]
        plan = output("modprobe", "-C", "/dev/null", "-d", modules.parent.parent,
                      "-S", release, "--show-depends", "-a", *apart) if apart else ""
        for line in plan.splitlines():
            action, _, path = line.partition(" ")
            name = Path(path.strip()).name
            if action == "insmod" and name not in names:
                shutil.copy(path.strip(), tree / "modules" / name)
                names.append(name)
    (tree / "modules/list").write_text("".join(f"{n}\n" for n in names), encoding="ascii")
    archive = directory / "initramfs"
    output("sh", "-c", f"cd {shlex.quote(str(tree))} && find . | cpio -o -H newc --quiet "
                       f"> {shlex.quote(str(archive))}")
    shutil.rmtree(tree)
    return archive


def common(image, archive, console, cmdline):
    """QEMU arguments that every machine has."""
    return [QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "q35,hpet=off", "-kernel", image, "-initrd", archive,
            "-serial", f"file:{console}",
            "-append", f"console=ttyS0 nokaslr {CMDLINE} {cmdline}"]


def refused(image, cache, *words):
    """Why KVM cannot be used here, or ''. words: which kernel that is, for guest.

    /dev/kvm may exist, open, and still hang a guest; or guests come up and hang later. Only
    guests tell. That it works is kept in the cache until the next boot or QEMU version.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "/dev/kvm is not there, or not for this user"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    key = hashlib.sha256((boot + output(QEMU, "--version")).encode()).hexdigest()[:16]
    # That one kernel fails does not tell of others. Who builds one gives it the same name again.
    this = hashlib.sha256(f"{image}{os.stat(image).st_mtime_ns}".encode()).hexdigest()[:16]
    answer = cache / f"accelerator-kvm-{key}"
    return known(answer, lambda: does_not_boot(image) or stumbles(*words, "--accel", "kvm"),
                 answer.with_name(f"{answer.name}-{this}"), "accelerator-kvm-*")


def does_not_boot(image):
    """Why a guest with KVM does not come up and go down, or ''."""
    with tempfile.TemporaryDirectory(prefix="rpcrdma-kvm-") as name:
        directory = Path(name)
        init = directory / "init"
        init.write_text("#!/bin/busybox sh\n/bin/busybox reboot -f\n", encoding="ascii")
        archive = initramfs(directory, None, None, init)
        console = directory / "console"
        qemu = Process(common(image, archive, console, "")
                       + ["-accel", "kvm", "-cpu", "host", "-m", "512"],
                       directory / "qemu")
        ended = qemu.wait_while(console, PROBE_SECONDS)
        qemu.kill()
        works = ended and qemu.process.returncode == 0 and UP_AND_DOWN in \
            console.read_text(encoding="utf-8", errors="replace")
    return "" if works else "a guest does not come up"


def accelerator(image, cache, *words):
    """'kvm' if it works here, else 'tcg'; as refused()."""
    return "tcg" if refused(image, cache, *words) else "kvm"


def own_cmdline(name, icount):
    """Words for the kernel of a guest with this accelerator. icount: as for accel_arguments().

    An emulated processor that gets no time of a busy host looks to its guest as if it
    were stuck. What is stuck for good is still found, only later. The limits of stalls are
    the largest that the kernel takes. A task counts as hung as soon as in other guests:
    Documentation/testing.rst says how long tasks have waited. Such a guest also takes the timer
    for dead (and panics at boot) or the TSC for unstable (and asks the emulator for the time by a
    port, which takes long), so it is told that both are right.

    TCG keeps what it translated by address. If each program is at addresses of its own, it
    translates libraries again for each: to start a program then takes three times as long.
    It speculates about nothing, so mitigations only cost time. Where instructions are counted
    they count, as on a real processor.
    """
    if name == "kvm":
        return ""
    return (" norandmaps rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60"
            " no_timer_check tsc=reliable" + " mitigations=off" * (not icount))


def accel_arguments(name, icount):
    """QEMU arguments for an accelerator; icount makes time count instructions."""
    if icount:
        return ["-accel", "tcg", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm",
                "-cpu", EMULATED_CPU]
    if name == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", EMULATED_CPU]


def share(tag, path, writable):
    """QEMU arguments for one 9p share of a host directory."""
    options = f"local,path={plain(path)},mount_tag={tag},security_model=none,multidevs=remap"
    return ["-virtfs", options if writable else options + ",readonly=on"]


def network(role, sockets):
    """QEMU arguments for the Ethernet of a guest; sockets: where a pair meets."""
    mac = "52:54:00:00:00:02" if role == "client" else "52:54:00:00:00:01"
    device = ["-device", f"virtio-net-pci,netdev=net0,mac={mac}"]
    if role == "alone":
        return ["-netdev", "user,id=net0,restrict=on", *device]
    # Datagrams keep frame boundaries; a TCP socket would add Nagle's delays.
    peer = "server" if role == "client" else "client"
    return ["-netdev", "dgram,id=net0"
            f",local.type=unix,local.path={sockets}/{role}"
            f",remote.type=unix,remote.path={sockets}/{peer}", *device]


def start(guest, accel, sockets):
    """Boot a guest (of the harness); accel: 'kvm' or 'tcg'; its Process."""
    archive = initramfs(guest.directory, guest.modules, guest.kernel.release)
    return Process(
        common(guest.kernel.image, archive, guest.console,
               guest.cmdline + own_cmdline(accel, guest.options.icount))
        + accel_arguments(accel, guest.options.icount)
        + ["-smp", guest.cpus, "-m", guest.memory]
        + share("root", "/", False)
        + share("modules", guest.modules, False)
        + share("out", guest.out, True)
        + network(guest.role, sockets)
        + (["-plugin", guest.options.plugin] if guest.options.plugin else []),
        guest.directory / "machine")
