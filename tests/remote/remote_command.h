// The programs over files of a far server.
#pragma once

#include "far_server.h"
#include "front/front_test.h"

namespace h5mount::test {

inline constexpr const char* kFiles = R"(
import h5py, numpy as np, os
os.makedirs('www/deep/er')
with h5py.File('www/deep/main.h5', 'w') as f:
    f['numbers'] = np.arange(500000, dtype='<i4')
    f.create_dataset('packed', data=np.arange(400000, dtype='<u2').reshape(400, 1000), chunks=(40, 100),
                     compression='gzip', shuffle=True)
    f['words'] = ['one', 'two']
    f.attrs['title'] = 'far'
    f['near'] = h5py.ExternalLink('other.h5', '/d')
    f['below'] = h5py.ExternalLink('er/other.h5', '/d')
    f['above'] = h5py.ExternalLink('../other.h5', '/d')
    f['local'] = h5py.ExternalLink('/etc/passwd', '/d')
with open('www/deep/main.h5', 'rb') as whole, open('www/headless.h5', 'wb') as f:
    f.write(bytes(48) + whole.read()[48:])
for name in ('www/deep/other.h5', 'www/deep/er/other.h5', 'www/other.h5'):
    with h5py.File(name, 'w') as f: f['d'] = np.arange(10, dtype='u1')
open('www/note.txt', 'w').write('not HDF5' * 1000)
)";

class RemoteCommandTest : public FrontTest {
 protected:
  void SetUp() override {
    FrontTest::SetUp();
    if (IsSkipped()) return;
    const Outcome made = in(std::string("/usr/bin/python3 - <<'END'\n") + kFiles + "END");
    ASSERT_EQ(made.code, 0) << made.err;
    serve({});
  }
  void serve(const std::vector<std::string>& options) {
    server = std::make_unique<FarServer>(place / "www", options);
    ASSERT_NE(server->port(), 0);
  }
  // A command in the directory, where $U is the server and $F fsck.h5.
  Outcome with_url(const std::string& command, int seconds = 60) const {
    return in("export U=" + server->url() + " F='" H5MOUNT_FSCK "'; " + command, seconds);
  }

  std::unique_ptr<FarServer> server;
};

class RemoteMountTest : public RemoteCommandTest {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    RemoteCommandTest::SetUp();
  }
  // Fails the test where it does not mount.
  void mounts(const std::string& url, const std::string& options = {}) {
    const Outcome out = with_url("$H5MOUNT " + options + " '" + url + "' " + mount.path());
    ASSERT_EQ(out.code, 0) << out.err;
  }
  MountPoint mount;
};

}  // namespace h5mount::test
