#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Small files, one after the other, for so many seconds: make, write, look at, remove.

  storm.py DIRECTORY SECONDS

Prints, as JSON, how many files a second that were and the median of how long one took,
in microseconds.
"""

import json
import os
import statistics
import sys
import time


def one(path):
    """A file's life."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    os.write(fd, b"a few octets")
    os.close(fd)
    os.stat(path)
    os.unlink(path)


def main(directory, seconds):
    """Do it."""
    taken, end = [], time.monotonic() + float(seconds)
    while time.monotonic() < end:
        begin = time.monotonic()
        one(f"{directory}/{len(taken)}")
        taken.append(time.monotonic() - begin)
    print(json.dumps({"per_second": len(taken) / sum(taken),
                      "median_us": statistics.median(taken) * 1e6}))


if __name__ == "__main__":
    main(*sys.argv[1:])
