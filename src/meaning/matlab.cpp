#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "booleans.h"
#include "conventions.h"
#include "h5mount/base/limits.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/permuted_dataset.h"
#include "texts.h"

namespace h5mount::meaning {

namespace {

using dataset::ByteRange;
using dataset::DatasetReader;
using dataset::DatasetReaderPtr;
using format::DatatypeClass;
using format::DatatypePtr;
using object::DatasetDescription;

constexpr std::array<std::pair<std::string_view, NumberKind>, 10> kMatlabNumbers = {{
    {"double", NumberKind::F64},
    {"single", NumberKind::F32},
    {"int8", NumberKind::I8},
    {"int16", NumberKind::I16},
    {"int32", NumberKind::I32},
    {"int64", NumberKind::I64},
    {"uint8", NumberKind::U8},
    {"uint16", NumberKind::U16},
    {"uint32", NumberKind::U32},
    {"uint64", NumberKind::U64},
}};

// Code units of UTF-8, UTF-16 or UTF-32 as UTF-8.
class MatlabCharacters final : public Elements {
 public:
  // Strings of so many units of 1, 2 or 4 bytes.
  MatlabCharacters(std::uint64_t units, std::size_t unit_bytes)
      : stored_(static_cast<std::size_t>(units) * unit_bytes),
        shown_(static_cast<std::size_t>(units) * most_bytes(unit_bytes)),
        unit_(unit_bytes) {}

  static std::size_t most_bytes(std::size_t unit_bytes) { return unit_bytes == 2 ? 3 : unit_bytes; }
  std::size_t stored_bytes() const { return stored_; }
  std::size_t shown_bytes() const { return shown_; }

  void decode(ByteSpan stored, MutableByteSpan shown, std::byte*) const override {
    for (; !stored.empty(); stored = stored.subspan(stored_), shown = shown.subspan(shown_)) {
      const ByteSpan from = stored.first(stored_);
      const MutableByteSpan to = shown.first(shown_);
      const std::size_t used = unit_ == 1 ? copied(from, to) : encoded(from, to);
      std::ranges::fill(to.subspan(used), std::byte{0});
    }
  }

 private:
  static std::size_t copied(ByteSpan from, MutableByteSpan to) {
    std::ranges::copy(from, to.begin());
    return from.size();
  }

  std::size_t encoded(ByteSpan from, MutableByteSpan to) const {
    std::byte* out = to.data();
    for (std::size_t at = 0; at < from.size(); at += unit_) {
      std::uint64_t code = load_le_width(from.data() + at, unit_);
      const bool pair = unit_ == 2 && code >> 10 == 0x36 && at + unit_ < from.size();
      const std::uint64_t low = pair ? load_le_width(from.data() + at + unit_, unit_) : 0;
      if (low >> 10 == 0x37) {
        code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
        at += unit_;
      }
      if (code > 0x10FFFF || code >> 11 == 0x1B) code = 0xFFFD;  // half of a pair, or no character
      const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      constexpr std::array<std::uint8_t, 4> kLead = {0, 0xC0, 0xE0, 0xF0};
      *out++ = static_cast<std::byte>(kLead[more] | code >> 6 * more);
      for (unsigned i = more; i-- > 0;) *out++ = static_cast<std::byte>(0x80 | (code >> 6 * i & 0x3F));
    }
    return static_cast<std::size_t>(out - to.data());
  }

  const std::size_t stored_, shown_, unit_;
};

// MATLAB's complex numbers are compounds of `real` and `imag`; others call these `r` and `i`.
DatatypePtr complex_type(const DatatypePtr& type) {
  if (type->cls != DatatypeClass::Compound || type->members.size() != 2) return type;
  if (type->members[0].name != "real" || type->members[1].name != "imag") return type;
  auto out = std::make_shared<format::Datatype>(*type);
  out->members[0].name = "r";
  out->members[1].name = "i";
  return text::complex_part(*out) != nullptr ? DatatypePtr(std::move(out)) : type;
}

// An array in MATLAB's orientation, and what `then` makes of its elements.
class MatlabArray final : public dataset::Derivation {
 public:
  // `type`: of the elements as they are stored. `strings`: the second dimension of the array is one element.
  MatlabArray(std::size_t rank, DatatypePtr type, bool strings, dataset::DerivationPtr then)
      : axes_(rank), type_(std::move(type)), strings_(strings), then_(std::move(then)) {
    std::iota(axes_.rbegin(), axes_.rend(), std::size_t{0});
    if (strings_ && rank > 1) std::rotate(axes_.begin() + 1, axes_.begin() + 2, axes_.end());
  }

  Result<DatasetDescription> describe(const DatasetDescription& dataset) const override {
    H5_ASSIGN(DatasetDescription out, turned(dataset));
    return then_ ? then_->describe(out) : out;
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(DatasetDescription shown, turned(dataset->description()));
    DatasetReaderPtr out = dataset::open_permuted(std::move(dataset), axes_, std::move(shown));
    return then_ ? then_->open(std::move(out)) : out;
  }
  std::vector<ByteRange> stale_since(const DatasetReader& part, const DatasetReader& before,
                                     std::span<const ByteRange> stale) const override {
    if (stale.empty() && part.description().space.dims == before.description().space.dims) return {};
    return {dataset::kWholeImage};
  }

 private:
  Result<DatasetDescription> turned(const DatasetDescription& dataset) const {
    if (dataset.space.dims.size() != axes_.size() || dataset.element_size != type_->size)
      return fail({ErrorCode::Stale, "an array of another type than its attributes are of"});
    DatasetDescription out = dataset::describe_permuted(dataset, axes_);
    out.type = type_;
    if (!strings_) return out;
    auto& dims = out.space.dims;
    const std::uint64_t length = dims.empty() ? 1 : dims.back();
    out.element_size *= length;
    if (!dims.empty()) dims.pop_back();
    if (dims.size() == 1 && dims[0] == 1) dims.clear();  // one row
    out.space.max_dims = dims;
    out.space.kind = dims.empty() ? format::DataspaceKind::Scalar : format::DataspaceKind::Simple;
    return out;
  }

  std::vector<std::size_t> axes_;
  const DatatypePtr type_;
  const bool strings_;
  const dataset::DerivationPtr then_;
};

class ZerosReader final : public DatasetReader {
 public:
  explicit ZerosReader(DatasetDescription shown) : DatasetReader(std::move(shown)) {}
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget&) const override {
    H5_TRY(check_inside(offset, out.size()));
    std::ranges::fill(out, std::byte{0});
    return {};
  }
};

// Without elements; or as many empty strings, each a byte of zero.
class MatlabEmpty final : public dataset::Derivation {
 public:
  MatlabEmpty(DatatypePtr type, std::vector<std::uint64_t> dims) {
    shown_.element_size = type->size;
    shown_.image_bytes = type->size;
    for (const std::uint64_t dim : dims) shown_.image_bytes *= dim;
    shown_.type = std::move(type);
    shown_.space.kind = dims.empty() ? format::DataspaceKind::Scalar : format::DataspaceKind::Simple;
    shown_.space.max_dims = dims;
    shown_.space.dims = std::move(dims);
  }

  Result<DatasetDescription> describe(const DatasetDescription& dataset) const override {
    DatasetDescription out = shown_;
    out.address = dataset.address;
    return out;
  }
  Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const override {
    H5_ASSIGN(DatasetDescription shown, describe(dataset->description()));
    return std::make_shared<const ZerosReader>(std::move(shown));
  }
  std::vector<ByteRange> stale_since(const DatasetReader&, const DatasetReader&,
                                     std::span<const ByteRange> stale) const override {
    if (stale.empty()) return {};
    return {dataset::kWholeImage};
  }

 private:
  DatasetDescription shown_;
};

// The dimensions of an array without elements, which the dataset holds instead; nullopt: it does not.
Result<std::optional<std::vector<std::uint64_t>>> empty_dims(const Subject& subject) {
  constexpr std::uint64_t kMostPositions = 1ULL << 31;
  const DatasetDescription& dataset = subject.dataset;
  const auto type = number_type(*dataset.type);
  const std::size_t bytes = dataset.element_size;
  const std::uint64_t rank = dataset.image_bytes / bytes;
  if (!type || !is_integer(type->kind) || type->big_endian || rank > limits::kMaxRank) return std::nullopt;
  std::vector<std::byte> data = dataset.layout.compact_data;
  if (dataset.layout.cls == format::LayoutClass::Contiguous && dataset.external.empty() && rank > 0) {
    H5_ASSIGN(const auto read,
              subject.values.file->read(dataset.layout.address, dataset.image_bytes, "Dataset"));
    data.assign(read.bytes().begin(), read.bytes().end());
  }
  if (data.size() != dataset.image_bytes) return std::nullopt;
  std::vector<std::uint64_t> out;
  std::uint64_t positions = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    out.push_back(load_le_width(data.data() + i * bytes, bytes));
    if (out.back() > kMostPositions) return std::nullopt;
    positions *= std::max<std::uint64_t>(out.back(), 1);
    if (positions > kMostPositions) return std::nullopt;
  }
  if (std::ranges::find(out, 0U) == out.end()) return std::nullopt;
  return std::optional(std::move(out));
}

Status decode_empty(const Subject& subject, std::string_view cls, Decoding& out) {
  H5_ASSIGN(auto dims, empty_dims(subject));
  if (!dims) return {};
  const DatatypePtr empty_text = text_type(1);
  DatatypePtr type = cls == "char" ? empty_text : boolean_type();
  for (const auto& [name, kind] : kMatlabNumbers)
    if (name == cls) type = type_of(kind);
  if (cls == "char") {
    if (dims->size() > 1) dims->erase(dims->begin() + 1);
    if (dims->size() == 1 && (*dims)[0] <= 1) dims->clear();  // '' has no rows, but is one text
  }
  out.derivations.fill(std::make_shared<const MatlabEmpty>(type, *std::move(dims)));
  out.derivations[static_cast<std::size_t>(dataset::ShownAs::Text)] =
      std::make_shared<const MatlabEmpty>(empty_text, std::vector<std::uint64_t>{});
  out.changes_shape = true;
  return {};
}

// What stands for an array that has elements.
dataset::DerivationPtr array_of(const DatasetDescription& dataset, std::string_view cls) {
  constexpr std::uint64_t kMostText = 16U << 20;  // of one string: it is decoded as a whole
  const std::size_t rank = dataset.space.dims.size();
  const auto type = number_type(*dataset.type);
  const bool plain = type && is_integer(type->kind) && !type->big_endian;
  if (cls == "logical" && plain && dataset.element_size == 1)
    return std::make_shared<const MatlabArray>(rank, dataset.type, false,
                                               derive_elements(booleans_of_bytes(), boolean_type(), 1));
  const std::uint64_t length = rank == 0 ? 1 : dataset.space.dims[rank == 1 ? 0 : rank - 2];
  if (cls == "char" && plain && dataset.element_size <= 4 && length > 0 &&
      length <= kMostText / dataset.element_size) {
    const auto characters = std::make_shared<const MatlabCharacters>(length, dataset.element_size);
    auto of_text =
        std::make_shared<format::Datatype>(*text_type(static_cast<std::uint32_t>(characters->shown_bytes())));
    of_text->charset = format::CharacterSet::Utf8;
    return std::make_shared<const MatlabArray>(
        rank, dataset.type, true,
        derive_elements(characters, std::move(of_text), characters->stored_bytes()));
  }
  return std::make_shared<const MatlabArray>(rank, complex_type(dataset.type), false, nullptr);
}

constexpr std::string_view kNoElements = "canonical empty";

bool is_decoded(std::string_view cls) {
  return cls == "char" || cls == "logical" || cls == kNoElements ||
         std::ranges::find(kMatlabNumbers, cls, &std::pair<std::string_view, NumberKind>::first) !=
             kMatlabNumbers.end();
}

std::string object_of(std::string_view cls) {
  return fmt::format("an object of MATLAB's class {}", cls);
}

}  // namespace

// Its string has exactly its length, and no room for a NUL.
Result<std::string> matlab_class(const metadata::FileMetadata& file, const object::Object& object) {
  const auto found = object::find_attribute(file, object, "MATLAB_class");
  if (!found && found.error().code() == ErrorCode::NotFound) return std::string();
  H5_TRY(found);
  if (found->damage || !found->type || found->type->cls != DatatypeClass::String) return std::string();
  return std::string(text::fixed_string(*found->type, found->data));
}

Decoding matlab_named(std::string_view cls) {
  Decoding out;
  out.text = R"({"convention":"MATLAB","class":)" + text::json_string(cls) + "}";
  if (!is_decoded(cls) && cls != "cell" && cls != "struct") out.undecoded = object_of(cls);
  return out;
}

Result<std::optional<Decoding>> decode_matlab(const Subject& subject) {
  H5_ASSIGN(std::string cls, matlab_class(*subject.values.file, subject.object));
  if (cls.empty()) return std::nullopt;
  Decoding out = matlab_named(cls);
  H5_ASSIGN(const auto object, attribute_numbers(subject, "MATLAB_object_decode"));
  if (object) out.undecoded = object_of(cls);
  if (!is_decoded(cls) || object) return out;
  if (cls == kNoElements) cls = "double";  // []
  H5_ASSIGN(const auto empty, attribute_numbers(subject, "MATLAB_empty"));
  if (empty && !empty->bits.empty() && empty->bits[0] != 0) {
    H5_TRY(decode_empty(subject, cls, out));
    return out;
  }
  out.derivations.fill(array_of(subject.dataset, cls));
  out.changes_shape = true;
  return out;
}

}  // namespace h5mount::meaning
