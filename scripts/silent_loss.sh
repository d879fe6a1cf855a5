#!/bin/sh
# What damage takes away without an error: every file of a corpus cut short at eight places and changed by a bit in each
# kind of structure, read whole each time (tests/damage/silent_loss.cpp says how, and what it counts). Takes minutes to
# an hour.
#   scripts/silent_loss.sh [BUILD_DIRECTORY [CORPUS [OPTION...]]]     OPTION: --jobs N, --instances N, --flips N, --show
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build-tests}
corpus=${2:-${H5MOUNT_CORPUS:-$here/../shared/corpus}}
[ $# -lt 2 ] || shift
[ $# -lt 1 ] || shift
ninja -C "$build" tests/damage/silent_loss >/dev/null
find "$corpus" -type f ! -path '*/hostile/*' ! -name '*.json' ! -name '*.py' ! -name '*.md' ! -name '*.c' -print0 |
  sort -z | xargs -0 "$build/tests/damage/silent_loss" "$@"
