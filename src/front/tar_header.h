// Headers of tar members: ustar, preceded by a pax header for what ustar cannot express. Pure functions. They
// are our own, as libarchive does not encode `=` and `%` in names of attributes as GNU tar does, and copies
// what it is given, where pieces that only the kernel may touch must not be copied.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::front {

inline constexpr std::size_t kTarBlock = 512;

enum class TarType : char { File = '0', HardLink = '1', Symlink = '2', Directory = '5' };

struct TarMember {
  TarType type = TarType::File;
  std::string name;    // a directory's ends in `/`
  std::string target;  // of links
  std::uint64_t size = 0;
  tree::NodeStat stat = {};
  std::vector<std::pair<std::string, std::string>> xattrs;
  bool sparse = false;
  std::vector<dataset::ByteRange> extents = {};  // of a file of `size` bytes, if `sparse` is set
};

// The whole header; for a sparse file (GNU.sparse 1.0) with the map that precedes its data: whole blocks.
std::string tar_header(const TarMember& member);

// Zeros up to the next block.
std::string tar_padding(std::uint64_t bytes);

// The end of an archive of `bytes` bytes, padded to a whole record of 20 blocks.
std::string tar_end(std::uint64_t bytes);

}  // namespace h5mount::front
