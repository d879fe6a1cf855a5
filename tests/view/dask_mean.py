#!/usr/bin/python3
"""The mean of a 512 MiB dataset by a dask cluster of worker processes, by hand: dask_mean.py H5MOUNT
[WORKERS]

Once through xarray from /.h5/plain.zarr and /.h5/stored.zarr of a mount, once from plain.zarr over S3, of one
server and of a server for each worker, once by dask over h5py (whose tasks open the file themselves, as
h5py's objects cannot be sent to another process), in turn, and compares the results. Needs
python3-distributed and python3-boto3."""

import collections.abc

import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
ROWS, COLUMNS, CHUNK = 8192, 8192, (512, 1024)
ROUNDS = 3


def make(path, rows=ROWS):
    random = np.random.default_rng(14)
    with h5py.File(path, "w") as f:
        d = f.create_dataset(
            "d", (rows, COLUMNS), "f8", chunks=CHUNK, compression="gzip", compression_opts=4, shuffle=True
        )
        for row in range(0, rows, CHUNK[0]):
            d[row : row + CHUNK[0]] = random.integers(0, 1000, (CHUNK[0], COLUMNS))


def number_of_worker():
    from distributed import get_worker

    try:
        return int(get_worker().name)
    except ValueError:  # no worker
        return 0


class Store(collections.abc.MutableMapping):
    """Objects below a prefix; each process has a client of its own, and takes one of the servers."""

    def __init__(self, ports, prefix):
        self.ports, self.prefix, self.made = ports, prefix, None

    def __getstate__(self):
        return self.ports, self.prefix

    def __setstate__(self, state):
        self.__init__(*state)

    @property
    def client(self):
        if not self.made:
            import boto3
            import botocore.config

            config = botocore.config.Config(
                s3={"addressing_style": "path"}, signature_version=botocore.UNSIGNED
            )
            port = self.ports[number_of_worker() % len(self.ports)]
            self.made = boto3.client(
                "s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", config=config
            )
        return self.made

    def __getitem__(self, key):
        try:
            return self.client.get_object(Bucket="f.h5", Key=self.prefix + key)["Body"].read()
        except self.client.exceptions.NoSuchKey as error:
            raise KeyError(key) from error

    def __iter__(self):
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket="f.h5", Prefix=self.prefix):
            for found in page.get("Contents", []):
                yield found["Key"][len(self.prefix) :]

    def __len__(self):
        return sum(1 for _ in self)

    def __setitem__(self, key, value):
        raise OSError("read-only")

    __delitem__ = __setitem__


def serve(program, file):
    process = subprocess.Popen([program, "--serve", "0", "--s3", file], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline().strip().rsplit(":", 1)[1].strip("/"))


def block_of(path, row, column):
    with h5py.File(path, "r") as f:
        return f["d"][row : row + CHUNK[0], column : column + CHUNK[1]]


def main():
    import dask
    import dask.array
    import xarray
    from distributed import Client, LocalCluster

    program = os.path.abspath(sys.argv[1])
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory() as place:
        file, mount = place + "/f.h5", place + "/m"
        os.mkdir(mount)
        make(file)
        subprocess.run([program, file, mount], check=True)
        servers = [serve(program, file) for _ in range(workers)]
        ports = [port for _, port in servers]
        try:
            with LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster, Client(cluster):

                def by_zarr(store):
                    data = xarray.open_zarr(f"{mount}/.h5/{store}", consolidated=True)
                    return float(data["d"].mean().compute())

                def by_s3(ports):
                    return float(dask.array.from_zarr(Store(ports, ".h5/plain.zarr/d/")).mean().compute())

                def by_h5py():
                    blocks = [
                        [
                            dask.array.from_delayed(dask.delayed(block_of)(file, row, column), CHUNK, "f8")
                            for column in range(0, COLUMNS, CHUNK[1])
                        ]
                        for row in range(0, rows, CHUNK[0])
                    ]
                    return float(dask.array.block(blocks).mean().compute())

                ways = {
                    "plain.zarr": lambda: by_zarr("plain.zarr"),
                    "stored.zarr": lambda: by_zarr("stored.zarr"),
                    "S3, one server": lambda: by_s3(ports[:1]),
                    "S3, one each": lambda: by_s3(ports),
                    "h5py": by_h5py,
                }
                seconds = {name: [] for name in ways}
                means = set()
                for _ in range(ROUNDS):
                    for name, way in ways.items():
                        begin = time.monotonic()
                        means.add(way())
                        seconds[name].append(time.monotonic() - begin)
        finally:
            subprocess.run(["umount", mount], check=True)
            for process, _ in servers:
                process.terminate()
    for name, taken in seconds.items():
        print(f"{name:14} {np.median(taken):.2f} s")
    print("equal" if len(means) == 1 else f"different: {means}")
    return len(means) != 1


if __name__ == "__main__":
    sys.exit(main())
