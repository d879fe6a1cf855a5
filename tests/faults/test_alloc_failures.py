"""Each allocation from 1 to 2,000 fails once, on one of the paths: scripts/alloc_failures.py tries all on
all."""
import os
import unittest

from alloc_failures import Trials
from support.program import H5MOUNT, sanitized

LIBRARY = os.path.join(os.path.dirname(H5MOUNT), "..", "..", "tests", "faults", "libfail_alloc.so")
READ = ("local", "far", "listing", "served")


@unittest.skipIf(sanitized(), "the sanitizers have allocators of their own")
class AllocFailures(unittest.TestCase):
    seconds = 600

    def setUp(self):
        self.trials = Trials(H5MOUNT, LIBRARY)
        self.addCleanup(self.trials.end)

    def run_all(self, numbers):
        for number, path in numbers:
            self.trials.run(path, number)
            assert len(self.trials.failures) < 5, self.trials.failures
        print(self.trials.table(), flush=True)
        assert not self.trials.failures, self.trials.failures

    def test_none_ends_hangs_or_leaves_anything_wrong(self):
        """The quick paths more often, as each number is tried once."""

        def path(number):
            if number % 16 == 0:
                return "listing"
            return "far" if number % 8 == 4 else "served" if number % 3 == 0 else "local"

        self.run_all((number, path(number)) for number in range(1, 2001))
        assert all(
            self.trials.reached[one] > 0.9 * self.trials.tried[one] for one in READ
        ), self.trials.table()

    def test_the_first_of_each_path_neither(self):
        self.run_all((number, path) for number in range(1, 33) for path in READ)

    def test_a_file_that_is_compared_is_taken_up(self):
        self.run_all((number, "changed") for number in range(1, 61))
        assert self.trials.reached["changed"] > 40, self.trials.reached


if __name__ == "__main__":
    unittest.main()
