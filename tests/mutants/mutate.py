# SPDX-License-Identifier: Apache-2.0
"""Places mutants in the functions of a tree of C sources, by its syntax tree, all of them at once.

Each becomes an expression or a statement that asks rapahub_mutant(NUMBER) which of two ways to go. The operators:

  relational  < and <=, > and >=, == and !=, && and || for each other
  constant    n + 1 for n of at most 16, else 0; also constants with a name; -1 for a 0 that a function returns, since
              what is below 0 is a failure and most who call ask only for that
  statement   a statement that is an expression is left out
  branch      the condition of `if` and `?:` is turned round
  order       publish for note, observe for peek, and in hub/base/atomic.h relaxed for any other order

Left alone: what only hints or logs, or does nothing (HINTS), what a macro writes, constants that the compiler has to know, and < for
<= in `a < b ? a : b`, the lesser or the greater of two, which are the same where they are equal, and the 1 of
calloc(1, size), for nobody reaches the second half of twice the memory.
"""
import bisect
import collections
import os
import re
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # where Debian has them, for a python of another place
from clang import cindex  # noqa: E402
from clang.cindex import CursorKind as Kind  # noqa: E402

ROOMS = ("hub/", "host/", "guest-sdk/")
HINTS = {"rapahub_log", "va_end", "hub_mutex_fini", "hub_pause", "hub_foresee", "hub_wait_gap", "hub_streaming_copy_foresee", "__builtin_prefetch", "sched_yield"}
OPPOSITE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
WEAKER = {"hub_publish": "hub_store_relaxed", "hub_publish64": "hub_store_relaxed64", "hub_observe": "hub_load_relaxed", "hub_observe64": "hub_load_relaxed64"}
NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*|U?INT(?:8|16|32|64)_C\((?:0[xX][0-9a-fA-F]+|\d+)\)|[A-Z][A-Z0-9_]{2,}|__ATOMIC_[A-Z_]+")
BELOW = re.compile(r"-\d+")
ORDER = re.compile(r"__ATOMIC_(?:ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)")
MACRO = re.compile(r"(?:[A-Z_0-9]+|pthread_cleanup_\w+)\s*\(.*\)", re.S)
UNNAMED = re.compile(r"NULL|UINT\d+_MAX|INT\d+_MAX|SIZE_MAX|CHECK|ENSURE|SYS_\w+|__\w+")  # no constants of ours
NUMBERS = {getattr(cindex.TypeKind, n) for n in "INT UINT LONG ULONG LONGLONG ULONGLONG SHORT USHORT UCHAR SCHAR".split()}

Mutant = collections.namedtuple("Mutant", "file function line operator before after source")


class Edits:
    """Insertions into one file, by byte offset. Of two around the same place the later one is the outer one."""

    def __init__(self, data):
        self.data, self.opens, self.closes, self.replaced = data, {}, {}, {}

    def wrap(self, start, end, before, after):
        self.opens.setdefault(start, []).append((end, before))
        self.closes.setdefault(end, []).append((start, after))

    def replace(self, start, end, text):
        self.replaced[start] = (end, text)

    def text(self):
        out, at = [], 0
        places = sorted(set(self.opens) | set(self.closes) | set(self.replaced))
        for place in places:
            if place < at:
                raise ValueError(f"edits overlap at {place}")
            out.append(self.data[at:place])
            at = place
            out += [text.encode() for start, text in sorted(self.closes.get(place, []), key=lambda c: -c[0])]
            out += [text.encode() for end, text in sorted(reversed(self.opens.get(place, [])), key=lambda o: -o[0])]
            if place in self.replaced:
                at, text = self.replaced[place]
                out.append(text.encode())
        return b"".join(out) + self.data[at:]


class File:
    def __init__(self, root, path):
        with open(os.path.join(root, path), "rb") as file:
            self.data = file.read()
        self.path, self.edits, self.seen = path, Edits(self.data), set()
        self.ends = [m.start() for m in re.finditer(b"\n", self.data)]

    def text(self, start, end):
        return self.data[start:end].decode(errors="replace")

    def line(self, at):
        return bisect.bisect_left(self.ends, at) + 1

    def source(self, at):
        start = self.data.rfind(b"\n", 0, at) + 1
        return " ".join(self.text(start, self.data.find(b"\n", at)).split())


class Placer:
    def __init__(self, root):
        self.root, self.files, self.mutants = root, {}, []

    def add(self, file, function, at, operator, before, after):
        self.mutants.append(Mutant(file.path, function, file.line(at), operator, " ".join(before.split()),
                                   " ".join(after.split()), file.source(at)))
        return f"rapahub_mutant({len(self.mutants)}u)"

    def unit(self, path, arguments):
        """All functions of one source, and of the headers of ours that it includes, the first time they are met."""
        parsed = cindex.Index.create().parse(path, args=arguments)
        worst = max((d.severity for d in parsed.diagnostics), default=0)
        if worst >= cindex.Diagnostic.Error:
            raise ValueError(f"{path}: {[str(d) for d in parsed.diagnostics if d.severity >= 3][0]}")
        for cursor in parsed.cursor.get_children():
            if cursor.kind == Kind.FUNCTION_DECL and cursor.is_definition() and cursor.location.file:
                name = os.path.relpath(os.path.realpath(cursor.location.file.name), self.root)
                if name.startswith(ROOMS) and "/include/" not in name:
                    self.function(name, cursor)

    def function(self, name, cursor):
        if name not in self.files:
            self.files[name] = File(self.root, name)
        file = self.files[name]
        start = cursor.extent.start.offset
        body = [c for c in cursor.get_children() if c.kind == Kind.COMPOUND_STMT]
        if start in file.seen or not body or body[0].extent.start.offset == body[0].extent.end.offset:
            return
        file.seen.add(start)
        Function(self, file, cursor.spelling).statement(body[0])

    def finish(self):
        for file in self.files.values():
            with open(os.path.join(self.root, file.path), "wb") as out:
                out.write(file.edits.text())


def span(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


def bare(cursor):
    """Through what is written nowhere: implicit casts."""
    while cursor.kind == Kind.UNEXPOSED_EXPR:
        inner = list(cursor.get_children())
        if len(inner) != 1 or span(inner[0]) != span(cursor):
            break
        cursor = inner[0]
    return cursor


class Function:
    def __init__(self, placer, file, name):
        self.placer, self.file, self.name = placer, file, name
        self.extremes = set()  # comparisons that choose the lesser or the greater of their two sides

    def add(self, at, operator, before, after):
        return self.placer.add(self.file, self.name, at, operator, before, after)

    # ---- statements ----

    def statement(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind == Kind.COMPOUND_STMT:
            for child in children:
                self.statement_in(child)
        elif cursor.kind == Kind.IF_STMT:
            self.condition(children[0])
            for child in children[1:]:
                self.statement_in(child)
        elif cursor.kind in (Kind.WHILE_STMT, Kind.SWITCH_STMT):
            self.expression(children[0])
            self.statement_in(children[-1])
        elif cursor.kind == Kind.DO_STMT:
            self.statement_in(children[0])
            self.expression(children[1])
        elif cursor.kind == Kind.FOR_STMT:
            for child in children[:-1]:
                self.statement(child) if child.kind == Kind.DECL_STMT else self.expression(child)
            self.statement_in(children[-1])
        elif cursor.kind in (Kind.CASE_STMT, Kind.DEFAULT_STMT, Kind.LABEL_STMT):
            if children:
                self.statement_in(children[-1])
        elif cursor.kind == Kind.DECL_STMT:
            for child in children:
                self.declaration(child)
        elif cursor.kind == Kind.RETURN_STMT:
            for child in children:
                self.returned(child)
        elif cursor.kind.is_expression():
            self.expression(cursor)

    def returned(self, cursor):
        inner = bare(cursor)
        start, end = span(inner)
        if self.file.text(start, end) == "0" and cursor.kind == Kind.INTEGER_LITERAL:  # of no other type than int
            call = self.add(start, "constant", "0", "-1")
            self.file.edits.replace(start, end, f"({call} ? -1 : 0)")
        else:
            self.expression(cursor)

    def statement_in(self, cursor):
        """One that may be left out where it is an expression."""
        self.statement(cursor)
        inner = bare(cursor)
        start, end = span(inner)
        if not inner.kind.is_expression() or not self.does_something(inner):
            return
        semicolon = re.compile(rb"\s*;").match(self.file.data, end)
        if not semicolon or start == end:
            return
        before = self.file.text(start, end)
        if not re.match(r"[\w(*+-]", before) or not self.is_written(start, end):
            return
        call = self.add(start, "statement", before, "")
        self.file.edits.wrap(start, semicolon.end(), f"{{ if (!{call}) ", " }")

    def does_something(self, cursor):
        if cursor.kind == Kind.CSTYLE_CAST_EXPR:
            inner = [c for c in cursor.get_children() if c.kind.is_expression()]
            return bool(inner) and bare(inner[-1]).kind == Kind.CALL_EXPR and self.does_something(bare(inner[-1]))
        if cursor.kind == Kind.CALL_EXPR:
            return cursor.spelling not in HINTS
        if cursor.kind == Kind.BINARY_OPERATOR:
            return self.operator(cursor) == "="
        return cursor.kind in (Kind.COMPOUND_ASSIGNMENT_OPERATOR, Kind.UNARY_OPERATOR)

    def declaration(self, cursor):
        if cursor.kind != Kind.VAR_DECL or cursor.storage_class == cindex.StorageClass.STATIC:
            return
        for child in cursor.get_children():
            is_size = cursor.type.kind == cindex.TypeKind.CONSTANTARRAY and child.kind != Kind.INIT_LIST_EXPR
            if child.kind.is_expression() and not is_size:
                self.expression(child)

    # ---- expressions ----

    def operator(self, cursor):
        """What stands between the two sides, if all three are written here."""
        sides = list(cursor.get_children())
        if len(sides) != 2:
            return ""
        between = self.file.text(span(sides[0])[1], span(sides[1])[0])
        return re.sub(r"/\*.*?\*/|[\s()]", "", between, flags=re.S)

    def condition(self, cursor):
        start, end = span(cursor)
        self.expression(cursor)
        is_equality = bare(cursor).kind == Kind.BINARY_OPERATOR and self.operator(bare(cursor)) in ("==", "!=")
        if start == end or not self.is_written(start, end) or is_equality:  # turned round already
            return
        before = self.file.text(start, end)
        call = self.add(start, "branch", before, f"!({before})")
        self.file.edits.wrap(start, end, f"({call} != !!(", "))")

    def is_written(self, start, end):
        """Not a macro with arguments: where these come from cannot be told."""
        return end > start and not MACRO.fullmatch(self.file.text(start, end))

    def expression(self, cursor):
        cursor = bare(cursor)
        start, end = span(cursor)
        kind = cursor.kind
        if kind in (Kind.CXX_UNARY_EXPR, Kind.STRING_LITERAL, Kind.CHARACTER_LITERAL, Kind.StmtExpr):
            return  # sizeof and the like
        if NUMBER.fullmatch(self.file.text(start, end)) and kind in (Kind.INTEGER_LITERAL, Kind.PAREN_EXPR,
                                                                     Kind.BINARY_OPERATOR, Kind.DECL_REF_EXPR,
                                                                     Kind.CSTYLE_CAST_EXPR, Kind.UNEXPOSED_EXPR):
            self.constant(cursor, start, end)
            return
        if kind == Kind.UNARY_OPERATOR and BELOW.fullmatch(self.file.text(start, end)):
            self.constant(cursor, start, end)  # the number with its sign
            return
        if kind == Kind.CALL_EXPR:
            self.call(cursor)
            return
        if kind == Kind.BINARY_OPERATOR:
            self.binary(cursor, start, end)
        children = [c for c in cursor.get_children() if c.kind.is_expression()]
        if kind == Kind.CONDITIONAL_OPERATOR and span(children[0]) == (start, end):
            return  # of a macro with arguments: all its parts lie where the macro is named
        if kind == Kind.CONDITIONAL_OPERATOR:
            self.note_extreme(*children)
            self.condition(children[0])
            children = children[1:]
        if kind == Kind.INIT_LIST_EXPR and re.fullmatch(r"\{\s*\{?0\}?.*\}", self.file.text(start, end), re.S):
            return
        for child in children:
            low, high = span(child)
            if start <= low and high <= end and (low, high) != (start, end) or kind == Kind.PAREN_EXPR:
                self.expression(child)

    def note_extreme(self, condition, chosen, other):
        comparison = bare(condition)
        if comparison.kind == Kind.BINARY_OPERATOR and self.operator(comparison) in ("<", "<=", ">", ">="):
            if sorted(map(self.plain, comparison.get_children())) == sorted(map(self.plain, (chosen, other))):
                self.extremes.add(span(comparison))

    def plain(self, cursor):
        """As it is written, without a cast."""
        return re.sub(r"^\(\w+\)|\s", "", self.file.text(*span(cursor)))

    def binary(self, cursor, start, end):
        if (start, end) in self.extremes:
            return
        operator = self.operator(cursor)
        sides = list(cursor.get_children())
        if operator not in OPPOSITE and operator not in ("&&", "||"):
            return
        (a, b), (c, d) = span(sides[0]), span(sides[1])
        if not (start == a and b < c and d == end and self.is_written(a, b) and self.is_written(c, d)):
            return
        left, right = self.file.text(a, b), self.file.text(c, d)
        if self.file.text(b, c).strip() != operator:
            return
        other = OPPOSITE.get(operator) or {"&&": "||", "||": "&&"}[operator]
        call = self.add(b, "relational", f"{left} {operator} {right}", f"{left} {other} {right}")
        if operator in OPPOSITE:
            opening, middle = "(__extension__({ __auto_type l_ = (", "); __auto_type r_ = ("
            closing = f"); {call} ? l_ {other} r_ : l_ {operator} r_; }}))"
        else:
            sign = "!=" if operator == "&&" else "=="
            opening, middle = "(__extension__({ _Bool l_ = !!(", f"); l_ {sign} {call} ? (_Bool)!!("
            closing = ") : l_; }))"
        self.file.edits.wrap(start, end, opening, closing)
        self.file.edits.replace(b, c, middle)

    def constant(self, cursor, start, end):
        text = self.file.text(start, end)
        if ORDER.fullmatch(text):
            call = self.add(start, "order", text, "__ATOMIC_RELAXED")
            self.file.edits.replace(start, end, f"({call} ? __ATOMIC_RELAXED : {text})")
            return
        if UNNAMED.fullmatch(text) or cursor.type.get_canonical().kind not in NUMBERS:
            return
        call = self.add(start, "constant", text, f"{text} + 1, or 0 for more than 16")
        self.file.edits.replace(start, end, f"({call} ? (({text}) <= 16 ? ({text}) + 1 : ({text}) - ({text})) : ({text}))")

    def call(self, cursor):
        start, end = span(cursor)
        name = cursor.spelling
        if name in HINTS or name.startswith("__builtin_") and name != "__builtin_expect":
            return
        if not self.file.text(start, end).startswith(name + "("):
            if not self.is_written(start, end):
                return
        elif name in WEAKER:
            call = self.add(start, "order", name, WEAKER[name])
            self.file.edits.replace(start, start + len(name), f"({call} ? {WEAKER[name]} : {name})")
        for child in list(cursor.get_children())[1:]:
            low, high = span(child)
            is_one = name == "calloc" and self.file.text(low, high) == "1"
            if start < low and high < end and not is_one:
                self.expression(child)
