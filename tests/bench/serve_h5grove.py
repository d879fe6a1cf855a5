#!/usr/bin/env python3
"""The interface below /api/ beside h5grove under Flask and gunicorn with two workers, one after the other in
each round.

    H5GROVE=DIRECTORY tests/bench/serve_h5grove.py H5MOUNT [ROUNDS]

DIRECTORY holds h5grove's package (`src` of its repository); it needs Debian's h5py, Flask, gunicorn and
tifffile. Where there is no orjson, Python's json is in its place. Prints the median of each row's rounds,
their ratio, and the processor time that an answer took. Two servers of h5mount are asked: one with a cache
that is smaller than what is asked for, so that it decodes as often as h5grove does, and one as it is by
default.
"""
import http.client, os, statistics, subprocess, sys, tempfile, threading, time

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import h5py, numpy as np

APP = """
import json, math, os, sys, types
os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
try:
    import orjson
except ImportError:
    import numpy as np
    def plain(value):
        if isinstance(value, np.generic): value = value.item()
        if isinstance(value, float): return value if math.isfinite(value) else None
        if isinstance(value, dict): return {key: plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)): return [plain(item) for item in value]
        return value
    orjson = sys.modules["orjson"] = types.ModuleType("orjson")
    orjson.OPT_SERIALIZE_NUMPY = 16
    orjson.dumps = lambda value, default=None, option=0: json.dumps(plain(value), default=default).encode()
sys.path.insert(0, os.environ["H5GROVE"])
from flask import Flask
from h5grove.flask_utils import BLUEPRINT
app = Flask("h5grove")
app.config["H5_BASE_DIR"] = os.environ["PLACE"]
app.register_blueprint(BLUEPRINT, url_prefix="/api")
"""
CLIENTS = 2
SECONDS = 3.0


def write(path):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w", libver="latest") as f:
        group = f.create_group("group")
        for i in range(1000):
            child = group.create_dataset(f"child{i:04}", data=np.arange(4))
            child.attrs["units"] = "K"
        frames = f.create_dataset(
            "frames", (16, 2048, 2048), "<u2", chunks=(1, 256, 2048), compression="gzip", compression_opts=4
        )
        for i in range(16):
            frames[i] = rng.poisson(20, (2048, 2048))
        f.create_dataset(
            "large",
            data=rng.poisson(20, (4096, 4096)).astype("<f8"),
            chunks=(128, 4096),
            compression="gzip",
            compression_opts=4,
        )


# How many answers clients got that ask as fast as they can, and how many a second. `targets`: asked for in
# turn.
def rate(port, targets):
    counts, end = [0] * CLIENTS, time.monotonic() + SECONDS

    def ask(number):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while time.monotonic() < end:
            connection.request("GET", targets[(counts[number] * CLIENTS + number) % len(targets)])
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200 and body, answer.status
            counts[number] += 1
            if answer.will_close:
                connection.close()

    begin = time.monotonic()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts), sum(counts) / (time.monotonic() - begin)


def processor_seconds(pid):
    """Of a process and its children."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(
        map(processor_seconds, children)
    )


ROWS = {
    "meta of a group of 1,000 children": ["meta?path=/group"],
    "a deflated frame of 2048 x 2048 as bin": [
        f"data?path=/frames&selection={i}&format=bin&dtype=safe" for i in range(16)
    ],
    "stats of 128 MiB deflated": ["stats?path=/large"],
}


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as place:
        write(f"{place}/f.h5")
        with open(f"{place}/app.py", "w", encoding="ascii") as file:
            file.write(APP)
        ours = [
            subprocess.Popen(
                [sys.argv[1], "--serve", "0", *options, f"{place}/f.h5"], stdout=subprocess.PIPE, text=True
            )
            for options in (["-o", "cache_size=32M"], [])
        ]
        theirs = subprocess.Popen(
            ["gunicorn", "-w", "2", "-b", "127.0.0.1:0", "--chdir", place, "app:app"],
            env={**os.environ, "PLACE": place},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            ports = [int(server.stdout.readline().strip().rsplit(":", 1)[1].strip("/")) for server in ours]
            for line in theirs.stderr:
                if "Listening at" in line:
                    ports.append(int(line.split("127.0.0.1:")[1].split()[0]))
                    break
            time.sleep(2)
            for name, targets in ROWS.items():
                got = [[] for _ in ports]
                for _ in range(rounds):
                    for at, server, rates in zip(ports, [*ours, theirs], got):
                        before = processor_seconds(server.pid)
                        count, rate_of = rate(at, [f"/api/{target}&file=f.h5" for target in targets])
                        rates.append((rate_of, 1000 * (processor_seconds(server.pid) - before) / count))
                decoding, default, there = (tuple(map(statistics.median, zip(*rates))) for rates in got)
                print(
                    f"{name}: h5grove {there[0]:.2f} a second, {there[1]:.2f} ms of processor time",
                    flush=True,
                )
                for what, here in (("decoding each time", decoding), ("by default", default)):
                    print(
                        (
                            f"    {what}: {here[0]:.1f} a second, {here[1]:.2f} ms; ratios"
                            f" {here[0] / there[0]:.1f}, {there[1] / here[1]:.1f}"
                        ),
                        flush=True,
                    )
        finally:
            for server in (*ours, theirs):
                server.terminate()
            for server in (*ours, theirs):
                server.wait(60)


main()
