#include "h5mount/view/matrix.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/matrix_entries.h"
#include "h5mount/text/integer_text.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

using dataset::EntryPlaces;

// The numbers that are one value: the second one is an imaginary part.
struct ValueNumbers {
  std::array<std::optional<Cell>, 2> cells;
  std::string_view field;  // as Matrix Market names it
};

// Appends the number to those of the value; false if it cannot be written.
bool add_number(const format::DatatypePtr& type, std::uint64_t offset, std::optional<Cell>& out) {
  Cell cell(Column{.name = {}, .type = type, .offset = EntryPlaces::kValue + offset});
  if (!cell.is_number()) return false;
  out = std::move(cell);
  return true;
}

std::optional<ValueNumbers> numbers_of(const format::DatatypePtr& type) {
  ValueNumbers out;
  const auto& members = type->members;
  const bool pair =
      members.size() == 2 && members[0].type->cls == format::DatatypeClass::Float &&
      members[1].type->cls == format::DatatypeClass::Float &&
      (text::complex_part(*type) != nullptr || (members[0].name == "real" && members[1].name == "imag"));
  bool fits = false;
  if (pair) {
    out.field = "complex";
    fits = add_number(members[0].type, members[0].offset, out.cells[0]) &&
           add_number(members[1].type, members[1].offset, out.cells[1]);
  } else if (type->cls == format::DatatypeClass::Complex) {
    out.field = "complex";
    fits = add_number(type->base, 0, out.cells[0]) && add_number(type->base, type->base->size, out.cells[1]);
  } else {
    out.field = type->cls == format::DatatypeClass::Float ? "real" : "integer";
    fits = add_number(text::is_boolean(*type) ? type->base : type, 0, out.cells[0]);
  }
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

const format::DatatypePtr& value_type(const object::DatasetDescription& entries) {
  return entries.type->members.back().type;
}

std::string matrix_header(const object::DatasetDescription& entries, std::string_view field) {
  return fmt::format("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n", field, entries.matrix[0],
                     entries.matrix[1], entries.space.dims[0]);
}

// Row, column, value, counted from 1, and as many spaces as the longest line does not need.
class MatrixLines final : public RowText {
 public:
  MatrixLines(const object::DatasetDescription& entries, ValueNumbers value)
      : header_(matrix_header(entries, value.field)),
        value_(*std::move(value.cells[0])),
        imaginary_(std::move(value.cells[1])),
        width_(fmt::formatted_size("{} {} ", entries.matrix[0], entries.matrix[1]) +
               value_.json_width().value_or(0) + 1) {
    if (imaginary_) width_ += 1 + imaginary_->json_width().value_or(0);
  }

  std::string header() const override { return header_; }
  std::optional<std::size_t> row_width() const override { return width_; }

  Status append_row(const std::byte* row, const text::ValueContext&, std::string& out) const override {
    char line[kRoom];
    write_line(row, line);
    out.append(line, width_);
    return {};
  }

  // What is written behind a line is overwritten by the next one, but for the last lines.
  bool write_rows(const std::byte* rows, std::size_t count, std::size_t row_bytes, char* out) const override {
    const std::size_t last = std::min(count, divide_up(kRoom, width_));
    for (std::size_t i = 0; i < count - last; ++i, rows += row_bytes, out += width_) write_line(rows, out);
    char line[kRoom];
    for (std::size_t i = 0; i < last; ++i, rows += row_bytes, out += width_) {
      write_line(rows, line);
      std::memcpy(out, line, width_);
    }
    return true;
  }

 private:
  // Two indices, two numbers, and what writing a number may overwrite.
  static constexpr std::size_t kRoom = 2 * (text::kIntegerTextRoom + 1) + 2 * (Cell::kNumberRoom + 1);

  void write_line(const std::byte* row, char* out) const {
    char* end = text::write_integer(load_le<std::uint64_t>(row + EntryPlaces::kRow) + 1, out);
    *end++ = ' ';
    end = text::write_integer(load_le<std::uint64_t>(row + EntryPlaces::kColumn) + 1, end);
    *end++ = ' ';
    end = value_.write_plain(row, end);
    if (imaginary_) {
      *end++ = ' ';
      end = imaginary_->write_plain(row, end);
    }
    char* const last = out + width_ - 1;
    std::fill(end, last, ' ');
    *last = '\n';
  }

  std::string header_;
  Cell value_;
  std::optional<Cell> imaginary_;
  std::size_t width_;
};

Result<RowTextPtr> matrix_lines(const object::DatasetDescription& entries) {
  auto numbers = numbers_of(value_type(entries));
  if (!numbers) return fail({ErrorCode::UnsupportedFeature, "values of a matrix that are not numbers"});
  return std::make_shared<const MatrixLines>(entries, *std::move(numbers));
}

// The bytes of the file.
Result<std::uint64_t> matrix_bytes(const object::DatasetDescription& entries, const RowText& lines) {
  constexpr std::uint64_t kMostBytes = (1ULL << 63) - 1;
  const auto body = checked_mul(entries.space.dims[0], *lines.row_width());
  const auto all = body ? checked_add(*body, lines.header().size()) : std::nullopt;
  if (!all || *all > kMostBytes) return fail({ErrorCode::TooLarge, "larger than a file can be"});
  return *all;
}

Result<KnownSize> matrix_size(const object::DatasetDescription& entries, RequestBudget&) {
  H5_ASSIGN(const RowTextPtr lines, matrix_lines(entries));
  H5_ASSIGN(const std::uint64_t bytes, matrix_bytes(entries, *lines));
  return bytes;
}

Result<ComputedFilePtr> make_matrix(ViewInput source, const Earlier&, RequestBudget&) {
  const object::DatasetDescription& entries = source.reader->description();
  H5_ASSIGN(RowTextPtr lines, matrix_lines(entries));
  H5_TRY(matrix_bytes(entries, *lines));
  Table table{.columns = {{.name = {}, .type = value_type(entries)}},
              .rows = entries.space.dims[0],
              .row_bytes = entries.element_size};
  return make_padded_table(std::move(source), std::move(table), std::move(lines));
}

// Words with tabs between them. `words`: the number of members that are shown; `last`: the last word of all
// lines.
class WordLines final : public RowText {
 public:
  WordLines(format::DatatypePtr row, std::size_t words, std::string_view last)
      : row_(std::move(row)), words_(std::min(words, row_->members.size())), last_(last) {}

  Status append_row(const std::byte* row, const text::ValueContext& context,
                    std::string& out) const override {
    for (std::size_t i = 0; i < words_; ++i) {
      const format::CompoundMember& member = row_->members[i];
      if (i > 0) out += '\t';
      H5_TRY(append_word(*member.type, ByteSpan(row + member.offset, member.type->size), context, out));
      H5_TRY(within_bound(out, context));
    }
    out += last_;
    out += '\n';
    return {};
  }

 private:
  const format::DatatypePtr row_;
  const std::size_t words_;
  const std::string_view last_;
};

template <bool kGenes>
Result<ComputedFilePtr> make_words(ViewInput source, const Earlier& before, RequestBudget& budget) {
  const object::DatasetDescription& joined = source.reader->description();
  if (joined.element_size > limits::kMaxTableRowBytes)
    return fail(
        Error(ErrorCode::TooLarge, "line too large to be shown as text").with_found(joined.element_size));
  Table table{.columns = {{.name = {}, .type = joined.type}},
              .rows = joined.space.dims[0],
              .row_bytes = joined.element_size};
  const bool two = joined.type->members.size() == 2;
  auto lines = std::make_shared<const WordLines>(joined.type, kGenes ? 2 : format::kUnlimited,
                                                 !kGenes && two ? "\tGene Expression" : "");
  return measure_table(std::move(source), std::move(table), std::move(lines), before, budget);
}

constexpr std::string_view kMatrixText = "text/plain; charset=utf-8",
                           kTabbedText = "text/tab-separated-values; charset=utf-8";
constinit const View kMatrixMarket{
    .suffix = ".mtx", .size = matrix_size, .make = make_matrix, .media_type = kMatrixText};
constinit const View kFeatures{.make = make_words<false>, .media_type = kTabbedText};
constinit const View kGenes{.make = make_words<true>, .media_type = kTabbedText};

}  // namespace

const View& matrix_market_view() {
  return kMatrixMarket;
}
const View& features_view() {
  return kFeatures;
}
const View& genes_view() {
  return kGenes;
}

}  // namespace h5mount::view
