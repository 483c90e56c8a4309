#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when source files need each other in a circle, or a folder that layers.txt keeps from them: by symbols.

usage: check_calls.py [--circles FILE] [--list] BUILD [ROOT]

An #include says what a file may use, its object says what it does use: A needs B where the object of
A leaves a name open which that of B defines, be it called, its address taken, or data. All that BUILD
compiles of ROOT is read, but tests. A folder may need those which it may include, and what their
public headers declare.

The circles that are known stand in --circles (ROOT/tests/architecture/circles.txt), a file a line, a
blank line between two circles. That list can only become shorter: another file in a circle is a
finding, and so is a line whose file has left its circle. --list prints it as it should be.

Findings are printed as `path:line: text`; exit 1 if there are any, 2 for a wrong command line or a
BUILD that is not complete.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict

import check_layers
import source_tree


PUBLIC = re.compile(r"\brapahub_\w+(\s*##)?")


class Unreadable(Exception):
    """The build folder does not tell what it is asked for."""


def output_of(command):
    """Older versions of CMake name the object in the command only."""
    words = command.get("arguments") or shlex.split(command.get("command", ""))
    return command.get("output") or words[words.index("-o") + 1]


def compiled(build, root):
    """{source: object} of what the build compiles below root; tests are left out, they may use all."""
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            commands = json.load(file)
    except (OSError, ValueError) as error:
        raise Unreadable(f"{build}: {error}") from error
    found, missing = {}, []
    for command in commands:
        source = os.path.relpath(os.path.realpath(command["file"]), os.path.realpath(root))
        if source.startswith(("../", "tests/")) or not source.endswith(".c") or source in found:
            continue
        found[source] = os.path.normpath(os.path.join(command["directory"], output_of(command)))
        if not os.path.exists(found[source]):
            missing.append(found[source])
    if missing or not found:
        raise Unreadable(f"{build}: {len(missing) or 'all'} objects are missing; build it first")
    return found


def read_symbols(objects):
    """{object: (defined, undefined)} of the names that objects share, from nm."""
    symbols = {path: (set(), set()) for path in objects}
    done = subprocess.run(["nm", "-A", "-P", "-g", *objects], capture_output=True, text=True)
    if done.returncode != 0:
        raise Unreadable(f"nm: {done.stderr.strip()}")
    for line in done.stdout.splitlines():
        path, _, rest = line.rpartition(": ")
        name, kind = rest.split()[:2]
        symbols[path][kind in "Uwv"].add(name)
    return symbols


class Calls:
    """Which file needs which, and by what names."""

    def __init__(self, objects, symbols):
        self.needs = {source: defaultdict(set) for source in objects}
        homes = defaultdict(set)
        for source, path in objects.items():
            for name in symbols[path][0]:
                homes[name].add(source)
        for source, path in objects.items():
            for name in symbols[path][1]:
                for home in homes[name]:  # several, where programs define the same name
                    self.needs[source][home].add(name)

    def arrows(self):
        return sum(map(len, self.needs.values()))

    def circles(self):
        """The largest first."""
        return sorted(check_layers.connected(self.needs), key=lambda c: (-len(c), min(c)))


class Known:
    """The list of circles, and where each file stands in it."""

    def __init__(self, path, root):
        self.path, self.line, self.circles = os.path.relpath(path, root), {}, [set()]
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.read(file)
        self.circles = [c for c in self.circles if c]

    def read(self, lines):
        for number, text in enumerate(lines, 1):
            words = text.split("#")[0].split()
            if text.isspace():
                self.circles.append(set())
            for word in words:
                self.line[word] = number
                self.circles[-1].add(word)

    def closest(self, circle):
        """That of the list with most of its files; an empty one if none has any."""
        known = max(self.circles, key=lambda known: len(known & circle), default=set())
        return known if known & circle else set()


def ties(names):
    """Enough of them to start looking."""
    first = sorted(names)[:3]
    return ", ".join(first) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class Checker:
    def __init__(self, root, layers, calls, known):
        self.root, self.layers, self.calls, self.known = root, layers, calls, known
        self.findings, self.texts = source_tree.Findings(), {}
        self.circles = calls.circles()

    def line_of(self, path, name):
        """Where a file speaks of a name first; 1 if a macro says it."""
        if path not in self.texts:
            self.texts[path] = source_tree.code_only(source_tree.read(self.root, path))
        match = re.search(rf"\b{re.escape(name)}\b", self.texts[path])
        return source_tree.line_at(self.texts[path], match.start()) if match else 1

    def check_files(self):
        for circle in self.circles:
            known = self.known.closest(circle)
            for path in sorted(circle - known):
                for other in sorted(circle & set(self.calls.needs[path])):
                    names = self.calls.needs[path][other]
                    self.findings.add(path, self.line_of(path, min(names)),
                                      f"in a circle of {len(circle)} files: needs {other} for {ties(names)}")

    def check_list(self):
        """Each circle of the list must still be one, and whole."""
        for known in self.known.circles:
            inside = [c for c in self.circles if self.known.closest(c) is known]
            for path in sorted(known - set().union(*inside)):
                self.findings.add(self.known.path, self.known.line[path], f"{path} is in no such circle now: take it out")
            for circle in inside[1:]:
                first = min(circle & known)
                self.findings.add(self.known.path, self.known.line[first],
                                  f"{first} and {len(circle) - 1} more are a circle of their own now: put a blank line")

    def faces(self, mine):
        """The public folders whose headers a folder sees: those it may include, and what these include."""
        faces, more = set(), [f for f in self.layers.allowed if self.layers.lets(mine, f)]
        while more:
            face = more.pop()
            if face.endswith("/include") and face not in faces:
                faces.add(face)
                more += self.layers.allowed[face]
        return faces

    def declared(self):
        """{name: the public folders that declare it}; a name that a macro makes is known by its first part."""
        found = defaultdict(set)
        for path in source_tree.files(self.root, ".h"):
            folder = self.layers.folder_of(path)
            if folder and folder.endswith("/include"):
                for match in PUBLIC.finditer(source_tree.code_only(source_tree.read(self.root, path))):
                    found[re.sub(r"\s", "", match[0])].add(folder)
        return found

    def check_folders(self):
        """Arrows the table does not allow; and no circle of folders, whatever public headers allow."""
        declared, graph = self.declared(), defaultdict(dict)
        made = {name[:-2]: folders for name, folders in declared.items() if name.endswith("##")}

        def hidden(name, faces):
            folders = declared.get(name) or set().union(*(f for m, f in made.items() if name.startswith(m)))
            return not folders & faces

        for path, others in self.calls.needs.items():
            mine = self.layers.folder_of(path)
            for other, names in others.items():
                theirs = self.layers.folder_of(other)
                if mine is None or theirs is None or mine == theirs:
                    continue
                graph[mine].setdefault(theirs, (path, other, min(names)))
                wrong = {n for n in names if hidden(n, self.faces(mine))}
                if wrong and not self.layers.lets(mine, theirs):
                    self.findings.add(path, self.line_of(path, min(wrong)),
                                      f"{mine} may not need {theirs}: {other} for {ties(wrong)}")
        for circle in check_layers.circles(graph):
            for mine, theirs in zip(circle, circle[1:]):
                path, other, name = graph[mine][theirs]
                self.findings.add(path, self.line_of(path, name), f"circle of folders {' -> '.join(circle)}: "
                                  f"needs {other} for {name}")

    def summary(self):
        lines = {p: source_tree.read(self.root, p).count("\n") for p in self.calls.needs}
        inside = set().union(*self.circles)
        share = 100 * sum(lines[p] for p in inside) / max(1, sum(lines.values()))
        sizes = ", ".join(str(len(c)) for c in self.circles) or "none"
        return (f"{len(lines)} files, {self.calls.arrows()} arrows, circles of {sizes}: "
                f"{100 * len(inside) / len(lines):.0f} % of the files, {share:.0f} % of the lines")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--circles")
    options.add_argument("--list", action="store_true")
    options.add_argument("build")
    options.add_argument("root", nargs="?", default=".")
    options = options.parse_args()
    sys.setrecursionlimit(100000)

    root = source_tree.checkout(options.root)
    beside = os.path.join(root, "tests", "architecture")
    try:
        objects = compiled(options.build, root)
        calls = Calls(objects, read_symbols(sorted(objects.values())))
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    known = Known(options.circles or os.path.join(beside, "circles.txt"), root)
    checker = Checker(root, check_layers.Layers(os.path.join(beside, "layers.txt"), root), calls, known)
    if options.list:
        print("\n\n".join("\n".join(sorted(circle)) for circle in checker.circles))
        return 0
    checker.check_files()
    checker.check_list()
    checker.check_folders()
    return checker.findings.finish(checker.summary())


if __name__ == "__main__":
    sys.exit(main())
