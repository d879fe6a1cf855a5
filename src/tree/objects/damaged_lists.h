// Entries missing from an object's lists: the links of a group, the attributes of any object. Determined by
// reading the whole list, and cached with the object.
#pragma once

#include <memory>
#include <optional>

#include "../core/served_file.h"

namespace h5mount::tree {

inline constexpr const char* kMissingLinks = "links";

// The group of an object, opened once. Errors: those of opening it.
Result<std::shared_ptr<const object::Group>> opened_group(const OpenedObject& object);

// Why links may be missing; nullopt if the list is complete.
std::optional<Error> links_damage(const OpenedObject& object);

// Why attributes may be missing; nullopt if the list is complete.
std::optional<Error> lost_attributes(const OpenedObject& object);
// Why attributes may be missing, or why the value of one cannot be read, as far as its message shows that.
std::optional<Error> attributes_damage(const OpenedObject& object);

}  // namespace h5mount::tree
