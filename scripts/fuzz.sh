#!/bin/sh
# Builds libFuzzer targets with clang, address and undefined-behaviour sanitizers, and runs them.
#   scripts/fuzz.sh all MINUTES [BUILD_DIRECTORY]      the canary, then every target, MINUTES in total, and a table
#   scripts/fuzz.sh claiming-files COUNT [BUILD_DIRECTORY]   so many files that claim much, by number, in a build of
#     its own without sanitizers, so that memory is that of users; findings are in BUILD_DIRECTORY-plain/findings
#   scripts/fuzz.sh TARGET [SECONDS] [BUILD_DIRECTORY]
#     TARGET: whole_file, fsck, salvage, messages, values, http, names, claims; filter:NAME for one decoder (filter:
#     lzf, filter:blosc2-array); filters: every decoder for SECONDS each, and a table; canary: a deliberate bug, which
#     must be found within SECONDS
# Exit code 0 only where nothing was found and the canary, where it ran, was.
#
# Findings are written to BUILD_DIRECTORY/findings/TARGET, inputs that reach new code to BUILD_DIRECTORY/corpus-TARGET,
# where the next run continues. To keep a finding as a test, copy it to tests/hostile/seeds, or for a decoder add it to
# tests/filter/test_fuzz_replay.cpp. CXX and CC select the compiler (clang++-19, clang-19), H5MOUNT_CORPUS the seed files.
#
# Coverage is that of a second build, BUILD_DIRECTORY-coverage, which runs the inputs of each corpus once. Counters of
# source lines would slow the fuzzing down, and with sanitizers the compiler's own checks would count as branches of the
# program.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
}
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '') usage >&2; exit 2 ;;
esac
target=$1
amount=${2:-}
build=${3:-$here/build-fuzz}
corpus=${H5MOUNT_CORPUS:-$here/../shared/corpus}
coverage=$build-coverage
canary_seconds=120
all_targets="whole_file fsck salvage messages values http names claims"
export CXX="${CXX:-clang++-19}" CC="${CC:-clang-19}"

case $target in
  all | filters | filter:?* | canary | claiming-files) ;;
  *)
    case " $all_targets " in
      *" $target "*) ;;
      *) echo "no such target: $target" >&2; usage >&2; exit 2 ;;
    esac ;;
esac
case $target:$amount in
  all: | claiming-files:) echo "fuzz.sh $target: how many?" >&2; exit 2 ;;
  *:*[!0-9]* | *:0) echo "not a time: $amount" >&2; exit 2 ;;
esac

need() {  # PROGRAM PACKAGE
  command -v "$1" >/dev/null 2>&1 && return 0
  echo "no $1: apt-get install $2" >&2
  exit 2
}

check_tools() {
  for word in $CXX; do need "$word" clang-19; done
  need meson meson
  need ninja ninja-build
  if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    $CXX -x c++ -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null; then
    echo "$CXX cannot link a libFuzzer target: it must be clang, with libclang-rt-19-dev" >&2
    exit 2
  fi
  [ "$target" != all ] || need llvm-profdata-19 llvm-19
  [ "$target" != all ] || need llvm-cov-19 llvm-19
}

set_up() {  # DIRECTORY OPTION...
  directory=$1
  shift
  [ -f "$directory/build.ninja" ] ||
    meson setup "$directory" "$here" -Dfuzz=true -Db_lundef=false -Dbuildtype=debug -Doptimization=1 "$@" >/dev/null
}

# fuzz PROGRAM NAME SECONDS MEGABYTES [OPTION...]: MEGABYTES bounds any single allocation
fuzz() {
  program=$1 name=$2 seconds=$3 megabytes=$4
  shift 4
  mkdir -p "$build/corpus-$name" "$build/findings/$name"
  "$program" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2500 -malloc_limit_mb="$megabytes" -max_len=65536 \
    -report_slow_units=100 -print_final_stats=1 -artifact_prefix="$build/findings/$name/" "$@" "$build/corpus-$name"
}

# The first corpus of a target. Those that take whole files begin with what the tests write with h5py, with earlier
# findings and with H5MOUNT_CORPUS, the others with the texts of tests/fuzz/seeds, where there are any.
seed() {  # NAME
  mkdir -p "$build/corpus-$1"
  [ -z "$(ls "$build/corpus-$1")" ] || return 0
  case $1 in
    whole_file | fsck | salvage)
      written=$(/usr/bin/python3 "$here/scripts/make_corpus.py" --cached "$build/tests") || {
        echo "no files to begin with: apt-get install python3-h5py" >&2
        exit 2
      }
      find "$here/tests/hostile/seeds" "$written" "$corpus" -type f -size -48k ! -name '*.json' ! -name '*.py' \
        ! -name '*.md' ! -name '*.txt' ! -name '*.c' 2>/dev/null | while read -r file; do
        cp "$file" "$build/corpus-$1/$(echo "$file" | cksum | cut -d' ' -f1)"
      done ;;
    *)
      [ ! -d "$here/tests/fuzz/seeds/$1" ] || cp "$here/tests/fuzz/seeds/$1"/* "$build/corpus-$1/" ;;
  esac
}

# Chunks have at most 64 KiB: no decoder needs more than 32 MiB for one.
fuzz_decoder() {  # NAME SECONDS
  mkdir -p "$build/corpus-$1"
  cp "$build/filter-seeds/$1"/* "$build/corpus-$1/"
  H5MOUNT_FUZZ_DECODER=$1 fuzz "$build/tests/filter/fuzz_filters" "$1" "$2" 32
}

fuzz_target() {  # NAME SECONDS
  seed "$1"
  fuzz "$build/tests/fuzz/fuzz_$1" "$1" "$2" 2500
}

# Succeeds only where the sanitizer reports the canary's own bug: a byte written behind its 40 places.
fuzz_canary() {  # SECONDS
  ninja -C "$build" tests/fuzz/fuzz_canary >/dev/null
  rm -rf "$build/corpus-canary" "$build/findings/canary"
  begin=$(date +%s)
  log=$build/fuzz-canary.log
  if ! fuzz "$build/tests/fuzz/fuzz_canary" canary "$1" 2500 -max_len=128 >"$log" 2>&1 &&
    grep -q 'ERROR: AddressSanitizer: heap-buffer-overflow' "$log" && grep -q '^WRITE of size 1 ' "$log" &&
    grep -q '#0 .* overflow_by_one\|#0 .*::overflow_by_one' "$log" && grep -q '0 bytes after 40-byte region' "$log"; then
    echo "canary: found in $(($(date +%s) - begin)) s, $(executions "$log") executions"
    return 0
  fi
  echo "canary: MISSED: its bug was not found in $1 s; what ran says nothing about the other targets ($log)" >&2
  return 1
}

executions() {  # LOG
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$1")
  echo "${runs:--}"
}

# What a target is to cover, below src/.
sources_of() {  # NAME
  case $1 in
    whole_file) echo io metadata chunk ahead object dataset cache text view tree ;;
    fsck) echo check ;;
    salvage) echo salvage ;;
    messages) echo format ;;
    values) echo text ;;
    http) echo serve/http/url.cpp serve/http/fields.cpp serve/http/byte_ranges.cpp serve/http/host.cpp \
      serve/http/conditions.cpp serve/http/message.cpp serve/http/access_token.cpp ;;
    names) echo tree/names.cpp view/selection_text.cpp ;;
    claims) echo view tree ;;
    filters) echo filter ;;
    bitshuffle) echo filter/bitshuffle.cpp filter/bit_transpose.cpp ;;
    blosc) echo filter/blosc1.cpp ;;
    blosc2) echo filter/blosc2 ;;
    blosc2-array) echo filter/blosc2/frame.cpp filter/blosc2/msgpack.cpp filter/blosc2/nd_array.cpp \
      filter/blosc2/nd_copy.cpp filter/blosc2/nd_layout.cpp ;;
    blosc2-chunk) echo filter/blosc2/chunk.cpp filter/blosc2/chunk_header.cpp filter/blosc2/flat_chunk.cpp \
      filter/blosc2/block_filters.cpp filter/blosc2/block_reader.cpp ;;
    fcidecomp) echo filter/jpeg_ls.cpp ;;
    scaleoffset) echo filter/scale_offset.cpp ;;
    shuffle) echo filter/shuffle.cpp filter/unshuffle.cpp ;;
    *) echo "filter/$1.cpp" ;;
  esac
}

# Runs a corpus once in the build with counters. Where an input fails no counts are written, and the table shows `-`.
replay() {  # PROGRAM NAME
  mkdir -p "$coverage/profiles"
  rm -f "$coverage/profiles/$2.profraw"
  H5MOUNT_FUZZ_DECODER=$2 LLVM_PROFILE_FILE="$coverage/profiles/$2.profraw" "$coverage/$1" -runs=0 -timeout=60 \
    -report_slow_units=100 -artifact_prefix="$coverage/" -rss_limit_mb=4096 "$build/corpus-$2" >"$coverage/replay-$2.log" 2>&1
}

# Percent of the lines of sources_of NAME that the profiles run. All programs are given, because a program lacks the
# functions that its target never needs. Plugins are processes, which no target starts.
lines_covered() {  # NAME PROFILE...
  covered=$1
  shift
  llvm-profdata-19 merge -sparse -o "$coverage/profiles/$covered.profdata" "$@" 2>/dev/null || { echo -; return; }
  sources=
  for source in $(sources_of "$covered"); do sources="$sources $here/src/$source"; done
  objects=
  for one in $all_targets; do objects="$objects -object $coverage/tests/fuzz/fuzz_$one"; done
  # shellcheck disable=SC2086
  llvm-cov-19 report "$coverage/tests/filter/fuzz_filters" $objects -ignore-filename-regex='/filter/plugin/' \
    -instr-profile="$coverage/profiles/$covered.profdata" $sources 2>"$coverage/cov-$covered.log" |
    awk '/^TOTAL/ { lines = $10 } END { print lines == "" ? "-" : lines }'
}

# measured COMMAND NAME SECONDS: fuzzes, and sets `row` and `bad`
measured() {
  log=$build/fuzz-$2.log
  known=$(ls "$build/findings/$2" 2>/dev/null | wc -l)
  begin=$(date +%s)
  failed=0
  "$1" "$2" "$3" >"$log" 2>&1 || failed=1
  found=$(($(ls "$build/findings/$2" | wc -l) - known))
  # A leak or a failure without an input is one, too.
  [ "$failed" = 0 ] || [ "$found" -gt 0 ] || found="failed, see $log"
  [ "$failed" = 0 ] || bad=1
  row="| $2 | $(($(date +%s) - begin)) | $(executions "$log") | $found |"
}

build_decoders() {
  ninja -C "$build" tests/filter/fuzz_filters tests/filter/write_fuzz_seeds >/dev/null
  "$build/tests/filter/write_fuzz_seeds" "$build/filter-seeds" >/dev/null
}

fuzz_all() {  # MINUTES
  export LLVM_PROFILE_FILE=/dev/null  # not of what meson runs to try the compiler
  set_up "$coverage" -Dcpp_args='-fprofile-instr-generate -fcoverage-mapping' \
    -Dcpp_link_args=-fprofile-instr-generate
  programs=tests/filter/fuzz_filters
  for one in $all_targets; do programs="$programs tests/fuzz/fuzz_$one"; done
  # shellcheck disable=SC2086
  ninja -C "$build" tests/fuzz/fuzz_canary $programs >/dev/null
  build_decoders
  # shellcheck disable=SC2086
  ninja -C "$coverage" $programs >/dev/null
  fuzz_canary "$canary_seconds" || exit 1
  for one in $all_targets; do seed "$one"; done
  bad=0
  decoders=$(ls "$build/filter-seeds")
  # Whole files reach the most code and are the slowest inputs.
  share=$(($1 * 60 / 13))
  each=$((share * 3 / $(echo "$decoders" | wc -w)))
  printf '\n| target | seconds | executions | findings | lines covered | of src/ |\n|---|---|---|---|---|---|\n'
  for one in $all_targets; do
    case $one in
      whole_file) shares=3 ;;
      fsck) shares=2 ;;
      *) shares=1 ;;
    esac
    measured fuzz_target "$one" $((share * shares))
    replay "tests/fuzz/fuzz_$one" "$one" || true
    echo "$row $(lines_covered "$one" "$coverage/profiles/$one.profraw") | $(sources_of "$one") |"
  done
  for one in $decoders; do
    measured fuzz_decoder "$one" "$((each > 0 ? each : 1))"
    replay tests/filter/fuzz_filters "$one" || true
    echo "$row $(lines_covered "$one" "$coverage/profiles/$one.profraw") | $(sources_of "$one") |"
  done
  profiles=
  for one in $decoders; do profiles="$profiles $coverage/profiles/$one.profraw"; done
  # shellcheck disable=SC2086
  echo "| all decoders | | | | $(lines_covered filters $profiles) | filter |"
  exit "$bad"
}

if [ "$target" = claiming-files ]; then
  plain=$build-plain
  need meson meson
  need ninja ninja-build
  [ -f "$plain/build.ninja" ] || meson setup "$plain" "$here" -Dbuildtype=debugoptimized >/dev/null
  ninja -C "$plain" tests/fuzz/claims_run >/dev/null
  mkdir -p "$plain/findings"
  exec "$plain/tests/fuzz/claims_run" 0 "$amount" "$plain/findings"
fi
check_tools
set_up "$build" -Db_sanitize=address,undefined
case $target in
  all) fuzz_all "$amount" ;;
  canary) fuzz_canary "${amount:-$canary_seconds}" ;;
  filters | filter:*)
    build_decoders
    decoders=$(ls "$build/filter-seeds")
    [ "$target" = filters ] || decoders=${target#filter:}
    bad=0
    printf '| decoder | seconds | executions | findings |\n|---|---|---|---|\n'
    for decoder in $decoders; do
      measured fuzz_decoder "$decoder" "${amount:-600}"
      echo "$row"
    done
    exit "$bad" ;;
  *)
    ninja -C "$build" "tests/fuzz/fuzz_$target"
    fuzz_target "$target" "${amount:-600}" ;;
esac
