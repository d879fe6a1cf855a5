#include "pandas_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "../booleans.h"
#include "../texts.h"
#include "../times.h"
#include "h5mount/base/utf8.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/meaning/calendar.h"

namespace h5mount::meaning {

namespace {

constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();

Packing plain_packing(NumberType stored) {
  Packing out;
  out.stored = stored;
  out.read_as = out.shown = stored.kind;
  if (stored.kind == NumberKind::I64) out.fills = {static_cast<std::uint64_t>(kNotATime)};
  if (!is_integer(stored.kind))
    out.fills = {std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())};
  return out;
}

void write_text(std::string_view text, MutableByteSpan to) {
  std::ranges::fill(to, std::byte{0});
  std::memcpy(to.data(), text.data(), std::min(text.size(), to.size()));
}

// Nanoseconds since 1970-01-01.
class NanosecondTexts final : public OfNumbers {
 public:
  static constexpr std::uint32_t kBytes = 29;
  explicit NanosecondTexts(const Packing& packing) : OfNumbers(packing, kBytes) {}

 private:
  bool write(const std::byte* value, MutableByteSpan to) const override {
    constexpr std::int64_t kOfSecond = 1'000'000'000, kOfDay = 1000 * kMicrosecondsOfDay;
    if (value == nullptr) {
      write_text("NaT", to);
      return false;
    }
    const auto number = load_le<std::int64_t>(value);
    const std::int64_t of_day = (number % kOfDay + kOfDay) % kOfDay;
    const std::int64_t day = number / kOfDay - (number % kOfDay < 0 ? 1 : 0);
    static const std::int64_t kEpoch = day_number(Calendar::Proleptic, {1970, 1, 1, 0});
    const Moment moment = moment_of(Calendar::Proleptic, kEpoch + day, 0);
    char text[] = "0000-00-00T00:00:00.000000000";
    static_assert(sizeof text == kBytes + 1);
    char* end = text + kBytes;
    const auto put = [&end](std::int64_t value, unsigned digits) {
      for (; digits > 0; --digits, value /= 10) *--end = static_cast<char>('0' + value % 10);
      --end;  // what is between the numbers
    };
    put(of_day % kOfSecond, 9);
    put(of_day / kOfSecond % 60, 2);
    put(of_day / kOfSecond / 60 % 60, 2);
    put(of_day / kOfSecond / 3600, 2);
    put(moment.day, 2);
    put(moment.month, 2);
    put(moment.year, 4);
    std::memcpy(to.data(), text, kBytes);
    return true;
  }
};

class NanosecondStamps final : public OfNumbers {
 public:
  explicit NanosecondStamps(const Packing& packing) : OfNumbers(packing, sizeof(std::int64_t)) {}

 private:
  bool write(const std::byte* value, MutableByteSpan to) const override {
    std::int64_t number = value == nullptr ? kNotATime : load_le<std::int64_t>(value);
    if (value != nullptr) number = number / 1000 - (number % 1000 < 0 ? 1 : 0);
    std::memcpy(to.data(), &number, sizeof number);
    return value != nullptr;
  }
};

// Days, of which the first is 0001-01-01. Other numbers are themselves.
class DateTexts final : public OfNumbers {
 public:
  static constexpr std::uint32_t kBytes = 11;
  explicit DateTexts(const Packing& packing) : OfNumbers(packing, kBytes) {}

 private:
  bool write(const std::byte* value, MutableByteSpan to) const override {
    constexpr std::int32_t kLast = 3'652'059;  // 9999-12-31
    const auto number = value == nullptr ? 0 : load_le<std::int32_t>(value);
    static const std::int64_t kFirst = day_number(Calendar::Proleptic, {1, 1, 1, 0});
    if (number < 1 || number > kLast)
      write_text(fmt::format("{}", number), to);
    else
      write_text(moment_text(moment_of(Calendar::Proleptic, kFirst + number - 1, 0), false).substr(0, 10),
                 to);
    return true;
  }
};

class Strings final : public Elements {
 public:
  Strings(format::DatatypePtr stored, PandasTexts texts)
      : stored_(std::move(stored)), texts_(std::move(texts)) {
    texts_.latin1 = texts_.latin1 && stored_->size <= kMostLatin1;
  }

  std::uint32_t shown_bytes() const { return texts_.latin1 ? 2 * stored_->size : stored_->size; }

  void decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const override {
    const std::size_t in = stored_->size, out = shown_bytes();
    std::string utf8;
    for (; stored.size() >= in; stored = stored.subspan(in), shown = shown.subspan(out)) {
      std::string_view text = text::fixed_string(*stored_, stored.first(in));
      if (missing != nullptr) *missing++ = std::byte{text == texts_.missing};
      if (texts_.latin1) {
        utf8.clear();
        for (const char c : text) append_utf8(static_cast<unsigned char>(c), utf8);
        text = utf8;
      }
      write_text(text, shown.first(out));
    }
  }

 private:
  static constexpr std::uint32_t kMostLatin1 = 1U << 20;
  const format::DatatypePtr stored_;
  PandasTexts texts_;
};

// The type of a number, also where PyTables stores it as a time.
std::optional<NumberType> number_or_time(const format::Datatype& type) {
  if (type.cls != format::DatatypeClass::Time || type.size != 4) return number_type(type);
  return NumberType{NumberKind::I32, type.order == format::ByteOrder::Big};
}

}  // namespace

RecordColumn pandas_column(std::string name, std::uint64_t offset, const format::DatatypePtr& stored,
                           std::string_view dtype, const PandasTexts& texts, dataset::ShownAs form) {
  RecordColumn out{.name = std::move(name), .offset = offset, .stored_bytes = stored->size, .type = stored};
  if (stored->cls == format::DatatypeClass::String) {
    const auto strings = std::make_shared<const Strings>(stored, texts);
    out.elements = strings;
    out.type = text_type(strings->shown_bytes());
    out.may_miss = true;
    return out;
  }
  if (stored->cls == format::DatatypeClass::Bitfield && stored->size == 1) {
    out.elements = booleans_of_bytes();
    out.type = boolean_type();
    return out;
  }
  if (stored->cls == format::DatatypeClass::Time && stored->size == 8) {
    out.elements = seconds_of_time64(stored->order == format::ByteOrder::Big);
    out.type = type_of(NumberKind::F64);
    return out;
  }
  const auto number = number_or_time(*stored);
  if (!number) return out;
  const Packing packing = plain_packing(*number);
  const bool nanoseconds = number->kind == NumberKind::I64;
  if (nanoseconds && dtype.starts_with("datetime64")) {
    const bool stamps = form == dataset::ShownAs::ColumnTable;
    out.elements = stamps ? ElementsPtr(std::make_shared<const NanosecondStamps>(packing))
                          : std::make_shared<const NanosecondTexts>(packing);
    out.type = stamps ? timestamp_type(dataset::kTimestampTag) : text_type(NanosecondTexts::kBytes);
    out.may_miss = true;
  } else if (number->kind == NumberKind::I32 && dtype == "date") {
    out.elements = std::make_shared<const DateTexts>(packing);
    out.type = text_type(DateTexts::kBytes);
  } else if (!is_integer(number->kind) || (nanoseconds && dtype.starts_with("timedelta"))) {
    out.elements = elements_of(packing);
    out.type = type_of(number->kind);
    out.may_miss = true;
  } else if (stored->cls == format::DatatypeClass::Time) {
    out.type = dataset::integer_type(4, true, stored->order);
  }
  return out;
}

}  // namespace h5mount::meaning
