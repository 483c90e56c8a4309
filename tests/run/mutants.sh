# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# mutants: breaks the code, and looks for a test that finds it.
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh

mutant_packages=(python3-clang)

# mutants [N] [option of mutants.py...]
mutants() {
    need "${build_packages[@]}" "${test_packages[@]}" "${mutant_packages[@]}"
    python3 tests/mutants/mutants.py "$@"
}
