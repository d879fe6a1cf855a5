#!/usr/bin/python3
"""Writes netCDF files of many shapes into a directory: netcdf_files.py DIRECTORY"""

import os
import subprocess
import sys

import h5py
import netCDF4
import numpy as np


def unlimited(n):
    """Dimensions without coordinate variables, two of them unlimited and equally long."""
    n.createDimension("rec", None)
    n.createDimension("other", None)
    n.createDimension("never", None)
    n.createDimension("x", 2)
    n.createVariable("cc", "i4", ("rec",))[:] = [1, 2, 3]
    t = n.createVariable("t", "f4", ("rec", "x"), fill_value=-9)
    t[:] = [[1, 2], [3, 4], [5, -9]]
    n.createVariable("u", "f8", ("other", "x"))[:] = np.arange(6).reshape(3, 2)
    n.createVariable("both", "i2", ("rec", "other"), zlib=True)[:] = np.arange(9).reshape(3, 3)
    n.createVariable("square", "i2", ("x", "x"))[:] = [[1, 2], [3, 4]]
    n.createVariable("none", "i4", ("never", "x"))


def groups(n):
    """Dimensions of the groups above, and groups that have some of the same name."""
    n.createDimension("time", None)
    n.createVariable("time", "f8", ("time",))[:] = [10, 20]
    g = n.createGroup("a")
    g.createDimension("rec", None)
    g.createVariable("v", "f4", ("time", "rec"))[:] = np.arange(10).reshape(2, 5)
    h = g.createGroup("b")
    h.createDimension("rec", 5)
    h.createVariable("w", "f4", ("rec", "time"))[:] = np.arange(10).reshape(5, 2)
    h.createVariable("rec", "i4", ("time",))[:] = [7, 8]
    g.note = "of a group"


def fill_values(n):
    """`_FillValue` and `missing_value` of every type."""
    n.createDimension("x", 4)
    for kind, fill in (
        ("i1", -9),
        ("u1", 250),
        ("i2", -999),
        ("u2", 65535),
        ("i4", -(2**31)),
        ("u4", 2**32 - 1),
        ("i8", -(2**63)),
        ("u8", 2**64 - 1),
        ("f4", 0.1),
        ("f8", 0.1),
        ("f4", np.nan),
        ("f8", np.inf),
        ("f4", -np.inf),
    ):
        fill = np.dtype(kind).type(fill)
        v = n.createVariable(
            f"{kind}_{fill}".replace("-", "m").replace(".", "_"), kind, ("x",), fill_value=fill
        )
        v.set_auto_mask(False)
        v[:] = np.array([1, 2, 3, fill], kind)
    n.createVariable("zeros", "i4", ("x",), fill_value=False)[:] = 0
    c = n.createVariable("PRES_QC", "S1", ("x",), fill_value=b" ")
    c[:] = np.array([b"1", b"2", b" ", b"4"])
    n.createVariable("nul", "S1", ("x",), fill_value=b"\0")[:] = np.array([b"1", b"2", b"", b"4"])
    cloud = n.createEnumType("u1", "cloud", {"clear": 0, "some": 3, "missing": 255})
    e = n.createVariable("clouds", cloud, ("x",), fill_value=255)
    e.set_auto_mask(False)
    e[:] = [0, 3, 255, 0]
    m = n.createVariable("missing", "f4", ("x",))
    m.missing_value = np.float32(3.3)
    m[:] = np.array([1, 2, 3.3, 4], "f4")
    both = n.createVariable("both", "f8", ("x",), fill_value=-1.0)
    both.missing_value = np.nan
    both.set_auto_mask(False)
    both[:] = [1, np.nan, 3, -1]
    text = n.createVariable("text", str, ("x",))
    text[:] = np.array(["a", "grün", "", "z"], object)


def packed(n):
    """Attributes of single precision decide the last place of what is decoded."""
    n.createDimension("y", 5)
    n.createDimension("x", 100)
    r = np.random.default_rng(1)
    for name, kind in (("Rad", "i2"), ("wide", "i4")):  # xarray decodes to single and to double precision
        v = n.createVariable(
            name, kind, ("y", "x"), zlib=True, shuffle=True, fill_value=-1, chunksizes=(2, 30)
        )
        v.scale_factor, v.add_offset = np.float32(0.1), np.float32(-25.936647)
        v.set_auto_maskandscale(False)
        v[:] = r.integers(-1, 4000, (5, 100))
    w = n.createVariable("only_scale", "u1", ("x",))
    w.scale_factor = np.float32(0.01)
    w.set_auto_maskandscale(False)
    w[:] = np.arange(100)
    w.valid_range = np.array([0, 99], "f4")
    w.setncattr("_Unsigned", "true")
    t = n.createVariable("times", "f4", ("y",))
    t.units = "hours since 2000-01-01"
    t[:] = [0, 1.5, 2, 3, 4]


def attributes(n):
    """Attributes of every type and shape."""
    n.title, n.empty, n.many, n.list = "grün", "", "x" * 70000, ["a", "bb"]
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        n.setncattr("one_" + kind, np.array(1, kind))
        n.setncattr("some_" + kind, np.array([1, 100, 3], kind) / np.dtype(kind).type(1))
    n.third, n.odd = np.float32(1) / 3, np.array([0.1, np.nan, np.inf, -np.inf], "f4")
    n.nan, n.inf, n.tiny, n.large = np.nan, -np.inf, 5e-324, 1.7976931348623157e308
    n.createDimension("x", 2)
    v = n.createVariable("v", "f8", ("x",))
    v[:] = [1, 2]
    v.setncattr("coordinates", "scalar")
    v.actual_range = np.array([np.float32(0.1), np.float32(0.2)])
    n.createVariable("scalar", "i4", ())[...] = 5
    s = n.createVariable("letter", "S1", ())
    s[...] = b"q"
    n.createVariable("word", str, ())[...] = "word"


def characters(n):
    """Strings as arrays of characters, and a coordinate variable of two dimensions."""
    n.createDimension("station", 3)
    n.createDimension("name_len", 8)
    name = n.createVariable("station", "S1", ("station", "name_len"))
    name[:] = netCDF4.stringtochar(np.array([b"one", b"two", b"three"], "S8"))
    other = n.createVariable("other", "S1", ("station", "name_len"), zlib=True)
    other[:] = netCDF4.stringtochar(np.array([b"a", b"", b"cccccccc"], "S8"))
    n.createVariable("v", "f8", ("station",))[:] = [1, 2, 3]
    plain = n.createVariable("plain", "i4", ("name_len",))
    plain[:] = np.arange(8)


def coordinates(n):
    """Coordinate variables of more than one dimension, whose dimensions netCDF-C keeps by number: in groups,
    of dimensions of the groups above, and of unlimited ones."""

    def words(group, name, length, values):
        v = group.createVariable(name, "S1", (name, length))
        v[:] = netCDF4.stringtochar(np.array(values, "S4"))

    n.createDimension("len", 4)
    n.createDimension("site", 3)
    n.createDimension("rec", None)
    words(n, "site", "len", [b"ab", b"cdef", b""])
    words(n, "rec", "len", [b"x", b"yy"])
    n.createVariable("v", "f8", ("rec", "site"))[:] = np.arange(6).reshape(2, 3)
    g = n.createGroup("deep").createGroup("er")
    g.createDimension("own", 2)
    own = g.createVariable("own", "S1", ("own", "len"))
    own[:] = netCDF4.stringtochar(np.array([b"p", b"q"], "S4"))
    g.createVariable("w", "i2", ("own", "site"))[:] = np.arange(6).reshape(2, 3)
    g.createVariable("u", "i2", ("rec",))[:] = [1, 2]


def shorter(n):
    """Variables that have fewer records than others have written, of every kind of fill value."""
    n.createDimension("t", None)
    n.createDimension("x", 3)
    n.createDimension("s", None)
    n.createVariable("all", "f4", ("t", "x"))[:] = np.arange(15).reshape(5, 3)
    n.createVariable("t", "i4", ("t",))[:2] = [10, 20]
    for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        n.createVariable("default_" + kind, kind, ("t",))[:2] = [1, 2]
    for name, more in (
        ("own", {}),
        ("packed", {"zlib": True, "chunksizes": (4, 2)}),
        ("big", {"endian": "big"}),
        ("tiles", {"chunksizes": (2, 3)}),
        ("summed", {"zlib": True, "fletcher32": True}),
    ):
        kind = ">i4" if name == "big" else "i4"
        n.createVariable(name, kind, ("t", "x"), fill_value=-7, **more)[:3] = np.arange(9).reshape(3, 3)
    n.createVariable("nofill", "f8", ("t",), fill_value=False)[:2] = [1, 2]
    n.createVariable("words", str, ("t",))[:2] = np.array(["one", "zwö"], object)
    n.createVariable("letters", "S1", ("t", "x"))[:1] = [[b"a", b"b", b"c"]]
    n.createVariable("nothing", "i2", ("t", "x"))
    n.createVariable("later", "i2", ("s", "x"))[:] = np.ones((2, 3))
    n.createVariable("both", "i2", ("t", "s"))[:] = np.ones((5, 2))
    n.createGroup("g").createVariable("below", "f4", ("t",))[:3] = [1, 2, 3]


def orders(n):
    """Big-endian numbers of every width, with attributes and without."""
    n.createDimension("x", 4)
    for kind in ("i1", "i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8"):
        n.createVariable(kind, ">" + kind, ("x",), endian="big")[:] = [1, 2, 3, 4]
        n.createVariable(
            kind + "_packed", ">" + kind, ("x",), endian="big", zlib=True, chunksizes=(3,), fill_value=3
        )[:] = np.array([1, 2, 4, 120], kind)
    n.createVariable("scalar", ">f4", (), endian="big")[...] = 1.5


def not_numbers(n):
    """What is no number in attributes of every place, and missing values that are none."""
    n.createDimension("x", 3)
    n.some, n.worst = np.nan, np.array([np.inf, -np.inf, np.nan, 1])
    for kind in ("f4", "f8"):
        nan = np.dtype(kind).type(np.nan)
        v = n.createVariable(kind, kind, ("x",), fill_value=nan)
        v.set_auto_mask(False)
        v.missing_value, v.valid_max = nan, np.dtype(kind).type(np.inf)
        v[:] = [1, nan, 3]
        w = n.createVariable(kind + "_inf", kind, ("x",), fill_value=-np.dtype(kind).type(np.inf))
        w.set_auto_mask(False)
        w[:] = [1, -np.inf, 3]
        only = n.createVariable(kind + "_missing", kind, ("x",))
        only.set_auto_mask(False)
        only.missing_value = nan
        only[:] = [1, nan, 3]
    i = n.createVariable("count", "i2", ("x",))
    i.note, i.text = np.nan, 'NaN, "Infinity"'
    i[:] = [1, 2, 3]


def hidden_names(n):
    """Variables that have the name of a dimension and are not its coordinate, dimensions without variables,
    scalars."""
    n.createDimension("time", None)
    n.createDimension("level", 2)
    n.createDimension("unused", 7)
    n.createVariable("level", "f4", ("time",))[:] = [1, 2, 3]
    n.createVariable("time", "f8", ("level",))[:] = [5, 6]
    n.createVariable("v", "i4", ("time", "level"))[:] = np.arange(6).reshape(3, 2)
    n.createVariable("alone", "f8", ())[...] = 2.5
    g = n.createGroup("g")
    g.createDimension("level", 4)
    g.createVariable("unused", "i4", ("level",))[:] = [1, 2, 3, 4]
    g.createVariable("v", "i4", ("time", "level"))[:] = np.arange(12).reshape(3, 4)


def linked_scales(f):
    """Scales that have several names: each group has its own for them."""
    f["time"] = np.arange(4)
    f["time"].make_scale("time")
    f["v"] = np.arange(4.0)
    f["v"].dims[0].attach_scale(f["time"])
    for name in ("g", "g/deeper", "none"):
        f.create_group(name)
    f["g/t"] = f["time"]
    f["soft/s"] = h5py.SoftLink("/time")
    for group in ("g", "g/deeper", "none", "soft"):
        f[group]["w"] = np.arange(4.0)
        f[group]["w"].dims[0].attach_scale(f["time"])


def figures(n):
    """Numbers alone, which netCDF-C's own reader of Zarr can take, on a grid for the climate operators."""
    n.createDimension("time", None)
    n.createDimension("lat", 2)
    n.createDimension("lon", 4)
    for name, units, values in (
        ("time", "days since 2000-01-01", [0.0, 1.0, 2.0]),
        ("lat", "degrees_north", [-45.0, 45.0]),
        ("lon", "degrees_east", [0.0, 90.0, 180.0, 270.0]),
    ):
        v = n.createVariable(name, "f8", (name,))
        v[:], v.units = values, units
        v.standard_name = {"lat": "latitude", "lon": "longitude"}.get(name, name)
    for kind, fill in (("f4", -999), ("f8", 1e20), ("i2", -99), ("i4", -9999), ("i1", -9), ("f4", np.nan)):
        fill = np.dtype(kind).type(fill)
        name = kind + ("_nan" if np.isnan(fill) else "")
        v = n.createVariable(name, kind, ("time", "lat", "lon"), fill_value=fill, zlib=kind == "i4")
        v.set_auto_mask(False)
        data = np.arange(24).reshape(3, 2, 4).astype(kind)
        data[0, 1, 2] = data[2, :, 0] = fill
        v[:] = data
    big = n.createVariable("big", ">f4", ("time", "lat", "lon"), endian="big")
    big[:] = np.arange(24).reshape(3, 2, 4)
    part = n.createVariable("part", "f4", ("time", "lat", "lon"), fill_value=-1)
    part[:2] = np.arange(16).reshape(2, 2, 4)
    v = n.createVariable("packed", "i2", ("lat", "lon"))
    v.scale_factor, v.missing_value = np.float32(0.1), np.int16(-1)
    v.set_auto_maskandscale(False)
    v[:] = [[1, 2, 3, -1], [5, 6, 7, 8]]
    m = n.createVariable("missing", "f4", ("lat", "lon"))
    m.missing_value = np.float32(3.3)
    m.set_auto_mask(False)
    m[:] = np.array([[1, 2, 3.3, 4], [5, 6, 7, 8]], "f4")


def without_scales(f):
    """HDF5 files without scales: netCDF-C numbers their dimensions."""
    f["a"] = np.zeros((4, 4))
    f["b"] = np.arange(4)
    f["c"] = np.arange(7.0)
    f["d"] = np.zeros((7, 4), "i4")
    f.create_dataset("grows", data=np.arange(4), maxshape=(None,), chunks=(2,))
    f["row"] = np.array([(1, 2.0)] * 9, [("i", "<i4"), ("j", "<f8")])  # netCDF-C does not show it
    f["z/e"] = np.zeros((7, 9))
    f["y/x/f"] = np.zeros((4, 7, 4))
    f["y/g"] = np.zeros(7)
    f["scalar"] = 1


def some_scales(f):
    """Scales that h5py made, beside datasets without."""
    f["x"] = np.arange(4.0)
    f["y"] = np.arange(3.0)
    f["x"].make_scale("x")
    f["y"].make_scale()
    f["v"] = np.zeros((3, 4))
    f["v"].dims[0].attach_scale(f["y"])
    f["v"].dims[1].attach_scale(f["x"])
    f["w"] = np.zeros((4, 4, 5))


def main():
    os.chdir(sys.argv[1])
    for write in (
        unlimited,
        groups,
        fill_values,
        packed,
        attributes,
        characters,
        figures,
        coordinates,
        shorter,
        orders,
        not_numbers,
        hidden_names,
    ):
        with netCDF4.Dataset(f"{write.__name__}.nc", "w") as n:
            write(n)
    for write in (without_scales, some_scales, linked_scales):
        with h5py.File(f"{write.__name__}.nc", "w") as f:
            write(f)
    with open("records.cdl", "w", encoding="ascii") as f:
        f.write(
            "netcdf r { dimensions: rec = UNLIMITED; x = 2; variables: int cc(rec); float t(rec,x);"
            " data: cc = 1, 2, 3; t = 1, 2, 3, 4, 5, 6; }"
        )
    subprocess.run(["ncgen", "-4", "-o", "records.nc", "records.cdl"], check=True)


if __name__ == "__main__":
    main()
