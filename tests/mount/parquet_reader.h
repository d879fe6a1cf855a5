// A decoder of Parquet's public format in Python, which shares nothing with the writer: parquet(NAME) returns
// the columns of a view file as arrays, and the key-value metadata. To be put before the statements of a
// check.
#pragma once

#include <string>

namespace h5mount::test {

inline const std::string kParquetReader = R"(
import struct
class Thrift:  # the compact protocol: structs as {field: value}
    def __init__(self, data, at=0): self.data, self.at = data, at
    def byte(self): self.at += 1; return self.data[self.at - 1]
    def varint(self):
        value = shift = 0
        while True:
            b = self.byte(); value |= (b & 127) << shift; shift += 7
            if b < 128: return value
    def zigzag(self): v = self.varint(); return v >> 1 ^ -(v & 1)
    def value(self, kind):
        if kind in (4, 5, 6): return self.zigzag()
        if kind == 8: n = self.varint(); self.at += n; return bytes(self.data[self.at - n:self.at])
        if kind == 9:
            head = self.byte(); n = head >> 4
            if n == 15: n = self.varint()
            return [self.value(head & 15) for _ in range(n)]
        assert kind == 12, kind
        out, field = {}, 0
        while True:
            head = self.byte()
            if head == 0: return out
            assert head >> 4
            field += head >> 4; out[field] = self.value(head & 15)
def texts(data, at, count, end):  # each with its length
    out = []
    for _ in range(count):
        n, = struct.unpack_from('<I', data, at)
        out.append(data[at + 4:at + 4 + n]); at += 4 + n
    assert at == end
    return out
def named(data, at, end, rows, optional, names):  # bit-packed indices, None where a value is missing
    groups = (rows + 7) // 8
    present = np.ones(rows, bool)
    if optional:
        length, = struct.unpack_from('<I', data, at)
        run = Thrift(data, at + 4)
        assert run.varint() == groups << 1 | 1
        present = np.unpackbits(np.frombuffer(data, 'u1', groups, run.at), bitorder='little')
        present = present[:rows].astype(bool)
        at += 4 + length
        assert run.at + groups == at
    width = data[at] // 8
    run = Thrift(data, at + 1)
    assert width == (1 if len(names) <= 256 else 2 if len(names) <= 65536 else 3)
    assert run.varint() == groups << 1 | 1
    indices = np.frombuffer(data, 'u1', 8 * groups * width, run.at)
    indices = indices.reshape(-1, width) @ 256 ** np.arange(width)
    assert run.at + 8 * groups * width == end and not indices[present.sum():].any()
    out = np.empty(rows, object)
    out[present] = np.array(names, object)[indices[:present.sum()]] if len(names) else []
    return out
def parquet(name):
    size = os.path.getsize(V + '/' + name)
    data = read(name)
    assert data[:4] == data[-4:] == b'PAR1'
    assert os.path.getsize(V + '/' + name) == len(data) and (size == len(data) or '/strings' in name)
    length, = struct.unpack('<I', data[-8:-4])
    footer = Thrift(data, len(data) - 8 - length)
    meta = footer.value(12)
    assert footer.at == len(data) - 8
    root, schema = meta[2][0], meta[2][1:]
    assert root[5] == len(schema) and all(s[3] in (0, 1) for s in schema)
    for s in schema: assert (s.get(6) == 0) == (s.get(10) == {1: {}})
    kinds = {1: 'i4', 2: 'i8', 4: 'f4', 5: 'f8'}
    unsigned = {11: 'u1', 12: 'u2', 13: 'u4', 14: 'u8', 15: 'i1', 16: 'i2', 17: 'i4', 18: 'i8'}
    columns, end = [[] for _ in schema], 4
    for group in meta[4]:
        assert len(group[1]) == len(schema)
        size = 0
        for s, chunk, column in zip(schema, group[1], columns):
            c = chunk[3]
            assert c[3] == [s[4]] and c[4] == 0 and c[1] == s[1] and c[5] == group[3]
            begin, names = end, None
            assert c.get(11, c[9]) == begin == chunk[2]
            if 11 in c:
                assert c[2] == [0, 3, 8]
                page = Thrift(data, begin); header = page.value(12)
                assert header[1] == 2 and header[2] == header[3] and header[7][2] == 0
                end = page.at + header[3]
                names = texts(data, page.at, header[7][1], end)
                if 6 in s: names = [name.decode() for name in names]
            assert c[9] == end, (c, end)
            page = Thrift(data, c[9]); header = page.value(12)
            assert header[1] == 0 and header[2] == header[3]
            assert header[5][1] == group[3] and header[5][2] == (0 if names is None else 8)
            assert names is not None or s[3] == 0
            if names is not None:
                values = named(data, page.at, page.at + header[3], group[3], s[3], names)
            elif s[1] == 0:
                assert header[3] == (group[3] + 7) // 8
                values = np.unpackbits(np.frombuffer(data, 'u1', header[3], page.at), bitorder='little')
                values = values[:group[3]].astype(bool)
            elif s[1] == 6:
                values = np.empty(group[3], object)
                values[:] = texts(data, page.at, group[3], page.at + header[3])
                if 6 in s: values[:] = [text.decode() for text in values]
            else:
                values = np.frombuffer(data, 'V%d' % s[2] if s[1] == 7 else kinds[s[1]], group[3], page.at)
            if 6 in s and s[1] != 6:
                stored = np.dtype(unsigned[s[6]])
                values = values.view('u%d' % values.itemsize if stored.kind == 'u' else values.dtype)
                assert (values.astype(stored) == values).all()
                values = values.astype(stored)
            column.append(values)
            end = page.at + header[3]
            assert c[6] == c[7] == end - begin
            size += c[7]
        assert group[2] == size
    assert end == len(data) - 8 - length
    assert sum(group[3] for group in meta[4]) == meta[3]
    names = {k[1].decode(): k[2].decode() for k in meta.get(5, [])}
    return {s[4].decode(): np.concatenate(c) if c else None for s, c in zip(schema, columns)}, names
)";

}  // namespace h5mount::test
