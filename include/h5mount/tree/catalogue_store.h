// CatalogueStore: a place where the rows of files in a catalogue are remembered from mount to mount (module
// `store`). Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/hash.h"
#include "h5mount/tree/catalogue_row.h"

namespace h5mount::tree {

// The identity under which the card of a file (join/card.h) is remembered: one row with the card's bytes as
// its value.
inline std::uint64_t card_identity(std::uint64_t file) {
  return mix_bits({file, fnv1a("card")});
}

class CatalogueStore {
 public:
  // Identifies a file and a state of it: another stamp means another state.
  struct Key {
    std::uint64_t identity = 0, stamp = 0, size = 0;
  };
  using Take = std::function<Status(const CatalogueRow& row)>;
  using Give = std::function<Result<bool>(CatalogueRow& row)>;  // the next row; false: there is none

  virtual ~CatalogueStore() = default;
  // Whether all rows of the file are in the store; they are passed to `take` one by one, in any case those
  // before one that is damaged. Errors: those of `take`.
  virtual Result<bool> find(const Key& key, const Take& take) = 0;
  // Remembers the rows, which replace those of the file's other states. Rows that cannot be stored are not
  // remembered.
  virtual void put(const Key& key, const Give& give) = 0;
  // Removes the rows of all files except these. `identities`: in ascending order.
  virtual void keep_only(const std::vector<std::uint64_t>& identities) = 0;
};

}  // namespace h5mount::tree
