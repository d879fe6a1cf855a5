#!/usr/bin/python3
"""Compares the size of each file in a mount with the bytes that a read of it gives.

    check_sizes.py MOUNT [NAMES]     what the mount shows, and all of .h5 in it

Every file is measured before it was ever opened. Of each directory NAMES (30) files and as many directories
are taken, and no files over 32 MiB. What cannot be read must have a size all the same: tar and git do not
open files without bytes.
"""
import errno, os, stat, sys

MOST_BYTES = 32 << 20


def check(path):
    """Whether the file was read; None where it is none."""
    seen = os.lstat(path)
    if not stat.S_ISREG(seen.st_mode) or seen.st_size > MOST_BYTES:
        return None
    try:
        with open(path, "rb") as file:
            found = len(file.read())
    except OSError as why:
        too_large = why.errno == errno.EFBIG and seen.st_size == 0  # no size can say how long it is
        assert too_large or seen.st_size > 0 and seen.st_blocks > 0, (path, seen, why)
        return False
    assert found == seen.st_size, (path, found, seen.st_size)
    assert seen.st_blocks > 0 or found == 0 or is_hole(path), (path, seen)
    return True


def is_hole(path):
    with open(path, "rb") as file:
        try:
            return file.seek(0, os.SEEK_DATA) < 0
        except OSError:
            return True


def main(mount, most_names):
    counts = {True: 0, False: 0, None: 0}
    for top in (mount, mount + "/.h5"):
        for directory, below, names in os.walk(top, onerror=lambda why: print(why)):
            del below[most_names:]
            for name in names[:most_names]:
                counts[check(directory + "/" + name)] += 1
    print("%d files read, %d cannot be read, %d others" % tuple(counts.values()))


main(sys.argv[1], int((sys.argv[2:] or [30])[0]))
