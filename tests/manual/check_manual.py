#!/usr/bin/env python3
"""Holds the manual (docs/man) to the programs and to groff: check_manual.py BUILD

Every option that --help shows is in the page of its program, in backticks; every page that a page refers to
is there or is another project's; groff formats each page without a warning. The exit code is 1 where one of
these fails.
"""
import os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = os.path.join(ROOT, "docs", "man")
BUILD = sys.argv[1]
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED", text)


def text_of(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def page(name):
    with open(os.path.join(PAGES, name + ".md"), encoding="utf-8") as file:
        return file.read()


def check_options(program, names, *pages):
    """Words with a dash in the help of `program`, called by each of `names`, are in one of the pages."""
    manual = "\n".join(page(name) for name in pages)
    quoted = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", " ".join(re.findall(r"`([^`\n]*)`", manual))))
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            link = os.path.join(directory, name)
            os.symlink(os.path.abspath(program), link)
            said = text_of([link, "--help"])
            options = set(re.findall(r"(?<![\w.-])--?[A-Za-z][\w-]*", said))
            if not options:
                fail(f"{name} --help shows no options")
            for option in sorted(options - quoted):
                fail(f"{option} of {name} is not in {', '.join(pages)}")


def check_references():
    ours = {name[:-3] for name in os.listdir(PAGES) if name.endswith(".md")}
    for name in ours:
        for shown, target in re.findall(r"\[([\w.-]+\(\d\))\]\(([^)]*)\)", page(name)):
            if target != re.sub(r"\((\d)\)", r".\1.md", shown) or target[:-3] not in ours:
                fail(f"{name}: [{shown}]({target}) leads to no page")
    return sorted(ours)


def check_format(name):
    made = os.path.join(BUILD, "docs", "man", name)
    if not os.path.exists(made):
        return fail(f"{name} was not made: is pandoc there?")
    with open(made, encoding="utf-8") as file:
        if ".SH NAME" not in file.read():
            fail(f"{name} has no section NAME")
    # man(1) keeps two columns of a terminal free.
    for width in ("78n", "120n"):
        said = subprocess.run(
            ["groff", "-k", "-t", "-man", "-ww", "-Tutf8", "-rLL=" + width, made],
            capture_output=True,
            text=True,
        )
        if said.returncode or said.stderr:
            fail(f"{name} at {width}: {said.stderr.strip()}")


def main():
    programs = os.path.join(BUILD, "src", "cli")
    check_options(os.path.join(programs, "h5mount"), ["h5mount"], "h5mount.1", "h5mount-serve.1")
    check_options(os.path.join(programs, "h5mount"), ["mount.h5", "umount.fuse.h5mount"], "mount.h5.8")
    check_options(os.path.join(programs, "fsck.h5"), ["fsck.h5"], "fsck.h5.8")
    for name in check_references():
        check_format(name)
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


main()
