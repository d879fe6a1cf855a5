#!/usr/bin/env python3
"""Copies damaged files out of real mounts, and counts what is lost with status 0.

    copy_damaged.py [--most-bytes N] [--flips N] [--jobs N] H5MOUNT FILE…

Each FILE is mounted whole, then cut at 1 to 99 % and with single bytes of its metadata structures flipped.
Where a damaged file mounts and `cp -a --preserve=xattr` of it ends with 0, every name, byte and attribute of
the whole file must be in the copy. A flipped byte that no checksum covers may change a name or a value: such
copies are counted apart, as changed. Prints a line a finding and the sums; ends with 1 where anything was
lost by a cut.
"""
import argparse, collections, concurrent.futures, hashlib, os, random, re, subprocess, sys, tempfile

CUTS = [1, 5, 10, 25, 50, 75, 90, 99]
SIGNATURES = re.compile(
    rb"OHDR|OCHK|TREE|SNOD|HEAP|FRHP|FHDB|FHIB|BTHD|BTIN|BTLF|GCOL|FAHD|FADB|EAHD|EAIB|EASB|EADB|SMTB|"
    rb"SMLI|FSHD|FSSE"
)


def attributes(path):
    out = {}
    for name in os.listxattr(path, follow_symlinks=False):
        # Addresses, errors and storage are about the file, not its content.
        if name.startswith("user.") and not name.startswith("user.hdf5."):
            out[name] = os.getxattr(path, name, follow_symlinks=False)
    return out


BLOCK = 64 << 10


def digest(path):
    """Of the size, and of what is not zero with its place: a copy of a sparse terabyte is read in no time."""
    out = hashlib.sha256()
    with open(path, "rb") as file:
        end = os.fstat(file.fileno()).st_size
        out.update(str(end).encode())
        at = 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // BLOCK * BLOCK
            except OSError:  # ENXIO: nothing but a hole until the end
                break
            block = os.pread(file.fileno(), BLOCK, at)
            if block.strip(b"\0"):
                out.update(b"%d:" % at + block)
            at += BLOCK
    return out.hexdigest()


def content(top):
    """{path: (kind, digest or target, attributes)} of a directory tree."""
    out = {}
    for place, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(place, name)
            inside = os.path.relpath(path, top)
            if os.path.islink(path):
                out[inside] = ("link", os.readlink(path), {})
            elif os.path.isdir(path):
                out[inside] = ("directory", "", attributes(path))
            else:
                out[inside] = ("file", digest(path), attributes(path))
    return out


def copied(h5mount, path, scratch):
    """The content of a copy, or None where it does not mount or the copy fails aloud."""
    mountpoint, copy = os.path.join(scratch, "m"), os.path.join(scratch, "c")
    os.makedirs(mountpoint, exist_ok=True)
    done = subprocess.run([h5mount, path, mountpoint], capture_output=True, timeout=120)
    if done.returncode != 0:
        return None
    try:
        done = subprocess.run(
            ["cp", "-a", "--preserve=xattr", mountpoint, copy], capture_output=True, timeout=300
        )
        return content(copy) if done.returncode == 0 else None
    finally:
        subprocess.run(["umount", mountpoint], check=True)
        subprocess.run(["rm", "-rf", copy], check=True)


def damaged_versions(bytes_, flips, seed):
    for percent in CUTS:
        yield f"cut at {percent} %", True, bytes_[: len(bytes_) * percent // 100]
    places = [match.start() for match in SIGNATURES.finditer(bytes_)]
    chance = random.Random(seed)
    for place in chance.sample(places, min(flips, len(places))):
        at = min(place + 4 + chance.randrange(32), len(bytes_) - 1)
        changed = bytearray(bytes_)
        changed[at] ^= 1 << chance.randrange(8)
        kind = bytes_[place : place + 4].decode()
        yield f"bit of {kind} flipped at {at:#x}", False, bytes(changed)


def examine(h5mount, path, flips):
    counts, lines = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        # By its own name, which it may use; without the files that it may name.
        victim = os.path.join(scratch, os.path.basename(path))

        def copied_as(bytes_):
            with open(victim, "wb") as file:
                file.write(bytes_)
            return copied(h5mount, victim, scratch)

        with open(path, "rb") as file:
            bytes_ = file.read()
        whole = copied_as(bytes_)
        if whole is None:
            return collections.Counter({"not copied whole": 1}), []
        for what, cut, damaged in damaged_versions(bytes_, flips, os.path.basename(path)):
            got = copied_as(damaged)
            if got is None:
                counts["aloud"] += 1
            elif got == whole:
                counts["whole"] += 1
            else:
                lost = len(got) < len(whole) or any(
                    len(got[name][2]) < len(entry[2]) for name, entry in whole.items() if name in got
                )
                verdict = "cut: lost" if cut else "flip: lost" if lost else "flip: changed"
                counts[verdict] += 1
                lines.append(f"{verdict}: {path}: {what}")
    return counts, lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most-bytes", type=int, default=256 << 10, help="larger files are left out")
    parser.add_argument("--flips", type=int, default=8, help="flipped bits a file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("h5mount")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    files = [path for path in args.files if os.path.getsize(path) <= args.most_bytes]
    total = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for counts, lines in pool.map(lambda path: examine(args.h5mount, path, args.flips), files):
            total += counts
            print("\n".join(lines), end="\n" if lines else "", flush=True)
    print(f"{len(files)} files: " + ", ".join(f"{what} {number}" for what, number in sorted(total.items())))
    sys.exit(1 if total["cut: lost"] else 0)


main()
