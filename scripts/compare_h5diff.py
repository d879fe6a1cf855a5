#!/usr/bin/env python3
"""Runs the comparisons of h5diff's own tests with h5diff and with h5mount --diff, verdict by verdict.

    compare_h5diff.py H5MOUNT TOOLS [H5DIFF]

TOOLS is the directory `tools` of HDF5's sources (Debian: apt-get source hdf5): the comparisons are those of
test/h5diff/testh5diff.sh.in, over the files of testfiles directories below TOOLS. Prints a line for each:
both codes, the reason where they differ, and the words. Exit code 1 if a difference has no reason.
"""
import glob, json, os, re, shlex, shutil, subprocess, sys, tempfile

# Options of h5diff that change no verdict, and those that take a value.
SILENT = {"-v", "-v1", "-v2", "-v3", "--verbose", "-r", "--report", "-q", "--quiet", "--enable-error-stack"}
VALUES = {"-d", "--delta", "-p", "--relative", "-n", "--count", "--exclude-path"}
BOUNDS = {"-d": "--abs", "--delta": "--abs", "-p": "--rel", "--relative": "--rel"}
NO_EQUAL = {
    "-h": "help",
    "--use-system-epsilon": "no such option: --abs or --rel",
}
# By the last words of a comparison.
LINKS_FOLLOWED = "a PATH that is a link is followed, as by the other commands"
PATHS_COMPARED = "references are compared by the paths that they lead to, not by what is there"
KNOWN = {
    "-v -q h5diff_basic1.h5 h5diff_basic2.h5": "its -v and -q exclude each other",
    "h5diff_types.h5 l1 l2": LINKS_FOLLOWED,
    "/link_g1 /link_g2": LINKS_FOLLOWED,
    "h5diff_dset1.h5 h5diff_dset2.h5 /g1/reference2D": PATHS_COMPARED,
    "h5diff_comp_vl_strs.h5 /group /group_copy": PATHS_COMPARED,
}
# What h5mount tells and h5diff does not: by the kind of a difference.
TOLD = {
    "type": "a difference of type is one",
    "shape": "a difference of shape is one",
    "kind": "a difference of kind is one",
    "link": "targets of links are compared, links are not followed",
    "only_a": "what is on one side only is a difference, attributes too",
    "only_b": "what is on one side only is a difference, attributes too",
}


class Case:
    """A comparison: the words of h5diff, and those of h5mount; `without`: why there are none."""

    def __init__(self, words):
        self.words, self.without = words, None
        self.mount, self.operands, self.followed, self.dangling = [], [], False, False
        ignored, words = [], list(words)
        while words:
            word = words.pop(0)
            name, _, value = word.partition("=")
            if name in VALUES and (value or words):
                value = value or words.pop(0)
                if name == "--exclude-path":
                    ignored.append(value)
                elif name in BOUNDS:
                    # Of a repeated one h5diff takes the last.
                    self.mount = [one for one in self.mount if not one.startswith(BOUNDS[name])]
                    self.mount.append(f"{BOUNDS[name]}={value}")
            elif name in NO_EQUAL:
                self.without = NO_EQUAL[name]
            elif name == "--follow-symlinks":
                self.followed = True
            elif name == "--no-dangling-links":
                self.dangling = True
            elif name not in SILENT and word != "-c":
                self.operands.append(word)
        # h5diff excludes by the path below the objects compared, h5mount by that in the file.
        group = self.operands[2] if len(self.operands) > 2 else ""
        self.mount += [
            f"--ignore={'/' + group.strip('/') if group.strip('/') else ''}{path}" for path in ignored
        ]


def cases(script):
    with open(script, encoding="utf-8") as file:
        for line in file:
            if re.match(r"TOOLTEST\s", line):
                yield Case(shlex.split(line)[2:])


def code_of(*words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60, check=False)


def reason(case, theirs, ours, said):
    """Why the codes may differ; None: they may not."""
    known = [why for end, why in KNOWN.items() if " ".join(case.words).endswith(end)]
    if known:
        return known[0]
    kinds = {one["kind"] for one in json.loads(said)["differences"]} if said else set()
    if theirs == 1 and ours == 2:
        return "its errors of usage are 1; h5mount's are 2, like all trouble"
    if case.dangling and theirs == 2:
        return "a link that leads nowhere is no error, as links are not followed"
    told = sorted({TOLD[kind] for kind in kinds if kind in TOLD})
    if theirs == 0 and ours == 1 and told:
        return "; ".join(told)
    if theirs == 1 and ours == 0 and case.followed:
        return TOLD["link"]
    return None


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    h5mount, tools = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    h5diff = sys.argv[3] if len(sys.argv) > 3 else "h5diff"
    same = explained = unexplained = 0
    with tempfile.TemporaryDirectory() as place:
        for path in glob.glob(os.path.join(tools, "**", "*.h5"), recursive=True):
            shutil.copy(path, place)
        shutil.copy(os.path.join(place, "tvlstr.h5"), os.path.join(place, "tvlstr2.h5"))
        os.chdir(place)
        for case in cases(os.path.join(tools, "test", "h5diff", "testh5diff.sh.in")):
            words = shlex.join(case.words)
            theirs = code_of(h5diff, *case.words).returncode
            if case.without:
                print(f"h5diff {theirs}              {words}: {case.without}")
                continue
            end = code_of(h5mount, "--diff", "--json", *case.mount, *case.operands)
            why = "" if theirs == end.returncode else reason(case, theirs, end.returncode, end.stdout)
            same += why == ""
            explained += bool(why)
            unexplained += why is None
            note = "NO REASON: " + end.stdout[:300] + end.stderr[:300] if why is None else why
            print(f"h5diff {theirs}, h5mount {end.returncode}  {words}{': ' if note else ''}{note}")
    print(f"{same} the same, {explained} different for a reason, {unexplained} without one")
    sys.exit(1 if unexplained else 0)


main()
