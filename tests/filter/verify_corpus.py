#!/usr/bin/python3
"""Decodes every chunk of HDF5 files with the decode_chunk tool and compares the images with the corpus'
manifests.

verify_corpus.py DECODE_CHUNK DIRECTORY...    h5py only finds the chunks; it decodes nothing. A directory that
does not exist is left out, unless it is the first. --own BUILD in place of the first: the project's own
corpus.
"""
import glob
import hashlib
import itertools
import json
import os
import subprocess
import sys

try:
    import h5py
    import numpy as np
except ImportError:
    print("needs h5py")
    sys.exit(77)


class Decoder:
    def __init__(self, tool):
        self.process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def decode(self, size, mask, stored, filters):
        words = [size, mask, len(stored), len(filters)]
        for one in filters:
            words += [one["id"], len(one["cd"])] + [value & 0xFFFFFFFF for value in one["cd"]]
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode() + stored)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode()
        if answer != "ok\n":
            raise ValueError(answer.strip())
        return self.process.stdout.read(size)


def image_of(decoder, dataset, manifest):
    shape, chunk = tuple(manifest["shape"]), tuple(manifest["chunk"])
    item = dataset.id.get_type().get_size()
    image = np.zeros(shape + (item,), np.uint8)
    if "fill_value" in manifest:
        image[...] = np.frombuffer(bytes.fromhex(manifest["fill_value"]), np.uint8)
    for i in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(i)
        mask, stored = dataset.id.read_direct_chunk(info.chunk_offset)
        size = int(np.prod(chunk)) * item
        data = decoder.decode(size, info.filter_mask, stored, manifest["filters"])
        block = np.frombuffer(data, np.uint8).reshape(chunk + (item,))
        where = tuple(slice(o, min(o + c, s)) for o, c, s in zip(info.chunk_offset, chunk, shape))
        image[where] = block[tuple(slice(0, w.stop - w.start) for w in where)]
    return image.tobytes()


def main():
    decoder = Decoder(sys.argv[1])
    places = sys.argv[2:]
    if places[0] == "--own":
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/make_corpus.py")
        made = subprocess.run([script, "--cached", places[1]], check=True, capture_output=True, text=True)
        places = [os.path.join(made.stdout.strip(), "filters")] + places[2:]
    manifests = [name for place in places for name in sorted(glob.glob(os.path.join(place, "*.json")))]
    if not glob.glob(os.path.join(places[0], "*.json")):
        sys.exit(f"no manifests in {places[0]}")
    good, bad = 0, []
    for path in manifests:
        with open(path) as text:
            manifest = json.load(text)
        before = good, len(bad)
        with h5py.File(path[:-5] + ".h5", "r") as file:
            for name, one in manifest["datasets"].items():
                wanted = one.get("sha256") or one.get("sha256_if_zero_filled")
                try:
                    found = hashlib.sha256(image_of(decoder, file[name], one)).hexdigest()
                    problem = None if found == wanted else "other bytes"
                except Exception as error:  # reported with the others at the end
                    problem = str(error)
                if problem is None:
                    good += 1
                else:
                    bad.append((os.path.basename(path) + name, problem))
        print(os.path.basename(path), good - before[0], "good", len(bad) - before[1], "bad", flush=True)
    for name, problem in itertools.islice(bad, 40):
        print(name, problem)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
