#!/bin/sh
# Prints the soname of the shared library that a compiler links for -lNAME; nothing if there is none:
#   soname.sh NAME COMPILER…
set -eu
name=$1
shift
readelf -d "$("$@" -print-file-name="lib$name.so")" 2>/dev/null | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
