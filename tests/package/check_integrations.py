#!/usr/bin/env python3
"""Runs what other programs do with h5mount (scripts/package/integrations, and what the manual says of git):

    check_integrations.py BUILD

less, git, a maker of thumbnails, mc, ranger's rifle and ripgrep, each by itself on the example and without
settings of this user. A program that is missing is named and left out; 77 where all are.
"""
import os, pty, re, select, shutil, signal, struct, subprocess, time, zlib

from programs import EXAMPLE, H5MOUNT, PLACE, bytes_of, check_all, environment, fail, mounted, run, unmount


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
    values = bytes_of(EXAMPLE, "observations/humidity")
    if data.count(values) != 1:
        return fail("the example's humidity is not stored as it is")
    with open(os.path.join(home, "a.h5"), "wb") as file:
        file.write(data.replace(values, bytes([values[0] ^ 1]) + values[1:]))
    said = git("diff")
    changed = [line for line in said.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    kinds = [line.split()[0] + line.split()[1] for line in changed]
    if kinds != ["-sha256", "-|", "+sha256", "+|"] or f"-  | {values[0]}" not in said:
        fail("git diff: " + said)
    # As the manual sets it.
    git(
        "config",
        "difftool.h5mount.cmd",
        'bash -c \'diff -u <(h5mount --text "$0") <(h5mount --text "$1")\' "$LOCAL" "$REMOTE"',
    )
    shown = run(home, "git", "difftool", "--no-prompt", "--tool=h5mount").stdout
    if [
        line.split()[0] + line.split()[1] for line in shown.splitlines() if re.match(r"[-+] ", line)
    ] != kinds:
        fail("git difftool: " + shown)


def check_thumbnail(home):
    place = os.path.join(home, "a.png")
    ran = run(home, os.path.join(PLACE, "thumbnail"), EXAMPLE, place, "64")
    if ran.returncode:
        return fail("thumbnail: " + ran.stderr)
    with open(place, "rb") as file:
        data = file.read()
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    pixels = zlib.decompress(data[start + 4 : start + 4 + struct.unpack(">I", data[start - 4 : start])[0]])
    if (
        data[:8] != b"\x89PNG\r\n\x1a\n"
        or not 0 < max(width, height) <= 64
        or len(pixels) != height * (width + 1)
    ):
        fail(f"the thumbnail has {width} × {height} pixels, {len(pixels)} bytes")
    if len(set(pixels)) < 10:
        fail("the thumbnail has one shade")
    with open(os.path.join(home, "plain"), "w", encoding="utf-8") as file:
        file.write("a text\n")
    if run(home, os.path.join(PLACE, "thumbnail"), file.name, place, "64").returncode != 1:
        fail("a thumbnail of a plain file")


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, home, *words, **variables):
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(home)
            os.execvpe(words[0], words, environment(home, **{"TERM": "xterm", **variables}))
        self.shown = ""

    def wait_for(self, what):
        """Until `what` holds of the terminal, or a minute is over."""
        end = time.monotonic() + 60
        while not what() and time.monotonic() < end:
            if not select.select([self.descriptor], [], [], 0.2)[0]:
                continue
            try:
                self.shown += os.read(self.descriptor, 65536).decode("utf-8", "replace")
            except OSError:
                break
        return what()

    def type(self, keys):
        self.shown = ""
        os.write(self.descriptor, keys)

    def end(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.descriptor)


def check_mc(home):
    """A file is entered, a group in it too, and its first dataset copied to the other panel."""
    place = os.path.join(home, ".local/share/mc/extfs.d")
    os.makedirs(place)
    os.symlink(os.path.join(PLACE, "uh5"), os.path.join(place, "uh5"))
    os.mkdir(os.path.join(home, "out"))
    shutil.copy(EXAMPLE, os.path.join(home, "a.h5"))
    listed = run(home, os.path.join(place, "uh5"), "list", "a.h5")
    names = run(home, "h5mount", "--list", "-R", "a.h5").stdout.splitlines()
    if listed.returncode or len(listed.stdout.splitlines()) != len([name for name in names if name != "/"]):
        fail("uh5 list: " + listed.stdout + listed.stderr)
    terminal = Terminal(home, "mc", "-u", "-d", "-b", home, os.path.join(home, "out"))
    copied = os.path.join(home, "out", "humidity")
    steps = [
        (b"cd a.h5/uh5://observations\r", lambda: "humidity" in terminal.shown),
        (b"\x0e", lambda: "humidity" in terminal.shown),  # Ctrl-N: the entry below ".."
        (b"\x1b[15~", lambda: "Copy" in terminal.shown),  # F5
        (b"\r", lambda: os.path.exists(copied)),
    ]
    if not terminal.wait_for(lambda: "/out" in terminal.shown):
        fail("mc: " + terminal.shown)
    for keys, what in steps:
        terminal.type(keys)
        if not terminal.wait_for(what):
            fail(f"mc after {keys}: {terminal.shown}")
    wanted = bytes_of(EXAMPLE, "observations/humidity")

    def same():
        with open(copied, "rb") as file:
            return file.read() == wanted

    if not os.path.exists(copied) or not terminal.wait_for(same):
        fail("mc copied other bytes")
    terminal.end()


def check_rifle(home):
    """What ranger opens files with."""
    with open(os.path.join(home, "rifle.conf"), "w", encoding="utf-8") as file:
        file.write('ext h5|hdf5|he5|nc|nwb, has h5mount, terminal = h5mount --text "$1" | ${PAGER:-less}\n')
    terminal = Terminal(home, "rifle", "-c", "rifle.conf", EXAMPLE, PAGER="cat")
    if not terminal.wait_for(lambda: '"/observations/time" dataset' in terminal.shown):
        fail("rifle: " + terminal.shown[:300])
    terminal.end()


def check_ripgrep(home):
    """Over the text of a file, over an archive of it, and over a mount."""
    found = run(
        home, "rg", "--pre", os.path.join(PLACE, "lesspipe"), "--pre-glob", "*.h5", "-c", "dataset", EXAMPLE
    )
    if not found.stdout.strip().isdigit() or int(found.stdout) < 3:
        fail("rg --pre: " + found.stdout + found.stderr)
    found = run(home, "sh", "-c", f"h5mount --tar {EXAMPLE} .h5/csv | rg -a -c humidity")
    if not found.stdout.strip().isdigit() or int(found.stdout) < 1:
        fail("rg of an archive: " + found.stdout + found.stderr)
    place = os.path.join(home, "mnt")
    if not mounted(place, H5MOUNT, EXAMPLE, place):
        return print("left out: ripgrep of a mount, which cannot be made here")
    found = run(home, "rg", "--no-heading", "-o", "humidity", os.path.join(place, ".h5", "csv"))
    if found.stdout != f"{place}/.h5/csv/observations.csv:humidity\n":
        fail("rg of a mount: " + found.stdout + found.stderr)
    unmount(place)


check_all(
    (
        ("less", check_less),
        ("git", check_git),
        ("/usr/bin/python3", check_thumbnail),
        ("mc", check_mc),
        ("rifle", check_rifle),
        ("rg", check_ripgrep),
    )
)
