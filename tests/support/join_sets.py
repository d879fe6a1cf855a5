"""Small sets of files to be joined, each made from a seed: `make_set(seed, directory)` writes 2 to 6 files by
netCDF4-python (by h5py what it cannot write) and returns them with the options to join them by.

About a fifth of the sets have something that a rule refuses; `traits` says what a set has."""
import dataclasses
import os
import random

import h5py
import netCDF4
import numpy as np

from support.join_oracle import Options

EPOCHS = ("1990-01-01", "1990-01-01 06:00:00", "1989-12-31 23:00", "2000-02-29", "1970-01-01T00:00:00Z")
DAYS_TO_1990 = {EPOCHS[0]: 0, EPOCHS[1]: 0.25, EPOCHS[2]: -1 / 24, EPOCHS[3]: 3711, EPOCHS[4]: -7305}
IN_A_DAY = {"days": 1, "hours": 24, "minutes": 1440, "seconds": 86400}
STANDARD = ("standard", "gregorian", None)
BAD = (
    "overlap",
    "units",
    "meaning",
    "static",
    "last bit",
    "int64 and floats",
    "uint64 and signed",
    "missing integers",
    "scale 0",
    "lengths",
    "calendars",
    "fixed and variable",
    "enumeration",
)


@dataclasses.dataclass
class Part:
    """What one file has of a variable; `values` are as stored."""

    values: object
    attrs: dict
    fill: object = None


class Set:
    def __init__(self, seed, directory):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.directory, self.traits, self.options = directory, set(), Options()
        self.bad = self.random.choice(BAD) if self.chance(0.2) else ""
        self.axis = self.random.choice(["time"] * 8 + ["run", "first"])
        if self.axis != "time" and self.bad in ("overlap", "calendars", "static", "last bit"):
            self.bad = ""
        count = self.random.randint(2, 6)
        self.lengths = [self.random.randint(1, 5) for _ in range(count)]
        if self.chance(0.15) and count > 2:
            self.lengths[self.random.randrange(count)] = 0
            self.traits.add("no records")
        if self.chance(0.1):
            self.lengths = [1] * count
        if self.axis == "run":
            self.lengths = [self.random.randint(1, 3)] * count
        self.sizes = {"lat": self.random.randint(1, 4), "lon": self.random.randint(1, 3)}
        self.variables, self.extra = {}, {}  # name: (dimensions, parts); extra ones are written by h5py

    def chance(self, share):
        return self.random.random() < share

    def length(self, i):
        return {"time": self.lengths[i], **self.sizes, "bnds": 2, "chars": self.chars[i]}

    def shape(self, i, dims):
        length = self.length(i)
        return tuple(length[d] for d in dims)

    def dims(self):
        others = self.random.sample(["lat", "lon"], self.random.randint(0, 2))
        others.insert(0 if self.axis == "first" else self.random.randint(0, len(others)), "time")
        return tuple(others)

    def each(self):
        return range(len(self.lengths))

    # ---- the axis

    def make_axis(self):
        kind = self.random.choice(("none", "plain", "same", "units", "units", "epochs", "epochs", "floats"))
        if self.bad in ("overlap", "calendars") and kind == "none":
            kind = "units"
        if self.axis != "time":
            kind = "none" if self.axis == "first" else self.random.choice(("none", "same", "plain"))
            self.options.join = ":0" if self.axis == "first" else r"+run:'part_(\d+)\.nc'"
        self.traits.add("join: " + self.options.join)
        self.traits.add("axis: " + kind)
        step = self.random.choice((0.25, 1, 0.5, 3))
        starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]) + self.random.randint(0, 9)
        if self.chance(0.3):
            starts = starts + np.arange(len(starts)) * self.random.randint(1, 3)  # gaps
        if self.bad == "overlap":
            starts[-1] -= 1
        if self.axis == "run" and self.chance(0.5):
            starts = np.zeros_like(starts)
        days = [(s + np.arange(n)) * step for s, n in zip(starts, self.lengths)]
        if self.chance(0.2):
            days = [-d for d in days]
            self.traits.add("descending")
        if kind != "none":
            self.write_axis(kind, days)
        names = list(range(1, len(days) + 1))
        if kind != "none" and self.chance(0.4):
            self.random.shuffle(names)
        self.names = ["part_%d.nc" % (7 + n) for n in names]
        if kind in ("none", "plain") and self.bad == "calendars":
            self.bad = ""

    def write_axis(self, kind, days):
        parts, bounds = [], []
        same = self.random.choice(list(IN_A_DAY)), self.random.choice(EPOCHS)
        calendar = self.random.choice(("noleap", "360_day", "proleptic_gregorian", None, None))
        number = "f8" if kind == "floats" or self.chance(0.3) else "i4"
        for i, day in enumerate(days):
            unit, epoch = same
            if kind in ("units", "floats"):
                unit = self.random.choice(list(IN_A_DAY))
            if kind in ("epochs", "floats"):
                epoch = self.random.choice(EPOCHS)
            if calendar and calendar != "proleptic_gregorian":
                epoch = EPOCHS[0]  # the day of others is another one there
            if kind == "plain":
                values, attrs = day, {"units": "m"}
            else:
                values = (day - DAYS_TO_1990[epoch] + 8000) * IN_A_DAY[unit]
                attrs = {"units": "%s since %s" % (unit, epoch)}
                if calendar or self.chance(0.3):
                    attrs["calendar"] = calendar or self.random.choice(STANDARD[:2])
                if self.bad == "calendars" and i == 0:
                    attrs["calendar"] = "julian"
            values = np.asarray(values)
            half = 0.5 * IN_A_DAY.get(unit, 1)
            bounds.append(Part(np.stack([values - half, values + half], -1).astype("f8"), {}))
            exact = number if np.array_equal(values, np.round(values)) else "f8"
            parts.append(Part(values.astype(exact), attrs))
        if self.chance(0.25) and kind != "plain":
            for part in parts:
                part.attrs["bounds"] = "time_bnds"
            self.variables["time_bnds"] = ("time", "bnds"), bounds
            self.traits.add("bounds")
        self.variables["time"] = ("time",), parts

    # ---- variables

    def floats(self, i, dims, dtype):
        values = self.numbers.normal(0, 9, self.shape(i, dims)).astype(dtype)
        if self.chance(0.2) and values.size:
            values.reshape(-1)[self.random.randrange(values.size)] = self.random.choice(
                (np.nan, -0.0, np.inf)
            )
        return values

    def integers(self, i, dims, dtype):
        low = 0 if np.dtype(dtype).kind == "u" else -99
        return self.numbers.integers(low, 100, self.shape(i, dims)).astype(dtype)

    def plain(self, dims):
        types = self.random.choice((["f4"], ["f8"], ["f4", "f8"], ["<f4", ">f4"], ["<f8", ">f4"], [">f8"]))
        return [Part(self.floats(i, dims, self.random.choice(types)), {"units": "K"}) for i in self.each()]

    def whole(self, dims):
        types = self.random.choice(
            (
                ["i4"],
                ["u1"],
                ["i2", "i4"],
                ["u1", "i2"],
                ["u2", "i2"],
                ["u4", "i4"],
                ["<i4", ">i4"],
                ["i8", "i4"],
            )
            + (["i2", "f4"], ["u8"], [">i2"], ["u1", "u8"])
        )
        attrs = {"long_name": "count"}
        return [Part(self.integers(i, dims, self.random.choice(types)), dict(attrs)) for i in self.each()]

    def packed(self, dims):
        """A packing per file, of float32 or double, beside unpacked ones."""
        single, common = self.chance(0.4), self.chance(0.3)
        kind = np.float32 if single else np.float64
        shared = {"scale_factor": kind(0.1), "add_offset": kind(273.15)}
        parts = []
        for i in self.each():
            if not common and self.chance(0.15):
                parts.append(Part(self.floats(i, dims, "f4" if single else "f8"), {"units": "K"}))
                continue
            attrs, fill = dict(shared), np.int16(-99)
            if not common:
                attrs["scale_factor"] = kind(self.random.choice((0.1, 0.01, 0.5, 3)))
                attrs["add_offset"] = kind(self.random.choice((273.15, 0, -10.7)))
                fill = self.random.choice((np.int16(-99), np.int16(50), None))
                if self.chance(0.2):
                    del attrs["add_offset"]
                if self.chance(0.2):
                    attrs["valid_max"] = np.int16(80)
            parts.append(Part(self.integers(i, dims, "i2"), {**attrs, "units": "K"}, fill))
        self.traits.add("packed alike" if common else "packed")
        return parts

    def unsigned(self, dims):
        parts = []
        for i in self.each():
            attrs = {"_Unsigned": "true", "scale_factor": np.float64(self.random.choice((1.5, 0.25)))}
            parts.append(Part(self.integers(i, dims, "i1"), attrs, np.int8(-1)))
        return parts

    def fills(self, dims):
        """Fills that differ on plain data."""
        if self.chance(0.5):
            kinds, choices = ["f4", "f8"][: self.random.randint(1, 2)], (-999.0, -9999.0, 1024.0)
            make = lambda i, t: np.nan_to_num(self.floats(i, dims, t), posinf=5)
        else:
            kinds, choices = ["i2", "i4"][: self.random.randint(1, 2)], (-99, 50, -3)
            make = lambda i, t: self.integers(i, dims, t)
        parts = []
        for i in self.each():
            kind = self.random.choice(kinds)
            values = make(i, kind)
            fill = np.dtype(kind).type(self.random.choice(choices))
            if values.size and self.chance(0.7):
                values.reshape(-1)[self.random.randrange(values.size)] = fill
            parts.append(Part(values, {"units": "1"}, fill))
        self.traits.add("fills")
        return parts

    def characters(self, dims):
        dims = (*dims, "chars")
        return [
            Part(self.numbers.integers(97, 123, self.shape(i, dims)).astype("u1").view("S1"), {})
            for i in self.each()
        ]

    def strings(self, dims):
        words = np.array(["", "a", "b\u00fc", "longer, with a comma", "1"], object)
        return [
            Part(words[self.numbers.integers(0, 5, self.shape(i, dims))].reshape(self.shape(i, dims)), {})
            for i in self.each()
        ]

    def fixed(self, dims):
        lengths = self.random.choice(([4], [4, 7]))
        return [
            Part(self.integers(i, dims, "i4").astype("S3").astype("S%d" % self.random.choice(lengths)), {})
            for i in self.each()
        ]

    def enumeration(self, dims):
        codes, further = {"A": 0, "B": 1}, {"A": 0, "B": 1, "C": 2}
        parts = []
        for i in self.each():
            chosen = self.random.choice((codes, further))
            if self.bad == "enumeration" and i == 0:
                chosen = {"A": 1, "B": 0}
            values = self.integers(i, dims, "u1") % len(chosen)
            parts.append(Part(values.astype(h5py.enum_dtype(chosen, "i1")), {}))
        return parts

    def compound(self, dims):
        one, other = [("x", "<f4"), ("n", "<i2")], [("n", "<i2"), ("x", "<f4")]
        parts = []
        for i in self.each():
            values = np.zeros(self.shape(i, dims), np.dtype(self.random.choice((one, other))))
            values["x"], values["n"] = self.floats(i, dims, "f4"), self.integers(i, dims, "i2")
            parts.append(Part(values, {}))
        return parts

    def static(self, dims):
        values = self.numbers.integers(0, 9, self.shape(0, dims))
        return [Part(values.astype(self.random.choice(("i2", ">i4"))), {"units": "1"}) for _ in self.each()]

    def make_variables(self):
        kinds = [self.plain, self.plain, self.whole, self.packed, self.packed, self.fills, self.unsigned]
        kinds += [self.characters, self.strings, self.fixed, self.enumeration, self.compound, self.static]
        for number in range(self.random.randint(1, 4)):
            kind = self.random.choice(kinds)
            name = self.random.choice(("", "", "", "g/", "g/h/")) + "v%d" % number
            dims = ("lat", "lon")[: 0 if self.axis == "first" else 2] if kind == self.static else self.dims()
            parts = kind(dims)
            if kind == self.characters:
                dims = (*dims, "chars")
            by_h5py = kind in (self.fixed, self.enumeration, self.compound)
            if self.chance(0.15) and kind in (self.plain, self.packed) and parts[0].fill is None:
                parts[self.random.randrange(len(parts))] = None
                self.traits.add("missing")
            (self.extra if by_h5py else self.variables)[name] = dims, parts
            self.traits.add(kind.__name__)
        for name in ("lat", "lon") if self.axis != "first" else ():
            if self.chance(0.5) and name not in self.variables:
                size = (self.sizes[name],)
                values = self.numbers.normal(0, 50, size)
                self.variables[name] = (name,), [Part(values, {"units": "m"}) for _ in self.each()]

    def make_bad(self):
        """What a rule refuses; the last file differs."""
        last, dims, shape = len(self.lengths) - 1, self.dims(), self.shape
        parts = [Part(self.floats(i, dims, "f4"), {"units": "K"}) for i in self.each()]
        by_h5py = False
        if self.bad == "units":
            parts[last].attrs["units"] = "degC"
        elif self.bad == "meaning":
            parts[last].attrs["standard_name"], parts[0].attrs["standard_name"] = "a", "b"
        elif self.bad in ("static", "last bit"):
            name, dims = ("lat", ("lat",)) if self.bad == "last bit" else ("bad", ("lat", "lon"))
            values = 1 + self.numbers.random(shape(0, dims))
            parts = [Part(values, {}) for _ in self.each()]
            parts[last] = Part(np.nextafter(values, 9), {})
            self.variables[name] = dims, parts
            return
        elif self.bad == "int64 and floats":
            parts[last] = Part(self.integers(last, dims, "i8"), {"units": "K"})
        elif self.bad == "uint64 and signed":
            parts = [Part(self.integers(i, dims, "u8" if i else "i2"), {}) for i in self.each()]
        elif self.bad == "missing integers":
            parts = [Part(self.integers(i, dims, "i4"), {}) for i in self.each()]
            parts[last] = None
        elif self.bad == "scale 0":
            parts = [Part(self.integers(i, dims, "i2"), {"scale_factor": 0.5 * i}) for i in self.each()]
        elif self.bad == "lengths":
            self.chars[last] += 1
            parts, dims = self.characters(dims), (*dims, "chars")
        elif self.bad == "fixed and variable":
            words = [np.full(shape(i, dims), b"a", "S2") for i in self.each()]
            words[last] = words[last].astype(object)
            parts, by_h5py = [Part(w, {}) for w in words], True
        elif self.bad == "enumeration":
            self.extra["bad"] = dims, self.enumeration(dims)
            self.extra["bad"][1][last].values = np.zeros(shape(last, dims), h5py.enum_dtype({"A": 0}, "i1"))
            return
        else:
            return
        (self.extra if by_h5py else self.variables)["bad"] = dims, parts

    def make_attributes(self):
        self.root = [{"title": "set", "history": "made %d" % i, "number": np.int32(3)} for i in self.each()]
        if self.chance(0.3):
            self.root[0]["only"] = "here"
        for dims, parts in self.variables.values():
            if self.chance(0.3):
                for i, part in enumerate(parts):
                    if part:
                        part.attrs["comment"] = "part %d" % i

    def make_options(self):
        draw = self.random.random()
        if draw < 0.08:
            self.options.conflict = "refuse"
        elif draw < 0.14:
            self.options.conflict = "first"
        elif draw < 0.2:
            self.options.order = "name"

    # ---- files

    def write_variable(self, nc, name, dims, part):
        values = part.values
        kind = str if values.dtype == object else values.dtype
        endian = "big" if values.dtype.str[0] == ">" else "little" if values.dtype.str[0] == "<" else "native"
        how = {}
        if all(values.shape) and kind is not str and self.chance(0.6):
            how["chunksizes"] = [self.random.randint(1, n) for n in values.shape]
            how["zlib"], how["shuffle"] = self.chance(0.6), self.chance(0.5)
            how["fletcher32"] = self.chance(0.2)
        variable = nc.createVariable("/" + name, kind, dims, endian=endian, fill_value=part.fill, **how)
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        for key, value in part.attrs.items():
            variable.setncattr(key, value)
        if values.size:
            variable[...] = values

    def write_plain(self, i, path):
        """Without dimensions' names, by h5py."""
        with h5py.File(path, "w") as file:
            file.attrs.update(self.root[i])
            for name, (dims, parts) in {**self.variables, **self.extra}.items():
                if parts[i] is None:
                    continue
                values, how = parts[i].values, {}
                if values.ndim and all(values.shape) and self.chance(0.5) and values.dtype != object:
                    how["chunks"] = tuple(self.random.randint(1, n) for n in values.shape)
                    how["compression"], how["shuffle"] = self.random.randint(1, 9), self.chance(0.5)
                kind = h5py.string_dtype() if values.dtype == object else values.dtype
                dataset = file.create_dataset(name, data=values, dtype=kind, **how)
                dataset.attrs.update(parts[i].attrs)
                if parts[i].fill is not None:
                    dataset.attrs["_FillValue"] = parts[i].fill

    def write(self, i, path):
        with netCDF4.Dataset(path, "w") as nc:
            empty_or = self.lengths[i] == 0 or self.chance(0.5)
            used = {d for dims, _ in self.variables.values() for d in dims} | {"time"}
            used |= {d for dims, _ in self.extra.values() for d in dims}
            for name, size in self.length(i).items():
                if name in used:
                    nc.createDimension(name, None if name == "time" and empty_or else size)
            nc.setncatts(self.root[i])
            for name, (dims, parts) in self.variables.items():
                if parts[i] is not None:
                    self.write_variable(nc, name, dims, parts[i])
            if "time" not in self.variables and self.lengths[i]:
                spare = nc.createVariable(
                    "always", "f4", ("time",)
                )  # an unlimited dimension has a length then
                spare[:] = np.arange(self.lengths[i])
        if not self.extra:
            return
        with h5py.File(path, "r+") as file:
            for name, (dims, parts) in self.extra.items():
                values = parts[i].values
                kind = h5py.string_dtype() if values.dtype == object else values.dtype
                dataset = file.create_dataset(name, values.shape, kind)
                if values.size:
                    dataset[...] = values
                for k, dim in enumerate(dims):
                    dataset.dims[k].attach_scale(file[dim])

    def make(self):
        self.chars = [self.random.randint(1, 5)] * len(self.lengths)
        self.make_axis()
        self.make_bad()
        self.make_variables()
        self.make_attributes()
        self.make_options()
        if self.bad:
            self.traits.add("refused: " + self.bad)
        os.makedirs(self.directory, exist_ok=True)
        self.files = [(name, os.path.join(self.directory, name)) for name in self.names]
        for i, (_, path) in enumerate(self.files):
            (self.write_plain if self.axis == "first" else self.write)(i, path)
        return self


def make_set(seed, directory):
    """Has `files` ((name, path) each), `options` and `traits`."""
    return Set(seed, directory).make()
