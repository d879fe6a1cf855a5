#!/usr/bin/env python3
"""The rate at which far datasets are read whole, beside curl's of the same ranges.

    far_rates.py H5MOUNT [--mib 512] [--delay 0.08] [--rate 25] [--rounds 3] [--only NAME…] [--directory DIR]

A server of its own answers each request after a delay, and gives each connection so many MB a second. In each
round a dataset is read by --cat and through a mount; then curl fetches the ranges that --cat had asked for,
sixteen side by side. Prints seconds, and curl's time divided by h5mount's, medians of the rounds.
"""
import argparse, os, statistics, subprocess, tempfile, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import h5py
import numpy as np

PIECE = 64 << 10


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        began = time.monotonic()
        path = os.path.join(server.directory, self.path.lstrip("/"))
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            first, last = self.headers["Range"].split("=")[1].split("-")
            begin, end = int(first), min(int(last) + 1, size)
            with server.lock:
                server.ranges.append((begin, end))
                server.spans.append([began, None, end - begin])
                span = server.spans[-1]
            time.sleep(max(0, began + server.delay - time.monotonic()))
            self.send_response(206)
            self.send_header("Content-Length", str(end - begin))
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.send_header("ETag", f'"{size}"')
            self.end_headers()
            try:
                self.send(file, begin, end)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
        span[1] = time.monotonic()

    def send(self, file, begin, end):
        """Never ahead of the rate by more than a piece."""
        out, start, at = self.connection.fileno(), time.monotonic(), begin
        while at < end:
            due = start + (at - begin) / self.server.rate
            wait = due - time.monotonic()
            if wait > 0.002:
                time.sleep(wait)
            at += os.sendfile(out, file.fileno(), at, min(4 * PIECE, end - at))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, directory, delay, rate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.directory, self.delay, self.rate = directory, delay, rate
        self.lock = threading.Lock()
        self.forget()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def forget(self):
        self.ranges, self.spans = [], []

    def url(self, name):
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def handle_error(self, *_):
        pass


def in_flight(spans):
    """The mean number of requests under way between the first and the last one."""
    begin, end = min(s[0] for s in spans), max(s[1] for s in spans)
    return sum(s[1] - s[0] for s in spans) / (end - begin)


def noise(count, seed, distinct):
    """float32 of which deflate leaves about a half: `distinct` random bytes of four."""
    raw = np.random.default_rng(seed).integers(0, 256, (count, 4), "u1")
    raw[:, distinct:] = 64
    return raw.view("<f4").reshape(count)


def make(path, kind, mib):
    count = mib << 18
    with h5py.File(path, "w", libver="latest" if "v2" in kind else "earliest") as file:
        if kind == "contiguous":
            data = file.create_dataset("d", (count,), "<f4")
        elif kind.startswith("chunks"):
            data = file.create_dataset("d", (count,), "<f4", chunks=(1 << 18,))
        elif kind.startswith("small"):
            data = file.create_dataset(
                "d",
                (count,),
                "<f4",
                chunks=(1 << 14,),
                compression="gzip",
                compression_opts=1,
                maxshape=(None,),
            )
        elif kind.startswith("tiles"):
            data = file.create_dataset("d", (count >> 12, 1 << 12), "<f4", chunks=(256, 256))
        elif kind.startswith("deflate"):
            data = file.create_dataset(
                "d", (count,), "<f4", chunks=(1 << 18,), compression="gzip", compression_opts=1
            )
        step = 1 << 20
        for i, at in enumerate(range(0, count, step)):
            part = noise(step, i % 7, 2 if data.compression else 4)
            if data.ndim == 1:
                data[at : at + step] = part
            else:
                data[at >> 12 : (at + step) >> 12] = part.reshape(-1, 1 << 12)


def timed(command):
    begin = time.monotonic()
    subprocess.run(command, shell=True, check=True)
    return time.monotonic() - begin


def curl_time(server, name, ranges, place):
    config = os.path.join(place, "curl.config")
    with open(config, "w") as file:
        file.write(
            "next\n".join(
                f'url = "{server.url(name)}"\nrange = "{begin}-{end - 1}"\noutput = "/dev/null"\n'
                for begin, end in ranges
            )
        )
    return timed(f"curl -s --parallel --parallel-max 16 --config {config} 2> /dev/null")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("h5mount")
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--delay", type=float, default=0.08)
    parser.add_argument("--rate", type=float, default=25)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument(
        "--directory", default=os.path.join(os.environ.get("TMPDIR", "/var/tmp"), "h5mount-bench")
    )
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    server = Server(args.directory, args.delay, args.rate * 1e6)
    for kind in args.only or ["contiguous", "chunks", "tiles", "deflate", "small"]:
        name = f"{kind}-{args.mib}.h5"
        path = os.path.join(args.directory, name)
        if not os.path.exists(path):
            make(path, kind, args.mib)
        rows = {"cat": [], "mount": []}
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            for _ in range(args.rounds):
                for way in rows:
                    server.forget()
                    if way == "cat":
                        seconds = timed(f"{args.h5mount} --cat {server.url(name)} d > /dev/null")
                    else:
                        point = os.path.join(place, "m")
                        os.makedirs(point, exist_ok=True)
                        subprocess.run([args.h5mount, server.url(name), point], check=True)
                        try:
                            seconds = timed(f"cat {point}/d > /dev/null")
                        finally:
                            subprocess.run(["umount", point], check=True)
                    time.sleep(0.3)
                    ranges, spans = list(server.ranges), [s for s in server.spans if s[1]]
                    flight = in_flight(spans)
                    sizes = [e - b for b, e in ranges]
                    server.forget()
                    base = curl_time(server, name, ranges, place)
                    curl_spans = [s for s in server.spans if s[1]]
                    rows[way].append(
                        (
                            base / seconds,
                            seconds,
                            base,
                            flight,
                            in_flight(curl_spans),
                            len(ranges),
                            statistics.median(sizes),
                            sum(sizes),
                        )
                    )
        for way, found in rows.items():
            ratio, seconds, base, flight, curl_flight, count, size, total = [
                statistics.median(c) for c in zip(*found)
            ]
            print(
                (
                    f"{kind:12} {way:6} {ratio:5.2f} ({seconds:.2f} s, curl {base:.2f} s), under way"
                    f" {flight:.1f}, curl {curl_flight:.1f}; {count:.0f} requests, median"
                    f" {size / 2**20:.2f} MiB, {total / 2**20:.0f} MiB"
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
