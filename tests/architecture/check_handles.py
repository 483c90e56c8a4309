#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the functions of host/exported.map that take a host or something of one, and fails on one that
tests/integration/test_forked.c does not call in a forked child.

usage: check_handles.py [--list] [ROOT]
Findings are printed as `path:line: text`; exit 1 if there are any, 2 for a wrong command line.
"""
import argparse
import fnmatch
import os
import re
import sys

import source_tree

MAP = "host/exported.map"
TEST = "tests/integration/test_forked.c"
FACES = ("hub/include/rapahub/", "host/include/rapahub/")
FUNCTION = re.compile(r"RAPAHUB_API(?:_CHECKED)?\s+(?!extern)[\w\s*]*?\b(rapahub_\w+)\s*\(([^;]*)\)\s*;")
# Streams are of the process itself: they know no host.
HANDLE = re.compile(r"\bstruct rapahub_(?:host|supervisor|observer|control) \*(?!\*)")


def exported(root):
    """The patterns that the version script makes visible."""
    text = source_tree.code_only(source_tree.read(root, MAP))
    return re.findall(r"([\w*]+);", text[text.index("global:"):text.index("local:")])


def takers(root):
    """Name to its place in the headers, of the functions that are visible and take a handle."""
    patterns = exported(root)
    found = {}
    for path in source_tree.files(root, ".h"):
        if not path.startswith(FACES):
            continue
        code = source_tree.code_only(source_tree.read(root, path))
        for match in FUNCTION.finditer(code):
            seen = any(fnmatch.fnmatchcase(match[1], pattern) for pattern in patterns)
            if seen and HANDLE.search(match[2]):
                found[match[1]] = (path, source_tree.line_at(code, match.start()))
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--list", action="store_true", help="print them, one a line")
    options.add_argument("root", nargs="?", default=".")
    options = options.parse_args()
    root = source_tree.checkout(options.root)
    findings = source_tree.Findings()
    found = takers(root)
    tried = set(re.findall(r"\bENTRY\((rapahub_\w+)\)", source_tree.read(root, TEST)))
    for name, (path, line) in sorted(found.items()):
        if options.list:
            print(name)
        if name not in tried:
            findings.add(path, line, f"{TEST} does not call {name} in a forked child")
    return findings.finish(f"{len(found)} functions")


if __name__ == "__main__":
    sys.exit(main())
