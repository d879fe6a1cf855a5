#include "context.h"

#include <algorithm>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/structures.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/format/btree2_node.h"
#include "h5mount/metadata/btree2.h"
#include "h5mount/object/file_set.h"
#include "h5mount/text/value_text.h"

namespace h5mount::check {

namespace {

// A value with references or variable-length parts is sound if it can be written as text. Other values are
// always sound.
Status check_value(const Context& context, const object::Attribute& attribute) {
  if (attribute.damage) return fail(*attribute.damage);
  if (!attribute.type->has_variable_part && !attribute.type->has_reference) return {};
  return context.values.run(0, [&](RequestBudget& budget) -> Status {
    const text::ValueContext values{{.file = context.metadata, .proves_references = true}, budget};
    H5_TRY(text::value_text_size(*attribute.type, attribute.space, attribute.data, values));
    return {};
  });
}

// Fields that do not decide: the value is read (object::DatasetDescription::disagreements).
void check_agreement(const Context& context, const object::Attribute& attribute, PlaceId place) {
  const auto found = [&](const Error& error) {
    context.found(place, error.within("attribute " + attribute.name));
  };
  if (attribute.type)
    for (const Error& error : attribute.type->disagreements) found(error);
  if (const format::Field& max = attribute.space.max_below; !max.name.empty())
    found(Error(ErrorCode::InvalidValue, structures::kDataspaceMessage, max.name, max.offset)
              .with_found(max.value)
              .with_detail("below the current size; the data are read"));
}

void check_attributes(const Context& context, const object::Object& object, PlaceId place) {
  constexpr unsigned kMaxListed = 16;  // values that are not checked; more are counted
  unsigned listed = 0;
  const auto damaged = [&](const Error& error) { context.found(place, error); };
  // Each attribute is checked as soon as it is decoded, so that no more than one value is held.
  const auto check = [&](object::Attribute& attribute) {
    context.tally.count(&Totals::attributes);
    if (context.observer != nullptr) context.observer->met_attribute(place, attribute);
    const Status sound = context.tally.go_on() ? check_value(context, attribute) : Status();
    attribute.data = {};
    attribute.owner.reset();
    check_agreement(context, attribute, place);
    if (sound) return;
    if (sound.error().code() == ErrorCode::BudgetExceeded && ++listed > kMaxListed)
      context.tally.count_unlisted(sound.error());
    else
      damaged(sound.error().within("attribute " + attribute.name));
  };
  const auto go_on = [&](const object::Attribute&) { return context.tally.go_on(); };
  const Status walked = object::for_each_attribute(*context.metadata, object, go_on, damaged,
                                                   object::AttributeDetail::Full, check);
  if (!walked) damaged(walked.error());
}

void check_external_link(const Context& context, const format::Link& link, PlaceId group) {
  if (format::unknown_external_form(link)) return;  // the link's fields tell it
  const auto opened = context.environment->files->open_hdf5(context.file, link.file, object::NameUse::Link);
  if (!opened) context.note(group, opened.error().within("external link " + link.name + " to " + link.file));
}

void check_group(const Context& context, const object::Object& object, PlaceId place) {
  const auto damaged = [&](const Error& error) { context.found(place, error); };
  const auto group = object::Group::open(context.metadata, object);
  if (!group) return damaged(group.error());
  std::optional<std::int64_t> last;
  const auto visit = [&](const format::Link& link) {
    last = std::max(last, link.creation_order);
    const bool followed = context.observer == nullptr || context.observer->met_link(place, link);
    if (followed && link.is(format::LinkType::Hard))
      context.places.add(place, link.name, link.address);
    else if (context.environment != nullptr && link.is(format::LinkType::External))
      check_external_link(context, link, place);
    return context.tally.go_on();
  };
  const auto damaged_list = [&](const Error& error) {
    context.places.leave_out_counts();
    damaged(error);
  };
  if (const Status walked = (*group)->for_each(visit, damaged_list); !walked) damaged_list(walked.error());
  const auto most = largest_order_of({&context, place}, *object.header, format::MessageType::LinkInfo);
  if (most && last && *most < static_cast<std::uint64_t>(*last))
    most->want_equal(static_cast<std::uint64_t>(*last), "a link of the group has a larger one");
}

// Checks every node of an index of links or attributes. A reader needs only one of the two indexes that an
// object may have, so it would not see all damage.
void check_index(const Context& context, std::uint64_t address, std::uint8_t record_type, PlaceId place) {
  if (address == format::kUndefinedAddress) return;
  const auto damaged = [&](const Error& error) { context.found(place, error); };
  const auto tree = metadata::BTree2::open(context.metadata, address, {.type = record_type});
  if (!tree) return damaged(tree.error());
  std::uint64_t count = 0;
  bool whole = true;
  const Status walked = (*tree)->for_each(
      [&](ByteSpan, std::uint64_t) -> Result<bool> {
        ++count;
        return context.tally.go_on();
      },
      [&](const Error& error) {
        whole = false;
        damaged(error);
      });
  if (!walked) return damaged(walked.error());
  if (whole && count != (*tree)->record_count() && context.tally.go_on())
    damaged(Error(ErrorCode::InvalidValue, structures::kBTree2Header, "total_record_count",
                  (*tree)->file_offset())
                .with_found((*tree)->record_count())
                .with_expected(count));
}

void check_indexes(const Context& context, const object::Object& object, PlaceId place) {
  enum RecordType : std::uint8_t { kLinkName = 5, kLinkOrder = 6, kAttributeName = 8, kAttributeOrder = 9 };
  const auto check = [&](format::MessageType type, std::string_view structure, const auto& decode,
                         RecordType names, RecordType orders) {
    const auto* message = object.header->find(type);
    if (message == nullptr) return;
    format::Cursor cursor = message->cursor(structure);
    const auto info = decode(cursor);
    if (!info) return;
    check_index(context, info->name_index_address, names, place);
    check_index(context, info->creation_order_index_address, orders, place);
  };
  check(format::MessageType::LinkInfo, structures::kLinkInfoMessage, format::decode_link_info, kLinkName,
        kLinkOrder);
  check(format::MessageType::AttributeInfo, "AttributeInfoMessage", format::decode_attribute_info,
        kAttributeName, kAttributeOrder);
}

// The fields of the index of chunks.
void check_chunk_index(const Subject& subject, const object::DatasetDescription& dataset) {
  const format::DataLayout& layout = dataset.layout;
  if (layout.cls != format::LayoutClass::Chunked) return;
  const auto geometry = chunk::ChunkGeometry::make(dataset.space, layout, !dataset.pipeline.filters.empty());
  if (!geometry) return;
  ChunkForm form{geometry->chunk_dims.size(), dataset.pipeline.filters.size(), geometry->chunk_bytes, 1};
  for (std::size_t d = 0; d < form.rank && form.most_chunks; ++d) {
    const std::uint64_t most = geometry->max_dims[d];
    if (most == format::kUnlimited)
      form.most_chunks.reset();
    else
      form.most_chunks = checked_mul(*form.most_chunks, divide_up(most, geometry->chunk_dims[d]));
  }
  switch (layout.index) {
    case format::ChunkIndexKind::BTree1:
      return check_chunk_tree_fields(subject, form, layout);
    case format::ChunkIndexKind::BTree2:
      return check_chunk_records_fields(subject, form, layout);
    case format::ChunkIndexKind::FixedArray:
      return check_fixed_array_fields(subject, form, layout);
    case format::ChunkIndexKind::ExtensibleArray:
      return check_extensible_array_fields(subject, form, layout);
    case format::ChunkIndexKind::Single:
    case format::ChunkIndexKind::Implicit:
      return;
  }
}

void check_dataset(const Context& context, const object::Object& object, PlaceId place) {
  const object::DatasetParts dataset = object::describe_parts(*context.metadata, object);
  const object::DatasetDescription& description = dataset.description;
  if (context.observer != nullptr) context.observer->met_dataset(place, dataset);
  if (dataset.problem) return context.found(place, *dataset.problem);
  for (const Error& error : description.disagreements) context.found(place, error);
  const DataTotals stored = check_data(context, place, description);
  if (context.observer != nullptr) context.observer->met_storage(place, description, stored);
  // A verdict has not the time to read each field of a large index beside walking over it.
  constexpr std::uint64_t kMostOfVerdict = 1U << 20;
  if (context.observer == nullptr || stored.chunks < kMostOfVerdict)
    check_chunk_index({&context, place}, description);
}

void check_kind(const Context& context, const object::Object& object, PlaceId place) {
  const auto damaged = [&](const Error& error) { context.found(place, error); };
  switch (object.kind) {
    case object::ObjectKind::Group:
      return check_group(context, object, place);
    case object::ObjectKind::Datatype:
      if (const auto type = object::committed_datatype(*context.metadata, object); !type) {
        damaged(type.error());
      } else {
        for (const Error& error : (*type)->disagreements) damaged(error);
        if (context.observer != nullptr) context.observer->met_type(place, **type);
      }
      return;
    case object::ObjectKind::Dataset:
      return check_dataset(context, object, place);
  }
}

}  // namespace

void check_object(const Context& context, PlaceId place) {
  context.tally.count(&Totals::objects);
  const auto damaged = [&](const Error& error) { context.found(place, error); };
  const auto object = object::open_object(*context.metadata, context.places.address(place));
  if (!object || object->header->damage) context.places.leave_out_counts();
  if (!object) return damaged(object.error());
  if (object->header->damage) damaged(*object->header->damage);
  context.places.set_references(place, object->header->reference_count,
                                object->kind == object::ObjectKind::Datatype);
  if (context.observer != nullptr) context.observer->met_object(place, *object);
  check_attributes(context, *object, place);
  check_indexes(context, *object, place);
  check_kind(context, *object, place);
  check_header_fields({&context, place}, object->address, false);
}

}  // namespace h5mount::check
