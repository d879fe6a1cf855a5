"""Programs that read from S3, as people use them: they read what a mount shows. Skipped if they are not
installed."""
import collections.abc
import importlib.util
import io
import json
import os
import subprocess
import unittest
import urllib.request

import h5py
import numpy as np

from serving import Serve, ServeTest, write_example
from support.program import installed, run, terminate, until

KEY, SECRET = "reader", "a_secret_of_the_tests"
KEYS = ["deflated", "empty", "group/image", "names", "to_x", "x"]


def has_modules(*names):
    return all(importlib.util.find_spec(name) for name in names)


def boto_client(url, key=KEY, **more):
    import boto3
    from botocore.config import Config

    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, **more)
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        config=config,
        aws_access_key_id=key,
        aws_secret_access_key=SECRET,
    )


class Store(collections.abc.MutableMapping):
    """Keys of the bucket below a prefix, each process with a client of its own."""

    def __init__(self, url, prefix):
        self.url, self.prefix, self.made = url, prefix, None

    def __getstate__(self):
        return self.url, self.prefix

    def __setstate__(self, state):
        self.__init__(*state)

    @property
    def client(self):
        self.made = self.made or boto_client(self.url)
        return self.made

    def __getitem__(self, key):
        try:
            return self.client.get_object(Bucket="f.h5", Key=self.prefix + key)["Body"].read()
        except self.client.exceptions.NoSuchKey:
            raise KeyError(key)

    def __iter__(self):
        for p in self.client.get_paginator("list_objects_v2").paginate(Bucket="f.h5", Prefix=self.prefix):
            for o in p.get("Contents", []):
                yield o["Key"][len(self.prefix) :]

    def __len__(self):
        return sum(1 for _ in self)

    def __setitem__(self, key, value):
        raise OSError("read-only")

    __delitem__ = __setitem__


class S3Clients(ServeTest):
    def setUp(self):
        super().setUp()
        write_example()
        with open("key", "w") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(f"{KEY}:{SECRET}\n")

    @unittest.skipUnless(has_modules("boto3"), "no python3-boto3")
    def test_boto_lists_reads_and_presigns(self):
        import botocore

        with Serve("--s3", "--s3-key-file=key", "f.h5") as s, h5py.File("f.h5") as f:
            c = boto_client(s.url)
            assert [b["Name"] for b in c.list_buckets()["Buckets"]] == ["f.h5"]
            assert c.get_bucket_location(Bucket="f.h5")["LocationConstraint"] is None
            c.head_bucket(Bucket="f.h5")
            pages = c.get_paginator("list_objects_v2").paginate(
                Bucket="f.h5", PaginationConfig={"PageSize": 2}
            )
            found = {o["Key"]: o["Size"] for p in pages for o in p["Contents"]}
            assert sorted(found) == KEYS, found
            pages = c.get_paginator("list_objects").paginate(Bucket="f.h5", PaginationConfig={"PageSize": 1})
            assert {o["Key"]: o["Size"] for p in pages for o in p["Contents"]} == found
            for key, size in found.items():
                a = c.get_object(Bucket="f.h5", Key=key)
                assert len(a["Body"].read()) == size == a["ContentLength"], key
            a = c.head_object(Bucket="f.h5", Key="x")
            assert a["Metadata"]["units"] == "K" and a["LastModified"].year >= 2020, a
            whole = f["deflated"][()].tobytes()
            tag = c.head_object(Bucket="f.h5", Key="deflated")["ETag"]
            a = c.get_object(Bucket="f.h5", Key="deflated", Range="bytes=100-299", IfMatch=tag)
            assert a["Body"].read() == whole[100:300]
            out = io.BytesIO()
            c.download_fileobj("f.h5", "deflated", out)
            assert out.getvalue() == whole
            for call, code in (
                (lambda: c.get_object(Bucket="f.h5", Key="nothing"), "NoSuchKey"),
                (lambda: c.list_objects_v2(Bucket="other"), "NoSuchBucket"),
                (lambda: c.put_object(Bucket="f.h5", Key="new", Body=b"new"), "MethodNotAllowed"),
                (lambda: c.delete_object(Bucket="f.h5", Key="x"), "MethodNotAllowed"),
                (lambda: boto_client(s.url, "other").list_buckets(), "InvalidAccessKeyId"),
            ):
                with self.assertRaises(botocore.exceptions.ClientError) as refused:
                    call()
                assert refused.exception.response["Error"]["Code"] == code, refused.exception
            image = {"Bucket": "f.h5", "Key": "group/image"}
            url = boto_client(s.url, signature_version="s3v4").generate_presigned_url(
                "get_object", Params=image, ExpiresIn=60
            )
            assert urllib.request.urlopen(url).read() == f["group/image"][()].tobytes()
        with Serve("--s3", "f.h5") as s, h5py.File("f.h5") as f:
            for c in (boto_client(s.url, signature_version=botocore.UNSIGNED), boto_client(s.url)):
                assert c.get_object(Bucket="f.h5", Key="x")["Body"].read() == f["x"][()].tobytes()

    @unittest.skipUnless(os.path.exists("/usr/bin/aws"), "no awscli")
    def test_aws_lists_and_copies(self):
        more = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "HOME": os.getcwd(),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

        def aws(s, *words):
            return run(
                "/usr/bin/aws",
                "--endpoint-url",
                s.url,
                "s3",
                *words,
                env={**os.environ, **more},
                text=False,
                check=True,
                timeout=300,
            ).stdout

        with Serve("--s3", "--s3-key-file=key", "f.h5") as s, h5py.File("f.h5") as f:
            assert b"f.h5" in aws(s, "ls")
            said = aws(s, "ls", "--recursive", "s3://f.h5/").decode()
            assert [line.split()[3] for line in said.splitlines()] == KEYS, said
            assert aws(s, "cp", "s3://f.h5/x", "-") == f["x"][()].tobytes()
            aws(s, "sync", "s3://f.h5/.h5/npy/", "npy")
            assert (np.load("npy/group/image.npy") == f["group/image"][()]).all()

    @unittest.skipUnless(
        has_modules("boto3", "dask", "distributed", "zarr"),
        "no python3-boto3, python3-distributed and python3-zarr",
    )
    def test_dask_reads_a_store_with_several_processes(self):
        import dask.array
        import distributed

        with Serve("--s3", "--s3-key-file=key", "f.h5") as s, h5py.File(
            "f.h5"
        ) as f, distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster, distributed.Client(
            cluster
        ):
            array = dask.array.from_zarr(Store(s.url, ".h5/plain.zarr/deflated/"))
            assert array.mean().compute() == f["deflated"][()].mean()

    def mounted(self, command, look):
        # There is no encryption, so the authorities that this machine trusts are of no use.
        more = {k: v for k, v in os.environ.items() if k != "AWS_CA_BUNDLE"}
        with open("out", "w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=more)
        try:
            until(lambda: os.path.ismount("there"), command[0] + " mounts", 30)
            look()
            with self.assertRaises(OSError), open("there/new", "w") as f:
                f.write("x")
        finally:
            run("fusermount3", "-uz", "there")
            terminate(process)

    @unittest.skipUnless(installed("s3fs") or installed("rclone"), "no s3fs and no rclone")
    @unittest.skipUnless(installed("fusermount3") and os.access("/dev/fuse", os.W_OK), "no /dev/fuse")
    def test_s3fs_and_rclone_mount_a_bucket(self):
        def data():
            assert {"x", "group", "deflated"} <= set(os.listdir("there")), os.listdir("there")
            for name in ("x", "group/image", "deflated"):
                with open("there/" + name, "rb") as shown:
                    assert shown.read() == f[name][()].tobytes(), name

        def views():
            assert (np.load("there/npy/group/image.npy") == f["group/image"][()]).all()
            self.read_table(os.path.abspath("there/parquet/x.parquet"))

        os.mkdir("there")
        with Serve("--s3", "--s3-key-file=key", "f.h5") as s, h5py.File("f.h5") as f:
            url = s.url.rstrip("/")
            for below, look in (("", data), ("/.h5", views)):
                rclone = [
                    "rclone",
                    "mount",
                    ":s3:f.h5" + below,
                    "there",
                    "--s3-provider=Other",
                    "--s3-endpoint=" + url,
                    "--s3-access-key-id=" + KEY,
                    "--s3-secret-access-key=" + SECRET,
                    "--read-only",
                    "--config=" + os.path.abspath("none"),
                ]
                s3fs = [
                    "s3fs",
                    "f.h5" + (below and ":" + below),
                    "there",
                    "-f",
                    "-o",
                    "ro,use_path_request_style,passwd_file=key,url=" + url,
                ]
                for command in (rclone, s3fs):
                    if installed(command[0]):
                        self.mounted(command, look)

    def read_table(self, table):
        """By DuckDB, if npm has installed it."""
        modules = os.path.join(os.environ.get("H5MOUNT_NODE_MODULES", "/nowhere"), "node_modules")
        if not os.path.exists(modules + "/@duckdb/node-api"):
            return
        if not os.path.exists("node_modules"):
            os.symlink(modules, "node_modules")
        query = "SELECT count(*)::INT, sum(value)::INT FROM '%s'" % table
        with open("query.mjs", "w") as f:
            f.write(
                "import {DuckDBInstance} from '@duckdb/node-api';\n"
                "const c = await (await DuckDBInstance.create()).connect();\n"
                "const r = await c.runAndReadAll(%s);\n"
                "console.log(JSON.stringify(r.getRows()));\n" % json.dumps(query)
            )
        assert run("node", "query.mjs", check=True).stdout == "[[1000,499500]]\n"
