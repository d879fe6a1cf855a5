#!/bin/sh
# Installs what is missing, builds, mounts the example file and shows a short session. It stays mounted.
#   scripts/try.sh [MOUNTPOINT]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
place=${1:-$here/build/weather}
example=$here/tests/data/weather.h5
h5mount=$here/build/src/cli/h5mount

"$here/scripts/install_packages.sh" build
[ -f "$here/build/build.ninja" ] || meson setup "$here/build" "$here" --buildtype=release -Doptimization=2 \
  -Dtests=false >/dev/null
ninja -C "$here/build"

[ -e /dev/fuse ] || modprobe fuse 2>/dev/null || true
if mountpoint -q "$place" 2>/dev/null; then
  umount "$place" 2>/dev/null || fusermount3 -u "$place"
fi
mkdir -p "$place"
"$h5mount" "$example" "$place"

show() {
  printf '\n$ %s\n' "$*"
  (cd "$place" && sh -c "$*")
}
show 'ls -lR'
show 'getfattr -d observations/temperature'
show 'od -A d -t f4 -N 48 observations/temperature'
show 'cat station/log'
show 'du -h --apparent-size radar/reflectivity; du -h radar/reflectivity'
show "sha256sum -c $here/tests/data/weather.sha256"

cat <<END

The example is mounted at $place; look around. When you are done:
  umount $place          (or, without being root: fusermount3 -u $place)
Your own file:
  $h5mount FILE.h5 DIRECTORY
To install h5mount, and mount.h5 for mount(8) and fstab:
  sudo meson install -C $here/build
END
