// Virtual datasets over files that one mount shows beside each other.
#include "many_files.h"

namespace h5mount::test {
namespace {

constexpr const char* kVirtual = R"(
def make(name, value):
    with h5py.File(name, 'w') as f: f['d'] = np.full(1000, value, 'u1')
def virtual(name, source, shape=(1000,), dataset='d'):
    with h5py.File(name, 'a') as f:
        layout = h5py.VirtualLayout(shape, 'u1'); layout[:] = h5py.VirtualSource(source, dataset, shape)
        f.create_virtual_dataset('v', layout)
)";

// Names in sub/v.h5 lead out of the directory that the file itself is in, as links do.
TEST_F(ManyFilesTest, VirtualSourcesLeadToFilesThatTheMountShows) {
  write(std::string(kVirtual) +
        "make('outside.h5', 9)\nvirtual('src/sub/v.h5', '../a.h5')\nvirtual('src/sub/o.h5', "
        "'../../outside.h5')\nvirtual('src/sub/w.h5', 'v.h5', dataset='v')");
  mounted();
  const Outcome seen = script(R"(
assert read('a.h5/d') == b'\1' * 1000 and read('sub/v.h5/v') == b'\1' * 1000
print(status()['open_files'])  # the source that is open is not opened again
assert read('sub/w.h5/v') == b'\1' * 1000
print(error(read, 'sub/o.h5/v'))
)");
  EXPECT_EQ(seen.out, "2\nPermission denied\n") << seen.err;
  ASSERT_EQ(run("umount " + mount.path()).code, 0);
  ASSERT_TRUE(mount.gone());
  mounted("-o external=none");
  EXPECT_EQ(script("print(error(read, 'sub/v.h5/v'))").out, "Permission denied\n");
}

TEST_F(ManyFilesTest, AReplacedVirtualSourceIsTheNewOneForWhoOpensItThen) {
  write(std::string(kVirtual) + "virtual('src/v.h5', 'sub/b.nc')\nvirtual('src/w.h5', 'a.h5')");
  mounted();
  const Outcome seen = script(R"(
assert read('v.h5/v') == b'\2' * 1000 and read('w.h5/v') == b'\1' * 1000
old = open(mnt + 'v.h5/v', 'rb', buffering=0); old.read(10)
make('spare', 7); os.rename('spare', src + 'sub/b.nc')
until(lambda: read('v.h5/v') == b'\7' * 1000, 'a replaced source')
try: print(set(os.pread(old.fileno(), 1000, 0)) <= {2})
except OSError as e: print(e.errno == 116)
make('spare', 8)
with open('spare', 'rb') as new, open(src + 'a.h5', 'r+b') as f: f.write(new.read()); f.truncate()
until(lambda: read('w.h5/v') == b'\10' * 1000, 'a source that was written over')
assert read('a.h5/d') == b'\10' * 1000 and read('sub/b.nc/d') == b'\7' * 1000
)");
  EXPECT_EQ(seen.out, "True\n") << seen.err;
}

TEST_F(ManyFilesTest, FilesThatNameEachOtherInACircleAreClosedAgain) {
  write(std::string(kVirtual) +
        "make('src/x.h5', 5); make('src/y.h5', 6)\nvirtual('src/x.h5', 'y.h5'); virtual('src/y.h5', 'x.h5')\n"
        "make('src/p.h5', 1); make('src/q.h5', 2)\nvirtual('src/p.h5', 'q.h5', dataset='v')\n"
        "virtual('src/q.h5', 'p.h5', dataset='v')");
  mounted();
  const Outcome seen = script(R"(
import threading
names = ['x.h5/v', 'y.h5/v', 'p.h5/v', 'q.h5/v'] * 8
def use(name):
    try: read(name)
    except OSError: pass
threads = [threading.Thread(target=use, args=[name]) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
print(any(thread.is_alive() for thread in threads))
assert read('x.h5/v') == b'\6' * 1000 and read('y.h5/v') == b'\5' * 1000
for name in 'xypq': os.remove(src + name + '.h5')
until(lambda: (status()['files_in_memory'], status()['open_files']) == ('0', '0'), 'they are closed')
)");
  EXPECT_EQ(seen.out, "False\n") << seen.err;
}

TEST_F(ManyFilesTest, VirtualSourcesGiveOthersNothingThatTheyMayNotRead) {
  H5MOUNT_NEEDS_ROOT();
  write(std::string(kVirtual) + R"(
os.mkdir('src/private'); make('src/private/p.h5', 65); make('src/own.h5', 65); make('src/all.h5', 66)
virtual('src/1.h5', 'private/p.h5'); virtual('src/2.h5', 'own.h5'); virtual('src/3.h5', 'all.h5')
os.chmod('src/private', 0o700); os.chmod('src/own.h5', 0o600)
)");
  mounted("-o allow_other,external=beneath");
  const Outcome seen = as_nobody("cat 1.h5/v; cat 2.h5/v; cat 3.h5/v");
  EXPECT_EQ(seen.out, std::string(1000, 'B')) << seen.err;
}

}  // namespace
}  // namespace h5mount::test
