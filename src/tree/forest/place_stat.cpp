#include "place_stat.h"

#include "forest_files.h"

namespace h5mount::tree {

NodeStat stat_of_place(const Place& place, const ForestEntry& entry, const TreeOptions& options) {
  using Kind = ForestEntry::Kind;
  constexpr std::uint32_t kRead = 0444, kReadAndSearch = 0555;
  const object::FileAttributes& source = entry.source.attributes;
  NodeStat out;
  out.ino = ForestFiles::ino_of(place, entry);
  out.uid = options.uid.value_or(source.uid);
  out.gid = options.gid.value_or(source.gid);
  out.mtime = source.mtime, out.mtime_nanoseconds = source.mtime_nanoseconds;
  out.type = NodeType::File;
  switch (entry.kind) {
    case Kind::Directory:
      out.type = NodeType::Directory;
      out.mode = source.mode & kReadAndSearch & ~options.directory_umask;
      break;
    case Kind::Hdf5:
      out.type = NodeType::Directory;
      out.mode = ((source.mode & kRead) | (source.mode & kRead) >> 2) & ~options.directory_umask;
      break;
    case Kind::Plain:
      out.mode = source.mode & kReadAndSearch & ~options.file_umask;
      out.size = entry.source.size;
      out.blocks = entry.source.blocks;
      break;
    case Kind::Symlink:
      out.type = NodeType::Symlink;
      out.mode = 0777;
      out.size = entry.target.size();
      break;
    case Kind::Refused:
      out.unreadable = true;
      break;
  }
  return out;
}

}  // namespace h5mount::tree
