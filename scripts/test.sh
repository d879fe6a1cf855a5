#!/bin/sh
# Installs what is missing, builds and runs every test; the last line counts them.
#   scripts/test.sh [BUILD_DIRECTORY]
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build-tests}

"$here/scripts/install_packages.sh" test
"$here/scripts/install_packages.sh" style || echo "without clang-format 19 the test of the style is skipped" >&2
[ -e /dev/fuse ] || modprobe fuse 2>/dev/null || true
# Line numbers are all of a debugger's information that a test shows, and the rest is a third of the time to compile.
[ -f "$build/build.ninja" ] || meson setup "$build" "$here" -Ddebug=false -Dcpp_args=-g1 >/dev/null
ninja -C "$build"
# A clone with nothing beside it has some 2,050 tests: a program that lost its tests in silence fails here.
exec python3 "$here/scripts/run_tests.py" --at-least 2000 "$build"
