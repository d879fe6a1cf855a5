"""Makes the benchmarks' files: reproducible, made once, identified by name.

Chunks of the large datasets repeat a few dozen different ones, written as they are stored
(write_direct_chunk), so that making half a gigabyte takes seconds and not minutes; to whoever decodes them
they are all alike.
"""
import os
import zlib

import h5py
import numpy as np

MIB = 1 << 20


class Sizes:
    """The sizes of the files: the full form, on which the promised ratios are measured, and the short one, a
    quarter of it."""

    def __init__(self, short):
        self.contiguous = 256 * MIB if short else 1024 * MIB
        self.tile_rows = 2048 if short else 8192  # of 16,384 float32: 128 or 512 MiB
        self.tile_columns = 16384
        self.tile_bytes = self.tile_rows * self.tile_columns * 4
        self.series_chunks = 16384 if short else 65536  # of 2,048 float32
        self.pencil_rows = 8192 if short else 32768  # of 4,096 float32: 128 or 512 MiB
        self.numbers = 500_000 if short else 4_000_000  # of a table of one column
        self.datasets = 100_000
        self.links = 100_000
        self.chunks = 1_000_000


def smooth(rows, columns, seed):
    """Values like an instrument's: slow waves, some noise, one decimal."""
    noise = np.random.RandomState(seed).normal(0, 0.5, (rows, columns))
    waves = 30 * np.sin(np.arange(columns) / 300 + seed) + 20 * np.cos(np.arange(rows) / 200)[:, None]
    return np.round(1000 + waves + noise, 1).astype("<f4")


def stored(chunk, filtered):
    """The stored chunk: shuffled and deflated, or plain."""
    raw = chunk.tobytes()
    if not filtered:
        return raw
    planes = np.frombuffer(raw, "u1").reshape(-1, chunk.itemsize).T.tobytes()
    return zlib.compress(planes, 6)


def write_chunks(group, name, shape, chunk, filtered, different=48):
    options = dict(shuffle=True, compression=6) if filtered else {}
    data = group.create_dataset(name, shape, "<f4", chunks=chunk, **options)
    rows, columns = (chunk[0], chunk[1]) if len(chunk) > 1 else (1, chunk[0])
    variants = [stored(smooth(rows, columns, seed).reshape(chunk), filtered) for seed in range(different)]
    grid = [range(0, extent, step) for extent, step in zip(shape, chunk)]
    places = [(a,) for a in grid[0]] if len(grid) == 1 else [(a, b) for a in grid[0] for b in grid[1]]
    for i, place in enumerate(places):
        data.id.write_direct_chunk(place, variants[i * 7 % different])


def make_contiguous(path, sizes):
    block = smooth(256, 4096, 1).tobytes()  # 4 MiB
    with h5py.File(path, "w") as file:
        data = file.create_dataset("d", (sizes.contiguous // 4,), "<f4")
        part = np.frombuffer(block, "<f4")
        for i in range(0, len(data), len(part)):
            data[i : i + len(part)] = part


def make_parts(path, sizes):
    """The bytes of make_contiguous in datasets of 8 MiB: 'd0', 'd1', ..."""
    part = np.frombuffer(smooth(256, 4096, 1).tobytes() * 2, "<f4")
    with h5py.File(path, "w") as file:
        for i in range(sizes.contiguous // part.nbytes):
            file["d%d" % i] = part


def make_flat(path, size):
    block = smooth(256, 4096, 1).tobytes()
    with open(path, "wb") as file:
        for _ in range(size // len(block)):
            file.write(block)


def make_plain_directory(path, count):
    os.mkdir(path)
    for i in range(count):
        open(os.path.join(path, "event%06d" % i), "w").close()


def make_tiles(path, sizes, filtered=True):
    with h5py.File(path, "w", libver="latest") as file:
        write_chunks(file, "d", (sizes.tile_rows, sizes.tile_columns), (256, 256), filtered)


def make_four_tiles(path, sizes):
    with h5py.File(path, "w", libver="latest") as file:
        for name in "abcd":
            write_chunks(file, name, (sizes.tile_rows // 4, sizes.tile_columns), (256, 256), True)


def make_large_chunks(path):
    """Two datasets of chunks of 32 MiB, which wait for memory to be decoded in."""
    with h5py.File(path, "w", libver="latest") as file:
        for name in "ab":
            write_chunks(file, name, (2048 * 40, 4096), (2048, 4096), True, different=2)


def make_chunk_sizes(path):
    """Datasets of 32 MiB whose chunks have seven sizes, from 48 KiB to 3 MiB."""
    with h5py.File(path, "w", libver="latest") as file:
        for number in range(7):
            write_chunks(file, f"d{number}", (8 << 20,), (12288 << number,), True, different=4)


def make_series(path, sizes):
    with h5py.File(path, "w", libver="latest") as file:
        write_chunks(file, "d", (sizes.series_chunks * 2048,), (2048,), True)


def make_numbers(path, sizes, kind):
    random = np.random.RandomState(1)
    values = (
        random.normal(size=sizes.numbers)
        if kind == "f8"
        else random.randint(-(10**6), 10**6, sizes.numbers)
    )
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("d", data=values.astype(kind), chunks=(65536,))


def make_pencils(path, sizes):
    with h5py.File(path, "w", libver="latest") as file:
        write_chunks(file, "d", (sizes.pencil_rows, 4096), (sizes.pencil_rows, 8), True, 16)


def make_many_chunks(path, count, libver):
    with h5py.File(path, "w", libver=libver) as file:
        data = file.create_dataset("d", (8 * count,), "<i4", maxshape=(None,), chunks=(8,))
        for i in range(0, 8 * count, 1 << 16):
            data[i : i + (1 << 16)] = np.arange(i, min(8 * count, i + (1 << 16)), dtype="<i4")


def add_datasets(group, names, first):
    space, kind = h5py.h5s.create_simple((4,)), h5py.h5t.STD_I32LE
    for i, name in enumerate(names):
        made = h5py.h5d.create(group.id, name, kind, space)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(first + i, first + i + 4, dtype="<i4"))


def make_tree(path, count):
    with h5py.File(path, "w") as file:
        for g in range(100):
            group = file.create_group(f"station{g:03d}")
            add_datasets(group, [b"series%04d" % i for i in range(count // 100)], g * 1000)
            for data in group.values():
                data.attrs["units"] = np.bytes_(b"K")


def make_links(path, count):
    with h5py.File(path, "w", libver="latest") as file:
        add_datasets(file.create_group("g"), [b"event%06d" % i for i in range(count)], 0)


def makers(sizes):
    """file name -> function that makes it"""
    return {
        f"contiguous-{sizes.contiguous // MIB}.h5": lambda p: make_contiguous(p, sizes),
        f"parts-{sizes.contiguous // MIB}.h5": lambda p: make_parts(p, sizes),
        f"flat-{sizes.contiguous // MIB}.bin": lambda p: make_flat(p, sizes.contiguous),
        f"flat_tiles-{sizes.tile_bytes // MIB}.bin": lambda p: make_flat(p, sizes.tile_bytes),
        f"tiles-{sizes.tile_rows}.h5": lambda p: make_tiles(p, sizes),
        f"plain-tiles-{sizes.tile_rows}.h5": lambda p: make_tiles(p, sizes, False),
        f"four-tiles-{sizes.tile_rows}.h5": lambda p: make_four_tiles(p, sizes),
        "large-chunks-1.h5": lambda p: make_large_chunks(p),
        "chunk-sizes-1.h5": lambda p: make_chunk_sizes(p),
        f"series-{sizes.series_chunks}.h5": lambda p: make_series(p, sizes),
        f"integers-{sizes.numbers}.h5": lambda p: make_numbers(p, sizes, "i4"),
        f"floats-{sizes.numbers}.h5": lambda p: make_numbers(p, sizes, "f8"),
        f"pencils-{sizes.pencil_rows}.h5": lambda p: make_pencils(p, sizes),
        "extensible-10.h5": lambda p: make_many_chunks(p, 10, "latest"),
        "btree-10.h5": lambda p: make_many_chunks(p, 10, "earliest"),
        "extensible-1000000.h5": lambda p: make_many_chunks(p, sizes.chunks, "latest"),
        "btree-1000000.h5": lambda p: make_many_chunks(p, sizes.chunks, "earliest"),
        f"tree-{sizes.datasets}.h5": lambda p: make_tree(p, sizes.datasets),
        f"links-{sizes.links}.h5": lambda p: make_links(p, sizes.links),
        f"plain-{sizes.links}.d": lambda p: make_plain_directory(p, sizes.links),
        f"tree-{sizes.datasets // 10}.h5": lambda p: make_tree(p, sizes.datasets // 10),
        f"links-{sizes.links // 10}.h5": lambda p: make_links(p, sizes.links // 10),
        "extensible-100000.h5": lambda p: make_many_chunks(p, sizes.chunks // 10, "latest"),
    }


def make_all(directory, sizes, say):
    """Makes missing files; returns stem -> path ('tiles' -> …/tiles-8192.h5; 'extensible-10' keeps its
    number)."""
    os.makedirs(directory, exist_ok=True)
    paths = {}
    for name, make in makers(sizes).items():
        path = os.path.join(directory, name)
        paths[name.rsplit(".", 1)[0]] = path
        if not os.path.exists(path):
            say(f"making {name}")
            make(path + ".part")
            os.rename(path + ".part", path)
    return paths
