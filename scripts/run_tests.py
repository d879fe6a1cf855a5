#!/usr/bin/env python3
"""Runs the test programs of a build directory and counts single tests.

    run_tests.py [--at-least N] [--build] [--jobs N] [--only NAME,...] [--timeout-factor F] BUILD

The programs are those registered with meson. A GoogleTest program counts as many tests as it has, and so do
Python's unittests (tests/support/run_unittests.py); any other counts as one (exit code 77 is a skip). A
program that crashes or exceeds its time limit is one additional failure. The last line is `N passed, N
failed, N skipped`; the exit code is 1 where a test failed or fewer than N ran.
"""
import argparse, collections, concurrent.futures, json, os, re
import signal, subprocess, sys, tempfile, threading, time

Outcome = collections.namedtuple("Outcome", "name passed failed skipped seconds output")
SKIP_CODE = 77
shown = threading.Lock()  # one program's lines at a time


def introspect(build, what):
    listed = subprocess.run(["meson", "introspect", what, build], check=True, capture_output=True, text=True)
    return json.loads(listed.stdout)


def make(build, tests):
    """Builds what these programs need."""
    needed = {target for test in tests for target in test["depends"]}
    files = [
        name
        for target in introspect(build, "--targets")
        if target["id"] in needed
        for name in target["filename"]
    ]
    subprocess.run(["ninja", "-C", build, *(os.path.relpath(name, build) for name in files)], check=True)


def run(command, environment, directory, timeout):
    """The exit code (None: timeout) and the output. The whole process group ends with the program."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=directory,
            stdout=said,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        said.seek(0)
        return code, said.read().decode("utf-8", "replace")


def skip_reason(name, test, output):
    """Why a test was skipped: GoogleTest's JSON does not say so before version 1.13."""
    if test.get("skipped"):
        return test["skipped"][0]["message"].strip().split("\n")[-1]
    of_test = output.partition(f"[ RUN      ] {name}\n")[2].partition("[  SKIPPED ]")[0]
    said = re.search(r": Skipped\n(.*)", of_test)
    return said[1].strip() if said else ""


def count(report, output):
    """(passed, names of failed tests, {reason: number of skipped tests}) of a GoogleTest program's report."""
    passed, failed, skipped = 0, [], collections.Counter()
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if test.get("status") == "NOTRUN":
                continue
            if test.get("failures"):
                failed.append(f"{suite['name']}.{test['name']}")
            elif test.get("result") == "SKIPPED":
                skipped[skip_reason(f"{suite['name']}.{test['name']}", test, output)] += 1
            else:
                passed += 1
    return passed, failed, skipped


def run_program(test, timeout_factor=1):
    environment = dict(os.environ)
    if isinstance(test["env"], dict):
        environment = {**test["env"], **environment}
    timeout = (test["timeout"] or 600) * timeout_factor
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        report_path = os.path.join(place, "report.json")
        environment["GTEST_OUTPUT"] = "json:" + report_path
        environment.setdefault("GTEST_COLOR", "no")
        code, output = run(test["cmd"], environment, test.get("workdir"), timeout)
        report = None
        if os.path.exists(report_path):
            with open(report_path, encoding="utf-8", errors="replace") as file:
                report = json.load(file)
    seconds = time.monotonic() - began
    if report is not None:
        passed, failed, skipped = count(report, output)
        if code != 0 and not failed:
            failed = [f"{test['name']} ended with {code}"]
        return Outcome(test["name"], passed, failed, skipped, seconds, output)
    if code == 0:
        return Outcome(test["name"], 1, [], collections.Counter(), seconds, output)
    if code == SKIP_CODE:
        return Outcome(
            test["name"], 0, [], collections.Counter({output.strip().split("\n")[-1]: 1}), seconds, output
        )
    why = (
        f"{test['name']} took more than {timeout} s" if code is None else f"{test['name']} ended with {code}"
    )
    return Outcome(test["name"], 0, [why], collections.Counter(), seconds, output)


def run_programs(tests, timeout_factor, outcomes):
    for test in tests:
        outcome = run_program(test, timeout_factor)
        outcomes.append(outcome)
        with shown:
            show(outcome)


def show(outcome):
    line = f"{outcome.name:12} {outcome.passed:5} passed"
    if outcome.failed:
        line += f", {len(outcome.failed)} FAILED"
    if outcome.skipped:
        line += f", {sum(outcome.skipped.values())} skipped"
    print(f"{line}  ({outcome.seconds:.1f} s)", flush=True)
    for reason, number in outcome.skipped.items():
        print(f"    skipped {number}: {reason or 'no reason given'}")
    if outcome.failed:
        print("\n".join("    FAILED " + name for name in outcome.failed[:50]))
        print("\n".join("    | " + text for text in outcome.output.splitlines()[-150:]), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--at-least", type=int, default=1, help="fail where fewer tests passed")
    parser.add_argument(
        "--build", action="store_true", dest="build_first", help="builds first what they need"
    )
    # More than there are processors, as many tests wait most of the time.
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 2)
    parser.add_argument("--timeout-factor", type=float, default=1, help="for builds that run slowly")
    parser.add_argument("--only", default="", help="names of programs")
    parser.add_argument("build")
    args = parser.parse_args()
    tests = introspect(args.build, "--tests")
    if args.only:
        tests = [test for test in tests if test["name"] in args.only.split(",")]
    if args.build_first:
        make(args.build, tests)
    tests.sort(
        key=lambda test: -test["priority"]
    )  # long ones first: at the end no processor is left without work
    # Programs that are not parallel disturb each other, as they count threads and measure time: they run one
    # after another, while the parallel ones run beside them. Those of a negative priority run after all
    # others.
    parallel = [[test] for test in tests if test["is_parallel"]]
    serial = [test for test in tests if not test["is_parallel"] and test["priority"] >= 0]
    alone = [test for test in tests if not test["is_parallel"] and test["priority"] < 0]
    outcomes = []
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = [
            pool.submit(run_programs, some, args.timeout_factor, outcomes) for some in [serial, *parallel]
        ]
        for done in running:
            done.result()
    run_programs(alone, args.timeout_factor, outcomes)
    print("ran for %d min %d s" % divmod(time.monotonic() - began, 60))
    passed = sum(o.passed for o in outcomes)
    failed = sum(len(o.failed) for o in outcomes)
    if passed < args.at_least:
        print(f"only {passed} tests passed; {args.at_least} must")
        failed = max(failed, 1)
    print(
        f"{passed} passed, {failed} failed, {sum(sum(o.skipped.values()) for o in outcomes)} skipped",
        flush=True,
    )
    sys.exit(1 if failed else 0)


main()
