#!/usr/bin/python3
"""A mount with the option salvage looks for damage when something first needs it, once.

usage: salvage_mount.py H5MOUNT
"""
import json, os, shutil, subprocess, sys, tempfile, urllib.request

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


def check_directory(work):
    """Each file of a directory is salvaged when something of it needs that."""
    with Mount(work) as mount:
        check("the directory lists its files", "sound.h5" in os.listdir(mount.place))
        check("which needs no sweep", mount.swept() == 0)
        check("nor do sound data", (mount.values("damaged.h5/plain") == np.arange(5000)).all())
        check("of any file", (mount.values("sound.h5/plain") == np.arange(5000)).all() and mount.swept() == 0)
        check("a damaged file is given", (mount.values("damaged.h5/group/packed") == np.arange(4000)).all())
        first = mount.swept()
        check("after a sweep of it", first > 0)
        check("with a remark", mount.remark("damaged.h5/group/packed") is not None)
        check("and what is lost", "lost+found" in os.listdir(mount.path("damaged.h5")))
        check("which was swept once", mount.swept() == first)
        check("a sound file of it has no lost+found", os.listdir(mount.path("sound.h5")) == ["plain"])
        check(
            "one without superblock is shown",
            (mount.values("headless.h5/group/packed") == np.arange(4000)).all(),
        )
    listed = output("--list", "-R", "-o", "salvage", work)
    check("without a mount too", "damaged.h5/lost+found" in listed and "sound.h5/lost+found" not in listed)


def output(*words):
    done = subprocess.run([H5MOUNT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout.decode(errors="replace")


def check_without_mount(path):
    """What copies and archives have of it; the other commands are in test_commands.cpp."""
    packed = np.arange(4000)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(
            [H5MOUNT, "--copy", "-o", "salvage", path, "/", place + "/copy"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        check("--copy", (np.fromfile(place + "/copy/group/packed", "i8") == packed).all())
        check("--copy of what was lost", os.path.isdir(place + "/copy/lost+found"))
    archive = subprocess.run([H5MOUNT, "--tar", "-o", "salvage", path], stdout=subprocess.PIPE).stdout
    check("--tar", b"lost+found/" in archive and packed.tobytes() in archive)
    check_served(path)


def check_served(path):
    server = subprocess.Popen([H5MOUNT, "--serve", "0", "-o", "salvage", path], stdout=subprocess.PIPE)
    try:
        url = server.stdout.readline().decode().strip()
        plain = urllib.request.urlopen(url + "plain").read()
        check("--serve of sound data", (np.frombuffer(plain, "i8") == np.arange(5000)).all())
        packed = urllib.request.urlopen(url + "group/packed").read()
        check("--serve", (np.frombuffer(packed, "i8") == np.arange(4000)).all())
        data = urllib.request.urlopen(url + "api/data?path=/group/packed&format=bin").read()
        check("--serve by HDF5's own names", (np.frombuffer(data, "i8") == np.arange(4000)).all())
        found = urllib.request.urlopen(url + "api/meta?path=/").read().decode()
        check("and what is lost", "lost+found" in found)
        views = [
            json.load(urllib.request.urlopen(f"{url}api/views?path={name}"))
            for name in ("/group/packed", "/plain")
        ]
        check("the page is told what salvage did", "found_by" in views[0]["salvage"])
        check("and of a sound dataset nothing", "salvage" not in views[1])
        listing = urllib.request.urlopen(url + "group/?plain").read().decode()
        check("the listing says it", "dataset, salvage: {&quot;certainty&quot;" in listing)
    finally:
        server.terminate()
        server.wait()


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
        check(
            "and marked", all("guessed" in mount.remark(os.path.join("lost+found", name)) for name in names)
        )
        check("it was swept once", mount.swept() == first)

    at = data.find(b"FAHD")
    data[at : at + 28] = b"\xa5" * 28  # the header of the index
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

    without = os.path.join(work, "headless.h5")
    with open(without, "wb") as file:
        file.write(bytes(48) + data[48:])
    with Mount(without) as mount:
        check("a file without superblock is swept at once", mount.swept() > 0)
        check("and shown", (mount.values("group/packed") == np.arange(4000)).all())
    check_directory(work)
    check_without_mount(os.path.join(work, "damaged.h5"))
    shutil.rmtree(work)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if not os.path.exists("/dev/fuse"):
        sys.exit(77)
    sys.exit(main())
