# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The commands in the texts of the documentation.

    texts.py server client machine  list those in guests: file:line, block, state, where, command
    texts.py kerberos           the same of a class

A command stands in a block "code-block:: console", behind the word that says where it is
typed: "server#", "client#", "machine#" (both) or "tree$". The class of a block says in which
state a guest has to be when it begins, or what else runs its commands: see STATES.
README.md has no such words: there a command is in an indented block, and a comment in front
of it ("<!-- silent -->") has the class.
"""

import dataclasses
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
PROMPT = re.compile(r"(server|client|machine)# (.*)|(tree)\$ (.*)")
BLOCK = re.compile(r"( *)\.\. code-block:: *(\S*)")
# Of a block of guests: what differs from a mounted share and a server that listens. docs.sh types
# its commands.
GUESTS = {"", "unmounted", "silent", "no-device", "grown", "rules"}
# Who else runs the commands of a block: docs/check on the build machine, krb5.sh with a realm,
# wireshark/check with captures, and packaging on a new machine, to which the module comes by
# one of three ways.
MACHINES = ("new-machine", "by-package", "by-dkms", "by-source")
OTHERS = {"runs", "kerberos", "wireshark", *MACHINES}
STATES = GUESTS | OTHERS
# What begins a line that is a command, in a block that is not marked.
COMMANDS = re.compile(
    r"(?:sudo +)?(make|modprobe|u?mount|rpcrdmactl|rdma|echo|sysctl|apt-get|dkms|cat|ip|grep|"
    r"tar|dpkg-buildpackage|tshark|tcpdump|keyctl|nft|scripts/\S+|tools/\S+)( |$)")


class Tree:
    """The files of the source, some of them perhaps as a test wants them."""

    def __init__(self, changed=None):
        self.changed = changed or {}

    def read(self, path):
        """The text of a file."""
        if path in self.changed:
            return self.changed[path]
        return (TOP / path).read_text(encoding="utf-8")

    def pages(self):
        """The pages that people write, README.md included."""
        found = sorted(f"Documentation/{page.name}" for page in
                       (TOP / "Documentation").glob("*.rst"))
        return [*found, "Documentation/conformance/README.rst", "README.md"]


@dataclasses.dataclass(frozen=True)
class Command:
    """One command of a text."""
    file: str
    line: int
    block: int      # number of its block in the file
    state: str      # class of the block
    where: str      # server, client, machine or tree
    text: str

    def place(self):
        """Where it is, for people."""
        return f"{self.file}:{self.line}"


def indentation(line):
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip())


def blocks(text):
    """The indented blocks of a page: (kind, class, [(line number, line), ...]).

    The kind is what stands behind "code-block::", or "" for "::" alone.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        marked = BLOCK.match(line)
        if not marked and not line.rstrip().endswith("::") or line.startswith(".. _"):
            continue
        if line.lstrip().startswith("..") and not marked:
            continue
        state, body = "", []
        while at < len(lines) and (not lines[at].strip() or
                                   indentation(lines[at]) > indentation(line)):
            option = re.match(r" +:(\w+): *(.*)", lines[at])
            if option and not body:
                state = option[2] if option[1] == "class" else state
            elif lines[at].strip():
                body.append((at + 1, lines[at].strip()))
            at += 1
        yield (marked[2] if marked else ""), state, body


def markdown_blocks(text):
    """The indented blocks of README.md, without those of lists."""
    body, state, following = [], "", ""
    for number, line in enumerate(text.split("\n") + ["end"], 1):
        if line.startswith("    "):
            body.append((number, line.strip()))
            state, following = state or following, ""
        elif line.strip():
            if body:
                yield "", state, body
            mark = re.fullmatch(r"<!-- ([\w-]+) -->", line)
            body, state, following = [], "", mark[1] if mark else ""


def joined(body):
    """Lines, with those that end in a backslash and the next one as one."""
    whole = []
    for number, line in body:
        if whole and whole[-1][1].endswith("\\"):
            whole[-1] = (whole[-1][0], whole[-1][1][:-1].rstrip() + " " + line)
        else:
            whole.append((number, line))
    return whole


def readme_command(line):
    """(where, text) of a line of README.md, or None."""
    line = re.sub(r"\s+# .*", "", line)
    if match := PROMPT.match(line):
        return match[1] or match[3], match[2] or match[4]
    if COMMANDS.match(line):
        return "tree" if line.startswith(("make", "scripts/")) else "machine", line
    return None


def commands(tree, problems=None):
    """All commands. What is written in a way that nobody finds is added to problems."""
    problems = problems if problems is not None else []
    found = []
    for file in tree.pages():
        text = tree.read(file)
        markdown = file.endswith(".md")
        every = markdown_blocks(text) if markdown else blocks(text)
        for number, (kind, state, body) in enumerate(every):
            if state not in STATES:
                problems.append(f"{file}:{body[0][0]}: no such state: {state}")
            for line, content in joined(body):
                if markdown:
                    match = readme_command(content)
                elif kind == "console":
                    match = PROMPT.fullmatch(content)
                    match = match and (match[1] or match[3], match[2] or match[4])
                    if not match:
                        problems.append(f"{file}:{line}: where is this typed? {content}")
                else:
                    match = None
                    if COMMANDS.match(content) or PROMPT.match(content):
                        problems.append(f"{file}:{line}: a command, and not marked: {content}")
                if match:
                    match = match[0], re.sub(r"\s+# .*", "", match[1])
                    found.append(Command(file, line, number, state, *match))
    return found


def literals(text):
    """What stands between double backquotes, or in README.md between single ones."""
    return re.findall(r"``([^`]+)``", text) + re.findall(r"(?<!`)`([^`\n]+)`(?![`_])", text)


def main():
    """List the commands that are typed in the places that the arguments name: those in guests,
    or with the name of a class those of that class."""
    states = OTHERS & set(sys.argv[1:]) or GUESTS
    for command in commands(Tree()):
        if command.state in states and (command.where in sys.argv[1:] or states != GUESTS):
            print(command.place(), f"{command.file}-{command.block}", command.state or "-",
                  command.where, command.text, sep="\t")


if __name__ == "__main__":
    main()
