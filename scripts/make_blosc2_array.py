#!/usr/bin/python3
"""Writes an HDF5 file with one array as PyTables stores it: Blosc2 frames with n-dimensional blocks.

    make_blosc2_array.py [--rows 1024] [--columns 2048] [--chunk 512x1024] [--block 64x128] OUT.h5

/array is rows x columns little-endian floats with filter 32026, /plain the same numbers without filters. The
frames are assembled here (byte shuffle, zlib, the b2nd metalayer), so that h5py is needed but not Blosc2. The
attributes blocks_of_a_row and blocks_of_a_chunk are the numbers of blocks that reading one row must decode,
and that its chunks have.
"""
import argparse
import struct
import sys
import zlib

import h5py
import numpy as np

FILTER = 32026
SHUFFLE, ZLIB = 1, 3


def chunk_of(blocks, typesize, block_bytes):
    """A chunk with the long header: unsplit blocks, each shuffled and deflated."""
    at = 32 + 4 * len(blocks)
    starts, streams = b"", b""
    for block in blocks:
        planes = np.frombuffer(block, "u1").reshape(-1, typesize).T.tobytes()
        data = zlib.compress(planes, 5)
        starts += struct.pack("<i", at + len(streams))
        streams += struct.pack("<i", len(data)) + data
    flags = 1 | 4 | 16 | ZLIB << 5  # both shuffle flags: a long header follows
    nbytes = block_bytes * len(blocks)
    header = struct.pack("<4B3i", 5, 1, flags, typesize, nbytes, block_bytes, at + len(streams))
    return header + bytes([0, 0, 0, 0, 0, SHUFFLE, 0, 0]) + bytes(8) + starts + streams


def stored_chunk(data, typesize):
    header = struct.pack("<4B3i", 5, 1, 1 | 2 | 4, typesize, len(data), len(data), 32 + len(data))
    return header + bytes(16) + data


def frame_of(chunk, layer, typesize, block_bytes, nbytes):
    """A contiguous frame with one inner chunk and one metalayer."""
    names = b"\xa4b2nd\xd2"
    fixed = 1 + 9 + 5 + 9 + 5 + 9 + 9 + 5 + 5 + 5 + 3 + 3 + 1 + 18  # all fields before the metalayers
    index = 1 + 3 + 3 + len(names) + 4
    content_at = fixed + index + 3
    head = content_at + 5 + len(layer)
    offsets = stored_chunk(struct.pack("<q", 0), 8)
    trailer = (
        b"\x94\x01\x93\xcd\x00\x09\xde\x00\x00\xdc\x00\x00\xce"
        + struct.pack(">I", 35)
        + b"\xd8\x00"
        + bytes(16)
    )
    total = head + len(chunk) + len(offsets) + len(trailer)
    return b"".join(
        [
            b"\x9e\xa8b2frame\0",
            b"\xd2",
            struct.pack(">i", head),
            b"\xcf",
            struct.pack(">Q", total),
            b"\xa4",
            bytes([0x12, 0, ZLIB << 4 | 5, 1]),
            b"\xd3",
            struct.pack(">q", nbytes),
            b"\xd3",
            struct.pack(">q", len(chunk)),
            b"\xd2",
            struct.pack(">i", typesize),
            b"\xd2",
            struct.pack(">i", block_bytes),
            b"\xd2",
            struct.pack(">i", nbytes),
            b"\xd1\x00\x01",
            b"\xd1\x00\x01",
            b"\xc2",
            b"\xd8\x06",
            bytes([0, 0, 0, 0, 0, SHUFFLE]),
            bytes(10),
            b"\x93\xcd",
            struct.pack(">H", index),
            b"\xde\x00\x01",
            names,
            struct.pack(">i", content_at),
            b"\xdc\x00\x01",
            b"\xc6",
            struct.pack(">I", len(layer)),
            layer,
            chunk,
            offsets,
            trailer,
        ]
    )


def layer_of(shape, block):
    rank = len(shape)
    dtype = b"|V4"
    return b"".join(
        [bytes([0x97, 0, rank, 0x90 + rank])]
        + [b"\xd3" + struct.pack(">q", n) for n in shape]
        + [bytes([0x90 + rank])]
        + [b"\xd2" + struct.pack(">i", n) for n in shape]
        + [bytes([0x90 + rank])]
        + [b"\xd2" + struct.pack(">i", n) for n in block]
        + [b"\x00\xdb", struct.pack(">I", len(dtype)), dtype]
    )


def encode(data, block):
    """The frame of one HDF5 chunk; blocks divide it."""
    grid = [n // b for n, b in zip(data.shape, block)]
    blocks = [
        data[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]].tobytes()
        for i in range(grid[0])
        for j in range(grid[1])
    ]
    size = data.itemsize
    return frame_of(
        chunk_of(blocks, size, len(blocks[0])), layer_of(data.shape, block), size, len(blocks[0]), data.nbytes
    )


def pair(text):
    return tuple(int(n) for n in text.split("x"))


def main():
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--columns", type=int, default=2048)
    parser.add_argument("--chunk", type=pair, default=(512, 1024))
    parser.add_argument("--block", type=pair, default=(64, 128))
    parser.add_argument("out")
    args = parser.parse_args()
    shape, chunk, block = (args.rows, args.columns), args.chunk, args.block
    if any(n % c or c % b for n, c, b in zip(shape, chunk, block)):
        sys.exit("chunks must divide the array, and blocks the chunks")
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    data = (np.sin(rows / 50) * 1000 + columns % 97).astype("<f4")
    with h5py.File(args.out, "w", libver="earliest") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(chunk)
        # Marked optional: libhdf5 would otherwise require the filter. Chunks are written directly.
        values = (1, 0, 4, chunk[0] * chunk[1] * 4, 5, SHUFFLE, 4, 2) + chunk
        plist.set_filter(FILTER, h5py.h5z.FLAG_OPTIONAL, values)
        dataset = h5py.Dataset(
            h5py.h5d.create(file.id, b"array", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(shape), plist)
        )
        for row in range(0, shape[0], chunk[0]):
            for column in range(0, shape[1], chunk[1]):
                part = np.ascontiguousarray(data[row : row + chunk[0], column : column + chunk[1]])
                dataset.id.write_direct_chunk((row, column), encode(part, block), 0)
        dataset.attrs["blocks_of_a_row"] = shape[1] // block[1]
        dataset.attrs["blocks_of_a_chunk"] = (chunk[0] // block[0]) * (chunk[1] // block[1])
        file.create_dataset("plain", data=data)


if __name__ == "__main__":
    main()
