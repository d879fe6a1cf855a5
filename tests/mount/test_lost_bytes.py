"""Datasets of which bytes are lost, salvaged: those beside the lost ones are read."""
import json
import mmap
import os
import signal
import subprocess
import sys

import h5py
import numpy as np

from mounting import MountTest, direct, error, read
from support.program import run

KEPT = 20001  # of the bytes of the dataset: a page has known bytes and lost ones
WHOLE = np.arange(5000, dtype="<i8").tobytes()
MAPPED = """import mmap, os, sys
pages = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
at = int(sys.argv[2])
sys.stdout.buffer.write(pages[at:at + 16])
"""
PAGE = KEPT // mmap.PAGESIZE * mmap.PAGESIZE


def part(path, offset, length):
    """What one read gives."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.pread(fd, length, offset)
    finally:
        os.close(fd)


class LostBytesTest(MountTest):
    def setUp(self):
        super().setUp()
        with h5py.File("cut.h5", "w") as f:
            f["plain"] = np.frombuffer(WHOLE, "<i8")
            at = f["plain"].id.get_offset()
        os.truncate("cut.h5", at + KEPT)

    def salvaged(self, options="salvage"):
        mnt = self.mount("-o", options, "cut.h5")
        assert os.listdir(mnt) == ["plain"]  # for which it is salvaged
        return mnt + "plain"

    def test_a_read_gives_what_is_before_them(self):
        plain = self.salvaged()
        assert json.loads(os.getxattr(plain, "user.hdf5.salvage"))["missing"] == [[KEPT, len(WHOLE)]]
        assert part(plain, KEPT - 1, 1) == WHOLE[KEPT - 1 : KEPT]
        assert part(plain, KEPT - 100, 1000) == WHOLE[KEPT - 100 : KEPT]
        assert part(plain, 0, 1 << 20) == WHOLE[:KEPT]
        assert error(part, plain, KEPT, 1) == "Input/output error"
        assert error(part, plain, KEPT + 10000, 4096) == "Input/output error"
        assert os.stat(plain).st_size == len(WHOLE)

    def test_programs_get_every_byte_that_is_known(self):
        plain = self.salvaged()
        dd = subprocess.run(
            ["dd", "if=" + plain, "bs=1", f"skip={KEPT - 2}", "count=2", "status=none"],
            stdout=subprocess.PIPE,
        )
        assert dd.stdout == WHOLE[KEPT - 2 : KEPT] and dd.returncode == 0
        cat = subprocess.run(["cat", plain], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert cat.stdout == WHOLE[:KEPT] and b"Input/output error" in cat.stderr

    def test_a_reader_without_a_cache_gets_them_before_anything_was_salvaged(self):
        mnt = self.mount("-o", "salvage", "cut.h5")
        assert direct(mnt + "plain", PAGE, 4096) == WHOLE[PAGE:KEPT]

    def test_a_mapped_page_that_lacks_a_byte_is_an_error_and_never_zeros(self):
        plain = self.salvaged()
        for at, ends in ((0, 0), (PAGE, -signal.SIGBUS), (PAGE + 2 * mmap.PAGESIZE, -signal.SIGBUS)):
            done = subprocess.run([sys.executable, "-c", MAPPED, plain, str(at)], stdout=subprocess.PIPE)
            assert (done.returncode, done.stdout) == (ends, WHOLE[at : at + 16] if ends == 0 else b""), (
                at,
                done,
            )

    def test_those_of_a_chunked_dataset(self):
        with h5py.File("chunks.h5", "w", libver="latest") as f:
            f.create_dataset("growing", data=np.arange(4000, dtype="<i8"), chunks=(10,), maxshape=(None,))
        with open("chunks.h5", "r+b") as f:
            data = f.read()
            f.seek(data.index(b"EADB", data.index(b"EADB") + 4))  # the second block of the index
            f.write(b"\xa5" * 24)
        mnt = self.mount("-o", "salvage", "chunks.h5")
        os.listdir(mnt)
        begin = json.loads(os.getxattr(mnt + "growing", "user.hdf5.salvage"))["missing"][0][0]
        whole = np.arange(4000, dtype="<i8").tobytes()
        assert begin > 0 and begin % mmap.PAGESIZE != 0
        assert part(mnt + "growing", begin - 8, 4096) == whole[begin - 8 : begin]
        assert error(part, mnt + "growing", begin, 8) == "Input/output error"

    def test_filled_ones_are_read_as_any(self):
        plain = self.salvaged("salvage=fill")
        assert read(plain)[:KEPT] == WHOLE[:KEPT]
        assert run("dd", "if=" + plain, "of=/dev/null", "iflag=direct").returncode == 0
