"""The datasets of an h5py file, for the comparisons of views."""

import h5py


def datasets(file):
    """{path: dataset}, as far as h5py can walk the file."""
    found = {}
    try:
        file.visititems(lambda name, o: found.__setitem__(name, o) if isinstance(o, h5py.Dataset) else None)
    except Exception:
        pass
    return found
