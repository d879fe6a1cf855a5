"""What all soaks share: mounts, readers that are processes, faults, a clock, and the report at the end.

A soak is a module with `arguments(parser)`, which adds its own options, and `run(soak)`. Readers are
functions that are called again and again until the soak ends; each call returns counts, raises Wrong where a
byte is not the one that was written, and OSError where the mount fails, which is right only while there are
faults, or shortly after.
"""
import collections
import contextlib
import errno
import itertools
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRESS = 300  # seconds between two lines that say how far it is
FOR_EVER = 1e18  # a time that does not come
SHOWN = 40  # of what is wrong
ENOUGH_WRONG = 20  # of one reader, which then gives up


class Wrong(Exception):
    pass


def unmount(point, lazily=False):
    how = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    return (
        subprocess.run(
            how + ["-l" if how == ["umount"] else "-z"] * lazily + [point], stderr=subprocess.DEVNULL
        ).returncode
        == 0
    )


def forget(descriptor):
    """Drops the kernel's pages, so that reads are requests."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def until(condition, seconds, pause=0.02):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


class Mount:
    """A mount, and the process that serves it."""

    def __init__(self, soak, source, *options, point=None, tries=10):
        self.soak, self.point, self.pid = soak, Path(point or soak.place / "mount"), 0
        self.words = [soak.program, *(["-o", ",".join(options)] if options else []), source, self.point]
        self.point.mkdir(parents=True, exist_ok=True)
        soak.mounts.append(self)
        self.start(tries)

    def start(self, tries=10):
        """A source with faults, or one that a writer has just begun, may be refused at first."""
        log = self.soak.place / "mount.log"
        for _ in range(tries):
            with open(log, "w") as out:
                if subprocess.run(self.words, stdout=out, stderr=out).returncode == 0:
                    self.pid = int(self.status()["pid"])
                    return
            time.sleep(0.1)
        raise RuntimeError(f"it cannot be mounted: {log.read_text()}")

    def status(self):
        return dict(line.split(": ", 1) for line in (self.point / ".h5/status").read_text().splitlines())

    def alive(self):
        return os.path.exists(f"/proc/{self.pid}")

    def sizes(self):
        """MiB of memory, threads, and descriptors without sockets, which are as many as connections are
        kept."""
        names = []
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                names.append(os.readlink(f"/proc/{self.pid}/fd/{number}"))
        sockets = sum(name.startswith("socket:") for name in names)
        with open(f"/proc/{self.pid}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        return {
            "MiB of memory": int(lines["RssAnon"].split()[0]) >> 10,
            "threads": int(lines["Threads"]),
            "descriptors": len(names) - sockets,
            "sockets": sockets,
        }

    def again(self):
        """Takes the mount away under its readers, mounts anew, and waits until the server before has
        ended."""
        before = self.pid
        unmount(self.point, lazily=True)
        self.start()
        self.ended(before)
        self.soak.counts["mounts anew"] += 1

    def end(self):
        """Unmounts; a mount that is busy though no reader is left is wrong, unless the soak was stopped."""
        self.soak.mounts.remove(self)
        if self.soak.stopped or not until(lambda: unmount(self.point), 60, 0.1):
            unmount(self.point, lazily=True)
            if not self.soak.stopped:
                self.soak.wrong.append("the mount is busy for a minute")
        self.ended(self.pid)

    def ended(self, pid):
        def gone():
            return not os.path.exists(f"/proc/{pid}")

        if until(gone, 30, 0.1):
            return
        # The mount is there until it has ended in every namespace, and h5mount serves it rightly.
        for holder in held_elsewhere(self.point):
            print(f"process {holder} of another mount namespace holds the mount", flush=True)
            subprocess.run(["nsenter", "-t", holder, "-m", "umount", "-l", self.point], capture_output=True)
        if not until(gone, 90, 0.1):
            self.soak.wrong.append(
                f"the process lives on two minutes after the unmount: {waiting_threads(pid)}"
            )
            os.kill(pid, signal.SIGKILL)


def held_elsewhere(point):
    """Processes in other mount namespaces that have the mount: those made while it was there have a copy."""
    own, out = os.readlink("/proc/self/ns/mnt"), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/mnt") != own:
                with open(f"/proc/{pid}/mountinfo") as mounts:
                    if any(line.split()[4].endswith(str(point)) for line in mounts):
                        out.append(pid)
    return out


def waiting_threads(pid):
    """What each thread waits for, by the kernel; and, where there is a debugger, its stacks, printed."""
    said = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        words = [task]
        for what in ("comm", "wchan", "syscall"):
            with contextlib.suppress(OSError):  # it has ended, or none may look
                words.append(Path(f"/proc/{pid}/task/{task}/{what}").read_text().split(" 0x")[0].strip())
        said.append(" ".join(words))
    if shutil.which("gdb"):
        subprocess.run(
            ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all backtrace 16"],
            stderr=subprocess.DEVNULL,
            timeout=300,
        )
    return said


class Soak:
    """One run of a soak: what it has started, and what its readers have said."""

    def __init__(self, options):
        self.options = options
        self.program = os.path.abspath(options.program)
        if os.path.isdir(self.program):
            self.program = os.path.join(self.program, "src/cli/h5mount")
        self.build = Path(self.program).parents[2]  # for the helpers that tests are built with
        self.place = Path(tempfile.mkdtemp(prefix="h5mount-soak-"))
        self.counts, self.wrong, self.sizes = collections.Counter(), [], []
        self.began, self.told = time.monotonic(), 0  # of the report, which may come in parts
        self.mounts, self.workers = [], []
        self.before_readers_end, self.clean_up = contextlib.ExitStack(), contextlib.ExitStack()
        self.stop, self.stopped = multiprocessing.Event(), False
        self.errors, self.by_begin = set(), False
        self.faults_until = multiprocessing.Value("d", 0.0)
        self.patience = 120  # seconds after its end in which a reader must have ended

    # ---- readers

    def start(self, make, *arguments):
        """A process that calls what `make` makes there until the soak ends."""
        own, other = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=self.work, args=(other, make, arguments), daemon=True)
        process.start()
        other.close()  # so that a reader that dies is an end of the pipe
        self.workers.append((process, own))

    def work(self, pipe, make, arguments):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's, who then says stop
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        counts, wrong = collections.Counter(), []
        try:
            once = make(*arguments)
            while not self.stop.is_set() and len(wrong) < ENOUGH_WRONG:
                begun = time.time()
                try:
                    counts.update(once())
                except OSError as error:
                    met = begun if self.by_begin else time.time()
                    if error.errno in self.errors and met < self.faults_until.value:
                        counts["errors: " + errno.errorcode[error.errno]] += 1
                        time.sleep(0.02)
                    else:
                        since = met - self.faults_until.value if self.faults_until.value else 0
                        wrong.append(
                            f"{once.__name__}: {error!r} without a fault"
                            + (f", {since:.1f} s after one" if since > 0 else "")
                        )
                except Wrong as error:
                    wrong.append(f"{once.__name__}: {error}")
                except Exception as error:  # what cannot be decoded is wrong too
                    wrong.append(f"{once.__name__}: {error!r}")
        except BaseException as error:
            wrong.append(f"{make.__name__} cannot begin: {error!r}")
        pipe.send((counts, wrong))

    def faults_may_show(self, begun, grace=0.0):
        """From now on readers may fail; or, where the faults are over, for so many seconds yet."""
        self.faults_until.value = FOR_EVER if begun else time.time() + grace

    def clock(self, seconds, mount=None):
        """Comes round until the time is over, a reader has given up or the mount's server has died."""
        began = shown = time.monotonic()
        for turn in itertools.takewhile(lambda _: time.monotonic() < began + seconds, itertools.count()):
            yield turn
            if mount and not mount.alive():
                self.wrong.append("the server of the mount has died")
                return
            if not all(process.is_alive() for process, _ in self.workers):
                self.wrong.append("a reader gave up")
                return
            if time.monotonic() - shown > PROGRESS:
                shown = time.monotonic()
                print(
                    f"{(shown - began) / 60:.0f} minutes: {dict(self.counts)} {self.sizes[-1:]}", flush=True
                )

    def watch(self, mount):
        self.sizes.append(mount.sizes())

    def end_readers(self):
        self.stop.set()
        deadline = time.monotonic() + (5 if self.stopped else self.patience)
        for process, pipe in self.workers:
            try:
                if pipe.poll(max(0.0, deadline - time.monotonic())):
                    counts, wrong = pipe.recv()
                    self.counts.update(counts)
                    self.wrong += wrong
                elif not self.stopped:
                    self.wrong.append("a reader hangs")
            except EOFError:
                self.wrong.append("a reader died")
            process.kill()
            process.join()
        self.workers.clear()
        self.stop.clear()

    # ---- the end

    def run(self, module):
        """The exit code: 0, 1 where anything was wrong, 130 where it was stopped, which leaves nothing
        behind."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            module.run(self)
        except KeyboardInterrupt:
            self.stopped = True
        except Exception as error:  # so that the rest is said too
            self.wrong.append(f"the soak failed: {error!r}")
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not leave a mount behind
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self.before_readers_end.close()
            self.end_readers()
            for mount in [*self.mounts]:
                mount.end()
            self.clean_up.close()
            shutil.rmtree(self.place, ignore_errors=True)
        self.report(self.options.name)
        return 1 if self.wrong else 130 if self.stopped else 0

    def report(self, title):
        """Says what was done since the last report."""
        now = time.monotonic()
        print(f"{title}: {(now - self.began) / 60:.1f} minutes" + ", stopped" * self.stopped)
        for name, count in sorted(self.counts.items()):
            print(f"{count:12} {name}")
        for what in self.sizes[0] if self.sizes else []:
            values = [sizes[what] for sizes in self.sizes]
            print(f"{what}: first {values[0]}, {min(values)} to {max(values)}, last {values[-1]}")
        for wrong in self.wrong[self.told :][:SHOWN]:
            print("WRONG: " + wrong)
        print(f"{len(self.wrong)} wrong", flush=True)
        self.counts.clear()
        self.sizes.clear()
        self.began, self.told = now, len(self.wrong)


def server_of_faults(soak, source, mount):
    """A file system with faults (tests/faults/fault_fs.cpp) over `source`; returns the file of its rules."""
    rules = soak.place / "rules"
    mount.mkdir()
    subprocess.run([soak.build / "tests/faults/fault_fs", source, rules, mount], check=True)
    soak.clean_up.callback(lambda: until(lambda: unmount(mount), 10) or unmount(mount, lazily=True))
    return rules
