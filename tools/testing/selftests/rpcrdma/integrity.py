#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Change a file and a copy of it in memory in the same way, and compare them.

  integrity.py table FILE [LARGEST]    every size in SIZES and LARGEST, at an offset
                                       that is aligned and one that is not; without
                                       LARGEST, and $FULL, those about 1 MiB in two
                                       ways of four each
  integrity.py random FILE SEED COUNT  COUNT operations, chosen by SEED; or until
                                       there is a file named COUNT
  integrity.py direct FILE SEED COUNT  the same, but nothing goes through the page cache,
                                       for which a task may wait that cannot be killed
  integrity.py cached FILE SEED COUNT  the same, but everything does, with many an fsync()
  integrity.py ends FILE               files that end in the middle of what is asked for, past
                                       the page cache
  integrity.py same FILE CRC           the file has this content

Writes and reads go through the page cache, past it (O_DIRECT, from memory at any
alignment) and through mmap; the file is truncated, extended and left sparse. The
last line is a checksum of what the file has to contain, for the other side. With
NO_HOLES in the environment nothing is left sparse: zeros are written there. With
SYNC_FIRST the page cache is written back before anything is written past it.
"""

import mmap
import os
import random
import sys
import time
import zlib

KIB, MIB, PAGE = 1 << 10, 1 << 20, 4096
# Around a page, a Send, the threshold of chunks, rsize and wsize.
SIZES = (1, 2, 3, 4, 5, 511, 513, 4095, 4096, 4097, 7900, 7996, 8100, 8131, 8160,
         8191, 8192, 8193, 16341, 16383, 16384, 16385, 65535, 65536, 65537,
         MIB - 1, MIB, MIB + 1)
OFFSETS = (0, 1, 0, 4093)
ENDS = (0, 1, 3, 4095, 4097, 65535, 65537, 131071)
LONGEST = 2 * MIB
# Between operations until a file appears, in seconds at most. Without a pause such a
# program does as much as the machine can, which in virtual time is a lot.
PAUSE = 0.04
# The same while there is a file with that name and ".rest": see rest() of lib.sh.
REST_PAUSE = 0.5


class Different(Exception):
    """The file is not what it has to be."""


def checksum(data):
    """Of what a file has, and how much that is."""
    return f"{zlib.crc32(data):08x}-{len(data)}"


class File:
    """A file, its copy, and the ways to reach it."""

    def __init__(self, path, seed):
        flags = os.O_RDWR | os.O_CREAT
        self.cached = os.open(path, flags | os.O_TRUNC, 0o644)
        self.direct = os.open(path, flags | os.O_DIRECT, 0o644)
        self.copy = bytearray()
        self.noise = random.Random(seed).randbytes(MIB + 4099)
        self.turn = 0
        self.memory = mmap.mmap(-1, LONGEST + PAGE)

    def fresh(self, length):
        """Bytes that differ from those before, wherever they come to lie."""
        self.turn = (self.turn * 5 + 7919) % len(self.noise)
        data = self.noise[self.turn:self.turn + length]
        while len(data) < length:
            data += self.noise[:length - len(data)]
        return data

    def note(self, offset, data):
        """The copy after a write."""
        if offset > len(self.copy):
            self.copy.extend(bytes(offset - len(self.copy)))
        self.copy[offset:offset + len(data)] = data

    def compare(self, offset, data, length):
        """What was read is what the copy has."""
        want = self.copy[offset:offset + length]
        if data == want:
            return
        where = next((i for i, (a, b) in enumerate(zip(data, want)) if a != b),
                     min(len(data), len(want)))
        size = os.fstat(self.cached).st_size
        again = os.pread(self.cached, length, offset) == want
        raise Different(f"{length} octets at {offset}: read {len(data)} of {len(want)}, "
                        f"first difference at {offset + where}: "
                        f"{data[where:where + 8].hex()} for {want[where:where + 8].hex()}; "
                        f"size {size} for {len(self.copy)}, "
                        f"{'right' if again else 'wrong'} when read again")

    def write(self, offset, length):
        """Through the page cache."""
        data = self.fresh(length)
        done = 0
        while done < length:
            done += os.pwrite(self.cached, data[done:], offset + done)
        self.note(offset, data)

    def read(self, offset, length):
        """Through the page cache."""
        data = b""
        while len(data) < length:
            part = os.pread(self.cached, length - len(data), offset + len(data))
            if not part:
                break
            data += part
        self.compare(offset, data, length)

    def write_direct(self, offset, length, skew=0):
        """Past the page cache, from memory skew bytes into a page."""
        data = self.fresh(length)
        if "SYNC_FIRST" in os.environ:
            os.fsync(self.cached)
        for done in range(0, length, LONGEST):
            part = data[done:done + LONGEST]
            view = memoryview(self.memory)[skew:skew + len(part)]
            view[:] = part
            if os.pwritev(self.direct, [view], offset + done) != len(part):
                raise Different(f"short write of {len(part)} octets at {offset + done}")
        self.note(offset, data)

    def read_direct(self, offset, length, skew=0):
        """Past the page cache."""
        for done in range(0, length, LONGEST):
            count = min(LONGEST, length - done)
            view = memoryview(self.memory)[skew:skew + count]
            try:
                got = os.preadv(self.direct, [view], offset + done)
            except OSError as error:
                raise Different(f"direct read of {count} octets at {offset + done} "
                                f"into memory at {skew}: {error}") from None
            self.compare(offset + done, bytes(view[:got]), count)

    def mapped(self, offset, length, change):
        """Through mmap: write, or read."""
        length = min(length, len(self.copy) - offset)
        if length <= 0:
            return
        start = offset // PAGE * PAGE
        with mmap.mmap(self.cached, offset + length - start, offset=start) as area:
            at = offset - start
            if change:
                data = self.fresh(length)
                area[at:at + length] = data
                area.flush()
                self.note(offset, data)
            else:
                self.compare(offset, area[at:at + length], length)

    def fill(self, length):
        """Zeros at the end, if holes are not to be."""
        if "NO_HOLES" in os.environ and length > len(self.copy):
            data = bytes(length - len(self.copy))
            if os.pwrite(self.cached, data, len(self.copy)) != len(data):
                raise Different(f"short write of {len(data)} zeros")
            self.note(len(self.copy), data)

    def truncate(self, length):
        """Shorten, or lengthen by a hole."""
        self.fill(length)
        os.ftruncate(self.cached, length)
        if length > len(self.copy):
            self.copy.extend(bytes(length - len(self.copy)))
        del self.copy[length:]

    def forget(self):
        """Out with the page cache: the next read asks the server."""
        os.fsync(self.cached)
        os.posix_fadvise(self.cached, 0, 0, os.POSIX_FADV_DONTNEED)

    def finish(self):
        """Everything once more, from the server; then what it has to be, a checksum."""
        self.forget()
        if os.fstat(self.cached).st_size != len(self.copy):
            raise Different(f"size {os.fstat(self.cached).st_size} for {len(self.copy)}")
        self.read(0, len(self.copy))
        os.close(self.direct)
        os.close(self.cached)
        return checksum(self.copy)


def table(path, largest="0"):
    """Every size, each way."""
    file = File(path, 1)
    thorough = int(largest) or os.environ.get("FULL")
    for i, size in enumerate(SIZES + ((int(largest),) if int(largest) else ())):
        for offset in OFFSETS[i & 2:(i & 2) + 2] if size < MIB else (1,):
            if thorough or size < MIB or i % 2:
                file.write(offset, size)
                file.forget()
                file.read_direct(offset, size, offset % PAGE)
            if thorough or size < MIB or not i % 2:
                file.write_direct(offset, size, size % PAGE)
                file.read(offset, size)
            if size < MIB:
                file.mapped(offset, size, True)
                file.forget()
                file.mapped(offset, size, False)
    print(file.finish())


def one(file, dice):
    """One operation."""
    end = len(file.copy)
    size = max(1, min(LONGEST, dice.choice(SIZES) + dice.randint(-3, 3)))
    if dice.random() < 0.8:
        size = min(size, 70 * KIB)
    offset = dice.choice((0, end, dice.randint(0, end), dice.randint(0, end),
                          dice.randint(0, end) // PAGE * PAGE))
    skew = dice.choice((0, 1, 512, 4095))
    kind = dice.randrange(20)
    if kind < 4:
        file.write(offset, size)
    elif kind < 8:
        file.write_direct(offset, size, skew)
    elif kind < 11:
        file.read(offset, size)
    elif kind < 14:
        file.read_direct(offset, size, skew)
    elif kind < 15:
        file.mapped(offset, size, True)
    elif kind < 16:
        file.mapped(offset, size, False)
    elif kind < 17:
        file.truncate(offset)
    elif kind < 18 and end < 4 * MIB:
        file.fill(end + size)
        file.write(end + size, 100)
    elif kind < 19 and end < 4 * MIB:
        file.truncate(end + size)
    else:
        file.forget()


def one_direct(file, dice):
    """One operation past the page cache, in the first 4 MiB or so."""
    end = len(file.copy)
    size = min(70 * KIB, dice.choice(SIZES))
    offset = dice.randint(0, min(end, 4 * MIB))
    skew = dice.choice((0, 1, 512, 4095))
    if dice.randrange(2):
        file.write_direct(offset, size, skew)
    else:
        file.read_direct(offset, size, skew)


def one_cached(file, dice):
    """One operation through the page cache, there too. What is written is soon flushed."""
    end = len(file.copy)
    size = min(70 * KIB, dice.choice(SIZES))
    offset = dice.randint(0, min(end, 4 * MIB))
    kind = dice.randrange(6)
    if kind < 3:
        file.write(offset, size)
    elif kind < 4:
        file.read(offset, size)
    elif kind < 5:
        os.fsync(file.cached)
    else:
        file.forget()


def shuffle(path, seed, count, step=one):
    """Operations by chance; the same ones for the same seed."""
    print(f"seed {seed}")
    dice, pauses = random.Random(int(seed)), random.Random(int(seed))
    file = File(path, int(seed))
    number = 0
    try:
        while number < int(count) if count.isdigit() else not os.path.exists(count):
            step(file, dice)
            number += 1
            if not count.isdigit():
                time.sleep(pauses.uniform(
                    0, REST_PAUSE if os.path.exists(f"{count}.rest") else PAUSE))
        print(file.finish())
    except Different as different:
        raise Different(f"{checksum(file.copy)}, operation {number}: {different}") from None


def direct(path, seed, count):
    """The same past the page cache; but at the end all is read through it."""
    shuffle(path, seed, count, one_direct)


def cached(path, seed, count):
    """The same through the page cache alone."""
    shuffle(path, seed, count, one_cached)


def ends(path):
    """Results that are shorter than what was asked for, and empty ones."""
    memory = mmap.mmap(-1, MIB)
    for size in ENDS:
        data, got = os.urandom(size), b""
        with open(path, "wb") as file:
            file.write(data)
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        while part := os.preadv(file, [memory], len(got)):
            got += memory[:part]
        os.close(file)
        if got != data:
            raise Different(f"{len(got)} octets of {size}, or other ones")
        os.unlink(path)


def same(path, want):
    """The file has this content."""
    with open(path, "rb") as file:
        got = checksum(file.read())
    if got != want:
        raise Different(f"checksum {got} for {want}")


def main(what, *arguments):
    """Do it; the exit status."""
    try:
        {"table": table, "random": shuffle, "direct": direct,
         "cached": cached, "ends": ends, "same": same}[what](*arguments)
    except Different as different:
        print(different)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
