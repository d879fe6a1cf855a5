"""What the tests of other programs share: each runs one by itself, without settings of this user."""
import os, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "scripts", "package", "integrations")
EXAMPLE = os.path.join(ROOT, "tests", "data", "weather.h5")
PROGRAMS = os.path.join(os.path.abspath(sys.argv[1]), "src", "cli")
H5MOUNT = os.path.join(PROGRAMS, "h5mount")
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED", text)


def environment(home, **variables):
    return {
        "PATH": PROGRAMS + ":/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": home,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "TERM": "dumb",
        **variables,
    }


def run(home, *words, **variables):
    return subprocess.run(
        words,
        cwd=home,
        env=environment(home, **variables),
        capture_output=True,
        text=True,
        errors="surrogateescape",
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )


def bytes_of(file, path):
    return subprocess.run([H5MOUNT, "--cat", file, path], capture_output=True, check=True).stdout


def mounted(place, *command):
    """Whether `command`, which mounts on `place` and returns, could; the caller unmounts."""
    os.makedirs(place, exist_ok=True)
    return (
        os.path.exists("/dev/fuse")
        and subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0
    )


def unmount(place):
    if subprocess.run(["umount", place], check=False, stderr=subprocess.DEVNULL).returncode:
        subprocess.run(["fusermount3", "-uz", place], check=False, stderr=subprocess.DEVNULL)


def check_all(checks):
    """`checks`: a program and what is called with a directory of its own where there is one. 77 where there
    is none."""
    missing = []
    for program, check in checks:
        if shutil.which(program, path="/usr/bin:/bin") is None:
            missing.append(program)
            continue
        with tempfile.TemporaryDirectory() as home:
            check(home)
    print(f"{failures} failures")
    if missing:
        print("left out: no " + ", ".join(missing))
    sys.exit(1 if failures else 77 if len(missing) == len(checks) else 0)
