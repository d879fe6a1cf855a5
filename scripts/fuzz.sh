#!/bin/sh
# Builds a libFuzzer target with clang, address and undefined-behaviour sanitizers, and runs it.
#   scripts/fuzz.sh TARGET [SECONDS] [BUILD_DIRECTORY]     TARGET: whole_file, messages, values, filters
# What it finds lies in BUILD_DIRECTORY/findings; inputs worth keeping are copied by hand to tests/hostile/seeds.
# CXX chooses the compiler (clang++-19), H5MOUNT_CORPUS the files to begin with.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?"usage: fuzz.sh whole_file|messages|values|filters [SECONDS] [BUILD_DIRECTORY]"}
seconds=${2:-600}
build=${3:-$here/build-fuzz}
corpus=${H5MOUNT_CORPUS:-$here/../shared/corpus}

[ -f "$build/build.ninja" ] || CXX=${CXX:-clang++-19} CC=${CC:-clang-19} meson setup "$build" "$here" -Dfuzz=true \
  -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debug -Doptimization=1 >/dev/null
room=fuzz
[ "$target" != filters ] || room=filter
ninja -C "$build" "tests/$room/fuzz_$target"

grown="$build/corpus-$target"
mkdir -p "$grown" "$build/findings"
if [ "$target" = whole_file ] && [ -z "$(ls "$grown")" ]; then
  find "$here/tests/hostile/seeds" "$corpus" -type f -size -48k ! -name '*.json' ! -name '*.py' ! -name '*.md' \
    ! -name '*.c' 2>/dev/null | while read -r file; do
    cp "$file" "$grown/$(echo "$file" | cksum | cut -d' ' -f1)"
  done
fi
exec "$build/tests/$room/fuzz_$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2500 -max_len=65536 \
  -print_final_stats=1 -artifact_prefix="$build/findings/$target-" "$grown"
