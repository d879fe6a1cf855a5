"""What readers of Zarr stores do where a chunk cannot be made: nothing may go on with other values."""
import http.client
import importlib.util
import os
import sys
import unittest

import h5py
import numpy as np

from serving import Serve, ServeTest
from support.program import installed, run

NODE_MODULES = os.environ.get("H5MOUNT_NODE_MODULES")
READ_WITH_ZARRITA = """
import * as zarr from "zarrita";
const [url, store, name] = process.argv.slice(2);
const root = zarr.root(new zarr.FetchStore(url + ".h5/" + store));
const array = await zarr.open(root.resolve(name), {kind: "array"});
const all = await zarr.get(array);
console.log("read", all.data.length);
"""
READ_WITH_GDAL = """
import sys
from osgeo import gdal
gdal.UseExceptions()
url, store, name = sys.argv[1:]
print("read", gdal.Open(f'ZARR:"/vsicurl/{url}.h5/{store}/{name}"').ReadAsArray().size)
"""


def key_of(store, row, column):
    return f"c.{row}.{column}" if store == "v3.zarr" else f"{row}.{column}"


class ZarrChunks(ServeTest):
    """The dataset `d` has a damaged chunk, `u` one whose filter is not there, `s` is sound."""

    def setUp(self):
        super().setUp()
        data = np.arange(160000, dtype="<f4").reshape(400, 400) + 1
        with h5py.File("f.h5", "w") as f:
            for name in ("d", "s"):
                f.create_dataset(name, data=data, chunks=(200, 200), fletcher32=True)
            f["tiny"] = np.zeros((1, 1), "u1")
            place = f["d"].id.get_chunk_info(3).byte_offset
        with open("f.h5", "r+b") as f:
            f.seek(place + 1000)
            f.write(b"\xff" * 64)

    def raw(self, s, target, method="GET", **fields):
        connection = http.client.HTTPConnection("127.0.0.1", int(s.port), timeout=60)
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in fields.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.data = answer.read()
        return answer

    def loud(self, a):
        assert a.status == 200 and len(a.data) < 4, (a.status, len(a.data))
        assert a.headers["Content-Length"] == str(len(a.data)) and a.headers["ETag"] is None
        assert a.headers["Cache-Control"] == "no-store" and a.headers["X-H5mount-Error"].startswith(
            "500 "
        ), a.headers
        return a

    def test_a_chunk_that_cannot_be_made_is_a_whole_answer_of_another_size(self):
        with Serve("f.h5") as s:
            for store in ("plain.zarr", "v3.zarr"):
                target = f"/.h5/{store}/d/{key_of(store, 1, 1)}"
                assert self.loud(self.raw(s, target, User_Agent="Python/3.11 aiohttp/3.8.4")).data == b""
                assert self.loud(self.raw(s, target, User_Agent="x", Range="bytes=0-99")).data == b""
                assert len(self.loud(self.raw(s, target)).data) == 1  # GDAL names no program
                for sound in (
                    f"/.h5/{store}/d/{key_of(store, 0, 0)}",
                    f"/.h5/{store}/s/{key_of(store, 1, 1)}",
                ):
                    a = self.raw(s, sound, User_Agent="x")
                    assert a.status == 200 and len(a.data) == 160000 and a.headers["ETag"], (sound, a.headers)

    def test_fetch_gets_the_error_and_so_does_everything_that_is_no_chunk(self):
        with Serve("f.h5") as s:
            for store in ("plain.zarr", "v3.zarr"):
                bad = key_of(store, 1, 1)
                a = self.raw(s, f"/.h5/{store}/d/{bad}", Sec_Fetch_Mode="cors", User_Agent="node")
                assert a.status == 500 and a.headers["X-H5mount-Error"] is None
                assert self.raw(s, f"/.h5/{store}/d/{key_of(store, 7, 0)}").status == 404
                assert self.raw(s, f"/.h5/{store}/none/{bad}").status == 404
            assert self.raw(s, "/api/stats/?path=/d").status == 500

    def test_buckets_say_it_in_the_same_way(self):
        with Serve("--s3", "f.h5") as s:
            self.loud(self.raw(s, "/f.h5/.h5/plain.zarr/d/1.1", User_Agent="x"))
            assert self.raw(s, "/f.h5/.h5/plain.zarr/d/9.9", User_Agent="x").status == 404
            a = self.raw(s, "/f.h5/.h5/plain.zarr/d/0.0", User_Agent="x")
            assert a.status == 200 and len(a.data) == 160000

    def test_a_file_that_a_dataset_names_and_that_is_missing_is_no_missing_chunk(self):
        with h5py.File("named.h5", "w") as f:
            f.create_dataset("d", (100,), "i4", external=[("missing.bin", 0, 400)])
        for words in ((), ("--s3",)):
            with Serve(*words, "-o", "external=any", "named.h5") as s:
                above = "/named.h5" if words else ""
                self.loud(self.raw(s, above + "/.h5/plain.zarr/d/0", User_Agent="x"))
                assert self.raw(s, above + "/d").status == 500

    def test_a_source_that_is_gone_or_refused_keeps_its_status_where_it_is_the_clients_affair(self):
        with open(os.open("token", os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write("t" * 32 + "\n")
        with Serve("--token-file=token", "f.h5") as s:
            assert self.raw(s, "/.h5/plain.zarr/d/1.1", User_Agent="x").status == 401
        with Serve("f.h5") as s:
            with open("f.h5", "r+b") as f:
                f.write(b"\0" * 2048)
            a = self.raw(s, "/.h5/plain.zarr/s/0.0", User_Agent="x")
            assert a.status == 200 and len(a.data) < 4 and a.headers["X-H5mount-Error"], a.headers
            assert self.raw(s, "/.h5/plain.zarr/.zmetadata", User_Agent="x").status >= 500

    def test_zarr_python_2_ends_with_an_error(self):
        if not all(importlib.util.find_spec(name) for name in ("zarr", "fsspec", "aiohttp")):
            self.skipTest("no zarr, fsspec and aiohttp for Python")
        import fsspec
        import zarr

        with Serve("f.h5") as s:
            for open_store in (
                lambda u: zarr.open_group(u, mode="r"),
                lambda u: zarr.open_consolidated(u, mode="r"),
                lambda u: zarr.open_group(fsspec.get_mapper(u), mode="r"),
            ):
                group = open_store(s.url + ".h5/plain.zarr")
                assert group["s"][...].mean() == 80000.5
                with self.assertRaises(Exception):
                    group["d"][...]

    def test_gdal_ends_with_an_error(self):
        if not importlib.util.find_spec("osgeo"):
            self.skipTest("no GDAL for Python")
        with open("read.py", "w") as f:
            f.write(READ_WITH_GDAL)
        with Serve("f.h5") as s:
            for name, fine in (("s", True), ("d", False)):
                p = run(sys.executable, "read.py", s.url, "plain.zarr", name)
                assert ("read 160000" in p.stdout) == fine, p

    @unittest.skipIf(
        NODE_MODULES is None or not installed("node"),
        "no node, or npm could not install zarrita when the build was configured",
    )
    def test_zarrita_ends_with_an_error(self):
        with open("read.mjs", "w") as f:
            f.write(READ_WITH_ZARRITA)
        os.symlink(NODE_MODULES + "/node_modules", "node_modules")
        with Serve("f.h5") as s:
            for store in ("plain.zarr", "v3.zarr"):
                for name, fine in (("s", True), ("d", False)):
                    p = run("node", "read.mjs", s.url, store, name)
                    assert ("read 160000" in p.stdout) == fine, (store, name, p)
