"""Who may read through a server, and what: files that a file names, sockets, tokens."""
import base64
import http.client
import glob
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.parse
import urllib.request

import h5py
import numpy as np

from serving import Serve, ServeTest, write_example
from support.program import H5MOUNT, installed, run, terminate


def write_home():
    with h5py.File("f.h5", "w") as f:
        f["own"] = np.arange(5)
    os.mkdir(".ssh", 0o700)
    open(".ssh/key", "wb").write(b"SECRET" + bytes(34))
    with h5py.File("private.h5", "w") as f:
        f["d"] = np.frombuffer(b"SECRET" + bytes(34), "u1")
    with h5py.File("public.h5", "w") as f:
        f["d"] = np.frombuffer(b"public" + bytes(34), "u1")
    open("public.raw", "wb").write(b"public" + bytes(34))
    os.chmod(".ssh/key", 0o600)
    os.chmod("private.h5", 0o600)
    os.chmod("public.h5", 0o644)
    os.chmod("public.raw", 0o644)

    def virtual(f, name, file):
        layout = h5py.VirtualLayout((40,), "u1")
        layout[:] = h5py.VirtualSource(file, "d", (40,))
        f.create_virtual_dataset(name, layout, fillvalue=0)

    with h5py.File("paper.h5", "w") as f:
        f["own"] = np.arange(5)
        f.create_dataset("raw", (40,), "u1", external=[(".ssh/key", 0, 40)])
        f.create_dataset("open_raw", (40,), "u1", external=[("public.raw", 0, 40)])
        virtual(f, "virtual", "private.h5")
        virtual(f, "open_virtual", "public.h5")
        f["link"] = h5py.ExternalLink("private.h5", "/d")
        f["root"] = h5py.ExternalLink("private.h5", "/")
        f["open_link"] = h5py.ExternalLink("public.h5", "/d")
    os.chmod("paper.h5", 0o644)


class ServeRights(ServeTest):
    def test_files_that_a_file_names_are_not_sent(self):
        write_home()
        with Serve("paper.h5") as s:
            for name in (
                "raw",
                "virtual",
                "link",
                "open_raw",
                "open_virtual",
                "open_link",
                "root/d",
                ".h5/npy/raw.npy",
                ".h5/text/link",
                ".h5/external/private.h5/d",
                ".h5/external/.ssh%25Fkey",
            ):
                a = s.get("/" + name)
                assert a.status in (403, 404) and b"SECRET" not in a.data, (name, a.status, a.data)
            assert s.get("/own").status == 200

    def test_what_others_may_not_read_is_not_sent_either(self):
        write_home()
        with Serve("-o", "external=beneath", "paper.h5") as s:
            for name in (
                "raw",
                "virtual",
                "link",
                "root/d",
                "root/",
                ".h5/npy/raw.npy",
                ".h5/npy/virtual.npy",
                ".h5/text/link",
                ".h5/external/private.h5/d",
                ".h5/external/private.h5/",
            ):
                for more in ("", "?list", "?page"):
                    a = s.get("/" + name + more)
                    assert b"SECRET" not in a.data, (name, a.status, a.data)
                    assert more or a.status in (403, 404), (name, a.status)
            for name in ("open_raw", "open_virtual", "open_link"):
                a = s.get("/" + name)
                assert a.status == 200 and a.data.startswith(b"public"), (name, a.status, a.data)
        # Nobody else may read it, but all would read what it names.
        os.chmod("paper.h5", 0o600)
        p = run(H5MOUNT, "--serve", "0", "-o", "external=beneath", "paper.h5")
        assert p.returncode != 0 and p.stderr.count("\n") == 1, p
        assert "not all users may read it" in p.stderr, p
        with Serve("paper.h5") as s:
            assert s.get("/own").status == 200 and s.get("/raw").status == 403

    def test_references_tell_no_path(self):
        write_example()
        with Serve("f.h5") as s:
            self.assertEqual(s.get("/.h5/references.json").status, 404)
            self.assertEqual(s.get("/.h5/references.parq/.zmetadata").status, 404)
            self.assertEqual(s.get("/.h5/references.icechunk/repo").status, 404)
            self.assertEqual(s.get("/.h5/").data.count(b"references."), 0)
        with Serve("-o", "url=https://h.example/run", "f.h5") as s:
            made = s.get("/.h5/references.json")
            self.assertEqual(json.loads(made.data)["refs"]["deflated/3"][0], "https://h.example/run/f.h5")
            self.assertNotIn(os.getcwd().encode(), made.data)
            # The same files as without a server.
            forms = ("references.icechunk", "references.parq")
            for form in forms:
                p = run(H5MOUNT, "-o", "url=https://h.example/run", "--copy", "f.h5", "/.h5/" + form, form)
                self.assertEqual(p.returncode, 0, p)
            names = [
                name
                for form in forms
                for name in glob.glob(form + "/**", recursive=True, include_hidden=True)
            ]
            told = b""
            for name in filter(os.path.isfile, names):
                part = s.get("/.h5/" + name)
                with open(name, "rb") as f:
                    self.assertEqual(part.data, f.read(), name)
                self.assertEqual(part.status, 200, name)
                told += part.data
            self.assertNotIn(os.getcwd().encode(), told)
            self.assertEqual(told.count(b'"https://h.example/run/f.h5"'), 3)

    def test_of_a_directory_only_what_all_may_read_is_sent(self):
        os.makedirs("all/private")
        os.makedirs("all/open")
        os.chmod("all", 0o755)

        def make(name, value, mode):
            with h5py.File("all/" + name, "w") as f:
                f["d"] = np.frombuffer(value + bytes(34), "u1")
                f["d"].attrs["mark"] = value
            os.chmod("all/" + name, mode)

        make("private/p.h5", b"SECRET", 0o644)
        make("own.h5", b"SECRET", 0o600)
        make("public.h5", b"public", 0o644)
        make("open/q.h5", b"public", 0o644)
        os.chmod("all/private", 0o700)
        os.symlink("private/p.h5", "all/link.h5")
        os.symlink("/etc/passwd", "all/out.h5")
        with h5py.File("all/names.h5", "w") as f:
            f["link"] = h5py.ExternalLink("own.h5", "/d")
            f["below"] = h5py.ExternalLink("private/p.h5", "/d")
            f["public"] = h5py.ExternalLink("public.h5", "/d")
            layout = h5py.VirtualLayout((40,), "u1")
            layout[:] = h5py.VirtualSource("own.h5", "d", (40,))
            f.create_virtual_dataset("virtual", layout, fillvalue=0)
        with Serve("-o", "external=beneath", "all") as s:
            assert [e["name"] for e in s.json("/?list")] == sorted(os.listdir("all")), s.get("/?list").data
            for name in (
                "private/",
                "private/p.h5/",
                "private/p.h5/d",
                "own.h5/",
                "own.h5/d",
                "own.h5/.h5/npy/d.npy",
                "own.h5/.h5/metadata.jsonl",
                "link.h5/d",
                "out.h5",
                "names.h5/link",
                "names.h5/below",
                "names.h5/virtual",
                "names.h5/.h5/npy/virtual.npy",
                "names.h5/.h5/external/own.h5/d",
                "names.h5/.h5/npy/link.npy",
            ):
                for more in ("", "?list", "?page", "?plain"):
                    a = s.get("/" + name + more)
                    assert b"SECRET" not in a.data and b"root:" not in a.data, (name, a.status, a.data)
                    assert more or a.status in (403, 404), (name, a.status)
            for name in ("/.h5/metadata.jsonl", "/.h5/catalogue.parquet"):
                a = s.get(name)
                assert a.status == 200 and b"SECRET" not in a.data, (name, a.data)
                assert a.data.count(b"public") > 3, (name, a.data)
                assert b"not all users may read it" in a.data, (name, a.data)
                assert b"read the directory" in a.data, (name, a.data)
            for name in ("public.h5/d", "open/q.h5/d", "names.h5/public"):
                a = s.get("/" + name)
                assert a.status == 200 and a.data.startswith(b"public"), (name, a.data)
            for file, path, status in (
                ("own.h5", "/d", 403),
                ("private/p.h5", "/d", 403),
                ("link.h5", "/d", 403),
                ("names.h5", "/link", 403),
                ("names.h5", "/below", 403),
                ("names.h5", "/virtual", 403),
                ("public.h5", "/d", 200),
                ("open/q.h5", "/d", 200),
                ("names.h5", "/public", 200),
            ):
                which = urllib.parse.urlencode({"file": file, "path": path})
                for endpoint in ("data", "meta", "attr", "paths", "stats", "views"):
                    a = s.get("/.h5/api/%s?%s" % (endpoint, which))
                    assert b"SECRET" not in a.data, (endpoint, file, path, a.status, a.data)
                    assert endpoint != "data" or a.status == status, (file, path, a.status, a.data)
            os.chmod("all/public.h5", 0o600)
            assert s.get("/public.h5/d").status == 403
            os.chmod("all/public.h5", 0o644)
            assert s.get("/public.h5/d").status == 200
            make("public.h5", b"newest", 0o644)
            assert s.get("/public.h5/d").data.startswith(b"newest")
        with Serve("--token", "all", "all/public.h5") as s:
            token = s.url.split("token=")[1]
            ask = {"Authorization": "Bearer " + token}
            assert s.get("/all/own.h5/d").status == 401
            assert s.get("/all/own.h5/d", **ask).data.startswith(b"SECRET")
            assert s.get("/public.h5/d", **ask).status == 200
            assert s.get("/all/.h5/metadata.jsonl", **ask).data.count(b"SECRET") == 2

    def test_a_socket_is_for_its_user_alone(self):
        write_home()

        class Unix(http.client.HTTPConnection):
            def connect(self):
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect("h5.sock")

        def get(target, host="any.example"):
            c = Unix("any")
            c.request("GET", target, headers={"Host": host})
            return c.getresponse().read()

        def serve():
            p = subprocess.Popen(
                [H5MOUNT, "--serve", "unix:h5.sock", "f.h5"], stdout=subprocess.PIPE, text=True
            )
            assert p.stdout.readline() == "http://unix:h5.sock:/\n"
            return p

        def refused(path):
            p = run(H5MOUNT, "--serve", "unix:" + path, "f.h5")
            assert p.returncode == 1 and p.stderr.count("\n") == 1 and p.stdout == "", p
            return p.stderr

        os.umask(0)
        p = serve()
        there = os.lstat("h5.sock")
        assert stat.S_ISSOCK(there.st_mode) and stat.S_IMODE(there.st_mode) == 0o600, oct(there.st_mode)
        assert get("/own") == np.arange(5).tobytes()
        if os.geteuid() == 0:
            os.chmod(".", 0o755)
            code = 'import socket; socket.socket(socket.AF_UNIX).connect("h5.sock")'
            other = run(
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code
            )
            assert "PermissionError" in other.stderr, other
        assert "in use" in refused("h5.sock")  # it answers, so it stays
        assert get("/own") == np.arange(5).tobytes()
        p.terminate()
        assert p.wait(60) == 0 and not os.path.lexists("h5.sock")
        p = serve()
        p.kill()
        p.wait()
        assert os.path.lexists("h5.sock")
        p = serve()  # a dead one is replaced
        assert get("/own") == np.arange(5).tobytes()
        p.send_signal(signal.SIGINT)
        assert p.wait(60) == 0 and not os.path.lexists("h5.sock")
        open("file", "w").write("x")
        os.symlink("nowhere", "link")
        os.mkdir("directory")
        for path in ("file", "link", "directory"):
            assert "no socket" in refused(path), path
        assert open("file").read() == "x" and os.readlink("link") == "nowhere"
        for path in ("missing/h5.sock", "", "x" * 200):
            refused(path)
        # Another socket that has taken the place is not removed.
        p = serve()
        os.unlink("h5.sock")
        other = socket.socket(socket.AF_UNIX)
        other.bind("h5.sock")
        p.terminate()
        assert p.wait(60) == 0 and os.path.lexists("h5.sock")

    def test_a_token_is_taken_in_every_way_and_nobody_else_is_answered(self):
        write_home()

        def basic(password, user="u"):
            return "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode()).decode()

        with Serve("--token", "-o", "log_level=info", "f.h5") as s, Serve("--token", "f.h5") as second:
            root, token = s.url.split("?token=")
            assert len(token) >= 22 and token != second.url.split("?token=")[1]
            for target in (
                "/",
                "/own",
                "/?list",
                "/api/meta",
                "/api/data?path=/own",
                "/?asset=page.js",
                "/nowhere",
                "/.h5/",
                "/own?token=",
                "/own?token=" + token[:-1],
                "/own?token=%sx" % token,
                "/%zz",
            ):
                for fields in (
                    {},
                    {"Authorization": "Bearer x"},
                    {"Authorization": basic("x")},
                    {"Authorization": "Basic !"},
                    {"Authorization": basic("", token)},
                    {"Authorization": token},
                    {"Cookie": "h5mount-%s=x" % s.port},
                    {"Cookie": "h5mount=" + token},
                    {"Accept": "text/html"},
                ):
                    a = s.get(target, **fields)
                    assert a.status == 401 and b"own" not in a.data, (target, fields, a.status)
                    kinds = [v.split()[0] for v in a.headers.get_all("WWW-Authenticate")]
                    assert kinds == ["Basic", "Bearer"]
                    assert token.encode() not in a.data
            assert s.request("POST", "/own").status == 405
            # In the address, once: the answer sets a cookie and leads to the same place without it.
            for target, want in (
                ("/?token=%s", "./"),
                ("/own?token=%s", "./own"),
                ("/own?page&token=%s&x=1", "./own?page&x=1"),
                ("/own?%%74oken=%s", "./own"),
            ):
                a = s.get(target % token)
                assert a.status == 307, (target, a.status, a.headers.as_string())
                assert a.headers["Location"] == want, (target, a.status, a.headers.as_string())
                name, *flags = [part.strip() for part in a.headers["Set-Cookie"].split(";")]
                assert {"HttpOnly", "SameSite=Strict"} <= set(flags) and token.encode() not in a.data
            right = np.arange(5).tobytes()
            assert s.get("/own", Cookie="a=b; %s; c=d" % name).data == right
            assert second.get("/own", Cookie=name).status == 401
            assert s.get("/own", Authorization="Bearer " + token).data == right
            assert s.get("/own", Authorization="bearer  " + token).data == right
            assert s.get("/own", Authorization=basic(token)).data == right
            assert s.get("/own", Authorization=basic(token, "")).data == right
            for target in ("/", "/?list", "/own?page", "/api/meta", "/?plain", "/nowhere"):
                a = s.get(target, Cookie=name)
                assert token.encode() not in a.data and token not in a.headers.as_string(), target
            a = s.get("/own?token=" + token, Cookie=name)
            assert a.status == 307 and token not in a.headers["Location"]
            a = s.request("OPTIONS", "/own")
            assert a.status == 204
            s.end()
            log = open("serve.err").read()
            assert log.count("\n") > 50 and token not in log and "token" not in log, log[-500:]

    def test_curl_and_others_send_the_token(self):
        write_home()
        with Serve("--token", "f.h5") as s:
            root, token = s.url.split("?token=")
            right = np.arange(5).tobytes()

            def curl(*words):
                return run("curl", "-s", *words, text=False).stdout

            assert curl("-u", "me:" + token, root + "own") == right
            assert curl("-H", "Authorization: Bearer " + token, root + "own") == right
            assert curl("-L", "-c", "jar", "-b", "jar", root + "own?token=" + token) == right
            assert curl("-b", "jar", root + "own") == right
            assert curl("-o", "/dev/null", "-w", "%{http_code}", root + "own") == b"401"
            user = urllib.request.HTTPPasswordMgrWithDefaultRealm()
            user.add_password(None, root, "me", token)
            # It asks, is refused, and asks again.
            opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(user))
            assert opener.open(root + "own").read() == right
            if installed("gdalinfo"):
                with h5py.File("image.h5", "w") as f:
                    f["i"] = np.arange(600, dtype="u1").reshape(20, 30)
                with Serve("--token", "image.h5") as t:
                    root, token = t.url.split("?token=")
                    said = run(
                        "gdalinfo",
                        "/vsicurl/" + root + ".h5/tiff/i.tif",
                        env={**os.environ, "GDAL_HTTP_USERPWD": "me:" + token},
                    ).stdout
                    assert "Size is 30, 20" in said, said

    def test_the_token_of_a_file_is_read_only_where_others_cannot_read_it(self):
        write_home()
        token = "a-token_of.my~own-0123456789"

        def refused(*words):
            p = run(H5MOUNT, "--serve", "0", *words, "f.h5")
            assert p.returncode == 1 and p.stdout == "" and p.stderr.count("\n") == 1, p
            assert token not in p.stderr and "hunter2hunter2hunter2" not in p.stderr, p.stderr
            return p.stderr

        open("t", "w").write(token + "\n")
        for mode in (0o644, 0o640, 0o604, 0o660, 0o620):
            os.chmod("t", mode)
            assert "others may read" in refused("--token-file=t"), oct(mode)
        os.chmod("t", 0o600)
        with Serve("--token-file=t", "f.h5") as s:
            assert token not in s.url and "?" not in s.url
            assert s.get("/own").status == 401
            assert s.get("/own", Authorization="Bearer " + token).status == 200
            words = open("/proc/%d/cmdline" % s.process.pid).read()
            assert token not in words
        assert "no value" in refused("--token=hunter2hunter2hunter2")
        refused("--token", "--token-file=t")
        refused("--token-file=missing")
        refused("--token-file=.")
        for bad in ("", "short", "with a space in the middle", "x" * 600, token[:-1] + "\xfc"):
            open("t", "w").write(bad)
            refused("--token-file=t")
        script = 'exec "$0" --serve 0 --token-file=<(echo %s) f.h5' % token
        p = subprocess.Popen(["bash", "-c", script, H5MOUNT], stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline().startswith("http://127.0.0.1:")
        terminate(p)
