#!/usr/bin/python3
"""Which features of the format were read, how each was written, and whether reading it passed:
tests/FEATURES.md.

    feature_matrix.py --h5mount PROGRAM [--corpus DIR] [--out tests/FEATURES.md] [MANIFEST.json ...]

Mounts every file of the corpus and compares it with its manifest, whose values come from an independent
reader (tools/verify_mount.py beside the corpus compares names, bytes, attributes, links and errors). Features
are derived from the manifest's files, groups, links, datasets and attributes; an object passes where no
finding names it. A row is one feature by one writer, with the numbers of files and objects that have it. Exit
code 1 where anything failed. Needs only Python and the corpus.
"""
import argparse, collections, glob, importlib.util, json, os, re, subprocess, sys, tempfile, time


def load_judge(path):
    spec = importlib.util.spec_from_file_location("verify_mount", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- features


def type_features(t, depth=0):
    kind = t.get("class", "?")
    size = t.get("size")
    order = {"be": " big-endian", "vax": " VAX order"}.get(t.get("order"), "")
    if kind == "integer":
        whole = t.get("precision") == 8 * (size or 0)
        sign = "signed" if t.get("signed") else "unsigned"
        yield (
            f"{sign} integer, {8 * size} bits{order}"
            if whole
            else f"integer of fewer bits than its bytes hold{order}"
        )
    elif kind == "float":
        usual = {2: [(5, 10), (8, 7)], 4: [(8, 23)], 8: [(11, 52)], 16: [(15, 112), (15, 64)]}.get(size, [])
        named = (t.get("esize"), t.get("msize")) in usual
        fields = f" (exponent {t.get('esize')}, mantissa {t.get('msize')})"
        yield f"float, {8 * size} bits{order}" + ("" if named and size != 2 and size != 16 else fields)
    elif kind == "string":
        length = "variable length" if t.get("variable") else f"fixed length, {t.get('strpad')}"
        yield f"string, {length}, {t.get('cset', 'ascii')}"
    elif kind == "reference":
        yield f"reference: {t.get('ref')}"
    elif kind == "opaque":
        yield "opaque with tag" if t.get("tag") else "opaque"
    elif kind == "compound":
        yield "compound" if depth == 0 else "compound inside another type"
        packed = sum(m["type"].get("size") or 0 for m in t.get("members", []))
        if size and packed < size:
            yield "compound with padding"
    elif kind == "enum":
        yield f"enum over {8 * (t.get('base', {}).get('size') or 0)} bits"
    elif kind == "array":
        yield f"array of rank {len(t.get('dims', []))}"
    elif kind == "vlen":
        yield "variable-length sequence"
    else:
        yield f"{kind}{order}"
    if kind == "enum":
        return
    for inner in [t.get("base")] + [m.get("type") for m in t.get("members", [])]:
        if isinstance(inner, dict):
            yield from type_features(inner, depth + 1)


def file_features(m):
    yield "file", f"superblock version {m.get('superblock_version')}"
    if m.get("userblock"):
        yield "file", f"user block of {m['userblock']} bytes"
    if (m.get("sizeof_addr"), m.get("sizeof_size")) != (8, 8):
        yield "file", f"addresses of {m.get('sizeof_addr')} bytes, lengths of {m.get('sizeof_size')}"
    if m.get("driver") not in (None, "sec2"):
        yield "file", f"driver {m['driver']}"
    if m.get("sohm_indexes"):
        yield "file", "shared object header messages"
    space = m.get("file_space") or {}
    if space.get("strategy"):
        yield "file", f"file space strategy {space['strategy']}" + (
            ", persistent" if space.get("persist") else ""
        )


def group_features(o):
    yield "group", f"{o.get('group_storage')} links, creation order {o.get('link_creation_order', 'none')}"
    if (o.get("nlinks") or 0) >= 10_000:
        yield "group", f"{o.get('group_storage')} links, 10,000 of them or more"
    if (o.get("refcount") or 1) > 1:
        yield "group", "several hard links to one group"


def space_feature(o):
    if o.get("space") != "simple":
        return f"{o.get('space')} dataspace"
    shape, most = o.get("shape") or [], o.get("maxshape") or []
    if 0 in shape:
        return "an extent of zero"
    kind = "unlimited" if None in most else "may grow" if most and most != shape else "fixed"
    return f"rank {len(shape)}, extent {kind}"


def dataset_features(o):
    yield "dataspace", space_feature(o)
    layout = o.get("layout")
    if layout == "chunked":
        yield "layout", f"chunk index {o.get('chunk_index')}" + (", filtered" if o.get("filters") else "")
        if o.get("dont_filter_partial_edge_chunks"):
            yield "layout", "partial edge chunks not filtered"
        if any(c.get("filter_mask") for c in o.get("chunks") or []):
            yield "filter", "filters skipped for single chunks (mask)"
        if (o.get("num_chunks") or 0) >= 10_000:
            yield "layout", f"chunk index {o.get('chunk_index')}, 10,000 chunks or more"
    elif layout:
        yield "layout", layout + (", external raw files" if o.get("external") else "")
    if layout == "contiguous" and o.get("address", 0) is None:
        yield "layout", "contiguous, never allocated"
    for mapping in ((o.get("virtual") or {}).get("mappings") or [])[:1]:
        yield "layout", "virtual over " + ("the file itself" if mapping.get("file") == "." else "other files")
    filters = o.get("filters") or []
    for f in filters:
        yield "filter", filter_name(f)
    if len(filters) > 1:
        yield "filter", f"{len(filters)} filters in one pipeline"
    if o.get("fill"):
        written = f"written {o.get('fill_time')}, storage allocated {o.get('alloc_time')}"
        yield "fill value", f"{o['fill']}, {written}"
    if o.get("committed_type_addr"):
        yield "datatype", "committed datatype used by a dataset"
    for feature in dict.fromkeys(type_features(o.get("dtype") or {})):
        yield "datatype", feature


def attribute_features(o):
    attributes = o.get("attributes") or []
    for a in attributes:
        if a.get("space") != "simple":
            yield "attribute", f"{a.get('space')} dataspace"
        for feature in list(dict.fromkeys(type_features(a.get("dtype") or {})))[:1]:
            yield "attribute", feature
    if len(attributes) >= 100:
        yield "attribute", "100 attributes or more on one object"


def link_features(link):
    yield "link", {"hard": "hard", "soft": "soft", "external": "external"}.get(
        link["type"], "user-defined class"
    )
    if link.get("cset") == "utf8":
        yield "link", "name marked UTF-8"
    if any("\udc80" <= c <= "\udcff" for c in link["path"]):
        yield "link", "name that is not UTF-8"


FILTER_NAMES = {
    1: "deflate",
    2: "shuffle",
    3: "fletcher32",
    4: "szip",
    5: "nbit",
    6: "scaleoffset",
    307: "bzip2",
    32000: "lzf",
    32001: "blosc",
    32004: "lz4",
    32008: "bitshuffle",
    32013: "zfp",
    32015: "zstd",
    32018: "jpeg-ls",
    32026: "blosc2",
}


def filter_name(f):
    return f"{FILTER_NAMES.get(f['id'], f.get('name', '?').split(';')[0])} ({f['id']})"


def listed_dataset_features(path, d):
    """The manifests of corpus/filters and corpus/sparse."""
    if d.get("kind") != "sparse":
        names = [filter_name(f) for f in d.get("filters") or []]
        for name in names:
            yield "filter", name
        if names and path.count("/") > 1:
            yield "filter", f"{names[-1]}: {path.split('/')[1]}"
        if len(names) > 1:
            yield "filter", f"{len(names)} filters in one pipeline"
        if any(d.get("filter_masks") or []):
            yield "filter", "filters skipped for single chunks (mask)"
        return
    if d.get("expect") == "error":
        yield "sparse", "damaged chunk refused: " + path.lstrip("/")
        return
    kind = {"fa": "fixed array", "ea": "extensible array", "bt2": "v2 B-tree"}.get(
        d["index"].get("kind"), d["index"].get("kind")
    )
    yield "sparse", f"index {kind}" + (", filtered" if d.get("pipelines") else "")
    yield "sparse", f"layout form {d.get('layout_form')}, offset size of {d.get('offset_size_field')} bytes"
    for chunk in d.get("chunks") or []:
        yield "sparse", f"selection {chunk.get('selection')}"
    if d.get("layout_flags", 0) & 1:
        yield "sparse", "partial edge chunks not filtered"
    if d.get("pipelines"):
        yield "sparse", "filters on sections " + " and ".join(sorted(d["pipelines"]))
    if any(s.get("filter_mask") for c in d.get("chunks") or [] for s in c.get("sections", [])):
        yield "sparse", "section filters skipped (mask)"
    if not d.get("n_chunks"):
        yield "sparse", "nothing allocated"


# ---- running


def writer(path, corpus, manifest):
    parts = os.path.relpath(path, corpus).split(os.sep)
    if parts[0] == "generated":
        return "libhdf5 2.2.0" if "hdf5v22" in parts else "libhdf5 1.10.8"
    if parts[0] == "foreign":
        return "files of " + parts[1]
    if parts[0] == "sparse":
        return "by the RFC"
    return "libhdf5 and plugins" if "crafted" not in parts[-1] else "crafted"


def verify(judge, program, path, manifest, timeout):
    """Findings of one file; None where it cannot be mounted (then `why` is set)."""
    with tempfile.TemporaryDirectory(prefix="features-") as mnt:
        options = ["-o", "force"] if "status flags" in (manifest.get("note") or "") else []
        done = subprocess.run(
            [program] + options + [judge.source_of(path, manifest), mnt],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if done.returncode:
            return [f"/: mount failed: {done.stderr.strip()[:200]}"]
        try:
            return judge.judge(manifest, mnt)
        finally:
            subprocess.run(["umount", mnt], capture_output=True, timeout=timeout)
            for _ in range(200):
                if not os.path.ismount(mnt):
                    break
                time.sleep(0.05)


class Matrix:
    def __init__(self):
        self.rows = collections.defaultdict(lambda: {"files": set(), "objects": 0, "failed": []})

    def add(self, features, who, file, failed):
        for area, feature in dict.fromkeys(features):
            row = self.rows[(area, feature, who)]
            row["files"].add(file)
            row["objects"] += 1
            if failed:
                row["failed"].append(failed)

    def file(self, manifest, who, name, findings):
        # A finding names its object's path. Where the mount itself failed, all objects fail.
        by_path = collections.defaultdict(list)
        for finding in findings:
            by_path[finding.split(": ", 1)[0]].append(f"{name}{finding}")
        broken = by_path.get("/") if any("mount failed" in f for f in findings) else None
        bad = lambda path: broken or by_path.get(path)
        if "datasets" in manifest:
            listed = manifest["datasets"]
            for path, d in listed.items() if isinstance(listed, dict) else ((d["path"], d) for d in listed):
                self.add(listed_dataset_features(path, d), who, name, bad(path))
            return
        self.add(file_features(manifest), who, name, findings)
        for link in manifest["links"]:
            self.add(link_features(link), who, name, bad(link["path"]))
        for o in manifest["objects"].values():
            if o.get("error") or not o.get("paths"):
                continue
            failed = next((bad(p) for p in o["paths"] if bad(p)), None)
            own = [("object header", f"version {o.get('header_version')}")]
            of_kind = {"group": group_features, "dataset": dataset_features}.get(o.get("type"), lambda _: [])
            if o.get("type") == "datatype":
                own += [
                    ("datatype", "committed: " + f) for f in list(type_features(o.get("dtype") or {}))[:1]
                ]
            self.add([*own, *of_kind(o), *attribute_features(o)], who, name, failed)


AREAS = [
    "file",
    "object header",
    "group",
    "link",
    "dataspace",
    "datatype",
    "attribute",
    "layout",
    "fill value",
    "filter",
    "sparse",
]


def natural(text):
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", text)]


def write(out, matrix, files):
    rows = sorted(matrix.rows.items(), key=lambda r: (AREAS.index(r[0][0]), natural(r[0][1]), r[0][2]))
    passed = sum(not row["failed"] for _, row in rows)
    print("# Features of the format, read through the mount\n", file=out)
    print(
        (
            "Made by `scripts/feature_matrix.py`: every file of the corpus is mounted and held against its"
            " manifest."
        ),
        file=out,
    )
    print(
        (
            "A row is a feature, who wrote the files that have it, in how many files and objects it stands,"
            " and whether"
        ),
        file=out,
    )
    print(
        f"all of them read as the manifest says. {len(files)} files, {len(rows)} rows, {passed} pass.\n",
        file=out,
    )
    area = None
    for (of, feature, who), row in rows:
        if of != area:
            print(f"{'' if area is None else chr(10)}## {of.capitalize()}\n", file=out)
            print("| feature | written by | files | objects | result |\n|---|---|---:|---:|---|", file=out)
            area = of
        result = "pass" if not row["failed"] else f"**{len(row['failed'])} fail**"
        print(
            f"| {feature.replace('|', '/')} | {who} | {len(row['files'])} | {row['objects']} | {result} |",
            file=out,
        )
    failures = sorted({str(f) for _, row in rows for found in row["failed"] for f in found})
    if failures:
        print("\n## What failed\n", file=out)
        for failure in failures[:200]:
            print(f"- `{failure.encode('utf-8', 'backslashreplace').decode()[:300]}`", file=out)
    return len(rows), passed


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--h5mount", required=True)
    parser.add_argument(
        "--corpus", default=os.environ.get("H5MOUNT_CORPUS", os.path.join(here, "../../shared/corpus"))
    )
    parser.add_argument("--judge", help="another verify_mount.py")
    parser.add_argument("--out", default=os.path.join(here, "../tests/FEATURES.md"))
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("manifests", nargs="*")
    args = parser.parse_args()
    corpus = os.path.abspath(args.corpus)
    judge = load_judge(args.judge or os.path.join(corpus, "../tools/verify_mount.py"))
    paths = args.manifests or sorted(
        p
        for folder in ("generated", "foreign", "filters", "sparse")
        for p in glob.glob(os.path.join(corpus, folder, "**/*.json"), recursive=True)
    )
    matrix, files = Matrix(), []
    for path in paths:
        with open(path) as f:
            manifest = json.load(f)
        if not isinstance(manifest, dict) or not (
            "objects" in manifest and "links" in manifest or "datasets" in manifest
        ):
            continue
        manifest.setdefault("objects", {})
        name = os.path.relpath(judge.source_of(path, manifest), corpus)
        try:
            findings = verify(judge, args.h5mount, path, manifest, args.timeout)
        except subprocess.TimeoutExpired:
            findings = ["/: mount failed: it did not come back"]
        files.append(name)
        print(
            f"{'FAIL' if findings else 'ok  '} {name}",
            *findings[:2],
            sep="\n     " if findings else " ",
            flush=True,
        )
        matrix.file(manifest, writer(path, corpus, manifest), name, findings)
    with open(args.out, "w") as out:
        rows, passed = write(out, matrix, files)
    print(f"{args.out}: {len(files)} files, {rows} rows, {passed} pass")
    return 0 if rows == passed else 1


if __name__ == "__main__":
    sys.exit(main())
