#!/usr/bin/env python3
"""Small files that ask for much: hostile_files.py NAME OUT.h5 writes one of them with h5py, and then changes
bytes that no library would write so, checksums included. tests/mount/test_hostile.cpp says what a mount may
do with each."""
import os
import struct
import sys
import zlib

import h5py
import numpy as np
from h5py import h5a, h5d, h5p, h5s, h5t

MASK = 0xFFFFFFFF


def lookup3(data):
    """The checksum of the format's version 2 structures."""

    def rot(x, k):
        return ((x << k) | (x >> (32 - k))) & MASK

    a = b = c = (0xDEADBEEF + len(data)) & MASK
    at = 0
    while len(data) - at > 12:
        x, y, z = struct.unpack_from("<III", data, at)
        a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
        a = ((a - c) & MASK) ^ rot(c, 4)
        c = (c + b) & MASK
        b = ((b - a) & MASK) ^ rot(a, 6)
        a = (a + c) & MASK
        c = ((c - b) & MASK) ^ rot(b, 8)
        b = (b + a) & MASK
        a = ((a - c) & MASK) ^ rot(c, 16)
        c = (c + b) & MASK
        b = ((b - a) & MASK) ^ rot(a, 19)
        a = (a + c) & MASK
        c = ((c - b) & MASK) ^ rot(b, 4)
        b = (b + a) & MASK
        at += 12
    if at == len(data):
        return c
    x, y, z = struct.unpack("<III", data[at:].ljust(12, b"\0"))
    a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
    c ^= b
    c = (c - rot(b, 14)) & MASK
    a ^= c
    a = (a - rot(c, 11)) & MASK
    b ^= a
    b = (b - rot(a, 25)) & MASK
    c ^= b
    c = (c - rot(b, 16)) & MASK
    a ^= c
    a = (a - rot(c, 4)) & MASK
    b ^= a
    b = (b - rot(a, 14)) & MASK
    c ^= b
    c = (c - rot(b, 24)) & MASK
    return c


def header_ends(data):
    """Position and position of the checksum of every version 2 object header's first chunk."""
    at = -1
    while (at := data.find(b"OHDR", at + 1)) >= 0:
        flags = data[at + 5]
        size_at = at + 6 + (16 if flags & 32 else 0) + (4 if flags & 16 else 0)
        width = 1 << (flags & 3)
        yield at, size_at + width + int.from_bytes(data[size_at : size_at + width], "little")


def repair_headers(data):
    for begin, end in header_ends(data):
        data[end : end + 4] = struct.pack("<I", lookup3(bytes(data[begin:end])))


def change(path, edit):
    data = bytearray(open(path, "rb").read())
    edit(data)
    open(path, "wb").write(data)


def endless_text(out):
    """479 bytes: a text of 2^30 elements of 64 MiB, none of them written."""
    with h5py.File(out, "w", libver="latest") as f:
        kind = np.dtype({"names": ["r"], "formats": [h5py.ref_dtype], "offsets": [0], "itemsize": 64 << 20})
        late = h5p.create(h5p.DATASET_CREATE)
        late.set_alloc_time(h5d.ALLOC_TIME_LATE)
        h5d.create(f.id, b"evil", h5t.py_create(kind, logical=True), h5s.create_simple((1 << 30,)), dcpl=late)
        f["good"] = np.arange(100)


def wide_time(out):
    """An attribute of class time of 1 MiB, whose precision is not stated."""
    size = 1 << 20
    with h5py.File(out, "w", libver="latest") as f:
        f["d"] = 1
        kind = h5t.create(h5t.OPAQUE, size)
        kind.set_tag(b"QQQQQQQ")
        h5a.create(f["d"].id, b"t", kind, h5s.create(h5s.SCALAR)).write(
            np.array(np.void(b"\x01" * size)), mtype=kind
        )

    def edit(data):
        at = data.find(b"QQQQQQQ")
        data[at - 8] = (data[at - 8] & 0xF0) | 2
        data[at : at + 8] = bytes(8)
        data[at - 7] = 0

    change(out, edit)


def wide_floats(out):
    """16,000 floats with 17 bits of exponent: each takes milliseconds to be written in decimal digits."""
    count = 16000
    with h5py.File(out, "w", libver="latest") as f:
        f["d"] = 1
        kind = h5t.IEEE_F32LE.copy()
        kind.set_fields(31, 14, 17, 0, 14)
        kind.set_ebias(65535)
        random = np.random.default_rng(1)
        values = (random.integers(1, 60, count).astype("u4") << 14) | random.integers(
            0, 1 << 14, count
        ).astype("u4")
        h5a.create(f["d"].id, b"f", kind, h5s.create_simple((count,))).write(values.view("f4"), mtype=kind)
        late = h5p.create(h5p.DATASET_CREATE)
        h5d.create(f.id, b"many", kind, h5s.create_simple((count,)), dcpl=late).write(
            h5s.ALL, h5s.ALL, values.view("f4"), mtype=kind
        )


def implicit_index(out):
    """16 KiB on disk, 2 TiB long: 2^40 chunks of one byte that need no index."""
    with h5py.File(out, "w", libver="latest") as f:
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((1,))
        plist.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5d.FILL_TIME_NEVER)
        h5d.create(f.id, b"d", h5t.STD_U8LE, h5s.create_simple((12345,)), dcpl=plist)
        f["good"] = [1, 2]

    def edit(data):
        old, at = struct.pack("<Q", 12345), -1
        while (at := data.find(old, at + 1)) >= 0:
            data[at : at + 8] = struct.pack("<Q", 1 << 40)
        repair_headers(data)

    change(out, edit)
    os.truncate(out, 2 << 40)


def shared_type(out):
    """300 datasets of one committed type of 3,300 members: decoded, each takes most of a megabyte."""
    with h5py.File(out, "w", libver="latest") as f:
        kind = h5t.create(h5t.COMPOUND, 3300)
        for i in range(3300):
            kind.insert(b"%x" % i, i, h5t.STD_U8LE)
        kind.commit(f.id, b"t")
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_alloc_time(h5d.ALLOC_TIME_LATE)
        group = f.create_group("g")
        for i in range(300):
            h5d.create(group.id, b"d%d" % i, kind, h5s.create(h5s.SCALAR), dcpl=plist)


def shared_mappings(out):
    """150 unlimited virtual datasets that share one heap object of 8,000 mappings."""
    mappings = 8000

    def make(f, name, count):
        space = h5s.create_simple((mappings * 2,), (h5s.UNLIMITED,))
        plist = h5p.create(h5p.DATASET_CREATE)
        for i in range(count):
            view = h5s.create_simple((mappings * 2,), (h5s.UNLIMITED,))
            view.select_hyperslab((i * 2,), (1,))
            source = h5s.create_simple((4,))
            source.select_hyperslab((0,), (1,))
            plist.set_virtual(view, b".", b"src", source)
        h5d.create(f.id, name, h5t.STD_U8LE, space, dcpl=plist)

    with h5py.File(out, "w") as f:
        f["src"] = np.arange(4, dtype="u1")
        make(f, b"big", mappings)
        for i in range(150):
            make(f, b"v%d" % i, 1)

    def edit(data):
        def size_of(address, index):
            at = address + 16
            while at < address + int.from_bytes(data[address + 8 : address + 16], "little"):
                (found,) = struct.unpack_from("<H", data, at)
                (size,) = struct.unpack_from("<Q", data, at + 8)
                if found == index:
                    return size
                if found == 0:
                    return 0
                at += 16 + (size + 7) // 8 * 8
            return 0

        places, at = [], -1
        while (at := data.find(b"\x04\x03", at + 1)) >= 0:  # layout message 4, class virtual
            address, index = struct.unpack_from("<QI", data, at + 2)
            if address < len(data) and data[address : address + 4] == b"GCOL":
                places.append((at, address, index))
        _, address, index = max(places, key=lambda place: size_of(place[1], place[2]))
        for at, _, _ in places:
            struct.pack_into("<QI", data, at + 2, address, index)

    change(out, edit)


def long_targets(out):
    """Old groups that share their links: 8 x 60 soft links with a target of 1 MiB."""
    links = 60
    with h5py.File(out, "w") as f:
        group = f.create_group("g0")
        group["long"] = h5py.SoftLink("a/" * ((1 << 19) - 8) + "end")
        for i in range(links):
            group["s%02d" % i] = h5py.SoftLink("x%d" % i)
        for i in range(1, 8):
            f.create_group("g%d" % i)["q"] = h5py.SoftLink("zz")

    def edit(data):
        heap = -1
        while (heap := data.find(b"HEAP", heap + 1)) >= 0:
            size, _, segment = struct.unpack_from("<QQQ", data, heap + 8)
            if size > 1 << 20:
                break
        target = data.find(b"a/a/a/a/", segment) - segment
        entries, at = [], -1
        while (at := data.find(b"SNOD", at + 1)) >= 0:
            (count,) = struct.unpack_from("<H", data, at + 6)
            entries += [at + 8 + 40 * k for k in range(count)]
        for entry in entries:
            name, _, cache = struct.unpack_from("<QQI", data, entry)
            if cache == 2 and data[segment + name : segment + name + 1] == b"s":
                struct.pack_into("<I", data, entry + 24, target)
        tree = next(
            struct.unpack_from("<QQ", data, entry + 24)
            for entry in entries
            if struct.unpack_from("<QQI", data, entry)[2] == 1
            and struct.unpack_from("<QQ", data, entry + 24)[1] == heap
        )
        for entry in entries:
            if struct.unpack_from("<I", data, entry + 16)[0] == 1:
                struct.pack_into("<QQ", data, entry + 24, *tree)
                header = struct.unpack_from("<Q", data, entry + 8)[0]
                message = data.find(b"\x11\x00\x10\x00", header)
                struct.pack_into("<QQ", data, message + 8, *tree)

    change(out, edit)


def shared_strings(out):
    """An attribute of 30 strings of variable length, all the same one of 1 MiB."""
    with h5py.File(out, "w") as f:
        strings = np.empty(30, dtype=object)
        strings[:] = ["s%d" % i for i in range(30)]
        f.create_dataset("d", data=1)
        f["d"].attrs.create("big", strings, dtype=h5py.string_dtype())
        f["d"].attrs.create("one", "Q" * (1 << 20), dtype=h5py.string_dtype())

    def edit(data):
        def is_heap(address):
            return 0 < address < len(data) and data[address : address + 4] == b"GCOL"

        at = data.find(struct.pack("<I", 1 << 20))
        while not is_heap(struct.unpack_from("<IQI", data, at)[1]):
            at = data.find(struct.pack("<I", 1 << 20), at + 1)
        big = bytes(data[at : at + 16])
        at = 0
        while at < len(data) - 16:
            length, address, _ = struct.unpack_from("<IQI", data, at)
            if length in (2, 3) and is_heap(address):
                data[at : at + 16] = big
                at += 15
            at += 1

    change(out, edit)


def large_chunks(out):
    """Four datasets of one chunk of 512 MiB behind nine filters; small chunks beside them."""
    size = 512 << 20
    with h5py.File(out, "w", libver="latest") as f:
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((size,))
        for _ in range(9):
            plist.set_deflate(1)
        for i in range(4):
            space = h5s.create_simple((size,), (h5s.UNLIMITED,))
            h5d.create(f.id, b"bomb%d" % i, h5t.STD_U8LE, space, dcpl=plist).write_direct_chunk(
                (0,), b"x" * 100
            )
        f.create_dataset("good", data=list(range(100000)), chunks=(1000,), compression="gzip")


def nested_deflate(out):
    """400 chunks of 32 MiB, each some hundred bytes: 13 GB to decode. Small chunks beside them."""
    size, count = 32 << 20, 400
    stored = zlib.compress(zlib.compress(bytes(size), 9), 9)
    with h5py.File(out, "w", libver="latest") as f:
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((size,))
        for _ in range(2):
            plist.set_deflate(9)
        space = h5s.create_simple((size * count,), (h5s.UNLIMITED,))
        bomb = h5d.create(f.id, b"bomb", h5t.STD_U8LE, space, dcpl=plist)
        for i in range(count):
            bomb.write_direct_chunk((size * i,), stored)
        f.create_dataset("good", data=list(range(100000)), chunks=(1000,), compression="gzip")


def numbered_sources(out):
    """12 virtual datasets over the same 20,000 numbered sources."""
    with h5py.File(out, "w", libver="latest") as f:
        f["s"] = np.arange(4, dtype="u1")
        group = f.create_group("g")
        for i in range(20000):
            group.id.links.create_hard(b"%d" % i, f.id, b"s")
        view = h5s.create_simple((4,), (h5s.UNLIMITED,))
        view.select_hyperslab((0,), (h5s.UNLIMITED,), (4,), (4,))
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_virtual(view, b".", b"g/%b", h5s.create_simple((4,)))
        for i in range(12):
            space = h5s.create_simple((4,), (h5s.UNLIMITED,))
            h5d.create(f.id, b"evil%d" % i, h5t.STD_U8LE, space, dcpl=plist)


def links_around(out):
    """100 groups of 4,000 soft links, each of which leads to the link of its name in the next group."""
    with h5py.File(out, "w", libver="latest") as f:
        f["s"] = np.arange(3, dtype="u1")
        many = f.create_group("many")
        for k in range(100):
            group = many.create_group("q%d" % k)
            for i in range(4000):
                target = b"/many/q%d/x%d" % ((k + 1) % 100, i) if i < 3990 else b"/s"
                group.id.links.create_soft(b"x%d" % i, target)


def wide_rows(out):
    """24 datasets, each a chunk of 8 MiB that takes a spill file where the cache is small."""
    with h5py.File(out, "w", libver="latest") as f:
        for i in range(24):
            d = f.create_dataset(
                "d%02d" % i, shape=(8 << 20,), chunks=(8 << 20,), dtype="u1", compression="gzip"
            )
            d[0:1] = 1


def damaged_headers(out):
    """400 headers with wrong checksums, a file that a SWMR writer seems to have open, a time in the
    future."""
    with h5py.File(out, "w", libver="latest") as f:
        for i in range(400):
            f["d%04d" % i] = i

    def edit(data):
        root = struct.unpack_from("<Q", data, 36)[0]
        for begin, _ in header_ends(data):
            if begin != root:
                data[begin + 20] ^= 1
        data[11] = 5
        data[44:48] = struct.pack("<I", lookup3(bytes(data[:44])))

    change(out, edit)
    os.utime(out, (2114380800, 2114380800))  # 2037


def wide_names(out):
    """Tables of 65,536 columns: names of 60,000 bytes each, names of 20, and enumerations with long names."""

    def table(f, name, member, items, item):
        t = h5t.create(h5t.COMPOUND, items * item.get_size())
        t.insert(member, 0, h5t.array_create(item, (items,)))
        h5d.create(f.id, name, t, h5s.create_simple((2,)))

    with h5py.File(out, "w", libver="latest") as f:
        table(f, b"long", b'"' * 60000, 65536, h5t.STD_U8LE)
        table(f, b"short", b'"' * 20, 65536, h5t.STD_U8LE)
        t = h5t.enum_create(h5t.STD_U16LE)
        for i in range(100):
            t.enum_insert(b"%02x" % i + b"\1" * 600, i)
        table(f, b"many_enums", b"e", 4096, t)
        table(f, b"some_enums", b"e", 16, t)
        f["beside"] = np.arange(4, dtype="u1")


def deep_groups(out):
    """30,000 nested groups `a`; in every 2,000th a soft link `l` that leads 2,000 levels down."""
    with h5py.File(out, "w", libver="latest") as f:
        f["beside"] = np.arange(4, dtype="u1")
        group = f.id
        for i in range(30000):
            if i % 2000 == 0:
                group.links.create_soft(b"l", b"a/" * 1999 + b"a")
            group = h5py.h5g.create(group, b"a")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
