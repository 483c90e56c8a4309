# SPDX-License-Identifier: Apache-2.0
"""The structs that C files define, with the lines of their members. Needs universal-ctags."""
import function_pointers


def structs(root, paths):
    """{(path, struct): lines of its members}. Members of a struct or union without a tag count for the one around it."""
    found = {}
    for _, path, line, fields in function_pointers.tags(root, paths, "m") if paths else ():
        scope = (fields.get("struct") or fields["union"]).split("::")
        while len(scope) > 1 and scope[-1].startswith("__anon"):
            scope.pop()
        found.setdefault((path, scope[-1]), []).append(line)
    return found
