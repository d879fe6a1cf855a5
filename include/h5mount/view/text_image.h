// TextImage: a dataset shown as text, one element a line, without the text being held anywhere. One pass over
// the elements measures it and leaves checkpoints (line, text offset) a bounded number of bytes apart; a
// read renders the stretches between checkpoints that it touches, each a block of the cache.
//
// Immutable once measured; threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/view/view.h"

namespace h5mount::view {

// True where a dataset of this type has no byte form of its own: strings of variable length become lines, all
// else that is variable-length or refers to something becomes JSON lines.
bool is_shown_as_text(const format::Datatype& type);

// What stands in a line.
struct LineFormat {
  std::uint64_t elements = 1;  // that follow one another in the image; a divisor of their number
  // Appends the text of so many elements, without a newline.
  Status (*append)(const format::Datatype& type, ByteSpan elements, const text::ValueContext& context,
                   std::string& out);
};
// Strings of variable length as their bytes, all else as JSON.
Status append_element_line(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                           std::string& out);

class TextImage final : public ComputedFile {
 public:
  // Renders every element once; or, where `before` is the text of the same dataset when it was shorter, those
  // only behind the last checkpoint before byte `same_elements_bytes` of the elements, up to which both are
  // the same. Errors: an element that cannot be read (its length is then unknown, and with it the place of
  // all that follow).
  static Result<std::shared_ptr<const TextImage>> measure(DatasetReaderPtr reader, text::ValueContext context,
                                                          std::shared_ptr<cache::BlockCache> cache,
                                                          const TextImage* before = nullptr,
                                                          std::uint64_t same_elements_bytes = 0,
                                                          LineFormat lines = {1, append_element_line});
  ~TextImage() override;
  TextImage(const TextImage&) = delete;
  TextImage& operator=(const TextImage&) = delete;

  std::uint64_t size() const override { return checkpoints_.back().offset; }
  // Text up to here was taken over from the image before.
  std::uint64_t same_bytes() const { return same_bytes_; }
  std::vector<dataset::ByteRange> stale_since(const ComputedFile&,
                                              std::span<const dataset::ByteRange>) const override {
    return {{same_bytes_, format::kUnlimited}};
  }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadPattern*,
              dataset::Pieces& out) const override {
    return read(offset, length, out);
  }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out) const;

 private:
  struct Checkpoint {
    std::uint64_t line = 0;
    std::uint64_t offset = 0;  // of the line
  };
  class Measuring;

  TextImage(DatasetReaderPtr reader, text::ValueContext context, std::shared_ptr<cache::BlockCache> cache,
            LineFormat lines);

  // Calls `each` with the text of every line of [first, last) appended to `text`; `each` may empty it.
  template <class Each>
  Status render(std::uint64_t first, std::uint64_t last, std::string& text, Each&& each) const;
  std::uint64_t line_bytes() const;  // of elements
  Result<cache::BlockPtr> stretch(std::size_t index) const;
  void keep(std::size_t index, const std::string& text) const;

  DatasetReaderPtr reader_;
  text::ValueContext context_;
  std::shared_ptr<cache::BlockCache> cache_;
  LineFormat lines_;
  std::uint64_t owner_;
  std::uint64_t same_bytes_ = 0;
  std::vector<Checkpoint> checkpoints_;  // the first at 0, the last at the end
};
using TextImagePtr = std::shared_ptr<const TextImage>;

}  // namespace h5mount::view
