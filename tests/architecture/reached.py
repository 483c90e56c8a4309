# SPDX-License-Identifier: Apache-2.0
"""Which functions of the product some entry point of the product reaches, by the names their code uses.

Entry points are the public functions (rapahub_...), main, and each name that stands outside of a
function: in an initializer or a macro. A function that only a test calls is not reached. Needs
universal-ctags.
"""
import re

import c_functions
import source_tree

ROOMS = ("hub/", "host/", "guest-sdk/", "chimods/", "cluster/")
# Functions that are whole and tested, and that the next slice of the cluster calls. One that is reached by
# now is to be taken from here.
LATER = {
    "cluster_metastore_compact": "of an end that does not forget by itself, as SQLite's does",
    "cluster_seat_server_rule_name": "the figures of a node",
    "cluster_connection_silent_since": "PING of a link that is not of this machine",
    "cluster_clients_broken": "the figures of a node",
}
WORD = re.compile(r"[A-Za-z_]\w*")
DECLARATION = re.compile(r"^[A-Za-z_][^\n;={}#]*?\b\w+\([^;{}]*\)[^;{}=]*;", re.M)
ENTRY_POINT = re.compile(r"rapahub_\w+|main")
PASTED = re.compile(r"(\w+_)##\w|\w##(_\w+)")


class Product:
    """The words of the body of each function, and which functions are reached."""

    def __init__(self, root):
        paths = [path for path in source_tree.files(root, ".c", ".h") if path.startswith(ROOMS)]
        self.bodies = {}  # (path, name): the words of its body
        self.lines = {}
        self.homes = {}  # a name that other files may use: the paths that define it
        self.before, self.after = {""}, {""}  # what macros paste to a name
        in_file = {}
        for function in c_functions.functions(root, paths):
            in_file.setdefault(function.path, []).append(function)
        outside = set()  # (path, word)
        for path in paths:
            code = source_tree.code_only(source_tree.read(root, path))
            outside |= {(path, word) for word in self.read(path, code, in_file.get(path, []))}
        self.meanings = self.find_meanings()
        entries = {key for key in self.bodies if ENTRY_POINT.fullmatch(key[1])}
        self.reached = self.follow(entries | outside)
        later = {key for key in self.bodies if key[1] in LATER}
        self.late = sorted(later & self.reached)  # called by now, and yet in the list
        self.reached |= self.follow(later)

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

    def find_meanings(self):
        """{word: the names of functions that it is, or is the part of to which macros paste the rest}"""
        meanings = {}
        for name in {name for _, name in self.bodies}:
            for before in filter(name.startswith, self.before):
                for after in filter(name.endswith, self.after):
                    if len(before) + len(after) < len(name):
                        meanings.setdefault(name[len(before):len(name) - len(after)], set()).add(name)
        return meanings

    def meant(self, path, word):
        """The functions that a word in this file may mean, or be a part of the name of."""
        for name in self.meanings.get(word, ()):
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
