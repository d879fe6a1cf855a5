"""Mounts of files that a test writes with h5py."""
import os
import tempfile

from support.program import H5MOUNT, ProgramTest, installed, run, shell, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "tests", "data", "weather.h5")


def can_mount():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return False
    return os.geteuid() == 0 or installed("fusermount3")


def is_mounted(place):
    with open("/proc/self/mountinfo") as f:
        return " %s " % place.rstrip("/") in f.read()


def unmount(place, *options):
    """Unmounts, and waits until the mount is gone."""
    words = ["umount", *options] if os.geteuid() == 0 else ["fusermount3", "-u", *(["-z"] if options else [])]
    p = run(*words, place)
    assert p.returncode == 0, p
    until(lambda: not is_mounted(place), "unmounted")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def error(what, *arguments):
    """What the system says of a call that fails; 'none' of one that does not."""
    try:
        what(*arguments)
    except OSError as e:
        return os.strerror(e.errno)
    return "none"


def direct(path, offset=0, length=1 << 20):
    """Bytes that the kernel has not cached, or the error."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as e:
        return e
    try:
        return os.pread(fd, length, offset)
    except OSError as e:
        return e
    finally:
        os.close(fd)


def inside(mnt, command, **how):
    """A line of the shell in a mount."""
    return shell("cd %s && %s" % (mnt, command), **how)


def as_nobody(mnt, command):
    """The same as a user who owns nothing there."""
    return run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", command, cwd=mnt)


class MountTest(ProgramTest):
    def setUp(self):
        if not can_mount():
            self.skipTest("no /dev/fuse that may be used")
        super().setUp()
        os.chmod(".", 0o755)

    def mount_point(self):
        """A fresh one, with a slash at the end; what is mounted there does not outlive the test."""
        place = tempfile.mkdtemp(prefix="mnt", dir=os.getcwd())
        self.addCleanup(lambda: is_mounted(place) and unmount(place, "-l"))
        return place + "/"

    def mount(self, *words):
        """Mounts sources, with options before them, and returns where."""
        place = self.mount_point()
        p = run(H5MOUNT, *words, place)
        assert p.returncode == 0, p
        return place
