"""A server that fails while something is looked at for the first time, and is well afterwards."""
import errno
import os
import subprocess
import sys
import unittest
import urllib.request

import h5py
import numpy as np

from support.program import H5MOUNT, ProgramTest, terminate, until

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "far_server.py")

# What the server does, so often that all tries of a request meet it.
FAULTS = {
    "500": "fail=99:500",
    "503": "fail=99:503",
    "429": "fail=99:429",
    "no body": "reset=99:0",
    "a reset in the body": "reset=99:1000",
    "silence": "silent=99",
    "another range": "shifted",
    "too much": "long",
}


class MomentaryServer(ProgramTest):
    seconds = 400

    def setUp(self):
        super().setUp()
        with h5py.File("far.h5", "w", libver="latest") as f:
            f["first"] = np.arange(400_000)  # more than what is fetched at once
            for fault in range(len(FAULTS)):
                group = f.create_group("g%d" % fault)
                f["space%d" % fault] = np.zeros(400_000)
                group["numbers"] = np.arange(50_000)
                group["text"] = np.array(["row %d" % i for i in range(3000)], h5py.string_dtype())
                group.create_group("below")["d"] = 7
                group["below"].attrs["unit"] = "m"
                f["after%d" % fault] = np.zeros(400_000)
        self.server = subprocess.Popen([sys.executable, SERVER, "."], stdout=subprocess.PIPE, text=True)
        self.addCleanup(terminate, self.server)
        self.url = "http://127.0.0.1:%d" % int(self.server.stdout.readline())

    def set(self, faults=""):
        urllib.request.urlopen(self.url + "/.set?" + faults).close()

    def mount(self):
        os.makedirs("m", exist_ok=True)
        process = subprocess.Popen([H5MOUNT, "-f", "-o", "timeout=1", self.url + "/far.h5", "m"])
        self.addCleanup(terminate, process)
        until(lambda: os.path.ismount("m"), "a mount")
        return process

    def fails(self, fault, step):
        """Whether a step fails by it, as a read that gets no answer does."""
        self.set(fault)
        try:
            step()
        except OSError as error:
            assert error.errno in (errno.EIO, errno.ETIMEDOUT), (fault, error)
            return True
        finally:
            self.set()
        return False

    def check_right(self, group):
        assert sorted(os.listdir(group)) == ["below", "numbers", "text"], group
        assert np.array_equal(np.fromfile(group + "/numbers", "i8"), np.arange(50_000))
        assert open(group + "/text").read() == "".join("row %d\n" % i for i in range(3000))
        assert np.fromfile(group + "/below/d", "i8") == [7]
        assert os.getxattr(group + "/below", "user.unit") == b"m"
        for name in ("", "/numbers", "/text", "/below"):
            assert "user.hdf5.error" not in os.listxattr(group + name), name
            assert os.stat(group + name).st_mode & 0o444, name

    def test_what_is_looked_at_meanwhile_is_there_afterwards(self):
        failed = 0
        for number, fault in enumerate(FAULTS.values()):
            process = self.mount()
            group = "m/g%d" % number
            for step in (
                lambda: os.stat(group),
                lambda: os.listdir(group),
                lambda: os.stat(group + "/text").st_size,
                lambda: os.stat(group + "/below/d"),
                lambda: os.getxattr(group + "/below", "user.unit"),
                lambda: open(group + "/numbers", "rb").read(8),
                lambda: open(group + "/text", "rb").read(8),
            ):
                failed += self.fails(fault, step)
                until(lambda: step() is not False, "an answer after " + fault)
            self.check_right(group)
            terminate(process)
        assert failed >= 2 * len(FAULTS), failed

    def test_a_name_is_not_missing_afterwards(self):
        for number, fault in enumerate(("fail=99:503", "silent=99", "reset=99:0")):
            process = self.mount()
            path = "m/g%d/numbers" % number
            assert self.fails(fault, lambda: os.stat(path)), fault
            until(lambda: os.stat(path).st_size == 400_000, path)
            terminate(process)

    def test_descriptions_that_are_served_are_whole_afterwards(self):
        server = subprocess.Popen(
            [H5MOUNT, "--serve", "0", "-o", "timeout=2", self.url + "/far.h5"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(terminate, server)
        served = server.stdout.readline().strip().rstrip("/")
        for number, fault in enumerate(("fail=99:503", "silent=99", "reset=99:0")):
            target = "%s/api/meta/?path=/g%d" % (served, number)
            self.set(fault)
            try:
                with urllib.request.urlopen(target) as answer:
                    assert b'"error"' not in answer.read(), "an error that a client would keep"
            except urllib.error.HTTPError as error:
                assert error.code >= 500, error
            self.set()
            with urllib.request.urlopen(target) as answer:
                text = answer.read()
            assert b'"error"' not in text and b'"numbers"' in text and b'"shape"' in text, text


if __name__ == "__main__":
    unittest.main()
