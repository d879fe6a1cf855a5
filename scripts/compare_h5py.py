#!/usr/bin/python3
"""Compares an HDF5 file, read with h5py (libhdf5), with its mount: links, every dataset's bytes, every
attribute's value. An independent second reader, for any file that it can open.

    compare_h5py.py FILE MOUNTPOINT            a file that is mounted already
    compare_h5py.py --h5mount PROGRAM [--driver family|split] FILE     mounts it first

Prints one line per difference, then counts. What h5py itself cannot read (missing filters, unsupported types)
is counted separately and only has to be listed by the mount. Exit code 1 where anything differs.
"""
import argparse, json, math, os, re, subprocess, sys, tempfile, time

import h5py
import numpy as np

SLICE = 8 << 20
SETS = {"family": {"driver": "family", "memb_size": 0}, "split": {"driver": "split"}}


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def shown(name, limit=255, whole_names=True):
    """A name of the file as the mount shows it."""
    if not name:
        return b"%"
    if whole_names and name in (b".", b".."):
        return name.replace(b".", b"%2E")
    out = b"%25" if name == b"%" else re.sub(rb"%(?=[0-9A-Fa-f]{2})", b"%25", name)
    return within(limit, out.replace(b"\0", b"%00").replace(b"/", b"%2F"), name)


def within(limit, out, name):
    """The name as shown, cut where it is too long."""
    if len(out) <= limit:
        return out
    cut = out[: limit - 17]
    while cut and (out[len(cut)] & 0xC0) == 0x80:
        cut = cut[:-1]
    return cut + b"~%016x" % fnv1a(name)


class Unreadable(Exception):
    """h5py cannot read it, so there is no reference."""


def has_parts(kind):
    """References and variable-length parts inside other types, which have no byte form."""
    if kind.get_class() == h5py.h5t.COMPOUND:
        return any(has_parts(kind.get_member_type(i)) for i in range(kind.get_nmembers()))
    if kind.get_class() == h5py.h5t.ARRAY:
        return has_parts(kind.get_super())
    if kind.get_class() == h5py.h5t.STRING:
        return kind.is_variable_str()
    return kind.get_class() in (h5py.h5t.REFERENCE, h5py.h5t.VLEN)


class Compare:
    def __init__(self, root):
        self.root = os.fsencode(root)
        self.count = {
            "groups": 0,
            "datasets": 0,
            "bytes": 0,
            "attributes": 0,
            "symlinks": 0,
            "beyond h5py": 0,
        }
        self.differences = []
        self.seen = set()

    def say(self, path, text):
        self.differences.append(f"{path.decode('utf-8', 'backslashreplace')}: {text}")
        print(self.differences[-1], flush=True)

    def group(self, group, place):
        self.count["groups"] += 1
        self.attributes(group, place)
        names = []
        group.links.iterate(lambda name: names.append(name) or None)
        listed = set(os.listdir(place))
        if listed != {shown(n) for n in names}:
            self.say(place, f"lists {len(listed)} names, h5py {len(names)}")
        for name in names:
            at = place + b"/" + shown(name)
            kind = group.links.get_info(name).type
            if kind != h5py.h5l.TYPE_HARD:
                self.count["symlinks"] += 1
                if not os.path.islink(at):
                    self.say(at, "is not a symlink")
                continue
            try:
                child = h5py.h5o.open(group, name)
            except Exception:
                self.count["beyond h5py"] += 1
                if not os.path.lexists(at):
                    self.say(at, "is not listed")
                continue
            self.object(child, at)

    def object(self, child, at):
        key = h5py.h5o.get_info(child).addr
        if isinstance(child, h5py.h5g.GroupID):
            if key not in self.seen:
                self.seen.add(key)
                self.group(child, os.path.realpath(at))
        elif isinstance(child, h5py.h5d.DatasetID):
            self.attributes(child, at)
            try:
                self.dataset(child, at)
            except Unreadable:
                self.count["beyond h5py"] += 1
        elif os.path.isfile(at):
            self.attributes(child, at)
        else:
            self.say(at, "a committed datatype is not a file")

    # ---- bytes

    def dataset(self, dataset, at):
        self.count["datasets"] += 1
        kind, space = dataset.get_type(), dataset.get_space()
        if space.get_simple_extent_type() == h5py.h5s.NULL:
            return os.stat(at).st_size and self.say(at, "a null dataspace is not empty")
        if kind.get_class() == h5py.h5t.STRING and kind.is_variable_str():
            return self.lines(dataset, at)
        shape = space.get_simple_extent_dims()
        elements = math.prod(shape)
        if has_parts(kind):
            with open(at, "rb") as f:
                rows = f.read().split(b"\n")
            if len(rows) - 1 != elements or not all(self.is_json(row) for row in rows[:-1]):
                self.say(at, f"is not {elements} lines of JSON")
            return None
        size = elements * kind.get_size()
        if size >= 1 << 63:  # larger than a file can be: listed, with size 0
            self.count["beyond h5py"] += 1
            return os.stat(at).st_size and self.say(at, "is too large, but has a size")
        if os.stat(at).st_size != size:
            return self.say(at, f"st_size {os.stat(at).st_size}, h5py {size}")
        with open(at, "rb") as f:
            for mine, offset in self.slabs(dataset, kind, shape):
                if f.read(len(mine)) != mine:
                    return self.say(at, f"bytes differ in the slab at {offset}")
                self.count["bytes"] += len(mine)
            if f.read(1):
                self.say(at, "has bytes left over")

    @staticmethod
    def is_json(row):
        try:
            json.loads(row)
        except ValueError:
            return False
        return True

    def slabs(self, dataset, kind, shape):
        """The file's own bytes in row-major order, some rows at a time: memory type = file type."""
        row = math.prod(shape[1:]) * kind.get_size()
        step = max(1, SLICE // max(1, row))
        rows = shape[0] if shape else 1
        if 0 in shape:
            return
        for first in range(0, rows, step):
            count = min(step, rows - first)
            buffer = np.zeros(count * row if shape else kind.get_size(), "u1")
            raw = buffer.view(np.dtype((np.void, kind.get_size())))
            try:
                if shape:
                    block = (count,) + tuple(shape[1:])
                    selected = dataset.get_space()
                    selected.select_hyperslab((first,) + (0,) * (len(shape) - 1), block)
                    dataset.read(h5py.h5s.create_simple(block), selected, raw.reshape(block), kind)
                else:
                    dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, raw.reshape(()), kind)
            except Exception as why:
                raise Unreadable(str(why)) from why
            yield buffer.tobytes(), first * row

    def lines(self, dataset, at):
        try:
            values = h5py.Dataset(dataset)[()]
        except Exception as why:
            raise Unreadable(str(why)) from why
        flat = [values] if not isinstance(values, np.ndarray) else values.ravel()
        want = b"".join((v if isinstance(v, bytes) else os.fsencode(v or "")) + b"\n" for v in flat)
        with open(at, "rb") as f:
            if f.read() != want:
                return self.say(at, "lines differ")
        self.count["bytes"] += len(want)
        return None

    # ---- attributes

    def attributes(self, thing, at):
        for i in range(h5py.h5a.get_num_attrs(thing)):
            try:
                attribute = h5py.h5a.open(thing, index=i)
            except Exception:
                self.count["beyond h5py"] += 1
                continue
            name = attribute.name
            self.count["attributes"] += 1
            own = re.sub(rb"^hdf5\.", b"%68df5.", name)
            try:
                value = os.getxattr(at, b"user." + shown(own, 250, False))
            except OSError as error:
                if error.errno == 7:  # E2BIG: over 64 KiB
                    value = self.large(at, name)
                else:
                    self.say(at, f"attribute {name!r}: {error.strerror}")
                    continue
            why = self.differs(attribute, value)
            if why:
                self.say(at, f"attribute {name!r}: {why}")

    def large(self, at, name):
        inside = os.path.relpath(at, self.root)
        group, last = os.path.split(b"" if inside == b"." else inside.replace(b"@", b"%40"))
        last += b"@" + shown(name, len(name) * 3 + 2, False)
        side = os.path.join(self.root, b".h5/attributes", group, within(255, last, last))
        with open(side, "rb") as f:
            return f.read()

    def differs(self, attribute, value):
        try:
            kind = attribute.get_type()
            if attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL:
                return None if value == b"null" else "is not null"
            if has_parts(kind) and kind.get_class() != h5py.h5t.STRING:
                return None if self.is_json(value) else "is not JSON"
            data = np.zeros(attribute.shape, attribute.dtype)
            attribute.read(data)
        except Exception:
            self.count["beyond h5py"] += 1
            return None
        want = data.tolist()
        if kind.get_class() == h5py.h5t.STRING:
            return self.differing_strings(attribute, kind, want, value)
        try:
            have = json.loads(value)
        except ValueError:
            return "is not JSON"
        if kind.get_class() in (h5py.h5t.INTEGER, h5py.h5t.FLOAT):
            flat = np.array(have, dtype=object).ravel().tolist()
            packed = np.array(flat, dtype=attribute.dtype).reshape(attribute.shape)
            same = np.array_equal(packed, data, equal_nan=kind.get_class() == h5py.h5t.FLOAT)
            return None if same else f"{value[:60]!r} is not {str(want)[:60]}"
        if kind.get_class() == h5py.h5t.ENUM:
            return self.differing_enums(kind, data, have)
        if kind.get_class() == h5py.h5t.COMPOUND and attribute.dtype.names and attribute.shape == ():
            return None if list(have) == list(attribute.dtype.names) else "members differ"
        return None

    @staticmethod
    def differing_enums(kind, data, have):
        names = {}
        for i in range(kind.get_nmembers()):
            names[int(kind.get_member_value(i))] = kind.get_member_name(i).decode("utf-8", "surrogateescape")
        want = [names.get(int(v), int(v)) for v in np.asarray(data).ravel()]
        flat = np.array(have, dtype=object).ravel().tolist()
        return None if flat == want else f"enum {flat[:3]} is not {want[:3]}"

    @staticmethod
    def differing_strings(attribute, kind, want, value):
        def text(v):
            v = v if isinstance(v, bytes) else os.fsencode(v or "")
            if kind.is_variable_str():
                return v
            pad = kind.get_strpad()
            return (
                v.rstrip(b" ")
                if pad == h5py.h5t.STR_SPACEPAD
                else v.split(b"\0")[0]
                if pad == h5py.h5t.STR_NULLTERM
                else v.rstrip(b"\0")
            )

        if attribute.shape == ():
            return None if value == text(want) else f"{value[:60]!r} is not {text(want)[:60]!r}"
        try:
            have = (
                np.array(json.loads(value.decode("utf-8", "surrogateescape")), dtype=object).ravel().tolist()
            )
        except ValueError:
            return "is not JSON"
        flat = np.array(want, dtype=object).ravel().tolist()
        return None if [os.fsencode(h or "") for h in have] == [text(v) for v in flat] else "strings differ"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--h5mount")
    parser.add_argument(
        "--driver", choices=("family", "split"), help="FILE is libhdf5's name of a set of files"
    )
    parser.add_argument("file")
    parser.add_argument("mountpoint", nargs="?")
    args = parser.parse_args()
    made = None if args.mountpoint else tempfile.mkdtemp(prefix="compare-")
    place = args.mountpoint or made
    if made:
        if not args.h5mount:
            parser.error("a mount point, or --h5mount to make one")
        subprocess.run([args.h5mount, args.file, made], check=True)
    try:
        compare = Compare(place)
        with h5py.File(args.file, "r", **SETS.get(args.driver, {})) as f:
            root = h5py.h5g.open(f.id, b"/")
            compare.seen.add(h5py.h5o.get_info(root).addr)
            compare.group(root, os.path.realpath(os.fsencode(place)))
    finally:
        if made:
            subprocess.run(["umount", made], check=True)
            for _ in range(100):
                if not os.path.ismount(made):
                    break
                time.sleep(0.05)
            os.rmdir(made)
    counts = ", ".join(f"{n} {what}" for what, n in compare.count.items())
    print(f"{args.file}: {counts}; {len(compare.differences)} differences")
    return 1 if compare.differences else 0


if __name__ == "__main__":
    sys.exit(main())
