#!/bin/sh
# Hammers mounts with mixed readers and faults of their source, compares every byte with known ones, and watches
# memory, descriptors and threads; a report at its end, and exit code 1 where anything was wrong.
#
#   scripts/soak.sh HOURS [BUILD-DIRECTORY [OPTIONS]]     (fractions too: 0.1; needs /dev/fuse, h5py, numpy; OPTIONS are
#   the mount's)
set -eu
hours=${1:?usage: scripts/soak.sh HOURS [BUILD-DIRECTORY [OPTIONS]]}
here=$(cd "$(dirname "$0")" && pwd)
build=${2:-$here/../build-tests}
python=$(command -v /usr/bin/python3 || command -v python3)
exec "$python" "$here/soak.py" "$hours" "$build/src/cli/h5mount" "$build/tests/faults/fault_fs" ${3:+"$3"}
