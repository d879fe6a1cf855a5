// The view text/: each element is a line or, for numbers in more than one dimension, each row of the last
// dimension, separated by single spaces; strings are not quoted.
#include "h5mount/view/text_lines.h"

#include "../views.h"
#include "h5mount/base/checked.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

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

}  // namespace

Status append_word(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                   std::string& out) {
  const std::size_t begin = out.size();
  H5_TRY(text::append_json(type, element, context, out));
  unquote(out, begin);
  return {};
}

namespace {

using AppendElement = Status (*)(const format::Datatype& type, ByteSpan element,
                                 const text::ValueContext& context, std::string& out);

// Appends a string of variable length as its bytes, and any other value as JSON.
Status append_whole_line(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                         std::string& out) {
  return type.variable_string ? text::append_string(type, element, context, out)
                              : text::append_json(type, element, context, out);
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
Result<ComputedFilePtr> make_lines(ViewInput source, std::uint64_t elements, AppendElement append,
                                   const Earlier& before, RequestBudget& budget) {
  const object::DatasetDescription& dataset = source.reader->description();
  const std::uint64_t row_bytes = checked_mul(dataset.element_size, elements).value_or(format::kUnlimited);
  if (row_bytes > limits::kMaxTableRowBytes)
    return fail(Error(ErrorCode::TooLarge, "line too large to be shown as text").with_found(row_bytes));
  Table table{.columns = {{.name = {}, .type = dataset.type}},
              .rows = row_bytes == 0 ? 0 : dataset.image_bytes / row_bytes,
              .row_bytes = row_bytes};
  auto lines = std::make_shared<const Lines>(dataset.type, elements, append);
  return measure_table(std::move(source), std::move(table), std::move(lines), before, budget);
}

Result<ComputedFilePtr> make_text(ViewInput source, const Earlier& before, RequestBudget& budget) {
  const object::DatasetDescription& dataset = source.reader->description();
  const bool rows = dataset.space.rank() > 1 && !text::is_string(*dataset.type) && dataset.image_bytes > 0;
  const std::uint64_t elements = rows ? dataset.space.dims.back() : 1;
  return make_lines(std::move(source), elements, append_word, before, budget);
}

}  // namespace

bool is_shown_as_text(const format::Datatype& type) {
  return type.has_variable_part || type.has_reference;
}

Result<ComputedFilePtr> make_element_lines(ViewInput source, const Earlier& before, RequestBudget& budget) {
  return make_lines(std::move(source), 1, append_whole_line, before, budget);
}

Result<std::uint64_t> line_offset(const ComputedFile& lines, std::uint64_t element, RequestBudget& budget) {
  const auto* const rows = dynamic_cast<const RowsFile*>(&lines);
  if (rows == nullptr) return fail({ErrorCode::Internal, "a file that has no lines"});
  return rows->row_offset(element, budget);
}

constinit const View kTextView{
    .directory = "text",
    .size = [](const object::DatasetDescription& dataset, RequestBudget&) -> Result<KnownSize> {
      return dataset.image_bytes == 0 ? KnownSize(0) : std::nullopt;
    },
    .make = make_text,
    .shown_as = dataset::ShownAs::Text,
    .media_type = "text/plain; charset=utf-8",
    .summary = "any dataset as text, an element or a row of the last dimension a line"};

}  // namespace h5mount::view
