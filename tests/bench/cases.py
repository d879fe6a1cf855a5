"""The cases: what is measured, its references, and the promised ratios."""
import os
import time
from statistics import median

from fuse_limits import Limits
from measure import Mount, Sample, run
from mechanisms import Mechanisms
from report import Row

PYTHON = "/usr/bin/python3"
MIB = 1 << 20


class Other:
    """A reference: its name, its measurement, the promised minimum ratio (its time / h5mount's), and the
    rounds where fewer suffice."""

    def __init__(self, name, measure, target=None, rounds=None):
        self.name, self.measure, self.target, self.rounds = name, measure, target, rounds


def duration(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


class Bench:
    def __init__(self, build, directory, paths, sizes, rounds, say, baseline=None):
        self.build, self.directory, self.paths, self.sizes = build, directory, paths, sizes
        self.rounds, self.say, self.baseline = rounds, say, baseline
        self.program = f"{build}/src/cli/h5mount"
        self.rows, self.memory, self.decoded = [], {}, {}
        self.here = os.path.dirname(os.path.abspath(__file__))

    # -- programs --

    def tool(self, name):
        return f"{self.build}/tests/bench/{name}"

    def mount(self, file, options=""):
        return Mount([self.program, "-f"], self.paths[file], f"{self.directory}/mnt-h5mount", options)

    def trivial(self, file):
        return Mount([self.tool("trivial_fuse")], self.paths[file], f"{self.directory}/mnt-trivial")

    def reader(self, *arguments):
        return [self.tool("reader"), *map(str, arguments)]

    def h5py(self, mode, file, *numbers):
        script = f"{self.here}/h5py_reads.py"
        return run([PYTHON, script, mode, self.paths[file], *map(str, numbers)], timed_by_itself=True)

    def h5dread(self, mode, file, number=1, name="d"):
        return run([self.tool("h5dread"), mode, self.paths[file], name, str(number)])

    # -- measuring --

    def cold(self, file, *arguments, options="", names=("d",), needed=None):
        """A fresh mount, one run of the reader, and the daemon's counters."""
        with self.mount(file, options) as mount:
            sample = mount.measured(self.reader(*arguments, *(f"{mount.place}/{name}" for name in names)))
            status = mount.counters()
        if options.startswith("cache_size="):
            over = status["peak_memory_kib"] / 1024 - status["cache_size"] / MIB
            key = f"{file} {arguments[0]}"
            self.memory[key] = max(self.memory.get(key, 0), over)
        if needed:
            self.decoded.setdefault(file, []).append(status["chunks_decoded"] / needed)
        return sample

    def cold_trivial(self, file, *arguments):
        with self.trivial(file) as mount:
            return mount.measured(self.reader(*arguments, f"{mount.place}/data"))

    def compare(self, case, ours, others, rounds=None, shown=duration):
        """Measures all alternately, so that contention affects all alike. Ratios are within one round.
        Returns the samples: ours, and a list for each of the others. `shown`: what was measured, as text."""
        mine, theirs = [], [[] for _ in others]
        for i in range(rounds or self.rounds):
            mine.append(ours())
            for other, samples in zip(others, theirs):
                if other.rounds is None or i < other.rounds:
                    samples.append(other.measure())
        for other, samples in zip(others, theirs):
            pairs = list(zip(samples, mine))
            processor = [a.cpu / b.cpu for a, b in pairs if a.cpu > 0 and b.cpu > 0.02]
            self.add(
                Row(
                    case,
                    other.name,
                    [a.wall / b.wall for a, b in pairs],
                    other.target,
                    ours=shown(median(s.wall for s in mine)),
                    theirs=shown(median(s.wall for s in samples)),
                    processor=median(processor) if processor else None,
                )
            )
        return mine, theirs

    def reference(self, case, beside, times, others):
        """A row that is not of h5mount: `times` beside `others`, round by round."""
        self.add(
            Row(
                f"for comparison: {case}",
                beside,
                [b / a for a, b in zip(times, others)],
                ours=duration(median(times)),
                theirs=duration(median(others)),
            )
        )

    def add(self, row):
        self.rows.append(row)
        reached = {None: "", True: " reached", False: f" MISSED (wanted {row.target})"}[row.reached()]
        self.say(f"{row.case} / {row.beside}: {row.ratio:.3g}{reached}   [{row.ours} | {row.theirs}]")

    # -- cases --

    def contiguous(self):
        self.compare(
            "contiguous, cold",
            lambda: self.cold("contiguous", "cat"),
            [
                Other("trivial FUSE", lambda: self.cold_trivial("flat", "cat"), 0.95),
                Other("the plain file", lambda: run(self.reader("cat", self.paths["flat"]), True)),
                Other("C H5Dread", lambda: self.h5dread("slices", "contiguous", 256 * 1024), rounds=2),
            ],
            self.rounds + 2,
        )
        self.compare(
            "contiguous, mmap, cold",
            lambda: self.cold("contiguous", "mmap"),
            [Other("trivial FUSE", lambda: self.cold_trivial("flat", "mmap"))],
        )
        self.compare(
            "contiguous, dd bs=4k, cold",
            lambda: self.cold("contiguous", "block", 4096),
            [Other("trivial FUSE", lambda: self.cold_trivial("flat", "block", 4096))],
            min(self.rounds, 3),
        )
        self.compare(
            "contiguous, 4 KiB at random, cold",
            lambda: self.cold("contiguous", "random", 20000, 4096),
            [
                Other("trivial FUSE", lambda: self.cold_trivial("flat", "random", 20000, 4096)),
                Other("h5py", lambda: self.h5py("random", "contiguous", 20000, 4096), rounds=2),
            ],
            min(self.rounds, 3),
        )
        self.warm()

    def warm(self):
        """Reads of cached pages. Their memory depends on which file was read first, which outweighs
        everything else here, so a round is the sum of both orders."""
        rounds = {"cat": [], "mmap": []}
        for _ in range(self.rounds):
            sums = {way: [0, 0, 0, 0] for way in rounds}
            for ours_first in (True, False):
                with self.mount("contiguous") as ours, self.trivial("flat") as other:
                    files = [(ours, f"{ours.place}/d"), (other, f"{other.place}/data")]
                    for mount, file in files if ours_first else files[::-1]:
                        mount.measured(self.reader("cat", file))
                    for way, total in sums.items():
                        for i, (mount, file) in enumerate(files):
                            sample = mount.measured(self.reader(way, file))
                            total[i] += sample.wall
                            total[i + 2] += sample.cpu
            for way, total in sums.items():
                rounds[way].append(total)
        for way, all_rounds in rounds.items():
            mine, theirs, my_cpu, their_cpu = zip(*all_rounds)
            self.add(
                Row(
                    f"contiguous, {way}, warm",
                    "trivial FUSE",
                    [b / a for a, b in zip(mine, theirs)],
                    0.97,
                    ours=duration(median(mine)),
                    theirs=duration(median(theirs)),
                    processor=median(b / a for a, b in zip(my_cpu, their_cpu)),
                )
            )

    def tiles(self):
        chunks = self.sizes.tile_rows // 256 * (self.sizes.tile_columns // 256)
        path = self.paths["tiles"]
        dump = ["h5dump", "-d", "/d", "-b", "LE", "-o", "/dev/null", path]
        roofline = lambda: run([self.tool("roofline"), path, "d"], timed_by_itself=True, with_processor=True)
        self.compare(
            "tiles deflate, cat",
            lambda: self.cold("tiles", "cat", needed=chunks),
            [
                Other("decoder roofline", roofline, 0.75),
                Other("C H5Dread in slices", lambda: self.h5dread("slices", "tiles", 256), 3),
                Other("h5py, whole", lambda: self.h5py("whole", "tiles"), 4, 3),
                Other("h5dump -b", lambda: run(dump), 10, 3),
            ],
        )
        self.compare(
            "tiles deflate, dd bs=4k",
            lambda: self.cold("tiles", "block", 4096, needed=chunks),
            [Other("C H5Dread in slices", lambda: self.h5dread("slices", "tiles", 256))],
            2,
        )
        self.compare(
            "tiles deflate, mmap",
            lambda: self.cold("tiles", "mmap", needed=chunks),
            [Other("C H5Dread in slices", lambda: self.h5dread("slices", "tiles", 256))],
            2,
        )
        self.compare(
            "tiles deflate, tail -c 1M",
            lambda: self.cold("tiles", "tail", MIB),
            [Other("h5py", lambda: self.h5py("tail", "tiles", MIB))],
        )
        self.compare(
            "tiles deflate, cat, 64 MiB of cache",
            lambda: self.cold("tiles", "cat", options="cache_size=64M", needed=chunks),
            [Other("C H5Dread in slices", lambda: self.h5dread("slices", "tiles", 256))],
            2,
        )
        self.compare(
            "tiles unfiltered, cat",
            lambda: self.cold("plain-tiles", "cat", needed=chunks),
            [
                Other("C H5Dread in slices", lambda: self.h5dread("slices", "plain-tiles", 256), 1),
                Other("trivial FUSE, a plain file", lambda: self.cold_trivial("flat_tiles", "cat")),
            ],
        )
        stride = self.sizes.tile_columns * 4
        self.compare(
            "column of the tiles, one value a row",
            lambda: self.cold("tiles", "column", self.sizes.tile_rows, stride, 4),
            [
                Other("h5py, a value a row", lambda: self.h5py("cell", "tiles", 0), 2),
                Other("h5py, one selection", lambda: self.h5py("column", "tiles", 0)),
                Other(
                    "trivial FUSE, a plain file",
                    lambda: self.cold_trivial("flat_tiles", "column", self.sizes.tile_rows, stride, 4),
                ),
            ],
        )

    def cat(self):
        """`h5mount --cat`, which needs no mount. Programs start and end within what is measured, but not
        h5py's."""
        path = self.paths["tiles"]
        command = lambda: [self.program, "--cat", path, "d"]
        roofline = lambda: run([self.tool("roofline"), path, "d"], timed_by_itself=True, with_processor=True)
        dread = lambda: self.h5dread("slices", "tiles", 256)
        dump = ["h5dump", "-d", "/d", "-b", "LE", "-o", "/dev/null", path]
        self.compare(
            "--cat of tiles to /dev/null",
            lambda: run(command(), to_null=True),
            [
                Other("decoder roofline", roofline, 0.9),
                Other("C H5Dread in slices", dread, 4),
                Other("h5py, whole", lambda: self.h5py("whole", "tiles"), rounds=3),
                Other("h5dump -b", lambda: run(dump), rounds=3),
                Other("cat through the mount", lambda: self.cold("tiles", "cat")),
            ],
        )
        piped = lambda: run(["sh", "-c", '"$@" | cat >/dev/null', "sh", *command()], to_null=True)
        self.compare(
            "--cat of tiles into a pipe",
            piped,
            [Other("decoder roofline", roofline), Other("C H5Dread in slices", dread)],
        )

    def views(self):
        """Views that hold the dataset's own bytes, read in order, beside the dataset."""
        chunks = self.sizes.contiguous // (8 * MIB)  # contiguous data is divided into chunks of 8 MiB
        dataset = Other("the dataset", lambda: self.one_by_one("contiguous", ["d"]))
        # Opening a file and filling its read-ahead costs the same for a chunk as for a dataset of its size.
        parts = Other(
            "datasets of 8 MiB", lambda: self.one_by_one("parts", [f"d{i}" for i in range(chunks)]), 0.95
        )
        self.compare(
            "contiguous as npy, cat",
            lambda: self.one_by_one("contiguous", [".h5/npy/d.npy"]),
            [Other(dataset.name, dataset.measure, 0.95)],
        )
        for name, prefix in (("plain.zarr", ""), ("v3.zarr", "c.")):
            files = [f".h5/{name}/d/{prefix}{i}" for i in range(chunks)]
            self.compare(
                f"contiguous as chunks of {name}, cat",
                lambda f=files: self.one_by_one("contiguous", f),
                [parts, dataset],
            )
        for name in ("npy", "tiff"):
            file = f".h5/{name}/d.{name[:3]}"
            self.compare(
                f"tiles deflate as {name}, cat",
                lambda f=file: self.one_by_one("tiles", [f]),
                [Other("the dataset", lambda: self.one_by_one("tiles", ["d"]), 0.95)],
            )

    def one_by_one(self, file, names):
        with self.mount(file) as mount:
            return mount.measured(["cat", *(f"{mount.place}/{name}" for name in names)], False, to_null=True)

    def series(self):
        self.compare(
            "series, 4 KiB at random, cold",
            lambda: self.cold("series", "random", 8000, 4096, options="cache_size=64M"),
            [
                Other("h5py", lambda: self.h5py("random", "series", 8000, 4096), 2.5),
                Other(
                    "trivial FUSE, a plain file",
                    lambda: self.cold_trivial("flat_tiles", "random", 8000, 4096),
                ),
            ],
        )
        self.compare(
            "series, cat",
            lambda: self.cold("series", "cat", needed=self.sizes.series_chunks),
            [Other("C H5Dread in slices", lambda: self.h5dread("slices", "series", MIB), rounds=2)],
            3,
        )

    def pencils(self):
        options = "cache_size=64M"
        self.compare(
            "pencils, cat, 64 MiB of cache",
            lambda: self.cold("pencils", "cat", options=options, needed=512),
            [Other("C H5Dread, whole", lambda: self.h5dread("whole", "pencils"), 1)],
        )

    def tables(self):
        """Numbers as text, the pass that measures CSV included."""
        for file in ("integers", "floats"):
            dump = ["h5dump", "-y", "-w", "0", "-d", "/d", self.paths[file]]
            for view in ("csv", "ndjson"):
                ours = lambda f=file, v=view: self.cold(f, "cat", names=(f".h5/{v}/d.{v}",))
                self.compare(
                    f"{file} as {view}, cat",
                    ours,
                    [
                        Other("pandas' to_csv", lambda f=file: self.h5py("pandas", f), 10, 2),
                        Other("h5dump -y -w 0", lambda d=dump: run(d), 10, 2),
                        Other("Python's csv over h5py", lambda f=file: self.h5py("csv", f), 10, 2),
                    ],
                )

    def one_read(self, file, name):
        """A file of a fresh mount, from `open` to the last byte."""
        with self.mount(file) as mount:
            begin = time.monotonic()
            fd = os.open(f"{mount.place}/{name}", os.O_RDONLY)
            while os.read(fd, MIB):
                pass
            os.close(fd)
            return Sample(time.monotonic() - begin, 0)

    def slices(self):
        for file in ("plain-tiles", "tiles"):
            for selection in (":,5", "::100", "1000:1200,2000:2200", ":,::64"):
                self.compare(
                    f"{file}, slice {selection}",
                    lambda f=file, s=selection: self.one_read(f, f".h5/slice/d/{s}"),
                    [Other("h5py", lambda f=file, s=selection: self.h5py("selection", f, s), 2)],
                )

    def together(self):
        """Several readers: the sum of their throughput compared with one reader's."""
        one = lambda names, **more: self.cold("four-tiles", "cat", names=names, **more)
        alone = lambda: Sample(sum(one((n,)).wall for n in "abcd"), 0)
        self.compare("four readers of four datasets", lambda: one("abcd"), [Other("one reader", alone, 0.95)])
        four_times = lambda: Sample(4 * self.cold("tiles", "cat").wall, 0)
        self.compare(
            "four readers of one dataset",
            lambda: self.cold("tiles", "cat", names=["d"] * 4),
            [Other("one reader", four_times, 0.95)],
            3,
        )
        self.together_cached()

    def together_cached(self):
        with self.mount("tiles") as mount:
            read = lambda count: mount.measured(self.reader("cat", *[f"{mount.place}/d"] * count))
            read(1)
            self.compare(
                "four readers of cached data",
                lambda: read(4),
                [Other("one reader", lambda: Sample(4 * read(1).wall, 0), 1.5)],
                self.rounds + 2,
            )

    def first_bytes(self, file):
        """From the command to the first 4 KiB, mount included."""
        place = f"{self.directory}/mnt-h5mount"
        begin = time.monotonic()
        run([self.program, self.paths[file], place])
        try:
            fd = os.open(f"{place}/d", os.O_RDONLY)
            os.pread(fd, 320, 0)
            os.close(fd)
            return Sample(time.monotonic() - begin, 0)
        finally:
            run(["umount", place])
            time.sleep(0.02)

    def million(self):
        for kind, name in (("extensible", "extensible array"), ("btree", "v1 B-tree")):
            many, few = f"{kind}-1000000", f"{kind}-10"
            dump = ["h5dump", "-d", "/d", "-s", "0", "-c", "1024", self.paths[many]]
            times = [
                (self.first_bytes(many).wall, self.first_bytes(few).wall, run(dump).wall)
                for _ in range(2 * self.rounds + 3)
            ]
            ours, small, theirs = (median(column) for column in zip(*times))
            self.add(
                Row(
                    f"mount to first bytes, 1,000,000 chunks, {name}",
                    "10 chunks",
                    [a / b for a, b, _ in times],
                    1.5,
                    True,
                    duration(ours),
                    duration(small),
                )
            )
            self.add(
                Row(
                    f"mount to first bytes, 1,000,000 chunks, {name}",
                    "h5dump",
                    [c / a for a, _, c in times],
                    1.0,
                    False,
                    duration(ours),
                    duration(theirs),
                )
            )
            self.tiny_chunks(name, many)

    def tiny_chunks(self, index, file):
        self.compare(
            f"1,000,000 chunks of 32 bytes, {index}, cat",
            lambda: self.cold(file, "cat", options="cache_size=64M", needed=self.sizes.chunks),
            [Other("C H5Dread in slices", lambda: self.h5dread("slices", file, 1 << 18), rounds=1)],
            2,
        )

    def listing(self, file, command, options=""):
        """A shell command in a fresh mount."""
        with self.mount(file, options) as mount:
            sample = mount.measured(["sh", "-c", f"cd {mount.place} && {command} >/dev/null"], False)
            if options:
                status = mount.counters()
                over = (status["peak_memory_kib"] / 1024) - status["cache_size"] / MIB
                self.memory[f"{file} {command}"] = over
            return sample

    def names(self):
        tree, links = f"tree-{self.sizes.datasets}", f"links-{self.sizes.links}"
        h5ls = lambda *arguments: run(["h5ls", *arguments])
        self.compare(
            "find -type f, 100,000 datasets",
            lambda: self.listing(tree, "find . -type f"),
            [Other("h5ls -r", lambda: h5ls("-r", self.paths[tree]), 3, 2)],
        )
        self.compare(
            "ls -lR, 100,000 datasets",
            lambda: self.listing(tree, "ls -lR"),
            [Other("h5ls -r", lambda: h5ls("-r", self.paths[tree]), None, 1)],
            2,
        )
        self.compare(
            "getfattr -R, 100,000 datasets",
            lambda: self.listing(tree, "getfattr -R -d ."),
            [Other("h5dump -A", lambda: run(["h5dump", "-A", self.paths[tree]]), None, 1)],
            2,
        )
        links_of = lambda command: (lambda: self.listing(links, command))
        plain = self.paths[f"plain-{self.sizes.links}"]
        self.compare(
            "ls -l, 100,000 links",
            links_of("ls -l g"),
            [
                Other("h5ls", lambda: h5ls(f"{self.paths[links]}/g"), 4),
                Other("ls -l of plain files", lambda: run(["ls", "-l", plain])),
            ],
        )
        self.compare(
            "ls -f, 100,000 links",
            links_of("ls -f g"),
            [Other("h5ls", lambda: h5ls(f"{self.paths[links]}/g"), 10)],
        )
        self.lookup(links)

    def one_lookup(self, links):
        with self.mount(links) as mount:
            begin = time.monotonic()
            os.stat(f"{mount.place}/g/event003210")
            return Sample(time.monotonic() - begin, 0)

    def lookup(self, links):
        """One name of 100,000, by a system call in a fresh mount, compared with listing them all."""
        ratios, ours, theirs = [], [], []
        for _ in range(self.rounds + 2):
            ours.append(self.one_lookup(links).wall)
            with self.mount(links) as mount:
                begin = time.monotonic()
                os.listdir(f"{mount.place}/g")
                theirs.append(time.monotonic() - begin)
            ratios.append(ours[-1] / theirs[-1])
        self.add(
            Row(
                "one lookup in 100,000 links, cold",
                "listing it",
                ratios,
                0.01,
                True,
                duration(median(ours)),
                duration(median(theirs)),
            )
        )

    def peaks(self):
        tree, links = f"tree-{self.sizes.datasets}", f"links-{self.sizes.links}"
        self.listing(tree, "find . -type f -size +0", "cache_size=64M")
        self.listing(links, "ls -l g", "cache_size=64M")
        for case, over in self.memory.items():
            self.add(Row(f"peak memory over cache_size, MiB: {case}", "(64 MiB of cache)", [over], 64, True))
        for case, ratios in self.decoded.items():
            self.add(Row(f"chunks decoded / chunks needed: {case}", "(sequential)", ratios, 1.02, True))

    def limits(self):
        """How near to what FUSE allows: see fuse_limits.py."""
        Limits(self, Other, duration).all()

    def mechanisms(self):
        """What each of them gains: see mechanisms.py."""
        Mechanisms(self, Other).all()

    def growth(self):
        """How a case's time grows when its work grows tenfold: 10 is proportional, 1 is constant."""
        seconds = lambda measure: median(measure().wall for _ in range(3))
        tenth, whole = self.sizes.datasets // 10, self.sizes.datasets
        image = {
            "contiguous": self.sizes.contiguous,
            "tiles": self.sizes.tile_bytes,
            "plain-tiles": self.sizes.tile_bytes,
            "series": self.sizes.series_chunks * 2048 * 4,
        }
        pairs = {
            f"{file}, first bytes in order": [
                lambda f=file, n=n: self.cold(f, "head", n) for n in (size // 10, size)
            ]
            for file, size in image.items()
        }
        for file in ("contiguous", "series"):
            pairs[f"{file}, 4 KiB at random"] = [
                lambda f=file, n=n: self.cold(f, "random", n, 4096) for n in (1000, 10000)
            ]
        rows, stride = self.sizes.tile_rows, self.sizes.tile_columns * 4
        pairs |= {
            "column of the tiles": [
                lambda n=n: self.cold("tiles", "column", n, stride, 4) for n in (rows // 10, rows)
            ],
            "find -type f, datasets": [
                lambda n=n: self.listing(f"tree-{n}", "find . -type f") for n in (tenth, whole)
            ],
            "getfattr -R, datasets": [
                lambda n=n: self.listing(f"tree-{tenth}", f"getfattr -R -d station{n}")
                for n in ("000", "00?")
            ],
            "ls -l, links": [lambda n=n: self.listing(f"links-{n}", "ls -l g") for n in (tenth, whole)],
            "ls -f, links": [lambda n=n: self.listing(f"links-{n}", "ls -f g") for n in (tenth, whole)],
            "lookup of one name, links": [lambda n=n: self.one_lookup(f"links-{n}") for n in (tenth, whole)],
            "cat, tiny chunks": [lambda n=n: self.cold(f"extensible-{n}", "cat") for n in (100000, 1000000)],
            "mount to first bytes, chunks": [
                lambda n=n: self.first_bytes(f"extensible-{n}") for n in (100000, 1000000)
            ],
        }
        for case, (small, large) in pairs.items():
            a, b = seconds(small), seconds(large)
            self.add(
                Row(
                    f"ten times the work: {case}",
                    "a tenth of it",
                    [b / a],
                    None,
                    True,
                    duration(b),
                    duration(a),
                )
            )
