"""A repository of Icechunk by its specification (version 2), of which every rule that h5mount is bound by is
asserted: refs(READ) where READ(NAME) gives the bytes of a file."""
import collections
import json
import struct

BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def base32(data):
    bits = "".join(format(byte, "08b") for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join(BASE32[int(bits[i : i + 5], 2)] for i in range(0, len(bits), 5))


def buffer_of(data, kind):
    """The FlatBuffer in a file: raw blocks of Zstandard (RFC 8878) behind Icechunk's head."""
    assert data[:12] == "ICE\U0001F9CACHUNK".encode()
    assert data[12:36].decode().rstrip() == "h5mount"
    assert tuple(data[36:39]) == (2, kind, 1)
    assert data[39:45] == b"\x28\xb5\x2f\xfd\x00\x38"
    out, at, last = bytearray(), 45, False
    while not last:
        header = int.from_bytes(data[at : at + 3], "little")
        last, block, size = header & 1, header >> 1 & 3, header >> 3
        assert block == 0 and size <= 1 << 17
        out += data[at + 3 : at + 3 + size]
        at += 3 + size
    assert at == len(data)
    return bytes(out)


class Table:
    def __init__(self, data, at):
        (back,) = struct.unpack_from("<i", data, at)
        vtable = at - back
        size, self.size = struct.unpack_from("<HH", data, vtable)
        self.places = struct.unpack_from("<%dH" % (size // 2 - 2), data, vtable + 4)
        self.data, self.at = data, at
        assert at % 4 == 0 and vtable % 2 == 0 and all(place < self.size for place in self.places)

    @classmethod
    def root(cls, data):
        return cls(data, *struct.unpack_from("<I", data))

    def place(self, field):
        return self.at + self.places[field] if field < len(self.places) and self.places[field] else None

    def number(self, field, form):
        at = self.place(field)
        if at is None:
            return 0
        assert at % struct.calcsize(form) == 0
        return struct.unpack_from("<" + form, self.data, at)[0]

    def struct(self, field, size):
        at = self.place(field)
        return self.data[at : at + size]

    def target(self, field):
        at = self.place(field)
        if at is None:
            return None
        (distance,) = struct.unpack_from("<I", self.data, at)
        assert at % 4 == 0 and 0 < distance < len(self.data) - at
        return at + distance

    def table(self, field):
        return Table(self.data, self.target(field))

    def vector(self, field, size):
        """Where it begins, and the number of its elements."""
        at = self.target(field)
        assert at is not None and at % 4 == 0
        (count,) = struct.unpack_from("<I", self.data, at)
        assert at + 4 + count * size <= len(self.data)
        return at + 4, count

    def bytes(self, field):
        at, count = self.vector(field, 1)
        return self.data[at : at + count]

    def text(self, field):
        at, count = self.vector(field, 1)
        assert self.data[at + count] == 0
        return self.data[at : at + count].decode()

    def tables(self, field):
        at, count = self.vector(field, 4)
        for place in range(at, at + 4 * count, 4):
            (distance,) = struct.unpack_from("<I", self.data, place)
            assert distance > 0
            yield Table(self.data, place + distance)

    def numbers(self, field):
        at, count = self.vector(field, 4)
        return struct.unpack_from("<%dI" % count, self.data, at)


def flex(data):
    """A FlexBuffer whose numbers all have four bytes."""

    def number(at):
        return struct.unpack_from("<I", data, at)[0]

    def value(at, kind):
        if kind >> 2 == 26:
            return bool(number(at))
        target = at - number(at)
        if kind >> 2 in (4, 5):
            return data[target : data.index(b"\0", target)].decode()
        assert kind >> 2 == 9
        keys, count = target - 12 - number(target - 12), number(target - 4)
        assert number(target - 8) == 4 and number(keys - 4) == count
        kinds = data[target + 4 * count : target + 5 * count]
        names = [value(keys + 4 * i, 4 << 2) for i in range(count)]
        assert names == sorted(names)
        return {name: value(target + 4 * i, kinds[i]) for i, name in enumerate(names)}

    assert data[-1] == 4 and data[-2] & 3 == 2
    return value(len(data) - 6, data[-2])


Repository = collections.namedtuple("Repository", "chunks metadata message containers checks")


def refs(read):
    """Chunks by keys such as a/0.1: [URL, OFFSET, LENGTH] or bytes; zarr.json by path; the message; and for
    each URL what readers check."""
    repo = Table.root(buffer_of(read("repo"), 6))
    assert repo.number(0, "B") == 2
    (branch,), (info,) = repo.tables(2), repo.tables(4)
    assert branch.text(0) == "main" and branch.number(1, "I") == 0 and info.number(1, "i") == -1
    assert not list(repo.tables(1)) and not list(repo.tables(3)) and repo.table(5).number(0, "B") == 0
    name = base32(info.struct(0, 12))
    log = Table.root(buffer_of(read("transactions/" + name), 4))
    assert log.struct(0, 12) == info.struct(0, 12) and all(log.vector(i, 1)[1] == 0 for i in range(1, 8))
    snapshot = Table.root(buffer_of(read("snapshots/" + name), 1))
    assert snapshot.struct(0, 12) == info.struct(0, 12) and snapshot.text(4) == info.text(3)
    assert snapshot.number(3, "Q") == info.number(2, "Q")
    manifests = {}
    for one in snapshot.tables(7):
        data = read("manifests/" + base32(one.struct(0, 12)))
        assert len(data) == one.number(1, "Q")
        manifests[one.struct(0, 12)] = (Table.root(buffer_of(data, 2)), one.number(2, "I"))
    assert list(manifests) == sorted(manifests)
    nodes, paths, metadata, grids, extents = set(), [], {}, {}, collections.defaultdict(list)
    names = {}
    for node in snapshot.tables(2):
        paths.append(node.text(1).encode())
        nodes.add(node.struct(0, 8))
        metadata[node.text(1)[1:]] = json.loads(node.bytes(2))
        if metadata[node.text(1)[1:]]["node_type"] == "group":
            assert node.number(3, "B") == 2 and node.table(4).size == 4
            continue
        assert node.number(3, "B") == 1
        names[node.struct(0, 8)] = node.text(1)[1:]
        array = node.table(4)
        assert array.vector(0, 16)[1] == 0
        shape = [(d.number(0, "Q"), d.number(1, "I")) for d in array.tables(3)]
        assert [extent for extent, _ in shape] == metadata[node.text(1)[1:]]["shape"]
        grids[node.struct(0, 8)] = [count for _, count in shape]
        for part in array.tables(2):
            at, count = part.vector(1, 8)
            assert count == len(shape)
            box = struct.unpack_from("<%dI" % (2 * count), part.data, at)
            extents[node.struct(0, 8)].append((part.struct(0, 12), box[::2], box[1::2]))
    assert paths == sorted(paths) and len(nodes) == len(paths) == len(set(paths))
    chunks, checks = {}, {}
    for identifier, (manifest, count) in manifests.items():
        assert manifest.struct(0, 12) == identifier and manifest.place(3) and manifest.number(3, "B") == 0
        last = b""
        for array in manifest.tables(1):
            node = array.struct(0, 8)
            assert node > last
            last, before = node, ()
            (box,) = [box for box in extents[node] if box[0] == identifier]
            for one in array.tables(1):
                count -= 1
                place = one.numbers(0)
                assert (place > before or not place) and len(place) == len(grids[node])
                assert all(b <= p < e for b, p, e in zip(box[1], place, box[2]))
                before = place
                key = names[node] + "/" + (".".join(map(str, place)) or "0")
                assert key not in chunks
                if one.place(1):
                    chunks[key] = one.bytes(1)
                    continue
                chunks[key] = [one.text(5), one.number(2, "Q"), one.number(3, "Q")]
                checks[one.text(5)] = one.text(6) if one.place(6) else one.number(7, "I")
        assert count == 0
    config = flex(repo.bytes(9))
    assert list(config) == ["virtual_chunk_containers"]
    containers = config["virtual_chunk_containers"]
    assert all(one["url_prefix"] == prefix for prefix, one in containers.items())
    return Repository(chunks, metadata, snapshot.text(4), containers, checks)
