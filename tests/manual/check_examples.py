#!/usr/bin/env python3
"""Runs the commands of the manual (docs/man): check_examples.py BUILD

Each line of a fenced block is run as it stands, in the order of the pages, with the example of this
repository as the files that the pages name and with directories of its own as /mnt, /data and /tmp. What
cannot be run here is listed with the reason, and a line that is neither run nor listed fails. 77: there is no
FUSE.
"""
import glob, os, re, shlex, shutil, socket, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(os.path.abspath(sys.argv[1]), "src", "cli")
EXAMPLE = os.path.join(ROOT, "tests", "data", "weather.h5")
PAGES = [
    "h5mount.1",
    "h5mount-views.7",
    "h5mount-joined.7",
    "h5mount-salvage.7",
    "h5mount-serve.1",
    "fsck.h5.8",
    "mount.h5.8",
    "h5mount-remote.7",
    "h5mount-s3.7",
]
# Beginnings of blocks or of lines, and why they are not run here.
ELSEWHERE = {
    "docker ": "it needs docker; ContainerTest runs h5mount in namespaces like a container's",
    "podman ": "it needs podman; as docker",
    "apptainer ": "it needs apptainer; ContainerTest hands a descriptor over as it does",
    "cdo ": "it reads files of a grid only: compare_netcdf.py has it read one",
    "tail -f ": "it does not end; the tests of SWMR run it",
    "/data/run.h5  /mnt/run": "a line of fstab: scripts/check_deb.sh mounts it",
    "rclone ": "check_rclone.py runs it",
    "h5mount https:": "a server of the internet: the tests of the directory remote run their own",
    "h5mount --cat s3:": "as https",
    "h5mount --copy s3:": "as https",
}
# Blocks that are no commands: of nginx (ProxyTest), of Jupyter, output.
CONFIGURATIONS = ("location /h5/", "server {", "c.ServerProxy", '{"certainty"', "[HDF5]", "ext h5|")
# Pages whose commands other tests run, as they need programs that are not in Debian.
OTHER_TESTS = {"h5mount-joined.7": "JoinedTools", "h5mount-s3.7": "S3Clients"}
# Programs of the pages that scripts/packages.txt does not install.
MAY_BE_MISSING = ["duckdb", "gnuplot", "ffmpeg", "jq", "rg"]
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED", text)


def commands_of(block):
    """The block's commands: lines, joined where a quotation goes on."""
    line = ""
    for more in block.splitlines():
        line = line + "\n" + more if line else more
        try:
            shlex.split(line, comments=True)
        except ValueError:
            continue
        if line.strip():
            yield line
        line = ""
    if line:
        fail(f"no end: {line}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Runner:
    def __init__(self, scratch):
        self.scratch, self.port, self.servers, self.ran = scratch, str(free_port()), [], 0
        for name in ("bin", "home", "data", "mnt/weather", "mnt/run", "run42", "tmp", "alone"):
            os.makedirs(os.path.join(scratch, name))
        for name in ("weather.h5", "run.h5", "data/run.h5", "FILE"):
            shutil.copy(EXAMPLE, os.path.join(scratch, name))
        os.makedirs(os.path.join(scratch, "data/run42"))
        shutil.copy(EXAMPLE, os.path.join(scratch, "data/run42/one.h5"))
        os.symlink(os.path.join(ROOT, "scripts", "to_hdf5.py"), os.path.join(scratch, "bin", "to_hdf5.py"))
        path = f"{PROGRAMS}:{scratch}/bin:/usr/bin:/bin:/usr/sbin:/sbin:{os.environ['PATH']}"
        self.environment = dict(os.environ, PATH=path, HOME=scratch + "/home", XDG_RUNTIME_DIR=scratch)
        # What pages take for mounted where they do not mount it.
        self.shell("h5mount data/run.h5 mnt/run", scratch)

    def shell(self, command, where, **more):
        return subprocess.run(
            ["sh", "-c", command],
            cwd=where,
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=200,
            check=False,
            **more,
        )

    def serve(self, command):
        with open(os.path.join(self.scratch, "serve.log"), "w", encoding="utf-8") as log:
            self.servers.append(
                subprocess.Popen(
                    ["sh", "-c", "exec " + command],
                    cwd=self.scratch,
                    env=self.environment,
                    stdout=log,
                    stderr=log,
                )
            )
        place = re.search(r"unix:\S+", command)
        tried = (
            f"curl -s -o /dev/null --unix-socket {place.group()[5:]} http://x/"
            if place
            else f"curl -s -o /dev/null http://127.0.0.1:{self.port}/"
        )
        end = time.monotonic() + 60
        while self.shell(tried, self.scratch).returncode:
            if time.monotonic() > end or self.servers[-1].poll() is not None:
                with open(log.name, encoding="utf-8") as said:
                    return fail(f"{command}: {said.read()}")
            time.sleep(0.1)

    def run(self, page, command):
        here = command.replace("8000", self.port)
        here = re.sub(r"(?<![\w./])/(data|mnt|tmp)(?=/)", rf"{self.scratch}/\1", here)
        here = re.sub(r"(?<![\w./])/mnt(?=\s|$)", f"{self.scratch}/alone", here)  # as a mount point itself
        here = here.replace("file:///mnt", f"file://{self.scratch}/mnt")
        here = here.replace("/usr/share/h5mount/", os.path.join(ROOT, "scripts/package/integrations/"))
        here = here.replace("python3 -c", "/usr/bin/python3 -c")
        self.ran += 1
        if here.startswith("h5mount --serve"):
            return self.serve(here)
        program = shlex.split(here, comments=True)[0]
        if program in MAY_BE_MISSING and not shutil.which(program):
            return print("not run, as there is no", program + ":", command)
        # Examples of a view that name no mount point are given within the mount.
        within = page == "h5mount-views.7" and "/mnt/" not in command
        where = os.path.join(self.scratch, "mnt/weather/.h5") if within else self.scratch
        done = self.shell(here, where)
        if done.returncode or re.search(r"^(Traceback|\S+: error)", done.stderr, re.M):
            fail(f"{page}: {command}: {done.returncode} {done.stdout[-200:]} {done.stderr[-400:]}")

    def end(self):
        for server in self.servers:
            server.terminate()
            server.wait(30)
        for place in glob.glob(self.scratch + "/mnt/*") + [self.scratch + "/run42", self.scratch + "/alone"]:
            self.shell(f"umount -l {place} || fusermount3 -uz {place}", "/")


def main():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("no /dev/fuse that may be used")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(scratch)
        try:
            for page in PAGES:
                with open(os.path.join(ROOT, "docs", "man", page + ".md"), encoding="utf-8") as file:
                    blocks = re.findall(r"^```\n(.*?)^```", file.read(), re.M | re.S)
                run_page(runner, page, [] if page in OTHER_TESTS else blocks)
        finally:
            runner.end()
    if runner.ran < 20:
        fail(f"only {runner.ran} commands")
    print(f"{runner.ran} commands, {failures} failures")
    sys.exit(1 if failures else 0)


def run_page(runner, page, blocks):
    for block in blocks:
        if block.startswith(CONFIGURATIONS):
            continue
        for command in commands_of(block):
            if any(command.startswith(known) for known in ELSEWHERE):
                continue
            if command == "umount /mnt/weather":  # the pages behind h5mount(1) read what it mounts
                continue
            runner.run(page, command)


main()
