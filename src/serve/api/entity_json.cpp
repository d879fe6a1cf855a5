#include "entity_json.h"

#include <algorithm>

#include "h5mount/base/advice.h"
#include "type_json.h"

namespace h5mount::serve {
namespace {

using text::JsonWriter;

// The largest description, as it is made as a whole.
constexpr std::size_t kMaxEntityText = 16U << 20;

Status write_attribute(const object::Attribute& attribute, JsonWriter& json, RequestBudget& budget) {
  json.begin_object().member("name", attribute.name);
  if (attribute.damage || !attribute.type) {
    json.member("shape", nullptr).key("type").begin_object().member("class", -1).member("size", 0);
    json.end_object();
    if (attribute.damage) json.member("error", attribute.damage->text());
  } else {
    json.key("shape");
    write_shape(attribute.space, json);
    json.key("type");
    H5_TRY(write_type(*attribute.type, json, budget));
  }
  json.end_object();
  return {};
}

void write_filters(const format::FilterPipelineMessage& pipeline, JsonWriter& json) {
  if (pipeline.filters.empty()) {
    json.value(nullptr);
    return;
  }
  json.begin_array();
  for (const format::FilterDescription& filter : pipeline.filters) {
    json.begin_object().member("id", filter.id).member("name", text::filter_name(filter)).end_object();
  }
  json.end_array();
}

Status write_dataset(const tree::FileObject& object, JsonWriter& json, RequestBudget& budget,
                     std::optional<Error>& damage) {
  auto whole = object.description(budget);
  if (!whole && is_passing(whole.error())) return fail(whole.error());
  object::DatasetParts parts;
  if (!whole) {
    damage = whole.error();
    parts = object::describe_parts(*object.snapshot(), object.object());
  }
  const object::DatasetDescription& dataset = whole ? **whole : parts.description;
  const bool chunked = (whole || parts.layout) && dataset.layout.cls == format::LayoutClass::Chunked;
  json.key("chunks");
  chunked ? json.array(dataset.layout.chunk_dims) : json.value(nullptr);
  json.key("filters");
  write_filters(dataset.pipeline, json);
  json.key("shape");
  if (whole || parts.space)
    write_shape(dataset.space, json);
  else
    json.value(nullptr);
  json.key("type");
  if (dataset.type) return write_type(*dataset.type, json, budget);
  json.begin_object().member("class", -1).member("size", 0).end_object();
  return {};
}

Status write_datatype(const tree::FileObject& object, JsonWriter& json, RequestBudget& budget) {
  H5_ASSIGN(const format::DatatypePtr type, object::committed_datatype(*object.snapshot(), object.object()));
  json.key("type");
  return write_type(*type, json, budget);
}

}  // namespace

void write_shape(const format::Dataspace& space, JsonWriter& json) {
  space.kind == format::DataspaceKind::Null ? json.value(nullptr) : json.array(space.dims);
}

Status write_object(const tree::FileObject& object, std::string_view name, JsonWriter& json,
                    RequestBudget& budget, bool& damaged) {
  H5_ASSIGN(const tree::NamedAttributes attributes, attributes_of(object, tree::WithValues::No, budget));
  std::optional<Error> damage = attributes.damage;
  json.key("attributes").begin_array();
  for (const object::Attribute& attribute : attributes.list) {
    H5_TRY(write_attribute(attribute, json, budget));
    if (json.text().size() > kMaxEntityText)
      return fail({ErrorCode::LimitExceeded, "the object's description is too long"});
  }
  json.end_array();
  switch (object.object().kind) {
    case object::ObjectKind::Dataset:
      H5_TRY(write_dataset(object, json, budget, damage));
      break;
    case object::ObjectKind::Datatype:
      H5_TRY(write_datatype(object, json, budget));
      break;
    case object::ObjectKind::Group:
      break;
  }
  json.member("kind", object::kind_name(object.object().kind)).member("name", name);
  if (damage) json.member("error", damage->text());
  damaged = damaged || damage || std::ranges::any_of(attributes.list, [](const object::Attribute& attribute) {
              return attribute.damage.has_value();
            });
  return {};
}

void write_link(const format::Link& link, std::string_view name, JsonWriter& json) {
  json.begin_object();
  if (link.is(format::LinkType::Soft)) {
    json.member("kind", "soft_link").member("name", name).member("target_path", link.target);
  } else if (link.is(format::LinkType::External)) {
    json.member("kind", "external_link").member("name", name);
    json.member("target_file", link.file).member("target_path", link.target);
  } else {
    json.member("kind", "other").member("name", name);
  }
  json.end_object();
}

void write_damaged(const Error& error, std::string_view name, JsonWriter& json) {
  json.begin_object().member("kind", "other").member("name", name).member("error", text_with_advice(error));
  json.end_object();
}

}  // namespace h5mount::serve
