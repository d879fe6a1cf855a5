// Virtual datasets whose sources are of another number type than the view: what libhdf5 makes of them, bit
// for bit.
#include "command.h"

namespace h5mount::test {
namespace {

TEST(VirtualConversion, GivesTheBytesThatLibhdf5Gives) {
  H5MOUNT_NEEDS_FUSE();
  const auto place = scratch() / "conversion";
  std::filesystem::create_directory(place);
  std::ofstream(place / "make.py") << R"(
import h5py, numpy as np, itertools, os, h5py.h5t as t
integers = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xc4c3c2c6, 0xffffffff,
            0x0102030405060708, 0x8000000000000000, 0xfffffffffffffff7]
nan = {8: [0x7ff8000000000000, 0x7ff8000000000001, 0x7ff0000000000001, 0xfff8123456789abc, 0x7ff4000000000000,
           0xfff0000020000000, 0x7ff00000e0000001, 0x7fffffffffffffff],
       4: [0x7fc00000, 0x7fc00001, 0x7f800001, 0xffc12345, 0x7fa00000, 0xffbfffff, 0x7fffffff],
       2: [0x7e00, 0x7e01, 0x7c01, 0xfd55, 0x7fff]}
numbers = [0.0, -0.0, 1.5, -2.25, 3e38, 6e-8, 1e-40, 65504.0, np.inf, -np.inf]
kinds = [t.STD_I8BE, t.STD_U8LE, t.STD_I8LE]
kinds += [t.py_create(np.dtype(o + k + str(s))) for o in '<>' for k in 'iu' for s in (2, 4, 8)]
reals = [t.py_create(np.dtype(o + 'f' + str(s))) for o in '<>' for s in (2, 4, 8)]
def values(kind):
    size = kind.get_size(); order = 'little' if kind.get_order() == 0 else 'big'
    if kind.get_class() == t.INTEGER:
        return b''.join((v % 256 ** size).to_bytes(size, order) for v in integers)
    with np.errstate(over='ignore'): plain = np.array(numbers, kind.dtype).tobytes()
    return plain + b''.join(v.to_bytes(size, order) for v in nan[size])
names = []
with h5py.File('source.h5', 'w') as s, h5py.File('f.h5', 'w') as f:
    for group in (kinds, reals):
        for i, kind in enumerate(group):
            raw = values(kind); n = len(raw) // kind.get_size()
            name = ('r' if group is reals else 'i') + str(i)
            d = h5py.h5d.create(s.id, name.encode(), kind, h5py.h5s.create_simple((n,)))
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.frombuffer(raw, 'V%d' % kind.get_size()), mtype=kind)
            for j, view in enumerate(group):
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE); space = h5py.h5s.create_simple((n,))
                plist.set_virtual(space, b'source.h5', name.encode(), space)
                h5py.h5d.create(f.id, (name + 'to' + str(j)).encode(), view, space, plist)
                names.append((name + 'to' + str(j), n, view))
with h5py.File('f.h5') as f:
    os.mkdir('expected')
    for name, n, view in names:
        out = np.zeros(n, 'V%d' % view.get_size())
        f[name].id.read(h5py.h5s.ALL, h5py.h5s.ALL, out, mtype=view)
        out.tofile('expected/' + name)
print(len(names))
)";
  const Outcome made = run("cd " + place.string() + " && " + python() + "make.py");
  ASSERT_EQ(made.code, 0) << made.err;
  ASSERT_EQ(made.out, std::to_string(15 * 15 + 6 * 6) + "\n");
  MountPoint mount;
  ASSERT_EQ(mount.mount(place / "f.h5").code, 0);
  const Outcome differ = run("cd " + (place / "expected").string() + " && for f in *; do cmp -s $f " +
                             mount.path() + "/$f || echo $f; done");
  EXPECT_EQ(differ.out, "") << "views that differ";
}

}  // namespace
}  // namespace h5mount::test
