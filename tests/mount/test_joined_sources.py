"""Joined files: sources of every kind, what options do, what is remembered, and how it is told."""
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import unittest

import h5py
import numpy as np

from joined_files import JoinedCase, SRC, days, decoded, h5, nc
from mounting import error, is_mounted, read, unmount
from support.join_oracle import Options
from support.program import FSCK, H5MOUNT, has_namespaces, installed, run, terminate, until

XY = ("time", "x")


def simple(count=4):
    """Files of two steps each; v is the step."""
    for i in range(count):
        values = np.repeat(np.arange(2 * i, 2 * i + 2, dtype="f4"), 3).reshape(2, 3)
        nc("f%d.nc" % i, {"time": days(2 * i, 2 * i + 1), "v": (XY, values, {"units": "K"})})
    return np.repeat(np.arange(2 * count, dtype="f4"), 3).reshape(2 * count, 3)


class JoinedSources(JoinedCase):
    def test_files_and_lists(self):
        """A directory with match=, several files, and a list in its own order."""
        want = simple()
        nc("other.nc4", {"time": days(99), "v": (XY, np.full((1, 3), 99, "f4"), {"units": "K"})})
        self.same(self.joined("time", "match=f*.nc") + "v", want)
        names = [SRC + "f%d.nc" % i for i in (2, 0, 1)]
        self.mnt = self.mount("-o", "join=time", *names)
        self.same(self.mnt + ".h5/joined/v", want[:6])
        with open("list", "w") as file:
            file.write("".join(os.path.abspath(name) + "\n" for name in names))
        for source in ("@list",):
            self.mnt = self.mount("-o", "join=time,join_order=given", source)
            # Not along the axis as it is ordered, but as it was asked for.
            self.same(self.mnt + ".h5/joined/v", want[[4, 5, 0, 1, 2, 3]])

    def test_one_file(self):
        """It is joined with none, and nothing is changed."""
        want = simple(1)
        place = self.joined()
        self.same(place + "v", want)
        self.assertEqual(self.told(place)["files"], 1)
        self.as_the_rules_say(place)

    def test_no_file(self):
        """Nothing can be joined, and it says so."""
        simple(2)
        self.refused(self.joined("depth"))
        self.assertTrue(os.listdir(self.mnt + "f0.nc"))

    def test_attributes(self):
        """Equal ones are kept, others dropped and named; what is no longer true goes; h5py reads them."""
        for i in range(2):
            attrs = {
                "units": "K",
                "note": "n%d" % i,
                "same": np.float32(1.5),
                "actual_range": np.array([i, 1.0]),
            }
            nc(
                "a%d.nc" % i,
                {"time": days(i), "v": (XY, np.full((1, 3), i, "f4"), attrs)},
                attrs={"title": "t", "history": str(i), "time_coverage_start": "2000-01-0%d" % (i + 1)},
            )
        place = self.joined()
        self.assertEqual(self.told(place + "v")["attributes_differ"], ["note"])
        listed = os.listxattr(place + "v")
        self.assertIn(os.getxattr(place + "v", "user.same"), (b"1.5", b"[1.5]"))
        self.assertNotIn("user.note", listed)
        self.assertNotIn("user.actual_range", listed)
        self.assertEqual(os.getxattr(place, "user.title"), b"t")
        for name in ("user.history", "user.time_coverage_start"):
            self.assertNotIn(name, os.listxattr(place))

    def test_large_copies(self):
        """Without the axis: over 64 KiB shape and type are compared, coordinates always whole."""
        large = np.arange(20000, dtype="f8")
        for i in range(2):
            other = large + i
            variables = {"time": days(i), "v": (("time",), np.array([i * 1.0]), {"coordinates": "aux"})}
            variables["big"] = ("x",), other
            variables["aux"] = ("x",), large
            nc("b%d.nc" % i, variables)
        place = self.joined()
        self.same(place + "big", large)
        self.assertFalse(self.told(place + "big")["compared"])
        self.same(place + "aux", large)
        nc(
            "b1.nc",
            {"time": days(1), "v": variables["v"], "big": variables["big"], "aux": (("x",), large + 1)},
        )
        self.refused(self.joined() + "aux", "b0.nc", "b1.nc")

    def test_rows_of_files(self):
        """Each file and variable with what was done to it."""
        for i in range(2):
            attrs = {"scale_factor": (0.5, 0.25)[i], "units": "K"}
            units = ("days since 2000-01-01", "hours since 2000-01-01")[i]
            values = np.array([[1, 2]], "i2")
            nc("r%d.nc" % i, {"time": days((0, 36)[i], units=units), "v": (XY, values, attrs)})
        with open(SRC + "bad.nc", "wb") as file:
            file.write(b"no HDF5")
        place = self.joined()
        rows = self.rows(place)
        names = set("file path position length first packing units converted error".split())
        self.assertEqual({frozenset(row) for row in rows}, {frozenset(names)})
        by_place = {(r["file"], (r["path"] or "").lstrip("/")): r for r in rows}
        self.assertIn("unpacked", by_place["r1.nc", "v"]["converted"])
        self.assertIn("rebased", by_place["r1.nc", "time"]["converted"])
        self.assertEqual(by_place["r1.nc", "time"]["units"], "hours since 2000-01-01")
        self.assertIn("0.25", json.dumps(by_place["r1.nc", "v"]["packing"]))
        self.assertEqual((by_place["r1.nc", "v"]["position"], by_place["r1.nc", "v"]["length"]), (1, 1))
        self.assertTrue(by_place["r0.nc", "v"]["first"] and not by_place["r1.nc", "v"]["first"])
        self.assertIn("bad.nc", self.left_out(place))
        self.assertEqual(read(place + ".h5/files.parquet")[:4], b"PAR1")

    def test_files_without_a_coordinate(self):
        """Positions would shift: a file that cannot be had is never left out in silence."""
        for i in range(3):
            with h5("p%d.h5" % i) as f:
                f["v"] = np.arange(3) + i
        with open(SRC + "p1.h5", "wb") as file:
            file.write(b"no HDF5")
        place = self.joined(":0")
        said = os.getxattr(place, "user.hdf5.error").decode()
        self.assertIn("p1.h5", said)

    def test_it_decodes_what_is_equal(self):
        """Equal packings: raw bytes in the plain views, netCDF4-python's values in decoded/."""
        names = ["d%d.nc" % i for i in range(2)]
        for i, name in enumerate(names):
            attrs = {"scale_factor": 0.5, "_FillValue": np.int16(-1)}
            nc(name, {"time": days(i), "v": (XY, np.array([[i, -1]], "i2"), attrs)})
        place = self.joined()
        self.same(place + "v", np.array([[0, -1], [1, -1]], "i2"))
        have = np.frombuffer(read(place + ".h5/decoded/raw/v"), "f8").reshape(2, 2)
        self.assertEqual(have.tobytes(), decoded(names, "v").tobytes())

    def test_every_view_is_there(self):
        want = simple()
        place = self.joined()
        for view in (
            "npy",
            "csv",
            "parquet",
            "slice",
            "plain.zarr",
            "v3.zarr",
            "metadata.jsonl",
            "decoded",
            "text",
        ):
            self.assertTrue(os.path.exists(place + ".h5/" + view), view)
        lines = read(place + ".h5/metadata.jsonl").splitlines()
        paths = {json.loads(line)["path"] for line in lines}
        self.assertTrue({"/v", "/time"} <= paths, paths)
        text = read(place + ".h5/text/time").decode().split()
        self.assertEqual([float(word) for word in text], list(range(8)))
        self.assertEqual(np.load(place + ".h5/npy/v.npy", mmap_mode="r").tolist(), want.tolist())
        with open(place + ".h5/npy/v.npy", "rb") as file:
            whole = file.read()
            for at in (0, 4096, 4100, len(whole) - 5):
                self.assertEqual(os.pread(file.fileno(), 9, at), whole[at : at + 9])

    def test_it_is_served_over_http(self):
        want = simple()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen([H5MOUNT, "-o", "join=time", "--serve", str(port), "src"])
        self.addCleanup(terminate, server)

        def get(path):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()

        until(lambda: get("/.h5/joined/v")[0] == 200, "served")
        self.assertEqual(get("/.h5/joined/v"), (200, want.tobytes()))
        status, content = get("/.h5/joined/.h5/plain.zarr/.zmetadata")
        self.assertEqual(status, 200)
        self.assertIn("v/.zarray", json.loads(content)["metadata"])

    @unittest.skipUnless(installed("strace"), "no strace")
    def test_what_is_remembered_is_not_opened(self):
        """A later command with the catalogue opens none but the file whose attributes it takes."""
        simple(40)
        words = [
            H5MOUNT,
            "--list",
            "-o",
            "join=time,catalogue=" + os.path.abspath("store"),
            "src",
            "/.h5/joined",
        ]
        opened = []
        for i in range(2):
            said = run("strace", "-f", "-e", "trace=open,openat,openat2", "-o", "trace", *words)
            self.assertEqual(said.returncode, 0, said.stderr)
            lines = read("trace").decode(errors="replace").splitlines()
            opened.append(sum(".nc" in line and "ENOENT" not in line for line in lines))
        self.assertGreaterEqual(opened[0], 40)
        self.assertLessEqual(opened[1], 2)

    def test_a_replaced_file_is_not_remembered(self):
        simple(4)
        options = "catalogue=" + os.path.abspath("store")
        self.joined("time", options)
        before = self.array(self.mnt + ".h5/joined/v")
        unmount(self.mnt)
        nc("f2.nc", {"time": days(4, 5), "v": (XY, np.full((2, 3), 50, "f4"), {"units": "K"})})
        before = before.copy()
        before[4:6] = 50
        self.same(self.joined("time", options) + "v", before)

    @unittest.skipUnless(has_namespaces(), "no namespaces")
    def test_killed_while_it_remembers(self):
        """What a killed mount has left in the catalogue does no harm."""
        want = simple(60)
        options = "join=time,catalogue=" + os.path.abspath("store")
        for pause in (0.0, 0.01, 0.03, 0.1):
            place = self.mount_point()
            process = subprocess.Popen([H5MOUNT, "-f", "-o", options, "src", place])
            until(lambda place=place: is_mounted(place), "mounted")
            reader = subprocess.Popen(["ls", place + ".h5/joined"], stdout=-3, stderr=-3)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
            process.wait()
            reader.wait()
            unmount(place, "-l")
        self.same(self.joined("time", "catalogue=" + os.path.abspath("store")) + "v", want)

    def test_what_is_refused_names_rule_and_option(self):
        """Two files, and the option that would change it."""
        for i in range(2):
            nc("x%d.nc" % i, {"time": days(i), "v": (XY, np.ones((1, 2 + i), "f4"))})
        place = self.joined()
        self.refused(place + "v", "x0.nc", "x1.nc")
        self.assertNotIn("v.npy", os.listdir(place + ".h5/npy"))
        self.assertNotIn("v", os.listdir(place + ".h5/plain.zarr"))
        self.as_the_rules_say(place, Options())

    def test_a_gap_is_filled_or_refused(self):
        """NaN where a file lacks a float variable, unless gaps are refused."""
        nc("a.nc", {"time": days(0), "v": (XY, np.ones((1, 2), "f4")), "w": (XY, np.ones((1, 2), "f4"))})
        nc("b.nc", {"time": days(1), "v": (XY, np.ones((1, 2), "f4"))})
        self.same(self.joined() + "w", np.array([[1, 1], [np.nan, np.nan]], "f4"))
        place = self.joined("time", "join_gap=refuse")
        self.refused(place + "w", "b.nc", "join_gap=fill")
        self.same(place + "v", np.ones((2, 2), "f4"))

    def test_fsck_checks_the_plan_too(self):
        """Each file, and what of them cannot be joined."""
        simple(3)
        ended = run(FSCK, "-o", "join=time", "src")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        nc("f1.nc", {"time": days(2), "v": (XY, np.ones((1, 4), "f4"))})
        with open(SRC + "none.nc", "wb") as f:
            f.write(b"no HDF5")
        ended = run(FSCK, "-o", "join=time", SRC + "f0.nc", SRC + "f1.nc")
        self.assertEqual(ended.returncode, 4)
        ended = run(FSCK, "-o", "join=time", "src")
        self.assertEqual(ended.returncode & 4, 4)
        for words in ("joined:/v: ", "f1.nc", "joined:none.nc: "):
            self.assertIn(words, ended.stdout)
        self.assertEqual(run(FSCK, "-o", "join=time", SRC + "f0.nc").returncode, 8)

    def test_the_status_tells(self):
        simple(3)
        place = self.joined()
        os.listdir(place)
        status = read(self.mnt + ".h5/status").decode()
        lines = "joined_files 3", "joined_variables 3", "joined_headers_read 3", "joined_files_waiting 0"
        for line in lines:
            self.assertIn(line, " ".join(status.split()).replace(":", ""))

    def test_far_below_it_nothing_else_changes(self):
        """The directory's own files are as they are without join=."""
        simple(2)
        self.joined()
        plain = self.mount("src")
        for path in ("f0.nc/v", "f1.nc/time", "f0.nc/.h5/npy/v.npy"):
            self.assertEqual(read(self.mnt + path), read(plain + path))
        self.assertFalse(os.path.exists(plain + ".h5/joined"))
        with h5py.File(SRC + "f0.nc", "r") as f:
            self.assertEqual(read(self.mnt + "f0.nc/v"), f["v"][...].tobytes())
