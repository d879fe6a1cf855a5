#!/usr/bin/env python3
"""Holds README.md to what it says: check_readme.py BUILD

It has at most 150 lines, its links lead to files, each command of "Without a mount" and each recipe of the
table of views runs on the example (tests/data/weather.h5). A recipe whose program is missing is named and
left out. The exit code is 77 where nothing can be mounted.
"""
import os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(os.path.abspath(sys.argv[1]), "src", "cli")
EXAMPLE = os.path.join(ROOT, "tests", "data", "weather.h5")
MOST_LINES = 150
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED", text)


def run(words, where, **more):
    environment = dict(os.environ, PATH=f"{PROGRAMS}:{os.environ['PATH']}:/usr/sbin:/sbin")
    return subprocess.run(
        words,
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=200,
        check=False,
        **more,
    )


def section(text, heading):
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def check_links(text):
    targets = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    for target in targets:
        if "://" not in target and not os.path.exists(os.path.join(ROOT, target)):
            fail(f"the link to {target} leads nowhere")


def python_with(module):
    for program in ("/usr/bin/python3", sys.executable):
        if (
            subprocess.run([program, "-c", f"import {module}"], capture_output=True, check=False).returncode
            == 0
        ):
            return program
    return None


def command_of(label, code):
    """The words that run a recipe, or None where its program is missing."""
    for module in ("numpy", "pandas", "xarray"):
        if code.startswith(module + "."):
            program = python_with(module)
            return program and [program, "-c", f"import {module}\nprint({code})"]
    if label == "gnuplot":
        return shutil.which("gnuplot") and ["gnuplot", "-e", "set terminal dumb; " + code]
    program = code.split()[0]
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/bin") and ["sh", "-c", code]


def check_recipes(text, place, scratch):
    rows = re.findall(
        r"^\| ([^|]+) \| `((?:[^`])+)`", section(text, "Every dataset as the file that programs open"), re.M
    )
    if len(rows) < 8:
        fail(f"the table of views has {len(rows)} recipes")
    for label, code in rows:
        code = re.sub(r" weather\.(zarr|json)$", rf" {scratch}/weather.\1", code.replace("\\|", "|"))
        words = command_of(label, code)
        if not words:
            print(f"left out: {label}")
            continue
        ran = run(words, place)
        if ran.returncode or (not ran.stdout and not code.startswith("cp ")):
            fail(f"{label}: {code}: {ran.returncode} {ran.stdout[-300:]}{ran.stderr[-800:]}")
        else:
            print(f"runs: {label}")


def check_commands(text, scratch):
    commands = re.findall(r"^((?:h5mount --|fsck\.h5 ).*?) +#", section(text, "Without a mount"), re.M)
    if len(commands) < 6:
        fail(f"Without a mount has {len(commands)} commands")
    for command in commands:
        if "--serve" in command:
            continue
        words = (
            re.sub(r"[\[\]]", "", command)
            .replace("…", "")
            .replace("DESTINATION", os.path.join(scratch, "copy"))
        )
        words = words.replace("FILE", EXAMPLE).replace("PATH", "observations/temperature").split()
        ran = run(words, scratch)
        if ran.returncode or not (ran.stdout or "--copy" in words):
            fail(f"{command}: {ran.returncode} {ran.stderr}")


def main():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    if text.count("\n") > MOST_LINES:
        fail(f"README.md has {text.count(chr(10))} lines, at most {MOST_LINES}")
    check_links(text)
    with tempfile.TemporaryDirectory() as scratch:
        check_commands(text, scratch)
        if not os.access("/dev/fuse", os.R_OK | os.W_OK) and not failures:
            print("no /dev/fuse that may be used")
            sys.exit(77)
        place = os.path.join(scratch, "mount")
        os.mkdir(place)
        mounted = run(["h5mount", EXAMPLE, place], scratch)
        if mounted.returncode:
            fail(f"h5mount: {mounted.stderr}")
        else:
            try:
                check_recipes(text, place, scratch)
            finally:
                run(["umount", "-l", place], scratch)
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


main()
