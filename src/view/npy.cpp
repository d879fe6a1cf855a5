// A .npy file (NumPy enhancement proposal 1):
//
//   0   \x93 N U M P Y   magic
//   6   major, minor     1.0, or 2.0 if the header's length needs four bytes
//   8   length           u16 LE (1.0) or u32 LE (2.0): of what follows up to the data
//       {'descr': …, 'fortran_order': False, 'shape': (…), }, spaces, a newline
//   4096·k               the data
//
// The header is padded to a multiple of a page, so that the data can be mapped and its pages are those of the
// dataset, moved by whole pages. It reserves digits for dimensions that may grow, so growth never moves data.
#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/checked.h"
#include "numpy_strings.h"
#include "numpy_type.h"
#include "views.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kHeaderUnit = 4096;
constexpr std::size_t kMaxShortHeader = 65'535;
constexpr std::size_t kMaxDigits = 20;     // of a 64-bit number
constexpr std::size_t kMaxNumpyRank = 32;  // NumPy 1; NumPy 2 has 64
constexpr std::uint64_t kMaxNpyBytes = (1ULL << 63) - 1;

struct Shape {
  std::string literal;       // a Python tuple
  std::size_t reserved = 0;  // digits by which the literal may still grow
  std::size_t dimensions = 0;
};

Shape shape_of(const object::DatasetDescription& dataset, const NumpyType& type) {
  Shape shape{"(", 0, dataset.space.rank() + type.dims.size()};
  const auto& most = dataset.space.max_dims;
  for (std::size_t i = 0; i < dataset.space.rank(); ++i) {
    const std::string digits = fmt::format("{}", dataset.space.dims[i]);
    if (i < most.size() && most[i] != dataset.space.dims[i]) shape.reserved += kMaxDigits - digits.size();
    shape.literal += digits + ", ";
  }
  for (const std::uint32_t dim : type.dims) shape.literal += fmt::format("{}, ", dim);
  shape.literal += ")";
  return shape;
}

Result<std::string> npy_header(const object::DatasetDescription& dataset) {
  if (dataset.space.kind == format::DataspaceKind::Null)
    return fail({ErrorCode::UnsupportedFeature, "a null dataspace has no shape"});
  H5_ASSIGN(const NumpyType type, numpy_type(*dataset.type));
  H5_TRY(NumpyStrings::check_size(*dataset.type));
  const Shape shape = shape_of(dataset, type);
  if (shape.dimensions > kMaxNumpyRank)
    return fail({ErrorCode::UnsupportedFeature, "more than 32 dimensions"});
  const std::string text =
      fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", type.description, shape.literal);
  std::size_t prefix = 10;
  if (prefix + text.size() + shape.reserved + 1 > kMaxShortHeader) prefix = 12;
  const std::uint64_t bytes = divide_up(prefix + text.size() + shape.reserved + 1, kHeaderUnit) * kHeaderUnit;
  const std::uint64_t length = bytes - prefix;
  std::string header("\x93NUMPY", 6);
  header += prefix == 10 ? std::string("\x01\x00", 2) : std::string("\x02\x00", 2);
  append_le(length, prefix - 8, header);
  header += text;
  header.append(static_cast<std::size_t>(bytes) - header.size() - 1, ' ');
  header += '\n';
  if (dataset.image_bytes > kMaxNpyBytes - header.size())
    return fail({ErrorCode::TooLarge, "larger than a file can be"});
  return header;
}

class NpyFile final : public ComputedFile {
 public:
  NpyFile(std::string header, DatasetReaderPtr reader)
      : header_(std::make_shared<const std::string>(std::move(header))),
        reader_(std::move(reader)),
        strings_(NumpyStrings::in(*reader_->description().type)) {}

  std::uint64_t size() const override { return header_->size() + reader_->size(); }

  Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
              dataset::Pieces& out) const override {
    if (offset < header_->size()) {
      const std::uint64_t part = std::min(length, header_->size() - offset);
      add_text(header_, offset, part, out);
      offset += part;
      length -= part;
    }
    if (length == 0) return {};
    if (strings_) return strings_->read(*reader_, offset - header_->size(), length, access.budget, out);
    return reader_->read(offset - header_->size(), length, access, out);
  }

  std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* other = dynamic_cast<const NpyFile*>(&before);
    if (other == nullptr || other->header_->size() != header_->size()) return {{0, format::kUnlimited}};
    std::vector<dataset::ByteRange> out;
    if (*other->header_ != *header_) out.push_back({0, header_->size()});
    for (const dataset::ByteRange& changed : stale) {
      const dataset::ByteRange range = strings_ ? strings_->whole_elements(changed) : changed;
      out.push_back({range.begin + header_->size(),
                     checked_add(range.end, header_->size()).value_or(format::kUnlimited)});
    }
    return out;
  }

  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override {
    if (offset < header_->size()) return offset;
    H5_ASSIGN(const std::uint64_t found, reader_->find_data(offset - header_->size(), budget));
    return found + header_->size();
  }
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override {
    if (reader_->size() == 0) return header_->size();
    H5_ASSIGN(const std::uint64_t found,
              reader_->find_hole(offset - std::min<std::uint64_t>(offset, header_->size()), budget));
    return found + header_->size();
  }

 private:
  std::shared_ptr<const std::string> header_;
  DatasetReaderPtr reader_;
  std::shared_ptr<const NumpyStrings> strings_;  // null: elements are handed on as they are stored
};

Result<Reason> npy_unfit(const object::DatasetDescription& dataset, RequestBudget&) {
  const auto header = npy_header(dataset);
  if (header || header.error().code() == ErrorCode::TooLarge) return std::nullopt;
  return header.error().text();
}

Result<KnownSize> npy_size(const object::DatasetDescription& dataset, RequestBudget&) {
  const auto header = npy_header(dataset);
  if (!header) return std::nullopt;
  return header->size() + dataset.image_bytes;
}

Result<ComputedFilePtr> make_npy(ViewInput source, const Earlier&, RequestBudget&) {
  H5_ASSIGN(std::string header, npy_header(source.reader->description()));
  return std::make_shared<NpyFile>(std::move(header), std::move(source.reader));
}

}  // namespace

constinit const View kNpyView{.directory = "npy",
                              .suffix = ".npy",
                              .unfit = npy_unfit,
                              .size = npy_size,
                              .make = make_npy,
                              .summary = "a dataset for numpy.load, also with mmap_mode='r'"};

}  // namespace h5mount::view
