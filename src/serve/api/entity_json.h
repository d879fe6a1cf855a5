// An object, a link or an attribute as h5grove describes it, without values. Threads: any.
#pragma once

#include "../http/answer_memory.h"
#include "api.h"
#include "h5mount/text/json_writer.h"

namespace h5mount::serve {

// Writes the members that an object of any kind has, without its children: kind, name and attributes; for a
// dataset also chunks, filters, shape and type. A part that is damaged is null, and a member `error` is
// added; `damaged` is then set.
Status write_object(const tree::FileObject& object, std::string_view name, text::JsonWriter& json,
                    RequestBudget& budget, bool& damaged);

// Writes a link that is not resolved, as an object.
void write_link(const format::Link& link, std::string_view name, text::JsonWriter& json);

// Writes an entry of which only the name and the error are known.
void write_damaged(const Error& error, std::string_view name, text::JsonWriter& json);

// Writes the extent, or null.
void write_shape(const format::Dataspace& space, text::JsonWriter& json);

}  // namespace h5mount::serve
