# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# format: formats the C files, and prints what is made of the sources.
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh
# shellcheck source=tests/run/check.sh
. tests/run/check.sh

draw_picture() {
    local drawn
    drawn=$(mktemp)
    picture >"$drawn"
    sed -i -e "/^<!-- picture -->\$/,/^<!-- end of picture -->\$/{
        /^\`\`\`mermaid\$/r $drawn
        /^<!--/p; /^\`\`\`/p; d
    }" docs/architecture.md
    rm -f "$drawn"
}

format() {
    need clang-format python3
    c_files | xargs -0 clang-format -i
    draw_picture
    python3 tests/architecture/check_rules.py --write
}
