// Policies: what may be in a file that is opened for somebody who does not trust it. The names are those of
// the HDF Group's h5policy. Immutable; threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::check {

// Which other files a file may name.
enum class AllowedNames : std::uint8_t {
  None,
  Beneath,  // those beneath the directory of the file, where symbolic links do not lead out of it
  Any,
};

// A limit that is met is not passed; nullopt: there is none.
using Limit = std::optional<std::uint64_t>;

struct Policy {
  std::string name = "untrusted";  // or "trusted", or the path of the policy's file
  std::string text;                // of that file
  // Rules without a name of their own: foreign formats, unknown messages, bytes behind the end are refused
  // (true) or warned of, and what would be warned of then is accepted.
  bool strict = true;

  AllowedNames allow_external_links = AllowedNames::None;
  AllowedNames allow_external_storage = AllowedNames::None;
  AllowedNames allow_vds = AllowedNames::None;
  std::optional<std::vector<std::uint16_t>> allow_filters;  // by their numbers; nullopt: any
  Limit max_object_count, max_attribute_count, max_chunk_count;
  Limit max_link_traversal_depth, max_datatype_recursion_depth;
  Limit max_logical_dataset_bytes;  // of each dataset
  Limit max_expansion;              // bytes claimed over bytes stored, of what claims at least so many:
  std::uint64_t max_expansion_min_bytes = 0;
  std::uint64_t min_logical_chunk_bytes = 0;  // chunks of fewer bytes, as decoded, are tiny; 0: none are
  Limit max_chunks_below_min_logical_bytes;   // of the file
};

Policy untrusted_policy();
Policy trusted_policy();

// `word`: `untrusted`, `trusted`, or the path of a file of `name = value` lines, in which what is unset is as
// in `untrusted`. Errors: NotFound and Io for a file that cannot be read, InvalidValue with the line's number
// and name for what it should not have.
Result<Policy> read_policy(const std::string& word);
// The text of such a file. `path`: for messages, and the policy's name.
Result<Policy> parse_policy(std::string_view text, const std::string& path);

}  // namespace h5mount::check
