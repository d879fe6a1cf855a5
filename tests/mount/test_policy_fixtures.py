"""The verdicts of `fsck.h5 --policy=` on bombs, polyglots and escapes (tests/support/policy_fixtures.py)."""
import json
import os
import re

from support.policy_fixtures import FIXTURES, write
from support.program import FSCK, ProgramTest, installed, run

DECISIONS = {0: "accept", 1: "accept_with_warnings", 2: "refuse", 3: "refuse", 4: "refuse"}

# The exit code and the kind of a finding; where `trusted` says something else, its own.
VERDICTS = """
link_url                       3 external_link
link_last_of_many              3 external_link
raw_several                    3 external_storage
raw_behind_reference           3 external_storage
raw_behind_attribute           3 external_storage
virtual_numbered               3 virtual_source    0 -
virtual_numbered_around        3 virtual_source
virtual_numbered_parent        3 virtual_source
virtual_own_name               3 virtual_source    0 -
virtual_self                   2 loop
virtual_circle                 2 loop
family_member                  3 file_set
split_metadata                 3 file_set
split_absolute                 3 file_set

bomb_deflate                   4 expansion         0 -
bomb_within_limits             0 -
bomb_deflate_twice             4 expansion
bomb_of_many                   4 expansion         0 -
bomb_never_written             4 expansion
bomb_fill_value                4 logical_size
bomb_shared_chunk              2 overlap
bomb_shared_strings            2 overlap
bomb_shared_strings_attribute  2 overlap
shared_strings                 2 overlap
lists_of_themselves            2 overlap
shared_mappings                2 overlap
bomb_long_stream               2 damaged
size_exabyte                   4 logical_size
size_exabyte_chunked           4 logical_size
size_met                       4 expansion
size_passed                    4 logical_size      4 expansion
size_virtual                   4 logical_size
size_overflow                  4 logical_size
tiny_chunks_met                0 -
tiny_chunks                    4 tiny_chunks       0 -
tiny_chunks_implicit           4 tiny_chunks       0 -
counted                        0 -
groups_64_deep                 0 -
groups_65_deep                 4 link_depth        0 -
groups_129_deep                4 link_depth
soft_links_100_deep            4 link_depth        0 -
types_60_deep                  0 -
types_70_deep                  4 datatype_depth    0 -
types_140_deep                 4 datatype_depth
types_70_deep_attribute        4 datatype_depth    0 -

circle_hard                    2 loop
circle_root                    2 loop
circle_soft                    2 loop
soft_link_up                   0 -
circle_group_tree              2 loop
circle_chunk_tree              2 loop
circle_continuation            2 loop
circle_continuation_itself     2 loop
circle_committed_type          2 loop

front_elf                      3 foreign_format    1 foreign_format
front_elf_2048                 3 foreign_format    1 foreign_format
front_pe                       3 foreign_format    1 foreign_format
front_script                   3 foreign_format    1 foreign_format
front_zip                      3 foreign_format    1 foreign_format
front_pdf                      3 foreign_format    1 foreign_format
front_pdf_later                3 foreign_format    1 foreign_format
front_html                     3 foreign_format    1 foreign_format
front_html_later               3 foreign_format    1 foreign_format
front_text                     1 user_block        0 -
front_matlab                   1 user_block        0 -
front_zeros                    0 -
behind_zip                     3 foreign_format    1 foreign_format
behind_zip_latest              3 foreign_format    1 foreign_format
behind_zip_commented           3 foreign_format    1 foreign_format
behind_zip_padded              3 foreign_format    1 foreign_format
behind_elf                     3 foreign_format    1 foreign_format
behind_elf_padded              3 foreign_format    1 foreign_format
behind_gzip                    3 foreign_format    1 foreign_format
behind_zeros                   1 trailing_bytes    0 -
behind_noise                   1 trailing_bytes
zip_around                     3 foreign_format    1 foreign_format
file_in_user_block             3 foreign_format    1 foreign_format
data_pdf                       3 foreign_format    1 foreign_format
hole_elf                       1 foreign_format

image_sound                    0 -
overlap_datasets               2 overlap
overlap_same_bytes             2 overlap
overlap_superblock             2 overlap
overlap_header                 2 overlap
overlap_chunks                 2 overlap
header_in_data                 2 overlap
header_in_compact_data         2 overlap

filter_lzf_earliest            3 filter            0 -
filter_lzf_latest              3 filter            0 -
filter_blosc2_earliest         3 filter            0 -
filter_blosc2_latest           3 filter            0 -
filter_nobody_earliest         3 filter            0 -
filter_nobody_latest           3 filter            0 -
filter_in_heap_deflate         0 -
filter_in_heap_nobody          3 filter            1 filter
message_unknown                3 unknown_message   1 unknown_message
message_unknown_high           3 unknown_message   1 unknown_message
message_not_to_write           3 unknown_message   1 unknown_message
message_must_be_understood     2 unknown_message

damaged_checksum               2 damaged
damaged_cut                    2 damaged
damaged_chunk_outside          2 damaged
damaged_string_heap            2 damaged
damaged_region                 2 damaged
damaged_short_chunk            2 damaged
damaged_data_outside           2 damaged
damaged_short_storage          2 damaged
damaged_member_outside         2 damaged
damaged_rank                   2 damaged
damaged_attribute_size         2 damaged
no_hdf5                        2 damaged
no_hdf5_empty                  2 damaged
no_hdf5_signature_alone        2 damaged

escapes_together               3 external_link
"""

# What is seen in elements alone, which --quick does not read.
NOT_QUICK = {
    "bomb_shared_strings",
    "raw_behind_reference",
    "shared_strings",
    "lists_of_themselves",
    "damaged_string_heap",
    "damaged_region",
}

# Kinds of other files, and which of their names stay beneath the directory of the file.
NAMING = {"link": "external_link", "raw": "external_storage", "virtual": "virtual_source"}
NAMES = {
    "beside": True,
    "below": True,
    "symlink_beneath": True,
    "parent": False,
    "around": False,
    "absolute": False,
    "proc": False,
    "symlink_out": False,
}


def expected():
    """By name: what `untrusted` and `trusted` say, as (code, kind)."""
    out = {}
    for line in filter(None, VERDICTS.splitlines()):
        name, *words = line.split()
        pairs = [(int(code), kind) for code, kind in zip(words[::2], words[1::2])]
        out[name] = pairs[0], pairs[-1]
    for way, kind in NAMING.items():
        for name, beneath in NAMES.items():
            out[f"{way}_{name}"] = (3, kind), (0, "-") if beneath else (3, kind)
    return out


def judge(file, policy, *words):
    """The exit code and the verdict, whose form is checked."""
    said = run(FSCK, f"--policy={policy}", "--json", *words, file)
    lines = said.stdout.splitlines()
    assert len(lines) == 1 and said.returncode in DECISIONS, (file, said)
    verdict = json.loads(lines[0])
    assert set(verdict) == {"schema_version", "source", "policy", "decision", "findings"}, verdict
    assert verdict["schema_version"] == 1 and verdict["source"] == file and verdict["policy"] == policy
    assert verdict["decision"] == DECISIONS[said.returncode], (file, said)
    assert (said.returncode == 0) == (verdict["findings"] == []), (file, said)
    for finding in verdict["findings"]:
        assert set(finding) == {"kind", "place", "value", "limit"}, (file, finding)
        assert finding["place"].startswith(("/", "offset ")), (file, finding)
    return said.returncode, verdict


class PolicyFixturesTest(ProgramTest):
    def as_expected(self, policy, which, *words):
        wrong = []
        for name, verdicts in expected().items():
            code, kind = verdicts[which]
            if words and name in NOT_QUICK:
                code, kind = 0, "-"
            got, verdict = judge(write(policy, name), policy, *words)
            kinds = [finding["kind"] for finding in verdict["findings"]]
            if got != code or (kind not in kinds if code else kinds):
                wrong.append((name, "expected", code, kind, "not", got, verdict["findings"][:3]))
        assert not wrong, "\n" + "\n".join(map(str, wrong))

    def test_each_fixture_has_an_expected_verdict(self):
        assert set(expected()) == set(FIXTURES), set(expected()) ^ set(FIXTURES)

    def test_untrusted(self):
        self.as_expected("untrusted", 0)

    def test_trusted(self):
        self.as_expected("trusted", 1)

    def test_metadata_alone(self):
        self.as_expected("untrusted", 0, "--quick")

    def test_limits_of_a_policy_file(self):
        for fixture, limit, met, code, kind in (
            ("counted", "max_object_count", 21, 4, "object_count"),
            ("counted", "max_attribute_count", 30, 4, "attribute_count"),
            ("counted", "max_chunk_count", 40, 4, "chunk_count"),
            ("counted", "max_logical_dataset_bytes", 163840, 4, "logical_size"),
            ("groups_129_deep", "max_link_traversal_depth", 129, 4, "link_depth"),
            ("types_60_deep", "max_datatype_recursion_depth", 60, 4, "datatype_depth"),
            ("tiny_chunks", "max_chunks_below_min_logical_bytes", 4097, 4, "tiny_chunks"),
            ("bomb_deflate", "max_expansion_min_bytes", (512 << 20) + 1, 4, "expansion"),
        ):
            if not os.path.exists(fixture):
                write(".", fixture)
            file = f"{fixture}/file.h5"
            for value, wanted in ((met, 0), (met - 1, code)):
                with open("site.policy", "w") as f:
                    f.write(f"# of this site\n{limit} = {value}\n")
                got, verdict = judge(file, "site.policy")
                kinds = {finding["kind"] for finding in verdict["findings"]}
                assert got == wanted and kinds == ({kind} if wanted else set()), (limit, value, verdict)

    def test_names_and_filters_of_a_policy_file(self):
        for fixture, line, code in (
            ("link_absolute", "allow_external_links = any", 0),
            ("link_below", "allow_external_links = beneath", 0),
            ("link_parent", "allow_external_links = beneath", 3),
            ("raw_proc", "allow_external_storage = any", 0),
            ("raw_proc", "allow_external_links = any", 3),
            ("virtual_parent", "allow_vds = any", 0),
            ("filter_blosc2_latest", "allow_filters = [1, 32026]", 0),
            ("filter_lzf_latest", "allow_filters = [1, 32026]", 3),
            ("filter_in_heap_deflate", "allow_filters = []", 3),
        ):
            if not os.path.exists(fixture):
                write(".", fixture)
            with open("site.policy", "w") as f:
                f.write(line)
            got, verdict = judge(f"{fixture}/file.h5", "site.policy")
            assert got == code, (fixture, line, verdict)

    def test_nothing_that_is_named_is_opened(self):
        if not installed("strace"):
            self.skipTest("no strace")
        for fixture in (f"{way}_{name}" for way in NAMING for name in NAMES):
            file = write(".", fixture)
            for policy in ("untrusted", "trusted"):
                run("strace", "-f", "-qq", "-o", "calls", FSCK, "--policy=" + policy, file)
                with open("calls") as f:
                    calls = [line for line in f if re.search(r"other\.h5|passwd|environ", line)]
                opened = [call for call in calls if re.search(r" open(at2?)?\(", call)]
                assert all("O_PATH" in call for call in opened), (fixture, policy, calls)
                assert policy == "trusted" or not calls, (fixture, calls)
