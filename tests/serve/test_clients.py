"""Programs that read over HTTP: each test is skipped where the program is not installed."""
import importlib.util
import os
import unittest

import h5py
import numpy as np

from serving import Serve, ServeTest
from support.program import installed, shell

# Where zarrita was installed for node: npm install --prefix DIR zarrita
NODE_MODULES = os.environ.get("H5MOUNT_NODE_MODULES")
READ_STORES = """
import * as zarr from "zarrita";
for (const root of [".h5/plain.zarr", ".h5/v3.zarr", ".h5/stored.zarr"]) {
  const store = await zarr.withConsolidatedMetadata(new zarr.FetchStore(process.argv[2] + root));
  for (const name of ["x", "group/image", "group/deflated"]) {
    const array = await zarr.open(zarr.root(store).resolve(name), {kind: "array"});
    const all = await zarr.get(array);
    let sum = 0;
    for (const value of all.data) sum += Number(value);
    console.log(root, name, all.shape.join("x"), sum);
  }
}
"""


class Clients(ServeTest):
    def setUp(self):
        super().setUp()
        with h5py.File("f.h5", "w") as f:
            f["x"] = np.arange(1000, dtype="<i4")
            f["group/image"] = (np.arange(20000) % 251).astype("u1").reshape(100, 200)
            numbers = np.arange(60000, dtype="<f4").reshape(200, 300)
            f.create_dataset("group/deflated", data=numbers, chunks=(50, 60), compression="gzip")
            f["soft"] = h5py.SoftLink("/group")
            f["group/up"] = f["/"]

    def with_server(self, command):
        """A shell command that reads from $URL, which ends in a slash."""
        with Serve("f.h5") as s:
            return shell(command, env={**os.environ, "URL": s.url})

    def test_curl_resumes_a_download(self):
        p = self.with_server(
            """
            curl -sf ${URL}group/deflated -o whole && head -c 1000 whole > part &&
            curl -sf -C - ${URL}group/deflated -o part && cmp whole part &&
            curl -sf -r 0-3,8-11 ${URL}x | grep -c 'Content-Range: bytes' &&
            curl -sf --etag-save tag ${URL}x -o x &&
            curl -sf --etag-compare tag -w '%{http_code}' ${URL}x"""
        )
        assert p.returncode == 0, p
        assert p.stdout == "2\n304", p

    def test_wget_takes_the_tree_and_ends_where_links_form_cycles(self):
        p = self.with_server(
            """
            wget -q -r -np -nH -P copy $URL
            find copy -type f -size +300c | sort | xargs md5sum | cut -c-32 | sort -u > got
            for p in x group/image group/deflated; do $H5MOUNT --cat f.h5 $p | md5sum | cut -c-32; done |
                sort -u > want
            wc -l < want
            comm -13 got want
            ls copy/group/deflated"""
        )
        assert p.returncode == 0, p
        assert p.stdout == "3\ncopy/group/deflated\n", p

    def test_gdal_reads_views_by_ranges(self):
        p = self.with_server(
            """
            gdalinfo -checksum /vsicurl/${URL}.h5/tiff/group/image.tif &&
            gdal_translate -q -of ENVI /vsicurl/${URL}.h5/tiff/group/image.tif raw.bin &&
            $H5MOUNT --cat f.h5 group/image | cmp - raw.bin &&
            gdalinfo 'ZARR:"/vsicurl/'${URL}'.h5/plain.zarr":/group/deflated' &&
            gdalinfo /vsicurl/${URL}.h5/tiff/group/deflated.tif"""
        )
        assert p.returncode == 0, p
        assert "Size is 200, 100" in p.stdout, p
        assert "Size is 300, 200" in p.stdout, p

    def test_zarr_python_opens_the_store_through_fsspec(self):
        if not all(importlib.util.find_spec(name) for name in ("zarr", "fsspec", "aiohttp", "requests")):
            self.skipTest("no zarr, fsspec and aiohttp for Python")
        import fsspec
        import zarr

        with Serve("f.h5") as s, h5py.File("f.h5") as f:
            z = zarr.open_consolidated(fsspec.get_mapper(s.url + ".h5/plain.zarr"), mode="r")
            for name in ("x", "group/image", "group/deflated"):
                assert (z[name][...] == f[name][()]).all(), name

    @unittest.skipIf(
        NODE_MODULES is None or not installed("node"),
        "no node, or npm could not install zarrita when the build was configured",
    )
    def test_zarrita_opens_the_stores(self):
        with open("read.mjs", "w") as f:
            f.write(READ_STORES)
        os.symlink(NODE_MODULES + "/node_modules", "node_modules")
        p = self.with_server("node read.mjs $URL")
        assert p.returncode == 0, p
        for root in (".h5/plain.zarr", ".h5/v3.zarr", ".h5/stored.zarr"):
            for words in (
                " x 1000 499500\n",
                " group/deflated 200x300 1799970000\n",
                " group/image 100x200 ",
            ):
                assert root + words in p.stdout, p
