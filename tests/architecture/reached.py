# SPDX-License-Identifier: Apache-2.0
"""Which functions of the product some entry point of the product reaches, by the names their code uses.

Entry points are the public functions (rapahub_...), main, and each name that stands outside of a
function: in an initializer or a macro. A function that only a test calls is not reached. A room that
is built from below, whose programs are not there yet, is asked for less: with `begun` each function
of it that is not static is an entry point. Needs universal-ctags.
"""
import re

import c_functions
import source_tree

ROOMS = ("hub/", "host/", "guest-sdk/", "chimods/", "cluster/")
BEGUN = ("cluster/",)  # until cluster/daemon is there
WORD = re.compile(r"[A-Za-z_]\w*")
DECLARATION = re.compile(r"^[A-Za-z_][^\n;={}#]*?\b\w+\([^;{}]*\)[^;{}=]*;", re.M)
ENTRY_POINT = re.compile(r"rapahub_\w+|main")
PASTED = re.compile(r"(\w+_)##\w|\w##(_\w+)")


class Product:
    """The words of the body of each function, and which functions are reached."""

    def __init__(self, root, begun=False):
        paths = [path for path in source_tree.files(root, ".c", ".h") if path.startswith(ROOMS)]
        self.bodies = {}  # (path, name): the words of its body
        self.lines = {}
        self.homes = {}  # a name that other files may use: the paths that define it
        self.before, self.after = {""}, {""}  # what macros paste to a name
        in_file = {}
        for function in c_functions.functions(root, paths):
            in_file.setdefault(function.path, []).append(function)
        shared = {(f.path, f.name) for functions in in_file.values() for f in functions if not f.static}
        outside = set()  # (path, word)
        for path in paths:
            code = source_tree.code_only(source_tree.read(root, path))
            outside |= {(path, word) for word in self.read(path, code, in_file.get(path, []))}
        entries = {key for key in self.bodies if ENTRY_POINT.fullmatch(key[1])}
        if begun:
            entries |= {key for key in shared if key[0].startswith(BEGUN)}
        self.reached = self.follow(entries | outside)

    def read(self, path, code, functions):
        """Notes the functions of a file; the words that stand outside of them."""
        for match in PASTED.finditer(code):
            self.before.add(match[1] or "")
            self.after.add(match[2] or "")
        lines = code.split("\n")
        for function in functions:
            key, body = (path, function.name), "\n".join(lines[function.line - 1:function.end])
            self.bodies.setdefault(key, set()).update(WORD.findall(body[body.find("\n{"):]))
            self.lines[key] = function.line
            if path.endswith(".h") or not function.static:
                self.homes.setdefault(function.name, []).append(path)
        for function in functions:
            lines[function.line - 1:function.end] = [""] * function.length
        return set(WORD.findall(DECLARATION.sub("", "\n".join(lines))))

    def meant(self, path, word):
        """The functions that a word in this file may mean, or be a part of the name of."""
        for name in {before + word + after for before in self.before for after in self.after}:
            if (path, name) in self.bodies:
                yield path, name
            else:
                yield from ((home, name) for home in self.homes.get(name, ()))

    def follow(self, words):
        reached, todo = set(), [key for place in words for key in self.meant(*place)]
        while todo:
            key = todo.pop()
            if key not in reached:
                reached.add(key)
                todo += [other for word in self.bodies[key] for other in self.meant(key[0], word)]
        return reached

    def unreached(self):
        """(path, line, name) of each function that nothing of the product reaches."""
        return sorted((path, self.lines[path, name], name) for path, name in set(self.bodies) - self.reached)
