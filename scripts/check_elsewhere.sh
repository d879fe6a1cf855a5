#!/bin/sh
# Builds in a new Debian made for it, without a warning, and runs test programs and, where that can be, a mount there (as
# root):
#   scripts/check_elsewhere.sh SUITE [PROGRAM…]     with that Debian's compiler and libraries: trixie
#   scripts/check_elsewhere.sh arm64 [PROGRAM…]     for arm64, run by qemu's user mode
# PROGRAM: names of directories of tests/; by default those that need no mount and start no program of h5mount.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
where=$1
shift
programs=${*:-base sign io format filter cache metadata chunk object dataset text view}
work=$(mktemp -d /var/tmp/check_elsewhere.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
"$here/scripts/install_packages.sh" elsewhere
# shellcheck source=package/new_system.sh
. "$here/scripts/package/new_system.sh"

suite=$where
[ "$where" != arm64 ] || suite=bookworm
new_system "$suite" "$work/root"
git clone -q --no-hardlinks "$here" "$work/root/h5mount"
chown -R 0:0 "$work/root/h5mount"
if [ -d "$here/../shared/corpus" ]; then
  mkdir -p "$work/root/shared"
  cp -r "$here/../shared/corpus" "$work/root/shared/"
fi
# shellcheck disable=SC2086
within "$work/root" sh /h5mount/scripts/package/build_elsewhere.sh "$where" $programs
