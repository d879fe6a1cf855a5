"""h5mount --diff, and what it tells: for its tests."""
import json

import h5py

from support.program import H5MOUNT, run


def diff(*words, **how):
    return run(H5MOUNT, "--diff", *words, **how)


def strict(text):
    """JSON as the standard has it, without NaN and the infinities, which Python adds to it."""

    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def told(*words, code=1, **how):
    """The differences, as JSON tells them, by place and kind."""
    p = diff("--json", *words, **how)
    assert p.returncode == code, p
    said = strict(p.stdout)
    assert (
        said["schema_version"] == 1
        and said["equal"] == (code == 0)
        and set(said)
        == {
            "schema_version",
            "equal",
            "differences",
        }
    ), said
    out = {}
    for one in said["differences"]:
        place = one["path"] + ("@" + one["attribute"] if "attribute" in one else "")
        out.setdefault((place, one["kind"]), one)
    return out


def pair(write, **how):
    """a.h5 and b.h5, each written by `write(file, which)`."""
    for name in "ab":
        with h5py.File(name + ".h5", "w", **how) as f:
            write(f, name)


def equal(*words, **how):
    p = diff("a.h5", "b.h5", *words, **how)
    assert (p.returncode, p.stdout, p.stderr) == (0, "", ""), p
