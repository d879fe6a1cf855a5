#!/usr/bin/env python3
"""Writes an HDF5 file with one sparse matrix byte by byte: no library writes sparse storage yet.

    make_sparse_matrix.py [--side 1000000] [--values 1000000] [--chunk 10000] [--seed 1] OUT.h5

/matrix is side x side little-endian doubles, fill value 0, of which `values` distinct elements (at
pseudo-random positions, the numbers 0.5, 1.5, 2.5 ...) are defined. It has structured chunks in the
prototype's form (sparse storage RFC), each an encoded selection of points and the values, both sections
deflated, indexed by a paged fixed array. The attributes count, sum and first_rows (element counts of the
first ten rows that have any) are reference values for tests. Two runs with the same arguments write the same
file.
"""
import argparse, random, struct, sys, zlib

UNDEFINED = (1 << 64) - 1
PAGE_BITS = 10
MASK = 0xFFFFFFFF


def rot(x, k):
    return ((x << k) | (x >> (32 - k))) & MASK


def lookup3(data):
    """Bob Jenkins' lookup3 hash with initial value 0: the format's checksum."""
    a = b = c = (0xDEADBEEF + len(data)) & MASK
    at, left = 0, len(data)
    while left > 12:
        x, y, z = struct.unpack_from("<III", data, at)
        a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
        a = (a - c) & MASK ^ rot(c, 4)
        c = (c + b) & MASK
        b = (b - a) & MASK ^ rot(a, 6)
        a = (a + c) & MASK
        c = (c - b) & MASK ^ rot(b, 8)
        b = (b + a) & MASK
        a = (a - c) & MASK ^ rot(c, 16)
        c = (c + b) & MASK
        b = (b - a) & MASK ^ rot(a, 19)
        a = (a + c) & MASK
        c = (c - b) & MASK ^ rot(b, 4)
        b = (b + a) & MASK
        at, left = at + 12, left - 12
    if left == 0:
        return c
    x, y, z = struct.unpack("<III", data[at:] + bytes(12 - left))
    a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
    c = (c ^ b) - rot(b, 14) & MASK
    a = (a ^ c) - rot(c, 11) & MASK
    b = (b ^ a) - rot(a, 25) & MASK
    c = (c ^ b) - rot(b, 16) & MASK
    a = (a ^ c) - rot(c, 4) & MASK
    b = (b ^ a) - rot(a, 14) & MASK
    return (c ^ b) - rot(b, 24) & MASK


def summed(data):
    return data + struct.pack("<I", lookup3(data))


def message(kind, body, flags=0):
    return struct.pack("<BHB", kind, len(body), flags) + body


def object_header(messages):
    body = b"".join(messages)
    return summed(b"OHDR" + bytes([2, 1]) + struct.pack("<H", len(body)) + body)


def attribute(name, datatype, size_text, data):
    return message(
        0x0C,
        struct.pack("<BBHHHB", 3, 0, len(name) + 1, len(datatype), len(size_text), 0)
        + name.encode()
        + b"\0"
        + datatype
        + size_text
        + data,
    )


DOUBLE = bytes([0x11, 0x20, 63, 0]) + struct.pack("<IHHBBBBI", 8, 0, 64, 52, 11, 0, 52, 1023)
UNSIGNED = bytes([0x10, 0x00, 0, 0]) + struct.pack("<IHH", 8, 0, 64)
SCALAR = bytes([2, 0, 0, 0])
DEFLATE = struct.pack("<HHHI", 1, 1, 1, 6)


def vector(n):
    return bytes([2, 1, 0, 1]) + struct.pack("<Q", n)


def encoded_selection(side, points):
    """A list of points in a square chunk, row-major, as H5Sencode writes it, and the section's checksum."""
    extent = struct.pack("<BBBB4x4Q", 1, 2, 1, 0, side, side, side, side)
    listed = b"".join(struct.pack("<II", row, column) for row, column in points)
    selection = struct.pack("<IIIIII", 1, 1, 0, 8 + len(listed), 2, len(points)) + listed
    return summed(struct.pack("<BBBI", 1, 0, 8, len(extent)) + extent + selection)


def chunk(side, elements):
    """Deflates both sections; returns the bytes and the record's metadata."""
    elements.sort()
    selection = encoded_selection(side, [(row, column) for row, column, _ in elements])
    values = struct.pack(f"<{len(elements)}d", *(value for _, _, value in elements))
    stored = [zlib.compress(selection, 6), zlib.compress(values, 6)]
    metadata = struct.pack("<QQQII", len(stored[0]), len(selection), len(values), 0, 0)
    return b"".join(stored), metadata


def size_width(chunk_bytes):
    return min(8, 1 + (chunk_bytes.bit_length() - 1 + 8) // 8)


def fixed_array(base, records, width, count):
    """Header and paged data block, for filtered structured chunks; returns the bytes and the header's
    address."""
    entry, page, client = 8 + width + 32, 1 << PAGE_BITS, 3
    absent = struct.pack("<Q", UNDEFINED) + bytes(entry - 8)
    header_bytes = 28
    header = base
    prefix = b"FADB" + bytes([1, client]) + struct.pack("<Q", header)
    if count <= page:
        block = summed(prefix + b"".join(records.get(i, absent) for i in range(count)))
    else:
        pages = (count + page - 1) // page
        used = bytearray((pages + 7) // 8)
        body = []
        for p in range(pages):
            numbers = range(p * page, min(count, (p + 1) * page))
            if any(i in records for i in numbers):
                used[p // 8] |= 0x80 >> (p % 8)
            body.append(summed(b"".join(records.get(i, absent) for i in numbers)))
        block = summed(prefix + bytes(used)) + b"".join(body)
    head = summed(
        b"FAHD" + bytes([1, client, entry, PAGE_BITS]) + struct.pack("<QQ", count, base + header_bytes)
    )
    return head + block


def layout(side_chunk, index_address):
    dimensions = struct.pack("<III", side_chunk, side_chunk, 8)
    return (
        bytes([5, 4, 0])
        + struct.pack("<H", 1)
        + bytes([0, 3, 4])
        + dimensions
        + bytes([8, 2, 1, 0])  # offset size, sections, checksummed sections: the first
        + bytes([3, PAGE_BITS])
        + struct.pack("<Q", index_address)
    )


def pipeline():
    section = struct.pack("<BH", 1, len(DEFLATE)) + DEFLATE
    return bytes([3, 2]) + b"\x00" + section + b"\x01" + section


def choose(side, count, seed):
    """Distinct positions per chunk and their values."""
    draw = random.Random(seed)
    for number, place in enumerate(draw.sample(range(side * side), count)):
        yield place // side, place % side, number % 1000 + 0.5


def write(path, side, count, side_chunk, seed):
    across = (side + side_chunk - 1) // side_chunk
    chunks, rows, total = {}, {}, 0.0
    for row, column, value in choose(side, count, seed):
        key = row // side_chunk * across + column // side_chunk
        chunks.setdefault(key, []).append((row % side_chunk, column % side_chunk, value))
        rows[row] = rows.get(row, 0) + 1
        total += value
    with open(path, "wb") as out:
        out.write(bytes(48))
        records, width = {}, size_width(side_chunk * side_chunk * 8)
        for key in sorted(chunks):
            stored, metadata = chunk(side_chunk, chunks.pop(key))
            records[key] = struct.pack("<Q", out.tell()) + len(stored).to_bytes(width, "little") + metadata
            out.write(stored)
        out.write(bytes(-out.tell() % 8))
        index = out.tell()
        out.write(fixed_array(index, records, width, across * across))
        first = sorted(rows)[:10]
        matrix = out.tell()
        out.write(
            object_header(
                [
                    message(0x01, bytes([2, 2, 0, 1]) + struct.pack("<QQ", side, side)),
                    message(0x03, DOUBLE),
                    message(0x05, bytes([3, 0x09])),
                    message(0x08, layout(side_chunk, index)),
                    message(0x0B, pipeline()),
                    attribute("count", UNSIGNED, SCALAR, struct.pack("<Q", count)),
                    attribute("sum", DOUBLE, SCALAR, struct.pack("<d", total)),
                    attribute(
                        "first_rows",
                        UNSIGNED,
                        vector(2 * len(first)),
                        struct.pack(f"<{2 * len(first)}Q", *(x for row in first for x in (row, rows[row]))),
                    ),
                ]
            )
        )
        root = out.tell()
        out.write(
            object_header(
                [
                    message(0x02, struct.pack("<BBQQ", 0, 0, UNDEFINED, UNDEFINED)),
                    message(0x0A, b"\0\0", 1),
                    message(0x06, bytes([1, 0, 6]) + b"matrix" + struct.pack("<Q", matrix)),
                ]
            )
        )
        end = out.tell()
        out.seek(0)
        out.write(
            summed(b"\x89HDF\r\n\x1a\n" + bytes([3, 8, 8, 0]) + struct.pack("<QQQQ", 0, UNDEFINED, end, root))
        )
    return total


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out")
    parser.add_argument("--side", type=int, default=1_000_000)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    total = write(args.out, args.side, args.values, args.chunk, args.seed)
    print(f"{args.out}: {args.side} x {args.side}, {args.values} values, sum {total}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
