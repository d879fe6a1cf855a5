#!/bin/sh
# Builds a libFuzzer target with clang, address and undefined-behaviour sanitizers, and runs it.
#   scripts/fuzz.sh TARGET [SECONDS] [BUILD_DIRECTORY]
#     TARGET: whole_file, messages, values, http; filter:NAME for one decoder (filter:lzf, filter:blosc2-array);
#     filters: every decoder for SECONDS each, and a table
# Findings are written to BUILD_DIRECTORY/findings/TARGET. To keep one as a test, copy it to
# tests/hostile/seeds, or for a decoder add it to tests/filter/fuzz_replay_test.cpp. CXX selects the compiler
# (clang++-19), H5MOUNT_CORPUS the seed files.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?"usage: fuzz.sh whole_file|messages|values|http|filters|filter:NAME [SECONDS] [BUILD_DIRECTORY]"}
seconds=${2:-600}
build=${3:-$here/build-fuzz}
corpus=${H5MOUNT_CORPUS:-$here/../shared/corpus}

[ -f "$build/build.ninja" ] || CXX=${CXX:-clang++-19} CC=${CC:-clang-19} meson setup "$build" "$here" -Dfuzz=true \
  -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debug -Doptimization=1 >/dev/null

# run PROGRAM NAME MEGABYTES: MEGABYTES bounds any single allocation
run() {
  mkdir -p "$build/corpus-$2" "$build/findings/$2"
  "$1" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2500 -malloc_limit_mb="$3" -max_len=65536 \
    -print_final_stats=1 -artifact_prefix="$build/findings/$2/" "$build/corpus-$2"
}

# Output goes to fuzz-NAME.log. Chunks have at most 64 KiB: no decoder needs more than 32 MiB for one.
fuzz_decoder() {
  cp "$build/filter-seeds/$1"/* "$build/corpus-$1/"
  H5MOUNT_FUZZ_DECODER=$1 run "$build/tests/filter/fuzz_filters" "$1" 32 >"$build/fuzz-$1.log" 2>&1
}

case $target in
  filters | filter:*)
    ninja -C "$build" tests/filter/fuzz_filters tests/filter/write_fuzz_seeds
    "$build/tests/filter/write_fuzz_seeds" "$build/filter-seeds"
    decoders=$(ls "$build/filter-seeds")
    [ "$target" = filters ] || decoders=${target#filter:}
    bad=0
    printf '| decoder | seconds | executions | findings |\n|---|---|---|---|\n'
    for decoder in $decoders; do
      mkdir -p "$build/corpus-$decoder"
      begin=$(date +%s)
      known=$(ls "$build/findings/$decoder" 2>/dev/null | wc -l)
      fuzz_decoder "$decoder" || bad=1
      runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$decoder.log")
      findings=$(($(ls "$build/findings/$decoder" | wc -l) - known))
      printf '| %s | %s | %s | %s |\n' "$decoder" "$(($(date +%s) - begin))" "${runs:--}" "$findings"
    done
    exit "$bad" ;;
esac

ninja -C "$build" "tests/fuzz/fuzz_$target"
grown="$build/corpus-$target"
mkdir -p "$grown"
if [ "$target" = whole_file ] && [ -z "$(ls "$grown")" ]; then
  find "$here/tests/hostile/seeds" "$corpus" -type f -size -48k ! -name '*.json' ! -name '*.py' ! -name '*.md' \
    ! -name '*.c' 2>/dev/null | while read -r file; do
    cp "$file" "$grown/$(echo "$file" | cksum | cut -d' ' -f1)"
  done
fi
run "$build/tests/fuzz/fuzz_$target" "$target" 2500
