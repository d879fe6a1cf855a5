#include "text_lines.h"

#include "h5mount/base/checked.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

bool is_variable_string(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::VariableLength && type.variable_string;
}

// Removes a JSON string's quotes, and the backslash before quotes inside it; characters that would break a
// line stay escaped.
void unquote(std::string& out, std::size_t begin) {
  if (out.size() < begin + 2 || out[begin] != '"') return;
  out.pop_back();
  std::size_t to = begin;
  for (std::size_t from = begin + 1; from < out.size(); ++from) {
    if (out[from] == '\\' && from + 1 < out.size()) {
      if (out[from + 1] != '"') out[to++] = out[from];
      ++from;
    }
    out[to++] = out[from];
  }
  out.resize(to);
}

using AppendElement = Status (*)(const format::Datatype& type, ByteSpan element,
                                 const text::ValueContext& context, std::string& out);

// Appends a string of variable length as its bytes, and any other value as JSON.
Status append_whole_line(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                         std::string& out) {
  return is_variable_string(type) ? text::append_string(type, element, context, out)
                                  : text::append_json(type, element, context, out);
}

Status append_word(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                   std::string& out) {
  const std::size_t begin = out.size();
  H5_TRY(text::append_json(type, element, context, out));
  unquote(out, begin);
  return {};
}

class Lines final : public RowText {
 public:
  Lines(format::DatatypePtr type, std::uint64_t elements, AppendElement append)
      : type_(std::move(type)), elements_(elements), append_(append) {}

  Status append_row(const std::byte* row, const text::ValueContext& context,
                    std::string& out) const override {
    for (std::uint64_t i = 0; i < elements_; ++i, row += type_->size) {
      if (i > 0) out += ' ';
      H5_TRY(append_(*type_, ByteSpan(row, type_->size), context, out));
      if (elements_ > 1) H5_TRY(within_bound(out, context));
    }
    out += '\n';
    return {};
  }

 private:
  const format::DatatypePtr type_;
  const std::uint64_t elements_;
  const AppendElement append_;
};

// Makes a table whose only column is the line.
Result<ComputedFilePtr> make_lines(Source source, std::uint64_t elements, AppendElement append,
                                   const ComputedFile* before, std::span<const dataset::ByteRange> stale,
                                   RequestBudget& budget) {
  const object::DatasetDescription& dataset = source.reader->description();
  const std::uint64_t row_bytes = checked_mul(dataset.element_size, elements).value_or(format::kUnlimited);
  if (row_bytes > limits::kMaxTableRowBytes)
    return fail(Error(ErrorCode::TooLarge, "line too large to be shown as text").with_found(row_bytes));
  Table table{.columns = {{.name = {}, .type = dataset.type}},
              .rows = row_bytes == 0 ? 0 : dataset.image_bytes / row_bytes,
              .row_bytes = row_bytes};
  auto lines = std::make_shared<const Lines>(dataset.type, elements, append);
  return measure_table(std::move(source), std::move(table), std::move(lines), before, stale, budget);
}

}  // namespace

bool is_shown_as_text(const format::Datatype& type) {
  return type.has_variable_part || type.has_reference;
}

Result<ComputedFilePtr> make_element_lines(Source source, const ComputedFile* before,
                                           std::span<const dataset::ByteRange> stale, RequestBudget& budget) {
  return make_lines(std::move(source), 1, append_whole_line, before, stale, budget);
}

Result<std::uint64_t> line_offset(const ComputedFile& lines, std::uint64_t element, RequestBudget& budget) {
  const auto* const rows = dynamic_cast<const RowsFile*>(&lines);
  if (rows == nullptr) return fail({ErrorCode::Internal, "a file that has no lines"});
  return rows->row_offset(element, budget);
}

Result<std::optional<std::string>> text_unfit(const object::DatasetDescription&, RequestBudget&) {
  return std::nullopt;
}

Result<std::optional<std::uint64_t>> text_size(const object::DatasetDescription& dataset, RequestBudget&) {
  if (dataset.image_bytes == 0) return 0;
  return std::nullopt;
}

Result<ComputedFilePtr> make_text(Source source, const ComputedFile* before,
                                  std::span<const dataset::ByteRange> stale, RequestBudget& budget) {
  const object::DatasetDescription& dataset = source.reader->description();
  const bool rows = dataset.space.rank() > 1 && !text::is_string(*dataset.type) && dataset.image_bytes > 0;
  const std::uint64_t elements = rows ? dataset.space.dims.back() : 1;
  return make_lines(std::move(source), elements, append_word, before, stale, budget);
}

}  // namespace h5mount::view
