"""Why a read failed: what the reader gets, user.hdf5.error and user.hdf5.sources, the log and the status."""
import os
import signal
import subprocess

import h5py
import numpy as np

from mounting import EXAMPLE, MountTest, error, is_mounted, read, unmount
from support.program import H5MOUNT, run, until


def attribute(name, path):
    return os.getxattr(path, "user.hdf5." + name).decode()


def attributes(path):
    return os.listxattr(path)


def log(mnt):
    """Without the first line, which says what memory there is."""
    return read(mnt + ".h5/log").decode().partition("\n")[2]


def status(mnt):
    return read(mnt + ".h5/status").decode()


class DamagedChunkTest(MountTest):
    def is_named_with_its_place(self, culprit, **filters):
        with h5py.File("damaged.h5", "w") as f:
            data = np.arange(10000, dtype="<i4") // 500
            d = f.create_dataset("run/data", data=data, chunks=(1000,), **filters)
            at = d.id.get_chunk_info_by_coord((3000,)).byte_offset
        with open("damaged.h5", "r+b") as f:  # the first bytes of the fourth chunk
            f.seek(at)
            f.write(b"\xff\xff\xff")
        mnt = self.mount("damaged.h5")
        assert "user.hdf5.error" not in attributes(mnt + "run/data")
        assert error(read, mnt + "run/data") == "Input/output error"
        why = attribute("error", mnt + "run/data")
        for part in (culprit, "chunk (3)", "elements from (3000)", hex(at)):
            assert part in why, (part, why)
        assert "user.hdf5.error" in attributes(mnt + "run/data")
        with open(mnt + "run/data", "rb") as f:
            assert len(f.read(1200)) == 1200
        assert error(read, mnt + "run/data") == "Input/output error"
        # One line for one cause, however often it was met.
        lines = log(mnt)
        assert lines.count("\n") == 1, lines
        for part in (os.path.abspath("damaged.h5") + ": /run/data: ", " error: ", culprit, hex(at)):
            assert part in lines, (part, lines)
        assert "\nfailures_" in status(mnt)

    def test_deflate_is_named_with_its_place(self):
        self.is_named_with_its_place("filter 1 (deflate)", compression="gzip")

    def test_fletcher32_is_named_with_its_place(self):
        self.is_named_with_its_place("filter 3 (fletcher32)", fletcher32=True)

    def test_lzf_is_named_with_its_place(self):
        self.is_named_with_its_place("filter 32000 (lzf)", compression="lzf")

    def test_fletcher32_behind_others_is_named_with_its_place(self):
        self.is_named_with_its_place(
            "filter 3 (fletcher32)", shuffle=True, compression="gzip", fletcher32=True
        )

    def test_deflate_behind_shuffle_is_named_with_its_place(self):
        self.is_named_with_its_place("filter 1 (deflate)", shuffle=True, compression="gzip")


def write_external():
    np.arange(10, dtype="<i4").tofile("raw.bin")
    with h5py.File("external.h5", "w") as f:
        f.create_dataset("run/data", (10,), "<i4", external=[("raw.bin", 0, 40)])


def write_virtual():
    for name in ("a.h5", "b.h5"):
        with h5py.File(name, "w") as f:
            f["x"] = np.arange(10, dtype="<i4")
    with h5py.File("virtual.h5", "w", libver="latest") as f:
        layout = h5py.VirtualLayout((3, 10), "<i4")
        for i, name in enumerate(("a.h5", "b.h5", "c.h5")):
            layout[i] = h5py.VirtualSource(name, "x", (10,))
        f.create_virtual_dataset("run/all", layout, fillvalue=7)


def write_numbered():
    for i in range(3):
        with h5py.File("part-%d.h5" % i, "w") as f:
            f["x"] = np.full(10, i, "<i4")
    with h5py.File("numbered.h5", "w", libver="latest") as f:
        space = h5py.h5s.create_simple((3, 10), (h5py.h5s.UNLIMITED, 10))
        space.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (1, 1), (1, 10))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_virtual(space, b"part-%b.h5", b"x", h5py.h5s.create_simple((10,)))
        whole = h5py.h5s.create_simple((3, 10), (h5py.h5s.UNLIMITED, 10))
        h5py.h5d.create(f.id, b"all", h5py.h5t.STD_I32LE, whole, plist)


def write_damaged_index():
    """A dataset of whose chunk index the header is overwritten; its chunks are sound."""
    with h5py.File("index.h5", "w", libver="latest") as f:
        f.create_dataset("run/data", data=np.arange(4000), chunks=(100,), compression="gzip")
    raw = read("index.h5")
    assert raw.count(b"FAHD") == 1
    with open("index.h5", "wb") as f:
        f.write(raw.replace(b"FAHD", b"\xa5" * 4))


class ReasonsTest(MountTest):
    def test_damage_names_the_option_that_shows_more(self):
        write_damaged_index()
        mnt = self.mount("index.h5")
        assert error(read, mnt + "run/data") == "Input/output error"
        for text in (attribute("error", mnt + "run/data"), log(mnt)):
            assert "FixedArrayHeader" in text and text.count("-o salvage") == 1, text
        assert log(mnt).count("\n") == 1, log(mnt)
        assert "-o salvage" in read(mnt + ".h5/list.txt").decode()
        unmount(mnt)
        mnt = self.mount("-o", "salvage", "index.h5")
        assert read(mnt + "run/data") == np.arange(4000).tobytes()
        assert "-o salvage" not in read(mnt + ".h5/log").decode()

    def test_a_damaged_chunk_names_what_helps_until_it_is_done(self):
        with h5py.File("chunk.h5", "w") as f:
            d = f.create_dataset("data", data=np.arange(10000), chunks=(1000,), compression="gzip")
            at = d.id.get_chunk_info(3).byte_offset
        with open("chunk.h5", "r+b") as f:
            f.seek(at + 2)
            f.write(b"\xff" * 20)
        for options in ((), ("-o", "salvage")):
            mnt = self.mount(*options, "chunk.h5")
            assert error(read, mnt + "data") == "Input/output error"
            for text in (attribute("error", mnt + "data"), log(mnt)):
                assert text.count("/.h5/slice") == 1 and text.count("-o salvage=fill") == 1, text
            assert len(read(mnt + ".h5/slice/data/0:1000")) == 8000
            unmount(mnt)
        mnt = self.mount("-o", "salvage=fill", "chunk.h5")
        assert len(read(mnt + "data")) == 80000

    def test_a_missing_filter_is_a_warning_with_its_cure(self):
        with h5py.File("filter.h5", "w") as f:
            data = np.arange(1000, dtype="<i4")
            f.create_dataset("run/data", data=data, chunks=(100,), compression="gzip")
        raw = read("filter.h5")
        said = b"\x01\x00\x08\x00\x01\x00\x01\x00deflate\x00"
        assert said in raw
        with open("filter.h5", "wb") as f:
            f.write(raw.replace(said, b"\x31\x01" + said[2:]))
        mnt = self.mount("filter.h5")
        assert "not supported" in error(read, mnt + "run/data")
        for text in (attribute("error", mnt + "run/data"), log(mnt)):
            assert "filter 305 (lzo)" in text and "plugins=" in text, text
        assert " warning: %s: /run/data: " % os.path.abspath("filter.h5") in log(mnt), log(mnt)

    def test_a_missing_raw_file_is_told_until_it_is_there(self):
        write_external()
        os.rename("raw.bin", "away.bin")
        mnt = self.mount("external.h5")
        assert error(read, mnt + "run/data") == "No such file or directory"
        assert "raw.bin" in attribute("error", mnt + "run/data")
        sources = attribute("sources", mnt + "run/data")
        assert sources.startswith('[{"file":"raw.bin","state":"missing","reason":"'), sources
        assert " warning: %s: /run/data: " % os.path.abspath("external.h5") in log(mnt), log(mnt)
        os.rename("away.bin", "raw.bin")
        assert os.stat(mnt + "run/data").st_size == 40
        assert len(read(mnt + "run/data")) == 40
        assert "user.hdf5.error" not in attributes(mnt + "run/data")
        assert attribute("sources", mnt + "run/data") == '[{"file":"raw.bin","state":"found"}]'

    def test_a_refused_raw_file_is_a_warning_with_its_cure(self):
        write_external()
        mnt = self.mount("-o", "external=none", "external.h5")
        assert error(read, mnt + "run/data") == "Permission denied"
        sources = attribute("sources", mnt + "run/data")
        assert sources.startswith('[{"file":"raw.bin","state":"refused","reason":"'), sources
        for text in (attribute("error", mnt + "run/data"), log(mnt)):
            assert "raw.bin" in text and "external=" in text, text
        assert " warning: " in log(mnt), log(mnt)

    def test_a_mount_for_others_says_what_it_refuses(self):
        def said_by(file, *options):
            place = self.mount_point()
            p = run(H5MOUNT, *options, file, place)
            assert p.returncode == 0, p
            unmount(place)
            return p.stderr

        if os.geteuid() != 0:
            self.skipTest("needs the right to mount for others")
        write_external()
        write_virtual()
        with h5py.File("links.h5", "w") as f:
            f["a/b"] = 1
            f["a/c"] = h5py.ExternalLink("elsewhere.h5", "/x")
        for file, name in (
            ("external.h5", "/run/data names raw.bin"),
            ("virtual.h5", " names "),
            ("links.h5", "/a/c names elsewhere.h5"),
        ):
            told = said_by(file, "-o", "allow_other")
            assert name in told and "refused" in told and "external=" in told, (file, told)
            assert said_by(file) == "", file
            assert said_by(file, "-o", "allow_other,external=any") == "", file
        with h5py.File("alone.h5", "w") as f:
            f["a/b"] = 1
        assert said_by("alone.h5", "-o", "allow_other") == ""

    def test_a_missing_virtual_source_is_told_once(self):
        write_virtual()
        mnt = self.mount("virtual.h5")
        assert log(mnt) == ""
        assert run("ls", "-lR", mnt + "run").returncode == 0
        assert log(mnt) == ""  # nothing was used yet
        assert set(np.frombuffer(read(mnt + "run/all")[-40:], "<i4")) == {7}
        assert len(read(mnt + "run/all")) == 120
        lines = log(mnt)
        assert lines.count("\n") == 1, lines
        said = " warning: %s: /run/all: virtual source c.h5:x is missing" % os.path.abspath("virtual.h5")
        assert said in lines, lines
        assert "\nmissing_sources: 1\n" in status(mnt)
        sources = attribute("sources", mnt + "run/all")
        assert sources.startswith(
            '[{"file":"a.h5","dataset":"x","state":"found"},'
            '{"file":"b.h5","dataset":"x","state":"found"},'
            '{"file":"c.h5","dataset":"x","state":"missing","reason":"'
        ), sources
        assert "user.hdf5.sources" in attributes(mnt + "run/all")

    def test_refused_and_unreadable_virtual_sources(self):
        write_virtual()
        with open("b.h5", "wb") as f:
            f.write(b"not a file of HDF5" * 1000)
        mnt = self.mount("virtual.h5")
        sources = attribute("sources", mnt + "run/all")
        assert '{"file":"b.h5","dataset":"x","state":"found","reason":"' in sources, sources
        assert error(read, mnt + "run/all") == "Input/output error"
        assert "virtual source b.h5:x" in attribute("error", mnt + "run/all")
        unmount(mnt)
        mnt = self.mount("-o", "external=none", "virtual.h5")
        assert error(read, mnt + "run/all") == "Permission denied"
        sources = attribute("sources", mnt + "run/all")
        assert sources.startswith('[{"file":"a.h5","dataset":"x","state":"refused","reason":"'), sources
        assert "external=" in log(mnt), log(mnt)

    def test_numbered_sources_are_bounded(self):
        """They are counted, not listed. Where none may be opened, the stored extent stands and reads fail."""
        write_numbered()
        mnt = self.mount("numbered.h5")
        assert (
            attribute("sources", mnt + "all")
            == '[{"file":"part-%b.h5","dataset":"x","state":"found","numbered":3}]'
        )
        assert len(read(mnt + "all")) == 120
        assert log(mnt) == ""
        unmount(mnt)
        mnt = self.mount("-o", "external=none", "numbered.h5")
        assert os.stat(mnt + "all").st_size == 120
        assert error(read, mnt + "all") == "Permission denied"
        assert "external=" in attribute("error", mnt + "all")
        assert '"state":"refused","numbered":0,"reason":"' in attribute("sources", mnt + "all")

    def test_the_mounts_own_files(self):
        mnt = self.mount(EXAMPLE)
        names = os.listdir(mnt + ".h5")
        for name in ("attributes", "external", "log", "npy", "sparse", "status"):
            assert name in names, names
        said = read(mnt + ".h5/log")
        assert os.stat(mnt + ".h5/log").st_size == len(said) and said.count(b"\n") == 1, said
        text = status(mnt)
        version = run(H5MOUNT, "--version").stdout.split()[1]
        assert text.startswith("file: %s\nversion: %s\n" % (EXAMPLE, version)), text
        for name in (
            "uptime_seconds",
            "requests",
            "failures",
            "missing_sources",
            "open_files",
            "chunks_decoded",
            "stored_bytes_read",
            "cache_used",
            "cache_size",
            "memory_kib",
            "peak_memory_kib",
        ):
            assert "\n%s: " % name in text, (name, text)
        assert status(mnt) != text  # requests were made meanwhile

    def test_each_who_opens_a_file_of_the_mounts_own_has_its_content(self):
        """The size is that of what was opened, the content is new for each who opens it."""
        mnt = self.mount(EXAMPLE)
        with open(mnt + ".h5/status", "rb") as first:
            text = first.read()
            assert os.fstat(first.fileno()).st_size == len(text)
            for _ in range(300):
                os.stat(mnt)
                os.listxattr(mnt)
            second = read(mnt + ".h5/status")
            first.seek(0)
            assert first.read() == text
            assert second != text
        assert error(os.open, mnt + ".h5/log", os.O_WRONLY) == "Read-only file system"

    def test_a_reader_of_the_log_is_given_what_comes(self):
        with h5py.File("two.h5", "w") as f:
            chunks = []
            for name in ("one", "two"):
                d = f.create_dataset(name, data=np.arange(1000, dtype="<i4"), chunks=(100,), fletcher32=True)
                chunks.append(d.id.get_chunk_info_by_coord((300,)).byte_offset)
        with open("two.h5", "r+b") as f:
            for at in chunks:
                f.seek(at)
                f.write(b"\x55")
        mnt = self.mount("-o", "log_level=error", "two.h5")
        assert error(read, mnt + "one") == "Input/output error"
        said = os.open(mnt + ".h5/log", os.O_RDONLY)
        self.addCleanup(os.close, said)
        first = os.read(said, 1 << 16)
        assert first.count(b"\n") == 2 and b": /one: " in first, first
        assert os.fstat(said).st_size == len(first)
        assert os.read(said, 100) == b""
        assert error(read, mnt + "two") == "Input/output error"
        more = os.read(said, 1 << 16)
        assert more.count(b"\n") == 1 and b": /two: " in more, more
        assert os.fstat(said).st_size == len(first) + len(more)
        assert os.pread(said, 1 << 16, 0) == first + more

    def test_sig_usr1_names_the_file_and_the_log_has_it(self):
        mnt = self.mount_point()
        with open("said", "w") as said:
            server = subprocess.Popen([H5MOUNT, "-f", EXAMPLE, mnt], stderr=said)
        until(lambda: is_mounted(mnt), "mounted")
        for name in os.listdir(mnt + "observations"):
            error(read, mnt + "observations/" + name)
        server.send_signal(signal.SIGUSR1)
        until(lambda: "status:" in read("said").decode(), "the line")
        line = read("said").decode()
        assert "h5mount: %s: status: requests=" % EXAMPLE in line and " chunks_decoded=" in line, line
        assert log(mnt).count(": status: requests=") == 1
        unmount(mnt)
        server.wait(60)
