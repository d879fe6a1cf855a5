#!/usr/bin/python3
"""Writes the corpus of HDF5 files that the tests need, with h5py and libhdf5.

    make_corpus.py DIRECTORY             into a directory that is not there yet
    make_corpus.py --cached DIRECTORY    once for this version of the script, below DIRECTORY; prints the
                                         place

generated/ every superblock, object header, group, attribute list, chunk index and storage layout that libhdf5
            1.10 writes; X.h5.json says what libhdf5 says of X.h5: the superblock, its sizes, the user block
filters/    every filter that h5py writes; X.json in the form that tests/filter/verify_corpus.py reads
hostile/    the same kinds of files, damaged: cut short, or bits flipped behind each signature
sparse/, filters/frames/    from tests/data: no library of Debian writes them
expected_chunks.txt         chunks of every chunked dataset: file, path, number of chunks, then up to six of
                            them as element-offsets:address:stored-size:filter-mask, separated by tabs
"""
import argparse, ctypes, glob, hashlib, json, os, shutil, tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
OLD, V18, LATEST = ("earliest", "v108"), ("v108", "v108"), ("latest", "latest")
DENSE_ATTRIBUTES = 300
SIGNATURES = [
    b"TREE",
    b"HEAP",
    b"SNOD",
    b"OHDR",
    b"OCHK",
    b"FRHP",
    b"FHDB",
    b"FHIB",
    b"BTHD",
    b"BTLF",
    b"BTIN",
    b"FAHD",
    b"FADB",
    b"EAHD",
    b"EAIB",
    b"EASB",
    b"EADB",
    b"GCOL",
    b"SMTB",
    b"SMLI",
]


# ---- generated/


def libhdf5():
    """The library that h5py has loaded; its version is that of the system."""
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libhdf5_serial.so" in line))


def lenient_access():
    """How a file with numbers of few bits is opened: libhdf5 1.14.4 and newer refuse them unless asked."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    unusual_numbers = 1
    if hasattr(libhdf5(), "H5Pset_relax_file_integrity_checks"):
        libhdf5().H5Pset_relax_file_integrity_checks(
            ctypes.c_int64(access.id), ctypes.c_uint64(unusual_numbers)
        )
    return access


def fill_groups(f):
    """Groups of 0, 8, 60 and 2,000 links; one of which half the links were deleted."""
    f.create_group("empty")
    few = f.create_group("few")
    for i in range(8):
        few["link %d" % i] = np.int32(i)
    many = f.create_group("many")
    for i in range(60):
        many.create_dataset("data_%03d" % i, data=np.arange(4) + i)
    big = f.create_group("big")
    for i in range(2000):
        big["%x_%d" % (i * 2654435761 % 65536, i)] = h5py.SoftLink("/many/data_%03d" % (i % 60))
    ordered = f.create_group("ordered", track_order=True)
    for i in range(40):
        ordered["%d" % (i * 7 % 40)] = h5py.SoftLink("/few/link 0")
    deleted = f.create_group("deleted")
    for i in range(400):
        deleted["x%d" % i] = h5py.SoftLink("/gone")
    for i in range(0, 400, 2):
        del deleted["x%d" % i]
    links = f.create_group("links")
    links["hard"] = many["data_000"]
    links["cycle"] = f["/"]
    links["absolute"] = h5py.SoftLink("/few")
    links["relative"] = h5py.SoftLink("../links/./hard")
    links["elsewhere"] = h5py.ExternalLink("old_small.h5", "/x")
    for name in (".hidden", "sp ace", "%41", "%", "tab\there", "Ångström", "n" * 300):
        links[name] = np.int8(1)


def fill_attributes(f):
    """Attributes of every class that h5py writes, in compact and dense lists, of groups and datasets."""
    kinds = {
        "int": np.int16(-5),
        "uint": np.uint64(2**64 - 1),
        "float": np.float32(0.1),
        "nan": np.float64("nan"),
        "complex": np.complex64(1 + 2j),
        "text": "é and a\nline",
        "fixed": np.bytes_("padded"),
        "texts": np.array(["one", "two"], dtype=object),
        "bool": np.bool_(True),
        "array": np.arange(6).reshape(2, 3),
        "big_endian": np.arange(3, dtype=">i4"),
        "empty": h5py.Empty("f4"),
    }
    compact, dataset = f.create_group("kinds"), f.create_dataset("dataset", data=np.arange(3))
    for holder in (compact, dataset):
        for name, value in kinds.items():
            holder.attrs[name] = value
    compact.attrs["compound"] = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", ">f8")])
    compact.attrs["enum"] = np.array([0, 1], dtype=h5py.enum_dtype({"OFF": 0, "ON": 1}, "u1"))
    compact.attrs["reference"] = f.ref
    dense = f.create_group("dense")
    for i in range(DENSE_ATTRIBUTES):
        dense.attrs["attribute_%03d" % i] = np.arange(i % 9)
    for i in range(0, DENSE_ATTRIBUTES, 3):
        dense.attrs["attribute_%03d" % i] = "replaced %d" % i


def chunked(f, name, shape, chunks, maxshape=None, *, early=False, dtype="<i4", write=True, **more):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if early:
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        properties.set_chunk(chunks)
        space = h5py.h5s.create_simple(shape, maxshape)
        h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, dcpl=properties)
        dataset = f[name]
    else:
        dataset = f.create_dataset(name, shape, chunks=chunks, maxshape=maxshape, dtype=dtype, **more)
    if write:
        dataset[...] = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    return dataset


def fill_chunks(f):
    """With `latest` one dataset for each chunk index, otherwise version 1 B-trees."""
    for suffix, filters in (("", {}), ("_gz", {"compression": "gzip", "shuffle": True})):
        chunked(f, "single" + suffix, (5, 7), (5, 7), **filters)
        chunked(f, "fixed" + suffix, (12, 13), (1, 4), **filters)
        chunked(f, "fixed_paged" + suffix, (3000,), (1,), **filters)
        chunked(f, "extensible" + suffix, (300, 3), (1, 2), (None, 3), **filters)
        chunked(f, "extensible_second" + suffix, (3, 50), (2, 1), (3, None), **filters)
        chunked(f, "tree" + suffix, (30, 31), (1, 2), (None, None), **filters)
        chunked(f, "tree_deep" + suffix, (60, 61), (1, 1), (None, None), dtype="<i2", **filters)
        holes = chunked(
            f, "holes" + suffix, (100, 10), (9, 3), (None, 10), write=False, fillvalue=-7, **filters
        )
        holes[50:60, 2:5] = 3
    chunked(f, "implicit", (20, 21), (3, 4), early=True)
    chunked(f, "extensible_long", (20000,), (1,), (None,), dtype="<u1")
    grown = chunked(f, "shrunk_and_grown", (50, 6), (7, 6), (None, 6), fillvalue=9)
    grown.resize(13, axis=0)
    grown.resize(40, axis=0)
    scattered = chunked(f, "masked", (40,), (10,), write=False, compression="gzip")
    scattered.id.write_direct_chunk((10,), np.arange(10, dtype="<i4").tobytes(), 1)


def fill_datasets(f):
    """Every other layout and class of datatype."""
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I16BE, h5py.h5s.create_simple((9,)), dcpl=compact)
    f["compact"][...] = range(9)
    f["contiguous"] = np.random.default_rng(1).random((17, 5))
    f["scalar"] = np.float64(2.5)
    f["null"] = h5py.Empty("i4")
    f["zero_extent"] = np.zeros((0, 4))
    f.create_dataset("never_written", (30,), "f4", fillvalue=1.5)
    f["text"] = np.array(["one", "two", "a\nb", ""], dtype=object)
    f["fixed_text"] = np.array([b"ab", b"cdef"])
    f["bool"] = np.array([True, False])
    f["complex"] = np.array([1 + 2j, -3j])
    f["compound"] = np.array(
        [(1, 2.5, [1, 2, 3])], dtype=np.dtype([("a", "i1"), ("b", ">f8"), ("c", "<i2", 3)], align=True)
    )
    f["enum"] = np.array([0, 2], dtype=h5py.enum_dtype({"RED": 0, "BLUE": 2}, "i2"))
    f["opaque"] = np.array([b"abc", b"def"], dtype="V3")
    lists = f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype(np.int16))
    lists[0], lists[2] = [1, 2], [3]
    f["half"], f["wide"] = np.arange(4, dtype="f2"), np.arange(4, dtype="longdouble")
    f["committed"] = np.dtype([("x", "f4"), ("y", "f4")])
    f.create_dataset("of_committed", (3,), dtype=f["committed"])
    f["references"] = np.array([f["scalar"].ref, f["contiguous"].ref], dtype=h5py.ref_dtype)
    f["regions"] = np.array([f["contiguous"].regionref[2:4, ::2]], dtype=h5py.regionref_dtype)


def fill_virtual(f):
    for i in range(3):
        f["part_%d" % i] = np.arange(10) + 100 * i
    layout = h5py.VirtualLayout((3, 12), "<i8")
    for i in range(3):
        layout[i, 1:11] = h5py.VirtualSource(".", "part_%d" % i, (10,))
    f.create_virtual_dataset("stacked", layout, fillvalue=-1)
    layout = h5py.VirtualLayout((2, 4), "<i8")
    layout[0, :] = h5py.VirtualSource("old_small.h5", "x", (4,))
    layout[1, :] = h5py.VirtualSource("missing.h5", "x", (4,))
    f.create_virtual_dataset("elsewhere", layout, fillvalue=7)


def create(place, fill, *, libver=LATEST, prepare=None, **more):
    """A file through the low-level calls, so that `prepare` may set what h5py has no argument for."""
    properties = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    if prepare:
        prepare(properties)
    if more.get("userblock"):
        properties.set_userblock(more["userblock"])
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    bounds = {
        "earliest": h5py.h5f.LIBVER_EARLIEST,
        "v108": h5py.h5f.LIBVER_V18,
        "latest": h5py.h5f.LIBVER_LATEST,
    }
    access.set_libver_bounds(bounds[libver[0]], bounds[libver[1]])
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    with h5py.File(h5py.h5f.create(place.encode(), h5py.h5f.ACC_EXCL, properties, access)) as f:
        fill(f)


def share_messages(properties):
    """Two indexes of shared messages: datatypes and attributes from 20 bytes, everything else from 30."""
    library = libhdf5()
    number = ctypes.c_int64(properties.id)
    assert library.H5Pset_shared_mesg_nindexes(number, 2) >= 0
    assert library.H5Pset_shared_mesg_index(number, 0, 1 << 3 | 1 << 12, 20) >= 0
    assert library.H5Pset_shared_mesg_index(number, 1, 1 << 1 | 1 << 5 | 1 << 11, 30) >= 0


def fill_shared(f):
    for i in range(80):
        dataset = f.create_dataset(
            "d%02d" % i,
            (i % 4 + 1, 5),
            dtype=[("a", "i4"), ("b", "f8")],
            chunks=True,
            fillvalue=np.array((3, 4), dtype=[("a", "i4"), ("b", "f8")]),
            compression="gzip",
        )
        dataset.attrs["units"] = "metres per second squared, %d" % (i % 3)


def write_external(f, place):
    with open(os.path.join(place, "raw.bin"), "wb") as raw:
        raw.write(bytes(range(200)))
    f.create_dataset("external", (50,), "<i4", external=[("raw.bin", 0, 200)])


def describe(path):
    """What libhdf5 says of a file."""
    with h5py.File(path, "r") as f:
        properties = f.id.get_create_plist()
        addresses, lengths = properties.get_sizes()
        count = ctypes.c_uint(0)
        libhdf5().H5Pget_shared_mesg_nindexes(ctypes.c_int64(properties.id), ctypes.byref(count))
        said = {
            "superblock_version": properties.get_version()[0],
            "userblock": properties.get_userblock(),
            "sizeof_addr": addresses,
            "sizeof_size": lengths,
            "sohm_indexes": count.value,
        }
    with open(path + ".json", "w") as out:
        json.dump(said, out, indent=1)
        out.write("\n")


def write_generated(place):
    os.mkdir(place)

    def at(name):
        return os.path.join(place, name)

    create(at("old_small.h5"), lambda f: f.update({"x": np.arange(4)}), libver=OLD)
    for era, libver in (("old", OLD), ("v18", V18), ("new", LATEST)):
        for name, fill in (
            ("groups", fill_groups),
            ("attributes", fill_attributes),
            ("chunks", fill_chunks),
            ("datasets", fill_datasets),
        ):
            create(at(f"{name}_{era}.h5"), fill, libver=libver)
    create(at("virtual.h5"), fill_virtual)
    # The ratios of B-trees are in superblock version 1 only.
    create(
        at("superblock1.h5"),
        fill_chunks,
        libver=OLD,
        prepare=lambda p: libhdf5().H5Pset_istore_k(ctypes.c_int64(p.id), 8),
    )
    create(at("narrow.h5"), fill_groups, libver=OLD, prepare=lambda p: p.set_sizes(4, 4))
    create(at("userblock.h5"), fill_datasets, libver=OLD, userblock=1024)
    create(at("shared_messages.h5"), fill_shared, prepare=share_messages)
    create(at("external.h5"), lambda f: write_external(f, place))
    create(
        at("paged.h5"),
        fill_attributes,
        prepare=lambda p: p.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_PAGE, True, 1),
    )
    for path in sorted(glob.glob(at("*.h5"))):
        describe(path)
    with h5py.File(at("family-%d.h5"), "w", driver="family", memb_size=4096) as f:
        fill_datasets(f)
    with h5py.File(at("split"), "w", driver="split") as f:
        fill_datasets(f)


# ---- chunks, filters, damage


def chunk_lines(top, name):
    lines = []

    def visit(path, dataset):
        if not isinstance(dataset, h5py.Dataset) or dataset.chunks is None:
            return
        # libhdf5 1.10 lists the chunks of an extensible array whose unlimited dimension is not the first
        # under wrong offsets.
        if path.startswith("extensible_second"):
            return
        n = dataset.id.get_num_chunks()
        chosen = sorted({0, 1, n // 3, 2 * n // 3, n - 2, n - 1} & set(range(n)))
        infos = [dataset.id.get_chunk_info(i) for i in chosen]
        parts = [
            ":".join(
                [",".join(map(str, i.chunk_offset)), str(i.byte_offset), str(i.size), str(i.filter_mask)]
            )
            for i in infos
        ]
        lines.append("\t".join([name, "/" + path, str(n)] + parts) + "\n")

    with h5py.File(
        h5py.h5f.open(os.path.join(top, name).encode(), h5py.h5f.ACC_RDONLY, lenient_access())
    ) as f:
        f.visititems(visit)
    return lines


def write_filters(place):
    """Every filter alone and in company, over several types; the sums are libhdf5's own decoding."""
    os.mkdir(place)
    random = np.random.default_rng(7)
    data = {
        "i2": (random.integers(-200, 200, (50, 7))).astype("<i2"),
        "f8": np.cumsum(random.random((50, 7)), 0).astype(">f8"),
        "u1": random.integers(0, 3, (50, 7)).astype("u1"),
    }
    kinds = {
        "deflate": {"compression": "gzip"},
        "shuffle": {"shuffle": True},
        "fletcher32": {"fletcher32": True},
        "lzf": {"compression": "lzf"},
        "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
        "scaleoffset": {"scaleoffset": 0},
        "szip": {"compression": "szip"},
    }
    path, manifest = os.path.join(place, "h5py.h5"), {}
    access = lenient_access()
    with h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_EXCL, fapl=access)) as f:
        for kind, arguments in kinds.items():
            for name, values in data.items():
                if kind == "scaleoffset" and name == "f8":
                    arguments = {"scaleoffset": 3}
                f.create_dataset(f"{kind}/{name}", data=values, chunks=(16, 4), **arguments)
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((16,))
        properties.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
        kind = h5py.h5t.STD_I32LE.copy()
        kind.set_precision(11)
        h5py.h5d.create(f.id, b"nbit", kind, h5py.h5s.create_simple((50,)), dcpl=properties)
        f["nbit"][...] = np.arange(50) - 20
    with h5py.File(h5py.h5f.open(path.encode(), h5py.h5f.ACC_RDONLY, access)) as f:

        def visit(name, dataset):
            if not isinstance(dataset, h5py.Dataset):
                return
            properties, kind = dataset.id.get_create_plist(), dataset.id.get_type()
            raw = np.zeros(dataset.shape, np.dtype((np.void, kind.get_size())))
            dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, kind)
            filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
            manifest["/" + name] = {
                "shape": dataset.shape,
                "chunk": dataset.chunks,
                "filters": [{"id": one[0], "cd": list(one[2])} for one in filters],
                "sha256": hashlib.sha256(raw.tobytes()).hexdigest(),
            }

        f.visititems(visit)
    with open(os.path.join(place, "h5py.json"), "w") as out:
        json.dump({"datasets": manifest}, out, indent=1)


def write_hostile(top, place):
    """Each small file cut short in several places, and with a bit flipped in the first node of each kind."""
    os.mkdir(place)
    for path in sorted(glob.glob(os.path.join(top, "generated", "*.h5"))):
        with open(path, "rb") as f:
            sound = f.read()
        stem = os.path.join(place, os.path.basename(path)[:-3])
        if len(sound) > 1 << 20:
            continue
        for part in (1, 3):
            with open(f"{stem}-cut{part}.h5", "wb") as out:
                out.write(sound[: len(sound) * part // 4])
        for signature in SIGNATURES:
            at = sound.find(signature)
            if at < 0 or len(sound) > 100_000:
                continue
            bad = bytearray(sound)
            bad[at + 9] ^= 0x10
            with open(f"{stem}-{signature.decode()}.h5", "wb") as out:
                out.write(bad)


def write_all(top):
    os.mkdir(top)
    write_generated(os.path.join(top, "generated"))
    write_filters(os.path.join(top, "filters"))
    write_hostile(top, os.path.join(top, "hostile"))
    shutil.copytree(os.path.join(ROOT, "tests/data/sparse"), os.path.join(top, "sparse"))
    shutil.copytree(os.path.join(ROOT, "tests/data/frames"), os.path.join(top, "filters", "frames"))
    with open(os.path.join(top, "expected_chunks.txt"), "w") as out:
        for era in ("old", "v18", "new"):
            out.writelines(chunk_lines(top, f"generated/chunks_{era}.h5"))
        out.writelines(chunk_lines(top, "generated/superblock1.h5"))


def cached(above):
    """The corpus of this very script, made where it is not there yet; two processes may make it at once."""
    with open(os.path.abspath(__file__), "rb") as f:
        place = os.path.join(above, "corpus-" + hashlib.sha256(f.read()).hexdigest()[:16])
    if os.path.isdir(place):
        return place
    load_h5py()
    os.makedirs(above, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above) as scratch:
        write_all(os.path.join(scratch, "corpus"))
        try:
            os.rename(os.path.join(scratch, "corpus"), place)
        except OSError:  # the other one was first
            pass
    return place


def load_h5py():
    global h5py, np
    import h5py
    import numpy as np


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--cached", action="store_true", help="once for this version of the script")
    words.add_argument("directory")
    given = words.parse_args()
    if given.cached:
        print(cached(given.directory))
    else:
        load_h5py()
        write_all(given.directory)


if __name__ == "__main__":
    main()
