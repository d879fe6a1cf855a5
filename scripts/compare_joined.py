#!/usr/bin/python3
"""Joins generated sets of files and holds every value against an oracle of the rules, by hand.

    compare_joined.py H5MOUNT [--sets 10000] [--seed 0] [--jobs 2] [--cat] [--keep DIRECTORY]

Each set is 2 to 6 small files (tests/support/join_sets.py); what is expected is said by NumPy and whole
fractions (tests/support/join_oracle.py). Sets are mounted, or read by h5mount --cat with `--cat`. Prints each
problem with its seed and a summary; the exit status is 1 where anything is not as expected. `--keep` leaves
the files of sets with problems there."""
import argparse
import collections
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from support.join_compare import CommandTree, MountedTree, compare  # noqa: E402
from support.join_oracle import joined  # noqa: E402
from support.join_sets import make_set  # noqa: E402


def unmount(mnt):
    words = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    if subprocess.run([*words, mnt], capture_output=True, check=False).returncode != 0:
        subprocess.run([*words, "-l" if os.geteuid() == 0 else "-z", mnt], check=False)


def compare_set(program, seed, by_command, keep):
    """(counts, problems, traits) of one set."""
    with tempfile.TemporaryDirectory(prefix="compare-joined-") as place:
        made = make_set(seed, os.path.join(place, "set"))
        whole = joined(made.files, made.options)
        mnt = os.path.join(place, "mnt")
        if by_command:
            found = compare(CommandTree(program, made.directory, made.options.words()), whole, seed)
        else:
            os.mkdir(mnt)
            words = [program, *made.options.words(), made.directory, mnt]
            ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            if ended.returncode != 0:
                return {"wrong": 1}, ["not mounted: " + ended.stderr], made.traits
            try:
                found = compare(MountedTree(mnt), whole, seed)
            finally:
                unmount(mnt)
        if found.problems and keep:
            shutil.copytree(made.directory, os.path.join(keep, str(seed)), dirs_exist_ok=True)
        words = " ".join(made.options.words())
        return found.counts, ["%s: %s" % (words, problem) for problem in found.problems], made.traits


def compare_seed(arguments):
    program, seed, by_command, keep = arguments
    try:
        return seed, *compare_set(program, seed, by_command, keep)
    except Exception:  # one set's trouble is told, and the others go on
        return seed, {"wrong": 1}, [traceback.format_exc(limit=-3)], set()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", metavar="H5MOUNT")
    parser.add_argument("--sets", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cat", action="store_true", help="without a mount")
    parser.add_argument("--keep", metavar="DIRECTORY", help="where files of sets with problems are left")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    counts, traits, bad = collections.Counter(), collections.Counter(), 0
    seeds = range(options.seed, options.seed + options.sets)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        work = ((program, seed, options.cat, options.keep) for seed in seeds)
        for seed, found, problems, has in pool.map(compare_seed, work, chunksize=8):
            counts.update(found)
            traits.update(has)
            bad += bool(problems)
            for problem in problems:
                print("seed %d: %s" % (seed, problem), flush=True)
    for trait, count in sorted(traits.items()):
        print("%7d  %s" % (count, trait))
    print(
        "%d sets: %d values compared, %d refused as expected or not, %d wrong, %d of %d files unaccounted;"
        " %d sets with problems"
        % (
            options.sets,
            counts["values"],
            counts["refused"],
            counts["wrong"],
            counts["unaccounted"],
            counts["files"],
            bad,
        )
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
