#!/usr/bin/env python3
"""Holds every #include line to the arrows of the house (src/README.md), and every source to its size.

A room includes its own private headers, its own door and the doors of the rooms below it; only the fuse room knows
libfuse, and nothing knows libhdf5. Prints what is wrong and ends with 1 where something is.
"""
import os, re, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MOST_LINES = 500
MAY_USE = {
    "base": [],
    "io": ["base"],
    "format": ["base"],
    "filter": ["base"],
    "cache": ["base"],
    "metadata": ["io", "format", "filter"],
    "object": ["metadata"],
    "chunk": ["metadata"],
    "dataset": ["object", "chunk", "filter", "cache"],
    "view": ["object", "dataset"],
    "fuse": ["view"],
    "cli": ["fuse"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEPENDENCY = re.compile(r"\b([a-z]+)_dep\b")


def below(room):
    """The room and all that its arrows lead to."""
    found = {room}
    for other in MAY_USE[room]:
        found |= below(other)
    return found


def sources(directory):
    for place, _, names in os.walk(directory):
        for name in sorted(names):
            if name.endswith((".h", ".cpp")):
                yield os.path.join(place, name)


def trouble_in(path, room):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if len(lines) > MOST_LINES:
        yield 1, f"{len(lines)} lines, at most {MOST_LINES}"
    if path.endswith(".h") and "#pragma once" not in lines:
        yield 1, "no #pragma once"
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, name = match.group(1) == '"', match.group(2)
        if name.startswith("h5mount/"):
            other = name.split("/")[1]
            if other not in below(room):
                yield number, f"{room} may not use {other}"
            elif not os.path.exists(os.path.join(ROOT, "include", name)):
                yield number, f"no such door: {name}"
        elif quoted and not os.path.exists(os.path.join(os.path.dirname(path), name)):
            yield number, f"{name} is not a private header of {room}"
        if name.startswith("fuse") and not quoted and room != "fuse":
            yield number, "only the fuse room knows libfuse"
        if re.match(r"hdf5|H5[A-Z]*public|H5Cpp", name):
            yield number, "nothing here is libhdf5's"


def arrows_in(room):
    """Link dependencies in the room's meson.build that the house does not have."""
    with open(os.path.join(ROOT, "src", room, "meson.build"), encoding="utf-8") as file:
        named = set(DEPENDENCY.findall(file.read()))
    return sorted(other for other in named & MAY_USE.keys() if other not in below(room))


def main():
    findings = 0
    for room in MAY_USE:
        for directory in (os.path.join(ROOT, "include", "h5mount", room), os.path.join(ROOT, "src", room)):
            for path in sources(directory):
                for number, words in trouble_in(path, room):
                    print(f"{os.path.relpath(path, ROOT)}:{number}: {words}")
                    findings += 1
        for other in arrows_in(room):
            print(f"src/{room}/meson.build: {room} may not link {other}")
            findings += 1
    rooms = {name for name in os.listdir(os.path.join(ROOT, "src")) if os.path.isdir(os.path.join(ROOT, "src", name))}
    for name in sorted(rooms - MAY_USE.keys()):
        print(f"src/{name}: a room that the house does not know")
        findings += 1
    sys.exit(1 if findings else 0)


main()
