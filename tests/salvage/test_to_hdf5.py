#!/usr/bin/python3
"""Writes files back with scripts/to_hdf5.py and compares them with h5diff.

usage: test_to_hdf5.py H5MOUNT [FILE_OR_DIRECTORY…]

Without files: of one of its own that has a bit of everything, and the same with damage, salvaged. Prints a
line for each file that does not come back equal, and counts. Status 1 where anything differs that to_hdf5.py
did not name.
"""
import argparse, os, shutil, subprocess, sys, tempfile

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

HERE = os.path.dirname(os.path.abspath(__file__))
TO_HDF5 = os.path.join(HERE, "..", "..", "scripts", "to_hdf5.py")


def write_example(path):
    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["title"] = "a bit of everything"
        file.attrs["numbers"] = np.arange(5, dtype=">i2")
        group = file.create_group("group/below")
        group["plain"] = np.arange(3000).reshape(30, 100)
        group.create_dataset("packed", data=np.arange(4000), chunks=(100,), compression=1, shuffle=True)
        group.create_dataset(
            "growing",
            data=np.random.default_rng(1).random((50, 3)),
            chunks=(7, 3),
            maxshape=(None, 3),
            fletcher32=True,
        )
        rows = np.array([(i, i / 3, b"row") for i in range(20)], [("a", "i4"), ("b", "f8"), ("c", "S5")])
        file["table"] = rows
        # Larger than what is written at once.
        file.create_dataset(
            "large",
            data=np.arange(18_000_000, dtype="i4").reshape(-1, 1000),
            chunks=(700, 1000),
            compression=1,
        )
        file["words"] = np.array(["one", "two\nlines", "drei \u00e4"], h5py.string_dtype())
        file["ragged"] = np.array([np.arange(i) for i in range(4)] + [None], h5py.vlen_dtype("i4"))[:4]
        file["nothing"] = h5py.Empty("f4")
        file["scalar"] = 4.5
        file["link"] = h5py.SoftLink("/table")
        file["same"] = file["table"]
        file["group/below/plain"].make_scale("plain")
        file["group/below/growing"].attrs["which"] = file["table"].ref


class Comparison:
    def __init__(self, h5mount):
        self.h5mount, self.work = h5mount, tempfile.mkdtemp(prefix="to-hdf5-")
        self.counts = {}

    def count(self, what, path, words=""):
        self.counts[what] = self.counts.get(what, 0) + 1
        if what != "equal":
            print(f"{what}: {path}: {words[:300]}", flush=True)
        return what

    def written(self, path, options=""):
        """OUT.h5, or nothing, and what to_hdf5.py left out."""
        out = os.path.join(self.work, "out.h5")
        if os.path.exists(out):
            os.remove(out)
        command = [sys.executable, TO_HDF5, "--h5mount", self.h5mount] + (["-o", options] if options else [])
        done = subprocess.run(
            command + [path, out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600
        )
        words = done.stderr.decode(errors="replace")
        left_out = [line.split(": ", 2)[1] for line in words.splitlines() if ": left out: " in line]
        return (out if os.path.exists(out) else None), left_out, words

    def compare(self, path, original=None, options=""):
        try:
            out, left_out, words = self.written(path, options)
        except subprocess.TimeoutExpired:
            return self.count("too slow", path)
        if out is None:
            return self.count("not written", path, words)
        without = []
        for name in left_out:
            without += ["--exclude-path", name.split("@")[0].split(" filter ")[0]]
        try:
            done = subprocess.run(
                ["h5diff"] + without + [original or path, out], capture_output=True, timeout=300
            )
        except subprocess.TimeoutExpired:
            return self.count("h5diff too slow", path)
        told = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        if done.returncode == 0:
            return self.count(
                "equal but for what is named" if left_out else "equal", path, "; ".join(left_out)
            )
        # 2, or a signal: h5diff cannot read the original
        return self.count("differs" if done.returncode == 1 else "not comparable", path, told)


def own_files(comparison):
    """A file, a copy of its tree, and the file with a chunk index overwritten and without its first bytes."""
    sound = os.path.join(comparison.work, "example.h5")
    write_example(sound)
    with open(sound, "rb") as file:
        data = bytearray(file.read())
    comparison.compare(sound)
    copy = os.path.join(comparison.work, "copy")
    subprocess.run([comparison.h5mount, "--copy", "--metadata", sound, "/", copy], check=True)
    comparison.compare(copy, sound)  # without /words, where a line is a string and one has two lines
    at = data.find(b"FAHD")
    data[at : at + 16] = b"\xa5" * 16
    data[:48] = bytes(48)
    damaged = os.path.join(comparison.work, "damaged.h5")
    with open(damaged, "wb") as file:
        file.write(data)
    comparison.compare(damaged, sound, "salvage")
    # A virtual dataset of so many rows as there are other files.
    for i in range(3):
        with h5py.File(os.path.join(comparison.work, f"part{i}.h5"), "w") as file:
            file["data"] = np.arange(6) + i
    virtual = os.path.join(comparison.work, "virtual.h5")
    with h5py.File(virtual, "w", libver="latest") as file:
        rows = h5s.create_simple((1, 6), (h5s.UNLIMITED, 6))
        rows.select_hyperslab((0, 0), (h5s.UNLIMITED, 1), (1, 1), (1, 6))
        properties = h5p.create(h5p.DATASET_CREATE)
        properties.set_virtual(rows, b"part%b.h5", b"data", h5s.create_simple((6,)))
        h5d.create(
            file.id, b"joined", h5t.NATIVE_INT64, h5s.create_simple((1, 6), (h5s.UNLIMITED, 6)), properties
        )
    comparison.compare(virtual)
    sparse_file(comparison)
    return 0 if comparison.counts == {"equal": 5, "equal but for what is named": 1} else 1


def chunks_of(dataset):
    return {dataset.id.get_chunk_info(i).chunk_offset for i in range(dataset.id.get_num_chunks())}


def sparse_file(comparison):
    """Chunks that were never written are not written, of a file and of a copy. h5diff would read 256 GiB."""
    path = os.path.join(comparison.work, "sparse.h5")
    written = [(0, 0), (512, 1024), (1 << 19, 256), ((1 << 20) - 256, (1 << 16) - 256)]
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", (1 << 20, 1 << 16), "i4", chunks=(256, 256), compression=1)
        for i, (row, column) in enumerate(written):
            data[row : row + 256, column : column + 256] = np.full((256, 256), i + 1)
        file.create_dataset("never", (1 << 40,), "u1", chunks=(1 << 20,))
    copy = os.path.join(comparison.work, "sparse")
    subprocess.run([comparison.h5mount, "--copy", "--metadata", path, "/", copy], check=True)
    for source in (path, copy):
        out, _, words = comparison.written(source)
        if out is None or words:
            return comparison.count("sparse: not written", source, words)
        with h5py.File(out) as file:
            same = (
                chunks_of(file["data"]) == set(written)
                and chunks_of(file["never"]) == set()
                and all(
                    (file["data"][row : row + 256, column : column + 256] == i + 1).all()
                    for i, (row, column) in enumerate(written)
                )
            )
        comparison.count("equal" if same else "sparse: differs", source)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("h5mount")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    comparison = Comparison(arguments.h5mount)
    status = 0
    if not arguments.files:
        status = own_files(comparison)
    for place in arguments.files:
        files = [place]
        if os.path.isdir(place):
            files = sorted(
                os.path.join(directory, name)
                for directory, _, names in os.walk(place)
                for name in names
                if name.endswith((".h5", ".hdf5", ".nc", ".mat"))
            )
        for path in files:
            comparison.compare(path)
    shutil.rmtree(comparison.work)
    print(", ".join(f"{number} {what}" for what, number in sorted(comparison.counts.items())))
    return 1 if status or comparison.counts.get("differs") else 0


if __name__ == "__main__":
    if not shutil.which("h5diff"):
        sys.exit(77)
    sys.exit(main())
