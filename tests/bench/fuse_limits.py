"""How near h5mount comes to what FUSE allows: the group `limits`. Beside it in each round: a trivial FUSE
file system in both of libfuse's loops, the decoder's roofline, H5Dread and h5py; with --baseline an earlier
build. Rows that begin with `for comparison` are not of h5mount: they show what a program reaches that does
only a part of the work."""
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from measure import Mount, Sample, run
from report import Row

MIB = 1 << 20
ROUNDS = 10  # where the worst one counts


def walls(samples):
    return [sample.wall for sample in samples]


class Limits:
    def __init__(self, bench, other, duration):
        self.bench, self.other, self.duration = bench, other, duration

    def all(self):
        self.at_random()
        self.columns()
        self.in_order()
        self.metadata()
        self.many()

    # -- references --

    def trivial(self, file, *arguments, single=False):
        bench = self.bench
        program = [bench.tool("trivial_fuse"), *(["-s"] if single else [])]
        with Mount(program, bench.paths[file], f"{bench.directory}/mnt-trivial") as mount:
            return mount.measured(bench.reader(*arguments, f"{mount.place}/data"))

    def trivials(self, file, *arguments, target):
        """Both loops: the promise holds beside the better one."""
        return [
            self.other(
                f"trivial FUSE, {name}", lambda s=single: self.trivial(file, *arguments, single=s), target
            )
            for name, single in (("one thread", True), ("many threads", False))
        ]

    def baseline(self, file):
        bench = self.bench
        return Mount([bench.baseline, "-f"], bench.paths[file], f"{bench.directory}/mnt-baseline")

    # -- cases --

    def at_random(self):
        bench, other = self.bench, self.other
        _, (by_h5py, trivial) = bench.compare(
            "series, 4 KiB at random, cold",
            lambda: bench.cold("series", "random", 8000, 4096),
            [
                other("h5py", lambda: bench.h5py("random", "series", 8000, 4096), 2.5),
                other(
                    "trivial FUSE, one thread",
                    lambda: self.trivial("flat_tiles", "random", 8000, 4096, single=True),
                    0.9,
                ),
            ],
        )
        bench.reference(
            "8,000 × 4 KiB at random, trivial FUSE, one thread", "h5py", walls(trivial), walls(by_h5py)
        )
        bench.compare(
            "contiguous, 4 KiB at random, cold",
            lambda: bench.cold("contiguous", "random", 8000, 4096),
            [
                other(
                    "trivial FUSE, one thread",
                    lambda: self.trivial("flat", "random", 8000, 4096, single=True),
                )
            ],
        )

    def columns(self):
        bench, other = self.bench, self.other
        stride = bench.sizes.tile_columns * 4
        cells = lambda: bench.h5py("cell", "tiles", 5)
        _, (by_h5py, whole) = bench.compare(
            "column of tiles, one value a row",
            lambda: bench.cold("tiles", "column", bench.sizes.tile_rows, stride, 4),
            [other("h5py, a value a row", cells, 1), other("roofline of all tiles", self.roofline)],
        )
        share = 4 * 256 / bench.sizes.tile_columns  # a page has a row of four tiles, h5py needs one of them
        bench.reference(
            "decoding the tiles that the pages of a column show, and no more",
            "h5py, a value a row",
            [share * time for time in walls(whole)],
            walls(by_h5py),
        )
        bench.compare(
            "column of tiles by slice/",
            lambda: bench.one_read("tiles", ".h5/slice/d/:,5"),
            [other("h5py, a value a row", cells, 3)],
        )

    def in_order(self):
        bench, other = self.bench, self.other
        rounds = max(ROUNDS, bench.rounds)
        mine, trivials = bench.compare(
            "contiguous, cold",
            lambda: bench.cold("contiguous", "cat"),
            self.trivials("flat", "cat", target=0.95),
            rounds,
        )
        best = min((walls(samples) for samples in trivials), key=median)
        slowest = lambda times: median(best) / max(times)
        bench.add(
            Row(
                f"contiguous, cold, the slowest of {rounds} rounds",
                "median of trivial FUSE, better loop",
                [slowest(walls(mine))],
                0.85,
            )
        )
        bench.add(
            Row("for comparison: the slowest of trivial FUSE, better loop", "its median", [slowest(best)])
        )
        bench.compare(
            "tiles unfiltered",
            lambda: bench.cold("plain-tiles", "cat"),
            self.trivials("flat_tiles", "cat", target=0.9),
        )
        bench.compare(
            "tiles deflate",
            lambda: bench.cold("tiles", "cat"),
            [
                other("roofline + half of trivial FUSE's processor time", self.roofline_and_fuse, 0.95),
                other("C H5Dread in slices", lambda: bench.h5dread("slices", "tiles", 256)),
            ],
        )
        bench.compare(
            "pencils, 64 MiB of cache",
            lambda: bench.cold("pencils", "cat", options="cache_size=64M"),
            [other("C H5Dread, whole", lambda: bench.h5dread("whole", "pencils"), 1.5)],
        )

    def roofline(self):
        return run([self.bench.tool("roofline"), self.bench.paths["tiles"], "d"], timed_by_itself=True)

    def roofline_and_fuse(self):
        processor = min(self.trivial("flat_tiles", "cat", single=s).cpu for s in (False, True))
        return Sample(self.roofline().wall + processor / 2, 0)

    def metadata(self):
        bench, other = self.bench, self.other
        links, tree = f"links-{bench.sizes.links}", f"tree-{bench.sizes.datasets}"
        plain = bench.paths[f"plain-{bench.sizes.links}"]
        bench.compare(
            "ls -l, 100,000 links",
            lambda: bench.listing(links, "ls -l g"),
            [other("ls -l of plain files", lambda: run(["ls", "-l", plain]), 1)],
        )
        bench.compare(
            "find -size, 100,000 datasets",
            lambda: bench.listing(tree, "find . -size +0"),
            [other("ls -l of plain files", lambda: run(["ls", "-l", plain]))],
        )
        if bench.baseline:
            bench.compare(
                "getfattr -R -d, 100,000 datasets",
                lambda: bench.listing(tree, "getfattr -R -d ."),
                [other("the baseline", lambda: self.listing(tree, "getfattr -R -d ."), 2)],
                min(3, bench.rounds),
            )
        tenth = bench.sizes.datasets // 10
        bench.compare(
            f"getfattr -R -d, {tenth:,} datasets",
            lambda: bench.listing(f"tree-{tenth}", "getfattr -R -d ."),
            [other("trivial FUSE, as many files and attributes", lambda: self.attributes(tenth))],
        )

    def listing(self, file, command):
        with self.baseline(file) as mount:
            return mount.measured(["sh", "-c", f"cd {mount.place} && {command} >/dev/null"], False)

    def attributes(self, files):
        """The attributes of one file, so many times: no lookups, and nothing is read."""
        with Mount(
            [self.bench.tool("trivial_fuse"), "-s"],
            self.bench.paths["flat"],
            f"{self.bench.directory}/mnt-trivial",
        ) as mount:
            command = f"cd {mount.place} && yes data | head -{files} | xargs getfattr -d >/dev/null"
            return mount.measured(["sh", "-c", command], False)

    # -- many readers --

    def mixed(self, mount):
        """Two readers in order and six at random of each of four datasets, all at once."""
        bench, begin = self.bench, time.monotonic()
        jobs = [
            bench.reader(*how, f"{mount.place}/{name}")
            for name in "abcd"
            for how in 2 * [("cat",)] + 6 * [("random", 500, 4096)]
        ]
        running = [subprocess.Popen(job, stdout=subprocess.DEVNULL) for job in jobs]
        if any(process.wait() for process in running):
            raise RuntimeError("a reader failed")
        return Sample(time.monotonic() - begin, 0)

    def many(self):
        bench, other = self.bench, self.other

        def with_mount(mount):
            with mount:
                return self.mixed(mount)

        if bench.baseline:
            bench.compare(
                "32 readers mixed",
                lambda: with_mount(bench.mount("four-tiles")),
                [other("the baseline (libfuse's loop)", lambda: with_mount(self.baseline("four-tiles")), 1)],
            )
        label = "99th percentile of a lookup during 4 cat, milliseconds"
        for name, mount in [
            (label, bench.mount),
            *([(f"{label}, the baseline", self.baseline)] if bench.baseline else []),
        ]:
            ours, trivial = zip(*(self.lookup_latency(mount("tiles")) for _ in range(bench.rounds)))
            bench.add(Row(name, "", list(ours), 5, True, self.duration(median(ours) / 1e3)))
            bench.add(
                Row(
                    "the same of trivial FUSE, which does not serve them",
                    "",
                    list(trivial),
                    None,
                    True,
                    self.duration(median(trivial) / 1e3),
                )
            )

    def lookup_latency(self, mount, seconds=3):
        """Milliseconds, of the mount that is read and of an idle one: what waiting for a processor takes of
        it. Names that do not exist and were not asked for before: each is a request."""
        program, file = self.bench.tool("trivial_fuse"), self.bench.paths["flat_tiles"]
        idle = Mount([program, "-s"], file, f"{self.bench.directory}/mnt-trivial")
        with mount, idle, ThreadPoolExecutor(4) as pool:
            end, path = time.monotonic() + seconds, f"{mount.place}/d"

            def read_again_and_again():
                while time.monotonic() < end:
                    subprocess.run(self.bench.reader("cat", path), stdout=subprocess.DEVNULL, check=True)
                    with open(path, "rb") as file:  # so that the next one reads through the mount again
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

            readers = [pool.submit(read_again_and_again) for _ in range(4)]
            times = {mount.place: [], idle.place: []}
            while time.monotonic() < end:
                for place, found in times.items():
                    begin = time.perf_counter()
                    os.path.lexists(f"{place}/none{len(found)}")
                    found.append(time.perf_counter() - begin)
                    time.sleep(0.002)
            for reader in readers:
                reader.result()
        return [sorted(found)[len(found) * 99 // 100] * 1e3 for found in times.values()]
