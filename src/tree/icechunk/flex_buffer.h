// FlexBuffers (https://flatbuffers.dev/flatbuffers_internals, "FlexBuffers"): a value that describes itself,
// as bytes. Pure; threads: any.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace h5mount::tree {

struct FlexValue {
  using Map = std::vector<std::pair<std::string, FlexValue>>;  // in the order of the keys
  std::variant<bool, std::string, Map> value;
};

std::string flex_buffer(const FlexValue& value);

}  // namespace h5mount::tree
