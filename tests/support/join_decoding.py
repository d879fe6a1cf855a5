"""Holds the oracle of joined files against netCDF4-python's own decoding of each file and against cftime."""
import cftime
import netCDF4
import numpy as np

from support.join_times import is_since


def own_decoding(variable, kind):
    """netCDF4-python's values, missing ones NaN; None where it reckons in another type."""
    variable.set_auto_maskandscale(True)
    for name in ("scale_factor", "add_offset"):
        if name in variable.ncattrs() and np.asarray(variable.getncattr(name)).dtype != kind:
            return None
    if kind == np.dtype("f4") and variable.dtype.itemsize > 2 and variable.dtype != kind:
        return None
    values = variable[...]
    return np.ma.filled(np.ma.asarray(values).astype(kind), np.nan)


def moments(values, units, calendar):
    return cftime.num2date(values, units, calendar=calendar, only_use_cftime_datetimes=True)


def same_moments(own, values, variable, result):
    calendar = result.attrs.get("calendar", "standard")
    one = moments(own.reshape(-1), variable.units, calendar)
    other = moments(values.reshape(-1), result.attrs["units"], calendar)
    return all(abs((a - b).total_seconds()) <= 1e-6 for a, b in zip(one, other))


def agrees(variable, result, values):
    """None: nothing says what it must be."""
    if result.dtype.kind not in "iuf" or result.dtype.names or variable.dtype is str:
        return None
    variable.set_auto_maskandscale(False)
    raw = np.asarray(variable[...])
    if result.rebased:
        if not is_since(result.attrs.get("units")) or "units" not in variable.ncattrs():
            return None
        return same_moments(raw, values, variable, result)
    if not result.unpacked:
        return raw.astype(result.dtype).tobytes() == np.ascontiguousarray(values).tobytes()
    if "_FillValue" in result.attrs or result.unreadable is not None:
        return None
    own = own_decoding(variable, result.dtype)
    return None if own is None else np.array_equal(own.reshape(values.shape), values, equal_nan=True)


def variable_of(nc, path):
    *groups, name = path.split("/")
    for group in groups:
        if group not in nc.groups:  # h5py has made it
            return None
        nc = nc.groups[group]
    return nc.variables.get(name)


def differences(files, whole):
    """(what differs, how many values agree)."""
    wrong, count = [], 0
    if whole.error:
        return wrong, count
    for name, path in files:
        if name not in whole.order:
            continue
        with netCDF4.Dataset(path) as nc:
            for member, result in whole.datasets.items():
                variable = variable_of(nc, member)
                if result.error or result.axis is None or result.made or variable is None:
                    continue
                start, length = result.spans[name]
                values = result.values.take(range(start, start + length), result.axis)
                if values.size == 0:
                    continue
                said = agrees(variable, result, values)
                if said is None:
                    continue
                count += values.size
                if not said:
                    wrong.append((name, member))
    return wrong, count
