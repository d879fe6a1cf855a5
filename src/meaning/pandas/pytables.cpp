#include <array>
#include <cstring>

#include "../booleans.h"
#include "../conventions.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/meaning/packing.h"
#include "pandas_values.h"

namespace h5mount::meaning {

namespace {

using format::DatatypeClass;

class Time64 final : public Elements {
 public:
  explicit Time64(bool big_endian) : swap_(big_endian) {}

  void decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const override {
    const std::size_t count = stored.size() / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < count; ++i) {
      auto bits = load_le<std::uint64_t>(stored.data() + i * sizeof(std::uint64_t));
      if (swap_) bits = __builtin_bswap64(bits);
      const auto seconds = static_cast<std::int32_t>(bits >> 32);
      const auto microseconds = static_cast<std::int32_t>(bits);
      const double time = 1e-6 * microseconds + seconds;
      std::memcpy(shown.data() + i * sizeof time, &time, sizeof time);
    }
    if (missing != nullptr) std::memset(missing, 0, count);
  }

 private:
  const bool swap_;
};

// Parts of an element that mean something else than their bytes; both take as many.
struct ChangedPart {
  std::uint64_t offset = 0, bytes = 0;
  ElementsPtr elements;
};

class ChangedParts final : public Elements {
 public:
  ChangedParts(std::vector<ChangedPart> parts, std::size_t element)
      : parts_(std::move(parts)), element_(element) {}

  void decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const override {
    std::memcpy(shown.data(), stored.data(), stored.size());
    for (std::size_t at = 0; at + element_ <= stored.size(); at += element_)
      for (const ChangedPart& part : parts_) {
        const auto begin = at + static_cast<std::size_t>(part.offset);
        const auto bytes = static_cast<std::size_t>(part.bytes);
        part.elements->decode(stored.subspan(begin, bytes), shown.subspan(begin, bytes), nullptr);
      }
    if (missing != nullptr) std::memset(missing, 0, stored.size() / element_);
  }

 private:
  const std::vector<ChangedPart> parts_;
  const std::size_t element_;
};

// Finds the booleans and times of a type.
class TypeChanges {
 public:
  explicit TypeChanges(RequestBudget& budget) : budget_(budget) {}

  // The type of what the elements mean; null: too many parts.
  Result<format::DatatypePtr> shown(const format::DatatypePtr& type, std::uint64_t offset) {
    constexpr std::uint64_t kStepsPerType = 8;
    H5_TRY(budget_.spend(kStepsPerType));
    if (type->cls == DatatypeClass::Bitfield && type->size == 1) {
      booleans_ = true;
      return changed(offset, 1, booleans_of_bytes(), boolean_type());
    }
    if (type->cls == DatatypeClass::Time && type->size == 4) {
      times_ = true;
      return dataset::integer_type(4, true, type->order);
    }
    if (type->cls == DatatypeClass::Time && type->size == 8) {
      times_ = true;
      return changed(offset, 8, seconds_of_time64(type->order == format::ByteOrder::Big),
                     type_of(NumberKind::F64));
    }
    if (type->cls == DatatypeClass::Array) return shown_array(type, offset);
    if (type->cls != DatatypeClass::Compound) return type;
    std::shared_ptr<format::Datatype> out;
    for (std::size_t i = 0; i < type->members.size(); ++i) {
      const format::CompoundMember& member = type->members[i];
      H5_ASSIGN(format::DatatypePtr now, shown(member.type, offset + member.offset));
      if (!now) return nullptr;
      if (now == member.type) continue;
      if (!out) out = std::make_shared<format::Datatype>(*type);
      out->members[i].type = std::move(now);
    }
    return out ? out : type;
  }

  bool any() const { return booleans_ || times_; }
  std::vector<ChangedPart>& parts() { return parts_; }
  std::string text() const {
    std::string out = R"({"convention":"PyTables")";
    if (booleans_) out += R"(,"booleans":"bytes")";
    if (times_) out += R"(,"times":"seconds")";
    return out + "}";
  }

 private:
  static constexpr std::size_t kMostParts = 65'536;

  format::DatatypePtr changed(std::uint64_t offset, std::uint64_t bytes, ElementsPtr elements,
                              format::DatatypePtr to) {
    if (parts_.size() >= kMostParts) return nullptr;
    parts_.push_back({offset, bytes, std::move(elements)});
    return to;
  }

  Result<format::DatatypePtr> shown_array(const format::DatatypePtr& type, std::uint64_t offset) {
    const std::size_t before = parts_.size();
    H5_ASSIGN(format::DatatypePtr base, shown(type->base, offset));
    if (!base || base == type->base) return base ? type : nullptr;
    auto out = std::make_shared<format::Datatype>(*type);
    out->base = std::move(base);
    const std::uint64_t items = type->size / type->base->size;
    const std::size_t of_item = parts_.size() - before;
    if (of_item == 1 && parts_.back().bytes == type->base->size) {
      parts_.back().bytes = items * type->base->size;
      return out;
    }
    if (items > 0 && of_item > kMostParts / items) return nullptr;
    H5_TRY(budget_.spend(of_item * items));
    for (std::uint64_t i = 1; i < items; ++i)
      for (std::size_t k = 0; k < of_item; ++k) {
        ChangedPart part = parts_[before + k];
        part.offset += i * type->base->size;
        parts_.push_back(std::move(part));
      }
    return parts_.size() > kMostParts ? nullptr : out;
  }

  RequestBudget& budget_;
  std::vector<ChangedPart> parts_;
  bool booleans_ = false, times_ = false;
};

Result<bool> is_of_pytables(const Subject& subject) {
  constexpr std::array<std::string_view, 5> kClasses = {"TABLE", "ARRAY", "CARRAY", "EARRAY", "VLARRAY"};
  H5_ASSIGN(const std::string cls, attribute_text(subject, "CLASS"));
  if (std::ranges::find(kClasses, cls) == kClasses.end()) return false;
  H5_ASSIGN(const std::string version, attribute_text(subject, "VERSION"));
  return !version.empty();
}

// Rows of variable length that are texts, or pickled.
Result<std::optional<Decoding>> decode_vlarray(const Subject& subject) {
  const format::Datatype& stored = *subject.dataset.type;
  if (subject.dataset.space.rank() != 1) return std::nullopt;
  H5_ASSIGN(const std::string atom, attribute_text(subject, "PSEUDOATOM"));
  Decoding out;
  if (atom == "object") {
    out.text = R"({"convention":"PyTables","pickled":"object"})";
    return std::optional(std::move(out));
  }
  const bool unicode = atom == "vlunicode";
  const bool fits =
      stored.base && stored.base->cls == DatatypeClass::Integer && stored.base->size == (unicode ? 4U : 1U);
  if (!fits || (!unicode && atom != "vlstring")) return std::nullopt;
  auto type = std::make_shared<format::Datatype>(stored);
  type->variable_string = true;
  type->charset = format::CharacterSet::Utf8;
  if (unicode) type->tag = text::kCodePointsTag;
  out.text = unicode ? R"({"convention":"PyTables","text":"vlunicode"})"
                     : R"({"convention":"PyTables","text":"vlstring"})";
  out.derivations.fill(
      derive_column({.name = "value", .stored_bytes = stored.size, .type = type}, stored.size));
  return std::optional(std::move(out));
}

}  // namespace

ElementsPtr seconds_of_time64(bool big_endian) {
  return std::make_shared<const Time64>(big_endian);
}

Result<std::optional<Decoding>> decode_pytables(const Subject& subject) {
  const format::DatatypePtr& stored = subject.dataset.type;
  const bool variable = stored->cls == DatatypeClass::VariableLength && !stored->variable_string;
  TypeChanges changes(subject.values.budget);
  format::DatatypePtr type;
  if (!variable) {
    H5_ASSIGN(type, changes.shown(stored, 0));
    if (!type || !changes.any()) return std::nullopt;
  }
  H5_ASSIGN(const bool of_pytables, is_of_pytables(subject));
  if (!of_pytables) return std::nullopt;
  if (variable) return decode_vlarray(subject);
  Decoding out;
  out.text = changes.text();
  const std::uint64_t bytes = stored->size;
  auto& parts = changes.parts();
  const bool whole = parts.size() == 1 && parts[0].bytes == bytes && stored->cls != DatatypeClass::Array;
  const ElementsPtr elements =
      whole ? parts[0].elements
            : std::make_shared<const ChangedParts>(std::move(parts), static_cast<std::size_t>(bytes));
  out.derivations.fill(derive_elements(elements, std::move(type), bytes));
  return std::optional(std::move(out));
}

}  // namespace h5mount::meaning
