// Programs that read over HTTP: each test is skipped where the program is not installed.
#include "front/front_test.h"
#include "h5mount/serve/server.h"

namespace h5mount::test {
namespace {

class Clients : public FrontTest {
 protected:
  void SetUp() override {
    if (!serve::can_serve()) GTEST_SKIP() << "built without libmicrohttpd";
    FrontTest::SetUp();
    if (IsSkipped()) return;
    write(R"(
f['x'] = np.arange(1000, dtype='<i4')
f['group/image'] = (np.arange(20000) % 251).astype('u1').reshape(100, 200)
numbers = np.arange(60000, dtype='<f4').reshape(200, 300)
f.create_dataset('group/deflated', data=numbers, chunks=(50, 60), compression='gzip')
f['soft'] = h5py.SoftLink('/group')
f['group/up'] = f['/']
)");
  }
  // A shell command that reads from $URL, which ends in a slash.
  Outcome with_server(const std::string& command) const {
    return in(
        "{ $H5MOUNT --serve 0 f.h5 > url & SERVER=$!; for i in $(seq 100); do [ -s url ] && break; sleep "
        "0.1; "
        "done; "
        "URL=$(cat url); (" +
        command + "); CODE=$?; kill $SERVER; wait $SERVER; exit $CODE; }");
  }
};

TEST_F(Clients, CurlResumesADownload) {
  const Outcome out = with_server(
      "curl -sf ${URL}group/deflated -o whole && head -c 1000 whole > part && curl -sf -C - "
      "${URL}group/deflated -o part && "
      "cmp whole part && curl -sf -r 0-3,8-11 ${URL}x | grep -c 'Content-Range: bytes' && "
      "curl -sf --etag-save tag ${URL}x -o x && curl -sf --etag-compare tag -w '%{http_code}' ${URL}x");
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.out, "2\n304");
}

TEST_F(Clients, WgetTakesTheTreeAndEndsWhereLinksFormCycles) {
  const Outcome out = with_server(
      "wget -q -r -np -nH -P copy $URL; find copy -type f -size +300c | sort | xargs md5sum | cut -c-32 | "
      "sort -u > got; "
      "for p in x group/image group/deflated; do $H5MOUNT --cat f.h5 $p | md5sum | cut -c-32; done | sort -u "
      "> want; "
      "wc -l < want; comm -13 got want; ls copy/group/deflated");
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.out, "3\ncopy/group/deflated\n");
}

TEST_F(Clients, GdalReadsViewsByRanges) {
  const Outcome out = with_server(
      "gdalinfo -checksum /vsicurl/${URL}.h5/tiff/group/image.tif && "
      "gdal_translate -q -of ENVI /vsicurl/${URL}.h5/tiff/group/image.tif raw.bin && $H5MOUNT --cat f.h5 "
      "group/image | cmp - raw.bin && "
      "gdalinfo 'ZARR:\"/vsicurl/'${URL}'.h5/plain.zarr\":/group/deflated' && "
      "gdalinfo /vsicurl/${URL}.h5/tiff/group/deflated.tif");
  EXPECT_EQ(out.code, 0) << out.err << out.out;
  EXPECT_NE(out.out.find("Size is 200, 100"), std::string::npos) << out.out;
  EXPECT_NE(out.out.find("Size is 300, 200"), std::string::npos) << out.out;
}

TEST_F(Clients, ZarrPythonOpensTheStoreThroughFsspec) {
  if (run("/usr/bin/python3 -c 'import zarr, fsspec, aiohttp, requests'").code != 0)
    GTEST_SKIP() << "no zarr, fsspec and aiohttp for Python";
  const Outcome out = with_server(
      "/usr/bin/python3 -c \"\nimport fsspec, sys, zarr, h5py\n"
      "store = fsspec.get_mapper(sys.argv[1] + '.h5/plain.zarr')\nz = zarr.open_consolidated(store, "
      "mode='r')\n"
      "f = h5py.File('f.h5')\n"
      "for name in ('x', 'group/image', 'group/deflated'): assert (z[name][...] == f[name][()]).all(), "
      "name\nprint('equal')\n\" $URL");
  EXPECT_EQ(out.out, "equal\n") << out.err;
}

// zarrita for node; H5MOUNT_NODE_MODULES names the directory it was installed in: npm install --prefix DIR
// zarrita
TEST_F(Clients, ZarritaOpensTheStores) {
  const char* const modules = std::getenv("H5MOUNT_NODE_MODULES");
  if (modules == nullptr || run("command -v node").code != 0)
    GTEST_SKIP() << "no node, or H5MOUNT_NODE_MODULES does not name zarrita";
  std::ofstream(place / "read.mjs") << R"(
import * as zarr from "zarrita";
for (const root of [".h5/plain.zarr", ".h5/v3.zarr", ".h5/stored.zarr"]) {
  const store = await zarr.withConsolidatedMetadata(new zarr.FetchStore(process.argv[2] + root));
  for (const name of ["x", "group/image", "group/deflated"]) {
    const array = await zarr.open(zarr.root(store).resolve(name), {kind: "array"});
    const all = await zarr.get(array);
    let sum = 0;
    for (const value of all.data) sum += Number(value);
    console.log(root, name, all.shape.join("x"), sum);
  }
}
)";
  in("ln -sfn " + std::string(modules) + "/node_modules node_modules");
  const Outcome out = with_server("node read.mjs $URL");
  EXPECT_EQ(out.code, 0) << out.err;
  for (const char* root : {".h5/plain.zarr", ".h5/v3.zarr", ".h5/stored.zarr"})
    for (const char* words :
         {" x 1000 499500\n", " group/deflated 200x300 1799970000\n", " group/image 100x200 "})
      EXPECT_NE(out.out.find(root + std::string(words)), std::string::npos) << out.out;
}

}  // namespace
}  // namespace h5mount::test
