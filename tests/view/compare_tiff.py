#!/usr/bin/python3
"""Holds /.h5/tiff of HDF5 files against h5py, by hand: compare_tiff.py H5MOUNT FILE…

Mounts each file on a directory of its own. Each image is read by tifffile and compared element for element;
libtiff's tiffinfo and GDAL must open it, where they are installed. What cannot be compared is counted by
reason; the exit status is 1 where anything differs."""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import tifffile

try:
    from osgeo import gdal

    gdal.UseExceptions()
except ImportError:
    gdal = None

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
MAX_BYTES = 64 << 20


def images(root):
    """Paths to the images, and the names of their datasets."""
    for top, directories, names in os.walk(root):
        directories[:] = [name for name in directories if name != ".h5"]
        for name in names:
            path = os.path.join(top, name)
            if not os.path.islink(path):
                yield path, os.path.relpath(path, root)[: -len(".tif")]


def compare(path, file, name):
    """Why the image is not what the dataset is; '' where it is."""
    if os.stat(path).st_size > MAX_BYTES:
        return "skip: large"
    try:
        want = file[name][()]
    except Exception:  # a name that is encoded, or what libhdf5 cannot read
        return "skip: h5py cannot read it"
    try:
        have = tifffile.imread(path)
    except Exception as error:
        return f"tifffile: {type(error).__name__}"
    if have.size != want.size or not np.array_equal(
        have.reshape(-1), want.reshape(-1).astype(have.dtype), equal_nan=have.dtype.kind == "f"
    ):
        return "differs"
    if (
        shutil.which("tiffinfo")
        and subprocess.run(["tiffinfo", "-D", path], capture_output=True, check=False).stderr
    ):
        return "tiffinfo complains"
    if gdal is not None:
        try:
            gdal.Open(path)
        except RuntimeError as error:
            return f"GDAL: {error}"
    return ""


def main():
    program, files = sys.argv[1], sys.argv[2:]
    counts = collections.Counter()
    for path in files:
        with tempfile.TemporaryDirectory() as point:
            if subprocess.run([program, path, point], capture_output=True, check=False).returncode != 0:
                counts["not mounted"] += 1
                continue
            try:
                with h5py.File(path, "r") as file:
                    for image, name in images(os.path.join(point, ".h5", "tiff")):
                        reason = compare(image, file, name)
                        counts[reason] += 1
                        if reason and not reason.startswith("skip"):
                            print(f"{path}: {name!r}: {reason}")
            except OSError:
                counts["h5py cannot open it"] += 1
            finally:
                subprocess.run(["fusermount3", "-u", point], check=False)
    for reason, count in sorted(counts.items()):
        print(f'{count:7d}  {reason or "equal"}')
    good = ("", "not mounted", "h5py cannot open it")
    return int(any(reason not in good and not reason.startswith("skip") for reason in counts))


if __name__ == "__main__":
    sys.exit(main())
