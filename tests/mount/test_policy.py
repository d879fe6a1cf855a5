"""fsck.h5 --policy: verdicts, their codes and forms; nothing that a file names is touched."""
import functools
import http.server
import os
import re
import threading
import unittest

import h5py
import numpy as np

from policy_files import KINDS, corrupt, doubtful, foreign, forbidden, judge, sound, too_much, verdicts
from policy_files import write_policy
from support.program import FSCK, ProgramTest, installed, run

UNTRUSTED = "--policy=untrusted"


class PolicyVerdictTest(ProgramTest):
    def test_each_decision_has_its_code_and_its_line(self):
        for make, (code, decision, kind) in KINDS.items():
            name = make.__name__ + ".h5"
            make(name)
            with self.subTest(name):
                ended, lines = verdicts(UNTRUSTED, name)
                self.assertEqual(ended, code)
                self.assertEqual(len(lines), 1)
                line = lines[0]
                self.assertEqual(list(line), ["schema_version", "source", "policy", "decision", "findings"])
                self.assertIs(type(line["schema_version"]), int)
                self.assertEqual((line["schema_version"], line["source"]), (1, name))
                self.assertEqual((line["policy"], line["decision"]), ("untrusted", decision))
                for finding in line["findings"]:
                    self.assertEqual(list(finding), ["kind", "place", "value", "limit"])
                self.assertEqual([f["kind"] for f in line["findings"]][:1], [kind] if kind else [])
        forbidden("f.h5")
        found = verdicts(UNTRUSTED, "f.h5")[1][0]["findings"]
        link = {"kind": "external_link", "place": "/a", "value": "other.h5", "limit": "none"}
        self.assertEqual(found, [link])
        too_much("t.h5")
        found = verdicts(UNTRUSTED, "t.h5")[1][0]["findings"]
        size = {"kind": "logical_size", "place": "/huge", "value": 8 << 40, "limit": 64 << 30}
        self.assertIn(size, found)
        self.assertEqual({type(one["limit"]) for one in found}, {int})

    def test_of_several_the_first_of_8_2_3_4_1_0(self):
        makers = [sound, doubtful, too_much, forbidden, corrupt]  # from the best to the worst
        for make in makers:
            make(make.__name__)
        names = [make.__name__ for make in makers]
        for worst, code in enumerate((0, 1, 4, 3, 2)):
            for order in (names[: worst + 1], names[worst::-1]):
                ended, lines = verdicts(UNTRUSTED, *order)
                self.assertEqual(ended, code, order)
                self.assertEqual([line["source"] for line in lines], order)
        self.assertEqual(judge(UNTRUSTED, *names, "missing.h5").returncode, 8)

    def test_as_text_a_line_a_source_and_one_a_finding(self):
        sound("s.h5"), forbidden("f.h5"), doubtful("w.h5")
        said = judge(UNTRUSTED, "s.h5", "f.h5", "w.h5")
        lines = said.stdout.splitlines()
        self.assertEqual(
            lines[:3], ["s.h5: accept", "f.h5: refuse", "  external_link at /a: other.h5 (allowed: none)"]
        )
        self.assertEqual(lines[3], "w.h5: accept_with_warnings")
        self.assertRegex(lines[4], "^  user_block at ")
        self.assertEqual(len(lines), 5)
        self.assertEqual(said.stderr, "")
        quiet = judge("-q", UNTRUSTED, "s.h5", "f.h5", "w.h5")
        self.assertEqual(quiet.stdout.splitlines(), lines[1:])
        self.assertEqual(quiet.returncode, 3)
        self.assertEqual([line["source"] for line in verdicts("-q", UNTRUSTED, "s.h5", "f.h5")[1]], ["f.h5"])

    def test_names_do_not_steer_the_terminal(self):
        forbidden("f\x1b[31m\n.h5", target="o\x1b[2J\r.h5", link="l\x07")
        said = judge(UNTRUSTED, "f\x1b[31m\n.h5")
        self.assertNotRegex(said.stdout, "[\x00-\x09\x0b-\x1f]")
        self.assertEqual(len(said.stdout.splitlines()), 2)
        self.assertIn(r"\x1b[2J", said.stdout)
        found = verdicts(UNTRUSTED, "f\x1b[31m\n.h5")[1][0]["findings"][0]
        self.assertEqual((found["place"], found["value"]), ("/l\x07", "o\x1b[2J\r.h5"))

    def test_what_cannot_be_read_is_8_and_named(self):
        sound("s.h5")
        os.mkfifo("pipe.h5")
        for name in ("missing.h5", "pipe.h5"):
            with self.subTest(name):
                said = judge(UNTRUSTED, "s.h5", name)
                self.assertEqual((said.returncode, said.stdout), (8, "s.h5: accept\n"))
                self.assertEqual(said.stderr.count("\n"), 1)
                self.assertIn(name, said.stderr)
                ended, lines = verdicts(UNTRUSTED, name, "s.h5")
                self.assertEqual([line["decision"] for line in lines], ["refuse", "accept"])
                self.assertEqual(ended, 8)

    def test_quick_reads_no_data(self):
        """References of elements into heaps are data."""
        with h5py.File("v.h5", "w") as f:
            f.create_dataset("text", data=["some", "words"], dtype=h5py.string_dtype())
        self.assertEqual(verdicts(UNTRUSTED, "v.h5")[0], 0)
        self.assertEqual(verdicts(UNTRUSTED, "--quick", "v.h5")[0], 0)
        forbidden("f.h5")
        self.assertEqual(verdicts(UNTRUSTED, "--quick", "f.h5"), verdicts(UNTRUSTED, "f.h5"))


class PolicyFileTest(ProgramTest):
    def test_a_file_sets_its_own_limits(self):
        forbidden("f.h5"), too_much("t.h5"), sound("s.h5")
        lines = [
            "# of the laboratory",
            "",
            "allow_external_links = any",
            'max_logical_dataset_bytes="none"  # ours',
        ]
        own = "--policy=" + write_policy("own.policy", *lines, "max_expansion = none")
        ended, said = verdicts(own, "f.h5", "t.h5")
        self.assertEqual((ended, [one["decision"] for one in said]), (0, ["accept", "accept"]))
        self.assertEqual({one["policy"] for one in said}, {"own.policy"})
        self.assertEqual(
            verdicts("--policy=" + write_policy("few.policy", "max_object_count = 1"), "s.h5")[0], 4
        )
        met = "--policy=" + write_policy("met.policy", "max_object_count = 2")
        self.assertEqual(verdicts(met, "s.h5")[0], 0)
        self.assertEqual(verdicts("--policy", "trusted", "f.h5")[0], 0)  # beneath its directory

    def test_one_that_is_none_is_8_with_the_name(self):
        sound("s.h5")
        for line, named in (
            ("max_objekt_count = 3", "max_objekt_count"),
            ("max_object_count = many", "max_object_count"),
            ("allow_vds = all", "allow_vds"),
            ("allow_filters = [gzip]", "gzip"),
            ("max_chunk_count", "max_chunk_count"),
        ):
            said = judge("--policy=" + write_policy("bad.policy", line), "s.h5")
            self.assertEqual((said.returncode, said.stdout), (8, ""), line)
            self.assertIn(named, said.stderr)
            self.assertIn("bad.policy, line 1", said.stderr)
        for missing in ("untrustd", "no/such/file", ""):
            said = judge("--policy=" + missing, "s.h5")
            self.assertEqual((said.returncode, said.stdout), (8, ""))
            self.assertIn(missing, said.stderr)

    def test_options_that_do_not_go_with_it_are_usage(self):
        sound("s.h5")
        for word in ("--salvage", "--references", "--checksum=sha256"):
            said = judge(UNTRUSTED, word, "s.h5")
            self.assertEqual((said.returncode, said.stdout), (16, ""), word)
        self.assertEqual(judge(UNTRUSTED).returncode, 16)


class PolicySourcesTest(ProgramTest):
    def test_a_directory_has_a_line_a_file(self):
        os.makedirs("d/sub")
        sound("d/a.h5"), forbidden("d/sub/b.h5"), foreign("d/z.h5")
        foreign("d/note.txt")
        ended, lines = verdicts(UNTRUSTED, "d")
        self.assertEqual([line["source"] for line in lines], ["d/a.h5", "d/sub/b.h5", "d/z.h5"])
        self.assertEqual([line["decision"] for line in lines], ["accept", "refuse", "refuse"])
        self.assertEqual(ended, 2)
        self.assertEqual(verdicts("-o", "match=a.*", UNTRUSTED, "d/")[1][0]["source"], "d/a.h5")

    def test_a_list_names_sources(self):
        sound("s.h5"), forbidden("f.h5")
        with open("list", "w", encoding="utf-8") as f:
            f.write("# ours\ns.h5\nf.h5\n")
        ended, lines = verdicts(UNTRUSTED, "@list")
        self.assertEqual([os.path.basename(line["source"]) for line in lines], ["s.h5", "f.h5"])
        self.assertEqual(ended, 3)
        with open("list", "a", encoding="utf-8") as f:
            f.write("gone.h5\n")
        self.assertEqual(verdicts(UNTRUSTED, "@list")[0], 8)

    def test_a_url_is_a_source(self):
        sound("s.h5"), forbidden("f.h5")
        handler = functools.partial(QuietServer, directory=os.getcwd())
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = "http://127.0.0.1:%d/" % server.server_port
        if "built without libcurl" in judge(UNTRUSTED, url + "s.h5").stderr:
            self.skipTest("built without libcurl")
        ended, lines = verdicts("-o", "timeout=20", UNTRUSTED, url + "s.h5", url + "f.h5")
        self.assertEqual([line["source"] for line in lines], [url + "s.h5", url + "f.h5"])
        self.assertEqual([line["decision"] for line in lines], ["accept", "refuse"])
        self.assertEqual(ended, 3)

    def test_a_set_by_its_name_is_one_file(self):
        with h5py.File("run-%d.h5", "w", driver="family", memb_size=4096) as f:
            f["d"] = np.arange(4000)
        ended, lines = verdicts(UNTRUSTED, "run-%d.h5")
        self.assertEqual([(line["source"], line["decision"]) for line in lines], [("run-%d.h5", "accept")])
        self.assertEqual(ended, 0)
        # The first member alone names the others.
        ended, lines = verdicts(UNTRUSTED, "run-0.h5")
        self.assertEqual((ended, lines[0]["findings"][0]["kind"]), (3, "file_set"))

    def test_several_at_once_are_told_in_order(self):
        makers = [sound, forbidden, too_much, corrupt, foreign, doubtful]
        names = ["%s-%d.h5" % (make.__name__, i) for i in range(40) for make in makers]
        for i in range(40):
            for make in makers:
                make("%s-%d.h5" % (make.__name__, i))
        ended, lines = verdicts("-n", "8", UNTRUSTED, *names)
        self.assertEqual(ended, 2)
        self.assertEqual([line["source"] for line in lines], names)
        self.assertEqual((ended, lines), verdicts("-n", "1", UNTRUSTED, *names))


class QuietServer(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(installed("strace"), "no strace")
class PolicyTouchesNothingTest(ProgramTest):
    """What a file names is not opened, under none and any not even looked for; no other program is run."""

    NAMES = ("linked-one", "stored-one", "mapped-one")

    def setUp(self):
        super().setUp()
        os.mkdir("d")
        for name in self.NAMES:
            sound("d/%s.h5" % name)
        with h5py.File("d/names.h5", "w") as f:
            f["link"] = h5py.ExternalLink("linked-one.h5", "/d")
            f.create_dataset("raw", (10,), "i4", external=[("stored-one.h5", 0, 40)])
            layout = h5py.VirtualLayout((100,), "i8")
            layout[:] = h5py.VirtualSource("mapped-one.h5", "d", (100,))
            f.create_virtual_dataset("view", layout)

    def traced(self, *words):
        """The calls that name a file, but for those of the program's start."""
        said = run("strace", "-f", "-qq", "-e", "trace=%file,execve,fork,vfork", "-o", "trace", FSCK, *words)
        with open("trace", encoding="utf-8", errors="replace") as f:
            return said, f.read().splitlines()

    def test_under_none_and_any_nothing_is_looked_for(self):
        lines = ["allow_%s = any" % name for name in ("external_links", "external_storage", "vds")]
        for policy, code in (("untrusted", 3), (write_policy("any.policy", *lines), 0)):
            for quick in ((), ("--quick",)):
                said, calls = self.traced("--json", "--policy=" + policy, *quick, "d/names.h5")
                self.assertEqual(said.returncode, code, said)
                self.assertTrue(any("names.h5" in call for call in calls))
                for name in self.NAMES:
                    self.assertEqual([call for call in calls if name in call], [])

    def test_under_beneath_nothing_is_opened_for_reading(self):
        said, calls = self.traced("--policy=trusted", "d/names.h5")
        self.assertEqual(said.returncode, 0, said)
        named = [call for call in calls if any(name in call for name in self.NAMES)]
        self.assertNotEqual(named, [])
        for call in named:
            self.assertRegex(call, r"openat2?\(.*O_PATH|stat|access|readlink")
        os.symlink("/etc/hostname", "d/leads-out.h5")
        forbidden("d/out.h5", target="leads-out.h5")
        said, calls = self.traced("--policy=trusted", "d/out.h5")
        self.assertEqual(said.returncode, 3, said)
        self.assertIn("leads-out.h5", said.stdout)
        self.assertEqual([call for call in calls if "hostname" in call], [])

    def test_members_of_a_set_are_not_opened_for_its_first_one(self):
        with h5py.File("d/fam-%d.h5", "w", driver="family", memb_size=2048) as f:
            f["d"] = np.arange(2000)
        with h5py.File("d/two", "w", driver="split") as f:
            f["d"] = np.arange(2000)
        for first, others in (("d/fam-0.h5", "fam-1"), ("d/two-m.h5", "two-r")):
            said, calls = self.traced(UNTRUSTED, first)
            self.assertEqual(said.returncode, 3, said)
            self.assertIn("file_set", said.stdout)
            self.assertEqual([call for call in calls if others in call], [])

    def test_no_program_is_run_and_no_plugin(self):
        sound("d/plain.h5")
        with h5py.File("d/filtered.h5", "w") as f:
            space = h5py.h5s.create_simple((1000,))
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((100,))
            plist.set_filter(40000, h5py.h5z.FLAG_OPTIONAL)
            h5py.h5d.create(f.id, b"d", h5py.h5t.NATIVE_INT32, space, plist)
        os.mkdir("plugins")
        said, calls = self.traced("-o", "plugins=plugins", UNTRUSTED, "d/filtered.h5", "d/plain.h5")
        self.assertEqual(said.returncode, 3, said)
        self.assertRegex(said.stdout, "filter at /d: 40000")
        self.assertEqual(len([call for call in calls if re.search(r"execve\(|fork\(", call)]), 1)
        self.assertEqual([call for call in calls if "openat" in call and '"plugins/' in call], [])
