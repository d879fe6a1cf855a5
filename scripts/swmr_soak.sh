#!/bin/sh
# Follows live SWMR files for longer than the tests do, and prints the figures: every byte through `tail -f`
# for each index type, writers killed and restarted, latency from flush to visibility compared with h5py, the
# cost of an idle mount, the cost of an appended megabyte in a small and a large file, and a long replay of
# torn writes.
#
#   scripts/swmr_soak.sh BUILD-DIRECTORY [FRAMES]        (needs libhdf5 for the writer, h5clear, /dev/fuse,
#                                                        python3, strace)
set -eu
build=$(cd "$1" && pwd)
frames=${2:-10000}
here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v /usr/bin/python3 || command -v python3)
"$python" "$here/swmr_measure.py" "$build" "$frames"
echo "== replay, torn at every 512 bytes"
SWMR_REPLAY_FRAMES=$((frames / 10)) "$build/tests/swmr/swmr_replay_test" | grep '^ea\|^bt2\|^fa\|PASSED\|FAILED'
