"""Generated sets of files, joined through the mount and by h5mount --cat, held against an oracle of the
rules; and the oracle itself, held against netCDF4-python's decoding of each file and against cftime."""
import os
import sys

import h5py
import numpy as np

from mounting import MountTest, unmount
from support.join_compare import CommandTree, MountedTree, compare
from support.join_decoding import differences
from support.join_oracle import Options, joined
from support.join_sets import make_set
from support.join_times import rebased, time_units
from support.program import H5MOUNT

SETS = int(os.environ.get("H5MOUNT_JOIN_SETS", "60"))
FIRST = int(os.environ.get("H5MOUNT_JOIN_SEED", "0"))


class JoinedSets(MountTest):
    seconds = 60 + SETS // 2

    def run_sets(self, seeds, tree_of):
        """Compares sets; returns what was counted."""
        total, wrong = {}, []
        for seed in seeds:
            made = make_set(seed, "set%d" % seed)
            whole = joined(made.files, made.options)
            tree, end = tree_of(made)
            found = compare(tree, whole, seed)
            end()
            for key, count in found.counts.items():
                total[key] = total.get(key, 0) + count
            for problem in found.problems:
                wrong.append("seed %d %s %s: %s" % (seed, made.options.words(), sorted(made.traits), problem))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong[:40]))
        print("%d sets: %s" % (len(seeds), total), file=sys.stderr)
        self.assertEqual((total["wrong"], total["unaccounted"]), (0, 0))
        self.assertGreater(total["values"], 20 * len(seeds))
        self.assertGreater(total["refused"], len(seeds) // 20)

    def test_generated_sets_through_a_mount(self):
        def mounted(made):
            mnt = self.mount(*made.options.words(), made.directory)
            return MountedTree(mnt), lambda: unmount(mnt)

        self.run_sets(range(FIRST, FIRST + SETS), mounted)

    def test_generated_sets_without_a_mount(self):
        def command(made):
            return CommandTree(H5MOUNT, made.directory, made.options.words()), lambda: None

        self.run_sets(range(FIRST + 100000, FIRST + 100000 + max(SETS // 20, 1)), command)


class JoinedOracle(MountTest):
    def test_it_agrees_with_netcdf4_and_cftime(self):
        values = 0
        for seed in range(FIRST, FIRST + SETS):
            made = make_set(seed, "set%d" % seed)
            wrong, count = differences(made.files, joined(made.files, made.options))
            self.assertEqual(wrong, [], seed)
            values += count
        self.assertGreater(values, 20 * SETS)

    def test_it_refuses_what_is_made_to_be_refused(self):
        """About a fifth of the sets; else it would be said to agree with anything."""
        refused = 0
        for seed in range(FIRST, FIRST + 3 * SETS):
            made = make_set(seed, "set%d" % seed)
            whole = joined(made.files, made.options)
            refused += bool(whole.error or any(m.error for m in whole.datasets.values()))
        self.assertGreater(refused, SETS * 3 // 10)

    def test_times_are_exact_and_rounded_once(self):
        """Where two roundings differ from one, the one is taken."""
        first, own = time_units("days since 2000-01-01"), time_units("seconds since 1999-12-31 23:59:59")
        for value in (0.1, 1e15 + 0.125, 86401):
            exact = rebased(np.float64(value), own, first)
            self.assertEqual(exact * 86400 + 1, own.moment(value) / 10**6 - first.epoch / 10**6 + 1)
        self.assertEqual(rebased(np.int32(54), time_units("hours since 2000-01-01"), first), 2.25)

    def test_a_wrong_value_is_found(self):
        """The comparison sees one bit of one value."""
        os.mkdir("set")
        for i in range(2):
            with h5py.File("set/f%d.h5" % i, "w") as f:
                f["v"] = np.arange(4.0) + i
        files = [("f%d.h5" % i, "set/f%d.h5" % i) for i in range(2)]
        whole = joined(files, Options(":0"))
        whole.datasets["v"].values[5] = np.nextafter(whole.datasets["v"].values[5], 9)
        mnt = self.mount(*Options(":0").words(), "set")
        found = compare(MountedTree(mnt), whole)
        self.assertEqual(found.counts["wrong"], 1)
