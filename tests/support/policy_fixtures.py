#!/usr/bin/env python3
"""Bombs, polyglots and escapes for `fsck.h5 --policy=`: small files, the same in every run. Each lies in a
directory of its own, as what they name is beside, below or above it:
    policy_fixtures.py DIRECTORY [NAME…]     writes them as DIRECTORY/NAME/file.h5
tests/mount/test_policy_fixtures.py says what the verdict on each must be."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from support.policy_claims import FIXTURES
from support import policy_damage  # adds its own


def write(directory, name):
    """Writes one and returns its path."""
    os.makedirs(os.path.join(directory, name))
    out = os.path.join(directory, name, "file.h5")
    FIXTURES[name](out)
    return out


if __name__ == "__main__":
    for _name in sys.argv[2:] or FIXTURES:
        write(sys.argv[1], _name)
