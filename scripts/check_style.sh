#!/bin/sh
# The style that a machine can check without compiling: clang-format 19 over every C++ file, and check_style.py.
# Part of the tests; a skip (77) where clang-format 19 is missing. CLANG_FORMAT names another program.
set -eu
cd "$(dirname "$0")/.."
format=${CLANG_FORMAT:-clang-format-19}
status=0
python3 scripts/check_style.py || status=1
if ! command -v "$format" >/dev/null 2>&1; then
  echo "no $format: the format was not checked (scripts/install_packages.sh style)" >&2
  [ $status = 0 ] && exit 77
  exit $status
fi
find src include tests \( -name '*.cpp' -o -name '*.h' \) -print0 |
  xargs -0 -n 40 -P 2 "$format" --dry-run -Werror || status=1
exit $status
