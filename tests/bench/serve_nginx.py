#!/usr/bin/env python3
"""h5mount --serve (and --s3) beside nginx over the copied tree, 64 connections kept alive, alternating in
each round.

    tests/bench/serve_nginx.py H5MOUNT [--rounds N] [--seconds S] [--roofline BUILD/tests/bench/roofline]
    [--only WORD]

Needs Debian's nginx-light, wrk and h5py, and 2 GiB of disk. nginx has as many workers as h5mount has loops,
and sends with sendfile. Prints for each row the median of the rounds: requests (or MB) a second and the
servers' processor time for each request (or MB), and the medians of the rounds' ratios. The client runs on
the same processors, so processor time says more than the clock where other programs run too: the load is
printed with each row.
"""
import argparse, os, resource, signal, statistics, subprocess, sys, tempfile, time

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import h5py, numpy as np

CONNECTIONS = 64
TILE, SIDE = 512, 8192  # elements of 2 bytes: 0.5 MiB a tile, 128 MiB
CACHED, LARGE = 16 << 20, 1 << 30
NGINX = """
worker_processes {workers}; daemon off; user root; pid {place}/nginx.pid; error_log {place}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 100000000; sendfile on; tcp_nopush on;
  default_type application/octet-stream;
  client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;
  uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
  server {{ listen 127.0.0.1:{port}; root {place}/tree; }}
}}
"""
RANGES = """
math.randomseed(7)
request = function()
  local first = math.random(0, {pages}) * 4096
  local range = "bytes=" .. first .. "-" .. first + 4095
  return wrk.format("GET", "{path}", {{["Host"] = "localhost", ["Range"] = range}})
end
"""
TARGETS = """
local n = 0
request = function()
  n = n + 1
  local tile = n % {count}
  local path = string.format("{path}", math.floor(tile / {wide}), tile % {wide})
  return wrk.format("GET", path, {{["Host"] = "localhost"}})
end
"""


def write(path):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset(
            "cached", data=rng.poisson(20, CACHED // 2).astype("<u2"), chunks=(1 << 16,), compression="gzip"
        )
        f.create_dataset(
            "tiles",
            data=rng.poisson(20, (SIDE, SIDE)).astype("<u2"),
            chunks=(TILE, TILE),
            shuffle=True,
            compression="gzip",
        )
        large = f.create_dataset("large", (LARGE,), "u1")
        for begin in range(0, LARGE, 64 << 20):
            large[begin : begin + (64 << 20)] = rng.integers(0, 256, 64 << 20, "u1")


def ticks(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, process, port, prefix=""):
        self.process, self.port, self.prefix = process, port, prefix

    def pids(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [self.process.pid, *map(int, file.read().split())]


def start_ours(program, *words):
    process = subprocess.Popen([program, "--serve", "0", *words], stdout=subprocess.PIPE, text=True)
    return Server(
        process,
        int(process.stdout.readline().strip().rsplit(":", 1)[1].strip("/")),
        "/f.h5" if "--s3" in words else "",
    )


def start_nginx(place, port=18093):
    with open(f"{place}/nginx.conf", "w", encoding="ascii") as file:
        file.write(NGINX.format(place=place, port=port, workers=min(os.cpu_count(), 4)))
    process = subprocess.Popen(["nginx", "-c", f"{place}/nginx.conf"])
    time.sleep(1)
    return Server(process, port)


# Requests and bytes a second, and processor time of the server for each request and byte.
def load(server, path, script, seconds, connections=CONNECTIONS):
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s"]
    if script:
        with open("script.lua", "w", encoding="ascii") as file:
            file.write(script.replace("PREFIX", server.prefix))
        words += ["-s", "script.lua"]
    before = ticks(server.pids())
    said = subprocess.run(
        [*words, f"http://127.0.0.1:{server.port}{server.prefix}{path}"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    used = ticks(server.pids()) - before
    # Answers that took longer than wrk's 2 seconds are answers.
    assert "Non-2xx" not in said and (
        "Socket errors" not in said or "connect 0, read 0, write 0," in said
    ), said
    line = next(line for line in said.splitlines() if " requests in " in line).replace(",", "").split()
    units = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
    unit = next(u for u in ("KB", "MB", "GB", "B") if line[4].endswith(u))
    count, bytes_read, time_taken = (
        int(line[0]),
        float(line[4][: -len(unit)]) * units[unit],
        float(line[3].rstrip("s")),
    )
    return {
        "requests": count / time_taken,
        "MB": bytes_read / 1e6 / time_taken,
        "us a request": used / max(count, 1) * 1e6,
        "ms a MB": used / (bytes_read / 1e6) * 1e3,
    }


def row(name, ours, theirs, path, other_path, script, rounds, seconds, by):
    rate, cost = ("requests", "us a request") if by == "requests" else ("MB", "ms a MB")
    got, other = [], []
    for number in range(rounds):
        order = [(ours, path, got), (theirs, other_path, other)]
        for server, at, out in order if number % 2 == 0 else order[::-1]:
            out.append(load(server, at, script and script.replace("PATH", at), seconds))
    median = lambda runs, what: statistics.median(run[what] for run in runs)
    ratio = lambda what: statistics.median(a[what] / b[what] for a, b in zip(got, other))
    print(
        (
            f"{name}: {median(got, rate):.0f} {rate}/s at {median(got, cost):.3g} {cost}; nginx"
            f" {median(other, rate):.0f} at {median(other, cost):.3g}; ratio {ratio(rate):.2f}, processor"
            f" time {ratio(cost):.2f}; load {os.getloadavg()[0]:.1f}"
        ),
        flush=True,
    )


# Processor time of nginx and curl for the same bytes as a file: what passing them costs a server that has
# nothing to decode.
def passing(nginx, times=10):
    before = ticks(nginx.pids()) + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    for _ in range(times):
        subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{nginx.port}/tiles"], check=True)
    return (ticks(nginx.pids()) + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before) / times


# The decoder keeps all processors busy; what passes the bytes, and the client that takes them, need them too.
def tiles_beside_roofline(program, roofline, place, nginx, rounds):
    served, decoder, bound = [], [], []
    for _ in range(rounds):
        said = subprocess.run(
            [roofline, f"{place}/f.h5", "tiles"], check=True, stdout=subprocess.PIPE, text=True
        ).stdout.split()
        decoder.append(float(said[0]))
        bound.append(decoder[-1] + passing(nginx) / os.cpu_count())
        server = start_ours(program, "-o", "cache_size=256M", f"{place}/f.h5")  # its first read decodes
        begin = time.monotonic()
        subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{server.port}/tiles"], check=True)
        served.append(time.monotonic() - begin)
        server.process.terminate()
        server.process.wait()
    size = SIDE * SIDE * 2 / 1e6
    ratio = lambda times: statistics.median(t / s for t, s in zip(times, served))
    print(
        (
            f"deflated tiles whole, one client: {size / statistics.median(served):.0f} MB/s; the decoder"
            f" alone {size / statistics.median(decoder):.0f}, ratio {ratio(decoder):.2f}; with the processor"
            f" time of passing them {size / statistics.median(bound):.0f}, ratio {ratio(bound):.2f}; load"
            f" {os.getloadavg()[0]:.1f}"
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--roofline")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    roofline = given.roofline and os.path.abspath(given.roofline)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as place:
        os.chdir(place)
        write(f"{place}/f.h5")
        subprocess.run([program, "--copy", f"{place}/f.h5", "/", f"{place}/tree"], check=True)
        subprocess.run(
            [program, "--copy", f"{place}/f.h5", "/.h5/plain.zarr/tiles", f"{place}/tree/zarr"], check=True
        )
        ours, buckets, nginx = (
            start_ours(program, f"{place}/f.h5"),
            start_ours(program, "--s3", f"{place}/f.h5"),
            start_nginx(place),
        )
        pages = lambda size: RANGES.format(pages=size // 4096 - 1, path="PREFIXPATH")
        wide = SIDE // TILE
        tiles = TARGETS.format(count=wide * wide, wide=wide, path="PREFIXPATH%d.%d")
        rows = [
            ("4 KiB ranges of cached data", "/cached", "/cached", pages(CACHED), "requests"),
            ("4 KiB ranges of contiguous data", "/large", "/large", pages(LARGE), "requests"),
            ("1 GiB of contiguous data", "/large", "/large", None, "MB"),
            ("deflated tiles as chunks of a store, cached", "/.h5/plain.zarr/tiles/", "/zarr/", tiles, "MB"),
        ]
        try:
            for name, path, other, script, by in rows:
                if given.only not in name:
                    continue
                for server, shown in ((ours, name), (buckets, name + ", --s3")):
                    load(server, path, script and script.replace("PATH", path), 1)  # warm
                    row(shown, server, nginx, path, other, script, given.rounds, given.seconds, by)
            if roofline and given.only in "deflated tiles whole":
                tiles_beside_roofline(program, roofline, place, nginx, given.rounds)
        finally:
            for server in (ours, buckets, nginx):
                server.process.send_signal(signal.SIGINT if server is not nginx else signal.SIGTERM)
                server.process.wait(60)


if __name__ == "__main__":  # serve_s3.py imports it
    main()
