#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Notes of what has passed, and with which tree and settings: for scripts/tally, and for 'run' of
the self-tests.

    scripts/passed.py       prints the tree that is checked out, without its texts, or nothing if
                            files are changed
"""

import hashlib
import json
import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# Where notes and logs are.
PLACE = TOP / "build/check"
# Texts for people, which most tests do not read.
TEXTS = ("Documentation/", "README.md")
# What in the environment makes no test do something else. What a command line of make sets is
# there by its own name, too.
INDIFFERENT = frozenset((
    "COLUMNS", "INVOCATION_ID", "LINES", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES",
    "MAKE_TERMERR", "MAKE_TERMOUT", "MFLAGS", "OLDPWD", "PWD", "RESUME", "SHLVL",
    "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TERM", "TMUX", "TMUX_PANE", "WINDOWID",
    "XDG_SESSION_ID", "_"))


def tree(texts=False):
    """The tree that is checked out, with or without TEXTS; None if files are changed, or without
    git."""
    # Nobody's commit is to find the index locked by this.
    git = ["git", "--no-optional-locks", "-C", TOP]
    try:
        changed, files = (subprocess.run([*git, *command], check=True, capture_output=True,
                                         text=True).stdout
                          for command in (["status", "--porcelain", "--untracked-files"],
                                          ["ls-tree", "-rz", "HEAD"]))
    except (OSError, subprocess.CalledProcessError):
        return None
    if changed:
        return None
    # Each is "<mode> <type> <object>\t<path>".
    counting = [file for file in files.split("\0")
                if texts or not file.partition("\t")[2].startswith(TEXTS)]
    return hashlib.sha256("\0".join(counting).encode()).hexdigest()


def inputs(settings, texts, **others):
    """What a result depends on: the tree, with or without TEXTS, these settings, a mapping, and
    others, as they are; or None if that cannot be told."""
    found = tree(texts)
    counting = sorted(item for item in settings.items() if item[0] not in INDIFFERENT)
    return found and {"tree": found, **others, "settings": hashlib.sha256(
        repr(counting).encode()).hexdigest()}


def remember(path, with_what, **result):
    """Note a result and its inputs(). Whoever reads it sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(json.dumps({"inputs": with_what, **result}), encoding="utf-8")
    new.replace(path)


def remembered(path, with_what):
    """What was noted there, if that was with these inputs; or None."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if with_what and found["inputs"] == with_what else None


if __name__ == "__main__":
    print(tree() or "")
