#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a term of the glossary lead to the code? For each line of behaviours.txt it looks for the one file
whose name has the term and which defines the function.

usage: find_behaviours.py [ROOT]

While vocabulary.txt says that an old word is `left`, a file with that word is looked at too. Prints a
line for each behaviour; exit 1 if more than one of ten leads nowhere, 2 for a wrong command line.
Needs universal-ctags.
"""
import argparse
import os
import sys

import c_functions
import check_functions
import check_words
import source_tree

BEHAVIOURS = "tests/architecture/behaviours.txt"


def words_of(text):
    """As they are compared: a plural is the same word."""
    return [word.lower().rstrip("s") for word in text.replace("-", " ").replace("_", " ").split()]


def has(path, words):
    base = words_of(os.path.splitext(os.path.basename(path))[0])
    return any(base[at:at + len(words)] == words for at in range(len(base)))


def old_words(root):
    """{term: the old words that names of it still bear}"""
    found = {}
    for _, (old, *term) in check_words.entries(root, check_words.VOCABULARY):
        if term[-1] == "left":
            found.setdefault(" ".join(term[:-1]), []).append(old)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("root", nargs="?", default=".")
    root = source_tree.checkout(options.parse_args().root)
    paths = [path for path in source_tree.files(root, ".c") if path.startswith(check_words.ROOMS)]
    defined = {(function.path, function.name) for function in c_functions.functions(root, paths)}
    glossary, left = source_tree.read(root, check_words.GLOSSARY), old_words(root)
    count, good = 0, 0
    for line in source_tree.read(root, BEHAVIOURS).split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        behaviour, term, verb = (part.strip() for part in line.split("|"))
        names = [words_of(name) for name in [term, *left.get(term, [])]]
        found = [path for path in paths if any(has(path, words) for words in names)
                 and (path, f"{check_functions.prefix_of(path)}_{verb}") in defined]
        count += 1
        good += len(found) == 1 and f"**{term}**" in glossary
        print(f"{behaviour}: {term}: {', '.join(found) or 'no file'}")
    print(f"{good} of {count} lead to one file")
    return int(10 * good < 9 * count)


if __name__ == "__main__":
    sys.exit(main())
