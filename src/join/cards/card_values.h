// What cards know of elements: digests, few numbers, and the values of a coordinate along the axis. Elements
// are read in pieces. Threads: one.
#pragma once

#include "card_members.h"

namespace h5mount::join {

// Whether a dataset has the axis, of which files are parts.
bool has_axis(const MemberCard& card, const Axis& axis);
// Whether it is the coordinate of an existing axis.
bool is_axis_coordinate(const MemberCard& card, const Axis& axis);

// Sets `values`, `decoded` and `numbers` where the rules compare them. What cannot be read is an error of the
// member; errors are those that are passing.
Status add_values(CardSource& source, std::uint64_t address, MemberCard& card);

// Of the coordinate of the axis; `member` is not set.
Result<AxisValues> axis_values(CardSource& source, std::uint64_t address, const MemberCard& card);

}  // namespace h5mount::join
