#include "text_rows.h"

#include <algorithm>

#include "h5mount/view/text_image.h"

namespace h5mount::view {

namespace {

bool is_string(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::String ||
         (type.cls == format::DatatypeClass::VariableLength && type.variable_string);
}

// A JSON string goes without its quotes, and those in it without their backslash; what would break a line
// stays escaped.
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

Status append_row(const format::Datatype& type, ByteSpan row, const text::ValueContext& context,
                  std::string& out) {
  for (std::size_t at = 0; at < row.size(); at += type.size) {
    if (at > 0) out += ' ';
    const std::size_t begin = out.size();
    H5_TRY(text::append_json(type, row.subspan(at, type.size), context, out));
    unquote(out, begin);
  }
  return {};
}

}  // namespace

std::optional<std::string> text_unfit(const object::DatasetDescription&) {
  return std::nullopt;
}

std::optional<std::uint64_t> text_size(const object::DatasetDescription& dataset) {
  if (dataset.image_bytes == 0) return 0;
  return std::nullopt;
}

Result<ComputedFilePtr> make_text(Source source, const ComputedFile* before,
                                  std::span<const dataset::ByteRange> stale) {
  const object::DatasetDescription& dataset = source.reader->description();
  const bool rows = dataset.space.rank() > 1 && !is_string(*dataset.type) && dataset.image_bytes > 0;
  const LineFormat lines{rows ? dataset.space.dims.back() : 1, append_row};
  std::uint64_t same = format::kUnlimited;
  for (const dataset::ByteRange& range : stale) same = std::min(same, range.begin);
  H5_ASSIGN(ComputedFilePtr made,
            TextImage::measure(std::move(source.reader), std::move(source.values), source.environment.cache,
                               dynamic_cast<const TextImage*>(before), same, lines));
  return made;
}

}  // namespace h5mount::view
