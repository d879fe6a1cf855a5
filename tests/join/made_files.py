"""Sources of joined files, and what the files made of them must hold: called by the tests of this directory,
where the files are."""
import json
import subprocess

import h5py
import numpy as np

try:
    import netCDF4
except ModuleNotFoundError:
    netCDF4 = None


def write_every_attribute(f):
    """Attributes of every class of types, small and large."""
    d = f.create_dataset("g/d", data=np.arange(3, dtype="i4"))
    a = d.attrs
    for name in "i1 u1 <i2 >i2 <u4 >i8 <u8 <f2 <f4 >f4 <f8 >f8 S5".split():
        a.create(name, np.array([1, 2, 3]).astype(name))
    a["bool"] = np.array([True, False])
    a["complex"] = np.array([1 + 2j])
    a["opaque"] = np.void(b"\x00\x01abc")
    a["text"] = "üx"
    a["empty"] = ""
    a["texts"] = ["a", "", "cde"]
    a["fixed"] = np.array([b"ab", b"c"])
    a.create("ascii", "abc", dtype=h5py.string_dtype("ascii", 6))
    a.create("utf8", "ü".encode(), dtype=h5py.string_dtype("utf-8", 6))
    a.create("enum", [1, 0], dtype=h5py.enum_dtype({"A": 0, "B": 1}, basetype="i2"))
    ragged = np.empty(2, object)
    ragged[:] = [np.array([1, 2, 3], "i2"), np.array([], "i2")]
    a.create("ragged", ragged, dtype=h5py.vlen_dtype(np.dtype("i2")))
    a["null"] = h5py.Empty("f4")
    a["record"] = np.array([(1, 2.5, b"x")], dtype=[("a", "i4"), ("b", "f8"), ("c", "S3")])
    a["padded"] = np.array([(1, 2.5)], dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True))
    a.create("named", np.array([("x", 1)], dtype=[("s", h5py.string_dtype()), ("n", "i4")]))
    a["nested"] = np.array([((1, 2), [3, 4])], dtype=[("p", [("x", "i1"), ("y", ">i2")]), ("q", "i4", 2)])
    a["ref"] = d.ref
    a["refs"] = np.array([f["g"].ref, h5py.Reference(), f.ref], dtype=h5py.ref_dtype)
    a["region"] = d.regionref[:2]
    if "earliest" not in f.libver:
        a["large"] = np.arange(1 << 17)
    a["wide"] = ["x" * i for i in range(300)]
    for i in range(3000):
        a["n%d" % i] = i
    t = h5py.h5t.STD_B16LE.copy()
    h5py.h5a.create(d.id, b"bits", t, h5py.h5s.create(h5py.h5s.SCALAR)).write(np.array(5, "u2"), mtype=t)
    f.attrs["small"] = 5


def same(a, b, x, y, name):
    """Whether values of two files are equal: references by the names of what they lead to."""
    if name in ("ref", "refs"):
        return [bool(r) and a[r].name for r in np.ravel(x)] == [bool(r) and b[r].name for r in np.ravel(y)]
    if isinstance(x, h5py.Empty):
        return isinstance(y, h5py.Empty) and x.dtype == y.dtype
    if isinstance(x, np.ndarray) and x.dtype == object:
        return len(x) == len(y) and all(np.array_equal(p, q) for p, q in zip(x, y))
    return type(x) == type(y) and np.array_equal(x, y)


def check_every_attribute():
    a, b = h5py.File("a.h5", "r"), h5py.File("joined.h5", "r")
    x, y = a["g/d"].attrs, b["g/d"].attrs
    assert set(x) - set(y) == {"region", "n7", "n8"} and set(y) <= set(x), set(x) ^ set(y)
    assert b.attrs["small"] == 5 and y["n9"] == b"stated"
    for name in set(y) - {"n9"}:
        assert x.get_id(name).get_type().equal(y.get_id(name).get_type()), name
        assert name == "bits" or same(a, b, x[name], y[name], name), (name, x[name], y[name])
    assert (b["g/d"][:] == a["g/d"][:]).all() and b["g/d"].is_virtual
    subprocess.run(["h5dump", "-A", "joined.h5"], check=True, stdout=subprocess.DEVNULL)


def write_netcdf(name, first):
    """Two steps of a series, from `first` on."""
    f = netCDF4.Dataset(name, "w")
    f.title = "a title"
    f.createDimension("time", None)
    f.createDimension("lat", 4)
    f.createDimension("nv", 2)
    f.createDimension("chars", 3)
    t = f.createVariable("time", "f8", ("time",))
    t.units = "days since 2000-01-01"
    t.bounds = "time_bnds"
    t[:] = [first, first + 1]
    f.createVariable("time_bnds", "f8", ("time", "nv"))[:] = np.arange(4).reshape(2, 2) + first
    f.createVariable("lat", "f4", ("lat",))[:] = [1, 2, 3, 4]
    v = f.createVariable("g/v", "i2", ("time", "lat"), zlib=True, fill_value=-5)
    v.setncattr_string("names", ["p", "qq"])
    v[:] = np.arange(8).reshape(2, 4) + 10 * first
    f.createVariable("crs", "i4", ()).setncattr("note", "ü")
    f.createVariable("word", str, ())[...] = "hello"
    f.createDimension("station", 2)
    f.createVariable("station", "S1", ("station", "chars"))[:] = np.full((2, 3), b"y")
    f.createVariable("label", "S1", ("lat", "chars"))[:] = np.full((4, 3), b"x")
    f.close()


def check_netcdf():
    f = netCDF4.Dataset("joined.h5")
    assert {k: len(d) for k, d in f.dimensions.items()} == {
        "time": 4,
        "lat": 4,
        "nv": 2,
        "chars": 3,
        "station": 2,
    }, f.dimensions
    assert f["time"].dimensions == ("time",) and f["g/v"].dimensions == ("time", "lat")
    assert f["time_bnds"].dimensions == ("time", "nv") and f["label"].dimensions == ("lat", "chars")
    assert f["station"].dimensions == ("station", "chars"), f["station"]
    assert set(f.variables) == {"time", "time_bnds", "lat", "crs", "word", "label", "station"}, list(
        f.variables
    )
    assert list(f["time"][:]) == [0, 1, 2, 3] and f["time"].units == "days since 2000-01-01"
    assert (f["g/v"][:] == np.concatenate([np.arange(8), np.arange(8) + 20]).reshape(4, 4)).all()
    assert f["g/v"].names == ["p", "qq"] and f["g/v"]._FillValue == -5
    assert f["word"][...] == "hello" and f["crs"].note == "ü" and f.title == "a title"
    h = h5py.File("joined.h5", "r")
    assert [d[0].name for d in h["g/v"].dims] == ["/time", "/lat"]
    assert h5py.h5ds.is_scale(h["time"].id)
    users = {(h[r].name, n) for r, n in h["time"].attrs["REFERENCE_LIST"]}
    assert users == {("/time_bnds", 0), ("/g/v", 0)}, users
    assert h["nv"].attrs["NAME"].startswith(b"This is a netCDF dimension")
    assert "h5mount_left_out" not in h.attrs
    out = subprocess.run(["ncdump", "-h", "joined.h5"], check=True, capture_output=True, text=True).stdout
    assert "short v(time, lat)" in out, out


def check_left_out():
    h = h5py.File("joined.h5", "r")
    assert sorted(h) == ["gap", "names", "plain", "run", "sub"] and list(h["sub"]) == ["x"], sorted(h)
    left = json.loads(h.attrs["h5mount_left_out"])
    assert sorted(left) == ["/bad", "/rebased", "/sub", "/unpacked"], left
    assert left["/bad"] == "a.h5 and b.h5 differ" and "epochs" in left["/rebased"]
    assert list(h["plain"][:]) == [0, 1, 2, 0, 1, 2] and list(h["gap"][:]) == [0, 1, 2, -9, -9, -9]
    assert list(h["names"].asstr()[:]) == ["a", "", "üb"] * 2 and h["names"].is_virtual
    assert list(h["run"].asstr()[:]) == ["first", "zweitü"] and h5py.h5ds.is_scale(h["run"].id)


def check_virtual(f):
    """Writes the sources of the virtual datasets of `f`, and reads these."""
    x = np.arange(6, dtype="i4").reshape(2, 3)
    for name, add in ("a.h5", 0), ("b%.h5", 100):
        with h5py.File(name, "w") as s:
            s["g/x"] = x + add
            s["s"] = np.int32(add)
    assert f["along"].is_virtual
    assert (f["along"][:] == np.concatenate([x, [[-1] * 3], x + 100])).all(), f["along"][:]
    assert (f["across"][:] == np.concatenate([x, x + 100], 1)).all(), f["across"][:]
    assert (f["added"][:] == np.stack([x, x + 100])).all(), f["added"][:]
    assert (f["whole"][:] == x).all()
    assert (f["scalars"][:] == [0, 100]).all(), f["scalars"][:]
