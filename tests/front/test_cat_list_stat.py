"""--cat, --list and --stat, as shells and scripts use them."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

from support.program import H5MOUNT, ProgramTest, has_namespaces, run, shell


def write_example():
    with h5py.File("f.h5", "w", libver="earliest") as f:
        f["group/numbers"] = np.arange(1000, dtype="<i4")
        f["group/packed"] = np.zeros((100, 100), "<u2")
        del f["group/packed"]
        packed = np.arange(10000, dtype="<u2").reshape(100, 100)
        f.create_dataset("group/packed", data=packed, chunks=(16, 32), compression="gzip", shuffle=True)
        f["group/numbers"].attrs["units"] = "K"
        f["words"] = ["one", "two"]
        f["again"] = f["group/numbers"]
        f["link"] = h5py.SoftLink("/group/numbers")
        f["to_group"] = h5py.SoftLink("group")
        f["loop"] = h5py.SoftLink("/loop")
        f["lost"] = h5py.SoftLink("/nothing")
        f.attrs["title"] = 'a "small" file'


def cat(*words):
    return run(H5MOUNT, "--cat", *words, text=False, check=True).stdout


def listed(*words):
    return run(H5MOUNT, "--list", *words, check=True).stdout


class CatListStat(ProgramTest):
    def setUp(self):
        super().setUp()
        write_example()

    def test_cat_gives_the_bytes_of_h5py(self):
        with h5py.File("f.h5") as f:
            numbers, packed = f["group/numbers"][:].tobytes(), f["group/packed"][:].tobytes()
        assert cat("f.h5", "group/numbers") == numbers and cat("f.h5", "/group/packed") == packed
        assert cat("f.h5", "group/packed", "again", "words") == packed + numbers + b"one\ntwo\n"
        ways = ("link", "to_group/numbers", "./group/../group//numbers", "../again")
        assert cat("f.h5", *ways) == numbers * 4
        assert cat("f.h5", "/.h5/slice/group/numbers/10:20") == numbers[40:80]
        assert cat("f.h5", "/.h5/attributes/@title") == b'a "small" file'

    def test_what_cannot_be_read_is_named_and_the_rest_is_there(self):
        p = run(H5MOUNT, "--cat", "f.h5", "nothing", "group", "lost", "loop", "words/x", "words")
        assert p.stdout == "one\ntwo\n" and p.returncode == 1, p
        assert p.stderr.count("\n") == 5, p
        for words in (
            "no such file or directory: /nothing",
            "/group: is a directory",
            "/loop: too many symlinks",
            "/words is not a directory",
        ):
            assert words in p.stderr, (words, p)

    def test_a_path_that_is_not_there_is_told_the_next_one_that_is(self):
        p = run(H5MOUNT, "--cat", "f.h5", "group/numbres", "/.h5/npi/x", "to_group/zzz", "again/")
        assert p.stdout == "" and p.returncode == 1, p
        for words in (
            "did you mean /group/numbers?",
            "did you mean /.h5/npy?",
            "f.h5 /to_group tells the names that there are",
        ):
            assert words in p.stderr, (words, p)

    def test_list_gives_names_paths_or_details(self):
        assert listed("f.h5", "group") == "numbers\npacked\n"
        assert listed("f.h5", "to_group") == "numbers\npacked\n"
        assert listed("f.h5", "group/packed") == "packed\n"
        assert listed("-R", "f.h5", "group") == "/group\n/group/numbers\n/group/packed\n"
        assert listed("f.h5") == "again\ngroup\nlink\nloop\nlost\nto_group\nwords\n"
        assert listed("-R", "f.h5").count("\n") == 10
        details = listed("-lR", "f.h5")
        assert details == cat("f.h5", "/.h5/list.txt").decode()
        for words in (
            "/group/packed            Dataset {100, 100} <u2, chunked {16, 32}, shuffle, deflate\n",
            "/group/numbers           Dataset {1000} <i4\n    @units = K\n",
            "/link                    Link -> group/numbers\n",
            '/                        Group\n    @title = a "small" file\n',
        ):
            assert words in details, (words, details)
        assert listed("-l", "f.h5", "words") == "words                    Dataset {2} utf8\n"
        assert listed("f.h5", "/.h5/npy/group") == "numbers.npy\npacked.npy\n"

    def test_stat_is_a_json_line_with_every_attribute(self):
        said = run(H5MOUNT, "--stat", "f.h5", "/", "again", "link", "group/packed", check=True).stdout
        root, again, link, packed = map(json.loads, said.splitlines())
        assert root["path"] == "/" and root["type"] == "directory"
        assert root["xattrs"]["user.title"] == 'a "small" file'
        assert again["links"] == 2 and again["size"] == 4000 and again["xattrs"]["user.units"] == "K"
        assert link["type"] == "symlink" and link["target"] == "group/numbers"
        assert packed["mode"] == "0444" and packed["xattrs"]["user.hdf5.shape"] == "[100,100]"

    def test_names_of_every_kind_are_taken_as_they_are(self):
        names = ["[a,b]", "{}", "-R", "--", "a b", "ä", '"', "*", "=x", "%%"]
        with h5py.File("n.h5", "w") as f:
            for number, name in enumerate(names):
                f[name] = "text %d" % number
        for number, name in enumerate(names):
            if name[0] != "-":
                assert cat("n.h5", name) == b"text %d\n" % number, name
            assert cat("n.h5", "--", name) == b"text %d\n" % number, name
            assert cat("n.h5", "/" + name) == b"text %d\n" % number, name

    def test_a_list_with_an_error_is_a_failure(self):
        with h5py.File("f.h5", "w") as f:
            f["good"] = 1
            f["bad"] = 2
            place = h5py.h5o.get_info(f["bad"].id).addr
        with open("f.h5", "r+b") as f:
            f.seek(place)
            f.write(b"\x63")
        p = run(H5MOUNT, "--list", "-l", "f.h5")
        assert "bad " in p.stdout and "error: " in p.stdout, p
        assert p.returncode == 1 and "/bad: " in p.stderr, p

    def test_each_error_of_a_walk_is_told_once(self):
        os.mkdir("files")
        with open("files/junk.h5", "w") as f:
            f.write("junk")
        with h5py.File("files/damaged.h5", "w", libver="latest") as f:
            for i in range(100):
                f.create_group(f"g/{i}")
        with open("files/damaged.h5", "rb") as f:
            whole = f.read()
        with open("files/damaged.h5", "wb") as f:
            f.write(whole.replace(b"BTHD", b"xxxx"))
        p = run(H5MOUNT, "--list", "-lR", "files")
        told = [line.split(": ")[2] for line in p.stderr.splitlines()]
        assert p.returncode == 1 and sorted(told) == ["/damaged.h5/g", "/junk.h5"], p

    def test_links_that_lead_nowhere_are_named(self):
        os.makedirs("files/sub")
        shutil.copy("f.h5", "files/f.h5")
        os.symlink("../../outside.h5", "files/sub/out.h5")
        os.symlink("nothing.h5", "files/gone.h5")
        for words in (["-R"], ["-lR"]):
            p = run(H5MOUNT, "--list", *words, "files")
            told = [line.split(": ")[2] for line in p.stderr.splitlines()]
            assert p.returncode == 1 and sorted(told) == ["/gone.h5", "/sub/out.h5"], p

    def test_a_second_file_is_no_path(self):
        shutil.copy("f.h5", "g.h5")
        p = run(H5MOUNT, "--list", "f.h5", "g.h5")
        assert p.stdout == "" and p.returncode == 1 and p.stderr.count("\n") == 1, p
        assert "give it to a command of its own" in p.stderr, p

    def test_a_cut_file_says_first_that_it_is_incomplete(self):
        """The root's header lies in what is missing."""
        with h5py.File("cut.h5", "w", libver="earliest") as f:
            f["d"] = np.arange(2000)
        with open("cut.h5", "rb") as f:
            whole = bytearray(f.read())
        n = len(whole)
        whole[64:72] = (n - 200).to_bytes(8, "little")
        with open("cut.h5", "wb") as f:
            f.write(whole[:-400])
        p = run(H5MOUNT, "--list", "cut.h5")
        assert p.returncode == 2 and p.stderr.count("\n") == 1, p
        assert "{:,} of {:,} bytes: an incomplete copy? ObjectHeader".format(n - 400, n) in p.stderr, p

    def test_a_file_cut_inside_its_superblock_says_so(self):
        for libver in ("earliest", "latest"):
            with h5py.File("whole.h5", "w", libver=libver) as f:
                f["d"] = 1
            with open("whole.h5", "rb") as f:
                whole = f.read()
            for n in (1, 7, 8, 9, 12, 20, 40, 47):
                with open("cut.h5", "wb") as f:
                    f.write(whole[:n])
                p = run(H5MOUNT, "--list", "cut.h5")
                assert p.returncode == 2 and p.stderr.count("\n") == 1, p
                assert "%d bytes, which end inside the superblock: an incomplete copy? " % n in p.stderr, p
        with open("cut.h5", "wb") as f:
            f.write(b"a text")
        assert "incomplete" not in run(H5MOUNT, "--list", "cut.h5").stderr

    def test_a_full_disk_and_a_broken_pipe_are_told(self):
        full = shell("$H5MOUNT --cat f.h5 words >/dev/full")
        assert full.returncode == 1 and full.stderr.count("\n") == 1, full
        assert "No space left on device" in full.stderr, full
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("large", (1 << 26,), "u1", fillvalue=1, chunks=(1 << 20,))
        # Ended by the signal, in silence, as head has what it wants.
        command = "$H5MOUNT --cat f.h5 large | head -c 3 | wc -c; echo ${PIPESTATUS[0]}"
        pipe = run("bash", "-c", command)
        assert pipe.stdout == "3\n141\n" and pipe.stderr == "", pipe
        # Where the signal is ignored, as under some build servers, one line.
        ignored = run("bash", "-c", 'trap "" PIPE; ' + command)
        assert ignored.stdout == "3\n1\n", ignored
        assert "Broken pipe" in ignored.stderr and ignored.stderr.count("\n") == 1, ignored

    def test_a_closed_output_is_an_error(self):
        closed = shell("$H5MOUNT --cat f.h5 words >&-")
        assert closed.returncode == 1, closed
        assert "standard output: Bad file descriptor" in closed.stderr, closed

    def test_an_interrupt_ends_each_within_a_second(self):
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("large", (1 << 40,), "u1", fillvalue=1, chunks=(1 << 20,))
            for i in range(2000):
                f["many/%d" % i] = i
        for words in (
            ["--cat", "f.h5", "large"],
            ["--tar", "f.h5", "large"],
            ["--list", "-lR", "f.h5"] + ["/"] * 1000,
        ):
            command = subprocess.Popen([H5MOUNT, *words], stdout=subprocess.DEVNULL)
            time.sleep(0.3)
            assert command.poll() is None, words
            command.send_signal(signal.SIGINT)
            start = time.monotonic()
            assert command.wait() == -signal.SIGINT and time.monotonic() - start < 2, words

    def test_sources_that_are_none_are_refused_as_by_a_mount(self):
        assert run(H5MOUNT, "--cat", "missing.h5", "x").returncode == 1
        with open("text.h5", "w") as f:
            f.write("nothing\n")
        assert run(H5MOUNT, "--list", "text.h5").returncode == 2
        assert run(H5MOUNT, "--cat", "f.h5").returncode == 1
        assert run(H5MOUNT, "--list", "-x", "f.h5").returncode == 1

    @unittest.skipIf(os.geteuid() != 0, "not root")
    @unittest.skipIf(not has_namespaces(), "no mount namespaces here")
    def test_an_ordinary_user_without_fuse(self):
        def without_fuse(words):
            return run(
                "unshare",
                "--mount",
                "sh",
                "-c",
                "mount --bind dev /dev && setpriv --reuid=65534 --regid=65534 --clear-groups ./h5mount "
                + words,
            )

        os.chmod(".", 0o755)
        os.chmod("f.h5", 0o644)
        shutil.copy(H5MOUNT, "h5mount")
        os.mkdir("dev")
        p = without_fuse("--cat f.h5 words")
        assert p.stdout == "one\ntwo\n", p
        os.mkdir("m")
        os.chown("m", 65534, -1)
        p = without_fuse("f.h5 m")
        assert p.returncode != 0, p
        assert "--list, --cat, --stat, --tar, --copy or --serve" in p.stderr, p

    def test_text_compares_files_by_their_contents(self):
        """The same contents, in another order and layout, are the same text; a changed value is not."""

        def text(name, changed=0, waste=False):
            with h5py.File(name, "w") as f:
                if waste:
                    f["waste"] = np.zeros(1000)
                    del f["waste"]
                d = f.create_dataset("a/t", data=np.arange(100, dtype="<i4"))
                d.attrs["units"] = "K\n"
                d[7] = 7 + changed
                f["link"] = h5py.SoftLink("/a/t")
            return run(H5MOUNT, "--text", name, check=True).stdout

        one = text("one.h5")
        assert one == text("two.h5", waste=True)
        assert one != text("three.h5", changed=1)
        digest = hashlib.sha256(np.arange(100, dtype="<i4").tobytes()).hexdigest()
        for part in (
            '"/a/t" dataset\n',
            "  dtype <i4\n",
            '  @units "K\\n"\n',
            "  sha256 " + digest,
            "  | 0",
            '"/link" link -> "a/t"',
        ):
            assert part in one, (part, one)
