# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# packages: what has to be installed, and its installation.

# shellcheck disable=SC2034 # both are for the files that source this one
build_packages=(build-essential cmake ninja-build pkg-config libffi-dev libzstd-dev
    libfyaml-dev libjansson-dev libsqlite3-dev libssl-dev
    libnghttp2-dev libprotobuf-c-dev protobuf-c-compiler)
# shellcheck disable=SC2034
test_packages=(gcc g++ clang lld clang-format clang-tidy cppcheck codespell shellcheck
    universal-ctags valgrind strace spin python3 libcmocka-dev scdoc zlib1g
    etcd-server etcd-client openssl)

is_installed() {
    dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# Runs a command as root; asks for a password only on a terminal.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        env "$@"
    elif [ -t 0 ]; then
        sudo env "$@"
    else
        sudo -n env "$@"
    fi
}

agree_to_install() {
    say "these packages are missing: $*"
    [ -z "${assume_yes-}" ] && [ -t 0 ] || return 0
    local answer
    read -r -p 'install them with apt now? [Y/n] ' answer
    case $answer in
    '' | [yYjJ]*) return 0 ;;
    esac
    die "not installed" "apt-get install $*"
}

need() {
    local package missing=()
    if ! command -v dpkg-query >/dev/null; then
        say "warning: this is no Debian: packages are not looked at; what is needed is called there: $*"
        return 0
    fi
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "there is no apt here, and these are missing: ${missing[*]}" \
        "install them by hand, then call this again"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        die "these packages are missing, and only root installs them: ${missing[*]}" \
            "as root: apt-get install ${missing[*]}"
    agree_to_install "${missing[@]}"
    as_root apt-get -q update >&2 || say "warning: apt-get update failed; going on with the lists there are"
    as_root DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
        "${missing[@]}" >&2 || die "apt could not install: ${missing[*]}" "look at its last lines above"
}
