// Bodies of answers, read in order. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "answer_memory.h"
#include "h5mount/base/bytes.h"

namespace h5mount::serve {

class Body {
 public:
  virtual ~Body() = default;
  // The size; nullopt if it is known only at the end.
  virtual std::optional<std::uint64_t> size() const = 0;
  // Reads the next bytes, at most as many as `out` takes, and fewer if reading them took long; returns 0 at
  // the end. May take as long as reading a file takes.
  virtual Result<std::size_t> read(MutableByteSpan out, RequestWork& work) = 0;
  // The next bytes as memory that only the kernel may read (io::ByteSource::mapped), if they are stored as
  // they are; if empty, `read` has to be used. They are of this version of the file if `revalidate` succeeds
  // after they were copied.
  virtual ByteSpan stored() const { return {}; }
  virtual void skip(std::uint64_t bytes) { (void)bytes; }
  virtual Status revalidate() const { return {}; }
  // Reads as many of the next bytes as can be had without waiting. Returns 0 if `read` has to be used, or at
  // the end. `work` belongs to a quick job, which is interrupted before it would wait.
  virtual Result<std::size_t> read_at_once(MutableByteSpan out, RequestWork& work) {
    (void)out, (void)work;
    return std::size_t{0};
  }
};
using BodyPtr = std::unique_ptr<Body>;

// `charge`: for the text, as long as the body lives.
BodyPtr make_text_body(std::string text, MemoryCharge charge = {});

// Reads all of a body.
Result<std::string> read_all(Body& body, RequestWork& work);

}  // namespace h5mount::serve
