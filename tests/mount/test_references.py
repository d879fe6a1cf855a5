"""References: what fsspec and zarr-python read from the HDF5 file itself by /.h5/references.json, while
nothing is mounted, is what h5py reads."""
import base64
import errno
import glob
import http.server
import json
import os
import shutil
import struct
import threading
import time
import urllib.parse
import zlib
from functools import partial

import h5py
import numpy as np

import icechunk_references
import parquet_references
from mounting import MountTest, unmount
from support.messages import change_messages
from support.program import FSCK, H5MOUNT, run

try:
    import fsspec
    import zarr
except ModuleNotFoundError:
    fsspec = zarr = None


class QuietServer(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class TaggingServer(QuietServer):
    """A server whose objects have entity tags."""

    tag = "one"

    def end_headers(self):
        self.send_header("ETag", '"%s"' % self.tag)
        super().end_headers()


class ReferencesTest(MountTest):
    def served(self, handler):
        """The URL of f.h5 at a server that ends with the test."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=os.getcwd()))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d/f.h5" % server.server_port

    def references(self, file="f.h5", *options):
        """The references, and what is told of them, as the commands without a mount give them."""
        made = run(H5MOUNT, *options, "--cat", file, "/.h5/references.json")
        self.assertEqual(made.returncode, 0, made)
        told = json.loads(run(H5MOUNT, *options, "--stat", file, "/").stdout)["xattrs"]
        return json.loads(made.stdout), json.loads(told["user.hdf5.references"])

    def same_in_other_forms(self, references, told, file="f.h5", *options):
        """The other forms say what references.json does, but for what is in that only."""
        mnt = self.mount(file, *options)
        place = mnt + ".h5/references.parq/"

        def read(name):
            if not os.path.exists(place + name):
                return None
            with open(place + name, "rb") as f:
                data = f.read()
            self.assertEqual(os.stat(place + name).st_size, len(data), name)
            return data

        have = parquet_references.refs(read)
        beside = [path[1:] for path in told["json_only"]]
        want = {
            key: json.loads(value) if key.rsplit("/", 1)[-1].startswith(".z") else value
            for key, value in references["refs"].items()
            if ".json" not in key and not any(key.startswith(path + "/") for path in beside)
        }
        self.assertEqual(have, want)
        self.assertEqual(read(".h5mount").decode(), references["h5mount"])
        listed = {
            os.path.relpath(os.path.join(at, file), place)
            for at, _, files in os.walk(place)
            for file in files
        }
        parts = {key.rpartition("/")[0] for key in have if not key.rpartition("/")[2].startswith(".z")}
        self.assertEqual({at for at, _, name in map(lambda n: n.rpartition("/"), listed) if at}, parts)
        for name in ("none", "refs.0.parq", ".zarray", "x/refs.0.parq"):
            self.assertFalse(os.path.exists(place + name), name)
        self.same_in_icechunk(mnt + ".h5/references.icechunk/", references, told)
        unmount(mnt)

    def same_in_icechunk(self, place, references, told):
        """references.icechunk says what references.json does, but for arrays that version 3 of Zarr lacks,
        and structs of big-endian numbers."""

        def read(name):
            with open(place + name, "rb") as f:
                data = f.read()
            self.assertEqual(os.stat(place + name).st_size, len(data), name)
            return data

        have = icechunk_references.refs(read)
        self.assertEqual(have.message, references["h5mount"])
        arrays = {key[: -len("/.zarray")] for key in references["refs"] if key.endswith("/.zarray")}
        arrays -= {path[1:] for path in told["no_icechunk"]}
        shown = {path for path, text in have.metadata.items() if text["node_type"] == "array"}
        self.assertEqual(shown, arrays)

        def location(url):
            return url if "://" in url else "file://" + urllib.parse.quote(url)

        prefixes = {urllib.parse.unquote(url.rpartition("/")[0]) + "/" for url in have.checks}
        for prefix in prefixes:
            self.assertTrue(any(prefix.startswith(known) for known in have.containers), prefix)
        for key, value in references["refs"].items():
            array, _, name = key.rpartition("/")
            if name.startswith(".z") or array not in arrays:
                continue
            if isinstance(value, list):
                self.assertEqual(have.chunks[key], [location(value[0])] + value[1:], key)
            else:
                text = value.removeprefix("base64:")
                self.assertEqual(have.chunks[key], base64.b64decode(text), key)
        self.assertEqual(
            len([key for key in have.chunks if key.rpartition("/")[0] in arrays]), len(have.chunks)
        )
        for name in ("none", "manifests/none", "snapshots/none", "chunks", "repo/x"):
            self.assertFalse(os.path.exists(place + name), name)
        return have

    def opened(self, references):
        if zarr is None:
            self.skipTest("no fsspec or zarr")
        return zarr.open_group(
            fsspec.get_mapper("reference://", fo=references, remote_protocol="file"), mode="r"
        )

    def write(self, name="f.h5", **options):
        return h5py.File(name, "w", **options)

    def same(self, references, *names, file="f.h5"):
        shown = self.opened(references)
        with h5py.File(file, "r") as f:
            for name in names:
                want = f[name][()]
                if want.dtype == object if isinstance(want, np.ndarray) else False:
                    want = f[name].asstr()[()]
                have = shown[name][()]
                self.assertEqual(np.asarray(have).tolist(), np.asarray(want).tolist(), name)

    def kinds(self, references, name):
        """For each chunk of an array: a range of the file, or bytes that are held inside."""
        out = {}
        for key, value in references["refs"].items():
            if key.startswith(name + "/") and not key.startswith(name + "/."):
                out[key[len(name) + 1 :]] = "range" if isinstance(value, list) else "inside"
        return out

    def test_each_way_of_storage(self):
        numbers = np.arange(1000, dtype=">i4").reshape(50, 20)
        with self.write() as f:
            f.create_dataset("plain", data=numbers, chunks=(16, 8))
            f.create_dataset("gzip", data=numbers, chunks=(16, 8), compression="gzip", shuffle=True)
            f.create_dataset("checked", data=numbers, chunks=(16, 8), compression="gzip", fletcher32=True)
            f.create_dataset("lzf", data=numbers, chunks=(16, 8), compression="lzf")
            f.create_dataset("scaled", data=numbers.astype("i4"), chunks=(16, 8), scaleoffset=True)
            f["contiguous"] = numbers
            f["scalar"] = 4.5
            f["none"] = np.zeros((0, 4))
            f["strings"] = ["one", "", "täuschend"]
            f["fixed"] = np.array([b"a", b"bcd"])
            f.create_dataset("terminated", data=[b"a", b"bcd"], dtype=h5py.string_dtype("ascii", 4))
            f["compound"] = np.array([(1, 2.5), (3, 4.5)], np.dtype([("a", "i2"), ("b", "f8")], align=True))
            f["reference"] = np.array([f["plain"].ref], h5py.ref_dtype)
            f["g/again"] = f["gzip"]
            f["a%b\\c"] = numbers
            f["x.json/y"] = numbers
        references, told = self.references()
        self.same_in_other_forms(references, told)
        self.assertEqual(set(told["json_only"]), {"/none", "/x.json/y"})
        self.same(references, "plain", "gzip", "checked", "lzf", "scaled", "contiguous", "scalar", "none")
        self.same(references, "strings", "fixed", "terminated", "compound", "g/again")
        for name in ("plain", "gzip", "checked", "contiguous", "g/again"):
            self.assertEqual(set(self.kinds(references, name).values()), {"range"}, name)
        for name in ("lzf", "scaled", "strings", "compound"):
            self.assertEqual(set(self.kinds(references, name).values()), {"inside"}, name)
        self.assertEqual(self.kinds(references, "scalar"), {"0": "range"})
        self.assertEqual(list(told["left_out"]), ["/reference"])
        self.assertNotIn("reference/.zarray", references["refs"])
        self.assertEqual(self.opened(references)["a%b%5Cc"][3, 4], numbers[3, 4])
        keys = [k for k in references["refs"] if not k.rsplit("/", 1)[-1].startswith(".")]
        self.assertEqual(told["direct"] + told["inline"], len(keys))

    def test_masks_and_chunks_never_written(self):
        """An index by h5py's chunk information alone is wrong for each of them."""
        with self.write() as f:
            d = f.create_dataset(
                "d", (500,), "i4", chunks=(100,), compression="gzip", shuffle=True, fillvalue=-7
            )
            for i in (0, 2):
                d[100 * i : 100 * i + 100] = np.arange(100) + i
            d.id.write_direct_chunk((100,), np.arange(100, 200, dtype="i4").tobytes(), filter_mask=0b11)
            s = f.create_dataset(
                "s", (1000, 1000), "f8", chunks=(10, 1000), compression="gzip", fillvalue=np.nan
            )
            s[990:] = 1.5
            f.create_dataset("u", (40,), "i2", chunks=(7,), fillvalue=3)[10:20] = 5
            f.create_dataset("r", (6,), "i8", fillvalue=9)
            chunk = d.id.get_chunk_info(1)
        references, told = self.references()
        self.same_in_other_forms(references, told)
        self.same(references, "d", "u", "r")
        self.assertEqual(np.nansum(self.opened(references)["s"][:]), 15000)
        self.assertTrue(np.isnan(self.opened(references)["s"][:990]).all())
        self.assertEqual(
            self.kinds(references, "d"),
            {"0": "range", "1": "inside", "2": "range", "3": "inside", "4": "inside"},
        )
        naive = json.loads(json.dumps(references))
        naive["refs"]["d/1"] = [os.path.abspath("f.h5"), chunk.byte_offset, chunk.size]
        del naive["refs"]["d/3"]
        for part in (slice(100, 200), slice(300, 400)):
            with self.assertRaises(Exception):
                self.opened(naive)["d"][part]
        held = references["refs"]["s/0.0"]
        self.assertLess(len(held), 400)  # 80,000 bytes
        self.assertEqual(len(zlib.decompress(base64.b64decode(held[len("base64:") :]))), 80_000)
        self.assertEqual(told["left_out"], {})

    def test_contiguous_data_are_cut(self):
        """The last chunk may run past the dataset's end, but never past the file's."""
        values = np.arange(3_000_000, dtype="f4").reshape(3, 1_000_000)
        with self.write() as f:
            f["rows"] = values
            f["long"] = np.arange(2_500_000, dtype="i4")
        references, _ = self.references()
        self.same(references, "rows", "long")
        size = os.stat("f.h5").st_size
        for key, value in references["refs"].items():
            if isinstance(value, list):
                self.assertLessEqual(value[1] + value[2], size, key)
                self.assertLessEqual(value[2], 4 << 20, key)
        ends = [self.kinds(references, name) for name in ("rows", "long")]
        self.assertIn("inside", {kind for end in ends for kind in end.values()})

    def test_choices(self):
        with self.write() as f:
            f.create_dataset("lzf", data=np.arange(5000), chunks=(1000,), compression="lzf")
            f.create_dataset("gzip", data=np.arange(5000), chunks=(1000,), compression="gzip")
            f.create_dataset("huge", (1 << 25,), "i8", chunks=(1 << 12,))
        references, told = self.references("f.h5", "-o", "references=direct")
        self.assertEqual(set(told["left_out"]), {"/lzf", "/huge"})
        self.assertIn("filter lzf", told["left_out"]["/lzf"])
        self.same(references, "gzip")
        references, told = self.references("f.h5", "-o", "references=http://h.example/f.h5")
        self.assertEqual(
            references["refs"]["lzf/1"], ["http://h.example/f.h5/.h5/stored.zarr/lzf/1", 0, 8000]
        )
        # Of the constants of 32 KiB as many are held inside as may be.
        self.assertEqual((told["inline"], told["served"]), (1 << 11, (1 << 13) - (1 << 11) + 5))
        self.same_in_other_forms(references, told, "f.h5", "-o", "references=http://h.example/f.h5")
        bad = run(H5MOUNT, "-o", "references=none", "--stat", "f.h5", "/")
        self.assertEqual(bad.returncode, 1)
        self.assertIn("must be inline, direct, or the URL", bad.stderr)

    def test_url_stands_for_the_directory(self):
        os.makedirs("in/deeper")
        with self.write("in/deeper/a {{b}}.h5") as f:
            f.create_dataset("d", data=np.arange(100), chunks=(10,))
        for source, path in (("in/deeper/a {{b}}.h5", ""), ("in", "deeper/a {{b}}.h5")):
            made = run(H5MOUNT, "-o", "url=s3://bucket/run/", "--cat", source, path + "/.h5/references.json")
            url = json.loads(made.stdout)["refs"]["d/3"][0]
            below = "deeper/" if path else ""
            self.assertEqual(url, "s3://bucket/run/%sa%%20%%7B%%7Bb%%7D%%7D.h5" % below)
        os.symlink("in", "link")
        made = run(H5MOUNT, "-o", "url=s3://b", "--cat", "link", "deeper/a {{b}}.h5/.h5/references.json")
        self.assertEqual(json.loads(made.stdout)["refs"]["d/3"][0], "s3://b/deeper/a%20%7B%7Bb%7D%7D.h5")
        refused = run(H5MOUNT, "-o", "url=s3://b/", "in", "in/deeper", self.mount_point())
        self.assertNotEqual(refused.returncode, 0, refused)
        self.assertIn("url= stands for the directory of one source", refused.stderr)

    def test_of_a_url(self):
        """No secret of the query is told; the entity tag and the size are."""
        with self.write() as f:
            f.create_dataset("d", data=np.arange(100), chunks=(10,))
        url = self.served(QuietServer)
        made = run(H5MOUNT, "--cat", url + "?token=secret", "/.h5/references.json")
        self.assertEqual(made.returncode, 0, made)
        self.assertNotIn("secret", made.stdout)
        self.assertEqual(json.loads(made.stdout)["refs"]["d/3"][0], url)
        (file,) = json.loads(json.loads(made.stdout)["h5mount"])
        self.assertEqual((file["url"], file["size"]), (url, os.stat("f.h5").st_size))

    def test_a_mount(self):
        """Exact size, any range; the attribute is listed once the file was opened."""
        with self.write() as f:
            f.create_dataset("d", data=np.arange(1000), chunks=(1,))
        mnt = self.mount("f.h5")
        self.assertNotIn("user.hdf5.references", os.listxattr(mnt))
        self.assertEqual(json.loads(os.getxattr(mnt, "user.hdf5.references"))["direct"], 1000)
        name = mnt + ".h5/references.json"
        size = os.stat(name).st_size
        with open(name, "rb") as f:
            text = f.read()
            f.seek(size - 50)
            self.assertEqual(f.read(), text[-50:])
        self.assertEqual(len(text), size)
        self.assertTrue(text.startswith(b'{"version":1,"refs":{'))
        self.assertEqual(list(json.loads(text)), ["version", "refs", "h5mount"])
        self.assertIn("user.hdf5.references", os.listxattr(mnt))
        unmount(mnt)
        self.same(json.loads(text), "d")

    def test_parts_of_many_chunks(self):
        """Parquet's files have 100,000 chunks each, Icechunk's as many references of all names."""
        with self.write() as f:
            d = f.create_dataset("d", (150_000,), "i1", chunks=(1,))
            d[:150] = 1
            d[149_900:] = 2
            d = f.create_dataset("g/wide", (2, 60_000), "i1", chunks=(1, 1))
            d[:, 49_990:50_010] = 3
            f["again"] = d
        references, told = self.references()
        self.assertEqual(told["direct"], 250 + 2 * 40)
        self.same_in_other_forms(references, told)
        mnt = self.mount("f.h5")
        # Of the first array, and of each row of the second one, which has two names.
        self.assertEqual(len(os.listdir(mnt + ".h5/references.icechunk/manifests")), 2 + 2 * 2)

    def test_names_and_types_of_version_3(self):
        pair = np.dtype([("a", ">i2"), ("b", "<f8")])
        names = ("zarr.json", "__x", "...", "c", b"bad\xff", "b%ff", "\u00fc/c/0", "%41")
        with self.write() as f:
            for name in names:
                f.create_dataset(name, data=np.arange(12), chunks=(5,))
            f["mixed"] = np.array([(1, 2.5), (3, 4.5)], pair)
            f["inner"] = np.zeros(3, np.dtype([("a", "i4", (2,))]))
        _, told = self.references()
        self.assertEqual(told["no_icechunk"], {"/inner": "members that are arrays"})
        mnt = self.mount("f.h5")

        def read(name):
            with open(mnt + ".h5/references.icechunk/" + name, "rb") as f:
                return f.read()

        have = icechunk_references.refs(read)
        arrays = {key.rpartition("/")[0] for key in have.chunks}
        shown = {"%7Aarr.json", "%5F_x", "%2E..", "c", "bad%FF", "b%25ff", "\u00fc/c/0", "%2541", "mixed"}
        self.assertEqual(arrays, shown)
        self.assertEqual(
            have.chunks["mixed/0"], np.array([(1, 2.5), (3, 4.5)], pair.newbyteorder("<")).tobytes()
        )
        self.assertEqual(have.metadata["c"]["chunk_key_encoding"]["configuration"], {"separator": "/"})
        unmount(mnt)
        # The server's chunks have other bytes where elements are packed.
        huge = ("-o", "references=http://h.example/")
        with self.write() as f:
            f.create_dataset(b"\xff", (9 << 20,), "f8", chunks=(1 << 20,), compression="lzf")[:] = 1
            f.create_dataset("mixed", (9 << 20,), pair, chunks=(1 << 20,))[0] = (1, 2.5)
        mnt = self.mount("f.h5", *huge)
        have = icechunk_references.refs(read)
        self.assertEqual({key.rpartition("/")[0] for key in have.chunks}, {"%FF"})
        self.assertEqual(have.chunks["%FF/3"], ["http://h.example/.h5/stored.zarr/%FF/3", 0, 8 << 20])
        self.assertEqual(have.containers["http://h.example/"]["store"], {"http": {"allow_http": "true"}})

    def test_what_readers_of_icechunk_check(self):
        with self.write() as f:
            f.create_dataset("d", data=np.arange(100), chunks=(10,))
        os.utime("f.h5", ns=(0, 1_700_000_000_000_000_001))
        local = "file://" + urllib.parse.quote(os.path.abspath("f.h5"))

        def checks(source, *options):
            shutil.rmtree("refs", ignore_errors=True)
            copied = run(H5MOUNT, *options, "--copy", source, "/.h5/references.icechunk", "refs")
            self.assertEqual(copied.returncode, 0, copied)

            def read(name):
                with open("refs/" + name, "rb") as f:
                    return f.read()

            return icechunk_references.refs(read)

        # A second is later than its fractions.
        have = checks("f.h5")
        self.assertEqual(have.checks, {local: 1_700_000_001})
        self.assertEqual(
            have.containers[local[: -len("f.h5")]]["store"], {"local_file_system": os.getcwd() + "/"}
        )
        # A copy elsewhere has a time of its own.
        have = checks("f.h5", "-o", "url=s3://bucket/a%20b/")
        self.assertEqual(have.checks, {"s3://bucket/a%20b/f.h5": 0})
        self.assertEqual(list(have.containers), ["s3://bucket/a b/"])
        self.assertEqual(list(have.containers["s3://bucket/a b/"]["store"]), ["s3"])
        url = self.served(TaggingServer)
        self.assertEqual(checks(url).checks, {url: 1_700_000_000})

    def test_types_and_filters_that_few_readers_meet(self):
        """Two filters of one kind, arrays in arrays, 33 dimensions, attributes that are no strict JSON."""
        nested = h5py.h5t.array_create(h5py.h5t.array_create(h5py.h5t.STD_I32LE, (3,)), (2,))
        pair = h5py.h5t.array_create(h5py.h5t.STD_I16LE, (2,))
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((100,))
        create.set_deflate(1)
        create.set_deflate(2)
        with self.write() as f:
            simple = h5py.h5s.create_simple
            twice = h5py.h5d.create(f.id, b"twice", h5py.h5t.STD_I32LE, simple((250,)), dcpl=create)
            h5py.Dataset(twice)[:] = np.arange(250)
            h5py.h5d.create(f.id, b"many", pair, simple((1,) * 32))
            data = h5py.h5d.create(f.id, b"nested", nested, simple((4,)))
            data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(24, dtype="i4"), nested)
            f["twice"].attrs["values"] = [np.nan, np.inf]
        references, told = self.references()
        self.same_in_other_forms(references, told)
        self.same(references, "twice")
        self.assertEqual(set(self.kinds(references, "twice").values()), {"inside"})
        self.assertEqual(told["json_only"], {"/many": "more than 32 dimensions"})
        self.assertEqual(len(json.loads(references["refs"]["many/.zarray"])["shape"]), 33)
        self.assertEqual(
            self.opened(references)["nested"][:].tolist(), np.arange(24).reshape(4, 2, 3).tolist()
        )

        def refuse(constant):
            raise AssertionError(constant)

        for key, value in references["refs"].items():
            if key.endswith(".zattrs"):
                json.loads(value, parse_constant=refuse)

    def test_a_file_that_is_replaced_between_two_parts(self):
        """All parts are of one file as long as their directory is open."""
        for name, count in (("f.h5", 100), ("next.h5", 900)):
            with self.write(name) as f:
                f.create_dataset("d", data=np.arange(count), chunks=(10,))
        place = self.mount("-o", "reload", "f.h5") + ".h5/references.parq"

        def rows(name="d/refs.0.parq", **options):
            with os.fdopen(os.open(name, os.O_RDONLY, **options), "rb") as f:
                return len(list(parquet_references.rows_of(f.read())))

        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        self.assertEqual(rows(dir_fd=directory), 10)
        os.replace("next.h5", "f.h5")
        for _ in range(15):
            self.assertEqual((rows(dir_fd=directory), rows(place + "/d/refs.0.parq")), (10, 10))
            time.sleep(0.1)
        os.close(directory)
        deadline = time.monotonic() + 20
        while rows(place + "/d/refs.0.parq") != 90:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_a_chunk_of_more_than_4_gib(self):
        """HDF5 2.0 has such; h5py of Debian makes a smaller one, whose extent is changed."""
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((1 << 25,))
        create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        create.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        with self.write(libver="latest") as f:
            space = h5py.h5s.create_simple((1 << 25,))
            d = h5py.h5d.create(f.id, b"d", h5py.h5t.STD_I64LE, space, dcpl=create)
            at = d.get_chunk_info(0).byte_offset
        whole, less = struct.pack("<I", 1 << 30), struct.pack("<I", 1 << 25)

        def edit(kind, flags, body):
            if kind == 8:
                body = b"\x05" + body[1:]  # the version that has such chunks
            return kind, flags, body.replace(less, whole) if kind in (1, 8) else body

        change_messages("f.h5", "d", edit)
        os.truncate("f.h5", at + (8 << 30))
        with open("f.h5", "r+b") as f:
            f.seek(at + (5 << 30))
            f.write(struct.pack("<q", 77))
        references, told = self.references()
        self.same_in_other_forms(references, told)
        self.assertEqual(references["refs"]["d/0"], [os.path.abspath("f.h5"), at, 8 << 30])
        with open(references["refs"]["d/0"][0], "rb") as f:
            f.seek(at + (5 << 30))
            self.assertEqual(struct.unpack("<q", f.read(8)), (77,))
        shown = run(H5MOUNT, "--cat", "f.h5", "/.h5/slice/d/%d" % (5 << 27), text=False)
        self.assertEqual(struct.unpack("<q", shown.stdout), (77,))

    def test_members_of_a_set(self):
        with self.write("run-%d.h5", driver="family", memb_size=8192) as f:
            f.create_dataset("d", data=np.arange(20_000), chunks=(500,))
        references, _ = self.references("run-%d.h5")
        files = {value[0] for key, value in references["refs"].items() if isinstance(value, list)}
        self.assertGreater(len(files), 10)
        kinds = self.kinds(references, "d")
        self.assertEqual(set(kinds.values()), {"range", "inside"})  # inside: across a border
        self.assertEqual(self.opened(references)["d"][:].tolist(), list(range(20_000)))

    def test_other_files(self):
        """External raw data, and a user block."""
        np.arange(100, dtype="i4").tofile("raw.bin")
        with self.write(userblock_size=1024) as f:
            f.create_dataset("e", (60,), "i4", external=[("raw.bin", 40, 240)])
            f.create_dataset("d", data=np.arange(100), chunks=(10,))
        references, _ = self.references()
        self.assertEqual(references["refs"]["e/0"], [os.path.abspath("raw.bin"), 40, 240])
        self.same(references, "d")
        self.assertEqual(self.opened(references)["e"][:].tolist(), list(range(10, 70)))

    def test_virtual_datasets_lead_to_their_sources(self):
        """Frames of several files, stacked or one behind the other, and by numbered names."""
        frames = np.arange(4 * 30 * 8, dtype="i4").reshape(4, 30, 8)
        for i in range(4):
            with self.write("part%d.h5" % i) as f:
                options = {"compression": "gzip", "compression_opts": i + 1, "shuffle": True}
                f.create_dataset("d", data=frames[i], chunks=(10, 8), **options)
                f.create_dataset("flat", data=frames[i])
                f.create_dataset("small", data=frames[i], chunks=(7, 8), compression="gzip")
                f.create_dataset("other", data=frames[i], chunks=(10 + i, 8))
                f.create_dataset("filled", data=frames[i], chunks=(10, 8), fillvalue=i)
                holes = f.create_dataset("holes", (30, 8), "i4", chunks=(10, 8), compression="gzip")
                holes[20:] = i
        with self.write() as f:
            for name in ("d", "flat", "small", "other", "filled", "holes"):
                rows = h5py.VirtualLayout((120, 8), "i4")
                stack = h5py.VirtualLayout((5, 30, 8), "i4")
                for i in range(4):
                    source = h5py.VirtualSource("part%d.h5" % i, name, (30, 8))
                    rows[30 * i : 30 * i + 30] = source
                    stack[i] = source
                f.create_virtual_dataset("rows/" + name, rows)
                f.create_virtual_dataset("stack/" + name, stack)  # the last one has no source
            half = h5py.VirtualLayout((40, 8), "i4")
            half[:20] = h5py.VirtualSource("part1.h5", "d", (30, 8))[10:]
            half[20:] = h5py.VirtualSource("part2.h5", "d", (30, 8))[:20]
            f.create_virtual_dataset("half", half)
            shifted = h5py.VirtualLayout((20, 8), "i4")
            shifted[:] = h5py.VirtualSource("part1.h5", "d", (30, 8))[5:25]
            f.create_virtual_dataset("shifted", shifted)
            missing = h5py.VirtualLayout((60, 8), "i4")
            missing[:30] = h5py.VirtualSource("part0.h5", "d", (30, 8))
            missing[30:] = h5py.VirtualSource("none.h5", "d", (30, 8))
            f.create_virtual_dataset("missing", missing, fillvalue=0)
        references, told = self.references()
        self.same_in_other_forms(references, told)
        through = {"rows/d", "rows/flat", "rows/holes", "half", "missing"}
        through |= {"stack/" + name for name in ("d", "flat", "small", "holes")}
        names = [key[: -len("/.zarray")] for key in references["refs"] if key.endswith("/.zarray")]
        self.same(references, *names)
        ranges = {name for name in names if "range" in self.kinds(references, name).values()}
        self.assertEqual(ranges, through)
        self.assertEqual(json.loads(references["refs"]["stack/d/.zarray"])["chunks"], [1, 10, 8])
        url, at, length = references["refs"]["rows/d/4.0"]
        self.assertEqual(url, os.path.abspath("part1.h5"))
        with h5py.File("part1.h5", "r") as f:
            chunk = f["d"].id.get_chunk_info(1)
            self.assertEqual((at, length), (chunk.byte_offset, chunk.size))
        _, told = self.references("f.h5", "-o", "references=direct")
        self.assertEqual(
            told["left_out"],
            {
                "/rows/small": "a virtual dataset (part0.h5: its part does not begin and end at chunks)",
                "/rows/other": "a virtual dataset (part1.h5: chunks of another shape)",
                "/stack/other": "a virtual dataset (part1.h5: chunks of another shape)",
                "/rows/filled": "a virtual dataset (part1.h5: another fill value)",
                "/stack/filled": "a virtual dataset (part1.h5: another fill value)",
                "/shifted": "a virtual dataset (part1.h5: a part that begins in a chunk)",
            },
        )

    def test_parts_of_virtual_datasets_are_of_one_state(self):
        """A source that comes later makes other chunks of them: what was begun is refused."""
        with self.write("next.h5") as f:
            f.create_dataset("d", data=np.arange(40), chunks=(10,))
        with self.write() as f:
            layout = h5py.VirtualLayout((40,), "i8")
            layout[:] = h5py.VirtualSource("source.h5", "d", (40,))
            f.create_virtual_dataset("d", layout)
        place = self.mount("-o", "reload", "f.h5") + ".h5/references.parq/"
        with open(place + ".zmetadata") as f:
            self.assertEqual(json.load(f)["metadata"]["d/.zarray"]["chunks"], [40])
        os.rename("next.h5", "source.h5")
        deadline = time.monotonic() + 20
        while True:
            try:
                with open(place + "d/refs.0.parq", "rb") as f:
                    self.assertEqual(len(list(parquet_references.rows_of(f.read()))), 1)
            except OSError as error:
                self.assertEqual(error.errno, errno.ESTALE)
                break
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)

    def test_url_is_not_left_by_dots(self):
        os.makedirs("in")
        np.arange(60, dtype="i4").tofile("raw.bin")
        with self.write("in/f.h5") as f:
            f.create_dataset("e", (60,), "i4", external=[("../raw.bin", 0, 240)])
        options = ("-o", "external=any,url=s3://b/run/")
        references, told = self.references("in/f.h5", *options)
        self.assertNotIn("e/0", references["refs"])
        self.assertIn("outside of the directory", told["left_out"]["/e"])

    def test_types_of_arrays_behind_shuffle(self):
        """Readers in JavaScript shuffle by the size of the array's elements, whatever is said."""
        values = np.arange(60, dtype="i2").reshape(20, 3)
        with self.write() as f:
            d = f.create_dataset(
                "d", (20,), np.dtype(("<i2", (3,))), chunks=(7,), compression=1, shuffle=True
            )
            d[:] = values
        references, _ = self.references()
        self.assertEqual(json.loads(references["refs"]["d/.zarray"])["filters"], None)
        self.assertEqual(self.opened(references)["d"][:].tolist(), values.tolist())

    def test_what_a_small_file_asks_for_is_bounded(self):
        """Many names of large attributes, and a grid of many chunks: the rest is there."""
        with self.write(libver="latest") as f:
            d = f.create_dataset("d", data=np.arange(4))
            for i in range(16):
                d.attrs["a%d" % i] = np.bytes_(b"x" * 60000)
            for i in range(60):
                f["l%d" % i] = d
            for name, chunks in (("grid", (1,)), ("large", (1 << 28,))):
                f.create_dataset(name, (1 << 40,), "u1", chunks=chunks, compression=1, fillvalue=7)
            f["sound"] = np.arange(10)
        for options in ((), ("-o", "references=http://h.example/")):
            references, told = self.references("f.h5", *options)
            self.same(references, "sound")
            self.assertIn("more chunks", told["left_out"]["/grid"])
        # A cache of 16 MiB leaves less memory for texts than all names take.
        p = run(
            "sh",
            "-c",
            'ulimit -v 4000000; exec $0 "$@"',
            H5MOUNT,
            "-o",
            "cache_size=16M",
            "--stat",
            "f.h5",
            "/",
        )
        left = json.loads(json.loads(p.stdout)["xattrs"]["user.hdf5.references"])["left_out"]
        self.assertIn("/d", left)
        self.assertNotIn("/sound", left)

    def test_damage_and_what_is_salvaged(self):
        with self.write() as f:
            d = f.create_dataset("d", data=np.arange(1000), chunks=(10,), maxshape=(None,))
            f.create_dataset("sound", data=np.arange(10))
        with open("f.h5", "rb") as f:
            data = bytearray(f.read())
        at = data.find(b"TREE", data.find(b"TREE") + 4)
        data[at : at + 200] = b"\0" * 200
        with open("f.h5", "wb") as f:
            f.write(data)
        references, told = self.references()
        self.same(references, "sound")
        if "/d" in told["left_out"]:
            self.assertNotIn("d/.zarray", references["refs"])
        made = run(H5MOUNT, "-o", "salvage", "--cat", "f.h5", "/.h5/references.json")
        self.assertEqual(made.returncode, 0, made)
        self.assertTrue(d is not None)

    def checked(self, name, *options):
        p = run(FSCK, "--references", *options, name)
        return p.returncode, p.stdout + p.stderr

    def written_references(self):
        """A file, and its references in each form."""
        with self.write() as f:
            f.create_dataset("g/deflated", data=np.arange(1000), chunks=(100,), compression="gzip")
            f.create_dataset("lzf", data=np.arange(1000), chunks=(100,), compression="lzf")
            f["contiguous"] = np.arange(10)
            f["none"] = np.zeros((0, 2))
        with open("refs.json", "w") as f:
            f.write(run(H5MOUNT, "--cat", "f.h5", "/.h5/references.json").stdout)
        for name in ("parq", "icechunk"):
            shutil.rmtree("refs." + name, ignore_errors=True)
            copied = run(H5MOUNT, "--copy", "f.h5", "/.h5/references." + name, "refs." + name)
            self.assertEqual(copied.returncode, 0, copied)

    def test_fsck_holds_them_against_the_file(self):
        self.written_references()
        for name, arrays in (("refs.json", 4), ("refs.parq", 3), ("refs.icechunk", 4)):
            code, said = self.checked(name)
            self.assertEqual((code, said.count("\n")), (0, 1), said)
            self.assertIn("%d arrays, 11 chunks by their places, 10 held inside" % arrays, said)
            lines = [json.loads(line) for line in self.checked(name, "--json")[1].splitlines()]
            self.assertEqual((lines[0]["ranges"], lines[0]["inline"], lines[0]["served"]), (11, 10, 0))
        # Written since, with the same bytes at the same places.
        with h5py.File("f.h5", "r+") as f:
            f["contiguous"][3] = 30
        os.utime("f.h5", (1, 1))
        for name in ("refs.json", "refs.parq"):
            code, said = self.checked(name)
            self.assertEqual(code, 0, said)
            self.assertIn("was written since", said)
        code, said = self.checked("refs.icechunk")
        self.assertEqual(code, 4, said)
        self.assertIn("was written since, and readers refuse it", said)
        # Bytes that are held inside are others now.
        with h5py.File("f.h5", "r+") as f:
            f["lzf"][150] = 30
        for name in ("refs.json", "refs.parq", "refs.icechunk"):
            code, said = self.checked(name)
            self.assertEqual(code, 4, said)
            self.assertIn("lzf: chunk 1: the bytes that the references hold are not the file's", said)
        # Another file.
        with self.write() as f:
            f["contiguous"] = np.arange(10)
            f.create_dataset("g/deflated", data=np.arange(1000) % 7, chunks=(100,), compression="gzip")
        for name in ("refs.json", "refs.parq", "refs.icechunk"):
            code, said = self.checked(name)
            self.assertEqual(code, 4, said)
            self.assertIn("bytes and has", said)
            self.assertRegex(said, "/g/deflated: chunk 0: was [0-9]+ bytes at [0-9]+ and is")
            self.assertIn("/lzf: ", said)
            self.assertNotIn("--salvage", said)

    def test_fsck_of_other_forms_of_the_same(self):
        """file: URLs, and chunks at a server that are more than may be held inside."""
        os.mkdir("a b")
        with self.write("a b/f.h5") as f:
            f.create_dataset("gzip", data=np.arange(100), chunks=(10,), compression="gzip")
            f.create_dataset("lzf", data=np.ones(9 << 20), chunks=(1 << 18,), compression="lzf")
        url = "url=file://%s/a%%20b/" % os.getcwd()
        for options, served in ((("-o", "references=http://h.example/f.h5"), 36), (("-o", url), 0)):
            with open("refs.json", "w") as f:
                f.write(run(H5MOUNT, *options, "--cat", "a b/f.h5", "/.h5/references.json").stdout)
            code, said = self.checked("refs.json")
            self.assertEqual(code, 0, said)
            self.assertIn("10 chunks by their places", said)
            self.assertIn("; %d at a server" % served, said)
        self.assertEqual(self.checked("/dev/zero")[0], 8)

    def test_fsck_of_what_is_no_reference_or_was_changed(self):
        self.written_references()
        with open("refs.json") as f:
            whole = json.load(f)
        whole["refs"]["g/deflated/1"][1] += 8
        with open("moved.json", "w") as f:
            json.dump(whole, f)
        code, said = self.checked("moved.json")
        self.assertEqual(code, 4, said)
        self.assertIn("/g/deflated: chunk 1: was", said)
        self.assertNotIn("more", said)
        with open("refs.parq/g/deflated/refs.0.parq", "rb") as f:
            part = f.read()
        texts = {
            "empty.json": "",
            "list.json": "[]",
            "none.json": "{}",
            "cut.json": '{"version":1,"refs":{"a',
        }
        texts["template.json"] = '{"version":1,"templates":{"u":"x"},"refs":{}}'
        texts["url.json"] = '{"version":1,"refs":{"a/0":["f.h5"]}}'
        for name, text in texts.items():
            with open(name, "w") as f:
                f.write(text)
            code, said = self.checked(name)
            self.assertEqual(code, 8, (name, said))
            self.assertIn(name, said)
        for at in range(0, len(part), 3):
            for changed in (part[:at], part[:at] + bytes([part[at] ^ 0x81]) + part[at + 1 :]):
                with open("refs.parq/g/deflated/refs.0.parq", "wb") as f:
                    f.write(changed)
                code, said = self.checked("refs.parq")
                self.assertIn(code, (0, 4, 8), said)
                if code == 8:
                    self.assertIn("g/deflated/refs.0.parq: ", said)
        for name in glob.glob("refs.icechunk/**/*", recursive=True):
            if os.path.isdir(name) or "transactions" in name:
                continue
            with open(name, "rb") as f:
                part = f.read()
            os.chmod(name, 0o644)
            for at in range(0, len(part), len(part) // 24 + 1):
                for changed in (part[:at], part[:at] + bytes([part[at] ^ 0x81]) + part[at + 1 :]):
                    with open(name, "wb") as f:
                        f.write(changed)
                    code, said = self.checked("refs.icechunk")
                    self.assertIn(code, (0, 4, 8), said)
                    if len(changed) < len(part):
                        self.assertEqual(code, 8, said)
            with open(name, "wb") as f:
                f.write(part)
        self.assertEqual(self.checked("refs.icechunk")[0], 0)
        os.remove("f.h5")
        self.assertEqual(self.checked("refs.json")[0], 8)
        self.assertEqual(run(FSCK, "--references", "--quick", "refs.json").returncode, 16)

    def test_fsck_sees_that_an_object_was_replaced(self):
        self.written_references()

        class Server(TaggingServer):
            pass

        url = self.served(Server)
        with open("far.json", "w") as f:
            f.write(run(H5MOUNT, "--cat", url, "/.h5/references.json").stdout)
        self.assertEqual(self.checked("far.json")[0], 0)
        Server.tag = "two"
        code, said = self.checked("far.json")
        self.assertEqual(code, 4, said)
        self.assertIn("was replaced: its entity tag was", said)
