// /.h5/files.jsonl and files.parquet of a joined file.
#include "h5mount/base/utf8.h"
#include "h5mount/join/plan.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/view/parquet_rows.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

using AppendRow = std::function<Status(const join::FileRow& row)>;

Status for_each_file(const ServedFilePtr& file, const AppendRow& append, RequestBudget& budget) {
  H5_ASSIGN(const join::PlanPtr plan, file->context().options.joined->plan(budget));
  Status done;
  join::for_each_row(*plan, [&](const join::FileRow& row) {
    constexpr std::uint64_t kSteps = 500;
    done = budget.spend(kSteps);
    if (done) done = append(row);
    return done.has_value();
  });
  return done;
}

Status append_joined_lines(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  const auto append = [&](const join::FileRow& row) -> Status {
    std::string line;
    text::JsonWriter json(line);
    json.begin_object().member("file", row.file).member("path", row.path);
    json.member("position", row.position).member("length", row.length).member("first", row.first);
    json.key("packing").raw(row.packing.empty() ? "null" : row.packing);
    for (const auto& [name, text] : {std::pair("units", &row.units), std::pair("converted", &row.converted),
                                     std::pair("error", &row.error)}) {
      json.key(name);
      text->empty() ? json.value(nullptr) : json.value(*text);
    }
    json.end_object();
    return out.append(line + "\n");
  };
  return for_each_file(file, append, budget);
}

Status append_joined_table(const ServedFilePtr& file, TreeText& out, RequestBudget& budget) {
  using Kind = view::ParquetRows::Kind;
  using Cell = view::ParquetRows::Cell;
  view::ParquetRows rows({{"file", Kind::Name},
                          {"path", Kind::Name},
                          {"position", Kind::Number},
                          {"length", Kind::Number},
                          {"first", Kind::Number},
                          {"packing", Kind::Name},
                          {"units", Kind::Name},
                          {"converted", Kind::Name},
                          {"error", Kind::Name}},
                         [&](std::string_view bytes) { return out.append(bytes); });
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? Cell(static_cast<std::int64_t>(*value)) : Cell();
  };
  H5_TRY(for_each_file(
      file,
      [&](const join::FileRow& row) {
        // As in the lines of JSON, and in a catalogue.
        std::array<std::string, 6> texts;
        const std::array<std::string_view, 6> of = {row.file,  row.path,      row.packing,
                                                    row.units, row.converted, row.error};
        for (std::size_t i = 0; i < of.size(); ++i) texts[i] = escape_invalid_utf8(of[i], "\\udc{:02x}");
        const auto words = [&](std::size_t i) { return texts[i].empty() ? Cell() : Cell(texts[i]); };
        const std::array cells{words(0),
                               words(1),
                               number(row.position),
                               number(row.length),
                               Cell(std::int64_t{row.first}),
                               words(2),
                               words(3),
                               words(4),
                               words(5)};
        return rows.add(cells);
      },
      budget));
  return rows.finish();
}

}  // namespace

NodePtr make_joined_lines(const VirtualDirectorySetup& setup) {
  if (!setup.context->options.joined) return nullptr;
  return make_tree_text_file(setup, "files.jsonl", "application/x-ndjson", append_joined_lines);
}

NodePtr make_joined_table(const VirtualDirectorySetup& setup) {
  if (!setup.context->options.joined) return nullptr;
  return make_tree_text_file(setup, "files.parquet", "application/vnd.apache.parquet", append_joined_table);
}

}  // namespace h5mount::tree
