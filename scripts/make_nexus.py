#!/usr/bin/python3
"""Writes a measurement in the form that beamlines use: a NeXus master file, two detector files and a motor
file.

    make_nexus.py DIRECTORY          needs h5py

    master.nxs    /entry (NXentry): /entry/data/frames is a virtual dataset over both detector files (module 1
                  above module 2 in every frame, a row of missing pixels between them),
                  /entry/instrument/detector_N and /entry/sample/motors are external links,
                  /entry/data/position is a soft link through one of them
    detector_1.h5, detector_2.h5    /entry/data: chunked, shuffled and deflated 16-bit frames
    motors.h5                       /scan: positions
    expected.sha256                 checksums of files below the mount point of master.nxs, for sha256sum
"""
import argparse, hashlib, os, sys

import h5py
import numpy as np

FRAMES, ROWS, COLUMNS, GAP = 40, 64, 96, 4
MISSING = 65535


def group(parent, name, kind):
    made = parent.create_group(name)
    made.attrs["NX_class"] = kind
    return made


def write_detector(path, number):
    draw = np.random.default_rng(number)
    frames = draw.poisson(3 + number, (FRAMES, ROWS, COLUMNS)).astype("<u2")
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["NX_class"] = "NXroot"
        entry = group(f, "entry", "NXentry")
        data = entry.create_dataset(
            "data",
            data=frames,
            chunks=(1, ROWS, COLUMNS),
            shuffle=True,
            compression="gzip",
            maxshape=(None, ROWS, COLUMNS),
        )
        data.attrs["module"] = number
        data.attrs["units"] = "counts"
    return frames


def write_motors(path):
    with h5py.File(path, "w") as f:
        scan = f.create_group("scan")
        position = scan.create_dataset("position", data=np.linspace(-1.5, 1.5, FRAMES))
        position.attrs["units"] = "mm"
        scan["names"] = ["theta", "two_theta"]
        return position[()]


def write_master(path):
    layout = h5py.VirtualLayout(shape=(FRAMES, 2 * ROWS + GAP, COLUMNS), dtype="<u2")
    for number, first in ((1, 0), (2, ROWS + GAP)):
        source = h5py.VirtualSource(f"detector_{number}.h5", "/entry/data", shape=(FRAMES, ROWS, COLUMNS))
        layout[:, first : first + ROWS, :] = source
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["NX_class"] = "NXroot"
        f.attrs["default"] = "entry"
        entry = group(f, "entry", "NXentry")
        entry["title"] = "two modules, one scan"
        entry["start_time"] = "2026-11-21T01:23:00Z"
        data = group(entry, "data", "NXdata")
        data.attrs["signal"] = "frames"
        data.attrs["axes"] = ["position", ".", "."]
        data.create_virtual_dataset("frames", layout, fillvalue=MISSING)
        data["position"] = h5py.SoftLink("/entry/sample/motors/position")
        instrument = group(entry, "instrument", "NXinstrument")
        for number in (1, 2):
            instrument[f"detector_{number}"] = h5py.ExternalLink(f"detector_{number}.h5", "/entry")
        sample = group(entry, "sample", "NXsample")
        sample["motors"] = h5py.ExternalLink("motors.h5", "/scan")
        sample["mass"] = np.float64(0.25)
        sample["mass"].attrs["units"] = "g"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory")
    directory = parser.parse_args().directory
    os.makedirs(directory, exist_ok=True)
    at = lambda name: os.path.join(directory, name)
    modules = [write_detector(at(f"detector_{n}.h5"), n) for n in (1, 2)]
    position = write_motors(at("motors.h5"))
    write_master(at("master.nxs"))
    gap = np.full((FRAMES, GAP, COLUMNS), MISSING, "<u2")
    expected = {
        "entry/data/frames": np.concatenate([modules[0], gap, modules[1]], axis=1).tobytes(),
        "entry/instrument/detector_1/data": modules[0].tobytes(),
        "entry/instrument/detector_2/data": modules[1].tobytes(),
        "entry/sample/motors/position": position.tobytes(),
        "entry/data/position": position.tobytes(),
        "entry/sample/motors/names": b"theta\ntwo_theta\n",
        "entry/title": b"two modules, one scan\n",
        "entry/sample/mass": np.float64(0.25).tobytes(),
    }
    with open(at("expected.sha256"), "w") as out:
        for path, data in expected.items():
            print(f"{hashlib.sha256(data).hexdigest()}  {path}", file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
