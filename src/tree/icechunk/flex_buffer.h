// FlexBuffers (https://flatbuffers.dev/flatbuffers_internals, "FlexBuffers"): a value that describes itself,
// as bytes. Pure; threads: any.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace h5mount::tree {

struct FlexEntry;
struct FlexValue {
  using Map = std::vector<FlexEntry>;  // in the order of the keys
  std::variant<bool, std::string, Map> value;
};
struct FlexEntry {
  std::string key;
  FlexValue value;
};

std::string flex_buffer(const FlexValue& value);

}  // namespace h5mount::tree
