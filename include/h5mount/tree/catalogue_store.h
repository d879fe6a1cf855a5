// CatalogueStore: a place where the lines of files in a catalogue are remembered from mount to mount (module
// `store`). The lines that it returns are not trusted: they are taken apart like any other bytes, and read
// from the file again if they are not sound. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::tree {

class CatalogueStore {
 public:
  // Identifies a file and a state of it: another stamp means another state.
  struct Key {
    std::uint64_t identity = 0, stamp = 0, size = 0;
  };
  using Take = std::function<Status(std::string_view part)>;
  using Give = std::function<Result<bool>(std::string& part)>;  // the next part; false: there is none

  virtual ~CatalogueStore() = default;
  // Whether the file's lines are in the store; if so, they are passed to `take` part by part. Errors: those
  // of `take`.
  virtual Result<bool> find(const Key& key, const Take& take) = 0;
  // Remembers the lines, which replace those of the file's other states. Lines that cannot be stored are not
  // remembered.
  virtual void put(const Key& key, const Give& give) = 0;
  // Removes the lines of all files except these. `identities`: in ascending order.
  virtual void keep_only(const std::vector<std::uint64_t>& identities) = 0;
};

}  // namespace h5mount::tree
