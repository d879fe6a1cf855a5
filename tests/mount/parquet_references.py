"""A directory of references in Parquet as one dictionary, in the form of references.json, by the rules by
which fsspec's LazyReferenceMapper reads it: refs(READ) where READ(PATH) gives a file's bytes or None."""
import base64
import itertools
import json
import struct

from fixtures.parquet_parts import Thrift, texts


def levels(data, at, rows):
    """Which rows have a value, and where the values begin."""
    (length,) = struct.unpack_from("<I", data, at)
    run = Thrift(data, at + 4)
    assert run.varint() == (rows + 7) // 8 << 1 | 1
    bits = data[run.at : at + 4 + length]
    return [bool(bits[i // 8] >> i % 8 & 1) for i in range(rows)], at + 4 + length


def column_of_group(data, chunk, rows):
    names = None
    if 11 in chunk:
        page = Thrift(data, chunk[11])
        header = page.value(12)
        names = texts(data, page.at, header[7][1], page.at + header[3])
    page = Thrift(data, chunk[9])
    header = page.value(12)
    end = page.at + header[3]
    present, at = levels(data, page.at, rows)
    count = sum(present)
    if names is not None:
        width = data[at] // 8
        run = Thrift(data, at + 1)
        run.varint()
        packed = data[run.at : end]
        values = [names[int.from_bytes(packed[width * i : width * (i + 1)], "little")] for i in range(count)]
    elif chunk[1] == 6:
        values = texts(data, at, count, end)
    else:
        values = struct.unpack_from("<%dq" % count, data, at)
    values = iter(values)
    return [next(values) if there else None for there in present]


def rows_of(data):
    (length,) = struct.unpack("<I", data[-8:-4])
    footer = Thrift(data, len(data) - 8 - length).value(12)
    assert [s[4] for s in footer[2][1:]] == [b"path", b"offset", b"size", b"raw"]
    for group in footer[4]:
        yield from zip(*(column_of_group(data, column[3], group[3]) for column in group[1]))


def refs(read):
    top = json.loads(read(".zmetadata"))
    out = dict(top["metadata"])
    for key, array in top["metadata"].items():
        if not key.endswith(".zarray"):
            continue
        name = key[: -len(".zarray")]
        grid = [-(-extent // chunk) for extent, chunk in zip(array["shape"], array["chunks"])]
        numbers = itertools.product(*(range(n) for n in grid))
        for record in itertools.count():
            part = list(itertools.islice(numbers, top["record_size"]))
            data = read(name + "refs.%d.parq" % record)
            if not part:
                assert data is None
                break
            rows = list(rows_of(data))
            assert len(rows) == len(part), (name, record, len(rows), len(part))
            for number, (path, offset, size, raw) in zip(part, rows):
                chunk = name + (".".join(map(str, number)) or "0")
                if raw is not None:
                    assert (path, offset, size) == (None, 0, 0)
                    out[chunk] = "base64:" + base64.b64encode(raw).decode()
                else:
                    out[chunk] = [path.decode(), offset, size]
    return out
