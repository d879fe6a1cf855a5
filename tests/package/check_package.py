#!/usr/bin/env python3
"""Holds what a package has beside the programs (scripts/package) to the programs and to the tools that read
it:

    check_package.py BUILD

Completions offer every option that --help names, in each shell; systemd takes the units, and finds little to
complain of; the desktop's tools take the entry and the types. A tool that is missing fails.
"""
import os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "scripts", "package")
BUILD = os.path.abspath(sys.argv[1])
PROGRAMS = os.path.join(BUILD, "src", "cli")
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED", text)


def run(*command, **more):
    environment = dict(os.environ, PATH=PROGRAMS + ":" + os.environ["PATH"])
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **more)


def bash(*words):
    listed = " ".join(f"'{word}'" for word in words)
    return run(
        "bash",
        "-c",
        (
            f"source {PACKAGE}/completions/h5mount; COMP_WORDS=({listed}); "
            f"COMP_CWORD={len(words) - 1}; _h5mount {words[0]}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ),
    ).stdout.split()


def zsh(*words):
    """The function as zsh calls it, with its results printed in place of shown."""
    listed = " ".join(f"'{word}'" for word in words)
    last = words[-1].rsplit(",", 1)[-1]
    said = run(
        "zsh",
        "-f",
        "-c",
        (
            "compadd() { print -l -- $@ }; compset() { return 0 }; _files() { print files }; "
            f"words=({listed}); CURRENT={len(words)}; PREFIX='{last}'; source {PACKAGE}/completions/_h5mount"
        ),
    ).stdout.split()
    return [word for word in said if word.startswith(last)]


def fish(*words):
    said = run(
        "fish",
        "--no-config",
        "-c",
        f"source {PACKAGE}/completions/h5mount.fish; complete -C '{' '.join(words)}'",
    ).stdout
    return [line.split("\t")[0] for line in said.splitlines()]


def check_completions():
    help_text = run("h5mount", "--help").stdout
    section = re.search(r"^Options after -o.*\n((?:.+\n)+)", help_text, re.M).group(1)
    names = re.findall(r"(?:^| )([a-z_]+)(?=[=,[]|$)", section.replace("\n", " "))
    flags = set(re.findall(r"(?<![\w.-])--[A-Za-z][\w-]*", help_text))
    if len(names) < 15 or len(flags) < 10:
        return fail(f"--help names only {names} and {flags}")
    for shell in (bash, zsh, fish):
        name = shell.__name__
        if shutil.which(name) is None:
            fail(f"there is no {name}")
            continue
        for option in names:
            if not any(word.rstrip("=") == option for word in shell("h5mount", "-o", option[:-1])):
                fail(f"{name} does not complete -o {option}")
        offered = set(shell("h5mount", "--"))
        if flags - offered - {"--xattrs"}:
            fail(f"{name} does not complete {sorted(flags - offered)}")
        behind = shell("h5mount", "-o", "allow_other,cache_s")
        if not any(word.endswith("cache_size=") for word in behind):
            fail(f"{name} does not complete after a comma: {behind}")
    if "--quick" not in bash("fsck.h5", "--qu"):
        fail("bash does not complete fsck.h5")
    if bash("h5mount", "-o", "swmr", "=", "o") != ["on", "off"]:
        fail("bash does not complete swmr=")


def check_units(directory):
    place = os.path.join(directory, "h5mount@.service")
    with open(os.path.join(PACKAGE, "systemd", "h5mount@.service"), encoding="utf-8") as file:
        text = file.read().replace("@bindir@/h5mount", os.path.join(PROGRAMS, "h5mount"))
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)
    units = [place]
    for kind in ("mount", "automount"):
        units.append(
            shutil.copy(
                os.path.join(PACKAGE, "systemd", "run." + kind), os.path.join(directory, "mnt-run." + kind)
            )
        )
    said = run("systemd-analyze", "verify", "--man=no", *units)
    if said.returncode or said.stderr:
        fail("systemd-analyze verify: " + said.stderr)
    said = run("systemd-analyze", "security", "--offline=true", "--threshold=30", place)
    exposure = re.search(r"Overall exposure level[^:]*: ([\d.]+)", said.stdout)
    print("exposure", exposure and exposure.group(1))
    if said.returncode or not exposure or float(exposure.group(1)) > 3.0:
        fail("systemd-analyze security: " + said.stdout[-300:] + said.stderr)


def check_desktop(directory):
    said = run("desktop-file-validate", os.path.join(PACKAGE, "desktop", "h5mount.desktop"))
    if said.returncode or said.stdout:
        fail("desktop-file-validate: " + said.stdout)
    os.makedirs(os.path.join(directory, "mime", "packages"))
    shutil.copy(os.path.join(PACKAGE, "desktop", "h5mount.xml"), os.path.join(directory, "mime", "packages"))
    os.environ["XDG_DATA_DIRS"] = directory
    said = run("update-mime-database", os.path.join(directory, "mime"))
    with open(os.path.join(directory, "mime", "globs2"), encoding="utf-8") as file:
        globs = file.read()
    if said.returncode or said.stderr or ":application/x-hdf5:*.nwb" not in globs:
        fail("update-mime-database: " + said.stderr + globs)


def main():
    check_completions()
    with tempfile.TemporaryDirectory() as directory:
        check_units(directory)
        check_desktop(directory)
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


main()
