"""Tables of groups: columns in which values are missing, what a table leaves out, and texts that are
empty."""
import csv
import json
import os

import h5py
import numpy as np

from mounting import MountTest, read
from support.program import H5MOUNT, run

TEXT = h5py.string_dtype()
VIEWS = ("csv", "tsv", "ndjson", "parquet")


def strings(*words):
    return np.array(words, dtype=object)


def nullable(group, name, kind, values, mask):
    g = group.create_group(name)
    g.attrs.update({"encoding-type": kind, "encoding-version": "0.1.0"})
    g.create_dataset("values", data=values, dtype=TEXT if values.dtype == object else None)
    g["mask"] = np.array(mask)


def categorical(group, name, codes, categories):
    g = group.create_group(name)
    g.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
    g["codes"] = np.array(codes, "i1")
    if isinstance(categories, tuple):
        nullable(g, "categories", "nullable-string-array", strings(*categories), [False] * len(categories))
    else:
        g.create_dataset("categories", data=strings(*categories), dtype=TEXT)


class MissingValuesTest(MountTest):
    def setUp(self):
        super().setUp()
        with h5py.File("f.h5ad", "w") as f:
            obs = f.create_group("obs")
            obs.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            obs.attrs["column-order"] = strings("count", "label")
            obs.create_dataset("_index", data=strings("c1", "c2", "c3"), dtype=TEXT)
            nullable(obs, "count", "nullable-integer", np.array([5, 1, 7]), [False, True, False])
            nullable(obs, "flag", "nullable-boolean", np.array([True, True, False]), [True, False, False])
            nullable(obs, "label", "nullable-string-array", strings("a", "hidden", ""), [False, True, False])
            categorical(obs, "kind", [1, -1, 0], ["", "two"])
            categorical(obs, "sort", [0, 0, -1], ("one",))
            obs["plain"] = np.array([0.5, 1, 2])
            obs["short"] = np.arange(2)
            obs["image"] = np.zeros((3, 2))
            odd = obs.create_group("odd")
            odd.attrs["encoding-type"] = "awkward-array"
        self.mnt = self.mount("f.h5ad")
        self.shown = ["_index", "count", "flag", "kind", "label", "plain", "sort"]
        self.rows = [
            ["c1", 5, None, "two", "a", 0.5, "one"],
            ["c2", None, True, None, None, 1, "one"],
            ["c3", 7, False, "", "", 2, None],
        ]

    def test_csv_has_nothing_where_a_value_is_missing(self):
        assert (
            read(self.mnt + ".h5/csv/obs.csv").decode() == "_index,count,flag,kind,label,plain,sort\n"
            "c1,5,,two,a,0.5,one\n"
            "c2,,TRUE,,,1.0,one\n"
            'c3,7,FALSE,"","",2.0,\n'
        )
        assert read(self.mnt + ".h5/tsv/obs.tsv").decode().splitlines()[3] == 'c3\t7\tFALSE\t""\t""\t2.0\t'

    def test_readers_tell_missing_from_empty(self):
        lines = read(self.mnt + ".h5/ndjson/obs.ndjson").decode().splitlines()
        told = [list(json.loads(line).values()) for line in lines]
        names = {"TRUE": True, "FALSE": False}
        assert [[names.get(cell, cell) for cell in row] for row in told] == self.rows, told
        assert list(json.loads(lines[0])) == self.shown
        import pandas

        frame = pandas.read_csv(self.mnt + ".h5/csv/obs.csv")
        assert frame["count"].isna().tolist() == [False, True, False] and frame["count"][2] == 7

    def test_parquet_has_levels_for_missing_values(self):
        from fixtures.parquet_table import read_table

        names, rows = read_table(self.mnt + ".h5/parquet/obs.parquet")
        assert names == self.shown, names
        assert rows == self.rows, rows
        assert os.stat(self.mnt + ".h5/parquet/obs.parquet").st_size == len(
            read(self.mnt + ".h5/parquet/obs.parquet")
        )

    def test_alone_they_are_tables_of_one_column(self):
        assert read(self.mnt + ".h5/ndjson/obs/count.ndjson").decode().split() == [
            '{"value":5',
            "}",
            '{"value":null',
            "}",
            '{"value":7',
            "}",
        ]
        assert read(self.mnt + ".h5/csv/obs/count.csv") == b'value\n5\n""\n7\n'

    def test_what_is_left_out_is_named(self):
        left_out = (
            "image (2 dimensions), odd (a group with the encoding-type awkward-array), short (of length 2)"
        )
        for _ in range(2):
            for view in VIEWS:
                path = self.mnt + ".h5/%s/obs.%s" % (view, view)
                assert os.getxattr(path, "user.hdf5.left_out").decode() == left_out
                read(path)
        lines = [json.loads(line) for line in read(self.mnt + ".h5/metadata.jsonl").decode().splitlines()]
        views = {line["path"]: line.get("views") for line in lines}
        assert views["/obs"] == dict.fromkeys(VIEWS, "without " + left_out), views["/obs"]
        told = [line for line in read(self.mnt + ".h5/log").decode().splitlines() if "/obs: " in line]
        assert len(told) == 1 and "short (of length 2)" in told[0] and "odd" in told[0], told
        p = run(H5MOUNT, "--list", "-l", "f.h5ad", "/.h5/csv")
        assert p.returncode == 0 and "bytes, without " + left_out in p.stdout, p

    def test_a_table_is_what_more_than_half_of_the_columns_are(self):
        with h5py.File("l.h5", "w") as f:
            for name, length in (("a", 5), ("b", 5), ("c", 2), ("d", 5), ("e", 0)):
                f["most/" + name] = np.arange(length)
            for name, length in (("a", 5), ("b", 5), ("c", 2), ("d", 2)):
                f["half/" + name] = np.arange(length)
            f["one/a"] = np.arange(3)
            f["one/b"] = np.zeros((2, 2))
        mnt = self.mount("l.h5")
        assert sorted(name for name in os.listdir(mnt + ".h5/csv") if name.endswith(".csv")) == ["most.csv"]
        rows = list(csv.reader(read(mnt + ".h5/csv/most.csv").decode().splitlines()))
        assert rows[0] == ["a", "b", "d"] and len(rows) == 6, rows
        views = {
            line["path"]: line.get("views")
            for line in map(json.loads, read(mnt + ".h5/metadata.jsonl").decode().splitlines())
        }
        assert views["/most"]["csv"] == "without c (of length 2), e (of length 0)", views
        assert "no length that more than half" in views["/half"]["csv"] and views["/one"] is None, views

    def test_arrays_of_one_string_stay_lists_where_anndata_reads_them(self):
        with h5py.File("v.h5ad", "w") as f:
            f.create_group("var").attrs.update(
                {"encoding-type": "dataframe", "_index": "gene", "column-order": strings("gene"), "one": [1]}
            )
            f["var/gene"] = np.arange(2)
            f["var/gene"].attrs["note"] = strings("x")
            f["coded"] = np.arange(2)
            f["coded"].attrs.update({"encoding-type": "array", "names": strings("x"), "name": "x"})
        mnt = self.mount("v.h5ad")
        for store in ("plain.zarr", "stored.zarr"):
            attributes = {
                path: json.loads(read(mnt + ".h5/%s/%s/.zattrs" % (store, path)))
                for path in ("var", "var/gene", "coded")
            }
            assert (
                attributes["var"]["column-order"] == ["gene"] and attributes["var"]["_index"] == "gene"
            ), attributes
            assert attributes["coded"]["names"] == ["x"] and attributes["coded"]["name"] == "x", attributes
            assert attributes["var/gene"]["note"] == "x", "netCDF has no arrays of strings"
            whole = json.loads(read(mnt + ".h5/%s/.zmetadata" % store))["metadata"]
            assert whole["var/.zattrs"] == attributes["var"], whole

    def test_references_are_text_in_parquet_as_in_csv(self):
        from fixtures.parquet_table import read_table

        with h5py.File("r.nwb", "w") as f:
            f["a"] = np.arange(3)
            f.create_dataset("t/id", data=np.arange(3))
            d = f.create_dataset("t/to", (3,), h5py.ref_dtype)
            d[0], d[2] = f["a"].ref, f["t"].ref
            p = f.create_dataset("t/part", (3,), h5py.regionref_dtype)
            p[1] = f["a"].regionref[0:2]
        mnt = self.mount("r.nwb")
        rows = list(csv.reader(read(mnt + ".h5/csv/t.csv").decode().splitlines()))
        names, told = read_table(mnt + ".h5/parquet/t.parquet")
        assert names == rows[0] == ["id", "part", "to"], names
        assert [["" if cell is None else str(cell) for cell in row] for row in told] == rows[1:], (told, rows)
        assert [row[2] for row in told] == ["/a", None, "/t"], told

    def test_a_reference_to_nothing_costs_its_row_nothing_else(self):
        import struct

        with h5py.File("n.h5", "w") as f:
            f["a"] = np.arange(10)
            t = f.create_dataset(
                "t", (3,), np.dtype([("name", TEXT), ("n", "<i4"), ("part", h5py.regionref_dtype)])
            )
            for i in range(3):
                t[i] = ("row %d" % i, i, f["a"].regionref[i : i + 2])
            at = t.id.get_offset()
        with open("n.h5", "r+b") as f:
            f.seek(at + 32 + 20)
            f.write(struct.pack("<QI", 0x0807060504030201, 0x0C0B0A09))
        mnt = self.mount("n.h5")
        for path in ("t", ".h5/ndjson/t.ndjson"):
            rows = [json.loads(line) for line in read(mnt + path).decode().splitlines()]
            assert [row["name"] for row in rows] == ["row 0", "row 1", "row 2"] and rows[1][
                "part"
            ] is None, rows
            assert rows[2]["part"] == {"object": "/a", "selection": {"blocks": [[[2], [3]]]}}, rows
        assert list(csv.reader(read(mnt + ".h5/csv/t.csv").decode().splitlines()))[2] == ["row 1", "1", ""]
        assert "row 1" in read(mnt + ".h5/text/t").decode()
        assert json.loads(read(mnt + ".h5/slice/t/1"))["part"] is None
        assert os.stat(mnt + ".h5/parquet/t.parquet").st_size > 100
        assert run(H5MOUNT, "--cat", "n.h5", "/t").returncode == 0
        p = run(os.path.join(os.path.dirname(H5MOUNT), "fsck.h5"), "n.h5")
        assert p.returncode == 4 and "/t" in p.stdout + p.stderr, p
