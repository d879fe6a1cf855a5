"""Virtual datasets whose sources are of another number type than the view: bit for bit what libhdf5 makes."""
import os
import sys

from mounting import ROOT, MountTest, read
from support.program import run


class VirtualConversion(MountTest):
    seconds = 120

    def test_gives_the_bytes_that_libhdf5_gives(self):
        made = run(sys.executable, ROOT + "/tests/mount/fixtures/virtual_conversion.py")
        assert made.returncode == 0 and made.stdout == "%d\n" % (15 * 15 + 6 * 6), made
        mnt = self.mount("f.h5")
        differ = [name for name in os.listdir("expected") if read("expected/" + name) != read(mnt + name)]
        assert len(os.listdir("expected")) == 15 * 15 + 6 * 6 and differ == []
