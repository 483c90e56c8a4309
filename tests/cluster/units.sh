#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# units: systemd itself reads the unit of rapahubd and the files beside it.
# usage: units.sh UNIT RAPAHUBD FOLDER
set -euo pipefail
unit=$1 program=$2 folder=$3
say() { printf '%s\n' "$*"; }

command -v systemd-analyze >/dev/null || { say 'SKIPPED: units: there is no systemd-analyze'; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# The program is not installed: its path is another one. Nothing may be said of the unit.
sed "s|^ExecStart=[^ ]*|ExecStart=$program|" "$unit" >"$place/rapahubd.service"
said=$(systemd-analyze verify --man=no "$place/rapahubd.service" 2>&1) || { say "$said"; exit 1; }
if grep -F rapahubd.service <<<"$said"; then
    exit 1
fi
systemd-analyze security --offline=yes --threshold=35 --no-pager "$place/rapahubd.service" >"$place/security" 2>&1 ||
    { tail -n 3 "$place/security"; exit 1; }
tail -n 1 "$place/security"

# The user and the folders, in a root of their own.
if [ "$(id -u)" = 0 ] && command -v systemd-sysusers systemd-tmpfiles >/dev/null; then
    mkdir -p "$place/root/etc" "$place/root/usr/lib/sysusers.d" "$place/root/usr/lib/tmpfiles.d"
    cp "$folder/rapahub.sysusers" "$place/root/usr/lib/sysusers.d/rapahub.conf"
    cp "$folder/rapahub.tmpfiles" "$place/root/usr/lib/tmpfiles.d/rapahub.conf"
    systemd-sysusers --root="$place/root" rapahub.conf
    grep -q '^rapahub:' "$place/root/etc/passwd"
    systemd-tmpfiles --root="$place/root" --create rapahub.conf
    owner=$(sed -n 's/^rapahub:[^:]*:\([0-9]*\):.*/\1/p' "$place/root/etc/passwd")
    [ "$(stat -c '%a %u' "$place/root/run/rapahub")" = "755 $owner" ]
    [ "$(stat -c '%a %u' "$place/root/var/lib/rapahub")" = "700 $owner" ]
fi
"$program" --check --config "$folder/rapahub.yaml" --data "$place/data" --run "$place/run" |
    grep -qx 'group: rapahub:operator'
