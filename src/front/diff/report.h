// The report of a comparison: a line for each difference, or one object of JSON, written as they are found.
// Threads: one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare_values.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/messages.h"
#include "h5mount/front/output.h"

namespace h5mount::front {

// Where a difference is: an object, or an attribute of it. Names as the mount shows them.
struct DiffPlace {
  std::string_view path;  // begins with `/`
  std::optional<std::string_view> attribute = {};
};

// One side of a difference, as text and as JSON.
struct DiffValue {
  std::string text, json;
};
DiffValue shown_word(std::string_view word);  // of a kind
DiffValue shown_shape(const format::Dataspace& space);
// A long one is cut. What it costs is charged, and whoever asks the budget next is told if that was too much.
DiffValue shown_type(const format::Datatype& type, RequestBudget& budget);
DiffValue shown_link(const format::Link& link);
DiffValue shown_target(std::string_view target);  // of a symlink

enum class DiffKind : std::uint8_t { OnlyA, OnlyB, Kind, Shape, Type, Link, Value };

class DiffReport {
 public:
  DiffReport(Output& out, bool json) : out_(out), json_(json) {}

  Status add(const DiffPlace& place, DiffKind kind);
  Status add(const DiffPlace& place, DiffKind kind, const DiffValue& a, const DiffValue& b);
  Status add_values(const DiffPlace& place, const DifferentValues& values);
  // Writes what was told so far: what follows may take long.
  Status flush() { return out_.flush(); }
  // `equal`: nothing differs, and all was compared.
  Status end(bool equal);

  bool any() const { return any_; }

 private:
  using Members = std::vector<std::pair<std::string_view, std::string>>;  // of JSON
  Status write(const DiffPlace& place, DiffKind kind, const Members& members, const std::string& words);

  Output& out_;
  const bool json_;
  bool any_ = false;
};

}  // namespace h5mount::front
