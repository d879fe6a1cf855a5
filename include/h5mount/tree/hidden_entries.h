// What there is in the virtual directory /.h5: a line for each of its entries, for whoever makes, explains or
// offers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace h5mount::tree {

struct HiddenEntry {
  std::string_view name;  // below /.h5
  // What it has at the path of a dataset for who looks for views of it: a file, the name of which ends in
  // `suffix`, or a directory. Whole: it is something else.
  enum class Shows : std::uint8_t { Whole, File, Directory };
  Shows shows = Shows::Whole;
  std::string_view suffix = {};
  std::string form;          // as README writes it: "npy/PATH.npy"
  std::string_view summary;  // one sentence without a full stop
};

// All but README, in the order in which views are offered. From the tables of views and stores (h5mount/view)
// and that of the other entries. Threads: any.
std::span<const HiddenEntry> hidden_entries();

// The text of README.
std::string hidden_entries_text();

}  // namespace h5mount::tree
