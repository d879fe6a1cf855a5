#include "elements_part.h"

#include <algorithm>

#include "element_node.h"
#include "h5mount/base/row_major.h"

namespace h5mount::front {
namespace {

// Both sides of so much stay in a processor's cache between reading and comparing.
constexpr std::uint64_t kComparedAtOnce = 128U << 10;
constexpr std::size_t kUnchargedBytes = 1U << 20;
constexpr std::uint64_t kStepsPerRun = 2000;  // that is read by itself, or cannot be read

// Appends a value, if it is not too long.
Status append_shown(const format::Datatype& type, ByteSpan element, text::ValueContext context,
                    std::string& out) {
  context.max_bytes = kLongestShown;
  const Status written = text::append_json(type, element, context, out);
  if (written || concerns_one_request(written.error())) return written;
  out.clear();
  return {};
}

// The first of places that are ascending before and after `middle`.
void merge_places(std::vector<NumberedPlace>& places, std::size_t middle, std::uint64_t most) {
  const auto by_number = [](const NumberedPlace& a, const NumberedPlace& b) { return a.number < b.number; };
  std::inplace_merge(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(middle), places.end(),
                     by_number);
  if (places.size() > most) places.resize(static_cast<std::size_t>(most));
}

// How many places from number `from` on may be among the first ones.
std::uint64_t room_from(std::uint64_t from, const std::vector<NumberedPlace>& places, std::uint64_t most) {
  return places.size() < most || (most > 0 && from < places.back().number) ? most : 0;
}

}  // namespace

DifferentPlace place_in(const format::Dataspace& space, NumberedPlace place) {
  DifferentPlace out{std::vector<std::uint64_t>(space.dims.size()), std::move(place.a), std::move(place.b)};
  row_major_place(place.number, space.dims, out.index);
  return out;
}

Result<NumberedPlace> ElementsPart::place_of(ByteSpan a, ByteSpan b) {
  NumberedPlace out;
  H5_TRY(append_shown(comparison_.type_a(), a, work_.a, out.a));
  H5_TRY(append_shown(comparison_.type_b(), b, work_.b, out.b));
  return out;
}

Status ElementsPart::compare(ByteSpan a, ByteSpan b, const NumberOf& number_of) {
  ElementComparison::Differing differing{.most = static_cast<std::size_t>(room_)};
  H5_TRY(comparison_.compare(a, b, 0, work_, differing));
  count_ += differing.count;
  for (const std::uint64_t number : differing.numbers) {
    const auto i = static_cast<std::size_t>(number);
    H5_ASSIGN(NumberedPlace place,
              place_of(a.subspan(i * comparison_.type_a().size), b.subspan(i * comparison_.type_b().size)));
    place.number = number_of(number);
    places_.push_back(std::move(place));
    --room_;
  }
  return {};
}

void ElementsPart::begin_again(std::uint64_t from) {
  merge_places(places_, begin_, wanted_);
  begin_ = places_.size();
  room_ = room_from(from, places_, wanted_);
}

Status ElementsPart::compare_repeated(ByteSpan a, ByteSpan b, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t before = count_;
  H5_TRY(compare(a, b, [&](std::uint64_t) { return first; }));
  if (count_ == before) return {};
  count_ = before + count;
  for (std::uint64_t i = 1; i < count && room_ > 0; ++i, --room_) {
    NumberedPlace next = places_.back();
    ++next.number;
    places_.push_back(std::move(next));
  }
  return {};
}

Status ElementsPart::note(Which side, const Error& error) {
  work_.reading = side;
  return note_failure(error, work_);
}

std::uint64_t ElementsTotal::wanted(std::uint64_t from) const {
  return room_from(from, places_, most_);
}

void ElementsTotal::add(ElementsPart&& part) {
  count_ += part.count_;
  if (!failure_a_) failure_a_ = std::move(part.work_.failure_a);
  if (!failure_b_) failure_b_ = std::move(part.work_.failure_b);
  part.begin_again(0);
  const std::size_t middle = places_.size();
  std::ranges::move(part.places_, std::back_inserter(places_));
  merge_places(places_, middle, most_);
}

DifferentValues ElementsTotal::result(const format::Dataspace& space) && {
  DifferentValues out{
      .count = count_, .first = {}, .failure_a = std::move(failure_a_), .failure_b = std::move(failure_b_)};
  for (NumberedPlace& place : places_) out.first.push_back(place_in(space, std::move(place)));
  return out;
}

std::uint64_t steps_of_read(const dataset::DatasetReader& reader, std::uint64_t bytes) {
  return reader.description().layout.cls == format::LayoutClass::Contiguous ? steps_of_bytes(bytes) : bytes;
}

Result<MutableByteSpan> ComparedBytes::room(std::uint64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (size > kUnchargedBytes && size > charge_.bytes()) H5_TRY(charge_.resize(size));
  return scratch_.grown(size);
}

Result<ByteSpan> ImageBytes::at(std::uint64_t offset, std::uint64_t length) {
  H5_ASSIGN(const MutableByteSpan out, room(length));
  H5_TRY(budget_.spend(steps_of_read(reader_, length)));
  H5_TRY(reader_.read_into(offset, out, budget_));
  return ByteSpan(out);
}

std::uint64_t ImageBytes::in_one_chunk(std::uint64_t first, std::uint64_t count) const {
  const object::DatasetDescription& dataset = reader_.description();
  const auto &dims = dataset.space.dims, &chunk = dataset.layout.chunk_dims;
  if (dims.empty() || chunk.size() != dims.size()) return count;
  const std::uint64_t column = first % dims.back(), in_chunk = chunk.back() - column % chunk.back();
  return std::min({count, in_chunk, dims.back() - column});
}

Result<ByteSpan> PieceBytes::at(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t place = offset - begin_;
  if (place >= copied_from_ && place + length <= copied_from_ + copied_.size())
    return copied_.subspan(static_cast<std::size_t>(place - copied_from_), static_cast<std::size_t>(length));
  if (place + length > pieces_.total()) return fail({ErrorCode::Stale, "the dataset became shorter"});
  // What is copied may be more than is asked for now: rows of a chunk can be short.
  std::uint64_t left = std::min(std::max(length, kComparedAtOnce), pieces_.total() - place);
  std::vector<dataset::Piece> list;
  std::uint64_t begin = 0;
  for (const dataset::Piece& piece : pieces_.list()) {
    const std::uint64_t end = begin + piece.bytes.size();
    if (place < end && left > 0) {
      const auto from = static_cast<std::size_t>(place > begin ? place - begin : 0);
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.bytes.size() - from));
      if (list.empty() && n >= length && !piece.kernel_only())
        return piece.bytes.subspan(from, static_cast<std::size_t>(length));
      list.push_back(piece);
      list.back().bytes = piece.bytes.subspan(from, n);
      list.back().address += from;
      left -= n;
    }
    begin = end;
  }
  std::uint64_t total = 0;
  for (const dataset::Piece& piece : list) total += piece.bytes.size();
  H5_ASSIGN(const MutableByteSpan out, room(total));
  copied_ = {};
  H5_TRY(dataset::copy_pieces(list, out));
  copied_from_ = place;
  copied_ = out;
  return copied_.first(static_cast<std::size_t>(length));
}

Status compare_bytes(ComparedBytes& a, ComparedBytes& b, std::uint64_t first, std::uint64_t count,
                     const ElementsPart::NumberOf& number_of, ElementsPart& part) {
  const std::uint64_t size_a = part.comparison().type_a().size, size_b = part.comparison().type_b().size;
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kComparedAtOnce / std::max(size_a, size_b));
  // Nothing is noted of a part that can be divided, which is not done.
  const auto done = [&](std::uint64_t from, std::uint64_t n, bool divisible) -> Result<bool> {
    const Result<ByteSpan> of_a = a.at(from * size_a, n * size_a);
    const Result<ByteSpan> of_b = b.at(from * size_b, n * size_b);
    if (divisible && (!of_a || !of_b)) return false;
    if (!of_a) H5_TRY(part.note(Which::A, of_a.error()));
    if (!of_b) H5_TRY(part.note(Which::B, of_b.error()));
    if (of_a && of_b)
      H5_TRY(part.compare(*of_a, *of_b, [&](std::uint64_t i) { return number_of(from + i); }));
    return true;
  };
  const auto in_one_chunk = [&](std::uint64_t from, std::uint64_t n) {
    return std::min(a.in_one_chunk(from, n), b.in_one_chunk(from, n));
  };
  for (const std::uint64_t end = first + count; first < end;) {
    const std::uint64_t n = std::min(at_once, end - first), next = first + n;
    H5_ASSIGN(const bool whole, done(first, n, in_one_chunk(first, n) < n));
    while (!whole && first < next) {
      H5_TRY(part.budget().spend(kStepsPerRun));
      const std::uint64_t of_run = in_one_chunk(first, next - first);
      H5_TRY(done(first, of_run, false));
      first += of_run;
    }
    first = next;
  }
  return {};
}

Status compare_parts(cache::WorkerPool& workers, std::uint64_t count, std::uint64_t bytes,
                     ElementsTotal& total, const std::function<ElementsPart(std::uint64_t)>& make,
                     const std::function<Status(std::uint64_t, ElementsPart&)>& work) {
  const std::uint64_t of_round = 8 * (std::uint64_t{workers.threads()} + 1);
  for (std::uint64_t first = 0; first < count; first += of_round) {
    const auto n = static_cast<std::size_t>(std::min(of_round, count - first));
    std::vector<ElementsPart> parts;
    for (std::size_t i = 0; i < n; ++i) parts.push_back(make(first + i));
    std::vector<Status> done(n);
    workers.for_each_index(n, [&](std::size_t i) {
      done[i] = work(first + i, parts[i]);
      total.count_bytes(bytes);
    });
    for (std::size_t i = 0; i < n; ++i) {
      H5_TRY(std::move(done[i]));
      total.add(std::move(parts[i]));
    }
  }
  return {};
}

}  // namespace h5mount::front
