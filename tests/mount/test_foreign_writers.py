"""Files that other writers than today's libhdf5 make, and that libhdf5 reads: what does not decide is told
and ends no read."""
import csv
import ctypes
import os
import struct

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

from mounting import MountTest, direct, error, read, unmount
from support.messages import change_body, change_messages, lookup3
from support.program import H5MOUNT, run

FSCK = os.path.join(os.path.dirname(H5MOUNT), "fsck.h5")
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
DATASPACE, DATATYPE, FILL_VALUE, LINK, LAYOUT, PIPELINE, ATTRIBUTE, REFERENCE_COUNT = (
    1,
    3,
    5,
    6,
    8,
    11,
    12,
    0x16,
)


def reason(path):
    return os.getxattr(path, "user.hdf5.error").decode()


def has_reason(path):
    return "user.hdf5.error" in os.listxattr(path)


def fsck(path):
    p = run(FSCK, path)
    return p.returncode, p.stdout


class SkippedFiltersTest(MountTest):
    def test_shuffle_without_its_value_is_skipped_by_every_chunk(self):
        words = ["s%d" % i for i in range(10)]
        with h5py.File("f.h5", "w") as f:
            text = h5py.string_dtype()
            f.create_dataset("text", data=words, dtype=text, chunks=(4,), compression="gzip", shuffle=True)
            f.create_dataset("nothing", (5,), dtype=text, chunks=(2,), compression="gzip", shuffle=True)
            numbers = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("<i4"), chunks=(1,), shuffle=True)
            numbers[0], numbers[1] = [1, 2], [3]
        mnt = self.mount("f.h5")
        assert read(mnt + "text").split() == [word.encode() for word in words]
        assert read(mnt + "nothing") == b"\n" * 5
        assert read(mnt + "lists") == b"[1,2]\n[3]\n"
        for name in ("text", "nothing", "lists"):
            assert not has_reason(mnt + name), reason(mnt + name)
        with open(mnt + ".h5/csv/text.csv", newline="") as f:
            assert [row[-1] for row in csv.reader(f)][-10:] == words
        assert b"s3" in read(mnt + ".h5/parquet/text.parquet")
        assert fsck("f.h5")[0] == 0, fsck("f.h5")
        copied = run(H5MOUNT, "--text", "f.h5", "/text")
        assert copied.returncode == 0 and all("  | %s\n" % word in copied.stdout for word in words), copied

    def chunks_of_an_unknown_filter(self, masks):
        """Numbers in chunks of 8 KiB; those with a mask are stored plain."""
        numbers = self.numbers = np.arange(1024 * len(masks), dtype="<i8")
        with h5py.File("u.h5", "w", libver="latest") as f:
            d = f.create_dataset("d", numbers.shape, numbers.dtype, chunks=(1024,), compression="lzf")
            f.create_dataset("empty", (4,), dtype="<i8", chunks=(2,), compression="lzf", fillvalue=7)
            for i, mask in enumerate(masks):
                at = 1024 * i
                d.id.write_direct_chunk((at,), numbers[at : at + 1024].tobytes(), filter_mask=mask)
        for name in ("d", "empty"):
            change_body("u.h5", name, PIPELINE, lambda b: b[:2] + struct.pack("<H", 40000) + b[4:])

    def test_an_unknown_filter_that_every_chunk_skips(self):
        self.chunks_of_an_unknown_filter([1, 1, 1])
        mnt = self.mount("u.h5")
        assert read(mnt + "d") == self.numbers.tobytes()
        assert read(mnt + "empty") == np.full(4, 7, "<i8").tobytes()
        assert not has_reason(mnt + "d") and not has_reason(mnt + "empty")
        assert read(mnt + ".h5/csv/d.csv").split()[-1].endswith(b"3071")
        assert fsck("u.h5")[0] == 0, fsck("u.h5")

    def test_a_chunk_that_needs_an_unknown_filter_is_the_only_one_that_cannot_be_read(self):
        self.chunks_of_an_unknown_filter([1, 0, 1])
        mnt = self.mount("u.h5")
        assert not has_reason(mnt + "d")
        assert direct(mnt + "d", 0, 8192) == self.numbers[:1024].tobytes()
        assert direct(mnt + "d", 16384, 8192) == self.numbers[2048:].tobytes()
        assert error(read, mnt + "d") == "Operation not supported"
        assert "40000" in reason(mnt + "d")
        assert len(direct(mnt + ".h5/csv/d.csv", 0, 2048)) == 2048
        code, told = fsck("u.h5")
        assert code == 8 and "40000" in told, told

    def test_where_every_chunk_needs_it_the_dataset_says_so(self):
        self.chunks_of_an_unknown_filter([0, 0])
        mnt = self.mount("u.h5")
        assert "40000" in reason(mnt + "d")
        code, told = fsck("u.h5")
        assert code == 8 and told.count("40000") == 1, told


class FieldsThatDoNotDecideTest(MountTest):
    def is_read(self, expected, code=4, told="the data are read"):
        mnt = self.mount("f.h5")
        assert read(mnt + "d") == expected
        assert not has_reason(mnt + "d")
        lines = [line for line in read(mnt + ".h5/log").decode().splitlines() if "dataset at" in line]
        assert len(lines) == (1 if code else 0), lines
        unmount(mnt)
        got, what = fsck("f.h5")
        assert got == code and (not told or told in what), (got, what)

    def write(self, **how):
        self.numbers = np.arange(100, dtype="<i8")
        with h5py.File("f.h5", "w", libver="latest") as f:
            f.create_dataset("d", data=self.numbers, **how)

    def test_what_libhdf5_writes_is_told_nothing_of(self):
        self.write(chunks=(30,), compression="gzip", shuffle=True, fillvalue=7, maxshape=(None,))
        self.is_read(self.numbers.tobytes(), code=0, told="")

    def test_the_size_of_contiguous_data(self):
        for size in (0, 8, 100000):
            self.write()
            change_body("f.h5", "d", LAYOUT, lambda b: b[:10] + struct.pack("<Q", size))
            self.is_read(self.numbers.tobytes())

    def test_a_maximum_below_the_current_size(self):
        self.write(maxshape=(200,), chunks=(10,))
        change_body("f.h5", "d", DATASPACE, lambda b: b[:12] + struct.pack("<Q", 50))
        self.is_read(self.numbers.tobytes())

    def test_a_fill_value_of_another_size(self):
        self.write(chunks=(30,), fillvalue=7)
        change_body("f.h5", "d", FILL_VALUE, lambda b: bytes([3, b[1] | 0x20]) + struct.pack("<Ii", 4, 7))
        self.is_read(self.numbers.tobytes())

    def test_a_fill_value_that_is_there_and_undefined(self):
        self.write(chunks=(30,), fillvalue=7)
        change_body("f.h5", "d", FILL_VALUE, lambda b: bytes([3, b[1] | 0x30 | 0x0C]) + b[2:])
        mnt = self.mount("f.h5")
        assert read(mnt + "d") == self.numbers.tobytes()

    def test_the_element_size_of_chunks(self):
        """As PureHDF to 2.1.2 wrote every chunked dataset: 4, whatever the type."""

        def wrong(b):
            rank, width = b[3], b[4]
            return b[: 5 + (rank - 1) * width] + (4).to_bytes(width, "little") + b[5 + rank * width :]

        for how in (
            {"compression": "gzip", "shuffle": True},
            {},
            {"maxshape": (None,)},
            {"maxshape": (None,), "compression": "gzip"},
        ):
            self.write(chunks=(30,), **how)
            change_body("f.h5", "d", LAYOUT, wrong)
            self.is_read(self.numbers.tobytes())

    def test_reserved_paddings_and_character_sets(self):
        words = np.array([b"ab", b"cdef"], "S4")
        for change in (lambda b: bytes([b[0], 5, *b[2:]]), lambda b: bytes([b[0], b[1] | 0x70, *b[2:]])):
            with h5py.File("f.h5", "w", libver="latest") as f:
                f["d"] = words
            change_body("f.h5", "d", DATATYPE, change)
            self.is_read(words.tobytes())

    def test_an_enumeration_over_floats(self):
        with h5py.File("f.h5", "w", libver="latest") as f:
            f.create_dataset(
                "d", data=np.array([1, 2], "<i4"), dtype=h5py.enum_dtype({"A": 1, "B": 2}, basetype="<i4")
            )
        # A base of class bit field has the same properties as an integer.
        change_body("f.h5", "d", DATATYPE, lambda b: b[:8] + bytes([b[8] & 0xF0 | 4]) + b[9:])
        self.is_read(np.array([1, 2], "<i4").tobytes())


class MustBeUnderstoodTest(MountTest):
    def write(self):
        with h5py.File("f.h5", "w", libver="latest") as f:
            f["d"] = [1, 2, 3]
            f["d"].attrs["a"] = 1
            f["g/t"] = 1
            f["g"].attrs["a"] = 1
            f["other"] = 5

    def mark(self, name, kind, flags):
        def edit(k, f, body):
            return (kind, flags, body) if k == ATTRIBUTE else (k, f, body)

        change_messages("f.h5", name, edit)

    def test_an_unknown_message_fails_its_object_and_nothing_else(self):
        for kind in (0x19, 0x30, 9, 0xFF):
            self.write()
            self.mark("d", kind, 0x80)
            self.mark("g", kind, 0x80)
            mnt = self.mount("f.h5")
            assert error(read, mnt + "d") == "Operation not supported", kind
            assert (
                error(read, mnt + "g/t") == "Operation not supported"
                or error(os.listdir, mnt + "g") != "none"
            )
            assert "must understand" in reason(mnt + "d")
            assert read(mnt + "other") == struct.pack("<q", 5)
            code, told = fsck("f.h5")
            assert code == 8 and told.count("must understand") == 2, told
            unmount(mnt)

    def test_without_the_flag_it_is_passed_over(self):
        for flags in (0, 0x08):
            self.write()
            self.mark("d", 0x30, flags)
            mnt = self.mount("f.h5")
            assert read(mnt + "d") == struct.pack("<3q", 1, 2, 3)
            unmount(mnt)

    def test_a_known_message_may_have_the_flag(self):
        self.write()
        self.mark("d", ATTRIBUTE, 0x80)
        mnt = self.mount("f.h5")
        assert read(mnt + "d") == struct.pack("<3q", 1, 2, 3)

    def test_a_reference_count_of_another_version(self):
        self.write()
        with h5py.File("f.h5", "a", libver="latest") as f:
            f["again"] = f["d"]
        change_body("f.h5", "d", REFERENCE_COUNT, lambda b: b"\1" + b[1:])
        mnt = self.mount("f.h5")
        assert error(read, mnt + "d") == "Operation not supported"
        assert read(mnt + "other") == struct.pack("<q", 5)


class VersionsTest(MountTest):
    def test_external_links_of_another_form_are_named_and_not_followed(self):
        with h5py.File("there.h5", "w") as f:
            f["x"] = 5
        for form in (0x10, 0x01, 0x00):
            with h5py.File("f.h5", "w", libver="latest") as f:
                f["out"] = h5py.ExternalLink("there.h5", "/x")

            def changed(b):
                at = b.index(b"there.h5") - 1
                return b[:at] + bytes([form]) + b[at + 1 :]

            change_body("f.h5", "/", LINK, changed)
            mnt = self.mount("-o", "external=beneath", "f.h5")
            assert "out" in os.listdir(mnt)
            if form == 0:
                assert read(mnt + "out") == struct.pack("<q", 5)
            else:
                assert error(read, mnt + "out") == "Operation not supported", form
                assert "external link" in reason(mnt + "out")
                code, said = fsck("f.h5")
                assert code == 4 and "LinkMessage.external_version_and_flags" in said, said
                assert said.count("external") == 1, said
            unmount(mnt)

    def test_superblocks_of_unknown_versions_of_their_parts(self):
        for at in (9, 10, 12):
            with h5py.File("f.h5", "w") as f:
                f["x"] = 5
            with open("f.h5", "r+b") as f:
                f.seek(at)
                f.write(b"\1")
            p = run(H5MOUNT, "--list", "f.h5")
            assert p.returncode == 2 and "version" in p.stderr, p

    def test_offsets_and_lengths_of_sixteen_bytes(self):
        # Each allocation has pages of its own, so that what libhdf5 writes behind one hits no other.
        apart = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "16", "MALLOC_MMAP_MAX_": "1000000"}
        written = run("/usr/bin/python3", os.path.join(FIXTURES, "wide_offsets.py"), env=apart)
        assert written.returncode == 0, written
        mnt = self.mount("f.h5")
        assert read(mnt + "x") == np.arange(5).tobytes()
        assert read(mnt + "c") == np.arange(50).tobytes()
        assert read(mnt + "g/s") == b"a\nbc\n"
        assert os.getxattr(mnt, "user.a") == b"3"
        assert fsck("f.h5")[0] == 0, fsck("f.h5")


class DeepTest(MountTest):
    def test_a_tree_of_chunks_has_a_level_for_each(self):
        with open("/proc/self/maps") as f:
            library = ctypes.CDLL(next(line.split()[-1] for line in f if "libhdf5_serial.so" in line))
        create = h5p.create(h5p.FILE_CREATE)
        library.H5Pset_istore_k.argtypes = [ctypes.c_int64, ctypes.c_uint]
        assert library.H5Pset_istore_k(create.id, 1) >= 0
        with h5py.File(h5f.create(b"f.h5", h5f.ACC_TRUNC, create)) as f:
            f.create_dataset("x", data=np.arange(140, dtype="<i4"), chunks=(1,))
        mnt = self.mount("f.h5")
        assert read(mnt + "x") == np.arange(140, dtype="<i4").tobytes()
        assert fsck("f.h5")[0] == 0, fsck("f.h5")

    def write_array_of_chunks(self, count):
        """A fixed array of so many chunks of one byte, of which the sixth and the last are written, as 2 and
        9."""
        with h5py.File("f.h5", "w", libver="latest") as f:
            f.create_dataset("d", (2000,), "u1", chunks=(1,), maxshape=(2000,), fillvalue=3)[5] = 2
        change_body("f.h5", "d", DATASPACE, lambda b: b[:4] + struct.pack("<2Q", count, count))
        with open("f.h5", "rb") as f:
            data = bytearray(f.read())
        header, place = data.index(b"FAHD"), 1 << 20
        assert data[header + 7] == 10  # bits of a page
        struct.pack_into("<2Q", data, header + 8, count, place)
        data[header + 24 : header + 28] = struct.pack("<I", lookup3(bytes(data[header : header + 24])))
        pages = place + 14 + (count >> 13) + 4
        none = b"\xff" * 8
        with open("f.h5", "wb") as f:
            f.write(data)
            f.seek(place - 2)
            f.write(b"\2\x09" + b"FADB\0\0" + struct.pack("<Q", header))
            for number, at in ((5, place - 2), (count - 1, place - 1)):
                page, within = divmod(number, 1024)
                f.seek(place + 14 + page // 8)
                f.write(bytes([0x80 >> page % 8]))
                elements = none * within + struct.pack("<Q", at) + none * (1023 - within)
                f.seek(pages + page * 8196)
                f.write(elements + struct.pack("<I", lookup3(elements)))

    def test_arrays_of_very_many_chunks(self):
        count = 1 << 40
        self.write_array_of_chunks(count)
        mnt = self.mount("f.h5")
        with open(mnt + "d", "rb") as f:
            assert f.read(8) == b"\3\3\3\3\3\2\3\3"
            f.seek(count // 2 + 7)
            assert f.read(4) == b"\3" * 4
            f.seek(count - 3)
            assert f.read() == b"\3\3\x09"

    def test_types_are_nested_as_deeply_as_peers_read_them(self):
        kind = h5t.STD_I32LE
        for _ in range(100):
            kind = h5t.array_create(kind, (1,))
        with h5py.File("f.h5", "w", libver="latest") as f:
            h5d.create(f.id, b"d", kind, h5s.create_simple((2,)))
        mnt = self.mount("f.h5")
        assert read(mnt + "d") == bytes(8)
        assert os.getxattr(mnt + "d", "user.hdf5.dtype").count(b"array") == 100
