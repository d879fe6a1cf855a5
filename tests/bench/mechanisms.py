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
        self.gain("fair-turns", "a chunk of 32 MiB behind forty of another dataset", self.beside_others)
        self.gain(
            "heap-trim",
            "memory after sixteen readers of chunks of seven sizes",
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
        """A chunk of one dataset, asked for when forty chunks of another are waited for."""
        times = []
        with self.bench.mount("large-chunks", "cache_size=32M") as mount, ThreadPoolExecutor(40) as pool:
            first, second = (os.open(f"{mount.place}/{name}", os.O_RDONLY) for name in "ab")
            for chunk in range(3):
                others = [pool.submit(os.pread, first, 4096, number * 32 * MIB) for number in range(40)]
                while sum(other.running() for other in others) < 30 and not others[-1].done():
                    time.sleep(0.001)
                begin = time.perf_counter()
                os.pread(second, 4096, chunk * 32 * MIB)
                times.append(time.perf_counter() - begin)
                for other in others:
                    other.result()
            os.close(first)
            os.close(second)
        return Sample(median(times), 0)

    def memory_left(self):
        """Resident MiB once sixteen have read chunks of seven sizes."""
        with self.bench.mount("chunk-sizes", "cache_size=32M") as mount:
            names = [f"{mount.place}/d{number % 7}" for number in range(16)]
            for _ in range(3):
                readers = [subprocess.Popen(["cat", name], stdout=subprocess.DEVNULL) for name in names]
                for reader in readers:
                    reader.wait()
            time.sleep(1.1)  # memory is given back at most once a second, when something is freed
            mount.measured(["cat", names[0]], False, to_null=True)
            with open(f"/proc/{mount.process.pid}/status") as file:
                resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024
        return Sample(resident, 0)
