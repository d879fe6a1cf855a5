"""The program as a user has it, for tests that run_unittests.py runs."""
import mmap
import os
import shutil
import subprocess
import tempfile
import time
import unittest

H5MOUNT = os.environ["H5MOUNT"]
FSCK = os.path.join(os.path.dirname(H5MOUNT), "fsck.h5")


def run(*words, **how):
    """A command's end, with what it said as text."""
    return subprocess.run(words, **{"capture_output": True, "text": True, "timeout": 60, **how})


def shell(command, **how):
    """The same for a line of the shell, where $H5MOUNT is the program."""
    return run("sh", "-c", command, **how)


def terminate(process):
    if process.poll() is None:
        process.terminate()
    process.wait(60)
    if process.stdout:
        process.stdout.close()


def has_namespaces():
    return run("unshare", "-m", "true").returncode == 0


def sanitized():
    """Whether the program is built with a sanitizer: slow, and with other memory."""
    with open(H5MOUNT, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as program:
        return any(program.find(name) >= 0 for name in (b"__asan_init", b"__tsan_init"))


def installed(program):
    return shutil.which(program) is not None


def until(condition, what, seconds=10):
    """Waits until the condition holds; an error of the system is that it does not yet."""
    end = time.monotonic() + seconds
    said = None
    while time.monotonic() < end:
        try:
            if condition():
                return
        except OSError as error:
            said = error
        time.sleep(0.02)
    raise AssertionError("%s: not within %g s: %s" % (what, seconds, said))


class ProgramTest(unittest.TestCase):
    """A test that works in a directory of its own, which is gone afterwards."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="h5mount-test-", ignore_cleanup_errors=True)
        self.addCleanup(place.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(place.name)
        self.addCleanup(os.umask, os.umask(0o022))
