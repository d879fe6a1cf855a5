#!/usr/bin/python3
"""The mean of a 512 MiB dataset by a dask cluster of two worker processes, by hand: dask_mean.py H5MOUNT

Once through xarray from /.h5/plain.zarr and /.h5/stored.zarr of a mount, once by dask over h5py (whose tasks open
the file themselves, as h5py's objects cannot be sent to another process), in turn, and compares the results. Needs
python3-distributed."""

import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

os.environ['HDF5_USE_FILE_LOCKING'] = 'FALSE'
ROWS, COLUMNS, CHUNK = 8192, 8192, (512, 1024)
ROUNDS = 3


def make(path):
    random = np.random.default_rng(14)
    with h5py.File(path, 'w') as f:
        d = f.create_dataset('d', (ROWS, COLUMNS), 'f8', chunks=CHUNK, compression='gzip', compression_opts=4, shuffle=True)
        for row in range(0, ROWS, CHUNK[0]):
            d[row:row + CHUNK[0]] = random.integers(0, 1000, (CHUNK[0], COLUMNS))


def block_of(path, row, column):
    with h5py.File(path, 'r') as f:
        return f['d'][row:row + CHUNK[0], column:column + CHUNK[1]]


def main():
    import dask
    import dask.array
    import xarray
    from distributed import Client, LocalCluster

    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        file, mount = place + '/f.h5', place + '/m'
        os.mkdir(mount)
        make(file)
        subprocess.run([program, file, mount], check=True)
        try:
            with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, \
                    Client(cluster):
                def by_zarr(store):
                    data = xarray.open_zarr(f'{mount}/.h5/{store}', consolidated=True)
                    return float(data['d'].mean().compute())

                def by_h5py():
                    blocks = [[dask.array.from_delayed(dask.delayed(block_of)(file, row, column), CHUNK, 'f8')
                               for column in range(0, COLUMNS, CHUNK[1])] for row in range(0, ROWS, CHUNK[0])]
                    return float(dask.array.block(blocks).mean().compute())

                ways = {'plain.zarr': lambda: by_zarr('plain.zarr'), 'stored.zarr': lambda: by_zarr('stored.zarr'),
                        'h5py': by_h5py}
                seconds = {name: [] for name in ways}
                means = set()
                for _ in range(ROUNDS):
                    for name, way in ways.items():
                        begin = time.monotonic()
                        means.add(way())
                        seconds[name].append(time.monotonic() - begin)
        finally:
            subprocess.run(['umount', mount], check=True)
    for name, taken in seconds.items():
        print(f'{name:12} {np.median(taken):.2f} s')
    print('equal' if len(means) == 1 else f'different: {means}')
    return len(means) != 1


if __name__ == '__main__':
    sys.exit(main())
