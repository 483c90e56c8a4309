#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on what no man page names: a public function without a page of section 3, a command or an
option without one of section 1.

usage: check_man.py [--program PATH] [ROOT]

With --program the table of commands is asked of `PATH help --json`; without it only its names are
taken from host/cli/commands.c. Findings are printed as `path:line: text`; exit 1 if there are any,
2 for a wrong command line.
"""
import argparse
import json
import os
import re
import subprocess
import sys

import source_tree

FACES = ("hub/include/rapahub/", "host/include/rapahub/", "guest-sdk/include/rapahub/", "cluster/include/rapahub/")
FUNCTION = re.compile(r"RAPAHUB_API(?:_CHECKED)?\s+(?!extern)[\w\s*]*?\b(rapahub_\w+)\s*\(")
COMMAND = re.compile(r'COMMAND\(\s*"(\w+)",')


def pages(root, section):
    """Page name to its text, of the sources in docs/man."""
    suffix = f".{section}.scd"
    return {os.path.basename(p)[:-len(suffix)]: source_tree.read(root, p)
            for p in source_tree.files(root, suffix) if p.startswith("docs/man/")}


def check_functions(root, findings):
    manual = "\n".join(pages(root, 3).values())
    count = 0
    for path in source_tree.files(root, ".h"):
        if not path.startswith(FACES):
            continue
        code = source_tree.code_only(source_tree.read(root, path))
        for match in FUNCTION.finditer(code):
            count += 1
            if not re.search(rf"\b{match[1]}\b", manual):
                findings.add(path, source_tree.line_at(code, match.start()), f"no page of section 3 names {match[1]}")
    return count


def check_page_of_command(name, section1, findings):
    name = name.replace(" ", "-")
    page = section1.get(f"rapahub-{name}")
    if page is None:
        findings.add("docs/man", 1, f"there is no rapahub-{name}.1.scd")
    elif "@TABLE@" not in page:
        findings.add(f"docs/man/rapahub-{name}.1.scd", 1, "lacks @TABLE@, where its options go")
    if f"rapahub-{name}*(1)" not in section1.get("rapahub", ""):
        findings.add("docs/man/rapahub.1.scd", 1, f"does not name rapahub-{name}(1)")


def check_options(program, commands, findings):
    """What the program puts at @TABLE@ names every option."""
    for command in commands:
        part = subprocess.run([program, "__manual", command["name"]], capture_output=True, text=True, check=True).stdout
        for option in command["options"]:
            if "--" + option["name"] not in part.replace("\\", ""):
                findings.add("host/cli/command/help.c", 1, f"the page of {command['name']} lacks --{option['name']}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("root", nargs="?", default=".")
    options.add_argument("--program")
    options = options.parse_args()
    root, findings = source_tree.checkout(options.root), source_tree.Findings()
    functions = check_functions(root, findings)
    section1 = pages(root, 1)
    if options.program:
        text = subprocess.run([options.program, "help", "--json"], capture_output=True, text=True, check=True).stdout
        commands = json.loads(text)["commands"]
        names = [c["name"] for c in commands]
        check_options(options.program, commands, findings)
    else:
        names = COMMAND.findall(source_tree.read(root, "host/cli/commands.c"))
        names = [n for n in names if not n.startswith("__")]
    for name in names:
        check_page_of_command(name, section1, findings)
    if not functions or not names:
        findings.add("docs/man", 1, "found no function or no command to check: the checker looks at the wrong place")
    return findings.finish(f"{functions} functions, {len(names)} commands")


if __name__ == "__main__":
    sys.exit(main())
