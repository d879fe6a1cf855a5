"""Mount points that the program makes."""
import os
import time
import unittest

from many_files import ManyFilesCase
from mounting import is_mounted, unmount
from support.program import H5MOUNT, run, until


class MadeMountpointTest(ManyFilesCase):
    def make(self, *words, **how):
        """Mounts without a mount point; the test's directory is the working one."""
        self.addCleanup(lambda: [unmount(place, "-l") for place in self.mounts()])
        return run(H5MOUNT, *words, **how)

    def mounts(self):
        with open("/proc/self/mountinfo") as f:
            return [line.split()[4] for line in f if os.getcwd() + "/" in line]

    def removed(self, name):
        """It may be removed a moment after the end of the mount."""
        until(lambda: not os.path.exists(name), name + " is removed", 2)

    def test_is_made_printed_and_removed(self):
        for source, name in (("src/a.h5", "a"), ("src/sub", "sub")):
            mounted = self.make(source)
            assert mounted.returncode == 0, mounted
            assert mounted.stdout == os.path.abspath(name) + "\n", mounted
            assert is_mounted(os.path.abspath(name))
            assert run("umount", name).returncode == 0
            self.removed(name)

    def test_a_directory_that_was_there_is_kept(self):
        os.mkdir("a")
        assert self.make("src/a.h5").stdout == os.path.abspath("a") + "\n"
        unmount(os.path.abspath("a"))
        time.sleep(0.2)
        assert os.path.isdir("a")
        open("a/x", "w").close()
        refused = self.make("src/a.h5")
        assert refused.returncode == 32 and "no empty directory" in refused.stderr, refused
        itself = self.make("src")
        assert itself.stdout == os.path.abspath("src.mount") + "\n", itself
        assert run("umount", "src.mount").returncode == 0
        self.removed("src.mount")

    def test_nothing_is_left_where_the_mount_fails(self):
        assert self.make("src/bad.h5").returncode == 2
        assert self.make("-o", "subtype=a,b=c", "src/a.h5").returncode == 1
        assert not os.path.exists("bad")
        assert not os.path.exists("a")

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_is_removed_from_somebody_elses_directory(self):
        """Root has no rights left over the directories of others when the mount ends."""
        os.mkdir("theirs")
        os.chown("theirs", 65534, 65534)
        assert self.make("../src/a.h5", cwd="theirs").returncode == 0
        assert is_mounted(os.path.abspath("theirs/a"))
        assert run("umount", "theirs/a").returncode == 0
        self.removed("theirs/a")
