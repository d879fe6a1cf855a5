#!/usr/bin/env python3
"""Reads HDF5 files through mounts of real servers of S3, and holds every byte and attribute against mounts of
the local files.

    check_s3_servers.py [radosgw] [s3rver] [--only WORD] H5MOUNT [FILE_OR_DIRECTORY…]

Each server (both unless one is named) is started alone on loopback and ended again:
tests/remote/s3_servers.py says how. FILEs are mounted one by one, of a DIRECTORY all files of at most 512 KiB
at once as `s3://BUCKET/PREFIX/`; by default the example of the project and, where it is, ../shared/corpus.
Then come keys with odd characters, objects of several parts, presigned URLs, long listings, wrong keys, a
role of the server's STS, a server that is away for a while, and objects that are replaced or deleted while
they are mounted. Prints what was held, requests and bytes of each mount, and 'N passed, N failed'. Needs a
right to mount, python3-boto3 and python3-h5py; for radosgw Debian's ceph-mon, ceph-osd and radosgw (the
programs; no cluster), for s3rver npm and its registry. MinIO's server is in neither Debian nor npm.
"""
import contextlib
import errno
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import boto3.s3.transfer
import botocore.exceptions
import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "remote"))
from s3_servers import SERVERS

BUCKET = "bucket"
EXAMPLE = os.path.join(HERE, "..", "tests", "data", "weather.h5")
CORPUS = [
    os.path.join(HERE, "..", "..", "shared", "corpus", name)
    for name in ("foreign", "generated", "filters", "sparse")
]
ODD_KEY = "odd/a b+c=%41?x#&;@ü'(1)*~,$!.h5"
SMALL = 512 << 10  # larger files of a directory are left out
WHOLE = 32 << 20  # of larger datasets three pieces of a MiB are compared
ELEMENTS = 6 << 20  # of 8 bytes, in the objects that are replaced
NAMES = 1_103  # more than a page of a listing has


class Refused(Exception):
    """h5mount did not mount: what it said."""


def refusal(error):
    """Other members of a family or multi-file set may not be opened, and at a URL are not looked for: EACCES
    here, EIO there."""
    return "refused" if error.errno in (errno.EIO, errno.EACCES) else errno.errorcode[error.errno]


def bytes_of(path, size):
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            if size <= WHOLE:
                while part := file.read(1 << 20):
                    digest.update(part)
            else:
                for at in (0, size // 2, size - (1 << 20)):
                    digest.update(os.pread(file.fileno(), 1 << 20, at))
    except OSError as error:
        return refusal(error)
    return digest.hexdigest()


def attributes_of(path):
    out = {}
    for name in os.listxattr(path):
        if name == "user.hdf5.error":
            out[name] = None  # it names the source
        elif name.startswith("user."):
            try:
                # Why another file is not opened has another cure for a URL.
                out[name] = re.sub(rb'"reason":"[^"]*"', b"", os.getxattr(path, name))
            except OSError as error:
                out[name] = refusal(error)
    return out


def described(path):
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return os.readlink(path)
        if stat.S_ISREG(found.st_mode):
            return found.st_size, attributes_of(path), bytes_of(path, found.st_size)
        return stat.S_IFMT(found.st_mode), attributes_of(path)
    except OSError as error:
        return errno.errorcode[error.errno]


def tree(root):
    """Path -> what is to be equal of everything below."""
    out = {".": described(root)}

    def unlisted(error):
        out[os.path.relpath(error.filename, root) + "/"] = errno.errorcode[error.errno]

    for place, directories, files in os.walk(root, onerror=unlisted):
        for name in directories + files:
            path = os.path.join(place, name)
            out[os.path.relpath(path, root)] = described(path)
    return out


def leads_out(told):
    """A link out of its file's own directory, which at URLs is not followed, also where the mount shows what
    it leads to."""
    return isinstance(told, str) and ".h5/external/..%2F" in told


def hold_equal(one, other):
    differing = [
        path
        for path in sorted(one.keys() | other.keys())
        if one.get(path) != other.get(path)
        and not (isinstance(one.get(path), str) and leads_out(other.get(path)))
    ]
    if differing:
        path = differing[0]
        raise AssertionError(
            f"{len(differing)} of {len(one)} objects differ, as {path}: {one.get(path)} {other.get(path)}"
        )


def write_version(path, version):
    with h5py.File(path, "w") as file:
        file["data"] = np.arange(ELEMENTS, dtype="<u8") | np.uint64(version << 40)


def version_of(path, at):
    """Of 4 KiB at that element: all of one version, or an error."""
    with open(path, "rb", buffering=0) as file:
        return version_read(file.fileno(), at)


def version_read(fd, at):
    found = np.frombuffer(os.pread(fd, 4096, at * 8), "<u8")
    version = int(found[0]) >> 40
    assert (
        found == np.arange(at, at + 512, dtype="<u8") | np.uint64(version << 40)
    ).all(), f"mixed bytes at element {at}"
    return version


class Checks:
    def __init__(self, server, program, place, files, directories, only):
        self.server, self.program, self.place = server, program, place
        self.files, self.directories, self.only = files, directories, only
        self.client = server.client()
        self.passed = self.failed = 0
        self.counted = []

    def environment(self, **more):
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("AWS_") and not name.lower().endswith("_proxy")
        }
        keys = {"AWS_ACCESS_KEY_ID": self.server.key, "AWS_SECRET_ACCESS_KEY": self.server.secret}
        out = {**kept, **keys, "HOME": self.place, "AWS_EC2_METADATA_DISABLED": "true", **more}
        return {name: value for name, value in out.items() if value is not None}

    @contextlib.contextmanager
    def mounted(self, source, *options, **environment):
        """In the foreground, so that it ends with this program, also where that is killed."""
        point = tempfile.mkdtemp(prefix="mount-", dir=self.place)
        options = ",".join(["external=none", "s3_endpoint=" + self.server.url, *options])
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", self.program, "-f", "-o", options, source, point],
                stdout=said,
                stderr=said,
                env=self.environment(**environment),
            )
            try:
                while not os.path.ismount(point):
                    if process.poll() is not None:
                        said.seek(0)
                        raise Refused(said.read())
                    time.sleep(0.01)
                yield point
                self.count(point)
            finally:
                # Whether it is mounted is not asked: the root of an object that was replaced is ESTALE.
                if subprocess.run(["umount", point], capture_output=True).returncode:
                    subprocess.run(["umount", "-l", point], capture_output=True)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                os.rmdir(point)

    def count(self, point):
        with contextlib.suppress(OSError), open(point + "/.h5/status") as file:
            lines = dict(line.split(": ", 1) for line in file if ": " in line)
            if "remote_requests" in lines:
                self.counted.append((int(lines["remote_requests"]), int(lines["remote_bytes"])))

    def check(self, name, function, *arguments):
        if self.only not in name:
            return
        self.counted, began = [], time.monotonic()
        try:
            function(*arguments)
        except (
            AssertionError,
            OSError,
            Refused,
            RuntimeError,
            subprocess.SubprocessError,
            botocore.exceptions.ClientError,
            botocore.exceptions.BotoCoreError,
        ) as error:
            self.failed += 1
            print(f"FAILED {self.server.name}: {name}: {type(error).__name__} {error}".rstrip(), flush=True)
            return
        self.passed += 1
        requests, size = map(sum, zip(*self.counted)) if self.counted else (0, 0)
        shown = f"{requests} requests, {size / 1e6:.1f} MB, " if requests else ""
        print(f"ok {self.server.name}: {name} ({shown}{time.monotonic() - began:.1f} s)", flush=True)

    def put(self, key, path, **more):
        with open(path, "rb") as file:
            self.client.put_object(Bucket=BUCKET, Key=key, Body=file, **more)

    def url(self, key):
        return f"s3://{BUCKET}/{key}"

    def local_tree(self, path):
        with self.mounted(path) as point:
            return tree(point)

    def equal_at(self, url, path, *options, **environment):
        expected = self.local_tree(path)
        with self.mounted(url, *options, **environment) as point:
            hold_equal(expected, tree(point))

    def one_file(self, path, key):
        self.put(key, path)
        self.equal_at(self.url(key), path)

    def of_several_parts(self):
        config = boto3.s3.transfer.TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
        self.client.upload_file(self.version(1), BUCKET, "parts.h5", Config=config)
        print("  its ETag is", self.client.head_object(Bucket=BUCKET, Key="parts.h5")["ETag"])
        self.equal_at(self.url("parts.h5"), self.version(1))

    def directory(self, path):
        prefix, local = os.path.basename(path), tempfile.mkdtemp(dir=self.place)
        for at, _, names in os.walk(path):
            for name in names:
                file, key = os.path.join(at, name), os.path.relpath(os.path.join(at, name), path)
                if os.path.isfile(file) and os.path.getsize(file) <= SMALL:
                    os.makedirs(os.path.dirname(os.path.join(local, key)), exist_ok=True)
                    shutil.copyfile(file, os.path.join(local, key))
                    self.put(f"{prefix}/{key}", file)
        expected = self.local_tree(local)
        with self.mounted(self.url(prefix + "/")) as point:
            found = tree(point)
            print(f"  {len(found)} objects")
            hold_equal(expected, found)

    def long_listing(self):
        for number in range(NAMES):
            self.client.put_object(Bucket=BUCKET, Key=f"many/{number:05} +%.h5", Body=b"")
        expected = [f"{number:05} +%.h5" for number in range(NAMES)]
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="many/")
        try:
            if [one["Key"][5:] for page in pages for one in page["Contents"]] != expected:
                raise KeyError("other names")
        except (KeyError, botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            print(f"  the server does not list them to boto3 either: {error}")
            return
        with self.mounted(self.url("many/")) as point:
            assert sorted(os.listdir(point)) == expected

    def presigned(self):
        self.put("signed/a b+c.h5", EXAMPLE)
        url = self.client.generate_presigned_url(
            "get_object", Params={"Bucket": BUCKET, "Key": "signed/a b+c.h5"}
        )
        self.equal_at(url, EXAMPLE, AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)

    def another_region(self):
        """Neither server names regions or leads to another one; whichever the client signs for is taken."""
        self.put("region.h5", EXAMPLE)
        self.equal_at(self.url("region.h5"), EXAMPLE, "s3_region=eu-central-1")

    def commands(self):
        self.put("commands.h5", EXAMPLE)
        options = ["-o", "s3_endpoint=" + self.server.url]

        def said(*words):
            return subprocess.run(
                words, env=self.environment(), capture_output=True, timeout=120, check=True
            ).stdout

        assert said(self.program, "--text", *options, self.url("commands.h5")) == said(
            self.program, "--text", EXAMPLE
        )
        said(os.path.join(os.path.dirname(self.program), "fsck.h5"), *options, self.url("commands.h5"))

    def disk_cache(self):
        self.put("kept.h5", EXAMPLE)
        for _ in range(2):
            self.equal_at(self.url("kept.h5"), EXAMPLE, f"disk_cache={self.place}/kept")
        first, second = [requests for requests, _ in self.counted]
        assert second == 1 <= first, self.counted

    def refused_by(self, status, source, *options, **environment):
        try:
            with self.mounted(source, *options, **environment):
                raise AssertionError("it was mounted")
        except Refused as refused:
            said = str(refused)
            assert said.count("\n") == 1 and f"({status})" in said, f"it says {said!r}"

    def wrong_keys(self):
        self.put("private.h5", EXAMPLE)
        wrong = [{"AWS_ACCESS_KEY_ID": "ANOTHER"}]
        if self.server.verifies:
            wrong.append({"AWS_SECRET_ACCESS_KEY": "another"})
        for keys in wrong:
            self.refused_by(403, self.url("private.h5"), **keys)
            self.refused_by(403, self.url(""), **keys)
        self.refused_by(404, self.url("there is none.h5"))

    def anonymous(self):
        self.put("public.h5", EXAMPLE, ACL="public-read")
        self.put("private.h5", EXAMPLE)
        nobody = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
        self.equal_at(self.url("public.h5"), EXAMPLE, "anonymous")
        self.equal_at(self.url("public.h5"), EXAMPLE, **nobody)
        if self.server.verifies:
            self.refused_by(403, self.url("private.h5"), "anonymous")
            self.refused_by(403, self.url("private.h5"), **nobody)

    def role(self):
        """Credentials with a session token, from the server's own STS."""
        role = self.server.make_role()
        self.put("private.h5", EXAMPLE)
        with open(self.place + "/config", "w") as file:
            file.write(
                f"[profile reader]\nrole_arn = {role}\nsource_profile = base\n[profile base]\n"
                f"aws_access_key_id = {self.server.key}\naws_secret_access_key = {self.server.secret}\n"
            )
        self.equal_at(
            self.url("private.h5"),
            EXAMPLE,
            "profile=reader",
            AWS_CONFIG_FILE=self.place + "/config",
            AWS_ENDPOINT_URL_STS=self.server.url,
            AWS_ACCESS_KEY_ID=None,
            AWS_SECRET_ACCESS_KEY=None,
        )

    def version(self, version):
        path = f"{self.place}/version-{version}.h5"
        if not os.path.exists(path):
            write_version(path, version)
        return path

    def changed(self, change):
        """What is open and what is opened later has the old bytes or ESTALE, and at least once the latter."""
        self.put("changes.h5", self.version(1))
        places = np.random.default_rng(5).integers(0, ELEMENTS // 512, 200) * 512
        versions, refusals = set(), 0
        with self.mounted(self.url("changes.h5")) as point:
            with open(point + "/data", "rb", buffering=0) as file:
                versions.add(version_read(file.fileno(), 0))
                change()
                for at in map(int, places):
                    try:
                        versions.add(version_read(file.fileno(), at))
                    except OSError as error:
                        assert error.errno == errno.ESTALE, error
                        refusals += 1
            assert refusals, "no read was refused"
            with contextlib.suppress(OSError):
                versions.add(version_of(point + "/data", int(places[0])))
            assert versions == {1}, versions

    def replaced(self):
        self.changed(lambda: self.put("changes.h5", self.version(2)))

    def deleted(self):
        self.changed(lambda: self.client.delete_object(Bucket=BUCKET, Key="changes.h5"))

    def reloaded(self):
        self.put("reloads.h5", self.version(1))
        with self.mounted(self.url("reloads.h5"), "reload") as point:
            assert version_of(point + "/data", 0) == 1
            self.put("reloads.h5", self.version(2))
            end = time.monotonic() + 20
            while True:
                with contextlib.suppress(OSError):
                    if version_of(point + "/data", ELEMENTS // 2) == 2:
                        break
                assert time.monotonic() < end, "the old object is still shown"
                time.sleep(0.1)
            for at in range(0, ELEMENTS, ELEMENTS // 64):
                assert version_of(point + "/data", at) == 2

    def away(self):
        self.put("away.h5", self.version(1))
        with self.mounted(self.url("away.h5"), "timeout=3") as point, open(
            point + "/data", "rb", buffering=0
        ) as file:
            assert version_read(file.fileno(), 0) == 1
            with self.server.away():
                try:
                    raise AssertionError(
                        f"version {version_read(file.fileno(), ELEMENTS // 2)} without a server"
                    )
                except OSError as error:
                    assert error.errno == errno.EIO, error
            assert version_read(file.fileno(), ELEMENTS // 2) == 1

    def all(self):
        self.client.create_bucket(Bucket=BUCKET)
        for path in self.files:
            self.check("one file, " + os.path.basename(path), self.one_file, path, os.path.basename(path))
        for path in self.directories:
            self.check("a directory, " + os.path.basename(path), self.directory, path)
        self.check("a key with odd characters", self.one_file, EXAMPLE, ODD_KEY)
        self.check("an object of several parts", self.of_several_parts)
        self.check("a listing of several pages", self.long_listing)
        self.check("a presigned URL", self.presigned)
        self.check("another region", self.another_region)
        self.check("commands without a mount", self.commands)
        self.check("the disk cache", self.disk_cache)
        self.check("wrong keys", self.wrong_keys)
        self.check("without keys", self.anonymous)
        if hasattr(self.server, "make_role"):
            self.check("a role", self.role)
        self.check("a server that goes and comes back", self.away)
        self.check("an object that is replaced", self.replaced)
        self.check("an object that is deleted", self.deleted)
        self.check("an object that is replaced, with reload", self.reloaded)


def ended(number, _):
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # what is left is cleaned up once
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main():
    words = sys.argv[1:]
    chosen = []
    while words and words[0] in SERVERS:
        chosen.append(words.pop(0))
    only = ""
    if words[:1] == ["--only"]:
        only, words = words[1], words[2:]
    if not words:
        sys.exit(__doc__)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    program, *sources = map(os.path.abspath, words)
    sources = sources or [EXAMPLE, *filter(os.path.isdir, CORPUS)]
    files, directories = [s for s in sources if not os.path.isdir(s)], [
        s for s in sources if os.path.isdir(s)
    ]
    passed = failed = 0
    for name in chosen or SERVERS:
        missing = SERVERS[name].missing()
        if missing:
            print(f'FAILED {name}: not installed: {", ".join(missing)}')
            failed += 1
            continue
        place = tempfile.mkdtemp(prefix="h5mount-s3-", dir=os.environ.get("TMPDIR", "/var/tmp"))
        try:
            with SERVERS[name]() as server:
                print(f"{name}: {server.version()}", flush=True)
                checks = Checks(server, program, place, files, directories, only)
                checks.all()
            passed, failed = passed + checks.passed, failed + checks.failed
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"FAILED {name}: {error}")
            failed += 1
        finally:
            shutil.rmtree(place, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
