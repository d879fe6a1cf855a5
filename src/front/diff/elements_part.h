// The parts that a comparison of datasets is divided into, and what becomes of their results. Private to
// compare_values.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compare_values.h"
#include "h5mount/base/scratch_buffer.h"

namespace h5mount::front {

// The row-major number of an element, and its values as JSON.
struct NumberedPlace {
  std::uint64_t number = 0;
  std::string a = {}, b = {};
};

DifferentPlace place_in(const format::Dataspace& space, NumberedPlace place);

// What was found in one part; one thread.
class ElementsPart {
 public:
  // `wanted`: places to keep.
  ElementsPart(const ElementComparison& comparison, const text::ValueContext& a, const text::ValueContext& b,
               std::uint64_t wanted)
      : comparison_(comparison), work_{a, b}, wanted_(wanted) {}

  // As many elements as both spans hold, one behind the other. `number_of(i)` is the row-major number of
  // element i of them. Errors: those of the budget.
  using NumberOf = std::function<std::uint64_t(std::uint64_t)>;
  Status compare(ByteSpan a, ByteSpan b, const NumberOf& number_of);
  // `count` elements from number `first` on, which are all the same on each side.
  Status compare_repeated(ByteSpan a, ByteSpan b, std::uint64_t first, std::uint64_t count);
  // What follows has no number below `from`, but its numbers may be below those before it.
  void begin_again(std::uint64_t from);
  // Records why some elements of a side were not compared.
  Status note(Which side, const Error& error);

  RequestBudget& budget() { return work_.a.budget; }
  const ElementComparison& comparison() const { return comparison_; }

 private:
  friend class ElementsTotal;
  Result<NumberedPlace> place_of(ByteSpan a, ByteSpan b);

  const ElementComparison& comparison_;
  ElementComparison::Work work_;
  const std::uint64_t wanted_;
  std::uint64_t count_ = 0;
  std::vector<NumberedPlace> places_;
  std::size_t begin_ = 0;         // places from here on are ascending, and so are those before
  std::uint64_t room_ = wanted_;  // for places from there on
};

// The sum of parts; one thread.
class ElementsTotal {
 public:
  explicit ElementsTotal(std::uint64_t first, std::atomic<std::uint64_t>* compared_bytes = nullptr)
      : most_(first), compared_bytes_(compared_bytes) {}

  // How many places of a part that has no number below `from` may be among the first ones.
  std::uint64_t wanted(std::uint64_t from) const;
  void add(ElementsPart&& part);
  DifferentValues result(const format::Dataspace& space) &&;
  // Threads: any.
  void count_bytes(std::uint64_t bytes) const {
    if (compared_bytes_ != nullptr) compared_bytes_->fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t>* const compared_bytes_;
  std::uint64_t count_ = 0;
  std::vector<NumberedPlace> places_;  // ascending
  std::optional<Error> failure_a_, failure_b_;
};

// What a read of so many bytes of an image costs, beside what the reader charges itself.
std::uint64_t steps_of_read(const dataset::DatasetReader& reader, std::uint64_t bytes);

// Bytes that are compared by and by; one thread.
class ComparedBytes {
 public:
  explicit ComparedBytes(const std::shared_ptr<cache::BlockCache>& cache) : charge_(cache->no_charge()) {}
  virtual ~ComparedBytes() = default;
  // The bytes [offset, offset + length), which must exist; valid until the next call.
  virtual Result<ByteSpan> at(std::uint64_t offset, std::uint64_t length) = 0;
  // How many of the `count` elements from element `first` on lie in one chunk, so that damage is of them all.
  virtual std::uint64_t in_one_chunk(std::uint64_t /*first*/, std::uint64_t count) const { return count; }

 protected:
  Result<MutableByteSpan> room(std::uint64_t bytes);

 private:
  ScratchBuffer scratch_;
  cache::BlockCache::Charge charge_;  // of a large scratch buffer
};

// The image of a dataset, read at random.
class ImageBytes final : public ComparedBytes {
 public:
  ImageBytes(const std::shared_ptr<cache::BlockCache>& cache, const dataset::DatasetReader& reader,
             RequestBudget& budget)
      : ComparedBytes(cache), reader_(reader), budget_(budget) {}
  Result<ByteSpan> at(std::uint64_t offset, std::uint64_t length) override;
  std::uint64_t in_one_chunk(std::uint64_t first, std::uint64_t count) const override;

 private:
  const dataset::DatasetReader& reader_;
  RequestBudget& budget_;
};

// Pieces whose first byte is at offset `begin`.
class PieceBytes final : public ComparedBytes {
 public:
  PieceBytes(const std::shared_ptr<cache::BlockCache>& cache, const dataset::Pieces& pieces,
             std::uint64_t begin)
      : ComparedBytes(cache), pieces_(pieces), begin_(begin) {}
  Result<ByteSpan> at(std::uint64_t offset, std::uint64_t length) override;

 private:
  const dataset::Pieces& pieces_;
  const std::uint64_t begin_;
  std::uint64_t copied_from_ = 0;
  ByteSpan copied_;  // of what the kernel alone may read, or what lies in several pieces
};

// Compares `count` elements from element `first` on of both, in parts that processors cache, and chunk by
// chunk where these cannot be read.
Status compare_bytes(ComparedBytes& a, ComparedBytes& b, std::uint64_t first, std::uint64_t count,
                     const ElementsPart::NumberOf& number_of, ElementsPart& part);

// Divides what `workers` are to do into rounds, whose results are added in order. `count` parts:
// make(i, wanted places) starts a part of so many bytes, work(i, part) does it. Errors: those of the budget.
Status compare_parts(cache::WorkerPool& workers, std::uint64_t count, std::uint64_t bytes,
                     ElementsTotal& total, const std::function<ElementsPart(std::uint64_t)>& make,
                     const std::function<Status(std::uint64_t, ElementsPart&)>& work);

}  // namespace h5mount::front
