"""The option policy: nothing of a file that is refused is shown, and what warns is in the log."""
import http.client
import os
import subprocess
import urllib.parse

import h5py
import numpy as np

from mounting import MountTest, error, read
from policy_files import corrupt, doubtful, foreign, forbidden, sound, too_much, write_policy
from support.program import H5MOUNT, ProgramTest, installed, run, terminate, until

UNTRUSTED = ("-o", "policy=untrusted")
ALLOWS_LINKS = ("allow_external_links = beneath", "allow_vds = beneath")
REFUSED = {
    corrupt: (2, "damaged"),
    foreign: (2, ""),
    forbidden: (3, "external_link"),
    too_much: (4, "logical_size"),
}


def why(path):
    return os.getxattr(path, "user.hdf5.error").decode()


class PolicyCommandsTest(ProgramTest):
    def commands(self, name):
        yield "--list", name
        yield "--cat", name, "/d"
        yield "--stat", name, "/"
        yield "--text", name
        yield "--tar", name
        yield "--copy", name, "/", "copied"

    def test_none_shows_anything_of_a_file_that_is_refused(self):
        for make, (code, kind) in REFUSED.items():
            make("f.h5")
            for words in self.commands("f.h5"):
                with self.subTest(make=make.__name__, command=words[0]):
                    said = run(H5MOUNT, *UNTRUSTED, *words)
                    self.assertEqual((said.returncode, said.stdout), (code, ""), said.stderr)
                    self.assertEqual(said.stderr.count("\n"), 1, said.stderr)
                    self.assertIn(kind, said.stderr)
                    self.assertFalse(os.path.exists("copied"))
        forbidden("f.h5")
        said = run(H5MOUNT, *UNTRUSTED, "--list", "f.h5")
        told = "h5mount: f.h5: refused by policy untrusted: external_link at /a: other.h5 (allowed: none)\n"
        self.assertEqual(said.stderr.replace(os.getcwd() + "/", ""), told)

    def test_what_is_accepted_is_shown_and_warnings_are_told(self):
        sound("s.h5"), doubtful("w.h5")
        for name, warned in (("s.h5", False), ("w.h5", True)):
            said = run(H5MOUNT, *UNTRUSTED, "--list", name)
            self.assertEqual((said.returncode, said.stdout.split()[-1]), (0, "d"), said)
            self.assertEqual("user_block" in said.stderr, warned, said.stderr)
        said = run(H5MOUNT, "-o", "policy=trusted", "--list", "w.h5")
        self.assertEqual((said.returncode, said.stderr), (0, ""))

    def test_a_policy_that_is_none_is_usage(self):
        sound("s.h5")
        bad = write_policy("bad.policy", "max_object_count = many")
        for words, named in (
            (("policy=" + bad,), "max_object_count"),
            (("policy=no/such/file",), "no/such/file"),
            (("policy=",), "policy"),
            (("policy=untrusted", "salvage"), "salvage"),
        ):
            said = run(H5MOUNT, "-o", ",".join(words), "--list", "s.h5")
            self.assertEqual((said.returncode, said.stdout), (1, ""), said)
            self.assertIn(named, said.stderr)
            self.assertEqual(said.stderr.count("\n"), 1)

    def test_files_that_the_file_names_are_judged_too(self):
        sound("good.h5"), too_much("bad.h5")
        with h5py.File("main.h5", "w") as f:
            f["good"] = h5py.ExternalLink("good.h5", "/d")
            f["bad"] = h5py.ExternalLink("bad.h5", "/huge")
            layout = h5py.VirtualLayout((8,), "f8")
            layout[:] = h5py.VirtualSource("bad.h5", "huge", (1 << 40,))[:8]
            f.create_virtual_dataset("view", layout)
        own = ("-o", "policy=" + write_policy("own.policy", *ALLOWS_LINKS))
        self.assertEqual(run(H5MOUNT, *own, "--cat", "main.h5", "/good", text=False).returncode, 0)
        for path in ("/bad", "/view"):
            said = run(H5MOUNT, *own, "--cat", "main.h5", path)
            self.assertEqual((said.returncode, said.stdout), (1, ""), said)
            self.assertIn("logical_size at /huge", said.stderr)

    def test_members_that_a_first_one_names_are_not_opened(self):
        with h5py.File("fam-%d.h5", "w", driver="family", memb_size=2048) as f:
            f["d"] = np.arange(2000)
        self.assertEqual(run(H5MOUNT, *UNTRUSTED, "--list", "fam-%d.h5").returncode, 0)
        if not installed("strace"):
            self.skipTest("no strace")
        words = ("-f", "-qq", "-e", "trace=%file", "-o", "trace", H5MOUNT, *UNTRUSTED, "--list", "fam-0.h5")
        said = run("strace", *words)
        self.assertEqual(said.returncode, 3, said)
        self.assertIn("file_set", said.stderr)
        self.assertNotIn(b"fam-1.h5", read("trace"))


class PolicyMountTest(MountTest):
    def test_nothing_is_mounted_of_a_file_that_is_refused(self):
        place = self.mount_point()
        os.symlink(H5MOUNT, "mount.h5")
        for make, (code, kind) in REFUSED.items():
            make("f.h5")
            for words in ((H5MOUNT, *UNTRUSTED, "f.h5", place), ("./mount.h5", "f.h5", place, *UNTRUSTED)):
                said = run(*words)
                self.assertEqual((said.returncode, said.stdout), (code, ""), said)
                self.assertEqual(said.stderr.count("\n"), 1, said.stderr)
                self.assertIn(kind, said.stderr)
                self.assertFalse(os.path.ismount(place))

    def test_warnings_are_in_the_log(self):
        doubtful("w.h5")
        mnt = self.mount(*UNTRUSTED, "w.h5")
        self.assertEqual(read(mnt + "d"), np.arange(100).tobytes())
        self.assertRegex(read(mnt + ".h5/log").decode(), "warning: .*w.h5: policy untrusted: user_block at ")

    def test_each_file_of_a_directory_by_itself(self):
        os.mkdir("src")
        sound("src/s.h5"), doubtful("src/w.h5")
        for make in REFUSED:
            make("src/%s.h5" % make.__name__)
        mnt = self.mount(*UNTRUSTED, "src")
        self.assertEqual(read(mnt + "s.h5/d"), np.arange(100).tobytes())
        self.assertEqual(read(mnt + "w.h5/d"), np.arange(100).tobytes())
        for make, (_, kind) in REFUSED.items():
            place = mnt + make.__name__ + ".h5"
            self.assertEqual(error(os.listdir, place), "Permission denied")
            self.assertEqual(error(os.stat, place + "/d"), "Permission denied")
            self.assertIn("refused by policy untrusted", why(place))
            self.assertIn(kind, why(place))
        log = read(mnt + ".h5/log").decode()
        self.assertRegex(log, "w.h5: policy untrusted: user_block")
        self.assertRegex(log, "forbidden.h5: refused by policy untrusted: external_link at /a")
        self.assertEqual(log.count("forbidden.h5"), 1)

    def test_a_file_that_is_replaced_is_judged_again(self):
        os.mkdir("src")
        sound("src/f.h5"), forbidden("next.h5")
        one = self.mount("-o", "policy=untrusted,reload", "src/f.h5")
        many = self.mount(*UNTRUSTED, "src")
        self.assertEqual(os.listdir(many + "f.h5"), os.listdir(one))
        os.rename("next.h5", "src/f.h5")
        until(lambda: error(os.listdir, many + "f.h5") == "Permission denied", "refused in the directory")
        until(lambda: error(os.listdir, one) == "Stale file handle", "refused alone")
        self.assertIn("external_link at /a", why(one))
        sound("next.h5")
        os.rename("next.h5", "src/f.h5")
        until(lambda: os.listdir(one)[:1] == ["d"] and os.listdir(many + "f.h5")[:1] == ["d"], "shown again")

    def test_what_a_growing_file_comes_to_name_is_not_opened(self):
        os.mkdir("src")
        sound("outside.h5"), sound("src/beneath.h5")
        own = write_policy("own.policy", *ALLOWS_LINKS)
        names = {"link": "beneath.h5", "above": "../outside.h5", "absolute": os.path.abspath("outside.h5")}
        for policy, shown in (("untrusted", []), (own, ["link", "view"])):
            with h5py.File("src/f.h5", "w", libver="latest") as f:
                f.create_dataset("grown", (0,), "f8", maxshape=(None,), chunks=(64,))
            mnt = self.mount("-o", "swmr=on,external=any,policy=" + policy, "src/f.h5")
            self.assertEqual(os.listdir(mnt), ["grown"])
            with h5py.File("later.h5", "w", libver="latest") as f:
                for name, file in names.items():
                    f[name] = h5py.ExternalLink(file, "/d")
                layout = h5py.VirtualLayout((100,), "i8")
                layout[:] = h5py.VirtualSource("beneath.h5", "d", (100,))
                f.create_virtual_dataset("view", layout)
                f.create_dataset("raw", (8,), "u1", external=[("beneath.h5", 0, 8)])
            with open("src/f.h5", "r+b") as f:
                f.write(read("later.h5"))
            until(lambda: len(os.listdir(mnt)) == len(names) + 2, "the names are there")
            for name in os.listdir(mnt):
                with self.subTest(policy=policy, name=name):
                    self.assertEqual(
                        error(read, mnt + name), "none" if name in shown else "Permission denied"
                    )

    def test_a_link_to_a_file_that_is_refused(self):
        sound("good.h5"), too_much("bad.h5")
        with h5py.File("main.h5", "w") as f:
            f["good"] = h5py.ExternalLink("good.h5", "/d")
            f["bad"] = h5py.ExternalLink("bad.h5", "/huge")
        mnt = self.mount("-o", "policy=" + write_policy("own.policy", *ALLOWS_LINKS), "main.h5")
        self.assertEqual(read(mnt + "good"), np.arange(100).tobytes())
        self.assertEqual(error(read, mnt + "bad"), "Permission denied")


class PolicyServeTest(ProgramTest):
    def serve(self, *words):
        with open("said", "w", encoding="utf-8") as said:
            server = subprocess.Popen(
                [H5MOUNT, "--serve", "0", *words], stdout=subprocess.PIPE, stderr=said, text=True
            )
        self.addCleanup(terminate, server)
        url = server.stdout.readline().strip()
        return server, url

    def get(self, url, path):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def setUp(self):
        super().setUp()
        if "built without libmicrohttpd" in run(H5MOUNT, "--serve", "0", "missing").stderr:
            self.skipTest("built without libmicrohttpd")

    def test_nothing_is_served_of_a_file_that_is_refused(self):
        for make, (code, kind) in REFUSED.items():
            make("f.h5")
            said = run(H5MOUNT, "--serve", "0", *UNTRUSTED, "f.h5")
            self.assertEqual((said.returncode, said.stdout), (code, ""), said)
            self.assertIn(kind, said.stderr)

    def test_a_refused_file_of_a_directory_is_403(self):
        os.mkdir("src")
        sound("src/s.h5"), forbidden("src/f.h5")
        _, url = self.serve(*UNTRUSTED, "src")
        self.assertEqual(self.get(url, "/s.h5/d"), (200, np.arange(100).tobytes()))
        status, said = self.get(url, "/f.h5/d")
        self.assertEqual(status, 403)
        self.assertIn(b"external_link at /a", said)

    def test_warnings_are_told(self):
        doubtful("w.h5")
        _, url = self.serve(*UNTRUSTED, "w.h5")
        self.assertEqual(self.get(url, "/d")[0], 200)
        self.assertIn(b"policy untrusted: user_block", read("said"))
