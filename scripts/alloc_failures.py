#!/usr/bin/env python3
"""Makes each allocation of the program fail once, on each path.

    alloc_failures.py H5MOUNT LIBRARY [--from N] [--to N] [--only PATH,…]

LIBRARY is libfail_alloc.so of the build directory's tests/faults. Prints what ended, hung or stayed wrong
(tests/faults/alloc_failures.py says what is tried), and how many allocations were tried and reached.
"""
import argparse
import os
import sys

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "faults"))

import alloc_failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("h5mount")
    parser.add_argument("library")
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--to", type=int, default=2000, dest="last")
    parser.add_argument("--only", default=",".join(alloc_failures.PATHS))
    chosen = parser.parse_args()
    trials = alloc_failures.Trials(os.path.abspath(chosen.h5mount), os.path.abspath(chosen.library))
    try:
        for path in chosen.only.split(","):
            for number in range(chosen.first, chosen.last + 1):
                before = len(trials.failures)
                trials.run(path, number)
                for failure in trials.failures[before:]:
                    print(failure, flush=True)
        print(trials.table())
    finally:
        trials.end()
    return 1 if trials.failures else 0


if __name__ == "__main__":
    sys.exit(main())
