#!/bin/sh
# Installs what is missing, builds for speed, makes the data and runs every case beside its references; writes
# tests/bench/results/. Must run as root, to raise the kernel's read-ahead; see tests/bench/README.md.
#   scripts/bench.sh --transports [--rounds N] [--baseline H5MOUNT]    io_uring and /dev/fuse (tests/bench/transports.py)
#   scripts/bench.sh [--short] [--rounds N] [--only GROUP…] [--data DIRECTORY] [--baseline H5MOUNT]
#   scripts/bench.sh [--short] [--rounds N] [--only GROUP…] --against H5MOUNT     every case beside an earlier build
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build-bench}

"$here/scripts/install_packages.sh" bench
[ -e /dev/fuse ] || modprobe fuse 2>/dev/null || true
[ -f "$build/build.ninja" ] || meson setup "$build" "$here" --buildtype=release >/dev/null
ninja -C "$build" src/cli/h5mount tests/bench/reader tests/bench/trivial_fuse tests/bench/h5dread tests/bench/roofline tests/bench/scaling
if [ "${1:-}" = --transports ]; then
  shift
  ninja -C "$build" tests/bench/trivial_tree
  exec /usr/bin/python3 "$here/tests/bench/transports.py" --program "$build/src/cli/h5mount" --tools "$build/tests/bench" "$@"
fi
exec /usr/bin/python3 "$here/tests/bench/run_bench.py" --build "$build" "$@"
