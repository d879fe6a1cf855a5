#!/usr/bin/env python3
"""Runs tests of Python's unittest: run_unittests.py [-k PATTERN] H5MOUNT FILE…

H5MOUNT is the program that they test, FILEs are their modules. Where GTEST_OUTPUT asks for it (json:PATH), a
report is written as GoogleTest writes it: scripts/run_tests.py counts and names single tests by it, and tells
why some were skipped. A test that takes longer than the `seconds` of its class fails, and those after it run.
A module that cannot be imported, as for want of h5py, ends the program.
"""
import argparse, importlib, json, os, signal, sys, time, traceback, unittest

# meson may run this with a Python that lacks Debian's packages.
if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

SECONDS = 60  # for a test, unless its class says otherwise
SHOWN = 200  # bytes of a variable's value


class TookTooLong(BaseException):  # no Exception, so that a test does not catch it
    pass


def on_alarm(*_):
    raise TookTooLong


def described(error):
    """An exception with the variables of the test, so that a plain assert says enough."""
    kind, value, trace = error
    while trace and "__unittest" in trace.tb_frame.f_globals:
        trace = trace.tb_next
    said = traceback.TracebackException(kind, value, trace, capture_locals=True)
    for frame in said.stack:
        frame.locals = {name: value[:SHOWN] for name, value in (frame.locals or {}).items() if name != "self"}
    return "".join(said.format())


class Report(unittest.TestResult):
    """Prints results and keeps them as GoogleTest reports them."""

    def __init__(self):
        super().__init__()
        self.suites = {}
        self.current = None

    def enter(self, suite, name):
        entry = {"name": name, "status": "RUN", "result": "COMPLETED", "classname": suite}
        self.suites.setdefault(suite, []).append(entry)
        return entry

    def startTest(self, test):
        super().startTest(test)
        suite, name = test.id().split(".")[-2:]
        self.current = self.enter(suite, name)
        print(f"[ RUN      ] {suite}.{name}", flush=True)
        self.began = time.monotonic()
        signal.alarm(getattr(test, "seconds", SECONDS))

    def stopTest(self, test):
        signal.alarm(0)
        seconds = time.monotonic() - self.began
        self.current["time"] = f"{seconds:.3f}s"
        what = "FAILED" if "failures" in self.current else "SKIPPED" if "skipped" in self.current else "OK"
        print(
            f"[ {what:>8} ] {self.current['classname']}.{self.current['name']} ({seconds:.2f} s)", flush=True
        )
        self.current = None
        super().stopTest(test)

    def addError(self, test, error):
        super().addError(test, error)
        failed = self.current or self.enter("unittest", str(test))  # outside of a test: setUpClass
        failed.setdefault("failures", []).append({"failure": described(error)})
        print(described(error), flush=True)

    addFailure = addError

    def addSubTest(self, test, part, error):
        if error is not None:
            self.addError(part, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.current["result"] = "SKIPPED"
        self.current["skipped"] = [{"message": reason}]
        print(f"Skipped: {reason}", flush=True)

    def write(self, path):
        suites = [{"name": name, "testsuite": tests} for name, tests in self.suites.items()]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "AllTests", "tests": self.testsRun, "testsuites": suites}, file, indent=1)


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("-k", action="append", metavar="PATTERN", help="only tests whose Class.name has it")
    parser.add_argument("program", metavar="H5MOUNT")
    parser.add_argument("files", nargs="+", metavar="FILE")
    args = parser.parse_args()
    os.environ["H5MOUNT"] = os.path.abspath(args.program)
    os.environ["LC_ALL"] = "C.UTF-8"
    report = os.environ.get("GTEST_OUTPUT", "").removeprefix("json:")
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    signal.signal(signal.SIGALRM, on_alarm)
    # A shell starts jobs in the background with this signal ignored, as the programs would that tests
    # interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*" for pattern in args.k] if args.k else None
    result = Report()
    tests = unittest.TestSuite()
    for file in args.files:
        sys.path.insert(1, os.path.dirname(os.path.abspath(file)))
        module = importlib.import_module(os.path.basename(file).removesuffix(".py"))
        tests.addTests(loader.loadTestsFromModule(module))
    tests.run(result)
    if report:
        result.write(os.path.abspath(report))
    if result.testsRun == 0:
        sys.exit("no tests")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":  # processes that a test starts may import this file
    main()
