#!/usr/bin/env python3
"""Runs one of the soaks: readers for minutes or hours, with every byte compared, under what may go wrong.

    tests/soak/run.py NAME [H5MOUNT or BUILD-DIRECTORY] [--minutes M] [--readers N] [--seed N] [OPTIONS]

Prints what was done and what was wrong. The exit code is 1 where anything was wrong, 77 where /dev/fuse or
h5py is missing, 130 where it was stopped (Ctrl-C), which unmounts and removes all of it too.
"""
import argparse
import importlib
import os
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build-tests"
NAMES = ("faults", "far", "survive", "many_files", "swmr_views", "swmr")


def main():
    try:
        modules = {name: importlib.import_module(name) for name in NAMES}
    except ModuleNotFoundError as error:
        if error.name not in ("h5py", "numpy"):
            raise
        print(error)
        return 77
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="name", metavar="NAME", required=True)
    for name, module in modules.items():
        said = module.__doc__.strip()
        command = commands.add_parser(
            name,
            help=said.split("\n")[0],
            description=said,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument(
            "program",
            nargs="?",
            default=BUILD,
            metavar="H5MOUNT",
            help="the program, or the directory it was built in (default: build-tests)",
        )
        command.add_argument("--minutes", type=float, default=10, help="how long (default: %(default)s)")
        command.add_argument(
            "--readers", type=int, default=12, help="processes that read (default: %(default)s)"
        )
        command.add_argument("--seed", type=int, default=1, help="of what is random (default: 1)")
        module.arguments(command)
    options = parser.parse_args()
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("no /dev/fuse")
        return 77
    from harness import Soak

    return Soak(options).run(modules[options.name])


if __name__ == "__main__":
    sys.exit(main())
