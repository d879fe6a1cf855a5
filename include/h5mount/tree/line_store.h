// LineStore: a place where the lines of files in a catalogue are remembered from mount to mount (module
// `store`). What it gives is not trusted. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::tree {

class LineStore {
 public:
  // Which file, and of which time: another stamp is another state of the file.
  struct Key {
    std::uint64_t identity = 0, stamp = 0, size = 0;
  };
  using Take = std::function<Status(std::string_view part)>;
  using Give = std::function<Result<bool>(std::string& part)>;  // the next part; false: there is none

  virtual ~LineStore() = default;
  // Whether the file's lines are there; they are given part by part. Errors: those of `take`.
  virtual Result<bool> find(const Key& key, const Take& take) = 0;
  // Remembers them in place of those of the file's other states. What cannot be stored is not remembered.
  virtual void put(const Key& key, const Give& give) = 0;
  // These are all files that there are: the lines of others are removed. `identities`: in ascending order.
  virtual void keep_only(const std::vector<std::uint64_t>& identities) = 0;
};

}  // namespace h5mount::tree
