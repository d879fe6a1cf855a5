"""Files that policies let in or keep out, and what fsck.h5 --policy says of them."""
import json

import h5py
import numpy as np

from support.program import FSCK, run


def sound(name):
    with h5py.File(name, "w") as f:
        f["d"] = np.arange(100)


def forbidden(name, target="other.h5", link="a"):
    """Names another file (3)."""
    sound(name)
    with h5py.File(name, "r+") as f:
        f[link] = h5py.ExternalLink(target, "/d")


def too_much(name):
    """Claims 8 TiB, of which nothing is stored (4)."""
    with h5py.File(name, "w") as f:
        f.create_dataset("huge", (1 << 40,), "f8", chunks=(1 << 20,))


def corrupt(name):
    """The root's checksum is wrong (2)."""
    with h5py.File(name, "w", libver="latest") as f:
        f.create_group("group").attrs["a"] = 1
        at = h5py.h5o.get_info(f["group"].id).addr
    with open(name, "r+b") as f:
        f.seek(at + 8)
        byte = f.read(1)
        f.seek(at + 8)
        f.write(bytes([byte[0] ^ 1]))


def doubtful(name):
    """Text in front (1 of a file that is not trusted, 0 of one that is)."""
    with h5py.File(name, "w", userblock_size=512) as f:
        f["d"] = np.arange(100)
    with open(name, "r+b") as f:
        f.write(b"made by the laboratory\n")


def foreign(name):
    with open(name, "w", encoding="utf-8") as f:
        f.write("no HDF5 at all\n" * 100)


KINDS = {  # how a file is made: the code of its verdict, the decision, the kind of its worst finding
    sound: (0, "accept", None),
    doubtful: (1, "accept_with_warnings", "user_block"),
    corrupt: (2, "refuse", "damaged"),
    foreign: (2, "refuse", "damaged"),
    forbidden: (3, "refuse", "external_link"),
    too_much: (4, "refuse", "logical_size"),
}


def write_policy(name, *lines):
    with open(name, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)
    return name


def judge(*words):
    return run(FSCK, *words)


def verdicts(*words):
    """The code, and an object a line."""
    said = judge("--json", *words)
    return said.returncode, [json.loads(line) for line in said.stdout.splitlines()]
