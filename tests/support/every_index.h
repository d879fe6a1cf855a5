// A file with every kind of group, attribute list, heap and chunk index, for `written_with_h5py`.
#pragma once

#include "support/h5py_file.h"

namespace h5mount::test {

// Each is large enough for more than one node. With `latest` links and attributes are dense. With `earliest`
// they are in symbol tables and version 1 headers, and all chunk indexes are version 1 B-trees.
inline constexpr const char* kEveryIndex = R"(
old = f.create_group('many')
for i in range(60):
    old.create_dataset('data_%03d' % i, data=np.arange(4) + i)
for i in range(0, 60, 7):
    old['soft_%03d' % i] = h5py.SoftLink('/many/data_%03d' % i)
ordered = f.create_group('ordered', track_order=True)
for i in range(60):
    ordered['link_%03d' % i] = h5py.SoftLink('/many/data_%03d' % i)
few = f.create_group('few')
few['a'] = np.arange(10)
few['text'] = ['one', 'two', 'three']
many = f.create_group('attributes')
for i in range(60):
    many.attrs['attribute_%03d' % i] = 'value %d' % i
for i in range(4):
    few.attrs['short_%d' % i] = np.arange(i + 1)
few.attrs['strings'] = ['one', 'two']
def chunked(name, shape, chunks, maxshape, **more):
    d = f.create_dataset(name, shape, chunks=chunks, maxshape=maxshape, dtype='i4', **more)
    d[...] = np.arange(np.prod(shape)).reshape(shape)
chunked('fixed', (12, 12), (1, 4), (12, 12))
chunked('fixed_gz', (12, 12), (1, 4), (12, 12), compression='gzip')
chunked('extensible', (100,), (1,), (None,))
chunked('tree', (12, 12), (1, 1), (None, None))
)";

}  // namespace h5mount::test
