#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a call, a call of 100 KiB, a death with an open call and an upgrade go: the rooms that they pass,
and whether a lower room calls a higher one other than through an interface.

usage: trace_calls.py BUILD [ROOT]

    cmake --preset dev -B build/trace -DRAPAHUB_FUNCTION_TRACE=ON
    cmake --build build/trace --target trace_scenario
    tests/architecture/trace_calls.py build/trace

Each function of both libraries records its entry, in the host and in its guests. A call goes up when
layers.txt does not let the folder of the caller include that of the function. It goes through an
interface when its line calls a member of a struct that function_pointers.py knows. Prints a row for
each of the four, and the other calls that go up as `path:line: text`; exit 1 if there are any, 2 for
a wrong command line or a BUILD without the option. Needs addr2line.
"""
import argparse
import bisect
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter

import check_layers
import function_pointers
import source_tree

SCENES = (("call", "a call"), ("large", "a call of 100 KiB"), ("death", "a death with an open call"),
          ("upgrade", "an upgrade"))
ENTRY = struct.Struct("=QQQ")
LINES_OF_A_CALL = 4  # a call may be written on several lines


class Mappings:
    """Which file an address of one process belongs to, and where in it."""

    def __init__(self, path):
        self.starts, self.files = [], []
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split(None, 5)
                if len(words) == 6 and words[5].startswith("/"):
                    start, end = (int(x, 16) for x in words[0].split("-"))
                    self.starts.append(start)
                    self.files.append((end, start - int(words[2], 16), words[5].strip()))

    def find(self, address):
        """(file, address in it) or None"""
        at = bisect.bisect(self.starts, address) - 1
        if at < 0 or address >= self.files[at][0]:
            return None
        return self.files[at][2], address - self.files[at][1]


class Places:
    """The function, file and line of an address, from what the compiler wrote for debuggers."""

    def __init__(self, root):
        self.root, self.known = os.path.realpath(root), {}

    def learn(self, places):
        """places: (file, address in it) of all that is asked for later."""
        for binary in {place[0] for place in places}:
            wanted = sorted({address for file, address in places if file == binary})
            told = subprocess.run(["addr2line", "-f", "-e", binary], input="\n".join(map(hex, wanted)),
                                  capture_output=True, text=True, check=True).stdout.split("\n")
            for number, address in enumerate(wanted):
                path, _, line = told[2 * number + 1].partition(":")
                path = os.path.relpath(os.path.realpath(path), self.root)
                line = re.match(r"\d+", line)
                self.known[binary, address] = (told[2 * number], path, int(line[0]) if line else 0)

    def of(self, place):
        """(function, path, line), or None where it is not of this checkout."""
        name, path, line = self.known.get(place, ("", "..", 0))
        return None if path.startswith("..") else (name, path, line)


def record(build, scene):
    """(function, site) as places in files, of each entry while the scene went on."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.join(build, "tests", "trace_scenario"), scene], capture_output=True, text=True,
                              env={**os.environ, "FUNCTION_TRACE": folder})
        if done.returncode != 0:
            sys.exit(f"{scene}: {done.stderr}")
        begin, end = map(int, done.stdout.split())
        found = []
        for path in sorted(glob.glob(os.path.join(folder, "*.trace"))):
            mappings = Mappings(path.replace(".trace", ".maps"))
            with open(path, "rb") as file:
                entries = [e for e in ENTRY.iter_unpack(file.read()) if begin <= e[0] <= end]
            pairs = Counter((function, site - 1) for _, function, site in entries)
            for (function, site), count in pairs.items():
                found.append((mappings.find(function), mappings.find(site), count))
        return [f for f in found if f[0]]


class Judge:
    def __init__(self, root, findings):
        self.root, self.findings = root, findings
        self.layers = check_layers.Layers(os.path.join(root, "tests/architecture/layers.txt"), root)
        members = {name for i in function_pointers.Pointers(root).interfaces if i.kind for _, name in i.members}
        self.through = re.compile(rf"(?:->|\.)(?:{'|'.join(sorted(members))})\)?\(")
        self.texts = {}

    def is_interface(self, path, line):
        if path not in self.texts:
            self.texts[path] = source_tree.code_only(source_tree.read(self.root, path)).split("\n")
        around = self.texts[path][max(0, line - LINES_OF_A_CALL):line + LINES_OF_A_CALL - 1]
        return bool(self.through.search("\n".join(around)))

    def goes_up(self, caller, function):
        mine, theirs = self.layers.folder_of(caller[1]), self.layers.folder_of(function[1])
        if mine is None or theirs is None or self.layers.lets(mine, theirs) or function[0].startswith("rapahub_"):
            return False
        return True

    def judge(self, scene, places, recorded):
        """A row of the table."""
        rooms, up, wrong, functions = set(), 0, 0, set()
        for function_at, site_at, count in recorded:
            function, caller = places.of(function_at), places.of(site_at)
            if not function:
                continue
            functions.add(function[:2])
            rooms.add(self.layers.folder_of(function[1]))
            if not caller or not self.goes_up(caller, function):
                continue
            if self.is_interface(caller[1], caller[2]):
                up += count
            else:
                wrong += count
                self.findings.add(caller[1], caller[2], f"{scene}: {caller[0]} calls {function[0]} of {function[1]}, "
                                  "which is above it, through no interface")
        rooms.discard(None)
        for side in {"host", "guest-sdk"} - rooms:
            self.findings.add("tests/architecture/function_trace.c", 1, f"{scene}: nothing of {side} was recorded")
        print(f"| {scene} | {len(functions)} | {len(rooms)} | {' '.join(sorted(rooms))} | {up} | {wrong} |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build")
    options.add_argument("root", nargs="?", default=".")
    options = options.parse_args()
    root, findings = source_tree.checkout(options.root), source_tree.Findings()
    if not os.path.exists(os.path.join(options.build, "tests", "trace_scenario")):
        print(f"{options.build} has no tests/trace_scenario: configure it with -DRAPAHUB_FUNCTION_TRACE=ON", file=sys.stderr)
        return 2
    judge, places = Judge(root, findings), Places(root)
    print("| what | functions | rooms | | calls up through an interface | others |\n| --- | --- | --- | --- | --- | --- |")
    for scene, text in SCENES:
        recorded = record(options.build, scene)
        places.learn({place for function, site, _ in recorded for place in (function, site) if place})
        judge.judge(text, places, recorded)
    return findings.finish("4 scenes")


if __name__ == "__main__":
    sys.exit(main())
