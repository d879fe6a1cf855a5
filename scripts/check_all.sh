#!/bin/sh
# What takes too long for every test run:
#   scripts/check_all.sh [tidy] [threads] [minimal] [units] [asan] [tsan]     all of them by default; one line each at the end
# tidy     clang-tidy 19 over src/, by .clang-tidy
# threads  a clang 19 build with -Wthread-safety as an error: what a lock guards is only used under it
# minimal  a build without libdeflate and every other library that can be missing, warnings as errors, and the tests of
#          its modules
# units    the unit tests, built with clang's address and undefined behaviour sanitizers; -Wthread-safety is an error
# asan     the whole suite, mounts included, built with clang's address and undefined behaviour sanitizers
# tsan     the same with its thread sanitizer
# Builds lie in build-check-*, beside the others.
set -u
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- tidy threads minimal units asan tsan
failed=

need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  echo "no $1: apt-get install $2" >&2
  return 1
}

setup() {  # DIRECTORY OPTION...
  directory=$1
  shift
  [ -f "$directory/build.ninja" ] || meson setup "$directory" "$@" >/dev/null
}

tidy() {
  need clang-tidy-19 clang-tidy-19 && setup build-check-tidy -Djoined=false -Dtests=false || return 1
  find src -name '*.cpp' -print0 |
    xargs -0 -n 4 -P "$(nproc)" clang-tidy-19 --quiet -p build-check-tidy --extra-arg=-Wno-unknown-warning-option
}

threads() {
  need clang++-19 clang-19 || return 1
  CXX=clang++-19 setup build-check-threads -Dcpp_args='-Wthread-safety -Werror=thread-safety' || return 1
  ninja -C build-check-threads
}

# With zlib in libdeflate's place, and no codec.
minimal() {
  setup build-check-minimal -Dauto_features=disabled -Dwerror=true -Doptimization=0 -Ddebug=false || return 1
  ninja -C build-check-minimal src/cli/h5mount src/cli/fsck.h5 &&
    scripts/run_tests.py --build --only base,format,filter,chunk,object,dataset,view,cli,salvage,serve build-check-minimal
}

# With clang, which compiles such code two to three times as fast as gcc. Time limits are those of plain builds,
# ten times.
sanitized() {  # NAME SANITIZERS OPTION-OF-run_tests...
  need clang++-19 clang-19 || return 1
  directory=build-check-$1 sanitizers=$2
  shift 2
  CXX=${SANITIZER_CXX:-clang++-19} setup "$directory" -Doptimization=1 -Db_sanitize="$sanitizers" \
    -Db_lundef=false -Dcpp_args="-g1 -Wthread-safety -Werror=thread-safety $more_arguments" &&
    scripts/run_tests.py --build --timeout-factor 10 "$@" "$directory"
}

more_arguments=

address() {
  export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  sanitized "$1" address,undefined --jobs "$2" ${3:+--only "$3"}
}

# Null pointers and what lies outside of an object are found by the address sanitizer, too, when they are used; without
# the checks of each use beforehand, and of dynamic types, the build takes two thirds of its time. `asan` has them.
units() {
  more_arguments=-fno-sanitize=null,object-size,vptr
  address units 3 base,io,cache,format,filter,chunk,metadata,object,dataset,text,view,meaning,sign,remote,salvage,tree,check,serve,hostile
}

asan() {
  address asan 1
}

tsan() {
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  sanitized tsan thread --jobs 1
}

for check in "$@"; do
  case $check in
    tidy | threads | minimal | units | asan | tsan) ("$check") || failed="$failed $check" ;;
    *)
      echo "no such check: $check (tidy, threads, minimal, units, asan, tsan)" >&2
      exit 2
      ;;
  esac
done
for check in "$@"; do
  case " $failed " in
    *" $check "*) echo "$check: FAILED" ;;
    *) echo "$check: ok" ;;
  esac
done
[ -z "$failed" ]
