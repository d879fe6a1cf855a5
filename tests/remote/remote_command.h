// The programs over files of a far server.
#pragma once

#include "far_server.h"
#include "front/front_test.h"

namespace h5mount::test {

class RemoteCommandTest : public FrontTest {
 protected:
  void SetUp() override {
    FrontTest::SetUp();
    if (IsSkipped()) return;
    const Outcome made =
        in("/usr/bin/python3 '" + (source_root() / "tests/remote/write_files.py").string() + "'");
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
