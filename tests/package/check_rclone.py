#!/usr/bin/env python3
"""rclone over h5mount --serve, as on systems without FUSE of their own (macOS, Windows): check_rclone.py
BUILD

Its http backend lists and copies a file whose names need care, lists a group of 100,000 entries, mounts it
where that can be, and serves it as WebDAV. 77 where there is no rclone.
"""
import os, signal, socket, subprocess, sys, time, urllib.parse, urllib.request

from programs import H5MOUNT, check_all, environment, fail, mounted, run, unmount

MANY = 100_000
NO_LINKS = ["--exclude", "up"]  # a symlink to a directory is a file of its listing
NAMES = ["plain", "with space", "100%", "a%20b", "%", "ü", "x?y#z", "q&a<'\">;", "back\\slash", "a+b", "a:b"]
WRITE = f"""
import h5py, numpy
with h5py.File("f.h5", "w", libver="latest") as f:
    for i, name in enumerate({NAMES!r}):
        data = numpy.arange(1000 * i + 10, dtype="<i4")
        f.create_dataset("g/" + name, data=data, chunks=(10,), compression="gzip")
    f["g/50% off/deep"] = numpy.arange(7)
    f["empty"] = numpy.zeros((0,))
    f["to_group"] = h5py.SoftLink("/g")
    f["g/up"] = h5py.SoftLink("/")
    f["to_data"] = h5py.SoftLink("/g/plain")
    f["broken"] = h5py.SoftLink("/nowhere")
    f.create_group("none")
    many = f.create_group("many")
    one = f["g/plain"]
    for i in range({MANY}):
        many[f"e{{i:06d}}"] = one
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def started(words, home, tried):
    process = subprocess.Popen(
        words, cwd=home, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(tried, timeout=10).close()
            break
        except OSError:
            time.sleep(0.1)
    return process


def ended(process):
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def files_below(place):
    out = {}
    for directory, _, names in os.walk(place):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                continue
            with open(path, "rb") as file:
                out[os.path.relpath(path, place)] = file.read()
    return out


def check(home):
    made = run(home, "/usr/bin/python3", "-c", WRITE)
    if made.returncode:
        return fail("the file: " + made.stderr)
    # What the mount shows, as files.
    wanted = {}
    os.mkdir(os.path.join(home, "wanted"))
    for group in ("g", "none"):
        run(home, "h5mount", "--copy", "f.h5", group, "wanted/" + group)
        wanted.update(
            {
                f"{group}/{name}": data
                for name, data in files_below(os.path.join(home, "wanted", group)).items()
            }
        )
    if len(wanted) != len(NAMES) + 1:
        return fail(f"--copy gives {sorted(wanted)}")
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    server = started([H5MOUNT, "--serve", str(port), "f.h5"], home, url)
    try:
        check_served(home, url, wanted)
    finally:
        ended(server)


def rclone(home, url, *words):
    return run(home, "rclone", *words, "--http-url", url)


def check_served(home, url, wanted):
    sizes = dict(
        line.rsplit(";", 1)
        for line in rclone(
            home, url, "lsf", "-R", "--files-only", "--format", "ps", *NO_LINKS, ":http:g"
        ).stdout.splitlines()
    )
    if sizes != {name[2:]: str(len(data)) for name, data in wanted.items()}:
        fail(f"lsf: {sizes}")
    top = rclone(home, url, "lsf", "--format", "ps", ":http:").stdout.splitlines()
    print("root:", top)
    for line in ("g/;-1", "many/;-1", "none/;-1", "empty;0", f"to_data;{len(wanted['g/plain'])}"):
        if line not in top:
            fail(f"lsf of the root lacks {line}")
    # A symlink to a directory is one file and no second copy of it, so that a walk ends.
    walked = run(
        home, "rclone", "lsf", "-R", ":http:", "--exclude", "many/**", "--http-url", url
    ).stdout.splitlines()
    if len(walked) != len(wanted) + len(
        ["g/", "50% off/", "g/up", "none/", "empty", "to_data", "to_group"]
    ) or not {"g/up", "to_group"} < set(walked):
        fail(f"a walk with symlinks: {walked}")
    done = rclone(home, url, "copy", *NO_LINKS, ":http:g", "copied")
    copied = files_below(os.path.join(home, "copied"))
    if done.returncode or copied != {name[2:]: data for name, data in wanted.items()}:
        fail(f"copy: {sorted(copied)} {done.stderr}")
    part = rclone(home, url, "cat", "--offset", "400", "--count", "8", ":http:g/x?y#z").stdout
    if part.encode("utf-8", "surrogateescape") != wanted["g/x?y#z"][400:408]:
        fail(f"cat of a part: {part!r}")
    for more in (["--http-no-head"], ["--checkers", "16"]):
        begin = time.monotonic()
        names = rclone(home, url, "lsf", *more, ":http:many/").stdout.split()
        print(f"{len(names)} entries {more} in {time.monotonic() - begin:.1f} s")
        if names != [f"e{i:06d}" for i in range(MANY)]:
            fail(f"lsf of {MANY}: {len(names)}")
    check_webdav(home, url, wanted)
    check_mount(home, url, wanted)


def check_webdav(home, url, wanted):
    there = f"http://127.0.0.1:{free_port()}/"
    server = started(
        ["rclone", "serve", "webdav", ":http:", "--http-url", url, "--addr", there[7:-1]], home, there
    )
    for name in ("g/plain", "g/100%"):
        with urllib.request.urlopen(there + urllib.parse.quote(name), timeout=60) as answer:
            if answer.read() != wanted[name]:
                fail("webdav: " + name)
    ended(server)


def check_mount(home, url, wanted):
    place = os.path.join(home, "mnt")
    if not mounted(
        place, "rclone", "mount", ":http:", place, "--http-url", url, *NO_LINKS, "--daemon", "--read-only"
    ):
        return print("left out: rclone mount, which cannot be made here")
    seen = files_below(os.path.join(place, "g"))
    if seen != {name[2:]: data for name, data in wanted.items()}:
        fail(f"mount: {sorted(seen)}")
    unmount(place)


sys.stdout.reconfigure(errors="backslashreplace")
check_all((("rclone", check),))
