"""h5mount --diff held against NumPy: pairs of datasets of random types, shapes, layouts and values."""
import math
import random

import h5py
import numpy as np

from mount.told_diff import diff, strict
from support.program import ProgramTest

PAIRS, FIRST = 40, 6


class Kind:
    """A type on both sides, values of it, and which elements are equal."""

    def __init__(self, a, b, values, equal, distort):
        self.a, self.b = a, b  # what create_dataset takes as dtype
        self.values = values  # of a shape, as an array
        self.equal = equal  # of two elements and a tolerance
        self.distort = distort  # an element that is probably another one


def numbers_equal(x, y, tolerance):
    absolute, relative = tolerance
    if isinstance(x, (int, np.integer)):
        distance = abs(int(x) - int(y))
        return distance == 0 or distance <= absolute or distance <= relative * float(abs(int(x)))
    x, y = (np.longdouble(v) if v.dtype.itemsize > 8 else np.float64(v) for v in (x, y))
    if x == y or (np.isnan(x) and np.isnan(y)):
        return True
    with np.errstate(all="ignore"):
        distance = abs(x - y)
        return bool(distance <= absolute or (distance <= relative * abs(x) and np.isfinite(distance)))


def exactly(x, y, _tolerance):
    return x == y


def either_order(dice, dtype):
    return np.dtype(dtype).newbyteorder(dice.choice("<>"))


def integers(dice):
    dtype = np.dtype(dice.choice("bBhHiIqQ"))
    info = np.iinfo(dtype)
    ends = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]

    def values(shape):
        flat = [
            dice.choice(ends) if dice.random() < 0.3 else dice.randint(info.min, info.max)
            for _ in range(math.prod(shape))
        ]
        return np.array(flat, dtype).reshape(shape)

    def distort(x):
        return dtype.type(
            dice.choice(
                [dice.choice(ends), min(max(int(x) + dice.choice([-2, -1, 1, 2, 100]), info.min), info.max)]
            )
        )

    return Kind(either_order(dice, dtype), either_order(dice, dtype), values, numbers_equal, distort)


def floats(dice):
    dtype = np.dtype(dice.choice("efddg"))
    special = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.0]

    def one():
        return dice.choice(special) if dice.random() < 0.3 else dice.gauss(0, 1) * 10 ** dice.randint(-3, 3)

    def values(shape):
        return np.array([one() for _ in range(math.prod(shape))], dtype).reshape(shape)

    def distort(x):
        near = float(x) * (1 + dice.choice([1e-7, -1e-3, 0.01])) + dice.choice([0, 1e-4])
        return dtype.type(dice.choice([one(), near]))

    orders = ("<", "<") if dtype.char == "g" else (dice.choice("<>"), dice.choice("<>"))
    return Kind(dtype.newbyteorder(orders[0]), dtype.newbyteorder(orders[1]), values, numbers_equal, distort)


def strings(dice):
    def dtype():
        charset = dice.choice(["ascii", "utf-8"])
        return h5py.string_dtype(charset, dice.choice([None, None, 7, 12]))

    def one():
        return "".join(dice.choice("ab ") for _ in range(dice.randint(0, 6))).encode()

    def values(shape):
        return np.array([one() for _ in range(math.prod(shape))], object).reshape(shape)

    return Kind(dtype(), dtype(), values, exactly, lambda x: one())


def enumerations(dice):
    names = ["RED", "GREEN", "BLUE", "GREY"]
    base = dice.choice("bBhi")
    in_a = {name: i for i, name in enumerate(names)}
    numbers = list(range(4))
    if dice.random() < 0.7:
        dice.shuffle(numbers)
    in_b = dict(zip(names, numbers))

    class Enumerations(Kind):
        # Both sides are written as numbers of their own; what is compared are the names in `a`.
        def stored(self, values, side):
            if side == "a":
                return values.astype(base)
            return np.array([in_b[names[v]] if v < 4 else v for v in values.ravel()], base).reshape(
                values.shape
            )

    def values(shape):
        return np.array([dice.randint(0, 5) for _ in range(math.prod(shape))], "i8").reshape(shape)

    return Enumerations(
        h5py.enum_dtype(in_a, either_order(dice, base)),
        h5py.enum_dtype(in_b, either_order(dice, base)),
        values,
        exactly,
        lambda x: dice.randint(0, 5),
    )


def lists(dice):
    item = dice.choice([integers, floats])(dice)
    if item.a.char == "g":
        return lists(dice)

    def one():
        return item.values((dice.randint(0, 4),))

    def values(shape):
        out = np.empty(math.prod(shape), object)
        for i in range(out.size):
            out[i] = one()
        return out.reshape(shape)

    def equal(x, y, tolerance):
        return len(x) == len(y) and all(item.equal(p, q, tolerance) for p, q in zip(x, y))

    def distort(x):
        out = np.array(x)
        if len(out) == 0 or dice.random() < 0.3:
            return one()
        out[0] = item.distort(out[0])
        return out

    return Kind(h5py.vlen_dtype(item.a), h5py.vlen_dtype(item.b), values, equal, distort)


def rows(dice, depth=0):
    """Compounds: of numbers, arrays of numbers, and compounds."""
    members = {}
    for name in "pqrs"[: dice.randint(1, 4)]:
        members[name] = (
            rows(dice, depth + 1)
            if depth < 1 and dice.random() < 0.2
            else dice.choice([integers, floats])(dice)
        )
    shapes = {name: dice.choice([(), (), (3,), (2, 2)]) for name in members}

    def dtype(side):
        return np.dtype(
            {"names": list(members), "formats": [(getattr(k, side), shapes[n]) for n, k in members.items()]},
            align=False,
        )

    dtypes = {side: dtype(side) for side in "ab"}
    if dice.random() < 0.5 and all(k.a.kind != "V" for k in members.values()):
        at, offsets = 3, []
        for name in members:
            offsets.append(at)
            at += dtypes["b"][name].itemsize + dice.randint(0, 3)
        dtypes["b"] = np.dtype(
            {
                "names": list(members),
                "formats": [dtypes["b"][n] for n in members],
                "offsets": offsets,
                "itemsize": at + 2,
            }
        )

    def values(shape):
        out = np.zeros(shape, dtypes["a"])
        for name, kind in members.items():
            out[name] = kind.values(shape + shapes[name])
        return out

    def equal(x, y, tolerance):
        return all(
            members[n].equal(p, q, tolerance)
            for n in members
            for p, q in zip(np.reshape(x[n], -1), np.reshape(y[n], -1))
        )

    def distort(x):
        out = x.copy()
        name = dice.choice(list(members))
        flat = np.array(out[name]).reshape(-1)
        at = dice.randrange(len(flat))
        flat[at] = members[name].distort(flat[at])
        out[name] = flat.reshape(shapes[name]) if shapes[name] else flat[0]
        return out

    return Kind(dtypes["a"], dtypes["b"], values, equal, distort)


def some_kind(dice):
    return dice.choice([integers, integers, floats, floats, strings, enumerations, lists, rows])(dice)


def some_shape(dice):
    rank = dice.choice([0, 1, 1, 2, 2, 3])
    most = (1, 300, 25, 9)[rank]
    return tuple(
        dice.choice([0, 1, most]) if dice.random() < 0.1 else dice.randint(1, most) for _ in range(rank)
    )


def some_layout(dice, shape, variable):
    if not shape or 0 in shape or dice.random() < 0.3:
        return {}
    out = {"chunks": tuple(dice.randint(1, n + 3) if dice.random() < 0.5 else n for n in shape)}
    out["chunks"] = (
        tuple(min(c, n) for c, n in zip(out["chunks"], shape)) if dice.random() < 0.5 else out["chunks"]
    )
    out["maxshape"] = tuple(None for _ in shape)
    if dice.random() < 0.5:
        out["compression"] = dice.choice(["gzip", "lzf"])
        out["shuffle"] = dice.random() < 0.5
    out["fletcher32"] = not variable and dice.random() < 0.3
    return out


def boxes(dice, shape):
    """What is written of a dataset: all of it, or some boxes."""
    if not shape or dice.random() < 0.7:
        return [()]
    return [
        tuple(slice(*sorted((dice.randint(0, n), dice.randint(0, n)))) for n in shape)
        for _ in range(dice.randint(0, 2))
    ]


def marked(shape, box):
    out = np.zeros(shape, bool)
    out[box] = True
    return out


class Values(ProgramTest):
    def write_pair(self, dice, files, name):
        """Returns the elements of both sides and how they are compared, by their places."""
        kind, shape = some_kind(dice), some_shape(dice)
        # h5py takes lists of one length for an array.
        lists_of_numbers = h5py.check_vlen_dtype(np.dtype(kind.a)) not in (None, str, bytes)
        if lists_of_numbers and not shape:
            shape = (1,)
        variable = "O" in (np.dtype(kind.a).kind, np.dtype(kind.b).kind)
        a = kind.values(shape)
        b = a.copy()
        flat = b.reshape(-1)
        share = dice.choice([0, 0, 0.02, 0.3, 1])
        for i in range(flat.size):
            if dice.random() < share:
                flat[i] = kind.distort(flat[i])
        b = flat.reshape(shape)
        layouts = [some_layout(dice, shape, variable) for _ in "ab"]
        if dice.random() < 0.5:
            layouts[1] = layouts[0]
        # Zero, which is read where nothing was written, has other names on both sides.
        written = [()] if hasattr(kind, "stored") else boxes(dice, shape)
        for side, values, layout in zip("ab", (a, b), layouts):
            stored = kind.stored(values, side) if hasattr(kind, "stored") else values
            made = files[side].create_dataset(name, shape, getattr(kind, side), **layout)
            if made.dtype.kind == "S":
                stored = stored.astype(made.dtype)
            for box in written:
                if lists_of_numbers and len({len(one) for one in stored[box].ravel()}) == 1:
                    for index in map(tuple, np.argwhere(marked(shape, box))):
                        made[index] = stored[index]
                elif made.size:
                    made[box] = np.ascontiguousarray(stored[box]) if shape else stored[()]
        shown = np.any([marked(shape, box) for box in written] + [np.zeros(shape, bool)], 0)
        return kind, a, b, shown

    def expected(self, kind, a, b, shown, tolerance):
        out = []
        for index in np.ndindex(a.shape):
            if shown[index] and not kind.equal(a[index], b[index], tolerance):
                out.append(list(index))
        return out

    def hold(self, seed):
        dice = random.Random(seed)
        pairs = {}
        with h5py.File("a.h5", "w", libver=dice.choice(["earliest", "latest"])) as a, h5py.File(
            "b.h5", "w", libver=dice.choice(["earliest", "latest"])
        ) as b:
            for i in range(PAIRS):
                pairs[f"/{i:03}"] = self.write_pair(dice, {"a": a, "b": b}, f"{i:03}")
        for tolerance in [(0, 0), (0.05, 0), (0, 0.001), (3, 0.1)]:
            p = diff(
                "--json", f"--first={FIRST}", f"--abs={tolerance[0]}", f"--rel={tolerance[1]}", "a.h5", "b.h5"
            )
            assert p.returncode in (0, 1) and p.stderr == "", (seed, p)
            told = {}
            for one in strict(p.stdout)["differences"]:
                assert one["kind"] == "value", (seed, one)
                told[one["path"]] = one
            for path, (kind, a, b, shown) in pairs.items():
                places = self.expected(kind, a, b, shown, tolerance)
                where = (seed, path, tolerance, kind.a, kind.b, a.shape)
                assert (path in told) == (places != []), (where, told.get(path), places[:3])
                if not places:
                    continue
                assert told[path]["count"] == len(places), (where, told[path], places[:FIRST])
                first = told[path]["first"]
                assert [one["index"] for one in first] == places[:FIRST], (where, first, places[:FIRST])
                if kind.equal is numbers_equal and a.dtype.kind in "iu":
                    for one in first:
                        index = tuple(one["index"])
                        assert (one["a"], one["b"]) == (int(a[index]), int(b[index])), (where, one)

    def test_random_pairs(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                self.hold(seed)
