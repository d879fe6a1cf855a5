"""Plays systemd for a mount with -o survive: keeps what the keeper stores (FDSTORE), kills keeper and server,
starts the program once more with the descriptors, and reads on in a file that stayed open."""

import array
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM, SOURCE, MOUNT = sys.argv[1:]


def status_pid():
    return int(
        next(
            line for line in (Path(MOUNT) / ".h5/status").read_text().splitlines() if line.startswith("pid: ")
        )[5:]
    )


def receive_store(notifications, wanted):
    stored = {}
    while len(stored) < wanted:
        text, ancillary, _, _ = notifications.recvmsg(4096, socket.CMSG_SPACE(64))
        words = dict(line.split("=", 1) for line in text.decode().splitlines())
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i", data)
                stored[words["FDNAME"]] = numbers[0]
    return stored


def start_with(stored, environment):
    """As systemd does: descriptors from 3 on, their names, and the pid of the program itself."""
    names = list(stored)

    def child():
        copies = [os.dup(stored[name]) for name in names]
        high = [os.dup2(copy, 100 + number) for number, copy in enumerate(copies)]
        for number, copy in enumerate(high):
            os.dup2(copy, 3 + number, inheritable=True)
        os.environ["LISTEN_PID"] = str(os.getpid())

    words = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", PROGRAM, "-f", "-o", "survive", SOURCE, MOUNT]
    return subprocess.Popen(
        words,
        preexec_fn=child,
        close_fds=False,
        env={**environment, "LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)},
    )


def main():
    with tempfile.TemporaryDirectory() as place:
        notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notifications.bind(place + "/notify")
        notifications.settimeout(20)
        environment = {**os.environ, "NOTIFY_SOCKET": place + "/notify"}
        keeper = subprocess.Popen([PROGRAM, "-f", "-o", "survive", SOURCE, MOUNT], env=environment)
        stored = receive_store(notifications, 2)
        while not os.path.ismount(MOUNT):
            time.sleep(0.05)
        server = status_pid()
        files = [
            path for path in sorted(Path(MOUNT).rglob("*")) if path.is_file() and path.stat().st_size > 0
        ]
        kept = os.open(files[0], os.O_RDONLY)
        expected = os.pread(kept, 1000, 0)
        for pid in (keeper.pid, server):
            os.kill(pid, signal.SIGKILL)
        keeper.wait()
        again = start_with(stored, environment)
        for descriptor in stored.values():
            os.close(descriptor)
        os.posix_fadvise(kept, 0, 0, os.POSIX_FADV_DONTNEED)
        found = os.pread(kept, 1000, 0)
        os.close(kept)
        assert found == expected, "other bytes after the keeper was killed"
        assert status_pid() != server
        again.terminate()
        assert again.wait(20) == 0, again.returncode
        assert not os.path.ismount(MOUNT), "still mounted"


main()
