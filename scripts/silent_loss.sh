#!/bin/sh
# Counts data that is lost to damage without an error: every file of a corpus is truncated at eight offsets,
# changed by one bit in each kind of structure, and read completely each time (see
# tests/damage/silent_loss.cpp). Takes minutes to an hour.
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
