// The entries of the virtual directory /.h5, one line for each, for code that makes, explains or offers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace h5mount::tree {

struct HiddenEntry {
  std::string_view name;  // below /.h5
  // The things at the path of a dataset in an entry that is a view of it: a file whose name ends in `suffix`,
  // or a directory. Whole: the entry is not a view of datasets.
  enum class Shows : std::uint8_t { Whole, File, Directory };
  Shows shows = Shows::Whole;
  std::string_view suffix = {};
  std::string form;          // as README writes it: "npy/PATH.npy"
  std::string_view summary;  // one sentence without a full stop
};

// All entries but README, in the order in which views are offered: from the tables of views and stores
// (h5mount/view), and from the table of the other entries. Threads: any.
std::span<const HiddenEntry> hidden_entries();

// The text of README.
std::string hidden_entries_text();

}  // namespace h5mount::tree
