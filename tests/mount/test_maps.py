"""/.h5/decoded/tiff of maps: where they are, held against GDAL's netCDF driver by the values at coordinates
and by the coordinate systems, and against HDF-EOS5's own description of its grids."""
import itertools
import json
import os
import re
import struct

import h5py
import numpy as np

from mounting import MountTest, direct, read, unmount
from support.program import H5MOUNT, run, until

try:
    import netCDF4
    from osgeo import gdal, osr

    gdal.UseExceptions()
except ModuleNotFoundError:
    netCDF4 = gdal = osr = None

X = {"standard_name": "projection_x_coordinate", "units": "m"}
Y = {"standard_name": "projection_y_coordinate", "units": "m"}
LON, LAT = {"units": "degrees_east"}, {"units": "degrees_north"}
ELLIPSOIDS = {
    "none": {},
    "wgs84": {"semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563},
    "grs80": {"semi_major_axis": 6378137.0, "inverse_flattening": 298.257222101},
    "axes": {"semi_major_axis": 6378137.0, "semi_minor_axis": 6356752.0},
    "sphere": {"earth_radius": 6371229.0},
    "major": {"semi_major_axis": 6370000.0},
}


def mapping(name, **parameters):
    return {"grid_mapping_name": name, **parameters}


CONIC = {"longitude_of_central_meridian": -95.0, "latitude_of_projection_origin": 40.0}
AT_POLE = {"straight_vertical_longitude_from_pole": -45.0, "latitude_of_projection_origin": 90.0}
PROJECTIONS = {
    "lcc2": mapping("lambert_conformal_conic", standard_parallel=[30.0, 60.0], false_easting=1e3, **CONIC),
    "lcc1": mapping("lambert_conformal_conic", standard_parallel=40.0, false_northing=2e3, **CONIC),
    "albers": mapping("albers_conical_equal_area", standard_parallel=[29.5, 45.5], **CONIC),
    "azimuthal": mapping(
        "lambert_azimuthal_equal_area",
        longitude_of_projection_origin=10.0,
        latitude_of_projection_origin=52.0,
        false_easting=4321000.0,
        false_northing=3210000.0,
    ),
    "mercator": mapping("mercator", longitude_of_projection_origin=110.0, standard_parallel=20.0),
    "mercator1": mapping(
        "mercator", longitude_of_projection_origin=110.0, scale_factor_at_projection_origin=0.997
    ),
    "transverse": mapping(
        "transverse_mercator",
        scale_factor_at_central_meridian=0.9996,
        longitude_of_central_meridian=9.0,
        latitude_of_projection_origin=0.0,
        false_easting=500000.0,
    ),
    "north": mapping("polar_stereographic", standard_parallel=70.0, **AT_POLE),
    "scaled": mapping("polar_stereographic", scale_factor_at_projection_origin=0.994, **AT_POLE),
    "south": mapping(
        "polar_stereographic",
        straight_vertical_longitude_from_pole=0.0,
        latitude_of_projection_origin=-90.0,
        standard_parallel=-71.0,
    ),
    "oblique": mapping(
        "stereographic",
        longitude_of_projection_origin=5.3876,
        latitude_of_projection_origin=52.156,
        scale_factor_at_projection_origin=0.9999,
        false_easting=155000.0,
    ),
}


def add_grid(
    group, x, y, of_x=X, of_y=Y, crs=None, dtype="f4", outer=(), values=None, fill=None, **attributes
):
    """A variable `v` of a netCDF group, with its coordinates and grid mapping."""
    for name, at in (("y", y), ("x", x)):
        group.createDimension(name, len(at))
    for name, at, said in (("y", y, of_y), ("x", x, of_x)):
        v = group.createVariable(name, at.dtype, (name,))
        v.setncatts(said)
        v.set_auto_maskandscale(False)
        v[:] = at
    v = group.createVariable("v", dtype, (*outer, "y", "x"), fill_value=fill)
    v.set_auto_maskandscale(False)
    count = int(np.prod(v.shape))
    v[:] = np.arange(count).reshape(v.shape) if values is None else values
    v.setncatts(attributes)
    if crs is not None:
        group.createVariable("crs", "i4").setncatts(crs)
        v.grid_mapping = "crs"
    return v


def values_at(dataset, x, y, metres=1.0):
    """The values at coordinates, by the dataset's place."""
    a, b, c, d, e, f = dataset.GetGeoTransform()
    assert c == 0 and e == 0
    columns = np.floor((np.asarray(x, "f8") * metres - a) / b).astype(int)
    rows = np.floor((np.asarray(y, "f8") * metres - d) / f).astype(int)
    return dataset.ReadAsArray()[..., rows[:, None], columns[None, :]]


def tags_of(tiff):
    """The tags of each directory of a little-endian classic TIFF."""
    out = []
    (at,) = struct.unpack_from("<I", tiff, 4)
    while at:
        (count,) = struct.unpack_from("<H", tiff, at)
        tags = {}
        for i in range(count):
            tag, kind, n, place = struct.unpack_from("<HHII", tiff, at + 2 + 12 * i)
            size = {2: 1, 3: 2, 4: 4, 5: 8, 12: 8}[kind] * n
            place = at + 10 + 12 * i if size <= 4 else place
            tags[tag] = tiff[place : place + size]
        assert sorted(tags) == list(tags)
        out.append(tags)
        (at,) = struct.unpack_from("<I", tiff, at + 2 + 12 * count)
    return out


PLACE = (33550, 33922, 34264)


class MapsTest(MountTest):
    def setUp(self):
        super().setUp()
        if netCDF4 is None:
            self.skipTest("no netCDF4, or no GDAL for Python")

    def told(self, mnt, name):
        own = json.loads(os.getxattr(mnt + name, "user.hdf5.decoded"))
        self.assertEqual(
            json.loads(os.getxattr("%s.h5/decoded/tiff/%s.tif" % (mnt, name), "user.hdf5.decoded")), own
        )
        return own

    def tiff(self, mnt, name):
        return gdal.Open("%s.h5/decoded/tiff/%s.tif" % (mnt, name))

    def is_placed(self, mnt, name):
        tags = tags_of(read("%s.h5/decoded/tiff/%s.tif" % (mnt, name)))
        each = [any(tag in page for tag in PLACE) for page in tags]
        self.assertEqual(len(set(each)), 1)
        said = "map" in json.loads(
            os.getxattr(mnt + name, "user.hdf5.decoded")
            if "user.hdf5.decoded" in os.listxattr(mnt + name)
            else "{}"
        )
        self.assertEqual(each[0], said, name)
        return said

    def test_systems_and_places_are_those_of_gdal(self):
        x, y = np.arange(10) * 1000.0 + 500, np.arange(8)[::-1] * 1000.0 - 3500
        cases = {}
        for name, ellipsoid in itertools.product(PROJECTIONS, ELLIPSOIDS):
            cases["%s_%s" % (name, ellipsoid)] = (1, {**PROJECTIONS[name], **ELLIPSOIDS[ellipsoid]})
        for name in PROJECTIONS:
            cases[name + "_km"] = (1000, {**PROJECTIONS[name], **ELLIPSOIDS["grs80"]})
        for name, (unit, crs) in cases.items():
            with netCDF4.Dataset(name + ".nc", "w") as nc:
                units = {"units": "m" if unit == 1 else "km"}
                rows = y if len(name) % 2 else y[::-1]  # falling and rising
                add_grid(nc, x / unit, rows / unit, {**X, **units}, {**Y, **units}, crs)
        values = 0
        os.mkdir("all")
        for name in cases:
            os.rename(name + ".nc", "all/%s.nc" % name)
        mnt = self.mount("all")
        for name, (unit, crs) in cases.items():
            theirs = gdal.Open('NETCDF:"all/%s.nc":v' % name)
            place = "%s%s.nc/" % (mnt, name)
            ours = self.tiff(place, "v")
            self.assertEqual(self.told(place, "v")["map"], crs["grid_mapping_name"])
            a, b = theirs.GetSpatialRef(), ours.GetSpatialRef()
            if unit == 1000:
                a.SetLinearUnitsAndUpdateParameters("metre", 1.0)
            self.assertEqual(a.ExportToProj4(), b.ExportToProj4(), name)
            self.assertTrue(a.IsSame(b) or name.startswith("lcc1"), (name, a.ExportToWkt(), b.ExportToWkt()))
            have = values_at(ours, x, y)
            self.assertTrue(np.array_equal(have, values_at(theirs, x / unit, y / unit)), name)
            values += have.size
        self.assertEqual(values, 80 * len(cases))

    def test_degrees(self):
        lat, lon = 60 - 0.5 * np.arange(20), np.arange(30) * 0.25 - 3
        fine = np.arange(4320) / 12 - 180
        with netCDF4.Dataset("d.nc", "w") as nc:
            add_grid(nc.createGroup("falling"), lon, lat, LON, LAT)
            add_grid(nc.createGroup("rising"), lon, lat[::-1], LON, LAT)
            add_grid(nc.createGroup("left"), lon[::-1], lat, LON, LAT)
            add_grid(nc.createGroup("single"), fine.astype("f4"), lat.astype("f4"), LON, LAT)
            add_grid(
                nc.createGroup("named"),
                lon,
                lat,
                {"standard_name": "longitude", "units": "degrees"},
                {"standard_name": "latitude"},
            )
            # Packed coordinates.
            pack = {"scale_factor": 0.25, "add_offset": 40.0}
            add_grid(
                nc.createGroup("packed"),
                np.arange(12, dtype="i2"),
                np.arange(9, dtype="i2")[::-1],
                {**LON, **pack},
                {"units": "degree_N", **pack},
            )
            for name, ellipsoid in ELLIPSOIDS.items():
                crs = mapping("latitude_longitude", **ellipsoid)
                add_grid(nc.createGroup(name), lon, lat, LON, LAT, crs)
        mnt = self.mount("d.nc")
        for name in ("falling", "rising", "left", "single", "named", "packed", *ELLIPSOIDS):
            ours = self.tiff(mnt, name + "/v")
            with netCDF4.Dataset("d.nc") as nc:
                at = nc[name]["x"][:], nc[name]["y"][:]
                self.assertTrue(np.array_equal(values_at(ours, *at), nc[name]["v"][:]), name)
            code = name in ("none", "wgs84") or name not in ELLIPSOIDS
            self.assertEqual(
                self.told(mnt, name + "/v"),
                {"convention": "CF", "map": "EPSG:4326" if code else "latitude_longitude"},
            )
            if not code:
                theirs = gdal.Open('NETCDF:"d.nc":/%s/v' % name).GetSpatialRef()
                self.assertTrue(theirs.IsSame(ours.GetSpatialRef()), name)
            else:
                self.assertEqual(ours.GetSpatialRef().GetAuthorityCode(None), "4326")
            tags = tags_of(read("%s.h5/decoded/tiff/%s/v.tif" % (mnt, name)))[0]
            by_matrix = name in ("rising", "left")
            self.assertEqual([tag for tag in PLACE if tag in tags], [34264] if by_matrix else [33550, 33922])
        a = self.tiff(mnt, "falling/v").GetGeoTransform()
        self.assertEqual(a, (-3.125, 0.25, 0, 60.25, 0, -0.5))  # the coordinate is the centre of its pixel
        plain = tags_of(read(mnt + ".h5/tiff/falling/v.tif"))[0]
        self.assertFalse([tag for tag in plain if tag > 33000])

    def test_uneven_and_other_coordinates(self):
        lat, lon = 60 - 0.5 * np.arange(20), np.arange(30) * 1.0
        rng = np.random.default_rng(3)
        bent = lat.copy()
        bent[7] += 0.001
        gauss = np.degrees(np.arcsin(np.polynomial.legendre.leggauss(40)[0]))
        nan, infinite, huge = lat.copy(), lat.copy(), lat * 1e300
        nan[3], infinite[-1] = np.nan, np.inf
        no = {
            "bent": (lon, bent, LON, LAT),
            "gauss": (lon, gauss, LON, LAT),
            "gauss4": (lon, gauss.astype("f4"), LON, LAT),
            "one": (lon[:1], lat, LON, LAT),
            "same": (lon, lat * 0 + 5, LON, LAT),
            "nan": (lon, nan, LON, LAT),
            "infinite": (lon, infinite, LON, LAT),
            "huge": (lon, np.array([-1.7e308, 1.7e308]), LON, LAT),
            "turned": (lat, lon, LAT, LON),
            "mixed": (lon, lat, LON, Y),
            "unnamed": (lon, lat, {}, {}),
            "feet": (lon, lat, {**X, "units": "ft"}, {**Y, "units": "ft"}),
            "rotated": (lon, lat, {**LON, "standard_name": "grid_longitude"}, LAT),
            "times": (lon, lat, {"units": "days since 2000-01-01"}, LAT),
        }
        yes = {
            "noise": (lon + rng.uniform(-4e-4, 4e-4, 30), lat, LON, LAT),
            "noise4": ((np.arange(900) * 0.01 + 170).astype("f4"), lat.astype("f4"), LON, LAT),
            "huge": (lon, huge, LON, LAT),
            "integers": (lon.astype("i8"), np.arange(9, dtype=">u2"), LON, LAT),
        }
        cases = {**{"no_" + k: v for k, v in no.items()}, **{"yes_" + k: v for k, v in yes.items()}}
        with netCDF4.Dataset("u.nc", "w") as nc:
            for name, (x, y, of_x, of_y) in cases.items():
                add_grid(nc.createGroup(name), x, y, of_x, of_y)
        mnt = self.mount("u.nc")
        for name in cases:
            self.assertEqual(self.is_placed(mnt, name + "/v"), name.startswith("yes"), name)

    def test_codes_and_systems_that_cannot_be_said(self):
        def wkt(code, version):
            s = osr.SpatialReference()
            s.ImportFromEPSG(code)
            return s.ExportToWkt(["FORMAT=" + version])

        utm = {"crs_wkt": wkt(32633, "WKT1_GDAL")}
        cases = {
            "wkt1": (X, Y, utm, "EPSG:32633"),
            "wkt2": (X, Y, {"spatial_ref": wkt(3035, "WKT2_2018")}, "EPSG:3035"),
            "compound": (X, Y, {"crs_wkt": wkt(7405, "WKT2_2018")}, None),  # only the whole has a code
            "compound1": (X, Y, {"crs_wkt": wkt(7405, "WKT1_GDAL")}, "EPSG:27700"),
            "text": (X, Y, {"epsg_code": "EPSG:25832"}, "EPSG:25832"),
            "number": (X, Y, {"epsg_code": np.int32(2154)}, "EPSG:2154"),
            "first": (X, Y, {**PROJECTIONS["albers"], **utm}, "EPSG:32633"),
            "geographic": (LON, LAT, {"crs_wkt": wkt(4258, "WKT2_2018")}, "EPSG:4258"),
            "other": (LON, LAT, utm, "EPSG:4326"),
            "no_code": (X, Y, {"crs_wkt": 'PROJCS["x[",GEOGCS["y",AUTHORITY["EPSG","4326"]]]'}, None),
            "large": (X, Y, {"epsg_code": np.int32(102100)}, None),
            "geostationary": (X, Y, mapping("geostationary", perspective_point_height=3.5e7), None),
            "infinite": (X, Y, {**PROJECTIONS["albers"], "false_easting": np.inf}, None),
            "ellipsoid": (X, Y, {**PROJECTIONS["albers"], "semi_major_axis": -1.0}, None),
            "nothing": (X, Y, None, None),
        }
        with netCDF4.Dataset("c.nc", "w") as nc:
            for name, (of_x, of_y, crs, _) in cases.items():
                add_grid(nc.createGroup(name), np.arange(4.0), np.arange(3.0), of_x, of_y, crs)
            # In the extended form the mapping of the coordinates counts; one above the group is found.
            nc.createVariable("utm", "i4").setncatts(utm)
            nc.createVariable("lonlat", "i4").setncatts(mapping("latitude_longitude"))
            below = nc.createGroup("a/b/c")
            v = add_grid(below, np.arange(4.0), np.arange(3.0))
            v.grid_mapping = "lonlat: lat lon utm: x y"
            v = add_grid(nc.createGroup("absolute"), np.arange(4.0), np.arange(3.0))
            v.grid_mapping = "/utm"
            v = add_grid(nc.createGroup("circle"), np.arange(4.0), np.arange(3.0))
            v.grid_mapping = "v"
        mnt = self.mount("c.nc")
        cases.update({"a/b/c": cases["wkt1"], "absolute": cases["wkt1"], "circle": cases["nothing"]})
        for name, (*_, want) in cases.items():
            told = self.told(mnt, name + "/v")
            self.assertEqual(told["map"], want or "place", name)
            self.assertEqual("no_system" in told, want is None)
            ours = self.tiff(mnt, name + "/v")
            self.assertEqual(ours.GetGeoTransform()[:2], (-0.5, 1))
            have = ours.GetSpatialRef()
            self.assertEqual(have and "EPSG:%s" % have.GetAuthorityCode(None), want, name)

    def test_pages_and_missing_values(self):
        lat, lon = 60 - 0.5 * np.arange(5), np.arange(6) * 1.0
        rng = np.random.default_rng(5)
        with netCDF4.Dataset("t.nc", "w") as nc:
            for name, count, units in (
                ("time", 4, "hours since 2001-02-03 04:05:06"),
                ("level", 3, "hPa"),
            ):
                nc.createDimension(name, count)
                v = nc.createVariable(name, "f4" if name == "level" else "i4", (name,))
                v.units, v[:] = units, np.arange(count) * 12.5 if name == "level" else np.arange(count) * 7
            packed = rng.integers(-50, 50, (4, 5, 6)).astype("i2")
            packed[1, 2] = -9
            pack = {"scale_factor": 0.5, "add_offset": 273.0, "units": "K"}
            kinds = {
                "packed": ("i2", ("time",), packed, -9, pack),
                "whole": ("i4", ("time",), packed.astype("i4"), -9, {}),
                "unsigned": ("u1", ("time",), (packed + 50).astype("u1"), 255, {}),
                "floats": ("f8", ("time", "level"), rng.random((4, 3, 5, 6)), None, {"units": "<m>"}),
                "swapped": (">f8", ("level",), rng.random((3, 5, 6)), None, {}),
                "big": (">f4", ("time",), rng.random((4, 5, 6)), np.float32(0.5), {}),
            }
            for name, (dtype, outer, values, fill, said) in kinds.items():
                add_grid(nc.createGroup(name), lon, lat, LON, LAT, None, dtype, outer, values, fill, **said)
        mnt = self.mount("t.nc")
        for name, (dtype, outer, values, fill, said) in kinds.items():
            place = "%s.h5/decoded/tiff/%s/v.tif" % (mnt, name)
            size = os.stat(place).st_size
            self.assertEqual(len(read(place)), size)
            pages = values.reshape(-1, 5, 6)
            with netCDF4.Dataset("t.nc") as nc:
                want = nc[name]["v"][:].reshape(-1, 5, 6)
            for page in range(len(pages)):
                ours = gdal.Open("GTIFF_DIR:%d:%s" % (page + 1, place))
                have = ours.ReadAsArray()
                band = ours.GetRasterBand(1)
                if want.dtype.kind == "f":
                    self.assertTrue(np.isnan(band.GetNoDataValue()), name)
                    self.assertTrue(
                        np.array_equal(have, want[page].filled(np.nan), equal_nan=True), (name, page)
                    )
                else:
                    self.assertEqual(band.GetNoDataValue(), fill)
                    self.assertTrue(np.array_equal(have, pages[page]))
                self.assertEqual(ours.GetGeoTransform(), (-0.5, 1, 0, 60.25, 0, -0.5))
                items = ours.GetMetadata()
                day, hour = divmod(4 + 7 * (page // (3 if "level" in outer else 1)), 24)
                time = "2001-02-%02dT%02d:05:06" % (3 + day, hour)
                self.assertEqual(items.get("time"), time if "time" in outer else None)
                if "level" in outer:
                    self.assertEqual(items["level"], "%.1f hPa" % (page % 3 * 12.5))
                self.assertEqual(band.GetUnitType(), re.sub("[<>]", "?", said.get("units", "")))
        told = self.told(mnt, "packed/v")
        self.assertEqual(
            told,
            {"convention": "CF", "unpacked": "float64", "missing": ["_FillValue"], "map": "EPSG:4326"},
        )

    def test_hdf_eos(self):
        def grid(name, columns, rows, corners, projection, more=""):
            return """\tGROUP=GRID_%d
\t\tGridName="%s"
\t\tXDim=%d
\t\tYDim=%d
\t\tUpperLeftPointMtrs=(%f,%f)
\t\tLowerRightMtrs=(%f,%f)
\t\tProjection=%s
%s\t\tGROUP=Dimension
\t\tEND_GROUP=Dimension
\t\tGROUP=DataField
\t\t\tOBJECT=DataField_1
\t\t\t\tDataFieldName="Field"
\t\t\t\tDataType=H5T_NATIVE_FLOAT
\t\t\t\tDimList=("Level","YDim","XDim")
\t\t\t\tMaxdimList=("Level","YDim","XDim")
\t\t\tEND_OBJECT=DataField_1
\t\tEND_GROUP=DataField
\t\tGROUP=MergedFields
\t\tEND_GROUP=MergedFields
\tEND_GROUP=GRID_%d
""" % (
                hash(name) % 9 + 1, name, columns, rows, *corners, projection, more, hash(name) % 9 + 1
            )  # fmt: skip

        world = (-180e6, 90e6, 180e6, -90e6)
        radius = "\t\tProjParams=(6371007.181000,0,0,0,0,0,0,0,0,0,0,0,0)\n\t\tSphereCode=-1\n"
        tile = (-1111950.519667, 5559752.598333, 0.0, 4447802.078667)
        geo, sinusoidal = "HE5_GCTP_GEO", "HE5_GCTP_SNSOID"
        grids = {
            "World": ((72, 36, world, geo), (-180, 5, 0, 90, 0, -5)),
            "South": ((72, 36, world, geo, "\t\tGridOrigin=HE5_HDFE_GD_LL\n"), (-180, 5, 0, -90, 0, 5)),
            "Packed": (
                (10, 5, (-10030000.0, 5015000.0, -10000000, 5000000), geo),
                (-10.5, 0.05, 0, 5.25, 0, -0.05),
            ),
            "Tile": (
                (6, 4, tile, sinusoidal, radius),
                (tile[0], -tile[0] / 6, 0, tile[1], 0, (tile[3] - tile[1]) / 4),
            ),
            "Polar": (
                (6, 4, tile, "HE5_GCTP_PS"),
                (tile[0], -tile[0] / 6, 0, tile[1], 0, (tile[3] - tile[1]) / 4),
            ),
            "Seconds": ((6, 4, (-180.0, 90.0, 180.0, -90.0), geo), None),
        }
        text = "GROUP=SwathStructure\nEND_GROUP=SwathStructure\nGROUP=GridStructure\n"
        text += "".join(grid(name, *said) for name, (said, _) in grids.items())
        text += "END_GROUP=GridStructure\nGROUP=PointStructure\nEND_GROUP=PointStructure\nEND\n"
        with h5py.File("g.he5", "w") as f:
            f["HDFEOS INFORMATION/StructMetadata.0"] = np.array(text.encode(), "S32000")
            for name, (said, _) in grids.items():
                columns, rows = said[:2]
                values = np.arange(2 * rows * columns, dtype="f4").reshape(2, rows, columns)
                d = f.create_dataset("HDFEOS/GRIDS/%s/Data Fields/Field" % name, data=values)
                d.attrs["_FillValue"] = np.array([7], "f4")
                f["HDFEOS/GRIDS/%s/Data Fields/Other" % name] = values
        mnt = self.mount("g.he5")
        for name, (said, want) in grids.items():
            field = "HDFEOS/GRIDS/%s/Data Fields/Field" % name
            self.assertFalse(self.is_placed(mnt, "HDFEOS/GRIDS/%s/Data Fields/Other" % name))
            self.assertEqual(self.is_placed(mnt, field), want is not None, name)
            if want is None:
                continue
            ours = self.tiff(mnt, field)
            self.assertTrue(np.allclose(ours.GetGeoTransform(), want, atol=1e-9), name)
            said = self.told(mnt, field)["map"]
            system = {"Tile": "sinusoidal", "Polar": "place"}.get(name, "EPSG:4326")
            self.assertEqual(said, system)
            if name == "Tile":
                self.assertEqual(
                    ours.GetSpatialRef().ExportToProj4(),
                    "+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181 +units=m +no_defs",
                )
                self.assertTrue(np.isnan(ours.ReadAsArray()[1, 1]))  # 7 is missing

    def test_hostile(self):
        with h5py.File("h.h5", "w") as f:
            for name in ("y", "x"):
                f[name] = np.arange(4.0)
                f[name].make_scale(name)
                f[name].attrs["units"] = "degrees_north" if name == "y" else "degrees_east"
            f["many"] = np.arange((1 << 20) + 1.0)
            f["many"].make_scale("many")
            f["many"].attrs["units"] = "degrees_east"

            def add(name, second="x", **attributes):
                d = f.create_dataset(name, (4, len(f[second])), "u1")
                d.dims[0].attach_scale(f["y"])
                d.dims[1].attach_scale(f[second])
                for key, value in attributes.items():
                    d.attrs[key] = value

            add("many_columns", "many")
            f["three"] = np.arange(3.0)
            f["three"].make_scale("three")
            f["three"].attrs["units"] = "degrees_east"
            no_colours = f.create_dataset("no_colours", data=np.arange(24, dtype="u1").reshape(2, 4, 3))
            no_colours.dims[1].attach_scale(f["y"])
            no_colours.dims[2].attach_scale(f["three"])
            # Behind 4 GiB.
            f["far"] = np.arange(50000.0)
            f["far"].make_scale("far")
            f["far"].attrs["units"] = "degrees_east"
            large = f.create_dataset("beyond", (6000, 4, 50000), "f4", chunks=(1, 4, 50000))
            large.dims[1].attach_scale(f["y"])
            large.dims[2].attach_scale(f["far"])
            large[5999, 3, 7:9] = 1, 2
            nested = "PROJCS[" * 9000
            g = f.create_group("mapping")
            g.attrs["crs_wkt"] = nested
            for i in range(20):
                f["loop%d" % i] = h5py.SoftLink("/loop%d" % ((i + 1) % 20))
            add("nested", grid_mapping="mapping")
            add("loop", grid_mapping="loop0")
            add("deep", grid_mapping="a/" * 30000)
            add("number", grid_mapping=np.int32(3))
            add("units", units="<&>\x01\xff" * 50)
            h = f.create_dataset("wide", (1 << 16, 4), "u1", chunks=(64, 4))
            h.dims[1].attach_scale(f["x"])
            f.create_dataset("itself", data=np.arange(4.0))
            f["itself"].make_scale("itself")
            big = "A" * (16 << 20)
            f.create_dataset("crs", data=0).attrs.create("spatial_ref", big, dtype=h5py.string_dtype())
            add("large", grid_mapping="crs")
        with h5py.File("e.h5", "w") as f:
            deep = "GROUP=GridStructure\n" + "GROUP=GRID_1\n" * 40000 + 'GridName="A"\n=\n==\n(((\n'
            f["HDFEOS INFORMATION/StructMetadata.0"] = np.bytes_(deep)
            f["HDFEOS/GRIDS/A/Data Fields/d"] = np.zeros((3, 4))
        mnt = self.mount("h.h5")
        placed = ("nested", "loop", "deep", "number", "units", "large")
        for name in placed:
            self.assertTrue(self.is_placed(mnt, name), name)
            self.assertEqual(self.told(mnt, name)["map"], "EPSG:4326")
        for name in ("many_columns", "wide"):
            self.assertFalse(self.is_placed(mnt, name), name)
        for page in (1, 2):
            ours = gdal.Open("GTIFF_DIR:%d:%s.h5/decoded/tiff/no_colours.tif" % (page, mnt))
            self.assertEqual(
                ours.ReadAsArray().tolist(),
                np.arange(24).reshape(2, 4, 3)[page - 1].tolist(),
            )
        ours = gdal.Open("GTIFF_DIR:6000:%s.h5/decoded/tiff/beyond.tif" % mnt)
        self.assertEqual(direct(mnt + ".h5/decoded/tiff/beyond.tif")[:4], b"II+\0")
        self.assertEqual(ours.GetGeoTransform(), (-0.5, 1, 0, -0.5, 0, 1))
        self.assertEqual(ours.GetSpatialRef().GetAuthorityCode(None), "4326")
        self.assertEqual(ours.ReadAsArray()[3, 6:10].tolist(), [0, 1, 2, 0])
        ours = self.tiff(mnt, "units")
        self.assertEqual(ours.GetRasterBand(1).GetUnitType()[:4], "????")
        del ours
        unmount(mnt)
        mnt = self.mount("e.h5")
        self.assertFalse(self.is_placed(mnt, "HDFEOS/GRIDS/A/Data Fields/d"))

    def test_a_file_that_grows(self):
        with h5py.File("f.h5", "w", libver="latest") as f:
            for name, units in (("y", "degrees_north"), ("x", "degrees_east")):
                f[name] = np.arange(4.0)[::-1] if name == "y" else np.arange(4.0)
                f[name].make_scale(name)
                f[name].attrs["units"] = units
            d = f.create_dataset("d", (1, 4, 4), "f4", maxshape=(None, 4, 4), chunks=(1, 4, 4))
            d.dims[1].attach_scale(f["y"])
            d.dims[2].attach_scale(f["x"])
            f.swmr_mode = True
            mnt = self.mount("f.h5")
            name = mnt + ".h5/decoded/tiff/d.tif"
            for count in (1, 2, 5):
                d.resize((count, 4, 4))
                d[:] = count
                f.flush()
                until(lambda: len(tags_of(read(name))) == count, "%d pages" % count)
                self.assertTrue(all(33550 in page for page in tags_of(read(name))))
            unmount(mnt)

    def test_without_a_mount(self):
        with netCDF4.Dataset("f.nc", "w") as nc:
            add_grid(nc, np.arange(4.0), np.arange(3.0), LON, LAT)
        told = json.loads(run(H5MOUNT, "--stat", "f.nc", "/v").stdout)["xattrs"]["user.hdf5.decoded"]
        self.assertEqual(json.loads(told), {"convention": "CF", "map": "EPSG:4326"})
