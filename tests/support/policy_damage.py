"""What no library writes of the fixtures of policies (policy_fixtures.py): structures that lie upon others
or lead back, filters and messages that nobody knows, damage. Some are edited files of h5py; where each byte
matters they are made from nothing (Image)."""
import os
import struct
import zlib

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from hostile.hostile_files import change, lookup3, repair_headers
from support.policy_claims import MIB, chunks_of, fixture, in_front, named, raw

NOWHERE = (1 << 64) - 1


def summed(data):
    return data + struct.pack("<I", lookup3(data))


class Image:
    """A file of version 2 object headers, each at the address that it is given."""

    def __init__(self, size=4096, root=48):
        self.bytes = bytearray(size)
        super_block = b"\x89HDF\r\n\x1a\n\3\x08\x08\0" + struct.pack("<QQQQ", 0, NOWHERE, size, root)
        self.bytes[:48] = summed(super_block)

    def put(self, at, data):
        self.bytes[at : at + len(data)] = data
        return self

    def header(self, at, *messages):
        return self.put(at, header(*messages))

    def write(self, out):
        with open(out, "wb") as f:
            f.write(self.bytes)


def message(kind, data, flags=0):
    return struct.pack("<BHB", kind, len(data), flags) + data


def header(*messages):
    body = b"".join(messages)
    return summed(b"OHDR\2\2" + struct.pack("<I", len(body)) + body)


def hard(name, address):
    return message(6, b"\1\0" + bytes([len(name)]) + name + struct.pack("<Q", address))


GROUP = message(2, b"\0\0" + b"\xff" * 16) + message(10, b"\0\0")


def bytes_at(address, size, *more, kind=b"\x10\0\0\0\1\0\0\0\0\0\x08\0", stored=None):
    """The messages of a dataset of bytes."""
    space = b"\2\1\0\1" + struct.pack("<Q", size)
    layout = b"\3\1" + struct.pack("<QQ", address, size if stored is None else stored)
    return (message(1, space), message(3, kind), message(8, layout), *more)


def replaced(old, new, times=None):
    """An edit of a file."""

    def edit(data):
        assert data.count(old) == times if times else old in data
        data[:] = data.replace(old, new)
        repair_headers(data)

    return edit


# ---- structures upon each other


@fixture
def image_sound(out):
    """What the next ones are made of, with no fault."""
    Image().header(48, GROUP, hard(b"d", 0x200)).header(0x200, *bytes_at(0x400, 0x400)).write(out)


@fixture
def overlap_datasets(out):
    """Two datasets that share a byte."""
    two = Image().header(48, GROUP, hard(b"a", 0x200), hard(b"b", 0x300))
    two.header(0x200, *bytes_at(0x400, 0x100)).header(0x300, *bytes_at(0x4FF, 0x100)).write(out)


@fixture
def overlap_same_bytes(out):
    """Two datasets of the same bytes, in the way of before version 1.8."""
    with h5py.File(out, "w") as f:
        f["a"], f["b"] = np.arange(1000), np.arange(1000)
        old, new = f["b"].id.get_offset(), f["a"].id.get_offset()
    change(out, replaced(struct.pack("<Q", old), struct.pack("<Q", new), 1))


@fixture
def overlap_superblock(out):
    """A dataset that is the file's own beginning."""
    Image().header(48, GROUP, hard(b"d", 0x200)).header(0x200, *bytes_at(0, 0x180)).write(out)


@fixture
def overlap_header(out):
    """A dataset that begins in the header of another object."""
    two = Image().header(48, GROUP, hard(b"d", 0x200), hard(b"g", 0x300))
    two.header(0x200, *bytes_at(0x308, 0x100)).header(0x300, GROUP).write(out)


@fixture
def header_in_data(out):
    """A group whose header is an element of a dataset."""
    two = Image().header(48, GROUP, hard(b"d", 0x200), hard(b"g", 0x600))
    two.header(0x200, *bytes_at(0x400, 0x800)).header(0x600, GROUP).write(out)


@fixture
def header_in_compact_data(out):
    """A group whose header is the value of a dataset that is stored in its own header."""
    inner = header(GROUP)
    space, kind, _ = bytes_at(0, len(inner))
    whole = header(space, kind, message(8, b"\3\0" + struct.pack("<H", len(inner)) + inner))
    image = Image().header(48, GROUP, hard(b"d", 0x200), hard(b"g", 0x200 + whole.index(inner)))
    image.put(0x200, whole).write(out)


@fixture
def overlap_chunks(out):
    """Chunks of two datasets at the same address."""
    with h5py.File(out, "w") as f:
        for name in "ab":
            f.create_dataset(name, data=np.arange(4096, dtype="u1"), chunks=(4096,))
        old, new = (f[name].id.get_chunk_info(0).byte_offset for name in "ba")
    change(out, replaced(struct.pack("<Q", old), struct.pack("<Q", new), 1))


@fixture
def bomb_shared_chunk(out):
    """100 chunks of 4 MiB that are all the same stored bytes."""
    with h5py.File(out, "w") as f:
        chunks_of(f, b"d", 400 * MIB, 4 * MIB, [bytes([i] * 64) for i in range(100)])
        offsets = [f["d"].id.get_chunk_info(i).byte_offset for i in range(100)]

    def edit(data):
        for offset in offsets[1:]:
            at = data.index(struct.pack("<Q", offset))
            data[at : at + 8] = struct.pack("<Q", offsets[0])

    change(out, edit)


def one_string_for_all(out, count, attribute):
    """Strings of variable length that are all the same one of 1 MiB in the heap."""
    with h5py.File(out, "w") as f:
        kind = h5py.string_dtype()
        strings = np.array(["%04d" % i for i in range(count)], dtype=object)
        if attribute:
            f.attrs.create("all", strings, dtype=kind)
        else:
            f.create_dataset("all", data=strings, dtype=kind)
        f.create_dataset("big", data="Q" * MIB, dtype=kind)

    def edit(data):
        heaps = [at for at in range(0, len(data), 8) if data[at : at + 4] == b"GCOL"]
        big = next(
            data[at : at + 16] for heap in heaps if (at := data.find(struct.pack("<IQI", MIB, heap, 1))) >= 0
        )
        for heap in heaps:
            start = struct.pack("<IQ", 4, heap)
            at = -1
            while (at := data.find(start, at + 1)) >= 0:
                data[at : at + 16] = big

    change(out, edit)


named("bomb_shared_strings", one_string_for_all, 500, False)
named("bomb_shared_strings_attribute", one_string_for_all, 500, True)
named("shared_strings", one_string_for_all, 2, False)


@fixture
def lists_of_themselves(out, levels=8, items=1000):
    """Lists of lists of references, in which each item is the same list: 1,000 to the power of 8 of them."""
    kind = h5t.STD_REF_OBJ
    for _ in range(levels):
        kind = h5t.vlen_create(kind)
    with h5py.File(out, "w") as f:
        f.create_dataset("heap", data="Q" * (16 * items), dtype=h5py.string_dtype())
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        d = h5d.create(f.id, b"lists", kind, h5s.create_simple((1,)), dcpl=plist)
        at = d.get_offset()

    def edit(data):
        item = struct.pack("<IQI", items, data.index(b"GCOL"), 1)
        data[at : at + 16] = item
        replaced(b"Q" * (16 * items), item * items, 1)(data)

    change(out, edit)


@fixture
def shared_mappings(out):
    """Two virtual datasets whose lists of sources are one object of the heap."""
    with h5py.File(out, "w", libver="latest") as f:
        f["plain"] = np.arange(4, dtype="u1")
        space = h5s.create_simple((4,))
        for name in (b"a", b"b"):
            plist = h5p.create(h5p.DATASET_CREATE)
            plist.set_virtual(space, b".", b"/plain", space)
            h5d.create(f.id, name, h5t.STD_U8LE, space, dcpl=plist)

    def edit(data):
        heap = struct.pack("<Q", data.index(b"GCOL"))
        replaced(heap + struct.pack("<I", 2), heap + struct.pack("<I", 1), 1)(data)

    change(out, edit)


# ---- structures that lead back


def groups_of_before(out, count=100):
    """A group of so many links in the way of before version 1.8, and where its B-tree's root is."""
    with h5py.File(out, "w") as f:
        for i in range(count):
            f.create_group("g%03d" % i)


@fixture
def circle_group_tree(out):
    """A node of links whose child is itself."""

    def edit(data):
        root = struct.unpack_from("<Q", data, 80)[0]  # of the root's symbol table entry: its B-tree
        assert data[root : root + 4] == b"TREE" and data[root + 5] == 0
        data[root + 5] = 1
        struct.pack_into("<Q", data, root + 32, root)

    groups_of_before(out)
    change(out, edit)


def chunk_tree(data):
    at = -1
    while (at := data.index(b"TREE", at + 1)) and data[at + 4] != 1:
        pass
    return at


@fixture
def circle_chunk_tree(out):
    """A node of chunks whose child is itself."""

    def edit(data):
        tree = chunk_tree(data)
        data[tree + 5] += 1
        struct.pack_into("<Q", data, tree + 24 + 24, tree)

    with h5py.File(out, "w") as f:
        f.create_dataset("d", data=np.arange(40960), chunks=(4096,))
    change(out, edit)


def continued(out, first, second):
    """A root whose header goes on elsewhere, and there goes on again."""
    length = 4 + 20 + 4
    image = Image().header(48, GROUP, message(16, struct.pack("<QQ", first, length)))
    for at, to in ((first, second), (second, first)):
        image.put(at, summed(b"OCHK" + message(16, struct.pack("<QQ", to, length))))
    image.write(out)


named("circle_continuation", continued, 0x200, 0x300)
named("circle_continuation_itself", continued, 0x200, 0x200)


@fixture
def circle_committed_type(out):
    """A committed type that is stated to be the one at its own address."""
    shared = b"\3\2" + struct.pack("<Q", 0x200)
    Image().header(48, GROUP, hard(b"t", 0x200)).header(0x200, message(3, shared, 2)).write(out)


# ---- objects that no link leads to


def hidden(out, attribute):
    """A dataset whose bytes are those of /etc/passwd, which only a reference to it leads to."""
    heap = b"\0" * 8 + b"/etc/passwd".ljust(16, b"\0")
    files = struct.pack("<B3xHHQ", 1, 1, 1, 0x500) + struct.pack("<QQQ", 8, 0, 100)
    image = Image().header(0x400, *bytes_at(NOWHERE, 100, message(7, files)))
    image.put(0x500, b"HEAP\0\0\0\0" + struct.pack("<QQQ", len(heap), 1, 0x540)).put(0x540, heap)
    kind, to = b"\x17\0\0\0" + struct.pack("<I", 8), struct.pack("<Q", 0x400)
    if attribute:
        scalar = b"\2\0\0\0"
        sizes = struct.pack("<BBHHHB", 3, 0, 2, len(kind), len(scalar), 0)
        image.header(48, GROUP, message(12, sizes + b"r\0" + kind + scalar + to))
    else:
        space, _, layout = bytes_at(0x300, 1, stored=8)
        image.header(48, GROUP, hard(b"r", 0x200)).header(0x200, space, message(3, kind), layout)
    image.put(0x300, to).write(out)


named("raw_behind_reference", hidden, False)
named("raw_behind_attribute", hidden, True)


# ---- filters and messages


def renumbered(out, number, libver):
    """A dataset of h5py's LZF filter, whose number is changed."""
    with h5py.File(out, "w", libver=libver) as f:
        f.create_dataset("d", data=np.arange(40960), chunks=(4096,), compression="lzf")
    old = struct.pack("<H", 32000)
    flags = struct.pack("<H", 8 if libver == "earliest" else 4)
    change(out, replaced(old + flags, struct.pack("<H", number) + flags, 1))


for _libver in ("earliest", "latest"):
    named("filter_lzf_" + _libver, renumbered, 32000, _libver)
    named("filter_blosc2_" + _libver, renumbered, 32026, _libver)
    named("filter_nobody_" + _libver, renumbered, 65535, _libver)


def filtered_group(out, number):
    """A group whose links lie in a heap behind a filter."""
    with h5py.File(out, "w", libver="latest") as f:
        plist = h5p.create(h5p.GROUP_CREATE)
        same = h5p.PropDCID(plist.id)  # h5py offers filters to datasets alone
        same.set_deflate(1)
        group = h5py.Group(h5py.h5g.create(f.id, b"g", gcpl=plist))
        for i in range(40):
            group["l%d" % i] = h5py.SoftLink("/nowhere")
    pipeline = struct.pack("<BBHHHI", 2, 1, 1, 1, 1, 1)
    changed = struct.pack("<BBHHHI", 2, 1, number, 1, 1, 1)

    def edit(data):
        replaced(pipeline, changed)(data)
        at = data.index(b"FRHP")
        end = data.index(changed, at) + len(changed)
        data[end : end + 4] = struct.pack("<I", lookup3(bytes(data[at:end])))

    change(out, edit)


named("filter_in_heap_deflate", filtered_group, 1)
named("filter_in_heap_nobody", filtered_group, 200)


def unknown(out, flags, kind=0x40):
    """A message of a kind that is not in the format."""
    image = Image().header(48, GROUP, hard(b"d", 0x200))
    image.header(0x200, *bytes_at(0x400, 0x400, message(kind, b"surprise", flags))).write(out)


named("message_unknown", unknown, 0)
named("message_unknown_high", unknown, 0, 0xF0)
named("message_not_to_write", unknown, 8)
named("message_must_be_understood", unknown, 0x80)


# ---- damage


def damaged(out, edit, libver="latest"):
    """A sound file with chunks, strings and links, and then an edit."""
    with h5py.File(out, "w", libver=libver) as f:
        f.create_dataset("c", data=np.arange(40960, dtype="<u8"), chunks=(4096,), compression=1)
        f["s"] = "text"
        f["d"] = np.arange(1000, dtype="<u8")
        f["g/s"] = h5py.SoftLink("/d")
    change(out, edit)


def bit_flipped(data):
    data[data.index(b"OHDR", 64) + 20] ^= 1


def cut(data):
    del data[len(data) * 2 // 3 :]


def chunk_outside(data):
    at = chunk_tree(data) + 24 + 24
    struct.pack_into("<Q", data, at, 1 << 40)


def heap_without_end(data):
    at = data.index(b"GCOL")
    struct.pack_into("<Q", data, at + 16 + 8, 1 << 50)


named("damaged_checksum", damaged, bit_flipped)
named("damaged_cut", damaged, cut, "earliest")
named("damaged_chunk_outside", damaged, chunk_outside, "earliest")
named("damaged_string_heap", damaged, heap_without_end, "earliest")


def one_chunk(out, stored, mask):
    """A chunk of 4 KiB behind deflate, as stored."""
    with h5py.File(out, "w") as f:
        d = f.create_dataset("d", (8192,), "u1", chunks=(4096,), compression=1)
        d.id.write_direct_chunk((0,), stored, mask)


named("damaged_short_chunk", one_chunk, bytes(100), 1)
named("bomb_long_stream", one_chunk, zlib.compress(bytes(64 * MIB), 9), 0)


@fixture
def damaged_region(out):
    """References to regions, one of which is to an object that the heap does not have."""
    with h5py.File(out, "w") as f:
        d = f.create_dataset("d", data=np.arange(100))
        f["r"] = np.array([d.regionref[i : i + 9] for i in range(2)], dtype=h5py.regionref_dtype)

    def edit(data):
        heap = struct.pack("<Q", data.index(b"GCOL"))
        replaced(heap + struct.pack("<I", 2), heap + struct.pack("<I", 77), 1)(data)

    change(out, edit)


@fixture
def damaged_data_outside(out):
    """A dataset whose bytes begin behind the end."""
    Image().header(48, GROUP, hard(b"d", 0x200)).header(0x200, *bytes_at(0x800, 1 << 20)).write(out)


@fixture
def damaged_short_storage(out):
    """A dataset that has less storage than elements."""
    image = Image().header(48, GROUP, hard(b"d", 0x200))
    image.header(0x200, *bytes_at(0x400, 0x4000, stored=16)).write(out)


@fixture
def damaged_member_outside(out):
    """A compound whose member of eight bytes begins at its last one."""
    eight = b"\x10\0\0\0\x08\0\0\0\0\0\x40\0"
    kind = b"\x36\1\0\0\x08\0\0\0m\0\7" + eight
    image = Image().header(48, GROUP, hard(b"d", 0x200))
    image.header(0x200, *bytes_at(0x400, 0x10, kind=kind, stored=0x80)).write(out)


@fixture
def size_overflow(out):
    """Dimensions whose product is more than 2^64."""
    space = message(1, b"\2\2\0\1" + struct.pack("<QQ", 1 << 40, (1 << 24) + 1))
    _, kind, layout = bytes_at(0x400, 0x400)
    Image().header(48, GROUP, hard(b"d", 0x200)).header(0x200, space, kind, layout).write(out)


@fixture
def damaged_rank(out):
    """A dataspace of more dimensions than there may be."""
    space = message(1, bytes([2, 200, 0, 1]) + struct.pack("<Q", 1) * 200)
    _, kind, layout = bytes_at(0x800, 1)
    Image().header(48, GROUP, hard(b"d", 0x100)).header(0x100, space, kind, layout).write(out)


@fixture
def damaged_attribute_size(out):
    """An attribute of 2^40 bytes in a message of some tens."""
    kind = b"\x10\0\0\0\1\0\0\0\0\0\x08\0"
    space = b"\2\1\0\1" + struct.pack("<Q", 1 << 40)
    attribute = struct.pack("<BBHHHB", 3, 0, 2, len(kind), len(space), 0) + b"a\0" + kind + space + bytes(8)
    Image().header(48, GROUP, message(12, attribute)).write(out)


def no_file(out, data):
    """No HDF5 at all."""
    with open(out, "wb") as f:
        f.write(data)


named("no_hdf5", no_file, b"A text of no importance.\n" * 100)
named("no_hdf5_empty", no_file, b"")
named("no_hdf5_signature_alone", no_file, b"\x89HDF\r\n\x1a\n")


# ---- bytes that nothing accounts for


@fixture
def data_pdf(out):
    """A document whose beginning is in the first KiB, as its readers want it, among a dataset's elements."""
    image = Image().header(48, GROUP, hard(b"d", 0x300)).header(0x300, *bytes_at(0x200, 0x100))
    image.put(0x200, b"%PDF-1.7\n1 0 obj\n").write(out)


@fixture
def hole_elf(out):
    """A program where a dataset was before it was deleted."""
    with h5py.File(out, "w") as f:
        f["gone"] = np.frombuffer(b"\x7fELF\2\1\1" + bytes(9) + b"\2\0\x3e\0\1\0\0\0" + b"\x90" * 9000, "u1")
        f["kept"] = np.arange(10)
        del f["gone"]


@fixture
def escapes_together(out):
    """A script in front of a file that names another one and claims much."""
    raw(out, b"/etc/shadow")
    in_front(out + ".tmp", b"#!/bin/sh\n")
    os.replace(out + ".tmp", out)
    with h5py.File(out, "a") as f:
        f.id.links.create_external(b"l", b"/etc/passwd", b"/")
        h5d.create(f.id, b"huge", h5t.STD_U8LE, h5s.create_simple((1 << 50,)))
