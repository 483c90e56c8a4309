# SPDX-License-Identifier: Apache-2.0
"""The members of structs that point to functions, and which kind of interface each struct is.

No object tells who calls through a pointer that is set while the program runs. So structs that hold
one are counted: constant tables, whose entries the object does tell; tables of hooks; the public
options; and those that interfaces.txt lists. Needs universal-ctags.
"""
import os
import re
import subprocess

import source_tree

ROOMS = ("hub/", "host/", "guest-sdk/", "chimods/", "cluster/")
LIST = "tests/architecture/interfaces.txt"
HOOKS = re.compile(r"(?:^|_)hooks(?:_|$)")
FUNCTION = re.compile(r"\(\s*\*|\)\s*\(")


def tags(root, paths, kinds):
    """(name, path, line, {field: value}) of each tag of these kinds."""
    listed = subprocess.run(["ctags", f"--c-kinds={kinds}", "--fields=nst", "--language-force=C", "--sort=no",
                             "--output-format=u-ctags", "-f", "-", "-L", "-"],
                            input="\n".join(paths), capture_output=True, text=True, check=True, cwd=root)
    for text in listed.stdout.splitlines():
        if not text.startswith("!"):
            name, path, _, *fields = text.split("\t")
            fields = dict(field.split(":", 1) for field in fields if ":" in field)
            yield name, path, int(fields["line"]), fields


class Interface:
    """A struct with members that point to functions."""

    def __init__(self, name, path):
        self.name, self.path, self.members = name, path, []  # (line, name of the member)
        self.kind = "public" if "/include/" in path else None


class Pointers:
    def __init__(self, root):
        self.root = root
        self.paths = [path for path in source_tree.files(root, ".c", ".h") if path.startswith(ROOMS)]
        self.texts = {path: source_tree.code_only(source_tree.read(root, path)) for path in self.paths}
        self.listed = self.read_list()
        self.interfaces = self.find()
        self.classify()

    def read_list(self):
        """{struct: line of the list}"""
        if not os.path.isfile(os.path.join(self.root, LIST)):
            return {}
        lines = enumerate(source_tree.read(self.root, LIST).split("\n"), 1)
        return {text.split()[0]: line for line, text in lines if text.strip() and not text.startswith("#")}

    def find(self):
        if not self.paths:
            return []
        types = [name for name, *_, fields in tags(self.root, self.paths, "t") if FUNCTION.search(fields.get("typeref", ""))
                 or re.search(rf"\b{re.escape(name)}\s*\(", self.texts_of_typedefs())]
        named = re.compile(rf"\b(?:{'|'.join(map(re.escape, types))})\b") if types else None
        found = {}
        for name, path, line, fields in tags(self.root, self.paths, "m"):
            typeref = fields.get("typeref", "")
            if not (FUNCTION.search(typeref) or named and named.search(typeref)):
                continue
            struct = (fields.get("struct") or fields.get("union")).split("::")[-1]
            struct = path if struct.startswith("__anon") else struct
            found.setdefault((struct, path), Interface(struct, path)).members.append((line, name))
        return [found[key] for key in sorted(found)]

    def texts_of_typedefs(self):
        """All typedefs, as one text."""
        return "\n".join(m[0] for text in self.texts.values() for m in re.finditer(r"^typedef\b[^;{}]*;", text, re.M))

    def is_constant(self, interface):
        """All that has this type is a constant of a file, as the entries of a table are."""
        name = interface.name
        where = re.compile(rf"^(static |extern )?(const )?struct {name}( \w+(\[[^\]]*\])*\s*[=;,]| \{{)|"
                           rf"^[^\S\n]+(static )?(const )?struct {name} \w+(\[[^\]]*\])*\s*[=;,]", re.M)
        if name == interface.path:  # without a name
            return "const struct {" in self.texts[name]
        found = [m for text in self.texts.values() for m in where.finditer(text)]
        made = [m for m in found if not m[0].startswith(f"struct {name} {{")]  # but for the definition of the type
        return bool(made) and all(bool(m[2]) or bool(m[5] and m[6]) for m in made)

    def classify(self):
        for interface in self.interfaces:
            if HOOKS.search(interface.name):
                interface.kind = "hooks"
            elif interface.name in self.listed:
                interface.kind = "listed"
            elif not interface.kind and self.is_constant(interface):
                interface.kind = "constant"

    def check(self, findings):
        for interface in self.interfaces:
            for line, member in interface.members if not interface.kind else ():
                findings.add(interface.path, line, f"struct {interface.name}: {member} points to a function that is set while "
                             f"the program runs: use an interface of {LIST}")
        for name in set(self.listed) - {interface.name for interface in self.interfaces if interface.kind == "listed"}:
            findings.add(LIST, self.listed[name], f"no struct {name} needs to be listed: take it out of the list")

    def count(self):
        return sum(len(interface.members) for interface in self.interfaces if interface.kind == "listed")

    def table(self):
        """Markdown: those outside of constant tables and of tables of hooks."""
        print("| struct | file | members that point to functions | kind |\n| --- | --- | --- | --- |")
        for interface in self.interfaces:
            if interface.kind not in ("constant", "hooks"):
                members = ", ".join(name for _, name in interface.members)
                print(f"| {interface.name} | {interface.path} | {members} | {interface.kind or 'unknown'} |")
