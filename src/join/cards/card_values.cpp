#include "card_values.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "h5mount/dataset/open_dataset.h"

namespace h5mount::join {

namespace {

using meaning::NumberKind;

constexpr std::uint64_t kSmall = 64U << 10;       // bytes of a dataset that is always compared
constexpr std::uint64_t kMostAxis = 1U << 24;     // values of a coordinate along the axis
constexpr std::uint64_t kAtOnce = 256U << 10;     // bytes that are read at once
constexpr std::uint64_t kMostElement = 1U << 20;  // bytes of an element

// The dataset's reader; fails with what keeps it from being read.
Result<dataset::DatasetReaderPtr> open_values(CardSource& source, std::uint64_t address) {
  constexpr std::uint64_t kSteps = 50'000;
  H5_TRY(source.work.spend(kSteps, source.values.budget));
  H5_ASSIGN(const object::Object object, object::open_object(*source.metadata, address));
  H5_ASSIGN(auto description, object::describe_dataset(*source.metadata, object));
  H5_ASSIGN(auto reader, dataset::open_dataset(source.environment, source.file, std::move(description)));
  if (const auto problem = reader->problem()) return fail(*problem);
  return reader;
}

// Calls `use` with all elements, some at a time.
template <class Use>
Status for_pieces(const dataset::DatasetReader& reader, RequestBudget& budget, Use use) {
  const std::uint64_t element = reader.description().element_size, size = reader.size();
  const std::uint64_t step = std::max<std::uint64_t>(kAtOnce / element, 1) * element;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(step, size)));
  for (std::uint64_t at = 0; at < size; at += step) {
    const MutableByteSpan part =
        MutableByteSpan(piece).first(static_cast<std::size_t>(std::min(step, size - at)));
    H5_TRY(reader.read_into(at, part, budget));
    H5_TRY(use(ByteSpan(part)));
  }
  return {};
}

// Numbers as the packing makes doubles of them, with those that are missing as NaN.
class Decoder {
 public:
  explicit Decoder(const meaning::Packing& packing)
      : elements_(meaning::elements_of(packing)),
        stored_bytes_(meaning::bytes_of(packing.stored.kind)),
        shown_(*meaning::type_of(packing.shown)),
        shown_kind_(packing.shown) {}

  std::span<const double> decode(ByteSpan stored) {
    const std::size_t count = stored.size() / stored_bytes_;
    shown_bytes_.resize(count * shown_.size);
    missing_.resize(count);
    values_.resize(count);
    elements_->decode(stored, shown_bytes_, missing_.data());
    for (std::size_t i = 0; i < count; ++i)
      values_[i] = missing_[i] != std::byte{0} ? std::numeric_limits<double>::quiet_NaN() : value_at(i);
    return values_;
  }
  bool missing(std::size_t at) const { return missing_[at] != std::byte{0}; }

 private:
  double value_at(std::size_t at) const {
    const std::byte* const from = shown_bytes_.data() + at * shown_.size;
    if (shown_kind_ == NumberKind::F64) return load_le<double>(from);
    if (shown_kind_ == NumberKind::F32) return static_cast<double>(load_le<float>(from));
    const std::uint64_t bits = load_le_width(from, shown_.size);
    if (shown_kind_ >= NumberKind::U8) return static_cast<double>(bits);
    const unsigned unused = 64 - 8 * shown_.size;
    return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
  }

  const meaning::ElementsPtr elements_;
  const std::size_t stored_bytes_;
  const format::Datatype shown_;
  const NumberKind shown_kind_;
  std::vector<std::byte> shown_bytes_, missing_;
  std::vector<double> values_;
};

// A stored number as its sign is read; one of 2^63 and more is a double.
Number number_at(const format::Datatype& type, NumberKind read_as, const std::byte* element) {
  const std::uint64_t bits = text::stored_bits(type, element);
  Number out;
  out.is_whole = meaning::is_integer(read_as);
  if (read_as == NumberKind::F64) {
    out.real = std::bit_cast<double>(bits);
  } else if (read_as == NumberKind::F32) {
    out.real = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  } else if (read_as < NumberKind::U8) {
    const unsigned unused = 64 - 8 * type.size;
    out.whole = static_cast<std::int64_t>(bits << unused) >> unused;
  } else if (bits >> 63 == 0) {
    out.whole = static_cast<std::int64_t>(bits);
  } else {
    out.is_whole = false;
    out.real = static_cast<double>(bits);
  }
  return out;
}

bool is_whole_number(const Number& number) {
  return number.is_whole || (std::isfinite(number.real) && number.real == std::trunc(number.real));
}

// Whether a < b, exactly where both are whole.
bool is_less(const Number& a, const Number& b) {
  if (a.is_whole && b.is_whole) return a.whole < b.whole;
  const auto real = [](const Number& of) { return of.is_whole ? static_cast<double>(of.whole) : of.real; };
  return real(a) < real(b);
}

std::uint64_t distance(std::int64_t a, std::int64_t b) {
  return a < b ? static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a)
               : static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}

// Takes the values of a coordinate one after the other.
class AxisScan {
 public:
  AxisScan(const MemberCard& card, std::uint64_t count)
      : type_(*card.type), packing_(*card.packing), decoder_(packing_) {
    digest_.add(count);
    add_form(type_, digest_);
  }

  Status take(ByteSpan stored, CardSource& source) {
    H5_TRY(add_elements(type_, stored, source.values, source.work, digest_));
    const std::span<const double> decoded = decoder_.decode(stored);
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      const Number number = number_at(type_, packing_.read_as, stored.data() + i * type_.size);
      if (decoder_.missing(i) || std::isnan(decoded[i])) out_.has_missing = true;
      take(number, decoded[i]);
    }
    return {};
  }

  AxisValues finish() {
    out_.values = digest_.digest();
    if (out_.has_missing) out_.ascending = out_.descending = false;
    return out_;
  }

 private:
  void take(const Number& number, double decoded) {
    const auto whole = is_whole_number(number) ? whole_of(number) : std::nullopt;
    if (!is_whole_number(number)) out_.all_whole = false;
    if (!whole) step_known_ = false;
    if (first_) {
      out_.first = number;
      out_.decoded_first = decoded;
      first_whole_ = whole.value_or(0);
      first_ = false;
    } else {
      const bool scaled = packing_.scaled();
      if (!(scaled ? out_.decoded_last < decoded : is_less(out_.last, number))) out_.ascending = false;
      if (!(scaled ? out_.decoded_last > decoded : is_less(number, out_.last))) out_.descending = false;
      if (step_known_) out_.common_step = std::gcd(out_.common_step, distance(first_whole_, *whole));
    }
    if (!step_known_) out_.common_step = 0;
    out_.last = number;
    out_.decoded_last = decoded;
  }

  static std::optional<std::int64_t> whole_of(const Number& number) {
    if (number.is_whole) return number.whole;
    if (std::abs(number.real) > 0x1p53) return std::nullopt;
    return static_cast<std::int64_t>(number.real);
  }

  const format::Datatype& type_;
  const meaning::Packing& packing_;
  Decoder decoder_;
  Hasher digest_;
  AxisValues out_;
  bool first_ = true, step_known_ = true;
  std::int64_t first_whole_ = 0;
};

// Whether the rules compare the elements.
bool compares_values(const MemberCard& card, const Axis& axis, std::uint64_t bytes) {
  if (card.without_values || has_axis(card, axis)) return false;
  return card.is_coordinate || bytes <= kSmall;
}

Status read_values(CardSource& source, std::uint64_t address, MemberCard& card) {
  H5_ASSIGN(const auto reader, open_values(source, address));
  const std::uint64_t count = reader->size() / card.type->size;
  // An element takes more than its bytes: it is decoded, too.
  H5_TRY(source.work.take(8 * count));
  Hasher values, decoded;
  values.add(count);
  add_form(*card.type, values);
  decoded.add(count);
  std::optional<Decoder> decoder;
  if (card.packing) decoder.emplace(*card.packing);
  H5_TRY(for_pieces(*reader, source.values.budget, [&](ByteSpan piece) -> Status {
    H5_TRY(add_elements(*card.type, piece, source.values, source.work, values));
    if (decoder) add_doubles(decoder->decode(piece), decoded);
    if (card.packing && count <= kMostCardNumbers)
      for (std::size_t at = 0; at < piece.size(); at += card.type->size)
        card.numbers.push_back(number_at(*card.type, card.packing->read_as, piece.data() + at));
    return {};
  }));
  card.values = values.digest();
  card.decoded = card.packing ? decoded.digest() : *card.values;
  return {};
}

// What is too much to be compared is no damage.
Status without_limits(Status done) {
  if (done || done.error().code() == ErrorCode::LimitExceeded || done.error().code() == ErrorCode::TooLarge)
    return {};
  return done;
}

}  // namespace

bool has_axis(const MemberCard& card, const Axis& axis) {
  switch (axis.kind) {
    case Axis::Kind::Existing:
      for (const std::string& scale : card.scales)
        if (last_component(scale) == axis.name) return true;
      return false;
    case Axis::Kind::First:
      return card.space.rank() > axis.dimension;
    case Axis::Kind::New:
      return !card.is_scale;
    case Axis::Kind::Union:
      break;
  }
  return false;
}

bool is_axis_coordinate(const MemberCard& card, const Axis& axis) {
  return axis.kind == Axis::Kind::Existing && card.kind == MemberCard::Kind::Dataset &&
         !card.without_values && card.space.rank() == 1 && last_component(card.path) == axis.name &&
         has_axis(card, axis);
}

Status add_values(CardSource& source, std::uint64_t address, MemberCard& card) {
  const auto elements = card.space.element_count();
  const auto bytes = elements ? checked_mul(*elements, card.type->size) : std::nullopt;
  if (!bytes || card.type->size > kMostElement || !compares_values(card, source.axis, *bytes)) return {};
  if (*bytes > source.work.left) return {};
  const Status read = without_limits(read_values(source, address, card));
  if (read) return {};
  if (is_passing(read.error())) return read;
  card.error = read.error();
  card.numbers.clear();
  return {};
}

Result<AxisValues> axis_values(CardSource& source, std::uint64_t address, const MemberCard& card) {
  const std::uint64_t count = card.space.dims[0];
  AxisValues none;
  none.readable = false;
  if (card.error || !card.packing || count > kMostAxis) return none;
  AxisScan scan(card, count);
  const auto read = [&]() -> Status {
    constexpr std::uint64_t kStepsOfOne = 32;
    H5_ASSIGN(const auto reader, open_values(source, address));
    H5_TRY(source.work.spend(kStepsOfOne * count, source.values.budget));
    return for_pieces(*reader, source.values.budget,
                      [&](ByteSpan piece) { return scan.take(piece, source); });
  }();
  if (read) return scan.finish();
  if (is_passing(read.error())) return fail(read.error());
  return none;
}

}  // namespace h5mount::join
