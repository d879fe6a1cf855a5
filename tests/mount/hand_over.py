#!/usr/bin/env python3
"""Mounts as a container's engine does, and hands the descriptor over:

    hand_over.py DIRECTORY COMMAND…     opens /dev/fuse, mounts it on DIRECTORY, runs COMMAND with {} replaced
                                        by /dev/fd/N
    hand_over.py --proxy DEVICE …       is called as fusermount3: mounts through DEVICE and sends the
                                        descriptor back, or unmounts with -u; each call is a line in the file
                                        DEVICE.log
"""
import ctypes, os, socket, subprocess, sys

LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_NOSUID, MS_NODEV, MNT_DETACH = 1, 2, 4, 2


def check(result, what):
    if result != 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


def mounted(device, place):
    descriptor = os.open(device, os.O_RDWR)
    options = f"fd={descriptor},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    check(
        LIBC.mount(
            b"handed", place.encode(), b"fuse.h5mount", MS_RDONLY | MS_NOSUID | MS_NODEV, options.encode()
        ),
        f"mount {place}",
    )
    return descriptor


def hand_over(place, command):
    descriptor = mounted("/dev/fuse", place)
    words = [word.replace("{}", f"/dev/fd/{descriptor}") for word in command]
    return subprocess.run(words, pass_fds=[descriptor]).returncode


def proxy(device, words):
    with open(device + ".log", "a", encoding="utf-8") as log:
        log.write(" ".join(words) + "\n")
    place = words[-1]
    if "-u" in words:
        return check(LIBC.umount2(place.encode(), MNT_DETACH), f"umount {place}")
    with socket.socket(fileno=int(os.environ["_FUSE_COMMFD"])) as caller:
        socket.send_fds(caller, [b"\0"], [mounted(device, place)])


if sys.argv[1] == "--proxy":
    proxy(sys.argv[2], sys.argv[3:])
else:
    sys.exit(hand_over(sys.argv[1], sys.argv[2:]))
