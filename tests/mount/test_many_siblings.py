"""Virtual datasets over files that one mount shows beside each other."""
import errno
import os
import threading
import unittest

import h5py

from many_files import SRC, ManyFilesCase, make, soon, status
from mounting import as_nobody, error, read, unmount


def virtual(name, source, dataset="d"):
    with h5py.File(name, "a") as f:
        layout = h5py.VirtualLayout((1000,), "u1")
        layout[:] = h5py.VirtualSource(source, dataset, (1000,))
        f.create_virtual_dataset("v", layout)


class ManyFilesTest(ManyFilesCase):
    def test_virtual_sources_lead_to_files_that_the_mount_shows(self):
        """Names in sub/v.h5 lead out of the directory that the file itself is in, as links do."""
        make("outside.h5", 9)
        virtual("src/sub/v.h5", "../a.h5")
        virtual("src/sub/o.h5", "../../outside.h5")
        virtual("src/sub/w.h5", "v.h5", dataset="v")
        mnt = self.mount("src")
        assert read(mnt + "a.h5/d") == b"\1" * 1000 and read(mnt + "sub/v.h5/v") == b"\1" * 1000
        assert status(mnt)["open_files"] == "2"  # the source that is open is not opened again
        assert read(mnt + "sub/w.h5/v") == b"\1" * 1000
        assert error(read, mnt + "sub/o.h5/v") == "Permission denied"
        unmount(mnt)
        mnt = self.mount("-o", "external=none", "src")
        assert error(read, mnt + "sub/v.h5/v") == "Permission denied"

    def test_a_replaced_virtual_source_is_the_new_one_for_who_opens_it_then(self):
        virtual("src/v.h5", "sub/b.nc")
        virtual("src/w.h5", "a.h5")
        mnt = self.mount("src")
        assert read(mnt + "v.h5/v") == b"\2" * 1000 and read(mnt + "w.h5/v") == b"\1" * 1000
        with open(mnt + "v.h5/v", "rb", buffering=0) as old:
            old.read(10)
            make("spare", 7)
            os.rename("spare", SRC + "sub/b.nc")
            soon(lambda: read(mnt + "v.h5/v") == b"\7" * 1000, "a replaced source")
            try:
                assert set(os.pread(old.fileno(), 1000, 0)) <= {2}
            except OSError as e:
                assert e.errno == errno.ESTALE, e
        make("spare", 8)
        with open(SRC + "a.h5", "r+b") as f:
            f.write(read("spare"))
            f.truncate()
        soon(lambda: read(mnt + "w.h5/v") == b"\10" * 1000, "a source that was written over")
        assert read(mnt + "a.h5/d") == b"\10" * 1000 and read(mnt + "sub/b.nc/d") == b"\7" * 1000

    def test_files_that_name_each_other_in_a_circle_are_closed_again(self):
        for name, value in (("x", 5), ("y", 6), ("p", 1), ("q", 2)):
            make(SRC + name + ".h5", value)
        for name, source, dataset in (("x", "y", "d"), ("y", "x", "d"), ("p", "q", "v"), ("q", "p", "v")):
            virtual(SRC + name + ".h5", source + ".h5", dataset)
        mnt = self.mount("src")
        threads = [
            threading.Thread(target=error, args=[read, mnt + name + ".h5/v"])
            for name in ["x", "y", "p", "q"] * 8
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert read(mnt + "x.h5/v") == b"\6" * 1000 and read(mnt + "y.h5/v") == b"\5" * 1000
        for name in "xypq":
            os.remove(SRC + name + ".h5")

        def all_closed():
            seen = status(mnt)
            return (seen["files_in_memory"], seen["open_files"]) == ("0", "0")

        soon(all_closed, "they are closed")

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_virtual_sources_give_others_nothing_that_they_may_not_read(self):
        os.mkdir("src/private")
        for i, (name, value) in enumerate((("private/p.h5", 65), ("own.h5", 65), ("all.h5", 66)), 1):
            make(SRC + name, value)
            virtual(SRC + "%d.h5" % i, name)
        os.chmod("src/private", 0o700)
        os.chmod("src/own.h5", 0o600)
        mnt = self.mount("-o", "allow_other,external=beneath", "src")
        seen = as_nobody(mnt, "cat 1.h5/v; cat 2.h5/v; cat 3.h5/v")
        assert seen.stdout == "B" * 1000, seen
