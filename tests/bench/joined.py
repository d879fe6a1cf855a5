#!/usr/bin/python3
"""Many files as one: the goals of joined files, beside reading them one by one, xarray and ncrcat.

    joined.py H5MOUNT [--files 4400 10000] [--large 100] [--rounds 5] [--peers 400] [--directory DIR]
    [--only STEP…]

Makes K small files (24 steps of 3 packed variables on a grid of 20 by 30, 67 KB) and `--large` larger ones
(a float32 variable of 8 MiB as it is, and one of deflated chunks), and prints a table of Markdown: medians
of the rounds, ratios within one round. xarray.open_mfdataset and ncrcat read the first `--peers` files of
the same ones, and their times are per file.

Steps: look (first look, cold and warm, remembered), zarr (open_zarr in all), chunk, whole, series, memory."""
import argparse
import glob
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import netCDF4
import numpy as np

sys.dont_write_bytecode = True
import measure  # noqa: E402

STEPS = ("look", "zarr", "chunk", "whole", "series", "memory")
VARIABLES = ("t2m", "u10", "v10")
SHAPE = (24, 20, 30)


# ---- the files


def template(path):
    """A small file, and where its times are."""
    numbers = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w") as nc:
        for name, length in zip(("time", "lat", "lon"), SHAPE):
            nc.createDimension(name, length)
        nc.title = "a benchmark"
        for name, units in (("time", "hours since 2000-01-01"), ("lat", "degrees"), ("lon", "degrees")):
            variable = nc.createVariable(name, "f8", (name,))
            variable.units = units
            variable[:] = np.arange(len(variable))
        for name in VARIABLES:
            variable = nc.createVariable(
                name, "i2", ("time", "lat", "lon"), zlib=True, shuffle=True, chunksizes=(12, 20, 30)
            )
            variable.set_auto_maskandscale(False)
            variable.scale_factor, variable.add_offset, variable.units = 0.01, 273.15, "K"
            variable[:] = np.cumsum(numbers.integers(-9, 10, SHAPE), 0)
    with h5py.File(path, "r") as file:
        return file["time"].id.get_offset()


def make_small(directory, count):
    """Each file has the hours of one day."""
    place = os.path.join(directory, "small-%d" % count)
    if os.path.isdir(place):
        return place
    os.makedirs(place + ".part", exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        at = template(os.path.join(made, "one.nc"))
        with open(os.path.join(made, "one.nc"), "rb") as file:
            content = bytearray(file.read())
    for i in range(count):
        content[at : at + SHAPE[0] * 8] = (24.0 * i + np.arange(24.0)).tobytes()
        with open("%s.part/era_%d.nc" % (place, i), "wb") as file:
            file.write(content)
    os.rename(place + ".part", place)
    return place


def make_large(directory, count):
    """Contiguous float32 of 8 MiB and as much in deflated chunks."""
    place = os.path.join(directory, "large-%d" % count)
    if os.path.isdir(place):
        return place
    os.makedirs(place + ".part", exist_ok=True)
    smooth = np.round(np.cumsum(np.random.default_rng(2).normal(0, 1, (32, 256, 256)), 2), 1).astype("<f4")
    for i in range(count):
        with h5py.File("%s.part/run_%d.h5" % (place, i), "w") as file:
            file["time"] = np.arange(i * 32.0, i * 32 + 32)
            file["time"].make_scale("time")
            plain = file.create_dataset("plain", data=smooth)
            packed = file.create_dataset(
                "deflated", data=smooth, chunks=(8, 128, 256), compression=4, shuffle=True
            )
            for dataset in (plain, packed):
                dataset.dims[0].attach_scale(file["time"])
    os.rename(place + ".part", place)
    return place


def forget(source):
    for name in os.listdir(source):
        measure.drop_pages(os.path.join(source, name))


# ---- rows


class Bench:
    def __init__(self, options):
        self.options, self.rows = options, []

    def row(self, what, ours, goal="", beside="", ratio=""):
        self.rows.append((what, ours, goal, beside, ratio))
        print("| %s | %s | %s | %s | %s |" % self.rows[-1], flush=True)

    def mount(self, source, *more):
        place = tempfile.mkdtemp(prefix="mnt", dir=self.options.directory)
        words = ",".join(("join=time", *more))
        return measure.Mount([self.options.program, "-f"], source, place, words)

    def times(self, step):
        """Medians of what a function returns, a tuple or a number, over the rounds."""
        found = [np.atleast_1d(step()) for _ in range(self.options.rounds)]
        return [statistics.median(column) for column in zip(*found)]

    def command(self, *words, environment=None):
        begin = time.monotonic()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        return time.monotonic() - begin

    def first_look(self, source, *more):
        with self.mount(source, *more) as mounted:
            begin = time.monotonic()
            names = os.listdir(mounted.place + "/.h5/joined")
            spent = time.monotonic() - begin
            assert "time" in names, names
            return spent

    # ---- steps

    def look(self, source, count):
        def cold():
            forget(source)
            return self.first_look(source)

        each = 1000 / count
        (spent,) = self.times(cold)
        self.row("first look, cold, %d files" % count, "%.3f ms a file" % (spent * each))
        self.first_look(source)
        (spent,) = self.times(lambda: self.first_look(source))
        self.row("first look, warm, %d files" % count, "%.3f ms a file" % (spent * each), "1 ms a file")
        store = os.path.join(self.options.directory, "catalogue")
        shutil.rmtree(store, ignore_errors=True)
        self.first_look(source, "catalogue=" + store)
        (spent,) = self.times(lambda: self.first_look(source, "catalogue=" + store))
        self.row("remembered, %d files" % count, "%.3f ms a file" % (spent * each), "0.1 ms a file")
        self.peers(source)

    def peers(self, source):
        few = sorted(
            glob.glob(source + "/*"), key=lambda name: int(re.sub(r"\D", "", os.path.basename(name)))
        )
        few = few[: self.options.peers]
        with tempfile.TemporaryDirectory(dir=self.options.directory) as place:
            for name in few:
                os.link(name, os.path.join(place, os.path.basename(name)))
            code = "import xarray,sys; xarray.open_mfdataset(sys.argv[1]+'/*').close()"
            spent = self.command(sys.executable, "-c", code, place)
            self.row(
                "xarray.open_mfdataset of %d" % len(few), "", "", "%.1f ms a file" % (spent * 1000 / len(few))
            )
            if shutil.which("ncrcat"):
                records = []  # it joins along record dimensions alone
                for name in few:
                    records.append(os.path.join(place, "record_" + os.path.basename(name)))
                    self.command("ncks", "-O", "--mk_rec_dmn", "time", name, records[-1])
                words = ["ncrcat", "-O", *records, os.path.join(self.options.directory, "ncrcat.nc")]
                spent = self.command(*words)
                self.row("ncrcat of %d" % len(few), "", "", "%.1f ms a file" % (spent * 1000 / len(few)))

    def zarr(self, source, count):
        """From before the mount until the data set is open."""
        store = os.path.join(self.options.directory, "catalogue-zarr")
        shutil.rmtree(store, ignore_errors=True)
        self.first_look(source, "catalogue=" + store)
        code = (
            "import sys,time,xarray; t=time.monotonic();"
            " xarray.open_zarr(sys.argv[1]); print(time.monotonic()-t)"
        )

        def opened():
            with self.mount(source, "catalogue=" + store) as mounted:
                words = [sys.executable, "-c", code, mounted.place + "/.h5/joined/.h5/plain.zarr"]
                said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
                return mounted.mount_seconds + float(said)

        (spent,) = self.times(opened)
        self.row("open_zarr, remembered, %d files, in all" % count, "%.2f s" % spent, "1 s")

    def chunk(self, source, count):
        """A slice of one chunk of a file, by the joined file and by the file's own directory: ms."""

        def both():
            with self.mount(source) as mounted:
                os.listdir(mounted.place + "/.h5/joined")
                draw, joined, own = random.Random(3), [], []
                for _ in range(100):
                    number = draw.randrange(count)
                    start = 24 * number
                    one = "%s/.h5/joined/.h5/slice/t2m/%d:%d" % (mounted.place, start, start + 12)
                    # Of another file: what the first read has decoded is not decoded again.
                    other = draw.randrange(count)
                    two = "%s/era_%d.nc/.h5/slice/t2m/0:12" % (mounted.place, other)
                    for path, spent in ((one, joined), (two, own)):
                        begin = time.monotonic()
                        with open(path, "rb") as file:
                            assert len(file.read()) == 12 * 600 * 2
                        spent.append((time.monotonic() - begin) * 1000)
                return statistics.median(joined), statistics.median(own)

        joined, own = self.times(both)
        self.row(
            "one chunk of one of %d files" % count,
            "%.2f ms" % joined,
            "one file's and 0.2 ms",
            "%.2f ms" % own,
            "%+.2f ms" % (joined - own),
        )

    def whole(self, source, count):
        """--cat of the joined variable beside --cat of all files' in one command; and through a mount."""
        program = self.options.program
        for name in ("plain", "deflated"):
            paths = ["/run_%d.h5/%s" % (i, name) for i in range(count)]

            def by_command(name=name, paths=paths):
                joined = self.command(program, "-o", "join=time", "--cat", source, "/.h5/joined/" + name)
                own = self.command(program, "--cat", source, *paths)
                return joined, own, own / joined

            def by_mount(name=name):
                with self.mount(source) as mounted:
                    os.listdir(mounted.place + "/.h5/joined")
                    joined = self.command("cat", "%s/.h5/joined/%s" % (mounted.place, name))
                with self.mount(source) as mounted:
                    own = self.command(
                        "cat", *("%s/run_%d.h5/%s" % (mounted.place, i, name) for i in range(count))
                    )
                return joined, own, own / joined

            for how, step in (("--cat", by_command), ("a mount", by_mount)):
                joined, own, ratio = self.times(step)
                self.row(
                    "%s, whole, %d files, %s" % (name, count, how),
                    "%.2f s" % joined,
                    "0.9",
                    "%.2f s one by one" % own,
                    "%.2f" % ratio,
                )

    def series(self, source, count):
        """One point of every step; how many chunks were decoded for it."""

        def joined():
            with self.mount(source) as mounted:
                os.listdir(mounted.place + "/.h5/joined")
                before = mounted.counters()["chunks_decoded"]
                mounted.log.truncate(0)
                begin = time.monotonic()
                with open(mounted.place + "/.h5/joined/.h5/slice/t2m/:,7,9", "rb") as file:
                    assert len(file.read()) == 24 * count * 2
                spent = time.monotonic() - begin
                return spent, mounted.counters()["chunks_decoded"] - before

        spent, decoded = self.times(joined)
        few = sorted(glob.glob(source + "/*"))[: self.options.peers]
        begin = time.monotonic()
        for name in few:
            with netCDF4.Dataset(name) as nc:
                nc["t2m"][:, 7, 9]
        own = (time.monotonic() - begin) / len(few) * 1000
        self.row(
            "a point's series, %d files" % count,
            "%.2f s, %.3f ms a file" % (spent, spent * 1000 / count),
            "%d chunks once" % (2 * count),
            "netCDF4-python %.2f ms a file" % own,
            "%d decoded" % decoded,
        )

    def memory(self, source, count):
        """The process's peak over that of a mount that nobody looked below, per file and member."""

        def peak(look):
            with self.mount(source) as mounted:
                os.listdir(mounted.place)
                members = 1
                if look:
                    members = len(os.listdir(mounted.place + "/.h5/joined"))
                with open("/proc/%d/status" % mounted.process.pid) as file:
                    fields = dict(line.split(":", 1) for line in file)
                return int(fields["VmHWM"].split()[0]) * 1024, int(fields["VmRSS"].split()[0]) * 1024, members

        base, _, _ = peak(False)
        high, resident, members = peak(True)
        self.row(
            "memory, %d files of %d members" % (count, members),
            "peak %.1f MiB, %.0f bytes a file and member" % (high / 2**20, (high - base) / count / members),
            "100 bytes",
            "without a look %.1f MiB" % (base / 2**20),
            "resident %.0f bytes" % ((resident - base) / count / members),
        )

    def run(self):
        directory, only = self.options.directory, self.options.only
        print("| what | h5mount | goal | beside | ratio |\n|---|---:|---:|---:|---:|", flush=True)
        for count in self.options.files:
            source = make_small(directory, count)
            for step in ("look", "zarr", "chunk", "series", "memory"):
                if step in only:
                    getattr(self, step)(source, count)
        if "whole" in only and self.options.large:
            self.whole(make_large(directory, self.options.large), self.options.large)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = os.path.join(os.environ.get("TMPDIR", "/var/tmp"), "h5mount-bench")
    parser.add_argument("program", metavar="H5MOUNT")
    parser.add_argument("--files", type=int, nargs="+", default=[4400, 10000])
    parser.add_argument("--large", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=int, default=400)
    parser.add_argument("--directory", default=usual)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=STEPS)
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    os.makedirs(options.directory, exist_ok=True)
    Bench(options).run()


main()
