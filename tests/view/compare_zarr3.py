#!/usr/bin/python3
"""Holds /.h5/v3.zarr of HDF5 files against h5py by zarrita under node, by hand:

    npm install --prefix DIR zarrita @earthmover/icechunk
    compare_zarr3.py [--references | --icechunk] H5MOUNT DIR FILE…

Mounts each file on a directory of its own; zarrita opens the store by its consolidated metadata and gives
every array as little-endian bytes (strings as a list). With --references it is /.h5/references.json, with
--icechunk /.h5/references.icechunk, of which the chunks are read from the HDF5 file; what is left out is not
looked for. What cannot be compared is counted by reason; the exit status is 1 where anything differs."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import h5py
import numpy as np

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
MAX_ELEMENTS = 4 << 20

READER = r"""
import * as zarr from "zarrita";
import { FileSystemStore, ReferenceStore } from "@zarrita/storage";
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
const [root, out, most, prefix] = process.argv.slice(2);

// Ranges of file: URLs, which node's own fetch does not read.
async function fetch(request) {
  const [begin, end] = request.headers.get("Range").slice("bytes=".length).split("-").map(Number);
  const file = openSync(new URL(request.url));
  const bytes = Buffer.alloc(end + 1 - begin);
  const got = readSync(file, bytes, 0, bytes.length, begin);
  closeSync(file);
  return new Response(bytes.subarray(0, got), { status: 206 });
}

async function stored() {
  const store = await zarr.withConsolidatedMetadata(new FileSystemStore(root), { format: "v3" });
  return [store, store.contents().filter(({ kind }) => kind === "array").map(({ path }) => path)];
}
function referenced() {
  const spec = JSON.parse(readFileSync(root));
  const arrays = Object.keys(spec.refs).filter((key) => key.endsWith("/.zarray"));
  const paths = arrays.map((key) => "/" + key.slice(0, -"/.zarray".length));
  return [ReferenceStore.fromSpec(spec, { fetch }), paths];
}
async function committed() {
  const { Repository, Storage } = await import("@earthmover/icechunk");
  const storage = await Storage.newLocalFilesystem(root);
  const repository = await Repository.open(storage, null, { [prefix]: null });
  const { store } = await repository.readonlySession({ branch: "main" });
  const paths = (await store.list()).filter((key) => key.endsWith("/zarr.json"));
  const arrays = [];
  for (const key of paths)
    if (JSON.parse(Buffer.from(await store.get(key))).node_type === "array")
      arrays.push("/" + key.slice(0, -"/zarr.json".length));
  return [store, arrays];
}
const [store, paths] = root.endsWith(".json") ? referenced() :
  root.endsWith(".icechunk") ? await committed() : await stored();
const bytesOf = (data) => Buffer.from(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
const open = root.endsWith(".json") ? zarr.open.v2 : zarr.open.v3;
const seen = {};
let number = 0;
for (const path of paths) {
  const entry = (seen[path.slice(1)] = {});
  try {
    const array = await open(new zarr.Location(store, path), { kind: "array" });
    Object.assign(entry, { dtype: array.dtype, shape: array.shape, chunks: array.chunks });
    const count = (extents) => extents.reduce((a, b) => a * b, 1);
    const chunks = array.shape.map((extent, i) => Math.ceil(extent / array.chunks[i]));
    if (count(array.shape) > Number(most) || count(chunks) > 2000) throw new Error("large");
    const read = await zarr.get(array);
    const data = array.shape.length ? read.data : read;
    const texts = array.dtype === "string" || array.dtype === "v2:object";
    if (texts) { entry.text = array.shape.length ? Array.from(data) : [data]; continue; }
    entry.file = `${out}/${number++}`;
    if (array.shape.length === 0) entry.scalar = String(data);
    else writeFileSync(entry.file, bytesOf(data._data ?? data));
  } catch (error) { entry.error = `${error.name}: ${error.message}`; }
}
console.log(JSON.stringify(seen));
"""


def same(entry, file, name):
    """Why it is not what the dataset is; '' where it is."""
    if "error" in entry:
        unsupported = re.search(
            r"unsupported dataType|unknown dtype|match is not a function|large|empty iterator", entry["error"]
        )
        return ("skip: zarrita: " if unsupported else "zarrita: ") + re.sub(r"\d+", "N", entry["error"])
    try:
        dataset = file[name]
        text = entry["dtype"] in ("string", "v2:object")
        want = np.asarray(dataset.asstr(errors="replace")[()] if text else dataset[()])
    except Exception:  # what libhdf5 cannot read, a reader of the store need not either
        return "skip: h5py cannot read it"
    if list(want.shape) != entry["shape"]:
        return f'differs: shape {entry["shape"]}'
    if text:
        return "" if entry["text"] == list(want.reshape(-1)) else "differs: text"
    if not want.shape and want.dtype.kind == "S":
        return "skip: a scalar of characters"
    if not want.shape:
        have = {"true": 1, "false": 0}.get(entry["scalar"], entry["scalar"])
        value = np.array(int(have) if want.dtype.kind in "iub" else float(have), want.dtype)
    else:
        with open(entry["file"], "rb") as file:
            value = np.frombuffer(file.read(), want.dtype.newbyteorder("<"))
    little = want.astype(want.dtype.newbyteorder("<"))
    return (
        ""
        if value.tobytes() == little.tobytes()
        or np.array_equal(value.reshape(want.shape), want, equal_nan=want.dtype.kind == "f")
        else "differs: values"
    )


# The library of Icechunk wants two functions of glibc 2.38, which do what those of 2.36 do.
GLIBC_238 = r"""
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  int read = vsscanf(text, format, rest);
  va_end(rest);
  return read;
}
long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
"""


def icechunk_environment(modules):
    """The environment in which node loads Icechunk."""
    library = os.path.join(modules, "glibc238.so")
    compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(compiler, input=GLIBC_238.encode(), check=True)
    return dict(os.environ, LD_PRELOAD=library)


def root_of(way, program, path, point, out):
    """What zarrita opens: a directory, or a file of references to file: URLs."""
    if way == "--icechunk":
        name = os.path.join(out, "refs.icechunk")
        shutil.copytree(os.path.join(point, ".h5/references.icechunk"), name)
        return name
    if way != "--references":
        return os.path.join(point, ".h5", "v3.zarr")
    name = os.path.join(out, "refs.json")
    url = "url=file://" + urllib.parse.quote(os.path.dirname(os.path.abspath(path))) + "/"
    with open(name, "wb") as file:
        subprocess.run([program, "-o", url, "--cat", path, "/.h5/references.json"], stdout=file, check=False)
    return name


def main():
    way = sys.argv[1] if sys.argv[1].startswith("--") else ""
    program, modules, *files = sys.argv[1 + bool(way) :]
    counts = collections.Counter()
    environment = icechunk_environment(modules) if way == "--icechunk" else None
    script = os.path.join(modules, "compare_zarr3.mjs")
    with open(script, "w", encoding="utf-8") as file:
        file.write(READER)
    for path in files:
        with tempfile.TemporaryDirectory() as point, tempfile.TemporaryDirectory() as out:
            if subprocess.run([program, path, point], capture_output=True, check=False).returncode != 0:
                counts["not mounted"] += 1
                continue
            try:
                root = root_of(way, program, path, point, out)
                directory = "file://" + os.path.dirname(os.path.abspath(path)) + "/"
                node = ["node", "--max-old-space-size=2048", script, root, out, str(MAX_ELEMENTS), directory]
                seen = subprocess.run(
                    node, capture_output=True, check=False, timeout=120, cwd=modules, env=environment
                )
                if seen.returncode != 0:
                    counts["STORE"] += 1
                    print(f"{path}: {seen.stderr.decode()[-500:]}")
                    continue
                with h5py.File(path, "r") as file:
                    for name, entry in json.loads(seen.stdout).items():
                        if not name.isprintable() or name not in file:
                            counts["skip: another name than h5py has"] += 1
                            continue
                        reason = same(entry, file, name)
                        counts[reason] += 1
                        if reason and not reason.startswith("skip"):
                            print(f"{path}: {name!r}: {reason}")
            except (OSError, subprocess.TimeoutExpired) as error:
                counts[f"skip: {type(error).__name__}"] += 1
            finally:
                subprocess.run(["fusermount3", "-u", point], check=False)
    for reason, count in sorted(counts.items()):
        print(f'{count:7d}  {reason or "equal"}')
    return int(any(not reason.startswith("skip") and reason not in ("", "not mounted") for reason in counts))


if __name__ == "__main__":
    sys.exit(main())
