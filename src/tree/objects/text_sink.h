// TextSink: receives a text that is made part by part. Threads: one.
#pragma once

#include <cstdint>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::tree {

class TextSink {
 public:
  virtual ~TextSink() = default;
  // After an error the text is of no use.
  virtual Status append(std::string_view bytes) = 0;
  // Bytes that may follow, if nothing else takes them.
  virtual std::uint64_t left() const = 0;
};

}  // namespace h5mount::tree
