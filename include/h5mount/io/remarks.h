// Remarks: what a source that changes a file's bytes (salvage) tells about the objects in them. A source that
// has remarks derives from this class; others have none. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "h5mount/io/byte_source.h"

namespace h5mount::io {

class Remarks {
 public:
  virtual ~Remarks() = default;
  // JSON, shown as user.hdf5.salvage; nullopt if the object at that address was found in the ordinary way.
  virtual std::optional<std::string> remark(std::uint64_t address) const = 0;
  // Whether some bytes of the dataset at that address are known to be gone: reading them is an error.
  virtual bool lacks_bytes(std::uint64_t address) const = 0;
};

inline const Remarks* remarks_of(const ByteSource* source) {
  return dynamic_cast<const Remarks*>(source);
}

}  // namespace h5mount::io
