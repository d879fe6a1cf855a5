// Plain values that Python's pickle module wrote (protocols 0 to 5): None, booleans, numbers, texts, and
// lists, tuples and dictionaries of these. Nothing is executed: what an object would be made of is taken from
// the stack, and a value that stands for it is put there. Pure; threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::meaning {

struct PickledValue {
  enum class Kind : std::uint8_t { None, Bool, Int, Float, Text, List, Tuple, Dict, Other };
  Kind kind = Kind::None;
  // Of a number as Python prints it; of Other the name of its class or function, if that is known.
  std::string text = {};
  std::vector<std::uint32_t> items = {};  // places in Pickled; of a dictionary keys and values in turn
};

// The values of one pickle. They may contain each other in circles.
class Pickled {
 public:
  // nullopt: no such pickle, or it ends early, or is longer than 128 KiB.
  static std::optional<Pickled> read(ByteSpan bytes);
  // One value that is not of a pickle.
  static Pickled of(PickledValue value);

  const PickledValue& root() const { return values_[root_]; }
  // The items of a list or tuple; empty: it is something else.
  std::vector<const PickledValue*> items(const PickledValue& of) const;
  // The value of a text or number in a dictionary; null: there is none.
  const PickledValue* find(const PickledValue& dictionary, std::string_view key) const;
  // The value as a name: a text as it is, all others as Python prints them. nullopt: a dictionary, something
  // else than plain values, or longer or deeper than names are.
  std::optional<std::string> name(const PickledValue& of) const;

 private:
  friend class PickleReader;
  bool append_repr(const PickledValue& of, unsigned depth, std::string& out) const;

  std::vector<PickledValue> values_;
  std::uint32_t root_ = 0;
};

// A text in Python's quotation marks.
std::string python_quoted(std::string_view text);
std::string python_float(double number);

}  // namespace h5mount::meaning
