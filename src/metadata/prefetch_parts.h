// The parts of `prefetch` that have a file of their own: each adds a kind of structures to the levels.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/object_header_format.h"
#include "prefetch_levels.h"

namespace h5mount::metadata {

// Whether the message is of that type, and is there itself rather than shared with others.
bool is_message(const format::RawMessage& raw, format::MessageType type);

// ---- version 2 B-trees (prefetch_btree2.cpp)

// Called with each record of a B-tree.
using OnRecord = std::function<void(format::Cursor record)>;

// A tree with all nodes. `on_record` is null if its records lead nowhere.
void expect_btree2(Levels& levels, std::uint64_t address, OnRecord on_record);

// ---- values in the global heap (prefetch_values.cpp)

// The datatype of a message, if values of it are shown as text: they may lie in the global heap.
format::DatatypePtr type_of_text(ByteSpan message, format::FileSizes sizes);

// The collections that these elements refer to.
void expect_values(Levels& levels, const format::Datatype& type, ByteSpan elements);

// What a header says of a dataset, of which what tells the length of its text is added if it is small. A
// header has several blocks, of which the later ones come with a later level.
class TextAhead {
 public:
  explicit TextAhead(Levels& levels) : levels_(levels) {}

  void note(const format::RawMessage& raw, format::Cursor body);
  void note_continuation() { ++blocks_left_; }
  // All messages of a block were noted.
  void end_block();

 private:
  void add(const format::DataLayout& layout);

  Levels& levels_;
  unsigned blocks_left_ = 1;
  bool added_ = false;
  std::vector<std::byte> type_;  // the message; empty: none that matters
  std::optional<format::Dataspace> space_;
  std::optional<format::DataLayout> layout_;
  std::optional<format::FilterPipelineMessage> pipeline_;
};

// ---- chunks (prefetch_chunks.cpp)

inline constexpr std::uint64_t kMaxDescriptors = 256U << 10;  // bytes of a dataset of text that is small

// What a dataset's chunks are found and decoded by.
struct ChunkedText {
  format::DatatypePtr type;
  format::DataLayout layout;
  format::Dataspace space;
  std::vector<format::FilterDescription> filters;
};

// All chunks of a small dataset, by way of its index, and what their elements refer to, for which the filters
// of the chunks are undone.
void expect_chunks(Levels& levels, ChunkedText text);

}  // namespace h5mount::metadata
