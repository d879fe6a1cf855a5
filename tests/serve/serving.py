"""A server of files that is the program itself, and requests over a library that mends nothing."""
import http.client
import json
import os
import signal
import subprocess
import time
import urllib.parse

import h5py
import numpy as np

from support.program import H5MOUNT, ProgramTest, run

SETTLES = 0.1  # seconds; until then the tags of a file that was written just now change with every answer


def settle(name):
    """Waits until no file of that name, or below it, was written just now."""
    names = [os.path.join(place, one) for place, _, files in os.walk(name) for one in files] or [name]
    written = max(os.stat(one).st_mtime for one in names if os.path.exists(one))
    time.sleep(max(0, min(written + SETTLES - time.time(), SETTLES)))


class Serve:
    before = ()  # words of a program that starts the server

    def __init__(self, *words):
        for word in words:
            if os.path.exists(word):
                settle(word)
        with open("serve.err", "w") as said:
            self.process = subprocess.Popen(
                [*self.before, H5MOUNT, "--serve", "0", *words],
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), open("serve.err").read()
        self.host, self.port = self.url[7:].split("/")[0].rsplit(":", 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.stdout.close()
        return self.process.wait(60)

    def processor_seconds(self):
        """What the server has used of processors until now: other programs have no part in it."""
        clock = ~self.process.pid << 3 | 2  # clock_getcpuclockid(3)
        return time.clock_gettime(clock)

    def request(self, method, target, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=60)
        connection.request(method, target, headers={k.replace("_", "-"): v for k, v in fields.items()})
        answer = connection.getresponse()
        answer.data = answer.read()
        return answer

    def get(self, target, **fields):
        return self.request("GET", target, **fields)

    def json(self, target):
        return json.loads(self.get(target).data)

    def location(self, target):
        """Where a redirect leads; it is relative, so that it is right below any directory of a proxy."""
        answer = self.get(target)
        assert answer.status == 307, (target, answer.status)
        to = answer.headers["Location"]
        assert to.startswith("."), to
        there = [urllib.parse.urljoin("http://h%s%s" % (above, target), to) for above in ("", "/proxy/h5")]
        assert there[1] == there[0].replace("http://h", "http://h/proxy/h5"), (target, to)
        return there[0].removeprefix("http://h")


def write_example():
    with h5py.File("f.h5", "w") as f:
        f.attrs["title"] = "root"
        f["x"] = np.arange(1000, dtype="<i4")
        f["x"].attrs["units"] = "K"
        f["group/image"] = np.arange(60, dtype="<f4").reshape(6, 10)
        f["group"].attrs["note"] = "<b>"
        f["group/root_again"] = f["/"]
        f["names"] = ["one", 'two,"2"', "<script>"]
        f["soft"] = h5py.SoftLink("/group")
        f["to_x"] = h5py.SoftLink("/x")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["empty"] = np.zeros(0)
        f.create_dataset("deflated", data=np.arange(100000) % 7, chunks=(1000,), compression="gzip")


class ServeTest(ProgramTest):
    def setUp(self):
        if "built without libmicrohttpd" in run(H5MOUNT, "--serve", "0", "missing").stderr:
            self.skipTest("built without libmicrohttpd")
        super().setUp()
