"""Files of a directory that cannot be opened, over HTTP and as a bucket of S3."""
import errno
import json

from s3_client import page, pages
from serving import Serve, ServeTest
from support.unopened_files import AS_READER, KINDS, REASONS, write_unopened_files

STATUS = {errno.EIO: 500, errno.EBUSY: 503, errno.EACCES: 403}


class ReadersServe(Serve):
    """A server that may read what its user may, and no more."""

    before = AS_READER


class ServeUnopenedFiles(ServeTest):
    def setUp(self):
        super().setUp()
        lock = write_unopened_files()
        self.addCleanup(lock.close)

    def test_each_is_listed_and_answered_with_its_reason(self):
        with ReadersServe("src") as s:
            assert {one["name"] for one in s.json("/?list")} == {*KINDS, "good.h5", "sub"}
            assert s.get("/good.h5/?list").status == 200
            for name, why in KINDS.items():
                for below in ("", "/", "/?list", "/?plain", "/d", "/.h5/", "/.h5/npy/d.npy"):
                    a = s.get("/" + name + below)
                    assert a.status == STATUS[why], (name, below, a.status, a.data)
                    # Where nothing is opened as not all may read it, that is the reason.
                    said = "not all " if name == "private.h5" else REASONS[name]
                    assert said in a.data.decode(), (name, below, a.data)
                a = s.get("/api/meta/?path=/&file=" + name)
                assert a.status == STATUS[why] and json.loads(a.data)["message"] != "File not found!", (
                    name,
                    a.status,
                    a.data,
                )

    def test_a_bucket_has_a_key_for_each_that_cannot_be_read(self):
        with ReadersServe("--s3", "src") as s:
            assert set(page(s, "src", list_type=2, delimiter="/").prefixes) == {
                *(name + "/" for name in KINDS),
                "good.h5/",
                "sub/",
            }
            keys = {key: one.sizes[key] for one in pages(s, "src") for key in one.keys}
            assert set(keys) == {*(name + "/" for name in KINDS), "good.h5/d", "sub/text.h5/"}, keys
            for name, why in KINDS.items():
                assert keys[name + "/"] > 0, name  # it is no marker of an empty directory
                for target in ("/src/%s/" % name, "/src/%s/d" % name, "/src?list-type=2&prefix=%s/" % name):
                    a = s.get(target)
                    assert a.status == STATUS[why] and b"NoSuchKey" not in a.data, (target, a.status, a.data)
