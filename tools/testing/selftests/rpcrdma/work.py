#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Work that a storm disturbs, on two mounts: a fixed amount, by a seed.

  work.py run VERIFIED DISTURBED SEED MILLISECONDS STOP
  work.py same VERIFIED NAME=CHECKSUM...
  work.py spoil FILE        change every thousandth byte

On VERIFIED, where no program may see an error, two processes compare files with copies
in memory (integrity.py), and one makes, renames and removes entries of a directory. Their
amount of work takes MILLISECONDS if nothing disturbs them; then they end. On
DISTURBED other processes write and read, are killed, get errors and begin again, until the
file STOP exists. Their process ids are the names of files in the directory STOP.pids. The
progress of the processes on VERIFIED is in files of STOP.progress. All of them sleep now
and then: otherwise virtual time would not pass.

The last line of 'run' is the arguments of 'same' at the other side.
"""

import errno
import itertools
import mmap
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import integrity  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
# Sizes that go inline, continued and by chunks.
SIZES = (512, 4 * KIB, 12 * KIB, 64 * KIB, 256 * KIB, MIB)
# Longest sleep between two operations, in seconds.
PAUSE, METADATA_PAUSE, DISTURBED_PAUSE = 0.16, 0.08, 0.3
TOLERATED = (errno.EEXIST, errno.ENOENT, errno.ENOTEMPTY)


def listing(directory):
    """What is in the directory and what in its files, as a checksum."""
    found = []
    for path in sorted(Path(directory).iterdir()):
        if path.is_symlink():
            found.append(f"{path.name} -> {os.readlink(path)}")
        elif path.is_dir():
            found.append(f"{path.name}/")
        else:
            found.append(f"{path.name} {path.read_text(encoding='ascii')}")
    return integrity.checksum("\n".join(found).encode())


class Names:
    """A directory, and what it has to contain.

    A request that is repeated because its reply was lost, to a server that has forgotten
    it, may find that it is done. So what counts is how things are afterwards.
    """

    def __init__(self, directory, seed):
        self.top, self.dice = Path(directory), random.Random(seed)
        self.top.mkdir(exist_ok=True)
        self.entries = {}       # name: kind and content
        self.number = 0

    @staticmethod
    def attempt(function, *arguments):
        """It may have been done before."""
        try:
            function(*arguments)
        except OSError as error:
            if error.errno not in TOLERATED:
                raise

    def make(self):
        """A file, directory or symbolic link."""
        self.number += 1
        name = f"{self.number}-" + "n" * self.dice.randrange(0, 200)
        kind = self.dice.choice(("file", "file", "directory", "link"))
        content = "content " * self.dice.randrange(1, 1500)
        if kind == "file":
            (self.top / name).write_text(content, encoding="ascii")
            self.entries[name] = f"{name} {content}"
        elif kind == "directory":
            self.attempt(os.mkdir, self.top / name)
            self.entries[name] = f"{name}/"
        else:
            target = content[:self.dice.randrange(1, 1000)]
            self.attempt(os.symlink, target, self.top / name)
            self.entries[name] = f"{name} -> {target}"

    def rename(self, name):
        """To a name that is not there."""
        self.number += 1
        new = f"{self.number}-renamed"
        self.attempt(os.rename, self.top / name, self.top / new)
        self.entries[new] = new + self.entries.pop(name)[len(name):]

    def remove(self, name):
        """It is gone."""
        path = self.top / name
        self.attempt(os.rmdir if self.entries.pop(name).endswith("/") else os.unlink, path)

    def one(self):
        """One change, or a look."""
        names = sorted(self.entries)
        what = self.dice.randrange(10)
        if what < 4 or len(names) < 4:
            self.make()
        elif what < 6:
            self.rename(self.dice.choice(names))
        elif what < 8 or len(names) > 40:
            self.remove(self.dice.choice(names))
        else:
            self.compare()

    def compare(self):
        """What is listed is what has to be there."""
        found = sorted(os.listdir(self.top))
        if found != sorted(self.entries):
            raise integrity.Different(
                f"{self.top}: {sorted(set(found) ^ set(self.entries))}")

    def checksum(self):
        """As that of listing()."""
        return integrity.checksum("\n".join(
            self.entries[name] for name in sorted(self.entries)).encode())


def turns(progress, seed, longest, milliseconds):
    """Numbers from 0, each after a sleep, until these make up the milliseconds."""
    pauses = random.Random(seed)
    left = milliseconds / 1000
    fd = os.open(progress, os.O_WRONLY | os.O_CREAT, 0o644)
    for number in itertools.count():
        os.pwrite(fd, b"%d\n" % number, 0)
        if left <= 0:
            break
        pause = pauses.random() * longest
        time.sleep(pause)
        left -= pause
        yield number


def compare(path, progress, seed, milliseconds):
    """A file and its copy; the checksum."""
    file, dice = integrity.File(path, seed), random.Random(seed)
    number = -1
    try:
        for number in turns(progress, seed + 1, PAUSE, milliseconds):
            integrity.one(file, dice)
        return file.finish()
    except integrity.Different as different:
        raise integrity.Different(f"{path}, operation {number}: {different}") from None


def change_names(directory, progress, seed, milliseconds):
    """A directory; the checksum."""
    names = Names(directory, seed)
    for _ in turns(progress, seed + 1, METADATA_PAUSE, milliseconds):
        names.one()
    names.compare()
    return names.checksum()


def disturbed(directory, number, seed, stop):
    """Write and read, directly or not, and mind no error."""
    dice = random.Random(seed)
    memory = mmap.mmap(-1, MIB)
    memory.write(dice.randbytes(MIB))
    path = f"{directory}/disturbed-{number}"
    while not os.path.exists(stop):
        time.sleep(dice.random() * DISTURBED_PAUSE)
        view = memoryview(memory)[:dice.choice(SIZES)]
        offset = dice.randrange(4) * len(view)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT |
                         (os.O_DIRECT if dice.randrange(3) else 0), 0o644)
        except OSError:
            continue
        try:
            if dice.randrange(2):
                os.pwritev(fd, [view], offset)
            else:
                os.preadv(fd, [view], offset)
        except OSError:
            pass
        finally:
            try:
                os.close(fd)
            except OSError:
                pass


def child(report, function, *arguments):
    """A process that leaves in a file what comes of the function; its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        text, status = function(*arguments), 0
    except BaseException as error:      # whatever it is, it ends the process
        text = f"{type(error).__name__}: {error}"
    Path(report).write_text(f"{text}\n", encoding="utf-8")
    os._exit(status)


def run(verified, other, seed, milliseconds, stop):
    """All of it; the exit status."""
    seed, milliseconds = int(seed), int(milliseconds)
    pids, progress = Path(stop + ".pids"), Path(stop + ".progress")
    pids.mkdir(exist_ok=True)
    progress.mkdir(exist_ok=True)
    workers = {}
    for name, function in (("file-0", compare), ("file-1", compare),
                           ("names", change_names)):
        seed += 2
        workers[child(pids.parent / f"report.{name}", function, f"{verified}/{name}",
                      progress / name, seed, milliseconds)] = name
    others = {}

    def start(number):
        nonlocal seed
        seed += 1
        pid = child("/dev/null", disturbed, f"{other}/disturbed", number, seed, stop)
        others[pid] = number
        (pids / str(pid)).touch()

    for number in range(3):
        start(number)
    sums, failed = {}, []
    while workers or others:
        pid, status = os.wait()
        if pid in others:
            (pids / str(pid)).unlink()
            number = others.pop(pid)
            if status == signal.SIGKILL:
                time.sleep(0.05)
                start(number)
            elif status:
                failed.append(f"disturbed-{number}: status {status}")
            continue
        name = workers.pop(pid)
        text = (pids.parent / f"report.{name}").read_text(encoding="utf-8").strip()
        if status:
            failed.append(f"{name}: status {status}: {text}")
        else:
            sums[name] = text
    print("\n".join(failed))
    print(*(f"{name}={crc}" for name, crc in sorted(sums.items())))
    return 1 if failed else 0


def same(directory, *wanted):
    """The directory has this content; the exit status."""
    status = 0
    for name, _, want in (word.partition("=") for word in wanted):
        path = Path(directory) / name
        got = listing(path) if path.is_dir() else integrity.checksum(path.read_bytes())
        if got != want:
            print(f"{name}: checksum {got} for {want}")
            status = 1
    return status or (0 if wanted else 1)


def spoil(path):
    """Change every thousandth byte of a file; the exit status."""
    with open(path, "r+b") as file:
        data = bytearray(file.read() or b"x")
        data[::1000] = bytes(octet ^ 0xa5 for octet in data[::1000])
        file.seek(0)
        file.write(data)
    return 0


if __name__ == "__main__":
    sys.exit({"run": run, "same": same, "spoil": spoil}[sys.argv[1]](*sys.argv[2:]))
