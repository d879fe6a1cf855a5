// What a user asks for with join=, join_order=, join_conflict= and join_gap=. Pure; threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::join {

struct Axis {
  enum class Kind : std::uint8_t {
    Existing,  // NAME: the dimension of that name
    First,     // :N: the Nth dimension of each dataset, of files without names of dimensions
    New,       // +NAME: a new one, in front of all others
    Union,     // members side by side
  };
  Kind kind = Kind::Existing;
  std::string name;             // of Existing and New
  std::uint32_t dimension = 0;  // of First
  // Of New: where the coordinate's value comes from; of Existing: the epoch of each file's times, a date
  // form.
  enum class Source : std::uint8_t {
    None,       // the names themselves
    Pattern,    // the first group of a regular expression (ECMAScript), searched in the path
    Date,       // strptime's %Y %m %d %H %M %S %j, searched in the path
    Attribute,  // of the root, or PATH@NAME
  };
  Source source = Source::None;
  std::string text;  // the pattern, the date form, or the attribute
};

enum class Order : std::uint8_t { Coordinate, Name, Given };
enum class Conflict : std::uint8_t { Decode, Refuse, First };
enum class Gap : std::uint8_t { Fill, Refuse };

struct Options {
  Axis axis;
  Order order = Order::Coordinate;
  bool order_stated = false;  // the user has chosen it
  bool listed = false;        // the order given is the user's: it is that of files without a coordinate
  Conflict conflict = Conflict::Decode;
  Gap gap = Gap::Fill;
};

// time, time:'%Y%m%d', :0, +run, +run:'run_(\d+)\.h5', +time:'%Y%m%d', +run:@ATTRIBUTE, union. Quotes around
// the text may be left out. Fails with InvalidValue, and words for the user.
Result<Axis> parse_axis(std::string_view text);
// The same back, without the text behind a name: time, :0, +run, union.
std::string text_of(const Axis& axis);

}  // namespace h5mount::join
