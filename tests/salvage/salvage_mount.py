#!/usr/bin/python3
"""A mount with the option salvage looks for damage when something first needs it, once.

usage: salvage_mount.py H5MOUNT
"""
import os, subprocess, sys, tempfile

import h5py
import numpy as np

H5MOUNT = sys.argv[1]
failures = 0


def check(what, holds):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED {what}")


class Mount:
    def __init__(self, file, options="salvage"):
        self.file, self.options = file, options
        self.place = tempfile.mkdtemp(prefix="salvage-mount-")

    def __enter__(self):
        subprocess.run([H5MOUNT, "-o", self.options, self.file, self.place], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["fusermount3", "-u", self.place], check=True)
        os.rmdir(self.place)

    def path(self, name):
        return os.path.join(self.place, name)

    def swept(self):
        with open(self.path(".h5/status")) as status:
            numbers = dict(line.rstrip("\n").split(": ", 1) for line in status)
        return int(numbers["salvage_swept"])

    def values(self, name, dtype="i8"):
        return np.fromfile(self.path(name), dtype)

    def remark(self, name):
        try:
            return os.getxattr(self.path(name), "user.hdf5.salvage").decode()
        except OSError:
            return None


def write(path):
    with h5py.File(path, "w", libver="latest") as file:
        group = file.create_group("group")
        file["gone"] = np.arange(777)  # before the others, so that it is not cut off with the end
        file["plain"] = np.arange(5000)
        group.create_dataset("packed", data=np.arange(4000), chunks=(100,), compression=1)
        file.flush()
        del file["gone"]
    with open(path, "rb") as file:
        return bytearray(file.read())


def main():
    work = tempfile.mkdtemp(prefix="salvage-files-")
    path = os.path.join(work, "sound.h5")
    with h5py.File(path, "w", libver="latest") as file:
        file["plain"] = np.arange(5000)
    with Mount(path) as mount:
        check("a sound dataset is read", (mount.values("plain") == np.arange(5000)).all())
        check("nothing was swept for it", mount.swept() == 0)
        check("a sound file has no lost+found", os.listdir(mount.place) == ["plain"])
        check("a sound dataset has no remark", mount.remark("plain") is None)

    data = write(os.path.join(work, "deleted.h5"))
    with Mount(os.path.join(work, "deleted.h5")) as mount:
        check("a dataset beside a deleted one is read", (mount.values("plain") == np.arange(5000)).all())
        check("nothing was swept for it either", mount.swept() == 0)
        check("a listing shows what was lost", "lost+found" in os.listdir(mount.place))
        first = mount.swept()
        check("it was swept for", first > 0)
        names = os.listdir(mount.path("lost+found"))
        found = [mount.values(os.path.join("lost+found", name)) for name in names]
        check("the lost dataset is read", any(len(v) == 777 and (v == np.arange(777)).all() for v in found))
        check("and marked", all("guessed" in mount.remark(os.path.join("lost+found", name)) for name in names))
        check("it was swept once", mount.swept() == first)

    at = data.find(b"FAHD")
    data[at:at + 32] = b"\xa5" * 32
    path = os.path.join(work, "damaged.h5")
    with open(path, "wb") as file:
        file.write(data)
    with Mount(path) as mount:
        check("the sound one is given", (mount.values("plain") == np.arange(5000)).all())
        check("without a sweep", mount.swept() == 0)
        check("the damaged one is given", (mount.values("group/packed") == np.arange(4000)).all())
        check("after a sweep", mount.swept() > 0)
        check("with a remark", mount.remark("group/packed") is not None)
        check("the sound one has none", mount.remark("plain") is None)
        check("the listing is whole", sorted(os.listdir(mount.place)) == ["group", "lost+found", "plain"])
    with Mount(path) as mount:
        check("lost+found is found by its name", os.path.isdir(mount.path("lost+found")))
    with Mount(path) as mount:
        with open(mount.path(".h5/list.txt")) as text:
            check("texts of the whole file have it", "lost+found" in text.read())

    data[:48] = bytes(48)
    with open(path, "wb") as file:
        file.write(data)
    with Mount(path) as mount:
        check("a file without superblock is swept at once", mount.swept() > 0)
        check("and shown", (mount.values("group/packed") == np.arange(4000)).all())
    for name in os.listdir(work):
        os.remove(os.path.join(work, name))
    os.rmdir(work)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if not os.path.exists("/dev/fuse"):
        sys.exit(77)
    sys.exit(main())
