"""Servers of S3 that others wrote, each alone in a directory on a loopback port, for as long as a `with`
lasts.

    radosgw   Debian's: ceph-mon, ceph-osd and radosgw, a Ceph of one node whose objects lie in memory
    s3rver    npm's, installed in the directory

They end with the process that started them, also where that is killed."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

CEPH = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{ports[0]}/0,v1:127.0.0.1:{ports[1]}/0]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
mon allow pool size one = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 4G
mon data = {place}/mon
mon data avail crit = 1
osd data = {place}/osd
rgw data = {place}/rgw
run dir = {place}
crash dir = {place}
admin socket =
pid file =
log file = {place}/$name.log
mon cluster log file = {place}/cluster.log
rgw frontends = beast endpoint=127.0.0.1:{ports[2]} tcp_nodelay=1
rgw enable usage log = false
rgw dynamic resharding = false
rgw sts key = 0123456789abcdef
rgw s3 auth use sts = true
"""


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    out = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return out


class S3Server:
    needs = ()  # programs
    verifies = True  # signatures, and who may read

    @classmethod
    def missing(cls):
        return [
            program
            for program in cls.needs
            if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin") is None
        ]

    def __init__(self):
        self.processes = []

    def __enter__(self):
        self.place = tempfile.mkdtemp(
            prefix=f"h5mount-{self.name}-", dir=os.environ.get("TMPDIR", "/var/tmp")
        )
        try:
            self.begin()
            self.wait()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *failed):
        try:
            for process in reversed(self.processes):
                process.terminate()
            for process in reversed(self.processes):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
            if failed[0] is not None and issubclass(failed[0], Exception):
                self.show_logs()
        finally:  # also where a signal ends the waiting
            for process in self.processes:
                process.kill()
                process.wait()
            shutil.rmtree(self.place, ignore_errors=True)

    def show_logs(self):
        for name in sorted(os.listdir(self.place)):
            if name.endswith(".log"):
                with open(f"{self.place}/{name}", errors="replace") as file:
                    sys.stderr.write("".join(f"{name}: {line}" for line in file.readlines()[-10:]))

    def start(self, name, *words):
        with open(f"{self.place}/{name}.log", "a") as log:
            self.processes.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", "--", *words],
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    cwd=self.place,
                )
            )
        return self.processes[-1]

    def run(self, *words, seconds=180):
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, cwd=self.place)
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {done.stderr[-2000:]}")
        return done.stdout

    def wait(self, seconds=180):
        """Until it answers, whatever that is."""
        for _ in range(seconds * 5):
            ended = [process.args[4] for process in self.processes if process.poll() is not None]
            if ended:
                raise RuntimeError(f"{self.name}: {ended[0]} ended")
            try:
                return urllib.request.urlopen(self.url, timeout=5).close()
            except urllib.error.HTTPError:
                return None
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(f"{self.name} does not answer")

    @contextlib.contextmanager
    def away(self):
        """What answers requests has ended meanwhile, and is there again afterwards."""
        process = self.processes.pop()
        process.terminate()
        process.wait(60)
        yield
        self.start(self.name, *process.args[4:])
        self.wait()

    def pids(self):
        return [process.pid for process in self.processes]

    def client(self):
        import boto3
        from botocore.config import Config

        config = Config(
            s3={"addressing_style": "path"},
            signature_version="s3v4",
            retries={"max_attempts": 1},
            read_timeout=120,
        )
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            config=config,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
        )


class Radosgw(S3Server):
    name = "radosgw"
    needs = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
    key, secret = "READER", "a/secret+of/the+tests"

    def version(self):
        return self.run("radosgw", "--version").split("(")[0].strip()

    def begin(self):
        fsid, ports = str(uuid.uuid4()), free_ports(3)
        self.url = f"http://127.0.0.1:{ports[2]}"
        conf, monmap = f"{self.place}/ceph.conf", f"{self.place}/monmap"
        with open(conf, "w") as file:
            file.write(CEPH.format(place=self.place, fsid=fsid, ports=ports))
        for name in ("mon", "osd", "rgw"):
            os.mkdir(f"{self.place}/{name}")
        self.run(
            "monmaptool",
            "--create",
            "--fsid",
            fsid,
            "--addv",
            "a",
            f"[v2:127.0.0.1:{ports[0]},v1:127.0.0.1:{ports[1]}]",
            monmap,
        )
        self.run("ceph-mon", "-c", conf, "--mkfs", "-i", "a", "--monmap", monmap)
        self.start("mon", "ceph-mon", "-c", conf, "-f", "-i", "a")
        osd = str(uuid.uuid4())
        self.run("ceph", "-c", conf, "--connect-timeout", "60", "osd", "new", osd)
        self.run("ceph-osd", "-c", conf, "--mkfs", "-i", "0", "--osd-uuid", osd)
        self.start("osd", "ceph-osd", "-c", conf, "-f", "-i", "0")
        self.admin(
            "user",
            "create",
            "--uid=tests",
            "--display-name=tests",
            "--access-key=" + self.key,
            "--secret-key=" + self.secret,
        )
        self.start("radosgw", "radosgw", "-c", conf, "-f", "-n", "client.rgw")

    def admin(self, *words):
        self.run("radosgw-admin", "-c", f"{self.place}/ceph.conf", *words)

    def make_role(self):
        """One that the user may assume (at this server, which is STS too), and that may read everything: its
        name."""

        def policy(**statement):
            return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})

        self.admin(
            "role",
            "create",
            "--role-name=reader",
            "--path=/",
            "--assume-role-policy-doc="
            + policy(Action=["sts:AssumeRole"], Principal={"AWS": ["arn:aws:iam:::user/tests"]}),
        )
        self.admin(
            "role-policy",
            "put",
            "--role-name=reader",
            "--policy-name=all",
            "--policy-doc=" + policy(Action=["s3:*"], Resource="arn:aws:s3:::*"),
        )
        return "arn:aws:iam:::role/reader"


class S3rver(S3Server):
    name = "s3rver"
    needs = ("node", "npm")
    key, secret = "S3RVER", "S3RVER"  # its own
    verifies = False  # a key's name has to be known, no more
    release = "3.7.1"

    def version(self):
        return f"s3rver {self.release}, node " + self.run("node", "--version").strip()

    def begin(self):
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self.run(
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            self.place,
            "s3rver@" + self.release,
            seconds=600,
        )
        # Continuation tokens of listings are encrypted with DES, which OpenSSL 3 calls legacy.
        program = f"{self.place}/node_modules/s3rver/bin/s3rver.js"
        self.start(
            "s3rver",
            "node",
            "--openssl-legacy-provider",
            program,
            "--silent",
            "--directory",
            f"{self.place}/objects",
            "--address",
            "127.0.0.1",
            "--port",
            str(port),
        )


SERVERS = {server.name: server for server in (Radosgw, S3rver)}
