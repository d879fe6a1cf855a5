// What a copy of a whole mount would hold: every name, byte, symlink text and attribute, and every error on
// the way. It is read through a Tree, as `cp -a --preserve=xattr` would read a mount, without FUSE.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "h5mount/io/byte_source.h"

namespace h5mount::test {

struct EntryState {
  char type = '?';  // d, f, l
  std::uint64_t bytes = 0;
  std::uint64_t content = 0;                        // a hash of the bytes, or of a symlink's text
  std::map<std::string, std::uint64_t> attributes;  // hashes of the values; without user.hdf5.*
};

struct FileState {
  bool opened = false;
  bool complete = false;  // the bounds of the walk were not reached
  std::map<std::string, EntryState> entries;
  std::set<std::string> errors;     // "operation path"
  std::set<std::uint64_t> headers;  // absolute offsets of the object headers that were met
};

FileState read_file_state(std::shared_ptr<io::ByteSource> source);

// How a state differs from that of the intact file, where no error reports it: none that the intact
// file does not give too. Empty where there is no difference or it was reported.
enum class Loss : std::uint8_t { None, Name, Attribute, Renamed, Changed };
const char* loss_name(Loss loss);
struct SilentLoss {
  Loss loss = Loss::None;
  std::string what;  // the path
};
SilentLoss silent_loss(const FileState& intact, const FileState& damaged);

}  // namespace h5mount::test
