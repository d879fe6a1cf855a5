"""What a mount of many files shows."""
import concurrent.futures
import glob
import os
import stat
import threading
import time
import unittest

import h5py
import numpy as np

from many_files import SRC, ManyFilesCase, make, soon, status
from mounting import as_nobody, error, inside, is_mounted, read, unmount
from support.program import FSCK, H5MOUNT, run, shell, until


def servers_of(mnt):
    """The processes of a mount."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as f:
                if mnt.rstrip("/") in f.read() and "h5mount" in os.readlink("/proc/%s/exe" % pid):
                    yield pid
        except OSError:
            pass  # it has ended


class OpenFiles(threading.Thread):
    """Looks at the descriptors of a process over and over: how many HDF5 files are open at once."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.most, self.ended = pid, 0, False

    def scan(self):
        out = set()
        for fd in glob.glob("/proc/%s/fd/*" % self.pid):
            try:
                out.add((fd, os.readlink(fd)))
            except OSError:
                pass
        return out

    def run(self):
        before = self.scan()
        while not self.ended:
            before = self.look(before)
            time.sleep(0.001)

    def look(self, before):
        # One that is being opened has two descriptors for a moment. What two scans have found in a row was
        # open in the moment between them, all at once.
        now = self.scan()
        self.most = max(self.most, len({name for _, name in before & now if name.endswith(".h5")}))
        return now


class ManyFilesTest(ManyFilesCase):
    def test_each_file_is_a_directory_under_its_whole_name(self):
        mnt = self.mount("src")
        assert sorted(os.listdir(mnt)) == ["a.h5", "bad.h5", "sub"]
        assert sorted(os.listdir(mnt + "sub")) == ["b.nc", "deep"]
        assert os.listdir(mnt + "sub/deep") == ["C.HDF5"]
        for name, value in (("a.h5", 1), ("sub/b.nc", 2), ("sub/deep/C.HDF5", 3)):
            assert sorted(os.listdir(mnt + name)) == ["d", "g"], name
            assert read(mnt + name + "/d") == bytes([value]) * 1000, name
            assert read(mnt + name + "/g/t") == b"x\ny\n", name
            assert os.getxattr(mnt + name, "user.name").decode() == SRC + name
            assert np.load(mnt + name + "/.h5/npy/d.npy").sum() == 1000 * value
            s, t = os.stat(SRC + name), os.stat(mnt + name)
            assert (t.st_uid, t.st_gid, int(t.st_mtime)) == (s.st_uid, s.st_gid, int(s.st_mtime))
            assert (t.st_nlink, t.st_size) == (1, 0)
            assert stat.S_ISDIR(t.st_mode) and stat.S_IMODE(t.st_mode) == 0o555, oct(t.st_mode)
        own = ["README", "catalogue.parquet", "log", "metadata.jsonl", "status"]
        assert sorted(os.listdir(mnt + ".h5")) == own
        assert ".h5" not in os.listdir(mnt)
        for name in ("note.txt", "pipe.h5", "none.h5"):
            assert error(os.stat, mnt + name) == "No such file or directory", name
        assert os.path.abspath("src") in run("findmnt", "-no", "SOURCE", mnt.rstrip("/")).stdout
        assert os.path.abspath("src") in run("df", "--output=source", mnt).stdout

    def test_nothing_is_opened_to_list_and_to_stat(self):
        mnt = self.mount("src")
        assert inside(mnt, "ls -l . sub sub/deep >/dev/null").returncode == 0
        seen = status(mnt)
        assert (seen["files_in_memory"], seen["open_files"]) == ("0", "0")

    def test_inode_numbers_are_distinct_and_the_same_in_the_next_mount(self):
        os.link("src/a.h5", "src/sub/second.h5")
        numbers = "find . -printf '%i %P\\n' | sort -k2"
        mnt = self.mount("src")
        first = inside(mnt, numbers).stdout
        unmount(mnt)
        mnt = self.mount("src")
        assert first != "" and inside(mnt, numbers).stdout == first
        # Those of the file that has two names.
        assert inside(mnt, "find . -printf '%i\\n' | sort | uniq -d | wc -l").stdout == "4\n"
        assert os.stat(mnt + "a.h5").st_ino == os.stat(mnt + "sub/second.h5").st_ino

    def test_other_files_are_shown_as_they_are_or_not_at_all(self):
        mnt = self.mount("-o", "passthrough,match=*.dat", "src")
        assert sorted(os.listdir(mnt)) == ["a.h5", "bad.h5", "note.txt", "plain.dat", "sub"]
        assert read(mnt + "note.txt") == b"hello" and read(mnt + "plain.dat/d") == b"\4" * 1000
        assert read(mnt + "a.h5") == read(SRC + "a.h5")
        assert error(open, mnt + "note.txt", "w") == "Read-only file system"
        assert error(os.unlink, mnt + "note.txt") == "Read-only file system"

    def test_what_is_left_out_for_its_name_is_told(self):
        def lines(mnt):
            with open(mnt + ".h5/log") as f:
                return [line for line in f if "left out" in line]

        mnt = self.mount("src")
        assert len(lines(mnt)) == 1 and "src: 2 files are left out for their names (" in lines(mnt)[0]
        assert "match=*" in lines(mnt)[0], lines(mnt)
        os.rename("src/plain.dat", "src/sub/deep/plain.dat")
        assert run("find", mnt + "sub", "-name", "b.nc").returncode == 0
        os.listdir(mnt + "sub/deep")
        assert len(lines(mnt)) == 2 and "src/sub/deep: 1 file is left out for its name (plain.dat): " in (
            lines(mnt)[1]
        ), lines(mnt)
        unmount(mnt)
        assert lines(self.mount("-o", "match=*", "src")) == []
        os.makedirs("all/below")
        for name in ("all/below/a.one", "all/below/b.two"):
            make(name, 1)
        said = "all: nothing is shown: 2 files are left out for their names ("
        mnt = self.mount_point()
        for words in ([H5MOUNT, "all", mnt], [H5MOUNT, "--list", "all"], [FSCK, "all"]):
            empty = run(*words)
            assert said in empty.stderr and empty.stderr.count("\n") == 1, empty
            assert "match=*" in empty.stderr, empty
        assert said in lines(mnt)[0], lines(mnt)
        assert run(H5MOUNT, "--list", "-R", "-o", "match=*", "all").stdout.count("/d\n") == 2

    def test_times_of_the_source_have_its_nanoseconds(self):
        when = 1_700_000_000_123_456_789
        for name in ("note.txt", "a.h5", "sub"):
            os.utime(SRC + name, ns=(when, when))
        mnt = self.mount("-o", "passthrough", "src")
        for name in ("note.txt", "a.h5", "a.h5/.h5/README", "sub"):
            assert os.stat(mnt + name).st_mtime_ns == when, name
        assert shell("$H5MOUNT --tar src/a.h5 | (mkdir -p t && tar -xC t)").returncode == 0
        assert run(H5MOUNT, "--copy", "src/a.h5", "/", "c").returncode == 0
        assert os.stat("t").st_mtime_ns == os.stat("c").st_mtime_ns == when

    def test_symlinks_lead_to_places_in_the_mount_and_nowhere_else(self):
        make("outside.h5", 5)
        for to, name in (
            ("sub/b.nc", "near.h5"),
            ("../a.h5", "sub/up.h5"),
            ("..", "sub/parent"),
            (os.path.abspath("src/sub/deep"), "absolute"),
            ("near.h5", "second.h5"),
            (".", "self"),
            ("../outside.h5", "out.h5"),
            ("/etc/passwd", "passwd.h5"),
            ("none", "none.h5"),
            ("two", "one"),
            ("one", "two"),
            ("note.txt", "note.h5"),
            ("sub/../../outside.h5", "around.h5"),
        ):
            os.symlink(to, SRC + name)
        mnt = self.mount("src")
        links, files = {}, {}
        for name in os.listdir(mnt) + ["sub/up.h5", "sub/parent"]:
            mode = os.lstat(mnt + name).st_mode
            if stat.S_ISLNK(mode):
                links[name] = os.readlink(mnt + name)
            elif stat.S_ISREG(mode):
                assert mode & 0o777 == 0, (name, oct(mode))
                assert os.getxattr(mnt + name, "user.hdf5.error") != b"", name
                files[name] = error(open, mnt + name)
        assert links == {
            "absolute": "sub/deep",
            "near.h5": "sub/b.nc",
            "second.h5": "sub/b.nc",
            "self": ".",
            "sub/up.h5": "../a.h5",
            "sub/parent": "..",
        }, links
        loop = "Too many levels of symbolic links"
        assert files == {
            "around.h5": "Permission denied",
            "none.h5": "No such file or directory",
            "one": loop,
            "two": loop,
            "out.h5": "Permission denied",
            "passwd.h5": "Permission denied",
        }, files
        assert read(mnt + "second.h5/d") == b"\2" * 1000
        assert read(mnt + "self/sub/parent/sub/up.h5/d") == b"\1" * 1000
        assert run("find", mnt, "-name", "d").stdout.count("\n") == 3
        copied = run("cp", "-r", mnt + "sub", "copy")
        assert copied.stderr == "", copied

    def test_links_between_files_lead_into_their_trees(self):
        with h5py.File("src/sub/links.h5", "w") as f:
            f["near"] = h5py.ExternalLink("b.nc", "/d")
            f.create_group("g")["above"] = h5py.ExternalLink("../a.h5", "/g")
            f["out"] = h5py.ExternalLink("../../outside.h5", "/d")
            f["absolute"] = h5py.ExternalLink(os.path.abspath("src/sub/deep/C.HDF5"), "/")
            layout = h5py.VirtualLayout((2, 1000), "u1")
            for i, name in enumerate(("b.nc", "deep/C.HDF5")):
                layout[i] = h5py.VirtualSource(name, "d", (1000,))
            f.create_virtual_dataset("v", layout)
        links = self.mount("src") + "sub/links.h5/"
        for name, to in (
            ("near", "../b.nc/d"),
            ("g/above", "../../../a.h5/g"),
            ("absolute", "../deep/C.HDF5"),
            ("out", ".h5/external/..%2F..%2Foutside.h5/d"),
        ):
            assert os.readlink(links + name) == to, (name, os.readlink(links + name))
        assert read(links + "near") == b"\2" * 1000 and read(links + "g/above/t") == b"x\ny\n"
        assert read(links + "absolute/d") == b"\3" * 1000
        assert read(links + "v") == b"\2" * 1000 + b"\3" * 1000
        assert error(open, links + "out") == "Permission denied"

    def test_several_sources_stand_side_by_side(self):
        os.makedirs("other")
        with h5py.File("other/a.h5", "w") as f:
            f["x"] = [1]
        with open("list", "w") as f:
            f.write("# sources\n\nsrc/a.h5\nother/a.h5\nsrc/sub\nsrc/bad.h5\n")
        mnt = self.mount_point()
        for sources in ("src/a.h5 other/a.h5 src/sub src/bad.h5 %s", "@list %s", "@- %s <list"):
            mounted = shell("$H5MOUNT " + sources % mnt)
            assert mounted.returncode == 0, (sources, mounted)
            assert sorted(os.listdir(mnt)) == ["a.h5", "a.h5 (2)", "bad.h5", "sub"], sources
            assert os.listdir(mnt + "a.h5") == ["d", "g"] and os.listdir(mnt + "a.h5 (2)") == ["x"], sources
            assert error(os.listdir, mnt + "bad.h5") == "Input/output error", sources
            assert read(mnt + "sub/b.nc/d") == b"\2" * 1000 and read(mnt + "a.h5/d") == b"\1" * 1000
            assert "a.h5 and 3 more" in run("findmnt", "-no", "SOURCE", mnt.rstrip("/")).stdout
            unmount(mnt)
        missing = run(H5MOUNT, "src/a.h5", "none.h5", mnt)
        assert missing.returncode == 1 and "none.h5" in missing.stderr, missing
        assert not is_mounted(mnt)

    def test_no_more_files_are_open_than_max_open(self):
        os.mkdir("src/n")
        for i in range(400):
            make("src/n/%03d.h5" % i, i % 251, 100)
        for allowed in (16, 2, 1):
            mnt = self.mount("-o", "max_open=%d" % allowed, "src")
            watching = OpenFiles(next(servers_of(mnt)))
            watching.start()

            def is_right(i):
                return read(mnt + "n/%03d.h5/d" % i) == bytes([i % 251]) * 100

            with concurrent.futures.ThreadPoolExecutor(4) as readers:
                assert all(readers.map(is_right, range(400)))
            until(lambda: int(status(mnt)["files_in_memory"]) <= 64, "files are dropped")
            held = [open(mnt + "n/%03d.h5/d" % i, "rb", buffering=0) for i in range(100)]
            for i, f in enumerate(held):
                assert f.read() == bytes([i % 251]) * 100, i
            watching.ended = True
            watching.join()
            watching.look(watching.scan())
            assert allowed / 2 < watching.most <= allowed, (watching.most, allowed)
            for f in held:
                f.close()
            unmount(mnt)

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_others_read_what_the_source_lets_them(self):
        os.mkdir("src/private")
        for name in ("src/private/p.h5", "src/own.h5"):
            with h5py.File(name, "w") as f:
                f["d"] = b"secret"
        os.symlink("private/p.h5", "src/link.h5")
        with h5py.File("src/links.h5", "w") as f:
            f["p"] = h5py.ExternalLink("private/p.h5", "/d")
            f["o"] = h5py.ExternalLink("own.h5", "/d")
        os.chmod("src/private", 0o700)
        os.chmod("src/own.h5", 0o600)
        seen = as_nobody(
            self.mount("-o", "allow_other", "src"),
            """
            ls -ld private own.h5 | cut -c1-10
            for f in private/p.h5 own.h5/d link.h5/d links.h5/p links.h5/o; do cat $f/ 2>&1; cat $f; done
            ls own.h5
            cat a.h5/g/t""",
        )
        assert "secret" not in seen.stdout, seen
        assert "dr-x------\ndr-x------\n" in seen.stdout, seen
        assert seen.stdout.endswith("x\ny\n"), seen

    def test_a_mount_in_its_own_source_is_not_shown(self):
        os.mkdir("src/inside")
        assert run(H5MOUNT, "src", "src/inside").returncode == 0
        self.addCleanup(lambda: is_mounted(os.path.abspath("src/inside")) and unmount("src/inside", "-l"))
        seen = inside("src/inside", "ls && find . | wc -l && ls inside", timeout=20)
        assert seen.stdout == "a.h5\nbad.h5\nsub\n16\n", seen
        assert seen.stderr.startswith("find: ‘./bad.h5’: Input/output error\n"), seen
        unmount(os.path.abspath("src/inside"))
        over = run(H5MOUNT, "src", "src")
        assert over.returncode == 32 and "hidden" in over.stderr, over

    def test_commands_without_a_mount_show_the_same_tree(self):
        mnt = self.mount("src")
        listed = inside(mnt, "find . -printf '/%P\\n' | sort").stdout
        assert shell("$H5MOUNT --list -R src | sort").stdout == listed
        assert run(H5MOUNT, "--cat", "src", "a.h5/d", "sub/b.nc/g/t", text=False).stdout == read(
            mnt + "a.h5/d"
        ) + read(mnt + "sub/b.nc/g/t")
        assert "not an HDF5 file" in run(H5MOUNT, "--stat", "src", "bad.h5").stdout
        os.unlink("src/bad.h5")
        assert shell("mkdir out && $H5MOUNT --tar src | tar -x -C out").returncode == 0
        soon(lambda: run("diff", "-r", mnt, "out").returncode == 0, "the archive is the mount")
        assert run(H5MOUNT, "--copy", "src", "/", "out2").returncode == 0
        assert run("diff", "-r", mnt, "out2").returncode == 0
        assert shell("echo src | $H5MOUNT --list @-").stdout == "a.h5\nsub\n"

    def test_fsck_verifies_all_and_sums_up(self):
        damaged = run(FSCK, "src")
        assert damaged.returncode == 4 and "src/bad.h5: " in damaged.stdout, damaged
        last = damaged.stdout.splitlines()[-1]
        assert last.startswith("src: 4 files, 12 objects, 3 attributes") and "; 1 damaged" in last, last
        os.remove("src/bad.h5")
        assert run(FSCK, "-q", "src").returncode == 0
        mnt = self.mount("src")
        sums = run(FSCK, "-q", "--checksum=sha256", "src")
        assert sums.returncode == 0 and sums.stdout.count("\n") == 6, sums
        assert run("sha256sum", "--quiet", "--check", input=sums.stdout, cwd=mnt).returncode == 0
