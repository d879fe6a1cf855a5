#!/bin/sh
# Installs the Debian packages of packages.txt that are missing: install_packages.sh
#   run|build|test|style|sanitize|bench|fuzz|package|elsewhere
set -eu
here=$(cd "$(dirname "$0")" && pwd)
wanted=$(awk -v last="$1" '
  /^# \[/ {
    if (found) exit
    if (index($0, "[" last "]")) found = 1
    # To make a package needs what building needs, and nothing of the tests.
    skipped = last == "package" && !index($0, "[run]") && !index($0, "[build]") && !found
    # What makes a system of its own needs nothing of this one.
    if (last == "elsewhere") skipped = !found
    next
  }
  skipped { next }
  /^#/ { next }
  NF { print $1 }' "$here/packages.txt")
missing=
for package in $wanted; do
  case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    *" installed") ;;
    *) missing="$missing $package" ;;
  esac
done
# What is there by another package: pkgconf provides pkg-config, packages of nodejs from elsewhere npm.
for program in pkg-config npm; do
  command -v "$program" >/dev/null 2>&1 && missing=$(printf '%s\n' $missing | grep -vx "$program" | tr '\n' ' ')
done
[ -n "$(printf '%s' "$missing" | tr -d ' ')" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
echo "installing:" $missing
$as_root apt-get update -q
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
