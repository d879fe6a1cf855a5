"""Types and packings of a joined dataset (rules 3 and 4) in NumPy alone."""
import h5py
import numpy as np

from support.join_cards import same_attribute

PACKING = "scale_factor add_offset _FillValue missing_value valid_min valid_max valid_range _Unsigned".split()
FILLS = ("_FillValue", "missing_value")


class Refused(Exception):
    """Members that a rule does not join."""


def order_of(dtypes):
    """The byte order of numbers: their own where all have the same one, else little-endian."""
    orders = {np.dtype(t).newbyteorder("=").str[0] if t.isnative else ">" for t in dtypes}
    return ">" if orders == {">"} else "<"


def joined_type(dtypes):
    """Rule 3, of what has no packing that differs."""
    first = dtypes[0]
    if any(h5py.check_string_dtype(t) or t.kind == "S" for t in dtypes):
        return joined_strings(dtypes)
    if any(h5py.check_enum_dtype(t) for t in dtypes):
        return joined_enumerations(dtypes)
    if all(t == first for t in dtypes):
        return first
    kinds = {t.kind for t in dtypes}
    if "V" in kinds:
        return joined_compounds(dtypes)
    if not kinds <= set("iufc") or "c" in kinds and kinds != {"c"}:
        raise Refused("types differ")
    wide_integers = [t for t in dtypes if t.kind in "iu" and t.itemsize == 8]
    if "f" in kinds and wide_integers:
        raise Refused("integers of 64 bits beside floats")
    if kinds == {"i", "u"} and any(t.kind == "u" for t in wide_integers):
        raise Refused("uint64 beside signed integers")
    if "f" in kinds and kinds != {"f"}:
        result = np.dtype("f8")
    else:
        result = np.result_type(*(t.newbyteorder("=") for t in dtypes))
    return result.newbyteorder(order_of(dtypes))


def joined_strings(dtypes):
    if not all(h5py.check_string_dtype(t) for t in dtypes):
        raise Refused("strings beside others")
    lengths = [h5py.check_string_dtype(t).length for t in dtypes]
    if None in lengths and any(lengths):
        raise Refused("strings of variable length beside fixed ones")
    return dtypes[0] if None in lengths else np.dtype("S%d" % max(lengths))


def joined_enumerations(dtypes):
    merged = {}
    for dtype in dtypes:
        codes = h5py.check_enum_dtype(dtype)
        if codes is None or dtype != dtypes[0].base and dtype.str != dtypes[0].str:
            raise Refused("enumerations beside others")
        for name, code in codes.items():
            if merged.setdefault(name, code) != code:
                raise Refused("enumerations with other codes")
    if len(set(merged.values())) != len(merged):
        raise Refused("enumerations with other names")
    return h5py.enum_dtype(merged, np.dtype(dtypes[0].str))


def joined_compounds(dtypes):
    first = dtypes[0]
    for dtype in dtypes:
        if not dtype.names or set(dtype.names) != set(first.names):
            raise Refused("compounds with other members")
        if any(dtype[name] != first[name] for name in first.names):
            raise Refused("compounds with members of other types")
    return np.dtype([(name, first[name]) for name in first.names])


def converted(values, dtype):
    if dtype.names:
        out = np.zeros(np.shape(values), dtype)
        for name in dtype.names:
            out[name] = values[name]
        return out
    return np.asarray(values).astype(dtype)


class Packing:
    """What the attributes say of the numbers of one file's member."""

    def __init__(self, member):
        self.attrs = {name: member.attrs[name] for name in PACKING if name in member.attrs}
        self.dtype = member.dtype
        self.scale, self.offset = self.attrs.get("scale_factor"), self.attrs.get("add_offset")
        self.scaled = self.scale is not None or self.offset is not None
        self.sound = all(
            value is None
            or not isinstance(value, str)
            and value.size == 1
            and value.dtype.kind in "iuf"
            and np.isfinite(value[0])
            and (value is self.offset or value[0] != 0)
            for value in (self.scale, self.offset)
        )
        self.unsigned = str(self.attrs.get("_Unsigned", "")).lower() == "true" and self.dtype.kind == "i"

    def same(self, other, names=PACKING):
        for name in names:
            a, b = self.attrs.get(name), other.attrs.get(name)
            if (a is None) != (b is None) or a is not None and not same_attribute(a, b, by_value=True):
                return False
        return True

    def read(self, values):
        """As the numbers that are meant: native, of the other sign where _Unsigned says so."""
        values = np.asarray(values)
        values = values.astype(values.dtype.newbyteorder("="))
        return values.view("u%d" % values.itemsize) if self.unsigned else values

    def constant(self, name):
        """An attribute's numbers as those of the data; of floats rounded to their type."""
        value = self.attrs[name]
        if self.unsigned and value.dtype.kind == "i" and value.dtype.itemsize == self.dtype.itemsize:
            value = value.astype(value.dtype.newbyteorder("=")).view("u%d" % value.dtype.itemsize)
        return value.astype(self.dtype.newbyteorder("=")) if self.dtype.kind == "f" else value

    def missing(self, values):
        numbers = self.read(values)
        out = np.zeros(numbers.shape, bool)
        for name in FILLS:
            if name in self.attrs and not isinstance(self.attrs[name], str):
                for fill in self.constant(name).reshape(-1):
                    out |= numbers == fill
        low, high = "valid_min", "valid_max"
        if low in self.attrs:
            out |= numbers < self.constant(low)[0]
        if high in self.attrs:
            out |= numbers > self.constant(high)[0]
        if "valid_range" in self.attrs:
            least, most = self.constant("valid_range")
            out |= (numbers < least) | (numbers > most)
        return out

    def fits_single(self):
        """Whether float32 has its values, as rule 4 says."""
        if self.scaled:
            parts = [p for p in (self.scale, self.offset) if p is not None]
            small = self.dtype.itemsize <= (2 if self.dtype.kind in "iu" else 4)
            return small and all(p.dtype.newbyteorder("=") == np.dtype("f4") for p in parts)
        return self.dtype.kind == "f" and self.dtype.itemsize == 4

    def unpacked(self, values, kind):
        """Each step rounded in `kind`."""
        out = self.read(values).astype(kind)
        if self.scale is not None:
            out = out * kind(self.scale[0])
        if self.offset is not None:
            out = out + kind(self.offset[0])
        out = np.asarray(out, kind)
        return np.where(self.missing(values), kind(np.nan), out)


def joined_numbers(members, conflict):
    """Rules 3 and 4 of numbers: (type, arrays, packing attributes kept, whether unpacked, places of EIO)."""
    packings = [Packing(m) for m in members]
    first = packings[0]
    if all(p.same(first) for p in packings):
        dtype = joined_type([m.dtype for m in members])
        return dtype, [converted(m.values, dtype) for m in members], True, False, None
    if conflict == "refuse":
        raise Refused("packings differ")
    if not all(p.sound for p in packings):
        raise Refused("scale_factor or add_offset")
    others = [name for name in PACKING if name not in FILLS]
    plain = not any(p.scaled for p in packings)
    if plain and all(p.same(first, others) for p in packings):
        return joined_fills(members, packings)
    joined_type([m.dtype for m in members if not Packing(m).scaled] or [np.dtype("f4")])
    kind = np.float32 if all(p.fits_single() for p in packings) else np.float64
    arrays = [p.unpacked(m.values, kind) for p, m in zip(packings, members)]
    return np.dtype(kind), arrays, False, True, None


def joined_fills(members, packings):
    """Fills alone differ on plain data."""
    dtype = joined_type([m.dtype for m in members])
    if dtype.kind in "iu" and dtype.itemsize < 8:
        arrays = [p.unpacked(m.values, np.float64) for p, m in zip(packings, members)]
        return np.dtype("f8"), arrays, False, True, None
    fills = [p.attrs.get("_FillValue", p.attrs.get("missing_value")) for p in packings]
    joined = next(fill for fill in fills if fill is not None)[0]
    arrays, unreadable = [], []
    for packing, member in zip(packings, members):
        values = converted(member.values, dtype)
        own = packing.missing(member.values)
        unreadable.append((values == dtype.type(joined)) & ~own)
        arrays.append(np.where(own, np.asarray(joined).astype(dtype), values).astype(dtype))
    return dtype, arrays, False, True, unreadable
