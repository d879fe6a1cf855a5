"""What a piece of work costs the program, in numbers that do not depend on how fast the machine is.

Each piece is done twice with a process of its own: once as it is, where the kernel counts page faults and
context switches, the preloaded library counts large allocations and the program itself its chunks, bytes and
rounds; and once under strace, which counts calls of the system.
"""
import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from support.program import H5MOUNT, until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))
from mounting import unmount

PRELOADED = os.environ["H5MOUNT_LARGE_ALLOCATIONS"]
FAR_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "remote", "far_server.py")

# Calls of the system by what they are for; what is in no list is among 'other'.
KINDS = {
    "reads": ["read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg"],
    "writes": ["write", "writev", "pwrite64", "sendto", "sendmsg", "splice", "vmsplice", "sendfile", "ioctl"],
    "memory": ["mmap", "munmap", "mremap", "mprotect", "madvise", "brk"],
    "files": [
        "open",
        "openat",
        "openat2",
        "close",
        "fstat",
        "newfstatat",
        "statx",
        "lstat",
        "stat",
        "readlink",
        "getdents64",
    ],
    "waits": [
        "futex",
        "poll",
        "ppoll",
        "epoll_wait",
        "epoll_pwait",
        "select",
        "clock_nanosleep",
        "nanosleep",
        "sched_yield",
    ],
}
KIND_OF = {call: kind for kind, calls in KINDS.items() for call in calls}
COUNTED = ["chunks_decoded", "stored_bytes_read", "remote_rounds", "remote_requests", "remote_bytes"]


def counters(text):
    """The program's own, from the text of /.h5/status."""
    found = dict(line.split(": ", 1) for line in text.splitlines())
    return {name: int(found[name]) for name in COUNTED if name in found}


def calls_of(table):
    """The numbers of strace's summary, by kind."""
    found = dict.fromkeys([*KINDS, "other"], 0)
    for line in table.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit() and words[0] != "total":
            found[KIND_OF.get(words[0], "other")] += int(words[1])
    return found


@contextlib.contextmanager
def mounted(words, environment, source, options):
    """Serves a mount in the foreground until the block ends."""
    place = tempfile.mkdtemp(prefix="mnt", dir=os.getcwd())
    process = subprocess.Popen(
        [*words, H5MOUNT, "-f", *options, source, place],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: os.path.ismount(place), "mounted", 30)
        yield process, place + "/", lambda: open(place + "/.h5/status").read()
    finally:
        if os.path.ismount(place):
            unmount(place)
        else:
            process.terminate()


@contextlib.contextmanager
def served(words, environment, source, options):
    process = subprocess.Popen(
        [*words, H5MOUNT, "--serve", "0", *options, source],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().strip()
        yield process, url, lambda: urllib.request.urlopen(url + ".h5/status").read().decode()
    finally:
        end = (
            int(open("/proc/%d/task/%d/children" % (process.pid, process.pid)).read().split()[0])
            if words
            else process.pid
        )
        os.kill(end, signal.SIGTERM)
        process.stdout.close()


def measured(serve, source, client, options=()):
    """All costs of a process that serves the source while the client works, from its start to its end."""
    costs = {}
    with tempfile.TemporaryFile() as shared:
        shared.truncate(8)
        name = "/proc/%d/fd/%d" % (os.getpid(), shared.fileno())
        with serve(
            [], {**os.environ, "LD_PRELOAD": PRELOADED, "LARGE_ALLOCATIONS": name}, source, options
        ) as (process, place, status):
            client(place)
            costs.update(counters(status()))
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        assert process.returncode in (0, -signal.SIGTERM), process.stderr.read()
        with mmap.mmap(shared.fileno(), 8) as count:
            costs["large_allocations"] = int.from_bytes(count[:8], "little")
    costs["faults"] = used.ru_minflt + used.ru_majflt
    costs["switches"] = used.ru_nvcsw + used.ru_nivcsw
    process.stderr.close()
    with tempfile.NamedTemporaryFile("r") as table:
        trace = ["strace", "-f", "-qq", "-c", "-U", "name,calls", "-o", table.name]
        with serve(trace, os.environ, source, options) as (process, place, _):
            began = time.monotonic()
            client(place)
            costs["milliseconds"] = round((time.monotonic() - began) * 1000)
        process.wait(60)
        process.stderr.close()
        costs.update(calls_of(table.read()))
    return costs


def difference(costs, least):
    """What a piece of work adds to a process that is only started and ended."""
    return {name: value - least.get(name, 0) for name, value in costs.items()}


class FarServer:
    """The files of a directory over HTTP."""

    def __init__(self, directory, delay):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", FAR_SERVER, directory, "--delay", str(delay)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = "http://127.0.0.1:%d/" % int(self.process.stdout.readline())

    def end(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


# What the program alone decides is exactly what it was. Decoders that work side by side have memory of their
# own, as many as happen to: there large allocations may be a third more. Requests of the same client make the
# same calls but for some that depend on time (a tenth); in the rest the kernel and the scheduler have a part
# (twice).
EXACT = ["chunks_decoded", "stored_bytes_read", "remote_rounds", "remote_requests", "remote_bytes"]
BY_CALLS = ["reads", "writes", "files"]
SIDE_BY_SIDE = ["tiles", "column", "csv"]
FEW = 50  # more of what is not exact is always allowed
# On a busy machine a piece takes longer: the watchdog looks at what works every millisecond (and a look may
# wait twice), and threads are started, with memory.
BY_TIME = ["waits", "switches", "memory", "other"]
BUSY = 1000


def most(piece, name, typical, milliseconds):
    if name in EXACT or name == "large_allocations" and piece not in SIDE_BY_SIDE:
        return typical
    if name == "large_allocations":
        return typical * 4 // 3 + 2
    if name in BY_CALLS:
        return typical * 11 // 10 + FEW
    return typical * 2 + (BUSY + 2 * milliseconds if name in BY_TIME else FEW)


def over(piece, costs, typical):
    """What is more than it was, as text; and where that is exact, what is less."""
    said = []
    milliseconds = costs.pop("milliseconds")  # under strace, which makes a piece take several times as long
    for name, value in costs.items():
        bound = most(piece, name, typical[name], milliseconds)
        if value > bound or (bound == typical[name] and value != bound):
            said.append("%s: %d, not %d" % (name, value, bound))
    return said


def typical_costs():
    """By piece, as COSTS=all prints them."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "typical.jsonl")) as lines:
        return {costs.pop("piece"): costs for costs in map(json.loads, lines)}
