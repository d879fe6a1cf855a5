#!/bin/sh
# Builds /h5mount and runs test programs of it, in a new system: scripts/check_elsewhere.sh runs this there.
#   build_elsewhere.sh arm64|SUITE PROGRAM…
set -eu
where=$1
shift
libraries=$(sed -n '/^lib.*-dev$/p; /^zlib1g-dev$/p' /h5mount/scripts/packages.txt | sort -u)
others=$(printf '%s\n' g++ fuse3 meson ninja-build pkg-config python3-h5py attr)
run=
setup=
if [ "$where" = arm64 ]; then
  dpkg --add-architecture arm64
  libraries=$(printf '%s\n' $libraries | sed 's/$/:arm64/')
  others="$others g++-aarch64-linux-gnu qemu-user-static"
  run=qemu-aarch64-static
  setup='--cross-file /arm64.cross'
  # qemu's vfork is a fork, so posix_spawn(3) cannot tell that a program is not there.
  export GTEST_FILTER=-HelperProcess.AProgramWithoutAFileIsAnError
  cat >/arm64.cross <<'END'
[binaries]
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = 'qemu-aarch64-static'
[properties]
pkg_config_libdir = '/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
fi
apt-get update -q >/dev/null
# shellcheck disable=SC2086
apt-get install -y -q --no-install-recommends $others $libraries >/apt.log 2>&1 || { tail -5 /apt.log >&2; exit 1; }
# shellcheck disable=SC2086
[ -f /build/build.ninja ] || meson setup $setup -Doptimization=1 -Dman=disabled -Dpage=disabled /build /h5mount >/setup.log ||
  { tail -20 /setup.log >&2; exit 1; }
# The programs of the tests of these names.
targets=$(meson introspect --tests /build | python3 -c '
import json, sys
for test in json.load(sys.stdin):
    if test["name"] in sys.argv[1:]:
        print(next(word for word in test["cmd"] if word.startswith("/build/"))[len("/build/"):])' "$@")
# shellcheck disable=SC2086
ninja -C /build src/cli/h5mount src/cli/fsck.h5 $targets >/build.log 2>&1 || { tail -40 /build.log >&2; exit 1; }
if grep -n 'warning:' /build.log; then exit 1; fi
$run /build/src/cli/h5mount --version
cd /build
failed=
for target in $targets; do
  echo "== $target"
  $run "$target" --gtest_brief=1 || failed="$failed $target"
done
if [ -z "$run" ]; then
  mkdir /mount
  src/cli/h5mount /h5mount/tests/data/weather.h5 /mount
  (cd /mount && sha256sum -c /h5mount/tests/data/weather.sha256)
  umount /mount
fi
src=/h5mount/tests/data/weather.h5
[ "$($run src/cli/h5mount --tar "$src" | tar -t | wc -l)" -gt 5 ] && $run src/cli/fsck.h5 "$src" || failed="$failed programs"
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
