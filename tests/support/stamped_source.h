// A source that is its own state: for tests that write their files themselves. They override `stamp`, which
// is asked as that of a local file is.
#pragma once

#include "h5mount/io/byte_source.h"

namespace h5mount::test {

class StampedSource : public io::ByteSource, public io::SourceState {
 public:
  io::SourceState& state() override { return *this; }
  bool checks_reads() const override { return false; }
};

}  // namespace h5mount::test
