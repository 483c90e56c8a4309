#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when source files need each other in a circle, or a folder that layers.txt keeps from them: by symbols.

usage: check_calls.py [--pointers] BUILD [ROOT]

An #include says what a file may use, its object says what it does use: A needs B where the object of
A leaves a name open which that of B defines, be it called, its address taken, or data. All that BUILD
compiles of ROOT is read, but tests. A folder may need those which it may include, and what their
public headers declare.

What an object does not tell is a pointer that is set while the program runs. A struct with members that
point to functions is a constant table, a table of hooks, a public struct, or stands in interfaces.txt.
--pointers prints the members of the last two.

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
import function_pointers
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


def ties(names):
    """Enough of them to start looking."""
    first = sorted(names)[:3]
    return ", ".join(first) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class Checker:
    def __init__(self, root, layers, calls, pointers):
        self.root, self.layers, self.calls, self.pointers = root, layers, calls, pointers
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
            for path in sorted(circle):
                for other in sorted(circle & set(self.calls.needs[path])):
                    names = self.calls.needs[path][other]
                    self.findings.add(path, self.line_of(path, min(names)),
                                      f"in a circle of {len(circle)} files: needs {other} for {ties(names)}")

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
        sizes = ", ".join(str(len(c)) for c in self.circles) or "none"
        return (f"{len(self.calls.needs)} files, {self.calls.arrows()} arrows, circles: {sizes}; {self.pointers.count()} members "
                "point to functions")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build")
    options.add_argument("root", nargs="?", default=".")
    options.add_argument("--pointers", action="store_true")
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
    layers = check_layers.Layers(os.path.join(beside, "layers.txt"), root)
    checker = Checker(root, layers, calls, function_pointers.Pointers(root))
    checker.check_files()
    checker.check_folders()
    checker.pointers.check(checker.findings)
    if options.pointers:
        checker.pointers.table()
    return checker.findings.finish(checker.summary(), sys.stderr if options.pointers else sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
