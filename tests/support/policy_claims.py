"""What h5py writes of the fixtures of policies (policy_fixtures.py): names of other files, claims, links in
circles, other formats in front and behind."""
import gzip
import io
import os
import struct
import zipfile
import zlib

import h5py
import numpy as np
from h5py import h5d, h5g, h5p, h5s, h5t

MIB = 1 << 20
FIXTURES = {}


def fixture(function):
    FIXTURES[function.__name__] = function
    return function


def named(name, function, *words):
    FIXTURES[name] = lambda out: function(out, *words)


def late():
    """Storage that is allocated when something is written."""
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_alloc_time(h5d.ALLOC_TIME_LATE)
    return plist


def chunks_of(f, name, elements, chunk, stored=(), deflate=1, kind=h5t.STD_U8LE):
    """A chunked dataset whose chunks are those bytes, as stored; the others are not written."""
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_chunk((chunk,))
    for _ in range(deflate):
        plist.set_deflate(9)
    made = h5d.create(f.id, name, kind, h5s.create_simple((elements,)), dcpl=plist)
    for i, chunk_bytes in enumerate(stored):
        made.write_direct_chunk((i * chunk,), chunk_bytes)


# ---- other files that a file names

NAMES = {
    "beside": b"other.h5",
    "below": b"below/other.h5",
    "symlink_beneath": b"inside/other.h5",
    "parent": b"../other.h5",
    "around": b"below/../../other.h5",
    "absolute": b"/etc/passwd",
    "proc": b"/proc/self/environ",
    "symlink_out": b"outside/etc/passwd",
}


def neighbours(out):
    """What the names lead to, or around."""
    place = os.path.dirname(out)
    os.mkdir(os.path.join(place, "below"))
    for name in ("other.h5", "below/other.h5"):
        with open(os.path.join(place, name), "wb") as f:
            f.write(b"judged by its name alone")
    os.symlink("below", os.path.join(place, "inside"))
    os.symlink("/", os.path.join(place, "outside"))


def link(out, *targets):
    """External links."""
    neighbours(out)
    with h5py.File(out, "w", libver="latest") as f:
        f["beside"] = np.arange(10)
        for i, target in enumerate(targets):
            f.id.links.create_external(b"l%d" % i, target, b"/secret")


def raw(out, *names):
    """A dataset whose bytes are in other files."""
    neighbours(out)
    with h5py.File(out, "w") as f:
        plist = late()
        for name in names:
            plist.set_external(name, 0, 16)
        space = h5s.create_simple((16 * len(names),))
        h5d.create(f.id, b"d", h5t.STD_U8LE, space, dcpl=plist)


def virtual(out, file, dataset=b"/secret", name=b"v", numbered=False):
    """A virtual dataset of one source, or of one for each block."""
    neighbours(out)
    with h5py.File(out, "w", libver="latest") as f:
        f["plain"] = np.arange(4, dtype="u1")
        plist = h5p.create(h5p.DATASET_CREATE)
        view = h5s.create_simple((4,), (h5s.UNLIMITED,) if numbered else None)
        if numbered:
            view.select_hyperslab((0,), (h5s.UNLIMITED,), (4,), (4,))
        plist.set_virtual(view, file, dataset, h5s.create_simple((4,)))
        h5d.create(f.id, name, h5t.STD_U8LE, view, dcpl=plist)


for _name, _path in NAMES.items():
    named("link_" + _name, link, _path)
    named("raw_" + _name, raw, _path)
    named("virtual_" + _name, virtual, _path)
named("link_url", link, b"https://example.org/other.h5")
named("link_last_of_many", link, *[b"other.h5"] * 40, b"../other.h5")
named("raw_several", raw, b"other.h5", b"below/other.h5", b"../other.h5")
named("virtual_numbered", virtual, b"part-%b.h5", b"/secret", b"v", True)
named("virtual_numbered_parent", virtual, b"../part-%b.h5", b"/secret", b"v", True)
named("virtual_numbered_around", virtual, b"below/../../part-%b.h5", b"/secret", b"v", True)
named("virtual_self", virtual, b".", b"/v")
named("virtual_own_name", virtual, b"file.h5", b"/plain")


@fixture
def virtual_circle(out):
    """Two virtual datasets, each the source of the other."""
    with h5py.File(out, "w", libver="latest") as f:
        for name, source in ((b"a", b"/b"), (b"b", b"/a")):
            plist, space = h5p.create(h5p.DATASET_CREATE), h5s.create_simple((4,))
            plist.set_virtual(space, b".", source, space)
            h5d.create(f.id, name, h5t.STD_U8LE, space, dcpl=plist)


@fixture
def family_member(out):
    """A part of a family: its bytes go on in a file that is found by a number."""
    name = os.path.join(os.path.dirname(out), "part%d.h5")
    with h5py.File(name, "w", driver="family", memb_size=MIB) as f:
        f["d"] = np.arange(10)
    os.rename(name % 0, out)


@fixture
def split_metadata(out):
    """The metadata of a file whose raw data are in another one."""
    place = os.path.dirname(out)
    with h5py.File(os.path.join(place, "s"), "w", driver="split", meta_ext=b"-m.h5", raw_ext=b"-r.h5") as f:
        f["d"] = np.arange(10)
    os.rename(os.path.join(place, "s-m.h5"), out)


@fixture
def split_absolute(out):
    """The same, where the other file's name is absolute."""
    split_metadata(out)
    with open(out, "rb") as f:
        data = f.read()
    assert data.count(b"%s-r.h5\0") == 1
    at = data.index(b"%s-r.h5\0")
    with open(out, "wb") as f:
        f.write(data[:at] + b"/shadow\0" + data[at + 8 :])


# ---- claims

ZEROS = zlib.compress(bytes(8 * MIB), 9)  # about 8 KiB


def deflate_bomb(out, chunks):
    with h5py.File(out, "w", libver="latest") as f:
        chunks_of(f, b"bomb", chunks * 8 * MIB, 8 * MIB, [ZEROS] * chunks)


named("bomb_deflate", deflate_bomb, 64)  # 512 MiB over 512 KiB
named("bomb_within_limits", deflate_bomb, 31)  # 248 MiB


@fixture
def bomb_deflate_twice(out):
    """24 GiB over some hundred bytes a chunk."""
    with h5py.File(out, "w", libver="latest") as f:
        chunks_of(
            f, b"bomb", 24 << 30, 32 * MIB, [zlib.compress(zlib.compress(bytes(32 * MIB), 9), 9)] * 768, 2
        )


@fixture
def bomb_of_many(out):
    """Ten datasets, each of them too small to be judged, that claim 1.6 GiB together."""
    with h5py.File(out, "w", libver="latest") as f:
        for i in range(10):
            chunks_of(f, b"bomb%d" % i, 160 * MIB, 8 * MIB, [ZEROS] * 20)


@fixture
def bomb_never_written(out):
    """A dataset of 32 GiB of which nothing is stored."""
    with h5py.File(out, "w") as f:
        h5d.create(f.id, b"d", h5t.STD_U8LE, h5s.create_simple((32 << 30,)), dcpl=late())


@fixture
def bomb_fill_value(out):
    """2^25 elements of 64 MiB, each of which is the fill value."""
    with h5py.File(out, "w", libver="latest") as f:
        kind = h5t.create(h5t.OPAQUE, 64 * MIB)
        kind.set_tag(b"wide")
        h5d.create(f.id, b"d", kind, h5s.create_simple((1 << 25,)), dcpl=late())


def claims(out, elements, chunk=None):
    with h5py.File(out, "w") as f:
        if chunk:
            chunks_of(f, b"d", elements, chunk, [zlib.compress(bytes(chunk))])
        else:
            h5d.create(f.id, b"d", h5t.STD_U8LE, h5s.create_simple((elements,)), dcpl=late())


named("size_exabyte", claims, 1 << 60)
named("size_exabyte_chunked", claims, 1 << 60, MIB)
named("size_met", claims, 64 << 30)  # the limit, which is not passed
named("size_passed", claims, (64 << 30) + 1)


@fixture
def size_virtual(out):
    """A virtual dataset of 2^50 elements that has no source at all."""
    with h5py.File(out, "w", libver="latest") as f:
        plist, space = h5p.create(h5p.DATASET_CREATE), h5s.create_simple((1 << 50,))
        view = h5s.create_simple((1 << 50,))
        view.select_hyperslab((0,), (4,))
        f["plain"] = np.arange(4, dtype="u1")
        plist.set_virtual(view, b".", b"/plain", h5s.create_simple((4,)))
        h5d.create(f.id, b"v", h5t.STD_U8LE, space, dcpl=plist)


def tiny(out, count):
    """Chunks of eight bytes."""
    with h5py.File(out, "w", libver="latest") as f:
        f.create_dataset("d", data=np.arange(count, dtype="<u8"), chunks=(1,))


named("tiny_chunks_met", tiny, 4096)
named("tiny_chunks", tiny, 4097)


@fixture
def tiny_chunks_implicit(out):
    """2^20 chunks of a byte that need no index: 2 MiB."""
    with h5py.File(out, "w", libver="latest") as f:
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((1,))
        plist.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5d.FILL_TIME_NEVER)
        h5d.create(f.id, b"d", h5t.STD_U8LE, h5s.create_simple((MIB,)), dcpl=plist)


@fixture
def counted(out):
    """Twenty objects and the root, thirty attributes, forty chunks of 4 KiB."""
    with h5py.File(out, "w") as f:
        for i in range(19):
            f.create_group("g%d" % i)
        f.create_dataset("d", data=np.arange(40 * 4096, dtype="u1"), chunks=(4096,))
        for i in range(30):
            f["d"].attrs["a%d" % i] = i


def deep(out, levels):
    """Groups in groups."""
    with h5py.File(out, "w", libver="latest") as f:
        group = f.id
        for _ in range(levels):
            group = h5g.create(group, b"g")


named("groups_64_deep", deep, 64)
named("groups_65_deep", deep, 65)
named("groups_129_deep", deep, 129)


@fixture
def soft_links_100_deep(out):
    """Soft links, each of which leads to the next one."""
    with h5py.File(out, "w", libver="latest") as f:
        f["l100"] = 1
        for i in range(100):
            f["l%d" % i] = h5py.SoftLink("/l%d" % (i + 1))


def nested(out, levels, attribute=False):
    """A type of types."""
    kind = h5t.STD_U8LE
    for _ in range(levels):
        outer = h5t.create(h5t.COMPOUND, kind.get_size())
        outer.insert(b"m", 0, kind)
        kind = outer
    with h5py.File(out, "w", libver="latest") as f:
        space = h5s.create(h5s.SCALAR)
        if attribute:
            h5py.h5a.create(f.id, b"a", kind, space)
        else:
            h5d.create(f.id, b"d", kind, space)


named("types_60_deep", nested, 60)
named("types_70_deep", nested, 70)
named("types_140_deep", nested, 140)
named("types_70_deep_attribute", nested, 70, True)


# ---- links in circles


@fixture
def circle_hard(out):
    """A hard link to a group above."""
    with h5py.File(out, "w", libver="latest") as f:
        below = f.create_group("a/b")
        below["up"] = f["a"]


@fixture
def circle_root(out):
    """A hard link to the root, in the groups of before version 1.8."""
    with h5py.File(out, "w") as f:
        f.create_group("a/b")["up"] = f["/"]


@fixture
def circle_soft(out):
    """Three soft links, each of which leads to the next one."""
    with h5py.File(out, "w") as f:
        for name, target in ("ab", "bc", "ca"):
            f[name] = h5py.SoftLink("/" + target)


@fixture
def soft_link_up(out):
    """Soft links to a group above, which is no circle of links: programs write them."""
    with h5py.File(out, "w") as f:
        f.create_group("a/b")["up"] = h5py.SoftLink("/a")


# ---- other formats in front and behind

FRONTS = {
    "elf": b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHI", 2, 62, 1),
    "pe": b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0\x64\x86",
    "script": b"#!/bin/sh\nexec /bin/sh\n",
    "zip": b"PK\3\4\x14" + bytes(25),
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "pdf_later": b"\n" * 100 + b"%PDF-1.7\n",
    "html": b"<!DOCTYPE html>\n<script>alert(1)</script>\n",
    "html_later": b" \r\n\t<HTML><body onload=alert(1)>",
    "text": b"Measured on the third of May.\n",
    "zeros": b"",
    "matlab": b"MATLAB 7.3 MAT-file, Platform: GLNXA64, HDF5 schema 1.00 .".ljust(116) + bytes(8) + b"\0\2IM",
}


def in_front(out, front, behind=b"", block=512):
    """A sound file behind a user block that begins so."""
    with h5py.File(out, "w", userblock_size=block) as f:
        f["d"] = np.arange(1000)
    with open(out, "r+b") as f:
        f.write(front)
        f.seek(0, os.SEEK_END)
        f.write(behind)


def archive(front=b""):
    """A ZIP archive that tells where its members are as if it stood behind those bytes."""
    out = io.BytesIO()
    out.write(front)
    with zipfile.ZipFile(out, "a") as z:
        z.writestr(zipfile.ZipInfo("run.py"), "print(1)\n")
    return out.getvalue()[len(front) :]


for _name, _front in FRONTS.items():
    named("front_" + _name, in_front, _front)
named("front_elf_2048", in_front, FRONTS["elf"], b"", 2048)


def behind(out, tail, libver="earliest"):
    """A sound file with bytes behind its end."""
    with h5py.File(out, "w", libver=libver) as f:
        f["d"] = np.arange(1000)
    with open(out, "ab") as f:
        f.write(tail)


named("behind_zip", behind, archive())
named("behind_zip_latest", behind, archive(), "latest")
named("behind_zip_commented", behind, archive()[:-2] + struct.pack("<H", 5000) + b"c" * 5000)
named("behind_zip_padded", behind, bytes(4096) + archive())
named("behind_elf", behind, FRONTS["elf"] + bytes(200))
named("behind_elf_padded", behind, bytes(512) + FRONTS["elf"] + bytes(200))
named("behind_gzip", behind, gzip.compress(b"hidden", mtime=0))
named("behind_zeros", behind, bytes(4096))
named("behind_noise", behind, np.random.default_rng(5).bytes(4000))


@fixture
def zip_around(out):
    """An archive of which the file is the first member: its header in front, its directory behind."""
    with h5py.File(out, "w", userblock_size=512) as f:
        f["d"] = np.arange(1000)
    with open(out, "rb") as f:
        inner = f.read()[512:]
    head = (
        struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 33, 0, len(inner), len(inner), 4, 478) + b"d.h5"
    )
    data = head + bytes(512 - len(head)) + inner
    with open(out, "wb") as f:
        f.write(data + archive(data))


@fixture
def file_in_user_block(out):
    """A file, shown to all, that stands in the user block of another one."""
    inner = io.BytesIO()
    with h5py.File(inner, "w", libver="latest") as f:
        f["seen"] = 1
    assert len(inner.getvalue()) < 4096
    in_front(out, inner.getvalue(), b"", 4096)
