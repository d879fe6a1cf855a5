#!/usr/bin/env python3
"""Has npm install the packages that the page, or a test, is made of: npm_packages.py LOCK DIRECTORY yes|no

They are those of the lock file LOCK, in DIRECTORY/node_modules, and are installed once for each lock file.
Where that is not possible, the reason is printed and the status is 1.
"""
import hashlib, os, shutil, subprocess, sys

SECONDS = 300


def main():
    lock, directory, wanted = sys.argv[1:4]
    if wanted == "no":
        return "not wanted"
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    with open(lock, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    mark = os.path.join(directory, "installed")
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as file:
            if file.read() == digest:
                return None
    os.makedirs(directory, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(os.path.dirname(lock), name), directory)
    # Scripts of packages are not run: nothing here needs them.
    words = [
        "npm",
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--fetch-retries=1",
        "--fetch-timeout=20000",
    ]
    try:
        done = subprocess.run(
            words, cwd=directory, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"npm ci took more than {SECONDS} s"
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "err" in line.lower()]
        return "npm ci: " + (lines[0] if lines else "failed")
    with open(mark, "w", encoding="ascii") as file:
        file.write(digest)
    return None


reason = main()
if reason:
    print(reason)
    sys.exit(1)
