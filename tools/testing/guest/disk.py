# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What to say when files cannot be written or read."""

import errno
import os
from pathlib import Path

# With less than this, whatever fails may fail for want of room.
LEAST_MIB = 16


def full(path):
    """Whether there is hardly any room where path is."""
    try:
        state = os.statvfs(path)
    except OSError:
        return False
    return state.f_bavail * state.f_frsize < LEAST_MIB << 20 or \
        state.f_files > 0 and not state.f_favail


def where(error, place):
    """The file that an OSError is about; place if it does not say."""
    named = str(error.filename2 or error.filename or "")
    return Path(named if os.path.isabs(named) else place)


def in_words(error, place):
    """A line for the user about an OSError that has to do with place, unless it says what."""
    text = error.strerror or str(error)
    if error.errno == errno.EPIPE:
        return text
    if error.errno == errno.ENOENT and not error.filename:
        return text     # of tempfile, which names several directories
    if error.errno == errno.ENOENT and "/" not in str(error.filename):
        return f"no program {error.filename}: run scripts/install-deps"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space left in {where(error, place)}: make room"
    return f"{where(error, place)}: {text}"
