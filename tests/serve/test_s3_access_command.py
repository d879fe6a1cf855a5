"""Who may read the buckets of --serve --s3, and what others may not."""
import datetime
import hashlib
import hmac
import os
import urllib.parse

import h5py
import numpy as np

from serving import Serve, ServeTest, write_example
from support.program import H5MOUNT, run

KEY, SECRET = "reader", "a-secret-of-the-tests"


def sign(method, target, host, key=KEY, secret=SECRET, hours=0, **fields):
    """The fields of a signed request: as the documents of signature version 4 say, by no code of h5mount."""
    now = (datetime.datetime.utcnow() + datetime.timedelta(hours=hours)).strftime("%Y%m%dT%H%M%SZ")
    path, _, query = target.partition("?")
    pairs = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    query = "&".join(
        "%s=%s" % (urllib.parse.quote(k, safe="-._~"), urllib.parse.quote(v, safe="-._~")) for k, v in pairs
    )
    empty = hashlib.sha256(b"").hexdigest()
    headers = {"host": host, "x-amz-content-sha256": empty, "x-amz-date": now, **fields}
    names = ";".join(sorted(headers))
    lines = ["%s:%s" % (k, headers[k]) for k in sorted(headers)]
    text = "\n".join([method, path, query] + lines + ["", names, empty])
    scope = now[:8] + "/us-east-1/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(text.encode()).hexdigest()])
    one = ("AWS4" + secret).encode()
    for part in (now[:8], "us-east-1", "s3", "aws4_request", text):
        one = hmac.new(one, part.encode(), hashlib.sha256).digest()
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        key,
        scope,
        names,
        one.hex(),
    )
    return headers


def ask(s, target, method="GET", **more):
    return s.request(method, target, **sign(method, target, "localhost:" + s.port, **more))


def write_key(mode=0o600):
    open("key", "w").write(KEY + ":" + SECRET + "\n")
    os.chmod("key", mode)


def refused(*words):
    p = run(H5MOUNT, "--serve", *words)
    assert p.returncode == 1 and p.stderr.count("\n") == 1 and SECRET not in p.stderr, p.stderr
    return p.stderr


class ServeS3Access(ServeTest):
    def test_with_a_key_every_request_must_be_signed_on_loopback_too(self):
        write_example()
        write_key()
        with Serve("--s3", "--s3-key-file=key", "-o", "log_level=info", "f.h5") as s, h5py.File("f.h5") as f:
            for target in ("/", "/f.h5", "/f.h5?list-type=2", "/f.h5/x", "/f.h5/nothing", "/other"):
                a = s.get(target)
                assert a.status == 403 and b"AccessDenied" in a.data, (target, a.status)
            assert s.request("PUT", "/f.h5/x").status == 403
            assert ask(s, "/").status == 200 and ask(s, "/f.h5/x").data == f["x"][()].tobytes()
            assert ask(s, "/f.h5/x", range="bytes=0-3").data == f["x"][()].tobytes()[:4]
            assert b"group/image" in ask(s, "/f.h5?list-type=2&prefix=group%2F&delimiter=%2F").data
            assert ask(s, "/f.h5/x", "HEAD").status == 200 and ask(s, "/f.h5/x", "PUT").status == 405
            for more, code in (
                ({"secret": "another secret"}, b"SignatureDoesNotMatch"),
                ({"key": "x"}, b"InvalidAccessKeyId"),
                ({"hours": 1}, b"RequestTimeTooSkewed"),
                ({"hours": -1}, b"RequestTimeTooSkewed"),
            ):
                a = ask(s, "/f.h5/x", **more)
                assert a.status == 403 and code in a.data, (more, a.data)
            fields = sign("GET", "/f.h5/x", "localhost:" + s.port)
            assert s.request("GET", "/f.h5/names", **fields).status == 403
            assert s.get("/f.h5/x?X-Amz-Signature=SIGNED&X-Amz-Security-Token=TOKEN").status == 400
            s.end()
        said = open("serve.err").read()
        assert "GET /f.h5/x" in said, said
        assert SECRET not in said and "SIGNED" not in said and "TOKEN" not in said, said

    def test_what_would_let_others_read_is_refused_before_it_listens(self):
        write_example()
        write_key(0o644)
        assert "chmod 600" in refused("0", "--s3", "--s3-key-file=key", "f.h5")
        write_key(0o640)
        assert "chmod 600" in refused("0", "--s3", "--s3-key-file=key", "f.h5")
        open("key", "w").write("no key\n")
        os.chmod("key", 0o600)
        assert "ACCESSKEY:SECRET" in refused("0", "--s3", "--s3-key-file=key", "f.h5")
        write_key()
        assert "--s3-key-file" in refused("0.0.0.0:0", "--s3", "f.h5")
        assert "--anonymous" in refused("*:0", "--s3", "--s3-host=s3.example", "f.h5")
        for words in (["--s3-key-file=key"], ["--anonymous"], ["--s3-host=a.example"]):
            assert "--s3" in refused("0", *words, "f.h5")
        for words in (["--token"], ["--cors=*"], ["--anonymous", "--s3-key-file=key"]):
            refused("0", "--s3", *words, "f.h5")
        for words in (["--anonymous"], ["--s3-key-file=key"]):
            with Serve("--s3", *words, "f.h5"):
                pass

    def test_others_read_what_the_source_lets_them(self):
        os.makedirs("all/private")
        os.chmod("all", 0o755)

        def make(name, value, mode):
            with h5py.File("all/" + name, "w") as f:
                f["d"] = np.frombuffer(value + bytes(34), "u1")
            os.chmod("all/" + name, mode)

        make("private/p.h5", b"SECRET", 0o644)
        make("own.h5", b"SECRET", 0o600)
        make("public.h5", b"public", 0o644)
        os.chmod("all/private", 0o700)
        os.symlink("private/p.h5", "all/link.h5")
        os.symlink("/etc/passwd", "all/out.h5")
        with h5py.File("all/names.h5", "w") as f:
            f["link"] = h5py.ExternalLink("own.h5", "/d")
            f["public"] = h5py.ExternalLink("public.h5", "/d")
        write_key()
        with Serve("--s3", "-o", "external=beneath", "all") as s:
            for key in (
                "private/p.h5/d",
                "own.h5/d",
                "own.h5/.h5/npy/d.npy",
                "link.h5/d",
                "out.h5",
                "names.h5/link",
            ):
                a = s.get("/all/" + key)
                assert a.status in (403, 404), (key, a.data)
                assert b"SECRET" not in a.data, (key, a.data)
                assert b"root:" not in a.data, (key, a.data)
            for prefix in ("", "own.h5/", "private/", "own.h5/.h5/", "link.h5/"):
                for delimiter in ("", "%2F"):
                    a = s.get("/all?prefix=%s&delimiter=%s" % (prefix, delimiter))
                    assert b"SECRET" not in a.data, a.data
                    assert b"p.h5/d" not in a.data, a.data
                    assert b"own.h5/d" not in a.data, a.data
            assert s.get("/all/public.h5/d").data.startswith(b"public")
            assert b"public.h5/d" in s.get("/all").data
            # What cannot be listed is there as a key, of which the bytes are the reason.
            assert b"<Key>own.h5/</Key>" in s.get("/all").data and s.get("/all/own.h5/").status == 403
        with Serve("--s3", "--s3-key-file=key", "all") as s:
            assert ask(s, "/all/own.h5/d").data.startswith(b"SECRET")
        with h5py.File("paper.h5", "w") as f:
            f.create_dataset("raw", (40,), "u1", external=[("all/own.h5", 0, 40)])
        with Serve("--s3", "paper.h5") as s:
            assert s.get("/paper.h5/raw").status == 403
