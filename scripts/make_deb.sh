#!/bin/sh
# Builds the Debian package from this checkout's last commit, with its debug symbols and its source package.
#   scripts/make_deb.sh [DIRECTORY]       default: build/deb of the checkout
# The same commit gives the same bytes, wherever it is built.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$here/build/deb}

"$here/scripts/install_packages.sh" package
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$here/meson.build")
tree=$out/h5mount-$version
rm -rf "$out"
mkdir -p "$tree"
# A clone, or the archive that meson dist makes; without the tests, which run from a checkout.
if git -C "$here" rev-parse HEAD >/dev/null 2>&1; then
  git -C "$here" archive --prefix="h5mount-$version/" -o "$out/h5mount.tar" HEAD -- . ':(exclude)tests'
else
  tar -C "$here" --exclude=./build --exclude=./tests --sort=name --mtime=@0 --owner=0 --group=0 --transform="s,^\.,h5mount-$version," \
    -cf "$out/h5mount.tar" .
fi
tar -C "$out" -xf "$out/h5mount.tar"
xz -T1 -c "$out/h5mount.tar" > "$out/h5mount_$version.orig.tar.xz"
rm "$out/h5mount.tar"
cp -r "$tree/scripts/package/debian" "$tree/debian"
cd "$tree"
DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -us -uc -F >"$out/build.log" 2>&1 || {
  tail -30 "$out/build.log" >&2
  exit 1
}
cd "$out"
rm -rf "$tree"
ls -l ./*.deb
