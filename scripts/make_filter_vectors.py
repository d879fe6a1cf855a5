#!/usr/bin/python3
"""Writes tests/filter/vectors.txt: small chunks of the corpus, one line each, as the filter tests read them.

make_filter_vectors.py DECODE_CHUNK CORPUS/filters > tests/filter/vectors.txt

The chunks were written by each filter's reference library. A chunk is used only where its whole dataset
decodes to the hash in the manifest, which the reference decoder computed; the hash written is the decoded
chunk's FNV-1a. Fields: name, chunk bytes, filter mask, element bytes, chunk shape, filters as
id:value,value;…, stored bytes, hash.
"""
import glob
import hashlib
import importlib.util
import json
import os
import sys

import h5py
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PER_KIND = 1  # chunks per group and file
LARGEST = 400  # stored bytes
LARGEST_ND = 1200  # of Blosc 2 chunks with several blocks, and of images


def load_verifier():
    spec = importlib.util.spec_from_file_location(
        "verify", os.path.join(ROOT, "tests/filter/verify_corpus.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def kind_of(path, name, manifest):
    group = name.rsplit("/", 1)[0] or name
    ids = "+".join(str(one["id"]) for one in manifest["filters"])
    if "blosc2_crafted" in path:
        return path, name.split("_r")[0], ids
    return path, group, ids


def vectors(verify, decoder, path):
    manifest = json.load(open(path))
    taken = {}
    with h5py.File(path[:-5] + ".h5", "r") as file:
        for name, one in manifest["datasets"].items():
            kind = kind_of(path, name, one)
            dataset = file[name]
            if taken.get(kind, 0) >= PER_KIND or dataset.id.get_num_chunks() == 0 or not one.get("sha256"):
                continue
            item = dataset.id.get_type().get_size()
            info = dataset.id.get_chunk_info(0)
            mask, stored = dataset.id.read_direct_chunk(info.chunk_offset)
            most = LARGEST_ND if "blosc2_crafted" in path or "fcidecomp" in path else LARGEST
            if len(stored) > most or info.filter_mask != 0:
                continue
            if hashlib.sha256(verify.image_of(decoder, dataset, one)).hexdigest() != one["sha256"]:
                continue
            size = int(np.prod(one["chunk"])) * item
            data = decoder.decode(size, mask, stored, one["filters"])
            taken[kind] = taken.get(kind, 0) + 1
            filters = ";".join(
                "%d:%s" % (f["id"], ",".join(str(v & 0xFFFFFFFF) for v in f["cd"])) for f in one["filters"]
            )
            yield " ".join(
                [
                    os.path.basename(path)[:-5] + name.replace(" ", "_"),
                    str(size),
                    str(mask),
                    str(item),
                    ",".join(map(str, one["chunk"])),
                    filters,
                    stored.hex(),
                    "%016x" % fnv1a(data),
                ]
            )


def main():
    verify = load_verifier()
    decoder = verify.Decoder(sys.argv[1])
    for path in sorted(glob.glob(os.path.join(sys.argv[2], "*.json"))):
        for line in vectors(verify, decoder, path):
            print(line)


if __name__ == "__main__":
    main()
