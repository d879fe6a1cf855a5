"""Mounts, clocks and counters for one measurement."""
import os
import re
import signal
import subprocess
import tempfile
import time


class Sample:
    """One measurement: wall seconds, and processor seconds of client and daemon."""

    def __init__(self, wall, cpu, **more):
        self.wall, self.cpu, self.more = wall, cpu, more


def run(arguments, timed_by_itself=False, allowed=(0,), with_processor=False, to_null=False):
    """Runs a program to its end and discards its output. Where the program prints its own seconds first, they
    are used, to exclude its start (an interpreter's, for example); `with_processor`: and then its processor
    seconds. `to_null`: it writes to /dev/null itself."""
    begin = time.monotonic()
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.DEVNULL if to_null else subprocess.PIPE,
        stderr=subprocess.PIPE if timed_by_itself else None,
    )
    head = b""
    while not to_null and (part := process.stdout.read(1 << 20)):
        head = head or part
    if not to_null:
        process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    wall, cpu = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in allowed:
        raise RuntimeError(f"{arguments[0]} ended with {process.returncode}: {arguments}")
    if timed_by_itself:
        wall = float(head.split()[0])
        if with_processor:
            cpu = float(head.split()[1])
    return Sample(wall, cpu)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Mount:
    """A FUSE program in the foreground for the duration of the `with` statement."""

    def __init__(self, program, source, mountpoint, options=""):
        self.arguments = [*program, *(["-o", options] if options else []), source, mountpoint]
        self.place = mountpoint

    def __enter__(self):
        os.makedirs(self.place, exist_ok=True)
        outside = os.stat(os.path.dirname(self.place)).st_dev
        self.log = tempfile.TemporaryFile()
        begin = time.monotonic()
        self.process = subprocess.Popen(self.arguments, stderr=self.log)
        while os.stat(self.place).st_dev == outside:
            if self.process.poll() is not None:
                raise RuntimeError(f"not mounted: {self.arguments}")
            time.sleep(0.0005)
        self.mount_seconds = time.monotonic() - begin
        self.settle()
        return self

    def settle(self):
        """Waits until the program's own thread has raised the read-ahead."""
        device = os.stat(self.place).st_dev
        path = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
        for _ in range(200):
            try:
                with open(path) as file:
                    if int(file.read()) >= 1024:
                        return
            except OSError:
                return
            time.sleep(0.0005)

    def __exit__(self, *_):
        subprocess.run(["umount", self.place], check=True)
        self.process.wait()
        self.log.close()

    def measured(self, arguments, timed_by_itself=True, to_null=False):
        """Runs a program on the mount and includes the daemon's processor time."""
        before = processor_seconds(self.process.pid)
        sample = run(arguments, timed_by_itself, to_null=to_null)
        time.sleep(0.01)
        sample.cpu += processor_seconds(self.process.pid) - before
        return sample

    def counters(self):
        """The counters that the daemon logs on SIGUSR1."""
        self.process.send_signal(signal.SIGUSR1)
        for _ in range(400):
            self.log.seek(0)
            lines = re.findall(rb"status: (.*)", self.log.read())
            if lines:
                return {k: int(v) for k, v in (pair.split("=") for pair in lines[-1].decode().split())}
            time.sleep(0.005)
        raise RuntimeError("no status in the log")


def drop_pages(path):
    """Drops the source from the page cache, so that the next reader waits for the disk."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
