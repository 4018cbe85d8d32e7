# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Shared by machines of every kind: a process that dies with this one."""

import os
import re
import signal
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A guest's kernel says little on its console and everything in its log. KUnit of 7.3 runs tests
# only when it is asked, if it is configured as Debian's.
CMDLINE = ("loglevel=5 oops=panic panic=-1 log_buf_len=4M cryptomgr.notests "
           "kunit.autorun=1")


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


def forget_probes(cache):
    """No guest has come up: which kinds of guests work here has to be found out anew."""
    for answer in cache.glob("accelerator-*"):
        answer.unlink(missing_ok=True)


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

    def ask_to_end(self, seconds):
        """Let it finish what it writes; whether it has ended."""
        if self.running():
            os.killpg(self.process.pid, signal.SIGTERM)
        return self.wait(seconds)

    def kill(self):
        """End the machine, now."""
        if self.running():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
