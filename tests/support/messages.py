"""Changes messages of object headers in files that h5py wrote with libver='latest', and corrects the
checksums."""
import os
import struct
import sys

import h5py

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hostile"))
from hostile_files import header_ends, lookup3  # noqa: E402


def change_messages(path, name, edit):
    """`edit(kind, flags, body)` returns the three anew for each message in the first chunk of an object's
    header; a shorter body is followed by a message of nothing, or by zeros that belong to it."""
    with h5py.File(path, "r") as f:
        place = h5py.h5o.get_info(f[name].id).addr
    with open(path, "rb") as f:
        data = bytearray(f.read())
    end = dict(header_ends(data))[place]
    flags = data[place + 5]
    at = place + 6 + (16 if flags & 32 else 0) + (4 if flags & 16 else 0) + (1 << (flags & 3))
    prefix = 6 if flags & 4 else 4
    while at + prefix <= end:
        size = struct.unpack_from("<H", data, at + 1)[0]
        body = bytes(data[at + prefix : at + prefix + size])
        kind, message_flags, changed = edit(data[at], data[at + 3], body)
        assert len(changed) <= size, (kind, size)
        left = size - len(changed)
        if left < prefix:
            changed, left = changed + bytes(left), 0
        data[at], data[at + 3] = kind, message_flags
        struct.pack_into("<H", data, at + 1, len(changed))
        data[at + prefix : at + prefix + len(changed)] = changed
        if left:
            rest = at + prefix + len(changed)
            data[rest : rest + left] = struct.pack("<BHB", 0, left - prefix, 0).ljust(left, b"\0")
        at += prefix + size
    data[end : end + 4] = struct.pack("<I", lookup3(bytes(data[place:end])))
    with open(path, "wb") as f:
        f.write(data)


def change_body(path, name, kind, edit):
    """The same for the bodies of one kind of messages."""
    change_messages(path, name, lambda k, flags, body: (k, flags, edit(body) if k == kind else body))
