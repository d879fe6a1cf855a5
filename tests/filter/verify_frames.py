#!/usr/bin/python3
"""Decodes standalone Blosc 2 frames with the b2frame_cat tool and compares them with frames.json.

verify_frames.py B2FRAME_CAT DIRECTORY...    all but the first may be missing
"""
import hashlib
import json
import os
import subprocess
import sys


def failures(tool, place):
    with open(os.path.join(place, "frames.json")) as text:
        frames = json.load(text)["frames"]
    bad = 0
    for name, frame in frames.items():
        # Values never written have no defined content; the decoder returns zeros.
        wanted = frame["decoded_sha256"] or hashlib.sha256(bytes(frame["decoded_bytes"])).hexdigest()
        answer = subprocess.run([tool, os.path.join(place, name)], capture_output=True)
        found = hashlib.sha256(answer.stdout).hexdigest()
        if answer.returncode != 0 or found != wanted:
            bad += 1
            print(name, answer.stderr.decode().strip() or "other bytes", len(answer.stdout))
    print(len(frames) - bad, "good", bad, "bad")
    return bad


def main():
    tool, first, *others = sys.argv[1:]
    bad = [failures(tool, place) for place in [first] + [place for place in others if os.path.isdir(place)]]
    sys.exit(1 if any(bad) else 0)


main()
