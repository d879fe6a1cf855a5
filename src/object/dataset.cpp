// Resolves a dataset's messages and checks them against each other, so that higher modules can rely on
// matching chunk ranks and element sizes.
#include "h5mount/base/structures.h"
#include "h5mount/metadata/local_heap.h"
#include "h5mount/object/object.h"
#include "listing_budget.h"

namespace h5mount::object {

namespace {

constexpr std::string_view kDataset = "Dataset";

// The messages of a dataset's header. The first of each type is used, as in libhdf5.
struct DatasetMessages {
  const metadata::HeaderMessage* dataspace = nullptr;
  const metadata::HeaderMessage* datatype = nullptr;
  const metadata::HeaderMessage* fill = nullptr;
  const metadata::HeaderMessage* fill_old = nullptr;
  const metadata::HeaderMessage* layout = nullptr;
  const metadata::HeaderMessage* pipeline = nullptr;
  const metadata::HeaderMessage* external = nullptr;

  explicit DatasetMessages(const metadata::ObjectHeader& header) {
    using enum format::MessageType;
    dataspace = header.find(Dataspace);
    datatype = header.find(Datatype);
    fill = header.find(FillValue);
    fill_old = header.find(FillValueOld);
    layout = header.find(DataLayout);
    pipeline = header.find(FilterPipeline);
    external = header.find(ExternalDataFiles);
  }
};

struct Describing {
  const metadata::FileMetadata& file;
  const Object& object;
  DatasetMessages messages;
  DatasetDescription out;

  std::uint64_t offset() const { return file.base_address() + object.address; }
  Error mismatch(std::string_view field, std::uint64_t found, std::uint64_t expected) const {
    return Error(ErrorCode::InvalidValue, kDataset, field, offset())
        .with_found(found)
        .with_expected(expected);
  }
  // Notes a field that repeats another and does not decide.
  void disagrees(const Error& error) { out.disagreements.push_back(error); }
};

Status need(const Describing& d, const metadata::HeaderMessage* message, std::string_view field) {
  if (message != nullptr) return {};
  if (d.object.header->damage) return fail(*d.object.header->damage);
  return fail(Error(ErrorCode::InvalidValue, kDataset, field, d.offset()).with_detail("is missing"));
}

Status decode_type(Describing& d) {
  H5_TRY(need(d, d.messages.datatype, "datatype_message"));
  H5_ASSIGN(d.out.type, metadata::decode_message(d.file, *d.messages.datatype, structures::kDatatypeMessage,
                                                 format::decode_datatype));
  d.out.element_size = d.out.type->size;
  for (const Error& error : d.out.type->disagreements) d.disagrees(error);
  return {};
}

Status decode_space(Describing& d) {
  H5_TRY(need(d, d.messages.dataspace, "dataspace_message"));
  H5_ASSIGN(d.out.space, metadata::decode_message(d.file, *d.messages.dataspace,
                                                  structures::kDataspaceMessage, format::decode_dataspace));
  if (const format::Field& max = d.out.space.max_below; !max.name.empty())
    d.disagrees(Error(ErrorCode::InvalidValue, structures::kDataspaceMessage, max.name, max.offset)
                    .with_found(max.value)
                    .with_detail("below the current size, by which the data are read"));
  return {};
}

Status decode_layout(Describing& d) {
  H5_TRY(need(d, d.messages.layout, "data_layout_message"));
  H5_ASSIGN(d.out.layout, metadata::decode_message(d.file, *d.messages.layout, structures::kDataLayoutMessage,
                                                   format::decode_data_layout));
  return {};
}

Status decode_fill(Describing& d) {
  if (d.messages.fill != nullptr) {
    H5_ASSIGN(d.out.fill, metadata::decode_message(d.file, *d.messages.fill, "FillValueMessage",
                                                   format::decode_fill_value));
  } else if (d.messages.fill_old != nullptr) {
    H5_ASSIGN(d.out.fill, metadata::decode_message(d.file, *d.messages.fill_old, "FillValueOldMessage",
                                                   format::decode_fill_value_old));
  } else {
    d.out.fill.defined = true;
  }
  std::vector<std::byte>& value = d.out.fill.value;
  if (value.empty() || value.size() == d.out.element_size) return {};
  d.disagrees(
      d.mismatch("fill_value_size", value.size(), d.out.element_size)
          .with_detail(
              "of the value, the data are read; an element takes its first bytes, and zeros behind them"));
  // A small file can name huge elements: those are all zeros.
  constexpr std::uint64_t kMaxMade = 1U << 20;
  if (value.size() < d.out.element_size && d.out.element_size > kMaxMade)
    value.clear();
  else
    value.resize(static_cast<std::size_t>(d.out.element_size));
  return {};
}

// The prototype of structured chunks may also write its pipeline as a message of an unregistered type.
void find_unregistered_section_pipeline(Describing& d) {
  for (const metadata::HeaderMessage& message : d.object.header->messages) {
    if (static_cast<std::uint16_t>(message.type) <= format::kLastKnownMessageType || message.is_shared())
      continue;
    format::Cursor cursor = message.cursor("SectionPipelineMessage");
    auto pipeline = format::decode_section_pipeline(cursor);
    if (!pipeline || cursor.remaining() != 0) continue;
    d.out.pipeline = *std::move(pipeline);
    return;
  }
}

Status decode_pipeline(Describing& d) {
  const bool structured = d.out.layout.cls == format::LayoutClass::Structured;
  if (d.messages.pipeline == nullptr) {
    if (structured) find_unregistered_section_pipeline(d);
    return {};
  }
  H5_ASSIGN(d.out.pipeline,
            metadata::decode_message(d.file, *d.messages.pipeline, structures::kFilterPipelineMessage,
                                     [&](format::Cursor& cursor) {
                                       return structured ? format::decode_section_pipeline(cursor)
                                                         : format::decode_filter_pipeline(cursor);
                                     }));
  if (!structured && d.out.pipeline.version == 3)
    return fail(Error(ErrorCode::UnsupportedFeature, structures::kFilterPipelineMessage, "version",
                      d.messages.pipeline->offset)
                    .with_found(3)
                    .with_detail("sections outside a structured layout"));
  return {};
}

Status decode_external(Describing& d) {
  if (d.messages.external == nullptr) return {};
  H5_ASSIGN(const format::ExternalDataFiles files,
            metadata::decode_message(d.file, *d.messages.external, "ExternalDataFilesMessage",
                                     format::decode_external_data_files));
  if (files.slots.empty()) return {};
  // The heap is used within this function only: a non-owning pointer suffices.
  const metadata::FileMetadataPtr borrowed(metadata::FileMetadataPtr(), &d.file);
  H5_ASSIGN(const metadata::LocalHeap heap, metadata::LocalHeap::open(borrowed, files.heap_address));
  d.out.external.reserve(files.slots.size());
  // Slots may share names; the budget bounds the bytes of all names together.
  ListingBudget budget(d.file);
  for (const format::ExternalFileSlot& slot : files.slots) {
    H5_ASSIGN(std::string name, heap.text(slot.name_offset));
    if (!budget.take(name.size())) return budget.status("ExternalDataFilesMessage");
    d.out.external.push_back({.file = std::move(name), .offset = slot.file_offset, .size = slot.size});
  }
  return {};
}

Status measure(Describing& d) {
  constexpr std::uint64_t kFileSizeEnd = std::uint64_t{1} << 63;
  const auto elements = d.out.space.element_count();
  const auto bytes = elements ? checked_mul(*elements, d.out.element_size) : std::nullopt;
  if (!bytes || *bytes >= kFileSizeEnd)
    return fail(Error(ErrorCode::TooLarge, kDataset, "dataspace_message", d.offset())
                    .with_detail("the image takes 2^63 bytes or more"));
  d.out.image_bytes = *bytes;
  return {};
}

// A lost part of the header may have held a message that is needed to interpret the data (filters, fill
// value), so it is an error.
Status check_nothing_lost(const Describing& d) {
  if (!d.object.header->damage) return {};
  const bool chunked =
      d.out.layout.cls == format::LayoutClass::Chunked || d.out.layout.cls == format::LayoutClass::Structured;
  const bool filters = !chunked || d.messages.pipeline != nullptr;
  const bool fill = d.messages.fill != nullptr || d.messages.fill_old != nullptr;
  const bool place = d.out.layout.cls != format::LayoutClass::Contiguous ||
                     d.out.layout.address != format::kUndefinedAddress || d.messages.external != nullptr;
  if (filters && fill && place) return {};
  return fail(*d.object.header->damage);
}

// The type says what an element takes. A structured layout has fields whose widths follow from its own.
Status check_element_size(Describing& d) {
  format::DataLayout& layout = d.out.layout;
  if (layout.element_size == d.out.element_size) return {};
  const Error error = d.mismatch("chunk_element_size", layout.element_size, d.out.element_size);
  if (layout.cls == format::LayoutClass::Structured) return fail(error);
  d.disagrees(error.with_detail("the data are read by the type"));
  layout.element_size = static_cast<std::uint32_t>(d.out.element_size);
  return {};
}

Status check_layout(Describing& d) {
  H5_TRY(check_nothing_lost(d));
  format::DataLayout& layout = d.out.layout;
  switch (layout.cls) {
    case format::LayoutClass::Compact:
      if (layout.compact_data.size() < d.out.image_bytes)
        return fail(d.mismatch("compact_size", layout.compact_data.size(), d.out.image_bytes));
      return {};
    case format::LayoutClass::Contiguous:
      if (layout.has_size && layout.address != format::kUndefinedAddress &&
          layout.size != d.out.image_bytes && d.out.external.empty())
        d.disagrees(d.mismatch("contiguous_size", layout.size, d.out.image_bytes)
                        .with_detail("the data are read by shape and type"));
      layout.size = d.out.image_bytes;
      return {};
    case format::LayoutClass::Chunked:
    case format::LayoutClass::Structured:
      if (layout.chunk_dims.size() != d.out.space.rank() && d.out.space.kind != format::DataspaceKind::Null)
        return fail(d.mismatch("chunk_rank", layout.chunk_dims.size(), d.out.space.rank()));
      return check_element_size(d);
    case format::LayoutClass::Virtual:
      return {};
  }
  return {};
}

}  // namespace

DatasetParts describe_parts(const metadata::FileMetadata& file, const Object& object) {
  Describing d{.file = file, .object = object, .messages = DatasetMessages(*object.header), .out = {}};
  d.out.address = object.address;
  DatasetParts parts;
  const auto known = [&](const Status& status) {
    if (!status && !parts.problem) parts.problem = status.error();
    return status.has_value();
  };
  parts.type = known(decode_type(d));
  parts.space = known(decode_space(d));
  const bool measured = parts.type && parts.space && known(measure(d));
  parts.layout = known(decode_layout(d));
  parts.fill = parts.type && known(decode_fill(d));
  // The form of the pipeline's messages depends on the layout.
  parts.pipeline = parts.layout && known(decode_pipeline(d));
  known(decode_external(d));
  if (measured && parts.layout) known(check_layout(d));
  parts.description = std::move(d.out);
  return parts;
}

Result<DatasetDescription> describe_dataset(const metadata::FileMetadata& file, const Object& object) {
  DatasetParts parts = describe_parts(file, object);
  if (parts.problem) return fail(*std::move(parts.problem));
  return std::move(parts.description);
}

Result<format::DatatypePtr> committed_datatype(const metadata::FileMetadata& file, const Object& object) {
  const metadata::HeaderMessage* message = object.header->find(format::MessageType::Datatype);
  if (message == nullptr)
    return fail(Error(ErrorCode::InvalidValue, "CommittedDatatype", "datatype_message",
                      file.base_address() + object.address)
                    .with_detail("is missing"));
  return metadata::decode_message(file, *message, structures::kDatatypeMessage, format::decode_datatype);
}

}  // namespace h5mount::object
