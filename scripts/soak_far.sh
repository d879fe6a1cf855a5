#!/bin/sh
# Reads a file of an HTTP server for long, and compares every byte: first while the object is replaced again and
# again, which must never mix two versions, then with random faults of the server. A report at its end, and exit
# code 1 where anything was wrong.
#
#   scripts/soak_far.sh MINUTES BUILD-DIRECTORY [--changes N]    (MINUTES of faults, after N changes, 10,000 unless
#                                                                said; 0 leaves one out; needs /dev/fuse, h5py)
set -eu
minutes=${1:?usage: scripts/soak_far.sh MINUTES BUILD-DIRECTORY [--changes N]}
build=${2:?usage: scripts/soak_far.sh MINUTES BUILD-DIRECTORY [--changes N]}
shift 2
here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v /usr/bin/python3 || command -v python3)
exec "$python" "$here/soak_far.py" "$minutes" "$build/src/cli/h5mount" "$@"
