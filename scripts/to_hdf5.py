#!/usr/bin/python3
"""Writes what h5mount shows of a file back as an HDF5 file.

usage: to_hdf5.py [-o OPTIONS] [--h5mount PROGRAM] TREE OUT.h5

TREE is an HDF5 file (read by `h5mount --serve` and `--cat`, with OPTIONS such as salvage), a mount of one, or
what `h5mount --copy --metadata FILE / TREE` wrote. Groups, datasets (type, shape, chunks, filters), links and
attributes are written with h5py; what cannot be read or written is left out and listed on stderr, and the
status is then 1.
"""
import argparse, ast, atexit, errno, http.client, itertools, json, math, os, re, socket, subprocess, sys
import tarfile, tempfile, urllib.parse

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t, h5z
from h5py._hl.filters import guess_chunk

PIECE = 64 << 20  # bytes of a dataset that are written at once
LARGE = 1 << 30  # bytes of a dataset of which it is asked where they are stored
MOST_FILL = 64  # times its stored bytes, what of a dataset is read where most was never written
MOST_BOXES = 4096  # chunks side by side that are written one by one
MOST_ELEMENTS = 1 << 26  # of a dataset that is read as lines


def is_mostly_empty(entry, size):
    return size > LARGE and 16 * entry.get("storage_size", size) < size


class LeftOut(Exception):
    """Why an object is left out."""


unfinished = None  # the file that is written: it gets its name when it is whole


def end_where_full(error):
    """libhdf5 does not recover from a write that failed: what it has open is let go of without it."""
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        if f"errno = {number}," in str(error):
            print(
                f"to_hdf5.py: {unfinished}: {os.strerror(number)}; nothing is left of it",
                file=sys.stderr,
                flush=True,
            )
            os.remove(unfinished)
            os._exit(1)


# ---- where the tree is


def encoded(name):
    """A link's name as a file name (docs/promise.md, Names)."""
    raw = name.encode("utf-8", "surrogateescape")
    if raw in (b"", b"%"):
        return {b"": b"%", b"%": b"%25"}[raw]
    if raw in (b".", b".."):
        return b"%2E" * len(raw)
    out = re.sub(rb"%(?=[0-9A-Fa-f]{2})", b"%25", raw).replace(b"/", b"%2F").replace(b"\0", b"%00")
    if len(out) <= 255:
        return out
    kept, value = out[:238], 0xCBF29CE484222325
    while True:
        try:
            kept.decode("utf-8")
            break
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                break
            kept = kept[: error.start]
    for byte in raw:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return kept + b"~%016x" % value


def place_of(path):
    return b"/".join(encoded(part) for part in path.strip("/").split("/"))


class Server:
    """`h5mount --serve` on a socket of this user alone: the file is opened, and salvaged, once."""

    def __init__(self, file, h5mount, options):
        self.place = tempfile.TemporaryDirectory(prefix="to-hdf5-")
        self.socket = os.path.join(self.place.name, "socket")
        # A server shows no file that FILE names unless it is told to; --cat shows those beneath FILE's
        # directory.
        options = ",".join(["external=beneath"] + ([options] if options else []))
        command = [h5mount, "--serve", f"unix:{self.socket}", "-o", options, "--", file]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.runs = self.process.stdout.readline() != b""
        atexit.register(self.end)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def open(self, place, begin=None, end=None):
        """The answer, to be read, of all bytes or of [begin, end); nothing where there is none."""
        if not self.runs:
            return None
        try:
            connection = http.client.HTTPConnection("localhost")
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(self.socket)
            headers = {"Connection": "close"}
            if begin is not None:
                headers["Range"] = f"bytes={begin}-{end - 1}"
            connection.request("GET", "/" + urllib.parse.quote_from_bytes(place), headers=headers)
            answer = connection.getresponse()
            return answer if answer.status == (200 if begin is None else 206) else None
        except (OSError, http.client.HTTPException):
            return None

    def read(self, place):
        """The bytes; nothing where they cannot be had whole."""
        answer = self.open(place)
        if answer is None:
            return None
        try:
            with answer:
                return answer.read()
        except (OSError, http.client.HTTPException):
            return None


class FromFile:
    """A file, by `h5mount --cat`, which says why it cannot read; a server is asked first, as it opens the
    file once."""

    def __init__(self, file, h5mount, options):
        self.command = [h5mount, "--cat"] + (["-o", options] if options else []) + ["--", file]
        self.server = Server(file, h5mount, options)

    def read(self, place):
        data = self.server.read(place)
        if data is not None:
            return data
        done = subprocess.run(self.command + [b"/" + place], capture_output=True)
        if done.returncode != 0:
            raise LeftOut(done.stderr.decode(errors="replace").strip())
        return done.stdout

    def parts(self, place, ranges):
        """The bytes of ascending ranges of a file, one after the other."""
        if not self.server.runs:  # it is read in one go
            with subprocess.Popen([*self.command, b"/" + place], stdout=subprocess.PIPE) as process:
                yield from parts_of(process.stdout, ranges)
            return
        for begin, end in ranges:
            answer = self.server.open(place, begin, end)
            if answer is None:
                raise LeftOut(f"bytes {begin} to {end} cannot be read")
            with answer:
                yield read_whole(answer, end - begin)

    def stored(self, place, size):
        """Where its data are: what a sparse archive has of it."""
        command = [self.command[0], "--tar", *self.command[2:], b"/" + place]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                    member = next((one for one in archive if one.isfile()), None)
            except tarfile.TarError:
                member = None
            process.kill()
        if member is None or member.sparse is None:
            return [(0, size)]
        return [(at, at + length) for at, length in member.sparse if length > 0]

    def metadata(self):
        return self.read(b".h5/metadata.jsonl")

    def lines(self, path):
        return self.read(b".h5/text/" + place_of(path))


class FromDirectory:
    """A mount, or a copy beside which its metadata was saved."""

    def __init__(self, directory):
        self.directory = os.fsencode(directory.rstrip("/"))

    def read(self, place):
        try:
            with open(os.path.join(self.directory, place), "rb") as file:
                return file.read()
        except OSError as error:
            raise LeftOut(str(error)) from error

    def parts(self, place, ranges):
        try:
            with open(os.path.join(self.directory, place), "rb") as file:
                yield from parts_of(file, ranges)
        except OSError as error:
            raise LeftOut(str(error)) from error

    def stored(self, place, size):
        out, end = [], 0
        try:
            with open(os.path.join(self.directory, place), "rb") as file:
                while end < size:
                    begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
                    end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
                    out.append((begin, end))
        except OSError as error:
            if error.errno != errno.ENXIO:  # no data behind `end`
                raise LeftOut(str(error)) from error
        return out

    def metadata(self):
        beside = self.directory + b".jsonl"
        if os.path.exists(beside):
            with open(beside, "rb") as file:
                return file.read()
        return self.read(b".h5/metadata.jsonl")

    def lines(self, path):
        if os.path.exists(os.path.join(self.directory, b".h5/text", place_of(path))):
            return self.read(b".h5/text/" + place_of(path))
        return None


def parts_of(file, ranges):
    """The bytes of ascending ranges of a file or a pipe."""
    at = 0
    for begin, end in ranges:
        if file.seekable():
            file.seek(begin)
        else:
            while at < begin:
                at += len(read_whole(file, min(PIECE, begin - at)))
        yield read_whole(file, end - begin)
        at = end


# ---- types


def split_list(text):
    """The parts of text between commas that are in no brackets or strings."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def type_of(text):
    """The HDF5 type that user.hdf5.dtype tells: an h5py TypeID."""
    if text in ("utf8", "ascii"):
        return h5t.py_create(h5py.string_dtype("utf-8" if text == "utf8" else "ascii"), logical=True)
    if text.startswith("{"):
        return compound_of(json.loads(text))
    head, _, inner = text.partition("(")
    inner = inner[:-1] if not text.startswith("enum(") else inner
    if head == "enum":
        base, members = re.fullmatch(r"enum\(([^)]*)\)(\{.*\})", text).groups()
        out = h5t.enum_create(type_of(base))
        for name, value in json.loads(members).items():
            out.enum_insert(name.encode("utf-8", "surrogateescape"), value)
        return out
    if head == "array":
        base, dims = split_list(inner)[0], inner[len(split_list(inner)[0]) + 1 :]
        return h5t.array_create(type_of(base), tuple(ast.literal_eval(dims)))
    if head == "vlen":
        return h5t.vlen_create(type_of(inner))
    if head == "opaque":
        size, _, tag = inner.partition(",")
        out = h5t.create(h5t.OPAQUE, int(size))
        out.set_tag(json.loads(tag or '""').encode("utf-8", "surrogateescape"))
        return out
    if head == "bitfield":
        size, big = int(inner[2:]), inner[0] == ">"
        known = {1: "B8", 2: "B16", 4: "B32", 8: "B64"}
        if size in known:
            return getattr(h5t, f"STD_{known[size]}{'BE' if big else 'LE'}")
    if text == "ref(object)":
        return h5t.STD_REF_OBJ
    if head in ("int", "float"):
        return number_of(head, inner)
    try:
        return h5t.py_create(np.dtype(text), logical=True)
    except TypeError as error:
        raise LeftOut(f"a type that h5py cannot make: {text}") from error


def number_of(head, inner):
    """int(<u1,precision=3,offset=2),
    float(<f4,precision=20,…,exponent=20+6,mantissa=7+13,bias=31,leading=implied)"""
    base, *fields = inner.split(",")
    told = dict(field.split("=") for field in fields)
    precision, offset = int(told["precision"]), int(told["offset"])
    if head == "int":
        out = h5t.py_create(np.dtype(base), logical=True).copy()
        out.set_precision(precision)
        out.set_offset(offset)
        return out
    out = h5t.IEEE_F32LE.copy()
    out.set_size(max(int(base[2:]), out.get_size()))
    out.set_precision(8 * out.get_size())  # there is room for the fields wherever they are
    (exponent, exponent_bits), (mantissa, mantissa_bits) = (
        map(int, told[name].split("+")) for name in ("exponent", "mantissa")
    )
    out.set_fields(int(told["sign"]), exponent, exponent_bits, mantissa, mantissa_bits)
    out.set_offset(offset)
    out.set_precision(precision)
    out.set_size(int(base[2:]))
    out.set_ebias(int(told["bias"]))
    out.set_norm({"implied": h5t.NORM_IMPLIED, "set": h5t.NORM_MSBSET}.get(told["leading"], h5t.NORM_NONE))
    out.set_order(h5t.ORDER_BE if base[0] == ">" else h5t.ORDER_LE)
    return out


def compound_of(members):
    size = members.pop("@size", None)
    fields, end = [], 0
    for name, text in members.items():
        kind = type_of(text if isinstance(text, str) else json.dumps(text))
        plain, _, offset = name.partition("@")
        at = int(offset) if offset else end
        end = max(end, at + kind.get_size())
        fields.append((plain.replace("%40", "@"), at, kind))
    out = h5t.create(h5t.COMPOUND, size or end)
    for name, at, kind in fields:
        out.insert(name.encode("utf-8", "surrogateescape"), at, kind)
    return out


def is_plain(kind):
    """Whether its elements are bytes that mean the same in every file."""
    cls = kind.get_class()
    if cls == h5t.COMPOUND:
        return all(is_plain(kind.get_member_type(i)) for i in range(kind.get_nmembers()))
    if cls == h5t.ARRAY:
        return is_plain(kind.get_super())
    return cls not in (h5t.VLEN, h5t.REFERENCE) and not (cls == h5t.STRING and kind.is_variable_str())


def unescaped(line):
    return (
        json.loads(b'"' + line.replace(b'"', b'\\"') + b'"')
        if b"\\" in line
        else line.decode("utf-8", "surrogateescape")
    )


# ---- writing


class Writer:
    def __init__(self, tree, out):
        self.tree = tree
        self.file = out
        self.left_out = 0
        self.later = []  # links and references, when all objects are there

    def leave_out(self, path, why):
        self.left_out += 1
        print(f"to_hdf5.py: {path}: left out: {why}", file=sys.stderr)

    def run(self):
        for raw in self.tree.metadata().splitlines():
            entry = json.loads(raw)
            try:
                self.write(entry)
            except (LeftOut, OSError, ValueError, TypeError, KeyError, RuntimeError, AttributeError) as error:
                end_where_full(error)
                partly = (
                    " (salvage=fill gives the rest of it)" if entry.get("salvage", {}).get("missing") else ""
                )
                self.leave_out(entry["path"], f"{error}{partly}")
        for path, work in self.later:
            try:
                work()
            except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
                end_where_full(error)
                self.leave_out(path, error)
        return 1 if self.left_out else 0

    def write(self, entry):
        path, kind = "/" + entry["path"].strip("/"), entry.get("kind")
        if "error" in entry:
            raise LeftOut(entry["error"])
        raw = path.encode("utf-8", "surrogateescape")
        if kind == "group":
            made = self.file if path == "/" else h5py.Group(h5py.h5g.create(self.file.id, raw))
        elif kind == "dataset":
            made = self.write_dataset(entry, raw)
        elif kind == "datatype":
            made = type_of(entry["dtype"]).copy()
            made.commit(self.file.id, raw)
            made = h5py.Datatype(made)
        elif kind == "soft":
            return self.file.id.links.create_soft(raw, entry["target"].encode("utf-8", "surrogateescape"))
        elif kind == "external":
            return self.file.id.links.create_external(
                raw,
                entry["file"].encode("utf-8", "surrogateescape"),
                entry["target"].encode("utf-8", "surrogateescape"),
            )
        elif kind == "hard":
            target = entry["target"].encode("utf-8", "surrogateescape")
            return self.later.append(
                (path, lambda: self.file.id.links.create_hard(raw, self.file.id, b"/" + target.strip(b"/")))
            )
        else:
            raise LeftOut(f"a link of kind {kind}")
        for name, value in entry.get("attributes", {}).items():
            try:
                self.write_attribute(made, name, value, entry.get("attribute_types", {})[name])
            except (LeftOut, OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
                end_where_full(error)
                self.leave_out(f"{path}@{name}", error)
        for name, why in entry.get("attribute_errors", {}).items():
            self.leave_out(f"{path}@{name}", why)

    def space_of(self, shape, maxshape=None):
        if shape is None:
            return h5s.create(h5s.NULL)
        if not shape:
            return h5s.create(h5s.SCALAR)
        limits = tuple(h5s.UNLIMITED if most is None else most for most in (maxshape or shape))
        return h5s.create_simple(tuple(shape), limits)

    def properties_of(self, entry, path):
        out = h5p.create(h5p.DATASET_CREATE)
        shape, element = entry.get("shape"), type_of(entry["dtype"]).get_size()
        if not entry.get("chunks"):
            if shape and is_mostly_empty(entry, math.prod(shape) * element):
                out.set_chunk(guess_chunk(shape, None, element))
            return out
        out.set_chunk(tuple(entry["chunks"]))
        for one in entry.get("filters") or []:
            if not h5z.filter_avail(one["id"]):
                self.leave_out(f"{path} filter {one.get('name') or one['id']}", "this libhdf5 lacks it")
            elif one["id"] == h5z.FILTER_SZIP:
                out.set_szip(h5z.SZIP_NN_OPTION_MASK, 8)
            elif one["id"] == h5z.FILTER_SCALEOFFSET and one["values"][0] == h5z.SO_FLOAT_DSCALE:
                continue  # it would round the values once more
            elif one["id"] == h5z.FILTER_SCALEOFFSET:
                out.set_scaleoffset(one["values"][0], one["values"][1])
            else:
                out.set_filter(one["id"], h5z.FLAG_OPTIONAL, tuple(one.get("values") or ()))
        return out

    def write_dataset(self, entry, raw):
        path, kind, shape = entry["path"], type_of(entry["dtype"]), entry.get("shape")
        properties = self.properties_of(entry, path)
        links = h5p.create(h5p.LINK_CREATE)
        maxshape = entry.get("maxshape") if entry.get("chunks") else None
        read = self.values_of(entry, kind)  # first: a dataset that cannot be read is left out whole
        made = h5py.Dataset(
            h5d.create(self.file.id, raw, kind, self.space_of(shape, maxshape), properties, links)
        )
        if shape is None or 0 in shape:
            return made
        try:
            read(made)
        except LeftOut:  # in the middle of a large one
            del self.file[raw]
            raise
        return made

    def values_of(self, entry, kind):
        path, shape = entry["path"], entry.get("shape")
        if is_plain(kind):
            wanted = int(np.prod(shape or [1], dtype=object)) * kind.get_size() if shape is not None else 0
            if shape and wanted > PIECE:
                return lambda made: self.write_pieces(made, entry, kind)
            data = self.tree.read(place_of(path))
            if len(data) != wanted:
                raise LeftOut(f"{len(data)} bytes instead of {wanted}")
            return lambda made: made.id.write(h5s.ALL, h5s.ALL, np.frombuffer(data, "u1"), mtype=kind)
        if shape and math.prod(shape) > MOST_ELEMENTS:
            raise LeftOut(f"{math.prod(shape)} elements of type {entry['dtype']}")
        if kind.get_class() == h5t.STRING:
            return self.strings_of(path, shape)
        rows = [json.loads(line) for line in self.tree.read(place_of(path)).splitlines()]
        if kind.get_class() == h5t.VLEN and is_plain(kind.get_super()):
            dtype = kind.get_super().dtype
            values = np.empty(len(rows), object)
            values[:] = [np.array([converted(one, dtype) for one in row], dtype) for row in rows]
            return lambda made: (
                made.write_direct(values.reshape(made.shape))
                if made.shape
                else made.__setitem__((), values[0])
            )
        if kind.get_class() == h5t.REFERENCE:
            return lambda made: self.later.append((path, lambda: self.write_references(made, rows)))
        raise LeftOut(f"values of type {entry['dtype']}")

    def write_pieces(self, made, entry, kind):
        """Rows of chunks after one another, so that a large dataset is never whole in memory. Chunks of
        nothing but zeros, as those are that were never written, are not written."""
        first, *others = made.shape
        row = kind.get_size() * int(np.prod(others, dtype=object))
        least = (made.chunks or [1])[0]
        if row * least > 16 * PIECE:
            raise LeftOut(f"a row of its chunks has {row * least} bytes")
        rows = max(PIECE // row // least, 1) * least
        wanted = [(at, min(at + rows, first)) for at in self.rows_of(entry, row * first, row, rows)]
        data_of = self.tree.parts(
            place_of(entry["path"]), [(begin * row, end * row) for begin, end in wanted]
        )
        for (begin, end), data in zip(wanted, data_of):
            elements = np.frombuffer(data, "u1").reshape(end - begin, *others, kind.get_size())
            for box in occupied(elements, made.chunks):
                count = tuple(one.stop - one.start for one in box)
                there, here = made.id.get_space(), h5s.create_simple(count)
                there.select_hyperslab((begin + box[0].start, *(one.start for one in box[1:])), count)
                made.id.write(here, there, np.ascontiguousarray(elements[box]), mtype=kind)

    def rows_of(self, entry, size, row, rows):
        """The first of each group of rows of which some are stored."""
        stored = [(0, size)]
        if is_mostly_empty(entry, size):
            stored = self.tree.stored(place_of(entry["path"]), size)
            if sum(end - begin for begin, end in stored) > MOST_FILL * max(entry["storage_size"], PIECE):
                raise LeftOut(
                    f"{entry['storage_size']} bytes are stored, and its fill value would take up the rest"
                )
        last = 0
        for begin, end in stored:
            for number in range(max(begin // row // rows, last), -(-end // row // rows)):
                yield number * rows
                last = number + 1

    def strings_of(self, path, shape):
        lines = self.tree.lines(path)
        if lines is not None:
            texts = [unescaped(line) for line in lines.split(b"\n")[:-1]]
        else:
            texts = [
                line.decode("utf-8", "surrogateescape")
                for line in self.tree.read(place_of(path)).split(b"\n")[:-1]
            ]
        wanted = int(np.prod(shape or [1], dtype=object)) if shape is not None else 0
        if len(texts) != wanted:
            raise LeftOut(f"{len(texts)} strings instead of {wanted}")
        values = np.array([text.encode("utf-8", "surrogateescape") for text in texts], object)
        return lambda made: made.__setitem__((), values.reshape(made.shape) if made.shape else values[0])

    def write_references(self, made, rows):
        values = np.empty(len(rows), h5py.ref_dtype)
        for i, row in enumerate(rows):
            values[i] = self.file["/" + row.strip("/")].ref if row is not None else h5py.Reference()
        made[()] = values.reshape(made.shape) if made.shape else values[0]

    def attach_scales(self, made, lists):
        for dimension, scales in enumerate(lists):
            for scale in scales:
                h5py.h5ds.attach_scale(made.id, self.file["/" + scale.strip("/")].id, dimension)

    def write_attribute(self, made, name, value, described):
        if name == "REFERENCE_LIST" and isinstance(made, h5py.Dataset):
            return  # libhdf5 makes it when the scale is attached
        if name == "DIMENSION_LIST" and described["dtype"] == "vlen(ref(object))":
            self.later.append((f"{made.name}@{name}", lambda: self.attach_scales(made, value)))
            return
        kind, shape = type_of(described["dtype"]), described["shape"]
        raw = name.encode("utf-8", "surrogateescape")
        if shape is None:
            h5py.h5a.create(made.id, raw, kind, self.space_of(None))
            return
        vlen = kind.get_class() == h5t.VLEN and is_plain(kind.get_super())
        if kind.get_class() == h5t.REFERENCE or (
            not is_plain(kind) and kind.get_class() != h5t.STRING and not vlen
        ):
            if kind.get_class() != h5t.REFERENCE:
                raise LeftOut(f"values of type {described['dtype']}")
            self.later.append((name, lambda: self.write_reference_attribute(made, name, value, shape)))
            return
        attribute = h5py.h5a.create(made.id, raw, kind, self.space_of(shape))
        if 0 in shape:
            return
        if vlen:
            base = kind.get_super().dtype
            values = np.empty(int(np.prod(shape or [1])), h5py.vlen_dtype(base))
            for i, row in enumerate(flattened(value, len(shape))):
                values[i] = np.array([converted(one, base) for one in row], base)
            attribute.write(values.reshape(shape))
            return
        attribute.write(self.array_of(kind, value, shape), mtype=kind if is_plain(kind) else None)

    def write_reference_attribute(self, made, name, value, shape):
        def find(one):
            if isinstance(one, list):
                return [find(each) for each in one]
            return self.file["/" + one.strip("/")].ref if one else h5py.Reference()

        made.attrs.create(name, find(value), shape=tuple(shape), dtype=h5py.ref_dtype)

    def array_of(self, kind, value, shape):
        if kind.get_class() == h5t.STRING:
            flat = [text.encode("utf-8", "surrogateescape") for text in flattened(value, len(shape))]
            dtype = kind.dtype if kind.is_variable_str() else f"S{kind.get_size()}"
            return np.array(flat, dtype).reshape(shape)
        each = kind.get_array_dims() if kind.get_class() == h5t.ARRAY else ()
        out = np.zeros(int(np.prod([*shape, *each])), (kind.get_super() if each else kind).dtype)
        for i, one in enumerate(flattened(value, len(shape) + len(each))):
            out[i] = converted(one, out.dtype)
        return out.reshape([*shape, *each])


def read_whole(source, size):
    out = bytearray()
    try:
        while len(out) < size:
            piece = source.read(size - len(out))
            if not piece:
                raise LeftOut(f"it ends {size - len(out)} bytes early")
            out += piece
    except (OSError, http.client.HTTPException) as error:
        raise LeftOut(str(error)) from error
    return out


def occupied(elements, chunks):
    """Boxes of whole chunks that have all bytes that are not zero; `elements` has the bytes of each as its
    last dimension."""
    shape = elements.shape[:-1]
    whole = tuple(slice(0, n) for n in shape)
    if chunks is None:
        return [whole]
    firsts = [range(0, n, step) for n, step in zip(shape, chunks)]
    if math.prod(map(len, firsts[1:])) > MOST_BOXES:
        firsts[1:] = [range(0, n, n) for n in shape[1:]]
    grid = elements.any(axis=-1)
    for dimension, first in enumerate(firsts):
        grid = np.logical_or.reduceat(grid, list(first), axis=dimension)
    if grid.all():
        return [whole]
    out = []
    for column in itertools.product(*(range(len(first)) for first in firsts[1:])):
        side = tuple(
            slice(first[i], min(first[i] + first.step, n))
            for first, i, n in zip(firsts[1:], column, shape[1:])
        )
        edges = np.flatnonzero(np.diff(np.concatenate(([0], grid[(slice(None), *column)].astype("i1"), [0]))))
        out += [
            (slice(int(begin) * firsts[0].step, min(int(end) * firsts[0].step, shape[0])), *side)
            for begin, end in zip(edges[::2], edges[1::2])
        ]
    return out


def flattened(value, rank):
    if rank == 0:
        return [value]
    return [leaf for part in value for leaf in flattened(part, rank - 1)]


def converted(value, dtype):
    if dtype.names:
        return tuple(converted(value[name], dtype[name]) for name in dtype.names)
    members = h5py.check_enum_dtype(dtype)
    if members and isinstance(value, str):
        return members[value]
    if dtype.kind == "b" and isinstance(value, str):
        return value == "TRUE"
    if dtype.kind in "V" and isinstance(value, str):
        return np.void(bytes.fromhex(value[2:]))
    if dtype.kind == "S":
        return value.encode("utf-8", "surrogateescape")
    if dtype.kind == "c":
        return complex(*map(float, value.values() if isinstance(value, dict) else value))
    if isinstance(value, str) and value.startswith("0x"):
        return int.from_bytes(bytes.fromhex(value[2:]), "little" if dtype.byteorder != ">" else "big")
    return float(value) if dtype.kind == "f" else value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", dest="options", default="", help="options for h5mount, such as salvage")
    parser.add_argument("--h5mount", default="h5mount", help="the program")
    parser.add_argument("tree", metavar="TREE")
    parser.add_argument("out", metavar="OUT.h5")
    arguments = parser.parse_args()
    if os.path.isdir(arguments.tree):
        tree = FromDirectory(arguments.tree)
    else:
        tree = FromFile(arguments.tree, arguments.h5mount, arguments.options)
    global unfinished
    if os.path.lexists(arguments.out):
        sys.exit(f"to_hdf5.py: {arguments.out} exists")
    unfinished = arguments.out + ".part"
    sys.unraisablehook = lambda told: end_where_full(told.exc_value)
    try:
        with h5py.File(unfinished, "w", libver=("v108", "latest")) as out:
            status = Writer(tree, out).run()
    except (LeftOut, OSError, RuntimeError) as error:
        end_where_full(error)
        os.remove(unfinished)
        sys.exit(f"to_hdf5.py: {error}")
    os.rename(unfinished, arguments.out)
    return status


if __name__ == "__main__":
    sys.exit(main())
