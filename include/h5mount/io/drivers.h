// Sets of files as libhdf5's family, multi and split drivers write them: the members joined into one address
// space. Their arrangement is stored in the superblock's driver information; this module does not read it,
// the caller passes it (format/superblock.h decodes it).
//
// Members are opened through the caller's `OpenMember`, which enforces the policy on file names. Threads: as
// for any ByteSource.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/io/byte_source.h"

namespace h5mount::io {

// Opens a member by its path; fails with NotFound if there is none.
using OpenMember = std::function<Result<std::shared_ptr<ByteSource>>(const std::string& path)>;

// True if `path` contains a member number in printf's notation: "%d", "%05d"…
bool is_family_name(std::string_view path);
// The path of member `number`: the first "%…d" is replaced, "%%" is a percent sign.
std::string family_member_path(std::string_view pattern, unsigned number);
// The files that `path` may denote, most likely first: itself, then the first member of the set of this name
// (a family's pattern, or the common name of a multi or split file).
std::vector<std::string> first_member_candidates(const std::string& path);
// The patterns of which `first_member` may be the first member, most likely first: each run of digits of
// value zero in its last component, from the last ("run0-00000.h5" is "run0-%05d.h5", then "run%d-00000.h5").
std::vector<std::string> family_patterns_of(const std::string& first_member);

// Opens the members from number 0 until one is missing. Each covers `member_size` bytes of addresses (the
// first member's own size if that is absent or 0). `first` may be the first member, already open, or null.
// Fails with NotFound if there is no first member, and with LimitExceeded above limits::kMaxFamilyMembers.
Result<std::shared_ptr<ByteSource>> open_family(const std::string& pattern,
                                                std::optional<std::uint64_t> member_size,
                                                std::shared_ptr<ByteSource> first, const OpenMember& open);

// A member of a multi or split file: `name` is a pattern ("%s-r.h5") for the common path `stem`.
struct MultiMember {
  std::uint64_t start = 0;
  std::string name;
};
// Opens the members. The address range of a missing member cannot be read, but all others can. Fails with
// NotFound if the member at address 0 is missing, and with InvalidValue for names that leave the directory.
Result<std::shared_ptr<ByteSource>> open_multi(const std::string& stem,
                                               const std::vector<MultiMember>& members,
                                               const OpenMember& open);

}  // namespace h5mount::io
