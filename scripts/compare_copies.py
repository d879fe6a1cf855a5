#!/usr/bin/env python3
"""Holds what `h5mount --tar | tar x` and `h5mount --copy` give against `cp -a` of a mount.

    compare_copies.py [--limit BYTES] H5MOUNT FILE_OR_DIRECTORY…

Every file is mounted and copied three times; compared are types, bytes, modes, owners, times, link counts,
symlinks and extended attributes; holes are held against those of the mount (cp also makes holes of zeros in
data). Where an object cannot be read, cp leaves a part of it, and nothing of a directory that cannot be
listed whole; the others have to leave out what cannot be read, and to say so. Files that open as no mount, or
whose datasets take more than the limit (apparent size, 1 GiB by default), are counted and left out. Prints
what differs and the counts; exit code 1 where anything differs. Needs a right to mount.
"""
import argparse
import collections
import os
import shutil
import stat
import subprocess
import sys
import tempfile


def entries(root):
    """Path -> lstat, of everything below, the root as '.'."""
    out = {b".": os.lstat(root)}
    for place, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(place, name)
            out[os.path.relpath(path, root)] = os.lstat(path)
    return out


def xattrs(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name.startswith("user.")}


def same_bytes(a, b):
    with open(a, "rb") as one, open(b, "rb") as other:
        while True:
            left, right = one.read(1 << 22), other.read(1 << 22)
            if left != right:
                return False
            if not left:
                return True


def data_pages(path):
    """Ranges of pages with data, joined."""
    out = []
    with open(path, "rb") as file:
        end, offset = os.fstat(file.fileno()).st_size, 0
        while offset < end:
            try:
                begin = os.lseek(file.fileno(), offset, os.SEEK_DATA)
            except OSError:
                break
            offset = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            first, last = begin // 4096, -(-offset // 4096)
            if out and first <= out[-1][1]:
                out[-1][1] = last
            else:
                out.append([first, last])
    return out


def differences(name, mount, reference, copy, unreadable, cp_whole):
    one, other = entries(reference), entries(copy)
    most_links = os.pathconf(copy, "PC_LINK_MAX")
    links = [collections.defaultdict(set), collections.defaultdict(set)]
    for path in sorted(one.keys() | other.keys()):
        shown = f"{name}: {os.fsdecode(path)}"
        if path not in other or path not in one:
            if path not in unreadable and (path in one or cp_whole):
                yield f'{shown}: only in {"cp" if path in one else "the other"}'
            continue
        if path in unreadable:
            yield f"{shown}: cp could not read it"
            continue
        a, b = one[path], other[path]
        for field in ("st_mode", "st_uid", "st_gid", "st_nlink", "st_mtime_ns"):
            if field != "st_nlink" and stat.S_ISLNK(a.st_mode) and field == "st_mode":
                continue
            if getattr(a, field) != getattr(b, field) and cp_whole:
                yield f"{shown}: {field} {getattr(a, field)} {getattr(b, field)}"
        left, right = os.path.join(reference, path), os.path.join(copy, path)
        if stat.S_ISLNK(a.st_mode):
            if os.readlink(left) != os.readlink(right):
                yield f"{shown}: another target"
            continue
        if xattrs(left) != xattrs(right):
            yield f"{shown}: xattrs {sorted(set(xattrs(left).items()) ^ set(xattrs(right).items()))[:4]}"
        if stat.S_ISREG(a.st_mode):
            # Where an object has more names than this file system allows, both have several files for it.
            if os.lstat(os.path.join(mount, path)).st_nlink <= most_links:
                links[0][a.st_ino].add(path)
                links[1][b.st_ino].add(path)
            if a.st_size != b.st_size or not same_bytes(left, right):
                yield f"{shown}: other bytes"
            elif data_pages(os.path.join(mount, path)) != data_pages(right):
                yield f"{shown}: other holes"
    if sorted(map(sorted, links[0].values())) != sorted(map(sorted, links[1].values())):
        yield f"{name}: other hard links"


def apparent_size(root):
    return sum(found.st_size for found in entries(root).values() if stat.S_ISREG(found.st_mode))


def unreadable_files(mount):
    """What cannot be read to its end, which cp leaves as a part of it."""
    out = set()
    for path, found in entries(mount).items():
        if not stat.S_ISREG(found.st_mode):
            continue
        try:
            with open(os.path.join(mount, path), "rb") as file:
                while file.read(1 << 22):
                    pass
        except OSError:
            out.add(path)
    return out


class Comparison:
    def __init__(self, program, limit):
        self.program, self.limit = program, limit
        self.counts = collections.Counter()

    def copies(self, file, place):
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in (b"cp", b"tar", b"copy"):
            os.mkdir(place + b"/" + name)
        cp = subprocess.run([b"cp", b"-a", place + b"/mount/.", place + b"/cp"], **quiet)
        self.cp_whole = cp.returncode == 0
        tar = subprocess.Popen([self.program, "--tar", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        unpack = subprocess.run(
            ["tar", "--xattrs", "-xpf", "-", "-C", place + b"/tar"], stdin=tar.stdout, stderr=subprocess.PIPE
        )
        self.said = tar.stderr.read()
        self.tar_code = tar.wait() or unpack.returncode
        copy = subprocess.run([self.program, "--copy", file, "/", place + b"/copy"], stderr=subprocess.PIPE)
        self.copy_code = copy.returncode

    def one(self, file):
        place = os.fsencode(tempfile.mkdtemp(prefix="h5mount-copies-"))
        mount = place + b"/mount"
        os.mkdir(mount)
        try:
            if subprocess.run([self.program, file, mount], stderr=subprocess.DEVNULL).returncode != 0:
                self.counts["not mounted"] += 1
                return
            if apparent_size(mount) > self.limit:
                self.counts["over the limit"] += 1
                return
            unreadable = unreadable_files(mount)
            self.copies(file, place)
            found = [
                *differences(
                    f"{file}: tar", mount, place + b"/cp", place + b"/tar", unreadable, self.cp_whole
                ),
                *differences(
                    f"{file}: copy", mount, place + b"/cp", place + b"/copy", unreadable, self.cp_whole
                ),
            ]
            for name, code in (("tar", self.tar_code), ("copy", self.copy_code)):
                if unreadable and code == 0:
                    found.append(f"{file}: {name}: exit code 0 though {len(unreadable)} files cannot be read")
            for line in found:
                print(line)
            self.counts["differ" if found else "equal"] += 1
            self.counts["objects"] += len(entries(place + b"/cp"))
            self.counts["unreadable objects"] += len(unreadable)
        finally:
            subprocess.run(["umount", mount], stderr=subprocess.DEVNULL)
            shutil.rmtree(place, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=1 << 30)
    parser.add_argument("program")
    parser.add_argument("source", nargs="+")
    args = parser.parse_args()
    comparison = Comparison(args.program, args.limit)
    for source in args.source:
        found = [os.path.join(place, name) for place, _, names in os.walk(source) for name in names]
        for file in sorted(found) if os.path.isdir(source) else [source]:
            comparison.one(file)
    print(", ".join(f"{count} {what}" for what, count in sorted(comparison.counts.items())))
    sys.exit(1 if comparison.counts["differ"] else 0)


main()
