#include "catalogue_rows.h"

#include <algorithm>

#include "h5mount/text/json_writer.h"

namespace h5mount::tree {

std::string row_bytes(const CatalogueRow& row) {
  CatalogueRowHead head = {static_cast<std::uint64_t>(row.size), static_cast<std::uint64_t>(row.mtime)};
  std::ranges::transform(kCatalogueTexts, head.begin() + 2,
                         [&](const CatalogueText& of) { return (row.*of.text).size(); });
  std::string out(reinterpret_cast<const char*>(head.data()), sizeof head);
  for (const CatalogueText& of : kCatalogueTexts) out += row.*of.text;
  return out;
}

void CatalogueRows::clear(std::uint64_t most) {
  spool_.clear();
  most_ = most;
}

Status CatalogueRows::add(const CatalogueRow& row) {
  const std::string bytes = row_bytes(row);
  if (bytes.size() > most_ - spool_.size())
    return fail({ErrorCode::TooLarge, "more metadata than a file of this size can sensibly have"});
  return spool_.append(bytes);
}

Result<bool> CatalogueRows::read(std::uint64_t& at, CatalogueRow& row) const {
  if (at == spool_.size()) return false;
  std::string bytes;
  const auto next = [&](std::uint64_t length, std::string& text) -> Status {
    text.clear();
    for (const std::uint64_t end = at + length; at < end; at += bytes.size()) {
      bytes.clear();
      H5_TRY(spool_.read(at, end - at, bytes));
      if (bytes.empty()) return fail({ErrorCode::Io, "rows of the catalogue are lost"});
      text += bytes;
    }
    return {};
  };
  CatalogueRowHead head = {};
  std::string text;
  H5_TRY(next(sizeof head, text));
  std::ranges::copy(text, reinterpret_cast<char*>(head.data()));
  row.size = static_cast<std::int64_t>(head[0]);
  row.mtime = static_cast<std::int64_t>(head[1]);
  for (std::size_t i = 0; i < kCatalogueTexts.size(); ++i)
    H5_TRY(next(head[i + 2], row.*kCatalogueTexts[i].text));
  return true;
}

std::string row_line(std::string_view file, const CatalogueRow& row) {
  std::string out;
  text::JsonWriter json(out);
  json.begin_object().member("file", file);
  for (const CatalogueText& of : kCatalogueTexts) {
    const std::string& text = row.*of.text;
    if (text.empty() || of.text == &CatalogueRow::more) continue;
    json.key(of.name);
    of.is_json ? json.raw(text) : json.value(text);
  }
  if (row.size != CatalogueRow::kNone) json.member("size", row.size);
  if (row.mtime != CatalogueRow::kNone) json.member("mtime", row.mtime);
  if (!row.more.empty()) json.raw(row.more);
  json.end_object();
  return out += '\n';
}

}  // namespace h5mount::tree
