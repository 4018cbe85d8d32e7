#!/usr/bin/python3 -SE
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Notes of what has passed, and with which tree and settings: for scripts/tally, and for 'run' of
the self-tests; and with which files, for scripts/once and scripts/made.

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
    "MAKE_TERMERR", "MAKE_TERMOUT", "MFLAGS", "OLDPWD", "PWD", "PYENV_DIR", "RESUME", "SHLVL",
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


def contents(paths):
    """What these files are, and those in these directories: by name, content and whether they can
    be run. A link in a directory is what it says. None if something is not there."""
    known = hashlib.blake2b()

    def add(name, path):
        known.update(f"{name}\0{os.stat(path).st_mode & 0o111:o}\0".encode())
        with open(path, "rb") as file:
            known.update(hashlib.file_digest(file, "blake2b").digest())

    try:
        for path in paths:
            if not os.path.isdir(path):
                add(path, path)
                continue
            for directory, below, files in os.walk(path):
                below.sort()
                for name in sorted(below + files):
                    name = os.path.join(directory, name)
                    if os.path.islink(name):
                        known.update(f"{name}\0 -> {os.readlink(name)}\0".encode())
                    elif os.path.isfile(name):
                        add(name, name)
                    else:
                        known.update(f"{name}\0/\0".encode())
    except FileNotFoundError:
        return None
    return known.hexdigest()


def of_settings(settings):
    """A short name for these settings, a mapping."""
    return hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()


def inputs(settings, texts, **others):
    """What a result depends on: the tree, with or without TEXTS, these settings, a mapping, and
    others, as they are; or None if that cannot be told."""
    found = tree(texts)
    return found and {"tree": found, **others, "settings": of_settings(
        {name: settings[name] for name in settings if name not in INDIFFERENT})}


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
        return found if with_what and found["inputs"] == with_what else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


if __name__ == "__main__":
    print(tree() or "")
