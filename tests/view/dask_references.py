#!/usr/bin/python3
"""The mean of a dataset by a Dask cluster of two worker processes that read an object of an S3 server, by
hand: dask_references.py H5MOUNT S3RVER, where S3RVER is the program of npm's s3rver

Once by the references that h5mount made of the object, while no h5mount runs; once from stored.zarr of an
h5mount --serve of the same object; once by h5py over fsspec, whose tasks open the object themselves. In turn,
the results compared. Needs python3-distributed, python3-boto3 and python3-aiohttp."""

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import boto3
import dask
import dask.array
import fsspec
import h5py
import numpy as np
import zarr
from botocore.client import Config
from dask_mean import CHUNK, COLUMNS, make
from distributed import Client, LocalCluster

ROWS = 4096
ROUNDS = 5
PORT, SERVE_PORT = 14568, 14569
URL = "http://127.0.0.1:%d/bucket/run.h5" % PORT


def answered(url):
    for _ in range(100):
        try:
            return fsspec.filesystem("http").cat_file(url)
        except Exception:
            time.sleep(0.1)
    raise SystemExit("no answer from " + url)


def of_mapper(mapper):
    array = zarr.open_group(mapper, mode="r")["d"]
    return lambda: float(dask.array.from_zarr(array).mean().compute())


def of_h5py():
    def part(row):
        with fsspec.filesystem("http").open(URL) as file, h5py.File(file, "r") as f:
            return float(np.sum(f["d"][row : row + CHUNK[0]]))

    parts = [dask.delayed(part)(row) for row in range(0, ROWS, CHUNK[0])]
    return lambda: sum(dask.compute(*parts)) / (ROWS * COLUMNS)


def main():
    program, s3rver = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "run.h5")
        make(path, ROWS)
        with h5py.File(path, "r") as f:
            want = float(np.mean(f["d"][()]))
        started = [
            subprocess.Popen([s3rver, "-d", place + "/s3", "-p", str(PORT), "--configure-bucket", "bucket"])
        ]
        try:
            time.sleep(3)
            s3 = boto3.client(
                "s3",
                endpoint_url="http://127.0.0.1:%d" % PORT,
                aws_access_key_id="S3RVER",
                aws_secret_access_key="S3RVER",
                region_name="us-east-1",
                config=Config(s3={"addressing_style": "path"}),
            )
            s3.upload_file(path, "bucket", "run.h5")
            began = time.monotonic()
            made = subprocess.run(
                [program, "--cat", URL, "/.h5/references.json"], capture_output=True, check=True
            )
            print("references: %d bytes in %.2f s" % (len(made.stdout), time.monotonic() - began))
            references = fsspec.get_mapper("reference://", fo=json.loads(made.stdout), remote_protocol="http")
            started.append(subprocess.Popen([program, "--serve", str(SERVE_PORT), URL]))
            answered("http://127.0.0.1:%d/.h5/stored.zarr/.zgroup" % SERVE_PORT)
            served = fsspec.get_mapper("http://127.0.0.1:%d/.h5/stored.zarr" % SERVE_PORT)
            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(
                cluster
            ):
                ways = {"references": of_mapper(references), "--serve": of_mapper(served), "h5py": of_h5py()}
                times = {name: [] for name in ways}
                for _ in range(ROUNDS):
                    for name, mean in ways.items():
                        began = time.monotonic()
                        have = mean()
                        times[name].append(time.monotonic() - began)
                        assert abs(have - want) < 1e-9 * want, (name, have, want)
                for name, seconds in times.items():
                    print("%-12s %.2f s (%.2f to %.2f)" % (name, median(seconds), min(seconds), max(seconds)))
        finally:
            for process in started:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
