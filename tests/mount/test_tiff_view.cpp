// /.h5/tiff through the mount: held against h5py by a strict reader of the specification's words, and by
// Pillow and GDAL where these are there.
#include "views.h"

namespace h5mount::test {
namespace {

class TiffTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from tiff_reader import *\n" + statements);
  }
};

TEST_VIEW(TiffTest, PagesAreWhatH5pyReads, "tiff_view/images.py",
          "tiff_view/pages_are_what_h5py_reads_check.py")
TEST_VIEW(TiffTest, OtherReadersAgree, "tiff_view/images.py", "tiff_view/other_readers_agree_check.py")
TEST_VIEW(TiffTest, PalettesOfImages, "tiff_view/palettes_of_images_file.py",
          "tiff_view/palettes_of_images_check.py")

// The samples are sound, so they are shown; one line says what became of the colours.
TEST_F(TiffTest, ADamagedPaletteLosesColoursAlone) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    p = f.create_dataset('p', data=np.arange(768).reshape(256, 3).astype('u1'), chunks=(256, 3),
                         fletcher32=True)
    d = f.create_dataset('d', data=np.arange(60).reshape(3, 4, 5).astype('u1'))
    d.attrs['CLASS'] = np.bytes_('IMAGE'); d.attrs['PALETTE'] = p.ref
    place = p.id.get_chunk_info(0).byte_offset
with open('f.h5', 'r+b') as f: f.seek(place); f.write(b'\xff')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
image = np.arange(60).reshape(3, 4, 5).astype('u1')
for _ in range(2):
    equal('tiff/d.tif', image); equal('slice/d/1.tif', image[1])
for fields in Tiff(V + '/tiff/d.tif').pages(): assert fields[262] == (1,) and 320 not in fields
assert error('npy/p.npy', 4200) == 'EIO'
lines = [line for line in read('log').decode().splitlines() if ': /d: ' in line]
assert len(lines) == 1 and 'palette' in lines[0] and ' at 0x' in lines[0], lines
)");
}

// Sizes are those of the formats' offsets; nothing of millions of pages is held.
TEST_VIEW(TiffTest, LargeOnesAreBigTiff, "tiff_view/large_ones_are_big_tiff_file.py",
          "tiff_view/large_ones_are_big_tiff_check.py")

TEST_F(TiffTest, DamageIsAnErrorForTheBytesThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    d = f.create_dataset('d', data=np.arange(65536).reshape(16, 64, 64), chunks=(1, 64, 64),
                         compression='gzip')
    chunk = d.id.get_chunk_info(3)
with open('f.h5', 'r+b') as f: f.seek(chunk.byte_offset); f.write(b'\xff' * chunk.size)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
image = Tiff(V + '/tiff/d.tif')
for number, fields in enumerate(image.pages()):
    assert error('tiff/d.tif', fields[273][0], 32768) == ('EIO' if number == 3 else None), number
assert number == 15
)");
}

TEST_F(TiffTest, FollowsAStackThatGrows) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(3 * 4096).reshape(3, 64, 64), chunks=(1, 64, 64),
                 maxshape=(None, 64, 64))
)",
                R"(
f['d'].resize((9, 64, 64)); f['d'][3:] = np.arange(3 * 4096, 9 * 4096).reshape(6, 64, 64)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
equal('tiff/d.tif', np.arange(3 * 4096).reshape(3, 64, 64))
advance(1)
want = np.arange(9 * 4096).reshape(9, 64, 64)
until(lambda: os.stat(V + '/tiff/d.tif').st_size > want.nbytes, 'the image grows')
equal('tiff/d.tif', want)
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
