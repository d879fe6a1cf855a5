#!/usr/bin/env python3
"""h5mount --serve --s3 beside other servers of S3 and nginx that have the same bytes, alternating in each
round.

    tests/bench/serve_s3.py [radosgw] [s3rver] H5MOUNT [--rounds N] [--seconds S]

Objects are public, so that nobody signs. radosgw's lie in memory. Needs wrk, nginx-light, h5py and boto3, and
what scripts/check_s3_servers.py needs for each server. Prints for each row the medians of the rounds:
requests (or MB) a second, the processor time of all processes of the server for each, and h5mount's rate
divided by the other's in the same round.
"""
import argparse, os, statistics, sys, tempfile

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import contextlib, signal
import h5py, numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "remote"))
from s3_servers import SERVERS
from serve_nginx import RANGES, load, start_nginx, start_ours

CACHED, LARGE = 16 << 20, 64 << 20
PAGES = RANGES.format(pages=CACHED // 4096 - 1, path="PREFIX/cached")
ROWS = (
    (
        "4 KiB ranges of 16 MiB of deflated data, 64 connections",
        "/cached",
        PAGES,
        64,
        "requests",
        "us a request",
    ),
    ("an object of 64 MiB, 8 connections", "/large", None, 8, "MB", "ms a MB"),
)


def write(path):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset(
            "cached", data=rng.poisson(20, CACHED // 2).astype("<u2"), chunks=(1 << 16,), compression="gzip"
        )
        f["large"] = rng.integers(0, 256, LARGE, "u1")


def fill(server, path):
    client = server.client()
    client.create_bucket(Bucket="measured")
    with h5py.File(path) as f:
        for name in f:
            client.put_object(Bucket="measured", Key=name, Body=f[name][()].tobytes(), ACL="public-read")
    server.port, server.prefix = server.url.rsplit(":", 1)[1], "/measured"


def measure(servers, rounds, seconds):
    for name, path, script, connections, rate, cost in ROWS:
        runs = {server: [] for server in servers}
        for server in servers:
            load(server, path, script, 1, connections)  # warm
        for number in range(rounds):
            for server in servers if number % 2 == 0 else servers[::-1]:
                runs[server].append(load(server, path, script, seconds, connections))
        ours = runs[servers[0]]
        print(f"{name}; load {os.getloadavg()[0]:.1f}")
        for server, found in runs.items():
            median = lambda what: statistics.median(run[what] for run in found)
            ratio = lambda what: statistics.median(one[what] / other[what] for one, other in zip(ours, found))
            print(
                (
                    f"  {server.name}: {median(rate):.0f} {rate}/s at {median(cost):.3g} {cost}; h5mount/this"
                    f" {ratio(rate):.2f}, processor time {ratio(cost):.3f}"
                ),
                flush=True,
            )


def main():
    words = sys.argv[1:]
    chosen = [words.pop(0) for _ in SERVERS if words and words[0] in SERVERS] or list(SERVERS)
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(
        dir=os.environ.get("TMPDIR", "/var/tmp")
    ) as place, contextlib.ExitStack() as ends:
        program = os.path.abspath(given.program)
        path = f"{place}/f.h5"
        write(path)
        others = []
        for name in chosen:
            others.append(ends.enter_context(SERVERS[name]()))
            fill(others[-1], path)
            print(others[-1].version(), flush=True)
        os.chdir(place)
        ends.callback(os.chdir, "/")
        os.mkdir("tree")
        with h5py.File(path) as f:
            for name in f:
                f[name][()].tofile(f"tree/{name}")
        beside = []
        for name, start in (
            ("h5mount", lambda: start_ours(program, "--s3", path)),
            ("nginx", lambda: start_nginx(place)),
        ):
            beside.append(start())
            beside[-1].name = name
            ends.callback(beside[-1].process.wait)
            ends.callback(beside[-1].process.terminate)
        measure([*beside, *others], given.rounds, given.seconds)


main()
