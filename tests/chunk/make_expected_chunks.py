#!/usr/bin/env python3
"""Writes expected_chunks.txt from the corpus' manifests (libhdf5's own answers).

One line a chunked dataset: file, path, number of allocated chunks, then up to six of them as
element-offsets:absolute-address:stored-size:filter-mask, parts separated by tabs.

usage: make_expected_chunks.py CORPUS > expected_chunks.txt
"""
import json
import os
import sys


def sample(chunks):
    """The first two, the last two, and two in between."""
    n = len(chunks)
    return [chunks[i] for i in sorted({0, 1, n // 3, 2 * n // 3, n - 2, n - 1} & set(range(n)))]


def line(file, path, count, chunks):
    parts = [
        ":".join([",".join(map(str, offset)), str(address), str(size), str(mask)])
        for offset, address, size, mask in sample(chunks)
    ]
    return "\t".join([file, path, str(count)] + parts)


def dense(corpus, name):
    with open(os.path.join(corpus, name + ".json")) as f:
        manifest = json.load(f)
    for thing in manifest.get("objects", {}).values():
        if thing.get("layout") != "chunked" or "num_chunks" not in thing or "error" in thing:
            continue
        # libhdf5 lists wrong offsets for the chunks of an extensible array whose unlimited dimension is not
        # the first (it ignores that this dimension was moved to the front). Only the hashes of the data test
        # these.
        if thing["chunk_index"] == "extensible_array" and thing["maxshape"].index(None) != 0:
            continue
        chunks = [(c["offset"], c["addr"], c["size"], c["filter_mask"]) for c in thing.get("chunks", [])]
        yield line(name, thing["paths"][0], thing["num_chunks"], chunks)


def sparse(corpus, name):
    with open(os.path.join(corpus, name[:-3] + ".json")) as f:
        manifest = json.load(f)
    for dataset in manifest["datasets"]:
        if dataset["kind"] != "sparse" or dataset["expect"] != "ok":
            continue
        chunks = [
            ([s * c for s, c in zip(k["scaled"], dataset["chunk"])], k["address"], k["size"], 0)
            for k in dataset["chunks"]
        ]
        yield line(name, dataset["path"], dataset["n_chunks"], chunks)


def main(corpus):
    for folder, each in (("generated", dense), ("generated/hdf5v22", dense), ("sparse", sparse)):
        for name in sorted(os.listdir(os.path.join(corpus, folder))):
            manifest = name[:-3] + ".json" if each is sparse else name + ".json"
            if name.endswith(".h5") and os.path.exists(os.path.join(corpus, folder, manifest)):
                for text in each(corpus, folder + "/" + name):
                    print(text)


main(sys.argv[1])
