// What says in a made file what the dimensions of its datasets are: HDF5's dimension scales, with the parts
// of them by which netCDF knows its dimensions. Threads: any.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "h5mount/join/made_file.h"
#include "h5mount/join/plan.h"

namespace h5mount::join {

// Objects by path; the members of the plan that they are made of, if any.
struct MadeMember {
  MadeObject object;
  const PlannedMember* member = nullptr;
};
using MadeMembers = std::map<std::string, MadeMember, std::less<>>;

// Whether an attribute is one of those that add_scales makes anew, or that it leaves out as they hold numbers
// of dimensions.
bool says_dimensions(std::string_view attribute, const PlannedMember& member);

// Adds them to all datasets of the joined file.
void add_scales(MadeMembers& members);

}  // namespace h5mount::join
