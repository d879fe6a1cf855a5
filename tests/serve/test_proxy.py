"""What holds whatever stands between the server and a browser: references, errors, pages without scripts."""
import html.parser
import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import h5py
import numpy as np

from serving import Serve, ServeTest, write_example
from support.program import H5MOUNT, terminate, until


NGINX = """
daemon off; pid nginx.pid; error_log nginx.err;
events {}
http {
  access_log off; client_body_temp_path t1; proxy_temp_path t2;
  fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server { listen 127.0.0.1:%d; location /data/h5/ { proxy_pass %s; %s } }
}"""


class References(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [v for k, v in attributes if k in ("href", "src") and not v.startswith("data:")]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url, **fields):
    request = urllib.request.Request(url, headers=fields)
    try:
        return urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        return error


def walk(root):
    """Holds that what is below `root` is the example, and leads nowhere else."""
    right = np.arange(1000, dtype="<i4").tobytes()
    assert get(root + "x").read() == right and get(root + "to_x").read() == right
    assert get(root + "soft").url == root + "group/"  # redirected below the path
    for place in ("", "group/", "x?page", "group/image?page"):
        answer = get(root + place, Accept="text/html")
        page = References(answer.read().decode())
        for ref in page.found:
            if "asset" in ref:
                assert get(urllib.parse.urljoin(answer.url, ref)).status == 200, (place, ref)
        assert sum("asset" in ref for ref in page.found) in (0, 2), page.found
    answer = get(root + ".h5/api/views?file=f.h5&path=/group/image&selection=0:2")
    views = json.loads(answer.read())["views"]
    assert len(views) > 8, views
    for view in views:
        assert get(urllib.parse.urljoin(root, view["href"])).status == 200, view
    assert get(root + "nowhere").status == 404


class ServeProxy(ServeTest):
    def test_nothing_that_is_sent_refers_to_the_root_of_the_host(self):
        write_example()
        with Serve("f.h5") as one, Serve("f.h5", "f.h5") as two:
            for s, above in ((one, ""), (two, "/f.h5"), (two, "/f.h5%20(2)")):
                for target in (
                    "/",
                    "/group/",
                    "/x",
                    "/group/image",
                    "/to_x",
                    "/soft/image",
                    "/group",
                    "/soft",
                    "/.h5/npy/group/image.npy",
                    "/nowhere",
                    "/dangling",
                ):
                    for more in ("", "?page", "?plain", "?list"):
                        for accept in ("*/*", "text/html"):
                            a = s.get(above + target + more, Accept=accept)
                            kind = a.headers["Content-Type"]
                            fields = ("Location", "Content-Location")
                            refs = [a.headers[name] for name in fields if name in a.headers]
                            if "html" in kind:
                                refs += References(a.data.decode()).found
                            if "json" in kind:
                                refs += re.findall(
                                    r'"(?:href|source|slices|special)":"([^"]*)"', a.data.decode()
                                )
                            for ref in refs:
                                assert not ref.startswith("/") and "://" not in ref, (target, more, ref)
                                there = urllib.parse.urljoin("http://h" + above + target, ref)[8:]
                                if "/nowhere" not in there and "dangling" not in there:
                                    assert s.get(there).status in (200, 304, 307), (target, more, ref, there)

    def nginx(self, where, more=""):
        """Starts an nginx that passes requests on to `where`; its process, and its own address of that."""
        port = free_port()
        with open("nginx.conf", "w") as f:
            f.write(NGINX % (port, where, more))
        words = ["nginx", "-p", os.getcwd(), "-c", "nginx.conf", "-e", "nginx.err"]
        if os.geteuid() == 0:
            words += ["-g", "user root;"]
        path = os.environ["PATH"] + ":/usr/sbin"
        process = subprocess.Popen(words, env={**os.environ, "PATH": path})
        self.addCleanup(terminate, process)
        until(lambda: socket.create_connection(("127.0.0.1", port)).close() is None, "nginx")
        return process, "http://127.0.0.1:%d/data/h5/" % port

    def test_behind_nginx_below_a_path(self):
        write_example()
        with Serve("f.h5") as s:
            proxy, root = self.nginx(s.url)
            walk(root)
            terminate(proxy)
            proxy, root = self.nginx(s.url, "proxy_set_header Host data.example;")
            refused = get(root + "x")
            said = refused.read()
            assert refused.status == 421 and b"proxy_set_header Host" in said, (refused.status, said)
            terminate(proxy)
        words = [H5MOUNT, "--serve", "unix:h5.sock", "f.h5"]
        p = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.addCleanup(terminate, p)
        url = p.stdout.readline().strip().replace("unix:", "unix:" + os.getcwd() + "/")
        proxy, root = self.nginx(url, "proxy_set_header Host data.example;")
        walk(root)

    def test_without_scripts_there_is_a_listing_that_says_what_each_object_is(self):
        write_example()
        with Serve("f.h5") as s:
            page = s.get("/", Accept="text/html").data.decode()
            assert "<noscript>" in page and "url=?plain" in page
            text = s.get("/?plain").data.decode()
            for words in (
                ">x</a></td><td>dataset</td><td>[1000]</td><td>&lt;i4</td><td>4000</td>",
                '<a href="group/?plain">group/</a></td><td>group</td>',
                "link to group",
            ):
                assert words in text, (words, text)
            inner = s.get("/group/?plain").data.decode()
            assert "[6,10]" in inner and 'href="../?plain"' in inner
            # Programs get the form of nginx.
            assert "<pre>" in s.get("/").data.decode() and "dataset" not in s.get("/").data.decode()

    def test_errors_say_what_was_looked_for_and_lead_back(self):
        write_example()
        with h5py.File("f.h5", "r+") as f:
            f["group/bad"] = h5py.ExternalLink("missing.h5", "/a")
            f["loop"] = h5py.SoftLink("/loop2")
            f["loop2"] = h5py.SoftLink("/loop")
        with Serve("-o", "external=beneath", "f.h5") as s:
            for target, words in (
                ("/dangling", ("/dangling", "nowhere")),
                ("/group/bad", ("/group/bad", "missing.h5")),
                ("/group/none/", ("/group/none/",)),
                ("/loop", ("/loop", "too many symlinks")),
                ("/%3Cb%3E", ("&lt;b&gt;",)),
            ):
                plain = s.get(target)
                assert plain.status == 404, (target, plain.status)
                assert plain.headers["Content-Type"].startswith("text/plain"), target
                page = s.get(target, Accept="text/html")
                assert page.status == 404 and "html" in page.headers["Content-Type"], target
                text = page.data.decode()
                for word in words:
                    assert word in text, (word, text)
                assert "<b>" not in text
                up, root = References(text).found
                assert urllib.parse.urljoin("http://h" + target, root) == "http://h/", (target, root)
                assert s.get(urllib.parse.urljoin("http://h" + target, up)[8:]).status == 200
            assert b"/dangling is a link to nowhere" in s.get("/dangling").data
            assert s.request("HEAD", "/dangling", Accept="text/html").status == 404

    def test_head_of_known_damage_is_answered_as_get_is(self):
        write_example()
        with h5py.File("f.h5") as f:
            chunk = f["deflated"].id.get_chunk_info(0)
        data = bytearray(open("f.h5", "rb").read())
        data[chunk.byte_offset + 20 : chunk.byte_offset + 40] = b"\xff" * 20
        open("bad.h5", "wb").write(data)
        with Serve("bad.h5") as s:
            assert s.request("HEAD", "/deflated").status == 200  # nobody has read it
            assert s.get("/deflated").status == 500
            head = s.request("HEAD", "/deflated")
            assert head.status == 500 and head.data == b"", head.status
            assert s.request("HEAD", "/x").status == 200
