#!/usr/bin/python3
"""Damages HDF5 files of its own in many ways and tells what h5mount gives of them, with and without salvage.

usage: salvage_rig.py H5MOUNT [--kills N] [--full N] [--only-kills] [--writer NAME] [--cuts N] [--mutants N]
                      [--seed N] [--photorec] [--work DIR]
       salvage_rig.py H5MOUNT --files FILE… [--mutants N] [--seed N] [--work DIR] [--ordinary H5MOUNT] [--part
       K/N]

With --files, N mutants of each of these are made and nothing else. A mutant depends on the seed and the
file's name alone, so that a run can be divided: --part 1/2 and --part 2/2 take every second file each. Where
H5MOUNT is a build with sanitizers, --ordinary names a build without them, which is asked for what is read
without salvage. A line CRASHED names a file at which H5MOUNT was ended by a signal, or was not done after
five minutes.

For each kind of damage a line: the share of the bytes that were in the file which come back right, beside
h5py on the same file, h5py on a copy that h5clear was run on, and with --photorec h5py on what PhotoRec
(Debian's testdisk) finds in a disk image that holds the file. A line LITTLE names a killed writer's file of
which less than 99 % came back, or less than h5py gives. Bytes that are wrong and not marked as `guessed` or
missing end the program with status 1, and so does a sound file that salvage shows in another way.
"""
import argparse, http.client, importlib.util, io, json, os, random
import resource, shutil, signal, subprocess, sys, tarfile
import tempfile, time, urllib.parse, urllib.request

import h5py
import numpy as np

MOST_BYTES = 64 << 20  # of one dataset: damage may make it any size
ATTRIBUTE = "SCHILY.xattr.user."
SALVAGE = ATTRIBUTE + "hdf5.salvage"
MOST_SECONDS = 300


class Crashed(Exception):
    """A program was ended by a signal, or was not done in time."""


def tree(h5mount, path, options="", attributes=False):
    """What a tar of the tree holds: path to (bytes, salvage attribute or None). With `attributes` also those
    of objects: as path@name, in the text that they have as extended attributes."""
    command = [h5mount, "--tar"] + (["-o", options] if options else []) + [path]
    try:
        done = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise Crashed(f"{command}: not done after {MOST_SECONDS} s") from late
    if done.returncode < 0:
        told = done.stderr.decode(errors="replace")[-3000:]
        raise Crashed(f"{command}: ended by signal {-done.returncode}\n{told}")
    out = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            for member in archive:
                for key, value in member.pax_headers.items() if attributes else ():
                    if key.startswith(ATTRIBUTE) and not key.startswith(ATTRIBUTE + "hdf5."):
                        remark = member.pax_headers.get(SALVAGE)
                        out[f"{member.name.removeprefix('./')}@{key.removeprefix(ATTRIBUTE)}"] = (
                            value.encode(errors="surrogateescape"),
                            json.loads(remark) if remark else None,
                        )
                if member.islnk() and member.linkname.removeprefix("./") in out:  # another name of an object
                    out[member.name.removeprefix("./")] = out[member.linkname.removeprefix("./")]
                elif member.isreg() and member.size <= MOST_BYTES:
                    remark = member.pax_headers.get(SALVAGE)
                    out[member.name.removeprefix("./")] = (
                        archive.extractfile(member).read(),
                        json.loads(remark) if remark else None,
                    )
    except tarfile.TarError:
        pass
    return out


def mask_of(remark, size):
    """Which bytes are given: all but the missing ones."""
    mask = np.ones(size, bool)
    for begin, end in (remark or {}).get("missing", []):
        mask[begin:end] = False
    return mask


def compare(given, data):
    """(right bytes, wrong bytes that are not marked) of one file against what was written."""
    got, remark = given
    if len(got) != len(data):
        return 0, 0
    a, b = np.frombuffer(got, np.uint8), np.frombuffer(data, np.uint8)
    mask = mask_of(remark, len(data))
    right = int(((a == b) & mask).sum())
    wrong = int(((a != b) & mask).sum())
    return right, 0 if remark and remark["certainty"] == "guessed" else wrong


def also_ordinary(h5mount, path, found, truth):
    """How many of the unmarked wrong bytes the ordinary way gives too, where a file is read in parts: raw
    data that no checksum covers, in a file whose other parts may be damaged."""
    count = 0
    server = subprocess.Popen(
        [h5mount, "--serve", "0", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        url = server.stdout.readline().split()[-1].decode()
        for name, data in truth.items():
            got, remark = found.get(name, (b"", None))
            if len(got) != len(data) or compare((got, remark), data)[1] == 0:
                continue
            a, b = np.frombuffer(got, np.uint8), np.frombuffer(data, np.uint8)
            for at in np.flatnonzero((a != b) & mask_of(remark, len(data))):
                request = urllib.request.Request(
                    url + urllib.parse.quote(name), headers={"Range": f"bytes={at}-{at}"}
                )
                try:
                    with urllib.request.urlopen(request, timeout=60) as answer:
                        count += answer.read() == got[at : at + 1]
                except (OSError, http.client.HTTPException):
                    pass
    finally:
        server.terminate()
        server.wait()
    return count


def data_ranges(path):
    """Where the raw data of a sound file lie, as far as libhdf5 tells."""
    out = []

    def add(_, item):
        if not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
            return
        if item.chunks is None:
            out.append((item.id.get_offset() or 0, item.id.get_storage_size()))
            return
        for i in range(item.id.get_num_chunks()):
            info = item.id.get_chunk_info(i)
            out.append((info.byte_offset, info.size))

    try:
        with h5py.File(path, "r") as file:
            file.visititems(add)
    except Exception:  # a file that libhdf5 does not open
        return []
    return [(begin, begin + size) for begin, size in out if size and begin]


def also_of_data(h5mount, original, mutant, work, found, truth):
    """How many of the unmarked wrong bytes come of changes in raw data alone, which nothing checks: one
    changed byte of a chunk may change all that it decodes to. They are those of a file whose structures are
    whole."""
    with open(original, "rb") as file:
        whole = bytearray(file.read())
    with open(mutant, "rb") as file:
        changed = file.read()
    for begin, end in data_ranges(original):
        part = changed[begin:end]
        whole[begin : begin + len(part)] = part
    path = os.path.join(work, "data.h5")
    with open(path, "wb") as file:
        file.write(whole)
    held, count = tree(h5mount, path, "salvage=fill"), 0
    for name, data in truth.items():
        got, remark = found.get(name, (b"", None))
        other = held.get(name, (b"", None))[0]
        if len(got) == len(data) == len(other) and compare((got, remark), data)[1] > 0:
            a, b, c = (np.frombuffer(one, np.uint8) for one in (got, data, other))
            count += int(((a != b) & (a == c) & mask_of(remark, len(data))).sum())
    return count


def score(found, truth):
    """Right bytes, all bytes, unmarked wrong bytes. What has lost its name is looked for in lost+found."""
    right = wrong = 0
    lost = [value for name, value in found.items() if name.startswith("lost+found/")]
    for name, data in truth.items():
        if name in found:
            one, bad = compare(found[name], data)
            right, wrong = right + one, wrong + bad
            continue
        best = max((compare(value, data) for value in lost if len(value[0]) == len(data)), default=(0, 0))
        right += best[0]
    return right, sum(map(len, truth.values())), wrong


def h5py_share(path, truth):
    right = 0
    try:
        with h5py.File(path, "r") as file:
            for name, data in truth.items():
                try:
                    got = file[name][()].tobytes()
                    right += sum(a == b for a, b in zip(got, data)) if got != data else len(data)
                except Exception:  # whatever libhdf5 makes of it
                    pass
    except Exception:
        return 0
    return right


def h5py_value(file, name):
    """The bytes of a dataset, or of an attribute, path@name, the text."""
    path, at, attribute = name.partition("@")
    try:
        return str(file[path].attrs[attribute]).encode() if at else file[path][()].tobytes()
    except Exception:  # whatever libhdf5 makes of it
        return b""


def h5py_flushed(path, truth):
    """The same of datasets that may have grown since."""
    try:
        with h5py.File(path, "r") as file:
            return sum(
                len(data) for name, data in truth.items() if h5py_value(file, name)[: len(data)] == data
            )
    except Exception:  # libhdf5 refuses the file
        return 0


def cleared(path):
    """A copy without the marks of a writer."""
    copy = path + ".cleared"
    shutil.copy(path, copy)
    if shutil.which("h5clear"):
        subprocess.run(["h5clear", "-s", copy], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return copy


def photorec_share(path, truth, work):
    """PhotoRec knows no HDF5 file but by a signature that it is told, and takes all up to the next one for
    the file."""
    place = tempfile.mkdtemp(prefix="photorec-", dir=work)
    with open(os.path.join(place, "photorec.sig"), "w") as signature:
        signature.write("h5 0 0x894844460d0a1a0a\n")
    with open(path, "rb") as file, open(os.path.join(place, "image"), "wb") as image:
        image.write(bytes(1 << 20) + file.read() + bytes(1 << 20))
    subprocess.run(
        [
            "photorec",
            "/d",
            "out",
            "/cmd",
            "image",
            (
                "partition_none,fileopt,everything,disable,custom,enable,"
                "options,keep_corrupted_file,wholespace,search"
            ),
        ],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )
    found = [
        os.path.join(directory, name)
        for directory, _, names in os.walk(place)
        for name in names
        if name.endswith(".h5")
    ]
    share = max((h5py_share(one, truth) for one in found), default=0)
    shutil.rmtree(place)
    return share


class FullDisk:
    """A file system of few bytes, or where none can be mounted a limit of a file's size."""

    def __init__(self, work, size):
        self.place, self.size = os.path.join(work, "full"), size
        os.makedirs(self.place, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.place]
        self.mounted = os.geteuid() == 0 and subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0

    def limit(self):
        if not self.mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.size))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", self.place], check=True)


def write_sample(path, version):
    r = np.random.default_rng(7)
    with h5py.File(path, "w", libver=version) as f:
        f.attrs["title"] = "a sample"
        g = f.create_group("group")
        f["contiguous"] = r.integers(0, 1 << 30, 20_000)
        g["small"] = np.arange(50)
        g.create_dataset(
            "deflate", data=r.integers(0, 99, (500, 200), "i4"), chunks=(50, 100), compression=4, shuffle=True
        )
        f.create_dataset("growing", data=r.random(6000), chunks=(16,), maxshape=(None,))
        f.create_dataset(
            "two", data=r.integers(0, 99, (300, 300)), chunks=(20, 20), maxshape=(None, None), compression=1
        )
        f.create_dataset("checked", data=r.integers(0, 99, (300, 30)), chunks=(20, 30), fletcher32=True)
        rows = g.create_dataset(
            "table", (400,), np.dtype([("a", "i4"), ("b", "f8")]), chunks=(64,), maxshape=(None,)
        )
        rows[:] = np.array([(i, i / 3) for i in range(400)], rows.dtype)
        for i in range(30):
            g.create_group("many").file if i == 0 else None
            g["many"].create_dataset(f"d{i:02}", data=np.full(20, i))


def header_addresses(path):
    out = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: out.update({name: h5py.h5o.get_info(item.id).addr}))
    return out


class Rig:
    def __init__(self, arguments):
        self.arguments = arguments
        self.h5mount, self.ordinary = arguments.h5mount, arguments.ordinary or arguments.h5mount
        self.work = arguments.work or tempfile.mkdtemp(prefix="salvage-rig-")
        os.makedirs(self.work, exist_ok=True)
        self.random = random.Random(arguments.seed)
        self.bad = self.kept = 0
        self.rows = {}

    def row(self, kind):
        """Files, bytes, right ones with salvage, without, by h5py, by h5py after h5clear, unmarked wrong
        ones, right ones of what PhotoRec finds."""
        return self.rows.setdefault(kind, [0] * 8)

    def keep(self, path):
        self.kept += 1
        name = os.path.join(self.work, f"kept-{self.kept}.h5")
        shutil.copy(path, name)
        return name

    def judge(self, kind, path, truth, changed=0, original=None):
        try:
            self.judge_file(kind, path, truth, changed, original)
        except Crashed as crash:
            self.bad += 1
            print(f"CRASHED {kind}: {self.keep(path)}: {crash}", flush=True)

    # `original`: the sound file, of which others than libhdf5 give the truth.
    def judge_file(self, kind, path, truth, changed, original):
        beside = original is None
        plain = score(tree(self.ordinary, path), truth)
        salvaged = tree(self.h5mount, path, "salvage=fill")
        with_salvage = score(salvaged, truth)
        row = self.row(kind)
        shares = [h5py_share(path, truth), h5py_share(cleared(path), truth)] if beside else [0, 0]
        if beside and self.arguments.photorec:
            row[7] += photorec_share(path, truth, self.work)
        for i, number in enumerate([1, with_salvage[1], with_salvage[0], plain[0]] + shares):
            row[i] += number
        # Each changed byte may be one of raw data, which nothing checks: then it is wrong in the ordinary way
        # too.
        unmarked = max(with_salvage[2] - plain[2] - changed, 0)
        if unmarked > 0:
            ordinary = also_ordinary(self.ordinary, path, salvaged, truth)
            if original:
                ordinary = max(
                    ordinary, also_of_data(self.ordinary, original, path, self.work, salvaged, truth)
                )
            unmarked = max(with_salvage[2] - max(plain[2], ordinary) - changed, 0)
        if unmarked > 0 or with_salvage[0] < plain[0]:
            kept = self.keep(path)
            self.bad += 1
            print(
                (
                    f"BAD {kind}: {kept}: right {with_salvage[0]}, without {plain[0]}, "
                    f"wrong and not marked {unmarked}"
                ),
                flush=True,
            )
        row[6] += max(unmarked, 0)

    def damaged(self, kind, data, truth, changed=0):
        path = os.path.join(self.work, "case.h5")
        with open(path, "wb") as file:
            file.write(data)
        self.judge(kind, path, truth, changed)

    def run_sample(self, version):
        path = os.path.join(self.work, f"{version}.h5")
        write_sample(path, version)
        sound = tree(self.h5mount, path)
        if tree(self.h5mount, path, "salvage") != sound:
            self.bad += 1
            print(f"BAD: {path}: a sound file looks different")
        truth = {name: data for name, (data, _) in sound.items()}
        with open(path, "rb") as file:
            data = file.read()
        headers = header_addresses(path)
        for size in (48, 512, 4096):
            zeroed = bytes(size) + data[size:]
            self.damaged(f"{version}: first {size} bytes zeroed", zeroed, truth)
            reached = {name: value for name, value in truth.items() if headers[name] >= size}
            if reached != truth:
                self.damaged(f"{version}: the same, datasets with a header", zeroed, reached)
        self.damaged(f"{version}: inside another file", b"x" * 12345 + data + b"y" * 777, truth)
        for signature in (
            b"TREE",
            b"SNOD",
            b"HEAP",
            b"OHDR",
            b"OCHK",
            b"FRHP",
            b"FHDB",
            b"FHIB",
            b"BTHD",
            b"BTLF",
            b"BTIN",
            b"EAHD",
            b"EAIB",
            b"EADB",
            b"EASB",
            b"FAHD",
            b"FADB",
        ):
            at = data.find(signature)
            while at >= 0:
                self.damaged(
                    f"{version}: one {signature.decode()} overwritten",
                    data[:at] + b"\xa5" * 32 + data[at + 32 :],
                    truth,
                )
                at = data.find(signature, at + 4)
        cuts = range(0, len(data), 512)
        for cut in self.random.sample(cuts, self.arguments.cuts) if self.arguments.cuts else cuts:
            self.damaged(f"{version}: cut at a multiple of 512", data[:cut], truth)
        for _ in range(self.arguments.mutants):
            mutant = bytearray(data)
            count = self.random.choice([1, 4, 16])
            for _ in range(count):
                at = self.random.randrange(len(mutant))
                mutant[at] = self.random.randrange(256)
            self.damaged(f"{version}: random bytes", bytes(mutant), truth, count)
        for group in (False, True):
            self.run_deletion(version, path, truth, group)

    def mutated(self, data):
        """A mutant, and how many of its bytes may be others."""
        out = bytearray(data)
        kind = self.random.choice(["bytes", "bytes", "smear", "zeros", "cut"])
        at = self.random.randrange(len(out))
        if kind == "cut":
            return kind, bytes(out[:at]), 0
        size = {"bytes": 0, "smear": 32, "zeros": 512}[kind]
        out[at : at + size] = (b"\xa5" if kind == "smear" else b"\0") * len(out[at : at + size])
        places = self.random.sample(range(len(out)), min(self.random.choice([1, 4, 16]), len(out)))
        for place in places if kind == "bytes" else []:
            out[place] = self.random.randrange(256)
        return kind, bytes(out), size or len(places)

    # h5py is not asked: libhdf5 may not survive a mutant.
    def run_files(self):
        part, parts = map(int, self.arguments.part.split("/"))
        files = sorted(self.arguments.files)[part - 1 :: parts]
        done, begin, slowest = 0, time.monotonic(), (0, "")
        for number, path in enumerate(files, 1):
            self.random = random.Random(f"{self.arguments.seed} {os.path.basename(path)}")
            case = os.path.join(self.work, "case.h5")
            shutil.copyfile(path, case)  # what it names is not beside it, as it is not beside the mutants
            truth = {name: data for name, (data, _) in tree(self.ordinary, case).items()}
            with open(path, "rb") as file:
                data = file.read()
            for _ in range(self.arguments.mutants if data else 0):
                kind, mutant, changed = self.mutated(data)
                with open(case, "wb") as file:
                    file.write(mutant)
                before = time.monotonic()
                self.judge(f"mutants of other files: {kind}", case, truth, changed, path)
                done, slowest = done + 1, max(slowest, (time.monotonic() - before, path))
            print(
                (
                    f"{done} mutants of {number} of {len(files)} files, {self.bad} bad, "
                    f"{time.monotonic() - begin:.0f} s; the slowest {slowest[0]:.1f} s, of {slowest[1]}"
                ),
                file=sys.stderr,
                flush=True,
            )

    def run_deletion(self, version, path, truth, group):
        copy = os.path.join(self.work, "deleted.h5")
        gone = [name for name in truth if name.startswith("group/" if group else "two")]
        shutil.copy(path, copy)
        with h5py.File(copy, "r+", libver=version) as file:
            del file["group" if group else "two"]
        self.judge(
            f"{version}: {'group' if group else 'dataset'} deleted",
            copy,
            {name: data for name, data in truth.items() if name not in gone},
        )
        self.judge_lost(f"{version}: what was deleted", copy, {name: truth[name] for name in gone})
        with h5py.File(copy, "r+", libver=version) as file:
            file["later"] = np.arange(5000)
        self.judge_lost(
            f"{version}: what was deleted, after later writes", copy, {name: truth[name] for name in gone}
        )

    def judge_lost(self, kind, path, truth):
        """Only bytes that still lie in the file count; of compressed data that is not known."""
        found = tree(self.h5mount, path, "salvage=fill")
        lost = [value for name, value in found.items() if name.startswith("lost+found")]
        row = self.row(kind)
        row[0] += 1
        for data in truth.values():
            best = max((compare(value, data) for value in lost if len(value[0]) == len(data)), default=(0, 0))
            row[1] += len(data)
            row[2] += best[0]
            row[6] += best[1]

    # A writer that is killed: it tells what it has flushed.
    def run_kill(self, kind, writer, written):
        path = os.path.join(self.work, "killed.h5")
        log = path + ".log"
        for name in (path, log):
            if os.path.exists(name):
                os.remove(name)
        process = os.fork()
        if process == 0:
            try:
                writer(path, log)
            finally:
                os._exit(0)
        for _ in range(1000):  # not before it has written anything
            if os.path.exists(log) and os.path.getsize(log) > 0:
                break
            time.sleep(0.01)
        time.sleep(0.25 * self.random.random())
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        with open(log) as told:
            lines = told.read().splitlines()
        if lines:
            self.judge_kill(f"{kind}, killed", path, written(int(lines[-1])))

    # A writer whose disk becomes full.
    def run_full(self, kind, writer, written):
        log = os.path.join(self.work, "full.log")
        with FullDisk(self.work, self.random.randrange(50, 1000) << 12) as disk:
            path = os.path.join(disk.place, "full.h5")
            for name in (path, log):
                if os.path.exists(name):
                    os.remove(name)
            process = os.fork()
            if process == 0:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                disk.limit()
                try:
                    writer(path, log)
                finally:
                    os._exit(0)
            os.waitpid(process, 0)
            lines = []
            if os.path.exists(log):
                with open(log) as told:
                    lines = told.read().splitlines()
            if lines:
                copy = os.path.join(self.work, "was-full.h5")
                shutil.copy(path, copy)
                self.judge_kill(f"{kind}, disk full", copy, written(int(lines[-1])))

    def judge_kill(self, kind, path, truth):
        row = self.row(f"{kind}: what it had flushed")
        row[0] += 1
        before = row[2]
        for column, options in ((2, "salvage=fill"), (3, "")):
            found = tree(self.h5mount, path, options, attributes=True)
            for name, data in truth.items():
                got, remark = found.get(name, (b"", None))
                got = got[: len(data)]
                a, b = np.frombuffer(got, np.uint8), np.frombuffer(data[: len(got)], np.uint8)
                row[column] += int((a == b).sum())
                wrong = int(((a != b) & mask_of(remark, len(got))).sum())
                if column == 2 and wrong and not (remark and remark["certainty"] == "guessed"):
                    row[6] += wrong
                    kept = self.keep(path)
                    self.bad += 1
                    print(f"BAD {kind}: {kept}: {name}: {wrong} wrong and not marked", flush=True)
        row[1] += sum(map(len, truth.values()))
        others = [h5py_flushed(one, truth) for one in (path, cleared(path))]
        row[4], row[5] = row[4] + others[0], row[5] + others[1]
        right, total = row[2] - before, sum(map(len, truth.values()))
        if right < 0.99 * total or right < max(others):
            print(f"LITTLE {kind}: {self.keep(path)}: {right} of {total}, by h5py {max(others)}", flush=True)

    def writers(self):
        """Name to (what writes a file and its log, what is in the file after so many lines of the log)."""
        out = {
            "h5py earliest": (lambda *names: write_until_killed(*names, "earliest", False), flushed),
            "h5py latest": (lambda *names: write_until_killed(*names, "latest", False), flushed),
            "h5py SWMR": (lambda *names: write_until_killed(*names, "latest", True), flushed),
        }
        for version in ("earliest", "latest"):
            out[f"tables {version}"] = (
                lambda *names, version=version: write_tables_until_killed(*names, version),
                flushed_tables,
            )
            out[f"compact {version}"] = (
                lambda *names, version=version: write_compact_until_killed(*names, version),
                flushed_compact,
            )
        if importlib.util.find_spec("netCDF4"):
            out["netCDF4"] = write_netcdf_until_killed, flushed
        program = os.path.join(self.work, "killed_writer")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "killed_writer.c")
        if (
            shutil.which("h5cc")
            and subprocess.run(["h5cc", source, "-o", program], cwd=self.work).returncode == 0
        ):
            for mode in ("earliest", "latest", "swmr"):
                out[f"C {mode}"] = (
                    lambda path, log, mode=mode: os.execv(program, [program, path, log, mode]),
                    flushed,
                )
        return out

    def run(self):
        self.run_files()
        if not self.arguments.only_kills and not self.arguments.files:
            for version in ("earliest", "latest"):
                self.run_sample(version)
        kills = (self.arguments.kills or self.arguments.full) and not self.arguments.files
        writers = self.writers() if kills else {}
        for kind, (writer, written) in writers.items():
            if not kind.startswith(self.arguments.writer):
                continue
            for _ in range(self.arguments.kills):
                self.run_kill(kind, writer, written)
            for _ in range(self.arguments.full):
                self.run_full(kind, writer, written)
        print(
            f"{'damage':60} {'files':>6} {'bytes':>12} {'salvage':>8} {'without':>8} {'h5py':>8} "
            f"{'h5clear':>8} {'photorec':>8}  unmarked"
        )
        for kind, (files, total, *rights, unmarked, recovered) in self.rows.items():
            if self.arguments.files:
                del rights[2:]  # h5py was not asked
            if self.arguments.photorec:
                rights.append(recovered)
            share = [f"{100 * n / max(total, 1):7.2f}%" for n in rights] + ["       -"] * (5 - len(rights))
            print(f"{kind:60} {files:6} {total:12} {' '.join(share)}  {unmarked}")
        return 1 if self.bad or any(row[6] for row in self.rows.values()) else 0


ROWS = 500


def flushed(rounds):
    values = np.arange(rounds * ROWS, dtype="i8") * 7
    return {
        "plain": values.tobytes(),
        "packed": (values % 251).tobytes(),
        "group/first": np.arange(100).tobytes(),
    }


def rows_of(count):
    values = np.arange((count - 1) * ROWS, count * ROWS, dtype="i8") * 7
    return values, values % 251


def write_until_killed(path, log, version, swmr):
    with h5py.File(path, "w", libver=version) as file, open(log, "w") as told:
        file.create_group("group")["first"] = np.arange(100)
        plain = file.create_dataset("plain", (0,), "i8", chunks=(200,), maxshape=(None,))
        packed = file.create_dataset("packed", (0,), "i8", chunks=(300,), maxshape=(None,), compression=1)
        file.flush()
        if swmr:
            file.swmr_mode = True
        for count in range(1, 4000):
            for dataset, some in zip((plain, packed), rows_of(count)):
                dataset.resize((count * ROWS,))
                dataset[-ROWS:] = some
            file.flush()
            told.write(f"{count}\n")
            told.flush()


# Tables as PyTables writes them: compounds with attributes, of which one counts the rows; another table every
# few rounds.
ROW = np.dtype([("name", "S8"), ("time", "f8"), ("value", "i4", (3,)), ("flag", "u1")])
TABLE_ROWS, TABLE_ROUNDS = 40, 8


def table_rows(first, count):
    out = np.zeros(count, ROW)
    numbers = np.arange(first, first + count)
    out["name"], out["time"] = [f"r{number}".encode() for number in numbers], numbers / 3
    out["value"], out["flag"] = numbers[:, None] * [1, 10, 100], numbers % 2
    return out


def flushed_tables(rounds):
    out = {}
    for first in range(0, rounds, TABLE_ROUNDS):
        name, count = f"tables/t{first // TABLE_ROUNDS}", min(TABLE_ROUNDS, rounds - first)
        out[name] = table_rows(first * TABLE_ROWS, count * TABLE_ROWS).tobytes()
        out[name + "@TITLE"] = f"the table of round {first}".encode()
        out[name + "@FIELD_1_NAME"] = b"time"
    return out


def write_tables_until_killed(path, log, version):
    with h5py.File(path, "w", libver=version) as file, open(log, "w") as told:
        group = file.create_group("tables")
        group.attrs["CLASS"] = np.bytes_("GROUP")
        for count in range(4000):
            number, of_table = count // TABLE_ROUNDS, count % TABLE_ROUNDS
            if of_table == 0:
                table = group.create_dataset(
                    f"t{number}",
                    (0,),
                    ROW,
                    chunks=(64,),
                    maxshape=(None,),
                    compression=5 if number % 2 else None,
                    shuffle=bool(number % 2),
                )
                table.attrs["CLASS"], table.attrs["VERSION"] = np.bytes_("TABLE"), np.bytes_("2.7")
                table.attrs["TITLE"] = f"the table of round {count}"
                for field, name in enumerate(ROW.names):
                    table.attrs[f"FIELD_{field}_NAME"] = name
                table.attrs["NROWS"] = 0
            table.resize(((of_table + 1) * TABLE_ROWS,))
            table[-TABLE_ROWS:] = table_rows(count * TABLE_ROWS, TABLE_ROWS)
            table.attrs.modify("NROWS", (of_table + 1) * TABLE_ROWS)
            file.flush()
            told.write(f"{count + 1}\n")
            told.flush()


# Compact datasets and attributes: each round has a dataset with two attributes, and one more attribute of a
# group.
def compact_values(count):
    return np.arange(count, count + 32) * 3


def flushed_compact(rounds):
    out = {}
    for count in range(rounds):
        out[f"items/i{count}"] = compact_values(count).tobytes()
        out[f"items/i{count}@number"] = str(count).encode()
        out[f"items/i{count}@text"] = f"the item of round {count}".encode()
        out[f"notes@n{count}"] = f"a note of round {count}".encode()
    return out


def write_compact_until_killed(path, log, version):
    with h5py.File(path, "w", libver=version) as file, open(log, "w") as told:
        items, notes = file.create_group("items"), file.create_group("notes")
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((32,))
        for count in range(1000):
            values = compact_values(count)
            made = h5py.Dataset(
                h5py.h5d.create(items.id, f"i{count}".encode(), h5py.h5t.NATIVE_INT64, space, compact)
            )
            made[...] = values
            made.attrs["number"], made.attrs["text"] = count, f"the item of round {count}"
            notes.attrs[f"n{count}"] = f"a note of round {count}"
            file.flush()
            told.write(f"{count + 1}\n")
            told.flush()


def write_netcdf_until_killed(path, log):
    import netCDF4

    with netCDF4.Dataset(path, "w") as file, open(log, "w") as told:
        file.createDimension("row", None)
        group = file.createGroup("group")
        group.createDimension("some", 100)
        group.createVariable("first", "i8", ("some",))[:] = np.arange(100)
        plain = file.createVariable("plain", "i8", ("row",), chunksizes=(200,))
        packed = file.createVariable("packed", "i8", ("row",), chunksizes=(300,), zlib=True, complevel=1)
        for count in range(1, 4000):
            for variable, some in zip((plain, packed), rows_of(count)):
                variable[(count - 1) * ROWS : count * ROWS] = some
            file.sync()
            told.write(f"{count}\n")
            told.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("h5mount")
    parser.add_argument("--files", nargs="*", default=[], help="mutants of these, and nothing else")
    parser.add_argument("--ordinary", metavar="H5MOUNT", help="asked for what is read without salvage")
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="of the files, every Nth from the Kth on"
    )
    parser.add_argument("--kills", type=int, default=3, help="of each writer")
    parser.add_argument("--writer", default="", help="only those whose name begins like that: 'C earliest'")
    parser.add_argument("--full", type=int, default=1, help="full disks of each writer")
    parser.add_argument("--only-kills", action="store_true", help="no samples")
    parser.add_argument("--cuts", type=int, default=6, help="0: at every 512 bytes")
    parser.add_argument("--mutants", type=int, default=10)
    parser.add_argument("--photorec", action="store_true", help="what PhotoRec finds, too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work")
    sys.exit(Rig(parser.parse_args()).run())
