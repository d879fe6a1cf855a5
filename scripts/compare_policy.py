#!/usr/bin/env python3
"""Decisions of `fsck.h5 --policy=` beside those of the HDF Group's h5policy, for its own fixtures:
    scripts/compare_policy.py FSCK FIXTURES EXPECTED [--policy=untrusted] [--profile=untrusted-strict] [--all]
FIXTURES is what its h5policy-gencorpus wrote. EXPECTED has h5policy's reports (NAME.json, where NAME is the
fixture's path with _ for /) or is its tests/expected, whose records of other profiles and with changed limits
are left out. Prints the files that differ (--all: all), with what each finds first, and the counts. A fixture
with an entry in the table below is known to differ, and why. Ends with 1 if another one does."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

CLASSES = {
    "accept": 0,
    "accept_with_warnings": 1,
    "reject_corrupt": 2,
    "reject_policy": 3,
    "reject_resource": 4,
    "unsupported_coverage_gap": 5,
}
NAMES = ["accept", "warn", "corrupt", "policy", "resource", "gap", "?", "?", "could not run"]

# Why a fixture has another class here, on purpose: regular expressions of paths below FIXTURES.
REASONS = [
    (
        r"^valid/(decode|nbit|scaleoffset)_filter|multi_filter_dataset|zero_size_null_message",
        "filters of the format are allowed, and no cause for a warning",
    ),
    (r"sohm_huge_btree|^valid/cache_image", "a gap of h5policy's: here it is read, and sound"),
    (
        r"cache_image_unshadowed_btree|superblock_offset_width",
        "a gap of h5policy's: here it is read, and damaged",
    ),
    (r"trailing_bytes", "bytes behind the end are warned of"),
    (r"wide_length_one", "its only element is a byte of the root's header, which h5policy does not compare"),
    (
        r"storage_overflow|nelem_overflow",
        "a product that is too large is a claim: resource, not damage",
    ),
    (r"dense_attr_btree_deep", "a B-tree of more levels than a file has room for is damaged"),
    (r"link_name_charset", "libhdf5 writes such names: a warning"),
]


def recorded(directory, profile):
    """By fixture: h5policy's class and its first finding, from its records of what it must say."""
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            text = f.read()
        if name.endswith(".yml"):
            said = dict(re.findall(r"^(\w+): *(\S.*)$", text, re.M))
            if said.get("profile") != profile or "profile_overrides" in text or "\noptions" in text:
                continue
            found = re.findall(r"^ *-? ?(?:required_findings: \[)?(H5_\w+)", text, re.M)
            yield said["file"], CLASSES[said["expected_decision"]], found[0] if found else ""
        elif name.endswith(".json"):
            said = json.loads(text)
            found = [finding.get("code", "") for finding in said["findings"]]
            yield said["file"], CLASSES[said["decision"]], found[0] if found else ""


def judged(fsck, policy, file):
    ended = subprocess.run(
        [fsck, f"--policy={policy}", "--json", file], capture_output=True, text=True, timeout=60
    )
    if not ended.stdout:
        return ended.returncode, ended.stderr.strip()
    found = json.loads(ended.stdout.splitlines()[0])["findings"]
    return ended.returncode, found and "{kind} at {place}: {value}".format(**found[0]) or ""


def reason(name):
    return next((why for pattern, why in REASONS if re.search(pattern, name)), None)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("fsck", metavar="FSCK")
    parser.add_argument("fixtures", metavar="FIXTURES")
    parser.add_argument("expected", metavar="EXPECTED")
    parser.add_argument("--policy", default="untrusted")
    parser.add_argument("--profile", default="untrusted-strict")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    counts = collections.Counter()
    for name, theirs, their_finding in recorded(args.expected, args.profile):
        file = os.path.join(args.fixtures, name)
        if not os.path.exists(file):
            counts["no fixture"] += 1
            continue
        ours, our_finding = judged(args.fsck, args.policy, file)
        why = "" if ours == theirs else reason(os.path.relpath(file, args.fixtures))
        counts["the same" if ours == theirs else "explained" if why else "unexplained"] += 1
        counts[f"h5policy {NAMES[theirs]}, here {NAMES[ours]}"] += 1
        if args.all or ours != theirs:
            print(f"{name}: h5policy {NAMES[theirs]} ({their_finding}), here {NAMES[ours]} ({our_finding})")
            if ours != theirs:
                print(f"    {why or 'NOT EXPLAINED'}")
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    sys.exit(1 if counts["unexplained"] else 0)


if __name__ == "__main__":
    main()
