#!/usr/bin/python3
"""Makes tests/data/weather.h5, the example that ships with the project, and weather.sha256 beside it.

    make_example.py [DIRECTORY]        needs python3-h5py

A day of a weather station as an instrument would write it: groups, chunked and compressed data with a
checksum, attributes, an enum, a table, variable-length strings, soft and hard links. The values are computed
from formulas, so that the file is reproducible. weather.sha256 (for `sha256sum -c`) holds the checksums of
the bytes that the mount must show, computed from the arrays.
"""
import hashlib, os, sys

import h5py
import numpy as np

MINUTES, LEVELS = 1440, 12
FLAGS = {"GOOD": 0, "SUSPECT": 1, "MISSING": 2}


def attributes(node, **values):
    for name, value in values.items():
        if isinstance(value, str):  # fixed length, as C programs write them
            node.attrs.create(name, np.bytes_(value))
        else:
            node.attrs[name] = value


def observations(root):
    group = root.create_group("observations", track_order=True)
    attributes(group, interval=np.int32(60), levels=np.arange(LEVELS, dtype="<f4") * 50)
    minute = np.arange(MINUTES)
    time = group.create_dataset(
        "time",
        data=(1_718_409_600 + 60 * minute).astype("<i8"),
        chunks=(360,),
        compression="gzip",
        shuffle=True,
    )
    attributes(time, units="seconds since 1970-01-01", calendar="gregorian")

    day = 2 * np.pi * minute / MINUTES
    surface = 11.5 + 6.25 * np.sin(day - 2.2) + 0.4 * np.sin(17 * day)
    profile = surface[:, None] - 0.0065 * 50 * np.arange(LEVELS)[None, :]
    temperature = np.round(profile * 16).astype("<f4") / 16
    temperature[700:720, 9:] = np.float32(-999)
    data = group.create_dataset(
        "temperature",
        data=temperature,
        chunks=(240, LEVELS),
        compression="gzip",
        shuffle=True,
        fletcher32=True,
        fillvalue=np.float32(-999),
    )
    attributes(data, units="degC", long_name="air temperature", valid_range=np.array([-40, 60], "<f4"))

    humidity = np.round(70 - 3 * (surface - 11.5)).astype("u1")
    attributes(group.create_dataset("humidity", data=humidity), units="%")
    pressure = (101_325 + np.round(180 * np.cos(day))).astype(">i4")
    attributes(group.create_dataset("pressure", data=pressure, chunks=(512,), compression="gzip"), units="Pa")
    flags = np.zeros(MINUTES, "i1")
    flags[700:720] = FLAGS["MISSING"]
    flags[720:725] = FLAGS["SUSPECT"]
    group.create_dataset(
        "quality", data=flags, dtype=h5py.enum_dtype(FLAGS, "i1"), chunks=(1440,), compression="gzip"
    )
    return {"time": time, "temperature": data}


def radar(root):
    group = root.create_group("radar")
    attributes(group, instrument="X-band, 9.41 GHz", elevation=1.5)
    y, x = np.mgrid[0:96, 0:128]
    frames = group.create_dataset(
        "reflectivity",
        shape=(24, 96, 128),
        maxshape=(None, 96, 128),
        dtype="<u2",
        chunks=(4, 48, 64),
        compression="gzip",
        shuffle=True,
        fillvalue=np.uint16(65535),
    )
    for hour in range(20):  # the last four hours are not written: fill values
        distance = (x - 20 - 4 * hour) ** 2 + (y - 48 - 8 * np.sin(hour / 3)) ** 2
        frames[hour] = np.where(distance < 900, 400 - distance // 3, 0).clip(0).astype("<u2")
    attributes(frames, scale_factor=np.float32(0.1), units="dBZ")
    # Zero where nothing was written: a hole for lseek and du.
    clutter = group.create_dataset("clutter", shape=(24, 96, 128), dtype="u1", chunks=(4, 96, 128))
    clutter[:4] = (x * y % 251).astype("u1")


def station(root):
    group = root.create_group("station")
    attributes(
        group,
        name="Hoher Peißenberg".encode(),
        wmo_id=np.int32(10962),
        position=np.array([47.8009, 11.0109]),
        active=np.bool_(True),
    )
    row = np.dtype([("sensor", "S12"), ("gain", "<f8"), ("offset", "<f4"), ("serial", "<i4")])
    table = np.array(
        [
            (b"thermometer", 1.0025, -0.13, 4711),
            (b"hygrometer", 0.998, 0.5, 4712),
            (b"barometer", 1.0, 12.25, 4713),
        ],
        row,
    )
    group.create_dataset("calibration", data=table)
    group["row_type"] = np.dtype(row)
    lines = [
        "00:00 start of day",
        "11:40 thermometer mast down",
        "12:00 mast up, values suspect until 12:05",
        "20:00 radar stopped: maintenance",
    ]
    group.create_dataset("log", data=np.array(lines, dtype=object), dtype=h5py.string_dtype())


def checksums(file, out):
    def visit(name, node):
        if isinstance(node, h5py.Dataset):
            values = node[()]
            if h5py.check_string_dtype(node.dtype):
                raw = b"".join(line + b"\n" for line in values)
            else:
                raw = np.ascontiguousarray(values.astype(node.dtype)).tobytes()
            out.write(f"{hashlib.sha256(raw).hexdigest()}  {name}\n")

    file.visititems(visit)


def main():
    place = (
        sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "tests", "data")
    )
    path = os.path.join(place, "weather.h5")
    with h5py.File(path, "w", track_order=True) as root:
        attributes(
            root, title="One day of a weather station", Conventions="CF-1.8", version=np.array([1, 2], "<i4")
        )
        made = observations(root)
        radar(root)
        station(root)
        root["surface_temperature"] = made["temperature"]  # a second hard link
        root["latest"] = h5py.SoftLink("/radar/reflectivity")
        root["station/observations"] = h5py.SoftLink("/observations")
        root["root_again"] = root["/"]  # a cycle
        attributes(root, default=root["observations/temperature"].ref)
    with h5py.File(path) as root, open(os.path.join(place, "weather.sha256"), "w") as out:
        checksums(root, out)


main()
