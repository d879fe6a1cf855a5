#!/bin/sh
# Shows that the Debian package of the last commit is what a user may expect, in new Debian systems made for it (as root):
#   scripts/check_deb.sh [--debs DIRECTORY] [SUITE]        default: bookworm
# Built twice, by scripts/make_deb.sh from clones at two paths of a new system, it is the same bytes, and lintian says
# nothing. In another new system it is installed, used, upgraded, removed and purged (scripts/package/check_installed.sh).
# --debs: a directory that make_deb.sh has filled is used, and nothing is built.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
debs=
[ "${1:-}" != --debs ] || { debs=$(cd "$2" && pwd); shift 2; }
suite=${1:-bookworm}
work=$(mktemp -d /var/tmp/check_deb.XXXXXX)
"$here/scripts/install_packages.sh" elsewhere
# shellcheck source=package/new_system.sh
. "$here/scripts/package/new_system.sh"
trap 'rm -rf --one-file-system "$work"' EXIT

build_twice() {
  new_system "$suite" "$work/build"
  for place in /a /some/other/place; do
    mkdir -p "$work/build$(dirname "$place")"
    git clone -q --no-hardlinks "$here" "$work/build$place"
    chown -R 0:0 "$work/build$place"
    within "$work/build" "$place/scripts/make_deb.sh"
    (cd "$work/build$place/build/deb" && sha256sum ./*.deb ./*.dsc ./*.tar.xz) >"$work/$(basename "$place").sums"
  done
  cat "$work/a.sums"
  cmp "$work/a.sums" "$work/place.sums"
  echo "built twice: the same"
  debs=$work/debs
  mv "$work/build/a/build/deb" "$debs"
  mkdir "$work/build/debs"
  cp "$debs"/* "$work/build/debs/"
  check_lintian within "$work/build" sh -c 'cd /debs && exec lintian -EvIL +pedantic --allow-root ./*.changes'
}

# Nothing but the names of what it looks at is allowed.
check_lintian() {
  "$@" >"$work/lintian" 2>&1 || { cat "$work/lintian"; exit 1; }
  if grep -v '^N: ' "$work/lintian"; then exit 1; fi
  echo "lintian: nothing to say"
}

# The package again as a later version, to upgrade to.
make_upgrade() {
  dpkg-deb -R "$1" "$work/upgrade"
  sed -i 's/^Version: .*/&+upgrade/' "$work/upgrade/DEBIAN/control"
  dpkg-deb -Zgzip --root-owner-group -b "$work/upgrade" "$2" >/dev/null
}

[ -n "$debs" ] || build_twice
new_system "$suite" "$work/root"
mkdir "$work/root/check"
cp "$debs"/h5mount_*.deb "$work/root/check/h5mount.deb"
make_upgrade "$work/root/check/h5mount.deb" "$work/root/check/upgrade.deb"
cp -r "$here/scripts/package/debian/tests" "$here/scripts/package/check_installed.sh" "$here/scripts/package/press_tab.py" \
  "$work/root/check/"
within "$work/root" sh /check/check_installed.sh
