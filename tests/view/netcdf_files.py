#!/usr/bin/python3
"""Writes netCDF files of many shapes into a directory: netcdf_files.py DIRECTORY"""

import os
import subprocess
import sys

import h5py
import netCDF4
import numpy as np


def unlimited(n):
    """Dimensions without coordinate variables, two of them unlimited and equally long."""
    n.createDimension('rec', None)
    n.createDimension('other', None)
    n.createDimension('never', None)
    n.createDimension('x', 2)
    n.createVariable('cc', 'i4', ('rec',))[:] = [1, 2, 3]
    t = n.createVariable('t', 'f4', ('rec', 'x'), fill_value=-9)
    t[:] = [[1, 2], [3, 4], [5, -9]]
    n.createVariable('u', 'f8', ('other', 'x'))[:] = np.arange(6).reshape(3, 2)
    n.createVariable('both', 'i2', ('rec', 'other'), zlib=True)[:] = np.arange(9).reshape(3, 3)
    n.createVariable('square', 'i2', ('x', 'x'))[:] = [[1, 2], [3, 4]]
    n.createVariable('none', 'i4', ('never', 'x'))


def groups(n):
    """Dimensions of the groups above, and groups that have some of the same name."""
    n.createDimension('time', None)
    n.createVariable('time', 'f8', ('time',))[:] = [10, 20]
    g = n.createGroup('a')
    g.createDimension('rec', None)
    g.createVariable('v', 'f4', ('time', 'rec'))[:] = np.arange(10).reshape(2, 5)
    h = g.createGroup('b')
    h.createDimension('rec', 5)
    h.createVariable('w', 'f4', ('rec', 'time'))[:] = np.arange(10).reshape(5, 2)
    h.createVariable('rec', 'i4', ('time',))[:] = [7, 8]
    g.note = 'of a group'


def fill_values(n):
    """`_FillValue` and `missing_value` of every type."""
    n.createDimension('x', 4)
    for kind, fill in (('i1', -9), ('u1', 250), ('i2', -999), ('u2', 65535), ('i4', -2 ** 31), ('u4', 2 ** 32 - 1),
                       ('i8', -2 ** 63), ('u8', 2 ** 64 - 1), ('f4', 0.1), ('f8', 0.1), ('f4', np.nan),
                       ('f8', np.inf), ('f4', -np.inf)):
        fill = np.dtype(kind).type(fill)
        v = n.createVariable(f'{kind}_{fill}'.replace('-', 'm').replace('.', '_'), kind, ('x',), fill_value=fill)
        v.set_auto_mask(False)
        v[:] = np.array([1, 2, 3, fill], kind)
    n.createVariable('zeros', 'i4', ('x',), fill_value=False)[:] = 0
    c = n.createVariable('PRES_QC', 'S1', ('x',), fill_value=b' ')
    c[:] = np.array([b'1', b'2', b' ', b'4'])
    n.createVariable('nul', 'S1', ('x',), fill_value=b'\0')[:] = np.array([b'1', b'2', b'', b'4'])
    cloud = n.createEnumType('u1', 'cloud', {'clear': 0, 'some': 3, 'missing': 255})
    e = n.createVariable('clouds', cloud, ('x',), fill_value=255)
    e.set_auto_mask(False)
    e[:] = [0, 3, 255, 0]
    m = n.createVariable('missing', 'f4', ('x',))
    m.missing_value = np.float32(3.3)
    m[:] = np.array([1, 2, 3.3, 4], 'f4')
    both = n.createVariable('both', 'f8', ('x',), fill_value=-1.)
    both.missing_value = np.nan
    both.set_auto_mask(False)
    both[:] = [1, np.nan, 3, -1]
    text = n.createVariable('text', str, ('x',))
    text[:] = np.array(['a', 'grün', '', 'z'], object)


def packed(n):
    """Attributes of single precision decide the last place of what is decoded."""
    n.createDimension('y', 5)
    n.createDimension('x', 100)
    r = np.random.default_rng(1)
    for name, kind in (('Rad', 'i2'), ('wide', 'i4')):  # xarray decodes to single and to double precision
        v = n.createVariable(name, kind, ('y', 'x'), zlib=True, shuffle=True, fill_value=-1, chunksizes=(2, 30))
        v.scale_factor, v.add_offset = np.float32(0.1), np.float32(-25.936647)
        v.set_auto_maskandscale(False)
        v[:] = r.integers(-1, 4000, (5, 100))
    w = n.createVariable('only_scale', 'u1', ('x',))
    w.scale_factor = np.float32(0.01)
    w.set_auto_maskandscale(False)
    w[:] = np.arange(100)
    w.valid_range = np.array([0, 99], 'f4')
    w.setncattr('_Unsigned', 'true')
    t = n.createVariable('times', 'f4', ('y',))
    t.units = 'hours since 2000-01-01'
    t[:] = [0, 1.5, 2, 3, 4]


def attributes(n):
    """Attributes of every type and shape."""
    n.title, n.empty, n.many, n.list = 'grün', '', 'x' * 70000, ['a', 'bb']
    for kind in ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8', 'f4', 'f8'):
        n.setncattr('one_' + kind, np.array(1, kind))
        n.setncattr('some_' + kind, np.array([1, 100, 3], kind) / np.dtype(kind).type(1))
    n.third, n.odd = np.float32(1) / 3, np.array([0.1, np.nan, np.inf, -np.inf], 'f4')
    n.nan, n.inf, n.tiny, n.large = np.nan, -np.inf, 5e-324, 1.7976931348623157e308
    n.createDimension('x', 2)
    v = n.createVariable('v', 'f8', ('x',))
    v[:] = [1, 2]
    v.setncattr('coordinates', 'scalar')
    v.actual_range = np.array([np.float32(0.1), np.float32(0.2)])
    n.createVariable('scalar', 'i4', ())[...] = 5
    s = n.createVariable('letter', 'S1', ())
    s[...] = b'q'
    n.createVariable('word', str, ())[...] = 'word'


def characters(n):
    """Strings as arrays of characters, and a coordinate variable of two dimensions."""
    n.createDimension('station', 3)
    n.createDimension('name_len', 8)
    name = n.createVariable('station', 'S1', ('station', 'name_len'))
    name[:] = netCDF4.stringtochar(np.array([b'one', b'two', b'three'], 'S8'))
    other = n.createVariable('other', 'S1', ('station', 'name_len'), zlib=True)
    other[:] = netCDF4.stringtochar(np.array([b'a', b'', b'cccccccc'], 'S8'))
    n.createVariable('v', 'f8', ('station',))[:] = [1, 2, 3]
    plain = n.createVariable('plain', 'i4', ('name_len',))
    plain[:] = np.arange(8)


def figures(n):
    """Numbers alone, which netCDF-C's own reader of Zarr can take, on a grid for the climate operators."""
    n.createDimension('time', None)
    n.createDimension('lat', 2)
    n.createDimension('lon', 4)
    for name, units, values in (('time', 'days since 2000-01-01', [0., 1., 2.]), ('lat', 'degrees_north', [-45., 45.]),
                                ('lon', 'degrees_east', [0., 90., 180., 270.])):
        v = n.createVariable(name, 'f8', (name,))
        v[:], v.units = values, units
        v.standard_name = {'lat': 'latitude', 'lon': 'longitude'}.get(name, name)
    for kind, fill in (('f4', -999), ('f8', 1e20), ('i2', -99), ('i4', -9999), ('i1', -9), ('f4', np.nan)):
        fill = np.dtype(kind).type(fill)
        name = kind + ('_nan' if np.isnan(fill) else '')
        v = n.createVariable(name, kind, ('time', 'lat', 'lon'), fill_value=fill, zlib=kind == 'i4')
        v.set_auto_mask(False)
        data = np.arange(24).reshape(3, 2, 4).astype(kind)
        data[0, 1, 2] = data[2, :, 0] = fill
        v[:] = data
    v = n.createVariable('packed', 'i2', ('lat', 'lon'))
    v.scale_factor, v.missing_value = np.float32(0.1), np.int16(-1)
    v.set_auto_maskandscale(False)
    v[:] = [[1, 2, 3, -1], [5, 6, 7, 8]]
    m = n.createVariable('missing', 'f4', ('lat', 'lon'))
    m.missing_value = np.float32(3.3)
    m.set_auto_mask(False)
    m[:] = np.array([[1, 2, 3.3, 4], [5, 6, 7, 8]], 'f4')


def without_scales(f):
    """HDF5 files without scales: netCDF-C numbers their dimensions."""
    f['a'] = np.zeros((4, 4))
    f['b'] = np.arange(4)
    f['c'] = np.arange(7.)
    f['d'] = np.zeros((7, 4), 'i4')
    f.create_dataset('grows', data=np.arange(4), maxshape=(None,), chunks=(2,))
    f['row'] = np.array([(1, 2.)] * 9, [('i', '<i4'), ('j', '<f8')])  # netCDF-C does not show it
    f['z/e'] = np.zeros((7, 9))
    f['y/x/f'] = np.zeros((4, 7, 4))
    f['y/g'] = np.zeros(7)
    f['scalar'] = 1


def some_scales(f):
    """Scales that h5py made, beside datasets without."""
    f['x'] = np.arange(4.)
    f['y'] = np.arange(3.)
    f['x'].make_scale('x')
    f['y'].make_scale()
    f['v'] = np.zeros((3, 4))
    f['v'].dims[0].attach_scale(f['y'])
    f['v'].dims[1].attach_scale(f['x'])
    f['w'] = np.zeros((4, 4, 5))


def main():
    os.chdir(sys.argv[1])
    for write in (unlimited, groups, fill_values, packed, attributes, characters, figures):
        with netCDF4.Dataset(f'{write.__name__}.nc', 'w') as n:
            write(n)
    for write in (without_scales, some_scales):
        with h5py.File(f'{write.__name__}.nc', 'w') as f:
            write(f)
    with open('records.cdl', 'w', encoding='ascii') as f:
        f.write('netcdf r { dimensions: rec = UNLIMITED; x = 2; variables: int cc(rec); float t(rec,x);'
                ' data: cc = 1, 2, 3; t = 1, 2, 3, 4, 5, 6; }')
    subprocess.run(['ncgen', '-4', '-o', 'records.nc', 'records.cdl'], check=True)


if __name__ == '__main__':
    main()
