// A tree on a real mount point for the length of a test.
#pragma once

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "h5mount/fuse/session.h"

namespace h5mount::test {

class Mounted {
 public:
  Mounted(std::shared_ptr<tree::Tree> tree, fuse::SessionOptions options = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "h5mount-test-XXXXXX").string();
    place_ = ::mkdtemp(name.data());
    options.mountpoint = place_;
    options.source = "fake, with \\ and comma";
    options.handle_signals = false;
    auto session = fuse::Session::mount(std::move(tree), options);
    if (!session) {
      trouble_ = session.error().text();
      return;
    }
    session_ = std::move(*session);
    std::promise<void> ready;
    server_ = std::thread([this, &ready] { result_ = session_->serve([&ready] { ready.set_value(); }); });
    ready.get_future().wait();
  }

  ~Mounted() {
    end();
    std::filesystem::remove(place_);
  }

  // Returns the result of serve.
  int end() {
    if (server_.joinable()) {
      ::umount2(place_.c_str(), MNT_DETACH);
      server_.join();
    }
    session_.reset();
    return result_;
  }

  std::filesystem::path path(const std::string& below = {}) const { return place_ / below; }
  const std::string& trouble() const { return trouble_; }

 private:
  std::filesystem::path place_;
  std::string trouble_;
  std::unique_ptr<fuse::Session> session_;
  std::thread server_;
  int result_ = -1;
};

inline bool can_mount_as_root() {
  return ::access("/dev/fuse", R_OK | W_OK) == 0 && ::geteuid() == 0;
}

}  // namespace h5mount::test

#define H5MOUNT_NEEDS_FUSE() \
  if (!::h5mount::test::can_mount_as_root()) GTEST_SKIP() << "no /dev/fuse that may be used, or not root"
