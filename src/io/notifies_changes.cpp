#include "h5mount/io/notifies_changes.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace h5mount::io {
namespace {

// NFS, SMB, CIFS, FUSE, 9P, Ceph, Lustre, GPFS, AFS, BeeGFS, OCFS2, GFS2, Coda.
constexpr std::array<std::uint32_t, 14> kSilentTypes = {
    0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x65735546, 0x01021997, 0x00C36400,
    0x0BD00BD0, 0x47504653, 0x5346414F, 0x19830326, 0x7461636F, 0x01161970, 0x73757245};

}  // namespace

bool notifies_changes(const struct statfs& file_system) {
  return std::ranges::find(kSilentTypes, static_cast<std::uint32_t>(file_system.f_type)) ==
         kSilentTypes.end();
}

bool notifies_changes(const std::string& path) {
  struct statfs place = {};
  return ::statfs(path.c_str(), &place) == 0 && notifies_changes(place);
}

}  // namespace h5mount::io
