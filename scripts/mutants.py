#!/usr/bin/env python3
"""Damaged copies of sound files, walked by the whole-file fuzz target or read through real mounts.

    scripts/mutants.py walk  WALK_FILE MUTATE COUNT SEED FILE...
    scripts/mutants.py mount H5MOUNT   MUTATE COUNT SEED FILE...

COUNT copies of each FILE are written by MUTATE (called as: MUTATE FILE DIRECTORY COUNT SEED) and removed
again.
walk   WALK_FILE (tests/fuzz/walk_file of a build with sanitizers) walks each copy: a crash, a finding of a
       sanitizer, a violated invariant, an operation over its time or memory is counted as bad.
mount each copy is mounted, every byte, name and extended attribute read, and unmounted; what h5py still reads
       of it is compared: datasets that agree, that the mount refuses, that only h5py refuses, and those that
       differ.
Exit code 1 where anything was bad."""
import collections
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# Prints the MD5 sum of each dataset of plain numbers that can be read, or its error, as JSON.
H5PY = r"""
import hashlib, json, sys
import h5py
out = {}
def shown(name):
    return '/'.join({'.': '%2E', '..': '%2E%2E'}.get(part, part) for part in name.split('/'))
def see(name, item):
    if not isinstance(item, h5py.Dataset):
        return
    try:
        if item.dtype.kind not in 'iuf' or item.shape is None or item.nbytes > 1 << 26:
            return
        if item.is_virtual or item.external:
            return
        kind = item.id.get_type()
        plain = kind.get_class() in (h5py.h5t.INTEGER, h5py.h5t.FLOAT)
        if not plain or not kind.equal(h5py.h5t.py_create(item.dtype)):
            return
        out[shown(name)] = hashlib.md5(item[...].tobytes()).hexdigest()
    except TypeError:  # no type of NumPy
        pass
    except Exception:
        out[shown(name)] = None
with h5py.File(sys.argv[1], 'r') as f:
    try:
        f.visititems(see)
    except Exception:
        pass
json.dump(out, sys.stdout)
"""


def run(arguments, seconds, **more):
    try:
        return subprocess.run(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, **more
        )
    except subprocess.TimeoutExpired:
        return None


def copies(mutate, file, count, seed):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="h5mount-mutants-"))
    try:
        subprocess.run(
            [sys.executable, mutate, file, directory, str(count), str(seed)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        yield from sorted(directory.iterdir())
    finally:
        shutil.rmtree(directory)


def walk_together(program, names, totals):
    """Walks copies in one process; in another one what is left behind a copy that ended it."""
    environment = dict(
        os.environ, ASAN_OPTIONS="detect_leaks=1", UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
    )
    while names:
        done = run([program, "--slow", "20", "--nodes", "120", *names], 3000, env=environment)
        lines = [] if done is None else done.stdout.decode(errors="replace").splitlines()
        walked = [line for line in lines if ": " in line and not line.startswith(" ")]
        for line in walked:
            if line.startswith("BAD "):
                totals["bad"] += 1
                print(line, flush=True)
        totals["walked"] += len(walked)
        if done is not None and done.returncode in (0, 1):
            return
        totals["crashed"] += 1
        where = names[len(walked)] if len(walked) < len(names) else "after the last copy"
        print(
            "crash or hang:",
            where,
            "" if done is None else done.stderr.decode(errors="replace")[-3000:],
            flush=True,
        )
        names = names[len(walked) + 1 :]


def walk(program, mutate, count, seed, files):
    totals = collections.Counter()
    for file in files:
        rest = copies(mutate, file, count, seed)
        while names := [str(copy) for copy in itertools.islice(rest, 50)]:
            walk_together(program, names, totals)
        print(pathlib.Path(file).name, dict(totals), flush=True)
    return totals["bad"] + totals["crashed"]


def listed(directory, refused):
    """The names of a directory: those that can be read come before the error."""
    names = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                names.append(entry.name)
    except OSError as error:
        refused.append(error)
    return names


def read_all(place):
    """Reads every byte, name and extended attribute; the sum of each file below the root, None: refused."""
    out, refused, directories = {}, [], [place]
    while directories:
        directory = directories.pop()
        for name in listed(directory, refused):
            path = os.path.join(directory, name)
            if path == os.path.join(place, ".h5"):
                continue
            try:
                for attribute in os.listxattr(path, follow_symlinks=False):
                    os.getxattr(path, attribute, follow_symlinks=False)
            except OSError as error:
                refused.append(error)
            if os.path.islink(path):
                continue
            if os.path.isdir(path):
                directories.append(path)
                continue
            sum_ = hashlib.md5()
            try:
                if os.stat(path).st_size > 1 << 26:
                    with open(path, "rb") as file:
                        file.read(1 << 20)
                    continue
                with open(path, "rb") as file:
                    while block := file.read(1 << 20):
                        sum_.update(block)
                out[os.path.relpath(path, place)] = sum_.hexdigest()
            except OSError as error:
                refused.append(error)
                out[os.path.relpath(path, place)] = None
    return out, refused


def wait_for_end(process, place):
    subprocess.run(["umount", place], stderr=subprocess.DEVNULL)
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL)
        return "hang"


def mount(program, mutate, count, seed, files):
    totals = collections.Counter()
    place = tempfile.mkdtemp(prefix="h5mount-mutants-mount-")
    peak = 0
    for file in files:
        for copy in copies(mutate, file, count, seed):
            totals["copies"] += 1
            process = subprocess.Popen(
                [program, "-f", "-o", "cache_size=32M", copy, place],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            until = time.monotonic() + 20
            while process.poll() is None and not os.path.ismount(place) and time.monotonic() < until:
                time.sleep(0.005)
            if process.poll() is not None:
                if process.returncode < 0 or process.returncode > 100:
                    totals["crashed"] += 1
                    print("crash:", copy, process.returncode, flush=True)
                else:
                    totals["refused whole"] += 1
                continue
            begin = time.monotonic()
            seen, refused = read_all(place)
            took = time.monotonic() - begin
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                high = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
            peak = max(peak, *high, 0)
            ended = wait_for_end(process, place)
            if ended != 0:
                totals["crashed"] += 1
                print("crash or hang:", copy, ended, flush=True)
            if took > 30:
                totals["slow"] += 1
                print(f"slow: {copy} {took:.1f} s", flush=True)
            totals["mounted"] += 1
            totals["refusals"] += len(refused)
            if any(error.errno in (107, 103) for error in refused):
                totals["crashed"] += 1
                print("connection lost:", copy, flush=True)
            theirs = run(["/usr/bin/python3", "-c", H5PY, copy], 30)
            if theirs is None or theirs.returncode != 0:
                totals["h5py: no answer"] += 1
                continue
            for name, sum_ in json.loads(theirs.stdout).items():
                ours = seen.get(name, "absent")
                if sum_ is None:
                    totals[
                        "datasets that h5py refuses, and the mount " + ("too" if ours is None else "reads")
                    ] += 1
                elif ours == sum_:
                    totals["datasets that agree"] += 1
                elif ours is None:
                    totals["datasets that only the mount refuses"] += 1
                elif ours == "absent":
                    totals["datasets that only h5py shows"] += 1
                else:
                    totals["datasets that differ"] += 1
                    kept = pathlib.Path(tempfile.gettempdir()) / "h5mount-mutants-kept"
                    kept.mkdir(exist_ok=True)
                    shutil.copy(copy, kept)
                    print("differs:", copy.name, name, flush=True)
        print(pathlib.Path(file).name, dict(totals), f"peak {peak} KiB", flush=True)
    os.rmdir(place)
    return totals["crashed"] + totals["slow"] + totals["datasets that differ"]


def main():
    if len(sys.argv) < 7 or sys.argv[1] not in ("walk", "mount"):
        sys.exit(__doc__)
    what, program, mutate, count, seed = sys.argv[1:6]
    sys.exit(1 if (walk if what == "walk" else mount)(program, mutate, int(count), seed, sys.argv[6:]) else 0)


main()
