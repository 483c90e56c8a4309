# SPDX-License-Identifier: Apache-2.0
"""The functions that C files define: name, lines, number of parameters. Needs universal-ctags."""
import re
import subprocess


class Function:
    def __init__(self, path, tag):
        fields = dict(f.split(":", 1) for f in tag.split("\t")[3:] if ":" in f)
        self.path, self.name = path, tag.split("\t")[0]
        self.line, self.end = int(fields["line"]), int(fields.get("end", fields["line"]))
        self.length = self.end - self.line + 1
        self.static = "file" in fields
        self.parameters = count_parameters(fields.get("signature", "(void)"))


def count_parameters(signature):
    inside = re.sub(r"\([^()]*\)", "", signature.strip()[1:-1])  # those of function pointers
    return 0 if inside.strip() in ("", "void") else inside.count(",") + 1


def functions(root, paths):
    """The functions defined in each file."""
    if not paths:
        return
    listed = subprocess.run(
        ["ctags", "--c-kinds=f", "--fields=nefS", "--language-force=C", "--output-format=u-ctags",
         "-I", "RAPAHUB_API,RAPAHUB_API_CHECKED", "--sort=no", "-f", "-", "-L", "-"],
        input="\n".join(paths), capture_output=True, text=True, check=True, cwd=root)
    for tag in listed.stdout.splitlines():
        if not tag.startswith("!"):
            yield Function(tag.split("\t")[1], tag)
