"""What a joined file must be, from its nine rules in NumPy and whole fractions: no code of the product.

`joined(files, options)`: files are (name, path) in the order given; options are join, order, conflict, gap
as h5mount has them. Rule 8 (Zarr's chunks) is not here. Where the rules leave something open, the sets
that tests make do not have it."""
import dataclasses
import math
import re
from fractions import Fraction

import h5py
import numpy as np

from support import join_times as times
from support.join_cards import Card, natural, same_attribute
from support.join_values import PACKING, Packing, Refused, converted, joined_numbers, joined_type

MEANING = "cell_methods standard_name positive flag_values flag_masks flag_meanings grid_mapping".split()


@dataclasses.dataclass
class Options:
    join: str = "time"
    order: str = "coordinate"
    conflict: str = "decode"
    gap: str = "fill"

    def words(self):
        """As h5mount takes them."""
        words = ["join=" + self.join.replace("\\", "\\\\").replace(",", "\\,")]
        for name, usual in (("order", "coordinate"), ("conflict", "decode"), ("gap", "fill")):
            if getattr(self, name) != usual:
                words.append("join_%s=%s" % (name, getattr(self, name)))
        return ["-o", ",".join(words)]


@dataclasses.dataclass
class Joined:
    """A dataset; `error`: it is refused, and nothing else holds. `unreadable`: where elements are EIO.
    `differ`: attributes that are dropped; None: any."""

    error: str = ""
    dtype: object = None
    values: object = None
    axis: object = None
    attrs: dict = None
    differ: list = None
    files: int = 0
    missing_in: int = 0
    unpacked: bool = False
    rebased: bool = False
    unreadable: object = None
    without_values: bool = False
    spans: list = None
    made: bool = False  # no file has it
    types: list = None  # of a copy: those that files have

    def bytes(self):
        """As the mount has them: strings of variable length are lines."""
        if self.dtype.kind == "O":
            texts = [v if isinstance(v, bytes) else v.encode() for v in self.values.reshape(-1)]
            return b"".join(text + b"\n" for text in texts)
        return np.ascontiguousarray(self.values).astype(self.dtype).tobytes()


@dataclasses.dataclass
class Whole:
    error: str = ""
    order: list = None
    left_out: dict = None
    datasets: dict = None
    attrs: dict = None


def axis_of(member, join):
    """The dimensions of a member that are the axis."""
    if member.without_values and member.scales != [member.path]:
        return []
    if join.startswith(":"):
        number = int(join[1:])
        return [number] if len(member.shape) > number else []
    name = join.partition(":")[0]
    return [i for i, s in enumerate(member.scales) if s and s.rsplit("/", 1)[-1] == name]


def equal_units(members):
    """'' where all have the same text, or none; 'time' where they are times that differ; else refused."""
    texts = [m.attrs.get("units") for m in members]
    if all(isinstance(t, str) and times.is_since(t) for t in texts):
        calendars = [m.attrs.get("calendar", "") for m in members]
        if len({times.CALENDARS.get(c.lower(), c) for c in calendars}) > 1:
            raise Refused("calendars differ")
        return "" if len(set(texts)) == 1 else "time"
    for text in texts[1:]:
        if (text is None) != (texts[0] is None) or text is not None and not same_attribute(text, texts[0]):
            raise Refused("units differ")
    return ""


def check_meaning(members, conflict):
    """Rule 5's other attributes; returns what equal_units says."""
    for name in MEANING:
        have = [m.attrs[name] for m in members if name in m.attrs]
        if any(not same_attribute(value, have[0]) for value in have) and conflict != "first":
            raise Refused(name + " differ")
    try:
        return equal_units(members)
    except Refused:
        if conflict != "first" or any(times.is_since(m.attrs.get("units")) for m in members):
            raise
        return ""


def rebase(members, arrays, is_axis):
    """Rule 5 of members whose units of time differ: all in the first's."""
    units = [times.time_units(m.attrs["units"], m.attrs.get("calendar", "")) for m in members]
    if None in units:
        raise Refused("units without a length")
    first, whole = units[0], all(a.dtype.kind in "iu" for a in arrays)
    exact = []
    for member, array, own in zip(members, arrays, units):
        missing = Packing(member).missing(array) if array.dtype.kind != "O" else np.zeros(array.shape, bool)
        exact.append(
            [
                None if gone else times.rebased(value, own, first)
                for value, gone in zip(array.reshape(-1), missing.reshape(-1))
            ]
        )
    if whole:
        steps = all(times.whole_steps(own, first) for own in units)
        values = all(f is None or f.denominator == 1 for part in exact for f in part)
        whole = steps or is_axis and values
    out = []
    for array, part in zip(arrays, exact):
        stored = array.reshape(-1)
        if whole:
            moved = [int(stored[i]) if f is None else int(f) for i, f in enumerate(part)]
            out.append(np.array(moved, "i8").reshape(array.shape))
        else:
            moved = [float(stored[i]) if f is None else times.double_of(f) for i, f in enumerate(part)]
            out.append(np.array(moved, "f8").reshape(array.shape))
    return np.dtype("i8" if whole else "f8"), out


def kept_attributes(entries, drop=()):
    """Rule 6: what is equal in all, and the names of what is not."""
    kept, differ = {}, []
    for name in sorted(set().union(*entries)):
        have = [e.get(name) for e in entries]
        same = all(v is not None and same_attribute(v, have[0], by_value=name in PACKING) for v in have)
        if name == "actual_range" or name.startswith("time_coverage_") or name in drop:
            continue
        if same:
            kept[name] = have[0]
        else:
            differ.append(name)
    return kept, differ


def gap_element(result, members, unpacked):
    """Rule 1: what stands where a file does not have the variable."""
    dtype = result
    fill = (
        None if unpacked else next((m.attrs["_FillValue"] for m in members if "_FillValue" in m.attrs), None)
    )
    if h5py.check_enum_dtype(dtype) or dtype.kind not in "iufc":
        raise Refused("missing in some files")
    if fill is not None:
        return np.asarray(fill[0]).astype(dtype)
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    raise Refused("missing in some files, and without _FillValue")


class Join:
    def __init__(self, files, options):
        self.options = options
        self.cards = [Card(name, path) for name, path in files]
        self.left_out = {c.name: "no HDF5" for c in self.cards if c.error}
        self.cards = [c for c in self.cards if not c.error]
        self.new = options.join.startswith("+")
        if not self.new and options.join != "union":
            for card in list(self.cards):
                if not any(axis_of(m, options.join) for m in card.datasets.values()):
                    self.left_out[card.name] = "nothing has the axis"
                    self.cards.remove(card)
        for card in self.cards:
            find_bounds(card)

    # ---- order

    def label(self, card):
        source = self.options.join.partition(":")[2].strip("'")
        if not source:
            return re.sub(r"\.[^./]*$", "", card.name)
        return re.search(source, card.name)[1]

    def set_order(self):
        if self.new:
            labels = [self.label(c) for c in self.cards]
            if len(set(labels)) < len(labels):
                raise Refused("equal values of the new axis")
            if all(re.fullmatch(r"-?\d+", text) for text in labels):
                key, self.labels = int, np.array(sorted(map(int, labels)), "i8")
            else:
                key, self.labels = natural, sorted(labels, key=natural)
            self.cards.sort(key=lambda c: key(self.label(c)))
            return
        self.cards.sort(key=lambda c: natural(c.name))
        if self.options.join == "union":
            return
        self.cards.sort(key=lambda c: self.axis_length(c) == 0)  # the last ones, by name
        if self.options.order == "name":
            return
        paths = {p for c in self.cards for p, m in c.datasets.items() if self.is_coordinate(m)}
        if paths:
            self.order_by(min(paths, key=lambda p: (p.count("/"), p)))

    def is_coordinate(self, member):
        return (
            not self.options.join.startswith(":")
            and member.is_scale
            and len(member.shape) == 1
            and not member.without_values
            and member.dtype.kind in "iuf"
            and bool(axis_of(member, self.options.join))
        )

    def order_by(self, path):
        if any(path not in c.datasets for c in self.cards):
            raise Refused("a coordinate in some files only")
        members = [c.datasets[path] for c in self.cards]
        differ = check_meaning(members, self.options.conflict)
        keys, empty = {}, []
        for card, member in zip(self.cards, members):
            values = coordinate_values(member, differ)
            if not values:
                empty.append(card)
                continue
            keys[card.name] = values
        full = sorted((c for c in self.cards if c not in empty), key=lambda c: keys[c.name][0])
        if any(len(v) > 1 and v[-1] < v[0] for v in keys.values()):
            full.reverse()
        whole = [v for c in full for v in keys[c.name]]
        up = all(a < b for a, b in zip(whole, whole[1:]))
        down = all(a > b for a, b in zip(whole, whole[1:]))
        if not up and not down:
            raise Refused("the axis is not strictly monotonic")
        self.cards = full + empty

    # ---- members

    def add_coordinate(self, whole):
        values = np.array(self.labels, object if isinstance(self.labels, list) else None)
        name = self.options.join[1:].partition(":")[0]
        made = Joined(dtype=values.dtype, values=values, axis=0, attrs={}, differ=[], made=True)
        whole.datasets[name] = made

    def axis_length(self, card):
        for member in card.datasets.values():
            for i in axis_of(member, self.options.join):
                return member.shape[i]
        return 0

    def place(self, path):
        """What the dataset's values are before attributes are looked at."""
        have = [c.datasets[path] for c in self.cards if path in c.datasets]
        if any(path in c.groups or path in c.links for c in self.cards):
            raise Refused("a group in one file, a dataset in another")
        where = [axis_of(m, self.options.join) if not self.new else [0] for m in have]
        if self.options.join == "union":
            where = [[] for _ in have]
        if self.new and have[0].is_scale and self.equal_scales(have):
            where = [[] for _ in have]
        elif self.new:
            have = [dataclass_copy(m).with_axis_in_front() for m in have]
        if any(len(w) > 1 for w in where):
            raise Refused("the axis twice")
        if len({bool(w) for w in where}) > 1 or len({len(m.shape or ()) for m in have}) > 1:
            raise Refused("the axis in some files only")
        return have, where[0][0] if where[0] else None

    def equal_scales(self, have):
        return len(have) == len(self.cards) and all(
            m.without_values
            and have[0].without_values
            or m.shape == have[0].shape
            and np.asarray(m.values).tobytes() == np.asarray(have[0].values).tobytes()
            for m in have
        )

    def dataset(self, path):
        have, axis = self.place(path)
        if all(m.without_values for m in have):  # its extent says nothing: it is 0 of an unlimited dimension
            return Joined(without_values=True)
        members = have
        shapes = {tuple(n for i, n in enumerate(m.shape) if i != axis) for m in have}
        if len(shapes) > 1 and not (axis is None and self.options.conflict == "first"):
            raise Refused("extents differ")
        if axis is None and self.options.conflict == "first":
            members = have[:1]
        differ = check_meaning(members, self.options.conflict)
        result = Joined(axis=axis)
        self.join_values(path, members, axis, differ, result)
        drop = set(PACKING) if result.unpacked else set()
        if differ == "time":
            drop |= {"units", "calendar"}
        result.attrs, result.differ = kept_attributes([m.attrs for m in have], drop)
        if differ == "time":
            first = have[0].attrs
            result.attrs.update({n: first[n] for n in ("units", "calendar") if n in first})
        if have[0].lends:  # these are its coordinate's
            result.attrs = {n: v for n, v in result.attrs.items() if n not in ("units", "calendar")}
        if self.options.conflict == "first":  # the rules do not say whose attributes these are
            result.attrs, result.differ = {}, None
        result.files = len(have)
        result.missing_in = len(self.cards) - len(have)
        return result

    def join_values(self, path, members, axis, differ, result):
        if members[0].dtype.kind in "iufc" and not any(h5py.check_enum_dtype(m.dtype) for m in members):
            dtype, arrays, _, unpacked, unreadable = joined_numbers(members, self.options.conflict)
        else:
            dtype, unpacked, unreadable = joined_type([m.dtype for m in members]), False, None
            arrays = [converted(m.values, dtype) for m in members]
        if differ == "time":
            if self.options.conflict == "refuse":
                raise Refused("units of time differ")
            if unpacked:
                raise AssertionError("packed times in other units: not in the sets")
            dtype, arrays = rebase(members, [np.asarray(m.values) for m in members], self.is_axis(members[0]))
            result.rebased = True
        result.dtype, result.unpacked = dtype, unpacked
        result.types = [m.dtype.str for m in members] if not unpacked and not result.rebased else []
        if axis is None:
            plain = [np.asarray(a).tobytes() if dtype.kind != "O" else a.tolist() for a in arrays]
            if any(p != plain[0] for p in plain):
                raise Refused("copies differ")
            result.values = np.asarray(arrays[0])
            return
        parts, spans, start, unread = [], {}, 0, []
        by_name = {m.file: (a, i) for i, (m, a) in enumerate(zip(members, arrays))}
        for card in self.cards:
            if card.name in by_name:
                part, i = by_name[card.name]
                unread.append(unreadable[i] if unreadable else np.zeros(part.shape, bool))
            else:
                if self.is_axis(members[0]):
                    raise Refused("the coordinate is missing in some files")
                shape = list(members[0].shape)
                shape[axis] = 1 if self.new else self.axis_length(card)
                none = shape[axis] == 0  # and nothing stands there
                part = np.full(shape, 0 if none else gap_element(dtype, members, unpacked), dtype)
                unread.append(np.zeros(shape, bool))
            parts.append(part)
            spans[card.name] = (start, part.shape[axis])
            start += part.shape[axis]
        result.values = np.concatenate(parts, axis).astype(dtype)
        result.spans = spans
        result.unreadable = np.concatenate(unread, axis) if unreadable else None

    def is_axis(self, member):
        return not self.new and member.is_scale and bool(axis_of(member, self.options.join))

    def run(self):
        whole = Whole(left_out=self.left_out, datasets={})
        try:
            self.set_order()
        except Refused as why:
            whole.error = str(why)
            return whole
        whole.order = [c.name for c in self.cards]
        if not self.cards:
            whole.error = "no file has the axis"
            return whole
        for path in sorted({p for c in self.cards for p in c.datasets}):
            try:
                whole.datasets[path] = self.dataset(path)
            except Refused as why:
                whole.datasets[path] = Joined(error=str(why))
        if self.new:
            self.add_coordinate(whole)
        for path, result in whole.datasets.items():
            for scale in {s for c in self.cards if path in c.datasets for s in c.datasets[path].scales if s}:
                other = whole.datasets.get(scale.lstrip("/"))
                if scale.lstrip("/") != path and other and other.error in ("copies differ", "extents differ"):
                    result.error = result.error or "other coordinates differ"
        whole.attrs = kept_attributes([c.attrs for c in self.cards])[0] if self.cards else {}
        return whole


def dataclass_copy(member):
    copy = object.__new__(type(member))
    copy.__dict__.update(member.__dict__)
    return copy


def find_bounds(card):
    """Bounds without units have those of the coordinate that names them."""
    for member in list(card.datasets.values()):
        name = member.attrs.get("bounds")
        if isinstance(name, str) and times.is_since(member.attrs.get("units")):
            folder = member.path.rpartition("/")[0]
            bounds = card.datasets.get(folder + "/" + name if folder else name)
            if bounds is not None and "units" not in bounds.attrs:
                bounds.attrs = {**bounds.attrs, "units": member.attrs["units"]}
                if "calendar" in member.attrs:
                    bounds.attrs["calendar"] = member.attrs["calendar"]
                bounds.lends = True


def coordinate_values(member, differ):
    """What orders files: moments where units differ, else decoded numbers; exact."""
    packing = Packing(member)
    if packing.missing(member.values).any():
        raise Refused("missing values on the axis")
    values = np.asarray(member.values)
    if packing.scaled or packing.unsigned:
        values = packing.unpacked(values, np.float64)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise Refused("NaN on the axis")
    numbers = [Fraction(v.item()) if math.isfinite(v) else v.item() for v in values]
    if differ != "time":
        return numbers
    units = times.time_units(member.attrs["units"], member.attrs.get("calendar", ""))
    if units is None:
        raise Refused("units without a length")
    return [units.moment(v) for v in numbers]


def joined(files, options):
    return Join(files, options).run()
