#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when comments are written in other words than their readers', or a name in an old one.

usage: check_words.py [--table | --above] [ROOT]

Comments: in each C file of the product at most 5 % of the sentences begin with an anaphor (what, of,
who, ...: the reader learns only later what they are about), at most 2 in 1,000 say "behind", at most
3 in 1,000 nobody, somebody or whoever. A sentence ends at a full stop, a question mark, or the end of
its comment. Files that were written before are listed in words.txt, which can only become shorter: a
file in it that holds the limits is a finding.

Names: vocabulary.txt holds each old word, the term of docs/glossary.md that replaced it, and `left`
while names still bear the old word. No name of a file of the product or of a unit test, and no prefix
of a function, has an old word that is not `left`; a `left` word that no name bears is a finding.

--table prints the figures of each folder, --above the files above the limits, in the form of words.txt.
Findings are printed as `path:line: text`; exit 1 if there are any, 2 for a wrong command line.
"""
import argparse
import os
import re
import sys
from collections import defaultdict

import c_functions
import source_tree

ROOMS = ("hub/", "host/", "guest-sdk/", "chimods/", "cluster/", "examples/")
ANAPHORS = set("what whatever who whoever whom whose of one ones those as behind nobody somebody".split())
LISTED, VOCABULARY, GLOSSARY = "tests/architecture/words.txt", "tests/architecture/vocabulary.txt", "docs/glossary.md"

COMMENT = re.compile(r"//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
FRAME = re.compile(r"^[ \t]*(?://+|/?\*+/?)|\*/$", re.M)
MARK = re.compile(r"r\[[^\]]*\]|SPDX-License-Identifier: \S+")
SENTENCE = re.compile(r"\S.*?(?:[.!?](?=[\s\"')]|$)|$)", re.S)
WORD = re.compile(r"[A-Za-z]+")


class Measure:
    """One thing that is counted among sentences."""

    def __init__(self, name, most, counted):
        self.name, self.most, self.counted = name, most, counted


def counter_of(words):
    pattern = re.compile(rf"\b(?:{words})\b", re.I)
    return lambda sentence: len(pattern.findall(sentence))


def begins_with_anaphor(sentence):
    first = WORD.search(sentence)
    return bool(first) and first[0].lower() in ANAPHORS


MEASURES = (
    Measure("begins with an anaphor", 0.05, begins_with_anaphor),
    Measure("says behind", 0.002, counter_of("behind")),
    Measure("says nobody, somebody or whoever", 0.003, counter_of("nobody|somebody|whoever")),
)


def sentences(text):
    """(position, sentence) of each sentence in the comments of a C text."""
    for comment in COMMENT.finditer(text):
        if comment[0][0] != "/":
            continue
        plain = FRAME.sub(lambda m: source_tree.blank(m[0]), comment[0])
        plain = MARK.sub(lambda m: source_tree.blank(m[0]), plain)
        for sentence in SENTENCE.finditer(plain):
            if re.search(r"[A-Za-z]{2}", sentence[0]):
                yield comment.start() + sentence.start(), " ".join(sentence[0].split())


class Text:
    """The sentences of one file, and those that each measure counts."""

    def __init__(self, root, path):
        text = source_tree.read(root, path)
        self.path, self.count = path, 0
        self.met = {measure: [] for measure in MEASURES}  # (line, sentence), once for each time it is counted
        for position, sentence in sentences(text):
            self.count += 1
            for measure in MEASURES:
                self.met[measure] += [(source_tree.line_at(text, position), sentence)] * measure.counted(sentence)

    def above(self):
        """The measures whose limit it exceeds."""
        return [measure for measure in MEASURES if len(self.met[measure]) > measure.most * self.count]


def entries(root, path):
    """(line, words) of each line of a list that is no comment."""
    if os.path.isfile(os.path.join(root, path)):
        for line, text in enumerate(source_tree.read(root, path).split("\n"), 1):
            if text.strip() and not text.startswith("#"):
                yield line, text.split()


def check_comments(root, texts, findings):
    listed = {words[0]: line for line, words in entries(root, LISTED)}
    for text in texts:
        above = text.above()
        if text.path in listed and not above:
            findings.add(LISTED, listed[text.path], f"{text.path} holds the limits: take it out of the list")
        for measure in above if text.path not in listed else ():
            for line, sentence in text.met[measure]:
                findings.add(text.path, line, f"'{sentence[:40]}' {measure.name}, as {len(text.met[measure])} of "
                             f"{text.count} sentences; the limit is {measure.most:.1%}")
    for path in set(listed) - {text.path for text in texts}:
        findings.add(LISTED, listed[path], f"there is no {path}: take it out of the list")


class Names:
    """What the vocabulary is looked for in: parts of file names, and names of functions."""

    def __init__(self, root, paths):
        self.parts, self.functions = defaultdict(list), []
        for path in paths:
            if path.startswith(ROOMS + ("tests/unit/",)):
                base = os.path.splitext(os.path.basename(path))[0]
                for part in re.split(r"[_-]", base.removeprefix("test_")):
                    self.parts[part].append((path, 1, base))
        for function in c_functions.functions(root, [path for path in paths if path.startswith(ROOMS)]):
            self.functions.append((function.path, function.line, function.name))

    def bearing(self, old):
        """(path, line, name) of each name with the old word: a prefix of functions has an underscore."""
        if "_" not in old:
            return self.parts[old]
        return [f for f in self.functions if f[2] == old or f[2].startswith(old + "_")]


def check_names(root, paths, findings):
    vocabulary = list(entries(root, VOCABULARY))
    if not vocabulary:
        return
    names, glossary = Names(root, paths), ""
    if os.path.isfile(os.path.join(root, GLOSSARY)):
        glossary = source_tree.read(root, GLOSSARY)
    for line, (old, *term) in vocabulary:
        left = term[-1:] == ["left"]
        term = " ".join(term[:-1] if left else term)
        bearing = names.bearing(old)
        if f"**{term}**" not in glossary:
            findings.add(VOCABULARY, line, f"{GLOSSARY} has no **{term}**")
        if left and not bearing:
            findings.add(VOCABULARY, line, f"no name bears {old} any more: it is not `left`")
        for path, at, name in bearing if not left else ():
            findings.add(path, at, f"{name}: '{old}' is now '{term}'")


def print_table(texts):
    folders, faces = defaultdict(list), [text for text in texts if "/include/" in text.path]
    for text in texts:
        folders[os.path.dirname(text.path)].append(text)
    print("| folder | files | above a limit | sentences | begin with an anaphor | behind | nobody, somebody, whoever |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for folder, inside in [*sorted(folders.items()), ("public headers", faces), ("all", texts)]:
        count = max(1, sum(text.count for text in inside))
        shares = [sum(len(text.met[measure]) for text in inside) / count for measure in MEASURES]
        print(f"| {folder} | {len(inside)} | {sum(bool(text.above()) for text in inside)} | {count} | {shares[0]:.1%} | "
              f"{1000 * shares[1]:.1f} | {1000 * shares[2]:.1f} |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("root", nargs="?", default=".")
    options.add_argument("--table", action="store_true")
    options.add_argument("--above", action="store_true")
    options = options.parse_args()

    root, findings = source_tree.checkout(options.root), source_tree.Findings()
    paths = source_tree.files(root, ".c", ".h")
    texts = [Text(root, path) for path in paths if path.startswith(ROOMS)]
    check_comments(root, texts, findings)
    check_names(root, paths, findings)
    if options.table:
        print_table(texts)
    if options.above:
        print(*(text.path for text in texts if text.above()), sep="\n")
        return 0
    return findings.finish(f"{len(texts)} files, {sum(bool(t.above()) for t in texts)} above a limit",
                           sys.stderr if options.table else sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
