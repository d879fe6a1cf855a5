"""The catalogue of a mount of many files: metadata.jsonl and catalogue.parquet of its own .h5."""
import json
import mmap
import os
import shutil
import sqlite3
import struct
import subprocess
import unittest

import h5py
import numpy as np

from fixtures.parquet_parts import Thrift, texts
from many_files import ManyFilesCase, make, soon, status
from mounting import inside, is_mounted, read, unmount
from support.program import H5MOUNT, run, shell

LINES, TABLE = ".h5/metadata.jsonl", ".h5/catalogue.parquet"


def column_of(data, at, end, rows, kind):
    """A page of values that may be missing."""
    (length,) = struct.unpack_from("<I", data, at)
    levels = Thrift(data, at + 4)
    groups = (rows + 7) // 8
    assert levels.varint() == groups << 1 | 1 and levels.at + groups == at + 4 + length
    there = np.unpackbits(np.frombuffer(data, "u1", groups, levels.at), bitorder="little")
    assert not there[rows:].any()
    at += 4 + length
    n = int(there.sum())
    if kind == 2:
        assert end - at == 8 * n
        values = iter(struct.unpack_from("<%dq" % n, data, at))
    else:
        values = iter([text.decode() for text in texts(data, at, n, end)])
    return [next(values) if one else None for one in there[:rows]]


def rows_of(data):
    """The rows of a catalogue in Parquet; the decoder's parts are those of the views' tests."""
    assert data[:4] == data[-4:] == b"PAR1"
    (length,) = struct.unpack("<I", data[-8:-4])
    meta = Thrift(data, len(data) - 8 - length).value(12)
    schema = meta[2][1:]
    columns = [[] for _ in schema]
    at = 4
    for group in meta[4]:
        for column, out in zip(group[1], columns):
            about = column[3]
            assert about[9] == at and about[6] == about[7], (about, at)
            page = Thrift(data, at)
            head = page.value(12)
            assert head[1] == 0 and head[5][1] == group[3] and page.at + head[3] == at + about[7]
            out += column_of(data, page.at, page.at + head[3], group[3], about[1])
            at += about[7]
    assert at == len(data) - 8 - length and meta[3] == len(columns[0])
    names = [s[4].decode() for s in schema]
    assert all(s[3] == 1 and s[1] == (2 if s[4] in (b"size", b"mtime") else 6) for s in schema)
    return [dict(zip(names, row)) for row in zip(*columns)]


def lines_of(text):
    return [json.loads(line, parse_constant=lambda constant: 1 / 0) for line in text.decode().splitlines()]


def counts(mnt):
    seen = status(mnt)
    return int(seen["catalogue_files_opened"]), int(seen["catalogue_files_remembered"])


class CatalogueTest(ManyFilesCase):
    def setUp(self):
        super().setUp()
        with h5py.File("src/sub/run.nxs", "w") as f:
            f["entry/sample/temperature"] = 291.5
            f["entry/sample/temperature"].attrs["units"] = "K"
            f["entry/title"] = 'a "title"\n'
            f["entry/few"] = np.arange(16, dtype="i4").reshape(4, 4)
            f["entry/many"] = np.arange(17, dtype="i4")
            f["entry/nan"] = np.nan
            f["entry/none"] = h5py.Empty("f4")
            f["entry/texts"] = ["x", "y"]
            f["entry/link"] = h5py.SoftLink("/entry/few")
            f["entry/out"] = h5py.ExternalLink("b.nc", "/d")
            f["type"] = np.dtype("<u2")
            f["entry/b\udcff".encode("utf8", "surrogateescape")] = 1
        os.symlink("none", "src/gone.h5")

    def test_has_a_line_for_every_object_of_every_file(self):
        mnt = self.mount("src")
        own = ["README", "catalogue.parquet", "log", "metadata.jsonl", "status"]
        assert sorted(os.listdir(mnt + ".h5")) == own
        found = lines_of(read(mnt + LINES))
        by = {(line["file"], line["path"]): line for line in found}
        assert len(by) == len(found)
        assert [line["file"] for line in found if line["path"] == "/"] == [
            "a.h5",
            "bad.h5",
            "gone.h5",
            "sub/b.nc",
            "sub/deep/C.HDF5",
            "sub/run.nxs",
        ]
        for file in ("a.h5", "sub/b.nc", "sub/deep/C.HDF5", "sub/run.nxs"):
            own = lines_of(read(mnt + file + "/.h5/metadata.jsonl"))
            assert len(own) == len([line for line in found if line["file"] == file]), file
            for line in own:
                mine = dict(by[file, line["path"]])
                if line.get("kind") == "external":
                    line["target_file"] = line.pop("file")
                for key in ("file", "size", "mtime", "value"):
                    mine.pop(key, None)
                assert mine == line, (mine, line)
        few = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
        for path, kind, size, value, target in (
            ("sample/temperature", "dataset", 8, 291.5, None),
            ("title", "dataset", None, 'a "title"\n', None),
            ("few", "dataset", 64, few, None),
            ("many", "dataset", 68, "-", None),
            ("nan", "dataset", 8, "NaN", None),
            ("none", "dataset", 0, None, None),
            ("texts", "dataset", None, ["x", "y"], None),
            ("link", "soft", None, "-", None),
            ("out", "external", None, "-", "b.nc"),
            ("b\udcff", "dataset", 8, 1, None),
        ):
            line = by["sub/run.nxs", "/entry/" + path]
            seen = line["kind"], line.get("size"), line.get("value", "-"), line.get("target_file")
            assert seen == (kind, size, value, target), (path, line)
        assert by["sub/run.nxs", "/type"]["kind"] == "datatype"
        assert by["sub/run.nxs", "/"]["mtime"] == int(os.stat("src/sub/run.nxs").st_mtime)
        for file, why in (
            ("bad.h5", "Superblock.signature at 0x0: bad signature, n"),
            ("gone.h5", "no such file: none"),
        ):
            assert list(by[file, "/"]) == ["file", "path", "error"], by[file, "/"]
            assert by[file, "/"]["error"][:45] == why, by[file, "/"]

    def test_the_table_has_the_same_rows(self):
        mnt = self.mount("src")
        rows, found = rows_of(read(mnt + TABLE)), lines_of(read(mnt + LINES))
        assert ",".join(rows[0]) == "file,path,kind,shape,dtype,size,mtime,attributes,value,error"
        assert len(rows) == len(found)
        for row, line in zip(rows, found):
            for key in ("file", "kind", "dtype", "size", "mtime", "error"):
                assert row[key] == line.get(key), (row, line)
            assert row["path"] == line["path"].replace("\udcff", "\\udcff")
            for key in ("shape", "attributes", "value"):
                assert (row[key] is None) == (key not in line), (key, row, line)
                assert row[key] is None or json.loads(row[key]) == line[key], (key, row, line)
        warm = [
            (row["file"], row["value"])
            for row in rows
            if row["path"] == "/entry/sample/temperature" and float(row["value"]) > 290
        ]
        assert warm == [("sub/run.nxs", "291.5")], warm
        with open(mnt + TABLE, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            assert len(f.read()) == size
            f.seek(-4, 2)
            assert f.read() == b"PAR1"

    def test_an_object_with_too_many_attributes_says_so(self):
        with h5py.File("src/large.h5", "w", libver="latest") as f:
            for i in range(3):
                f.attrs["a%d" % i] = np.ones(4 << 20, "u1")  # 8 MiB of text
            f["after"] = 1
            damaged = f.create_dataset("damaged", (4,), "u1", chunks=(4,), compression="gzip")
            damaged.id.write_direct_chunk((0,), b"not deflated")
            for i in range(3):
                damaged.attrs["a%d" % i] = np.ones(4 << 20, "u1")
        mnt = self.mount("src")
        for found in (lines_of(read(mnt + LINES)), rows_of(read(mnt + TABLE))):
            root, after, damaged = [row for row in found if row["file"] == "large.h5"]
            why = damaged["error"]
            assert "deflate" in why and why.endswith("metadata.jsonl of the file has them"), why
            held = (
                root["attributes"] if isinstance(root["attributes"], dict) else json.loads(root["attributes"])
            )
            assert len(held) == 1 and "metadata.jsonl of the file has them" in root["error"], root["error"]
            assert after["path"] == "/after" and after.get("error") is None
        own = lines_of(read(mnt + "large.h5/.h5/metadata.jsonl"))
        assert sorted(own[0]["attributes"]) == ["a0", "a1", "a2"]

    def test_its_size_is_that_of_its_bytes_before_anybody_opens_it(self):
        mnt = self.mount("src")
        assert (
            inside(mnt, "ls .h5 >/dev/null").returncode == 0 and status(mnt)["catalogue_files_opened"] == "0"
        )
        size = os.stat(mnt + TABLE).st_size
        opened = status(mnt)["catalogue_files_opened"]
        whole = read(mnt + TABLE)
        assert size == len(whole) > 0 and whole.endswith(b"PAR1")
        assert status(mnt)["catalogue_files_opened"] == opened, "it was made once more"
        for words in (["cp"], ["rsync"], ["dd", "bs=%d" % size, "count=1"]):
            to = ["if=" + mnt + TABLE, "of=copy"] if words[0] == "dd" else [mnt + TABLE, "copy"]
            assert run(*words, *to).returncode == 0 and read("copy") == whole, words
        with open(mnt + TABLE, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            assert mapped[:] == whole
            # Another state of the files: who maps the table has the one that was opened.
            make("src/another.h5", 7)
            soon(lambda: os.path.exists(mnt + "another.h5"), "added")
            later = read(mnt + TABLE)
            assert len(later) > len(whole) and mapped[:] == whole
        with open(mnt + TABLE, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            assert mapped[:] == later
        assert os.stat(mnt + TABLE).st_size == len(later)

    def test_what_is_remembered_is_not_opened_again(self):
        for options in ("", ",max_open=2"):
            mnt = self.mount("-o", "catalogue=" + os.path.abspath("store") + options, "src")
            read(mnt + LINES)
            opened, remembered = counts(mnt)
            read(mnt + TABLE)
            assert os.stat("store").st_mode & 0o7777 == 0o700
            assert [os.stat("store/" + n).st_mode & 0o77 for n in os.listdir("store")] == [0]
            again, known = counts(mnt)
            assert again - opened == 1  # the one that cannot be opened is tried again
            assert known - remembered == 4
            make("src/a.h5", 7)
            os.rename("src/sub/b.nc", "src/sub/renamed.nc")
            make("src/new.h5", 8)
            before = counts(mnt)
            second = lines_of(read(mnt + LINES))
            after = counts(mnt)
            # A name that changes is a change of its file.
            assert (after[0] - before[0], after[1] - before[1]) == (4, 2), (before, after)
            assert sorted({line["file"] for line in second}) == [
                "a.h5",
                "bad.h5",
                "gone.h5",
                "new.h5",
                "sub/deep/C.HDF5",
                "sub/renamed.nc",
                "sub/run.nxs",
            ]
            unmount(mnt)
            # The second time some files are known from the first mount.
            os.remove("src/new.h5")
            os.rename("src/sub/renamed.nc", "src/sub/b.nc")

    def test_lines_of_removed_files_are_forgotten(self):
        mnt = self.mount("-o", "catalogue=" + os.path.abspath("store"), "src")

        def files():
            table = sqlite3.connect("store/catalogue.sqlite")
            return table.execute("SELECT count(DISTINCT identity) FROM row").fetchone()[0]

        read(mnt + LINES)
        assert files() == 4
        os.remove("src/sub/run.nxs")
        os.rename("src/a.h5", "src/z.h5")
        soon(lambda: "z.h5" in os.listdir(mnt) and not os.path.exists(mnt + "sub/run.nxs"), "shown")
        read(mnt + LINES)
        assert files() == 3

    def test_what_depends_on_other_files_is_read_again(self):
        layout = h5py.VirtualLayout((2,), "u1")
        layout[:] = h5py.VirtualSource("a.h5", "d", (1000,))[:2]
        with h5py.File("src/v.h5", "w") as f:
            f.create_virtual_dataset("v", layout)
        mnt = self.mount("-o", "catalogue=" + os.path.abspath("store"), "src")

        def values():
            found = lines_of(read(mnt + LINES))
            return [line["value"] for line in found if line["file"] == "v.h5" and line["path"] == "/v"]

        assert values() == [[1, 1]]
        os.utime("src/v.h5", (1, 1))
        assert values() == [[1, 1]]
        make("src/a.h5", 9)
        assert values() == [[9, 9]]

    def test_a_damaged_store_is_made_anew(self):
        def lines(*options):
            return sorted(run(H5MOUNT, "--cat", *options, "src", "/" + LINES).stdout.splitlines())

        def execute(*statements):
            with sqlite3.connect(store) as table:
                for statement in statements:
                    table.execute(*statement)
            table.close()

        def overwrite(bytes_, at=None):
            with open(store, "wb" if at is None else "r+b") as f:
                f.seek(at or 0)
                f.write(bytes_)

        store, options = "store/catalogue.sqlite", ("-o", "catalogue=" + os.path.abspath("store"))
        without = lines()
        assert without != [] and lines(*options) == without
        for name, damage in (
            ("no database", lambda: overwrite(b"no database" * 1000)),
            ("cut", lambda: os.truncate(store, 5000)),
            ("empty", lambda: os.truncate(store, 0)),
            ("random bytes", lambda: overwrite(os.urandom(4096), 4096)),
            ("removed", lambda: os.remove(store)),
            ("another table", lambda: execute(["DROP TABLE row"], ["CREATE TABLE row(x)"])),
            ("lies", lambda: execute(["UPDATE row SET value = ?", (b"lies",)])),
            ("zeros", lambda: execute(["UPDATE row SET attributes = zeroblob(900000)"])),
        ):
            damage()
            assert lines(*options) == without, name
            assert lines(*options) == without, name
            table = sqlite3.connect(store)
            assert table.execute("SELECT count(DISTINCT identity) FROM row").fetchone()[0] == 4, name
            table.close()

    def test_a_directory_where_others_may_write_is_refused(self):
        os.mkdir("store")
        os.chmod("store", 0o770)
        mnt = self.mount_point()
        refused = run(H5MOUNT, "-o", "catalogue=" + os.path.abspath("store"), "src", mnt)
        assert refused.returncode == 1 and "others may write there" in refused.stderr, refused
        assert not is_mounted(mnt)

    def test_mounts_share_a_store(self):
        os.mkdir("src/n")
        for i in range(200):
            with h5py.File("src/n/%03d.h5" % i, "w") as f:
                f["d"] = i
        words = [H5MOUNT, "--cat", "-o", "catalogue=" + os.path.abspath("store"), "src", "/" + LINES]
        started = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4)]
        said = [one.communicate(timeout=60)[0] for one in started]
        assert said[0].count(b"\n") > 200 and said == [said[0]] * 4
        assert run(*words, text=False).stdout == said[0]

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_says_nothing_to_others_of_what_they_may_not_read(self):
        os.mkdir("src/private")
        for name in ("src/private/p.h5", "src/own.h5"):
            with h5py.File(name, "w") as f:
                f["d"] = b"secret"
        os.chmod("src/private", 0o700)
        os.chmod("src/own.h5", 0o600)
        store = "catalogue=" + os.path.abspath("store")
        assert shell("$H5MOUNT --cat -o %s src /%s | grep -c secret" % (store, LINES)).stdout == "2\n"
        mnt = self.mount("-o", "allow_other," + store, "src")
        for name in (LINES, TABLE):
            seen = run(
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", mnt + name, text=False
            ).stdout
            assert b"secret" not in seen
            assert b"not all users may read it" in seen
            assert b"not all users may read the directory" in seen
            assert b"temperature" in seen

    def test_commands_without_a_mount_give_the_same(self):
        mnt = self.mount("src")
        for name in (LINES, TABLE):
            there = read(mnt + name)
            assert run(H5MOUNT, "--cat", "src", "/" + name, text=False).stdout == there, name
            tar = shell("$H5MOUNT --tar src /%s | tar -xO" % name, text=False)
            assert tar.stdout == there, name
            copy = "copy" + os.path.basename(name)
            assert run(H5MOUNT, "--copy", "src", "/" + name, copy).returncode == 0, name
            assert read(copy) == there, name
            assert run("cp", mnt + name, copy + "2").returncode == 0, name
            assert read(copy + "2") == there, name

    def test_who_opens_the_table_meanwhile_shares_it(self):
        mnt = self.mount("src")
        with open(mnt + TABLE, "rb") as first:
            once = counts(mnt)[0]
            same = read(mnt + TABLE)
            assert counts(mnt)[0] == once and same == first.read()
        make("src/a.h5", 5)
        assert read(mnt + TABLE) != same and counts(mnt)[0] - once == 5

    def test_a_pass_ends_with_its_reader_and_tells_how_far_it_is(self):
        os.mkdir("src/n")
        with h5py.File("src/n/000.h5", "w") as f:
            for j in range(60):
                f.create_group("g%d" % j).attrs["a"] = j
        for i in range(1, 300):
            shutil.copy("src/n/000.h5", "src/n/%03d.h5" % i)
        mnt = self.mount("src")
        reader = subprocess.Popen(["cat", mnt + TABLE], stdout=subprocess.DEVNULL)
        told = []
        while reader.poll() is None and len(told) < 3:
            now = status(mnt)
            if now["catalogues_being_made"] == "1" and now["catalogue_files_told"] != "0":
                told.append((int(now["catalogue_files_told"]), int(now["catalogue_files_to_tell"])))
        reader.kill()
        reader.wait()
        assert len(told) == 3, told
        assert all(0 < t <= n == 305 for t, n in told) and told[0][0] <= told[2][0], told
        soon(lambda: status(mnt)["catalogues_being_made"] == "0", "the end of the pass")
        assert counts(mnt)[0] < 305
