#!/bin/sh
# Installs what is missing, builds for speed, makes the data and runs every case beside its references; writes
# tests/bench/results/. Must run as root, to raise the kernel's read-ahead; see tests/bench/README.md.
#   scripts/bench.sh [--short] [--rounds N] [--only GROUP…] [--data DIRECTORY] [--baseline H5MOUNT]
#   scripts/bench.sh [--short] [--rounds N] [--only GROUP…] --against H5MOUNT     every case beside an earlier build
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build-bench}

"$here/scripts/install_packages.sh" bench
[ -e /dev/fuse ] || modprobe fuse 2>/dev/null || true
[ -f "$build/build.ninja" ] || meson setup "$build" "$here" --buildtype=release >/dev/null
ninja -C "$build" src/cli/h5mount tests/bench/reader tests/bench/trivial_fuse tests/bench/h5dread tests/bench/roofline tests/bench/scaling
exec /usr/bin/python3 "$here/tests/bench/run_bench.py" --build "$build" "$@"
