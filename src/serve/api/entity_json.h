// An object, a link or an attribute as h5grove describes it, without values. Threads: any.
#pragma once

#include "api.h"
#include "h5mount/text/json_writer.h"

namespace h5mount::serve {

// The members that an object of any kind has but its children: of a dataset chunks, filters, shape and type;
// kind, name and attributes. Damage of a part is a null in its place and a member `error`.
Status write_object(const tree::FileObject& object, std::string_view name, text::JsonWriter& json,
                    RequestBudget& budget);

// A link that is not resolved, as an object.
void write_link(const format::Link& link, std::string_view name, text::JsonWriter& json);

// An entry of which nothing but its name and what is wrong with it can be said.
void write_damaged(const Error& error, std::string_view name, text::JsonWriter& json);

// The attributes of an object by their names, in the order of bytes.
struct NamedAttributes {
  std::vector<object::Attribute> list;
  std::optional<Error> damage;  // why some may be missing
};
enum class WithValues { Yes, No };
Result<NamedAttributes> attributes_of(const tree::FileObject& object, WithValues values,
                                      RequestBudget& budget);

// The extent, or null.
void write_shape(const format::Dataspace& space, text::JsonWriter& json);

}  // namespace h5mount::serve
