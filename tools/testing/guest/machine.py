# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Shared by machines of every kind: a process that dies with this one, and what is known of
which kinds work here."""

import contextlib
import fcntl
import functools
import importlib.machinery
import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent.parent
# A guest's kernel says little on its console and everything in its log. KUnit of 7.3 runs tests
# only when it is asked, if it is configured as Debian's.
CMDLINE = ("loglevel=5 oops=panic panic=-1 log_buf_len=4M cryptomgr.notests "
           "kunit.autorun=1")


# So long a process takes at most that has been killed.
KILL_SECONDS = 30
# So long nothing tries again what did not work: the host may have been busy.
FAILED_SECONDS = 600
WORKS = "works"
# Two guests that do nothing for so long do not work. On a busy host the slowest kernel says nothing
# for a minute as it comes up.
STILL_SECONDS = 180
# What goes on talking for so many times as long as it may be silent does not come up either.
TALKS = 12
# What the statuses of 'guest' mean for a probe.
ENDS = {97: "their kernel complains", 98: "one of them dies",
        124: "nothing happens any more"}

# Where Debian has what only administrators are expected to call.
os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


class Failure(Exception):
    """The harness cannot do its work: a message for the user."""


def finds_bugs(kernel):
    """Whether a kernel is one that needs time and memory for that."""
    return not re.match(r"stock-|uml-\d", kernel)


def memory_of(kernel):
    """How many MiB a guest on this kernel has: enough for the self-tests. A kernel initializes
    all of it when it boots, and kmemleak reads twice what is in use."""
    return 1024 if kernel.startswith("uml-debug") else 1536 if finds_bugs(kernel) else 2048


def output(*command):
    """The stdout of a command; Failure if it does not succeed."""
    try:
        return subprocess.run([str(word) for word in command], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    except FileNotFoundError:
        raise Failure(f"no program {command[0]}: run scripts/install-deps") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"'{' '.join(map(str, command))}' "
                      f"ended with status {error.returncode}") from None


@functools.lru_cache(maxsize=None)
def kernels():
    """scripts/kernel as a module. To start the program takes longer than most of its answers."""
    loader = importlib.machinery.SourceFileLoader("scripts_kernel", str(TOP / "scripts/kernel"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


@functools.lru_cache(maxsize=None)
def ask_kernels(*arguments):
    """What scripts/kernel prints, without the last newline; Failure if it does not succeed. What it
    has once said it says again."""
    module, said = kernels(), io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            module.main([str(word) for word in arguments])
    except (module.Failure, OSError, SystemExit) as error:
        if not isinstance(error, SystemExit):
            print(f"kernel: {module.in_words(error)}", file=sys.stderr)
        raise Failure(f"'scripts/kernel {' '.join(map(str, arguments))}' failed") from None
    return said.getvalue().strip()


def forget_probes(cache):
    """Guests do not work: which kinds of them do here has to be found out anew."""
    for answer in cache.glob("accelerator-*"):
        answer.unlink(missing_ok=True)


def stumbles(*words):
    """Why a script does not come to its end in two guests, or ''. words: for guest, which kernel
    they have, and what else.

    What the script does is in 'probe' beside this file. There is no limit for all of it.
    """
    program, probe = HERE / "guest", HERE / "probe"
    words = [str(word) for word in words]
    with tempfile.TemporaryDirectory(prefix="rpcrdma-probe-") as out:
        result = subprocess.run(
            ["setpriv", "--pdeathsig", "TERM", sys.executable, program, "--probe", "--pair",
             "--intree", "both", "--no-leak-check", "--quiet", "--stall", str(STILL_SECONDS),
             "--out", out, *words, probe],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False)
    if not result.returncode:
        return ""
    said = re.findall(r"^guest: (?!FAILED)(.*)", result.stdout, re.MULTILINE)
    what = ENDS.get(result.returncode) or (said or [f"status {result.returncode}"])[-1]
    here = Path(os.path.relpath(HERE))
    return (f"two guests do not come to the end of a script: {what} ('{here / 'guest'} "
            f"{' '.join(words)} --intree both --pair {here / 'probe'}' shows it)")


def known(answer, find, failed=None, older=""):
    """Why a kind of guest does not work here, or ''. It is what find() says, and is kept: that it
    works in the file answer, until that goes; that it does not in the file failed, for a while.

    failed: if not answer. older: pattern of the names of such files; those from before go. Who
    asks at the same time waits. Without the cache it works, and takes longer.
    """
    failed = failed or answer

    def age(file):
        return time.time() - file.stat().st_mtime

    def kept():
        with contextlib.suppress(OSError):
            if answer.read_text(encoding="utf-8").strip() == WORKS:
                return ""
        with contextlib.suppress(OSError):
            text = failed.read_text(encoding="utf-8").strip()
            if text and age(failed) < FAILED_SECONDS:
                return text
        return None

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            lock = stack.enter_context(open(answer.parent / ".probe.lock", "w", encoding="ascii"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        reason = kept()
        if reason is not None:
            return reason
        reason = find()
        with contextlib.suppress(OSError):
            for old in answer.parent.glob(older) if older else ():
                if not reason or age(old) >= FAILED_SECONDS:
                    old.unlink(missing_ok=True)
            fresh = answer.with_suffix(".new")
            fresh.write_text((reason or WORKS) + "\n", encoding="utf-8")
            fresh.replace(failed if reason else answer)
    return reason


def plain(path):
    """path, if a kernel's command line and mount options can hold it, else Failure."""
    if set(str(path)) & set(", \t\n\"'"):
        raise Failure(f"{path}: a guest cannot use a path with a comma, a quote or a "
                      "space in it; move the tree")
    return path


class Process:
    """A running machine, which dies with us and is never left behind."""

    def __init__(self, arguments, log, place=None, **options):
        """log: a path or a file descriptor for what the machine says; place: its processor,
        which is taken as long as this object lives; options: of subprocess.Popen."""
        self.place = place
        try:
            with open(log, "wb", closefd=not isinstance(log, int)) as file:
                self.process = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *map(str, arguments)],
                    stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                    start_new_session=True, **options)
        except FileNotFoundError as error:
            raise Failure(f"no {error.filename}: run scripts/install-deps") from None

    def running(self):
        """Whether the machine has not ended by itself."""
        return self.process.poll() is None

    def wait(self, seconds):
        """Wait for the machine to end by itself; whether it did."""
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def wait_while(self, log, seconds):
        """Wait for it to end by itself, as long as it says something in a file; whether it did.
        seconds: how long it may be silent."""
        size, end, last = -1, 0, time.monotonic() + TALKS * seconds
        while not self.wait(0.1):
            now = log.stat().st_size if log.exists() else 0
            if now != size:
                size, end = now, min(time.monotonic() + seconds, last)
            if time.monotonic() > end:
                return False
        return True

    def ask_to_end(self, seconds):
        """Let it finish what it writes; whether it has ended."""
        if self.running():
            os.killpg(self.process.pid, signal.SIGTERM)
        return self.wait(seconds)

    def kill(self):
        """End the machine, now. In /dev/kvm it can be where no signal ends it."""
        if self.running():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.wait(KILL_SECONDS)
