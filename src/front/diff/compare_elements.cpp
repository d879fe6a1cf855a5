#include <algorithm>

#include "compared_side.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/tree/files_read.h"

namespace h5mount::front {
namespace {

constexpr std::uint64_t kStepsPerRunPair = 500;
constexpr std::uint64_t kPartBytes = 4U << 20;  // of what one worker compares at a time

// Whether any part is read as fast by itself as one behind the other.
bool reads_at_random(const dataset::DatasetReader& reader) {
  if (reader.description().layout.cls == format::LayoutClass::Compact) return true;
  const auto run = reader.stored_run(0);
  return run && run->length >= reader.size() && !run->source->far();
}

// The elements from `first` on that were written, or not, on one side.
struct SideRun {
  std::uint64_t end = 0;
  bool written = true;
};

Result<SideRun> run_of(const ComparedSide& side, std::uint64_t first) {
  const std::uint64_t size = side.element_size();
  H5_TRY(side.budget.spend(kStepsPerRunPair));
  H5_ASSIGN(const auto run, side.reader().written_run(first * size, side.budget));
  const std::uint64_t end = run.written ? divide_up(run.end, size) : run.end / size;
  if (end > first) return SideRun{end, run.written};
  return SideRun{first + 1, true};
}

// Raw files are no part of the file that names them: they allow for as much as another file does.
Status allow_for_raw_files(const ComparedSide& side) {
  std::uint64_t begin = 0;
  for (const object::ExternalSegment& segment : side.description().external) {
    H5_TRY(side.budget.spend(limits::kStepsPerSourceFile));
    const auto stored = segment.size > 0 ? side.reader().stored_place(begin) : std::nullopt;
    if (stored) side.budget.allow_more(stored->length);
    const auto end = checked_add(begin, segment.size);
    if (!end) break;
    begin = *end;
  }
  return {};
}

class ElementsComparison {
 public:
  ElementsComparison(const ElementComparison& comparison, const ComparedSide& a, const ComparedSide& b,
                     std::uint64_t first, cache::WorkerPool& workers,
                     std::atomic<std::uint64_t>* compared_bytes)
      : count_(a.reader().size() / a.element_size()),
        total_(first, compared_bytes),
        sides_{comparison, a, b, workers, total_},
        at_random_(reads_at_random(a.reader()) && reads_at_random(b.reader())) {}

  Status compare() {
    // Chunks of the same bytes are equal even if nobody can decode them.
    if (!have_same_chunks(sides_)) {
      H5_ASSIGN(const bool readable, note_problems());
      if (!readable) return {};
    }
    SideRun of_a, of_b;
    for (std::uint64_t at = 0; at < count_;) {
      H5_TRY(go_on(sides_.a, at, of_a));
      H5_TRY(go_on(sides_.b, at, of_b));
      const std::uint64_t end = std::min({of_a.end, of_b.end, count_});
      if (of_a.written || of_b.written)
        H5_TRY(compare_written(at, end));
      else
        H5_TRY(compare_fill(at, end));
      at = end;
    }
    return {};
  }
  DifferentValues result() && { return std::move(total_).result(sides_.a.description().space); }

 private:
  // Whether reads may succeed.
  Result<bool> note_problems() {
    const auto of_a = sides_.a.reader().problem(), of_b = sides_.b.reader().problem();
    ElementsPart part = sides_.part(0);
    if (of_a) H5_TRY(part.note(Which::A, *of_a));
    if (of_b) H5_TRY(part.note(Which::B, *of_b));
    total_.add(std::move(part));
    return !of_a && !of_b;
  }

  // What is not known counts as written: reading it tells what is wrong.
  Status go_on(const ComparedSide& side, std::uint64_t at, SideRun& run) {
    if (at < run.end) return {};
    const auto next = run_of(side, at);
    if (!next && concerns_one_request(next.error())) return fail(next.error());
    run = next.value_or(SideRun{count_, true});
    return {};
  }

  // Neither side was ever written there.
  Status compare_fill(std::uint64_t begin, std::uint64_t end) {
    ElementsPart part = sides_.part(begin);
    ImageBytes a(sides_.a.cache(), sides_.a.reader(), sides_.a.budget);
    ImageBytes b(sides_.b.cache(), sides_.b.reader(), sides_.b.budget);
    const auto of_a = fill_at(sides_.a, a, begin), of_b = fill_at(sides_.b, b, begin);
    if (!of_a) H5_TRY(part.note(Which::A, of_a.error()));
    if (!of_b) H5_TRY(part.note(Which::B, of_b.error()));
    if (of_a && of_b) H5_TRY(part.compare_repeated(*of_a, *of_b, begin, end - begin));
    total_.add(std::move(part));
    return {};
  }

  static Result<ByteSpan> fill_at(const ComparedSide& side, ImageBytes& image, std::uint64_t element) {
    if (!side.fill.empty()) return ByteSpan(side.fill);
    return image.at(element * side.element_size(), side.element_size());
  }

  Status compare_written(std::uint64_t begin, std::uint64_t end) {
    if (have_same_chunks(sides_)) {
      const Status done = compare_chunks(sides_, begin, end);
      if (done || done.error().code() != ErrorCode::UnsupportedFeature) return done;
    }
    const std::uint64_t size = std::max(sides_.a.element_size(), sides_.b.element_size());
    const std::uint64_t of_part = std::max<std::uint64_t>(1, kPartBytes / size);
    if (at_random_) return compare_at_random(begin, end, of_part);
    for (; begin < end; begin += std::min(2 * of_part, end - begin))
      H5_TRY(compare_forward(begin, std::min(2 * of_part, end - begin)));
    return {};
  }

  Status compare_at_random(std::uint64_t begin, std::uint64_t end, std::uint64_t of_part) {
    const auto first = [&](std::uint64_t i) { return begin + i * of_part; };
    return compare_parts(
        sides_.workers, divide_up(end - begin, of_part), of_part * sides_.a.element_size(), total_,
        [&](std::uint64_t i) { return sides_.part(first(i)); },
        [&](std::uint64_t i, ElementsPart& part) {
          ImageBytes a(sides_.a.cache(), sides_.a.reader(), sides_.a.budget);
          ImageBytes b(sides_.b.cache(), sides_.b.reader(), sides_.b.budget);
          return compare_bytes(a, b, first(i), std::min(of_part, end - first(i)), itself, part);
        });
  }

  // Reads both sides in order, which has their workers decode what comes next, and compares in parallel.
  Status compare_forward(std::uint64_t begin, std::uint64_t count) {
    const Side a(sides_.a, pattern_a_, begin, count), b(sides_.b, pattern_b_, begin, count);
    H5_TRY(a.passing());
    H5_TRY(b.passing());
    constexpr std::uint64_t kParts = 16;
    const std::uint64_t of_part = divide_up(count, kParts);
    const auto first = [&](std::uint64_t i) { return begin + i * of_part; };
    return compare_parts(
        sides_.workers, divide_up(count, of_part), of_part * sides_.a.element_size(), total_,
        [&](std::uint64_t i) { return sides_.part(first(i)); },
        [&](std::uint64_t i, ElementsPart& part) {
          return compare_bytes(*a.bytes(), *b.bytes(), first(i), std::min(of_part, begin + count - first(i)),
                               itself, part);
        });
  }

  // A part of one side. If it cannot be read as a whole, its elements are read one by one.
  class Side {
   public:
    Side(const ComparedSide& side, dataset::ReadPattern& pattern, std::uint64_t begin, std::uint64_t count)
        : side_(side), begin_(begin * side.element_size()) {
      const std::uint64_t bytes = count * side.element_size();
      read_ = side.budget.spend(steps_of_read(side.reader(), bytes));
      if (read_) read_ = side.reader().read(begin_, bytes, {&pattern, side.budget}, pieces_);
    }
    Status passing() const { return !read_ && concerns_one_request(read_.error()) ? read_ : Status(); }
    std::unique_ptr<ComparedBytes> bytes() const {
      if (read_) return std::make_unique<PieceBytes>(side_.cache(), pieces_, begin_);
      return std::make_unique<ImageBytes>(side_.cache(), side_.reader(), side_.budget);
    }

   private:
    const ComparedSide& side_;
    const std::uint64_t begin_;
    dataset::Pieces pieces_;
    Status read_;
  };

  static std::uint64_t itself(std::uint64_t number) { return number; }

  const std::uint64_t count_;
  ElementsTotal total_;
  const ComparedSides sides_;
  const bool at_random_;
  dataset::ReadPattern pattern_a_, pattern_b_;
};

}  // namespace

Result<DifferentValues> compare_elements(const ElementComparison& comparison, const tree::FileObject& a,
                                         const tree::FileObject& b, std::uint64_t first,
                                         cache::WorkerPool& workers, RequestBudget& budget,
                                         std::atomic<std::uint64_t>* compared_bytes) {
  H5_ASSIGN(view::ViewInput of_a, a.elements()(budget));
  H5_ASSIGN(view::ViewInput of_b, b.elements()(budget));
  if (of_a.reader->size() == 0) return DifferentValues();
  const ComparedSide side_a(std::move(of_a), budget), side_b(std::move(of_b), budget);
  H5_TRY(allow_for_raw_files(side_a));
  H5_TRY(allow_for_raw_files(side_b));
  ElementsComparison elements(comparison, side_a, side_b, first, workers, compared_bytes);
  H5_TRY(elements.compare());
  tree::FilesRead read;
  a.add_to(read);
  b.add_to(read);
  H5_TRY(read.confirm_unchanged());
  return std::move(elements).result();
}

}  // namespace h5mount::front
