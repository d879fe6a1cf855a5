#!/usr/bin/env python3
"""Runs what other programs do with h5mount (scripts/package/integrations, and what the manual says of git):

    check_integrations.py BUILD

less, git and a maker of thumbnails, each by itself on the example and without settings of this user. A program that is
missing is named and left out; 77 where all are.
"""
import os, shutil, struct, subprocess, sys, tempfile, zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "scripts", "package", "integrations")
EXAMPLE = os.path.join(ROOT, "tests", "data", "weather.h5")
PROGRAMS = os.path.join(os.path.abspath(sys.argv[1]), "src", "cli")
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED", text)


def run(home, *words, **variables):
    environment = {"PATH": PROGRAMS + ":/usr/bin:/bin", "HOME": home, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
                   "TERM": "dumb", **variables}
    return subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=200, check=False)


def check_less(home):
    shown = run(home, "less", "-f", EXAMPLE, LESSOPEN=f"|{PLACE}/lesspipe %s")
    if '"/observations/time" dataset' not in shown.stdout:
        fail("less: " + shown.stdout[:300] + shown.stderr)
    with open(os.path.join(home, "plain"), "w", encoding="utf-8") as file:
        file.write("a text\n")
    other = run(home, "less", "-f", "plain", LESSOPEN=f"|{PLACE}/lesspipe %s")
    if other.stdout != "a text\n":
        fail("less of a plain file: " + other.stdout + other.stderr)


def check_git(home):
    """git diff of two versions, of which one value differs."""
    def git(*words):
        ran = run(home, "git", "-c", "user.name=a", "-c", "user.email=a@b", *words)
        if ran.returncode:
            fail(f"git {words}: {ran.stderr}")
        return ran.stdout
    git("init", "-q")
    with open(os.path.join(home, ".gitattributes"), "w", encoding="utf-8") as file:
        file.write("*.h5 diff=hdf5\n")
    git("config", "diff.hdf5.textconv", "h5mount --text")
    shutil.copy(EXAMPLE, os.path.join(home, "a.h5"))
    git("add", "a.h5", ".gitattributes")
    git("commit", "-q", "-m", "one")
    with open(EXAMPLE, "rb") as file:
        data = file.read()
    values = subprocess.run([os.path.join(PROGRAMS, "h5mount"), "--cat", EXAMPLE, "observations/humidity"],
                            capture_output=True, check=True).stdout
    if data.count(values) != 1:
        return fail("the example's humidity is not stored as it is")
    with open(os.path.join(home, "a.h5"), "wb") as file:
        file.write(data.replace(values, bytes([values[0] ^ 1]) + values[1:]))
    said = git("diff")
    changed = [line for line in said.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    kinds = [line.split()[0] + line.split()[1] for line in changed]
    if kinds != ["-sha256", "-|", "+sha256", "+|"] or f"-  | {values[0]}" not in said:
        fail("git diff: " + said)


def check_thumbnail(home):
    place = os.path.join(home, "a.png")
    ran = run(home, os.path.join(PLACE, "thumbnail"), EXAMPLE, place, "64")
    if ran.returncode:
        return fail("thumbnail: " + ran.stderr)
    with open(place, "rb") as file:
        data = file.read()
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    pixels = zlib.decompress(data[start + 4:start + 4 + struct.unpack(">I", data[start - 4:start])[0]])
    if data[:8] != b"\x89PNG\r\n\x1a\n" or not 0 < max(width, height) <= 64 or len(pixels) != height * (width + 1):
        fail(f"the thumbnail has {width} × {height} pixels, {len(pixels)} bytes")
    if len(set(pixels)) < 10:
        fail("the thumbnail has one shade")
    with open(os.path.join(home, "plain"), "rb") as file:
        if run(home, os.path.join(PLACE, "thumbnail"), file.name, place, "64").returncode != 1:
            fail("a thumbnail of a plain file")


def main():
    done = 0
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, "plain"), "w", encoding="utf-8") as file:
            file.write("a text\n")
        for program, check in (("less", check_less), ("git", check_git), ("/usr/bin/python3", check_thumbnail)):
            if shutil.which(program, path="/usr/bin:/bin") is None:
                print(f"left out: no {program}")
                continue
            done += 1
            check(home)
    print(f"{failures} failures")
    sys.exit(1 if failures else 0 if done else 77)


main()
