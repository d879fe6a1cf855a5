#!/bin/sh
# The style that a machine can check without compiling: clang-format 19 over every C++ file, black over every Python file,
# and check_style.py. Part of the tests; a skip (77) where a formatter is missing. CLANG_FORMAT names another program.
set -eu
cd "$(dirname "$0")/.."
format=${CLANG_FORMAT:-clang-format-19}
status=0
python3 scripts/check_style.py || status=1
missing=
have() {
  command -v "$1" >/dev/null 2>&1 && return 0
  echo "no $1: the format of what it formats was not checked (scripts/install_packages.sh style)" >&2
  missing=1
  return 1
}
if have "$format"; then
  find src include tests \( -name '*.cpp' -o -name '*.h' \) -print0 |
    xargs -0 -n 40 -P 2 "$format" --dry-run -Werror || status=1
fi
# Debian 12's black, as other versions break lines elsewhere. It breaks no strings and comments: `columns` holds those.
if have black; then
  { find scripts tests -name '*.py' -print0 && grep -rlZ '^#!.*python3' scripts/package/integrations; } |
    xargs -0 black --check --line-length 110 || status=1
fi
[ $status = 0 ] && [ "$missing" ] && exit 77
exit $status
