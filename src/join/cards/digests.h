// Digests of what elements mean: of numbers, characters and names, whatever the widths, byte orders and
// paddings in which they are stored. They are the same on every machine and in every session. They are for
// comparing what files of one user say, not against forgery: whoever can choose a file's values can as well
// choose equal ones. Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "h5mount/base/hash.h"
#include "h5mount/join/card.h"
#include "h5mount/text/value_text.h"

namespace h5mount::join {

class Hasher {
 public:
  void add(std::uint64_t word) {
    low_ = mix_bits(low_ ^ word);
    high_ = mix_bits(high_ + word * 0xD6E8'FEB8'6659'FD93U) ^ low_;
  }
  void add(std::string_view text);  // its length too
  Digest digest() const { return {low_, high_}; }

 private:
  std::uint64_t low_ = 0x243F'6A88'85A3'08D3U, high_ = 0x1319'8A2E'0370'7344U;
};

// How much of a file is made digests of, whatever the budget of the request is: a hostile file fails alone.
struct DigestWork {
  std::uint64_t left = 0;  // about bytes
  Status take(std::uint64_t steps);
  Status spend(std::uint64_t steps, RequestBudget& budget);
};

// What elements of that type are: no number is equal to a text. To be added before them, with their number.
void add_form(const format::Datatype& type, Hasher& to);

// Adds elements, all at once or piece by piece. Integers as exact numbers, floats as
// doubles, strings by their characters; others as JSON: of enumerations the names, of references the paths,
// of compounds the members by name. Errors: those of reading what elements refer to, of the work, and of the
// budget.
Status add_elements(const format::Datatype& type, ByteSpan elements, const text::ValueContext& values,
                    DigestWork& work, Hasher& to);

// The same of doubles; each NaN is one.
void add_doubles(std::span<const double> values, Hasher& to);

// Of an attribute: of type and value. `by_value`: the type of a number does not count.
Result<Digest> attribute_digest(const object::Attribute& attribute, const text::ValueContext& values,
                                DigestWork& work, bool by_value);

Digest pipeline_digest(const format::FilterPipelineMessage& pipeline);

}  // namespace h5mount::join
