#!/usr/bin/env python3
"""Runs the benchmarks and writes tests/bench/results/<form>.md and .svg. See README.md beside this file."""
import argparse
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import cases
import earlier
import make_data
import report

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = (
    "contiguous",
    "tiles",
    "cat",
    "views",
    "series",
    "pencils",
    "tables",
    "slices",
    "together",
    "million",
    "names",
    "limits",
    "peaks",
)


def machine():
    with open("/proc/cpuinfo") as file:
        model = next(
            (line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown"
        )
    version = subprocess.run(["h5dump", "--version"], capture_output=True, text=True).stdout.split()[-1]
    return f"{os.cpu_count()} × {model}, Linux {os.uname().release}, libhdf5 {version}"


def notes(options, load):
    form = "--short " if options.short else ""
    return [
        f"Made by `scripts/bench.sh {form}`".rstrip(" `") + f'` on {time.strftime("%Y-%m-%d")}: {machine()}; '
        f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end.",
        "",
        (
            "The ratio is the time of the other over the time of h5mount, so that more is better, and the"
            " median over rounds in which all take turns; where a row is bounded from above (`≤`) it is"
            " h5mount over the other. Cold is a fresh mount with the HDF5 file in the page cache, warm the"
            " second reading. CPU seconds count client and daemon: on a busy machine they are the steadier"
            " measure."
        ),
    ]


def cache_again(paths):
    """Reads the data into the page cache in order. How large the cache's folios are depends on how a file
    came there, and the kernel takes a fifth longer to read a file whose folios are small."""
    for path in filter(os.path.isfile, set(paths)):
        with open(path, "rb", buffering=0) as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while file.read(1 << 20):
                pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="build directory, buildtype=release")
    parser.add_argument("--data", default=os.path.join(os.environ.get("TMPDIR", "/var/tmp"), "h5mount-bench"))
    parser.add_argument("--short", action="store_true", help="smaller data, fewer rounds: under five minutes")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--baseline", help="an earlier h5mount program, for the rows that compare with it")
    parser.add_argument(
        "--against",
        help="an earlier h5mount program: each case by both in turns, no references; nothing is written",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=GROUPS + ("growth", "mechanisms"),
        help="groups of cases; nothing is written",
    )
    options = parser.parse_args()

    say = lambda text: print(text, flush=True)
    sizes = make_data.Sizes(options.short)
    paths = make_data.make_all(options.data, sizes, say)
    for stem in list(paths):  # tiles-8192 is also named tiles, unless several sizes of it are used
        kind = stem.rsplit("-", 1)[0]
        if kind not in ("extensible", "btree", "tree", "links", "plain"):
            paths[kind] = paths[stem]
    load = os.getloadavg()[0]
    cache_again(paths.values())
    kind = earlier.BothPrograms if options.against else cases.Bench
    bench = kind(
        options.build,
        options.data,
        paths,
        sizes,
        options.rounds or (3 if options.short else 5),
        say,
        options.against or options.baseline,
    )
    groups = options.only or (
        earlier.GROUPS if options.against else GROUPS if options.short else GROUPS + ("growth",)
    )
    begin = time.monotonic()
    for group in groups:
        getattr(bench, group)()
    say(f"{time.monotonic() - begin:.0f} s")
    table = report.markdown(
        bench.rows, "Benchmarks" + (", short form" if options.short else ""), notes(options, load)
    )
    print(table)
    if options.only or options.against:
        return
    stem = os.path.join(HERE, "results", "short" if options.short else "full")
    os.makedirs(os.path.dirname(stem), exist_ok=True)
    for ending, text in ((".md", table), (".svg", report.svg(bench.rows, "h5mount beside others, × faster"))):
        with open(stem + ending, "w") as file:
            file.write(text)
    missed = [row for row in bench.rows if row.reached() is False]
    say(
        f"{sum(r.reached() is not None for r in bench.rows) - len(missed)} targets reached,"
        f" {len(missed)} missed; written to {stem}.md and .svg"
    )


main()
