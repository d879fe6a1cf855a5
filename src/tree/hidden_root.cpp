#include "hidden_root.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "h5mount/base/text.h"
#include "h5mount/tree/hidden_entries.h"
#include "objects/object_nodes.h"
#include "views/virtual_directories.h"

namespace h5mount::tree {

namespace {

// The files that external links lead to.
NodePtr make_external_entry(const VirtualDirectorySetup& setup) {
  return make_external_directory(setup.context, "external",
                                 [](ServedFilePtr file) { return make_root_node(std::move(file), nullptr); });
}

// The entries that are neither views of datasets nor Zarr stores: those have tables in the module `view`.
struct OtherEntry {
  std::string_view name;
  NodePtr (*make)(const VirtualDirectorySetup& setup);  // returns null if this mount does not have it
  std::string_view form, summary;
  HiddenEntry::Shows shows = HiddenEntry::Shows::Whole;
};
constexpr std::array kOthers = {
    OtherEntry{"attributes", make_attributes_directory, "attributes/PATH@NAME",
               "an attribute of any size as text"},
    OtherEntry{"decoded", make_decoded_directory, "decoded/VIEW/PATH",
               "the same views of what conventions say that the elements mean; raw/PATH for their bytes, "
               "mtx/PATH/ for sparse matrices"},
    OtherEntry{"external", make_external_entry, "external/FILE/", "the files that external links lead to"},
    OtherEntry{"fields", make_fields_directory, "fields/PATH/MEMBER",
               "a member of a compound dataset, packed; MEMBER.npy with a header",
               HiddenEntry::Shows::Directory},
    OtherEntry{"files.jsonl", make_joined_lines, "files.jsonl",
               "of a joined file: a line for each file and variable, with its place and what was done"},
    OtherEntry{"files.parquet", make_joined_table, "files.parquet", "the same as a table"},
    OtherEntry{"list.txt", make_list_file, "list.txt",
               "the whole tree for people: shapes, types, filters, link targets, attributes"},
    OtherEntry{"log", make_log_file, "log", "the mount's last thousand messages"},
    OtherEntry{"metadata.jsonl", make_metadata_file, "metadata.jsonl",
               "the whole tree, a JSON object a line: jq 'select(.kind == \"dataset\") | .path'"},
    OtherEntry{"references.icechunk", make_icechunk_references, "references.icechunk/",
               "the same as a repository of Icechunk"},
    OtherEntry{"references.json", make_references_file, "references.json",
               "where each chunk lies in the file, for programs that read it there (kerchunk)"},
    OtherEntry{"references.parq", make_parquet_references, "references.parq/",
               "the same in Parquet, for files of millions of chunks"},
    OtherEntry{"refs", make_references_directory, "refs/PATH/INDEX",
               "what the elements of a dataset of references refer to, as symlinks"},
    OtherEntry{"slice", make_slice_directory, "slice/PATH/SELECTION",
               "what NumPy's indexing selects: slice/image/10:20,:,3 or ::100 or -1 or ...,0; with another "
               "view's suffix as that: SELECTION.npy, .csv, .tif",
               HiddenEntry::Shows::Directory},
    OtherEntry{"sparse", make_sparse_directory, "sparse/PATH/", "coordinates and values of a sparse dataset"},
    OtherEntry{"status", make_status_file, "status", "the mount's counters"},
};

constexpr std::string_view kAboutAll =
    "What the mount shows beside the file's own tree. PATH is an object's path; nothing here is stored, all "
    "of it\nis computed when it is read. Sizes are exact; growing files are followed.\n\n";
constexpr std::size_t kFormColumns = 27, kColumns = 105;

std::vector<HiddenEntry> all_entries() {
  using enum HiddenEntry::Shows;
  std::vector<HiddenEntry> out;
  for (const view::View& view : view::views())
    out.push_back({view.directory, File, view.suffix, fmt::format("{}/PATH{}", view.directory, view.suffix),
                   view.summary});
  for (const OtherEntry& other : kOthers)
    out.push_back({other.name, other.shows, "", std::string(other.form), other.summary});
  for (const view::ZarrStore& store : view::zarr_stores())
    out.push_back({store.name, Directory, "", fmt::format("{}/", store.name), store.summary});
  return out;
}

// Appends the words, wrapped into lines that begin at column kFormColumns, where `out` already ends.
void append_wrapped(std::string_view words, std::string& out) {
  std::size_t column = kFormColumns;
  while (!words.empty()) {
    const std::string_view word = take_until(words, ' ');
    if (column > kFormColumns && column + 1 + word.size() > kColumns) {
      out += '\n' + std::string(kFormColumns, ' ');
      column = kFormColumns;
    } else if (column > kFormColumns) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
}

}  // namespace

std::span<const HiddenEntry> hidden_entries() {
  static const std::vector<HiddenEntry> entries = all_entries();
  return entries;
}

std::string hidden_entries_text() {
  const std::span<const HiddenEntry> all = hidden_entries();
  std::vector<HiddenEntry> entries(all.begin(), all.end());
  std::ranges::sort(entries, {}, &HiddenEntry::name);
  std::string out(kAboutAll);
  for (const HiddenEntry& entry : entries) {
    out += fmt::format("{:<{}}", entry.form, kFormColumns);
    append_wrapped(entry.summary, out);
    out += '\n';
  }
  return out;
}

NodePtr make_hidden_root(const VirtualDirectorySetup& setup) {
  std::vector<std::pair<std::string, NodePtr>> entries{
      {"README", make_readme_file(setup, hidden_entries_text())}};
  for (const OtherEntry& other : kOthers)
    if (NodePtr made = other.make(setup)) entries.emplace_back(other.name, std::move(made));
  for (const view::View& view : view::views())
    entries.emplace_back(view.directory, make_view_directory(setup, view));
  for (const view::ZarrStore& store : view::zarr_stores())
    entries.emplace_back(store.name, make_zarr_directory(setup, store));
  std::ranges::sort(entries, {}, &std::pair<std::string, NodePtr>::first);
  return make_fixed_directory(setup.context, "", std::move(entries));
}

}  // namespace h5mount::tree
