"""What each mechanism of include/h5mount/base/mechanism.h gains: the group `mechanisms`. Its case with and
without it, the two in turn. One that gains less than a tenth in every case where it claims to gain does not
stay."""
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median

from measure import Sample

MIB = 1 << 20


@contextmanager
def without(mechanism):
    os.environ["H5MOUNT_WITHOUT"] = mechanism
    try:
        yield
    finally:
        del os.environ["H5MOUNT_WITHOUT"]


class Mechanisms:
    def __init__(self, bench, other):
        self.bench, self.other = bench, other

    def all(self):
        bench, tree = self.bench, f"tree-{self.bench.sizes.datasets // 10}"
        stride = bench.sizes.tile_columns * 4
        self.gain(
            "column-ahead",
            "column of the tiles",
            lambda: bench.cold("tiles", "column", bench.sizes.tile_rows, stride, 4),
        )
        self.gain("listing-advice", "find -size", lambda: bench.listing(tree, "find . -size +0"))
        self.gain("listing-advice", "find", lambda: bench.listing(tree, "find ."))
        self.gain(
            "wait-choice",
            "contiguous, 4 KiB at random",
            lambda: bench.cold("contiguous", "random", 8000, 4096),
        )
        self.gain("wait-choice", "find -size", lambda: bench.listing(tree, "find . -size +0"))
        self.gain(
            "shortest-float", "floats as csv", lambda: bench.cold("floats", "cat", names=(".h5/csv/d.csv",))
        )
        self.gain("fair-turns", "a read beside forty of another dataset", self.beside_others)
        self.gain(
            "heap-trim",
            "memory after readers of chunks of four sizes",
            self.memory_left,
            shown=lambda mebibytes: f"{mebibytes:.0f} MiB",
        )

    def gain(self, mechanism, case, measure, **how):
        def off():
            with without(mechanism):
                return measure()

        self.bench.compare(
            f"{mechanism}: {case}",
            measure,
            [self.other("without it", off, 1.1)],
            self.bench.rounds + 4,
            **how,
        )

    def beside_others(self):
        """A chunk of one dataset, asked for while forty readers at random wait for chunks of another."""
        bench = self.bench
        with bench.mount("four-tiles", "cache_size=16M") as mount, ThreadPoolExecutor(40) as pool:
            job = bench.reader("random", 200, 4096, f"{mount.place}/a")
            others = [
                pool.submit(subprocess.run, job, stdout=subprocess.DEVNULL, check=True) for _ in range(40)
            ]
            times, fd = [], os.open(f"{mount.place}/b", os.O_RDONLY)
            size = os.fstat(fd).st_size
            while not all(done.done() for done in others):
                begin = time.perf_counter()
                os.pread(fd, 4096, len(times) * 7919 * 4096 % size)
                times.append(time.perf_counter() - begin)
            os.close(fd)
        return Sample(median(times), 0)

    def memory_left(self):
        """Resident MiB above the cache once all have read."""
        bench = self.bench
        with bench.mount("tiles", "cache_size=32M") as mount:
            for _ in range(3):
                for view in ("d", ".h5/npy/d.npy", ".h5/slice/d/::3", ".h5/plain.zarr/d/0.0"):
                    mount.measured(["cat", f"{mount.place}/{view}"], False, to_null=True)
            time.sleep(1.1)  # memory is given back at most once a second, when something is freed
            mount.measured(["cat", f"{mount.place}/d"], False, to_null=True)
            with open(f"/proc/{mount.process.pid}/status") as file:
                resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024
        return Sample(resident, 0)
