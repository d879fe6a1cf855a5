// user.hdf5.*: the structure of an object. One line of the table a name.
#include <fmt/format.h>

#include <array>

#include "dataset_image.h"
#include "h5mount/base/log.h"
#include "h5mount/view/names.h"
#include "object_facts.h"

namespace h5mount {

namespace {

using Text = Result<std::string>;

constexpr std::string_view kPrefix = "user.";
constexpr std::string_view kStructurePrefix = "user.hdf5.";

// What a line of the table works on; the description is there for datasets that could be described.
struct Subject {
  FileView& file;
  const OpenedObject& opened;
  const DatasetDescription* dataset = nullptr;
  std::optional<Error> problem;
};

Error absent() {
  return {ErrorCode::NotFound, "no such attribute"};
}

std::string numbers_text(const std::vector<std::uint64_t>& numbers) {
  std::string out = "[";
  for (const std::uint64_t number : numbers) {
    if (out.size() > 1) out += ',';
    out += number == kUnlimited ? "null" : fmt::format("{}", number);
  }
  return out + "]";
}

std::string_view kind_name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::Group: return "group";
    case ObjectKind::Dataset: return "dataset";
    case ObjectKind::Datatype: return "datatype";
  }
  return "";
}

std::string_view layout_name(const DatasetDescription& dataset) {
  switch (dataset.layout.cls) {
    case LayoutClass::Compact: return "compact";
    case LayoutClass::Contiguous: return dataset.external.empty() ? "contiguous" : "external";
    case LayoutClass::Chunked: return "chunked";
    case LayoutClass::Virtual: return "virtual";
    case LayoutClass::Structured: return "sparse";
  }
  return "";
}

bool is_chunked(const Subject& subject) {
  return subject.dataset != nullptr && (subject.dataset->layout.cls == LayoutClass::Chunked ||
                                        subject.dataset->layout.cls == LayoutClass::Structured);
}
bool is_dataset(const Subject& subject) { return subject.dataset != nullptr; }
bool is_any(const Subject&) { return true; }

Text dtype_text(const Subject& subject) {
  if (subject.dataset != nullptr) return datatype_text(*subject.dataset->type);
  H5_ASSIGN(const DatatypePtr type, committed_datatype(*subject.file.metadata(), subject.opened.object));
  return datatype_text(*type);
}

Text fill_value_text(const Subject& subject) {
  const DatasetDescription& dataset = *subject.dataset;
  if (!dataset.fill.defined) return "null";
  const std::vector<std::byte> zeros(dataset.fill.value.empty() ? dataset.type->size : 0);
  const ByteSpan value = dataset.fill.value.empty() ? ByteSpan(zeros) : ByteSpan(dataset.fill.value);
  if (value.size() < dataset.type->size) return fail({ErrorCode::InvalidValue, "fill value shorter than its type"});
  return value_text(*dataset.type, Dataspace{}, value.first(dataset.type->size), subject.file.value_context());
}

Text storage_size_text(const Subject& subject) {
  H5_ASSIGN(const DatasetReaderPtr reader, open_reader(subject.file, *subject.dataset));
  H5_ASSIGN(const std::uint64_t bytes, reader->storage_bytes());
  return fmt::format("{}", bytes);
}

// Sparse storage has a pipeline a section; the message says which.
Text sections_text(const Subject& subject) {
  std::string out = "[";
  for (const FilterPipelineMessage::Section& section : subject.dataset->pipeline.sections) {
    FilterPipelineMessage one;
    one.filters = section.filters;
    if (out.size() > 1) out += ',';
    out += fmt::format(R"({{"section":{},"filters":{}}})", section.number, filters_text(one));
  }
  return out + "]";
}

struct Line {
  std::string_view name;
  bool (*applies)(const Subject&);
  Text (*text)(const Subject&);
};

const std::array kTable = {
    Line{"kind", is_any, [](const Subject& s) -> Text { return std::string(kind_name(s.opened.object.kind)); }},
    Line{"address", is_any, [](const Subject& s) -> Text { return fmt::format("0x{:x}", s.opened.object.address); }},
    Line{"dtype", [](const Subject& s) { return is_dataset(s) || s.opened.object.kind == ObjectKind::Datatype; },
         dtype_text},
    Line{"shape",
         is_dataset,
         [](const Subject& s) -> Text {
           return s.dataset->space.kind == DataspaceKind::Null ? "null" : numbers_text(s.dataset->space.dims);
         }},
    Line{"maxshape",
         is_dataset,
         [](const Subject& s) -> Text {
           const Dataspace& space = s.dataset->space;
           if (space.kind == DataspaceKind::Null) return "null";
           return numbers_text(space.max_dims.empty() ? space.dims : space.max_dims);
         }},
    Line{"layout", is_dataset, [](const Subject& s) -> Text { return std::string(layout_name(*s.dataset)); }},
    Line{"chunks", is_chunked, [](const Subject& s) -> Text { return numbers_text(s.dataset->layout.chunk_dims); }},
    Line{"filters", is_chunked, [](const Subject& s) -> Text { return filters_text(s.dataset->pipeline); }},
    Line{"sections",
         [](const Subject& s) { return is_dataset(s) && s.dataset->layout.cls == LayoutClass::Structured; },
         sections_text},
    Line{"fill_value", is_dataset, fill_value_text},
    Line{"storage_size", is_dataset, storage_size_text},
    Line{"comment",
         [](const Subject& s) { return object_comment(*s.file.metadata(), s.opened.object).has_value(); },
         [](const Subject& s) -> Text { return object_comment(*s.file.metadata(), s.opened.object).value_or(""); }},
    Line{"error", [](const Subject& s) { return s.problem.has_value(); },
         [](const Subject& s) -> Text { return s.problem->text(); }},
};

// Keeps the description alive beside the subject.
struct Gathered {
  DatasetDescriptionPtr description;
  Subject subject;
};

// `with_problem`: looking for trouble may cost reads that most names do not need.
Gathered gather(FileView& file, const OpenedObject& opened, bool with_problem) {
  Gathered out{nullptr, {file, opened, nullptr, std::nullopt}};
  std::optional<Error>& problem = out.subject.problem;
  if (opened.object.kind == ObjectKind::Dataset) {
    auto description = description_of(file, opened);
    if (description)
      out.description = *description;
    else
      problem = description.error();
    out.subject.dataset = out.description.get();
  }
  if (!with_problem || problem) return out;
  if (out.description) {
    const auto reader = open_reader(file, *out.description);
    problem = reader ? (*reader)->problem() : std::optional(reader.error());
  } else if (opened.object.kind == ObjectKind::Group) {
    if (const auto group = Group::open(file.metadata(), opened.object); !group) problem = group.error();
  } else if (const auto type = committed_datatype(*file.metadata(), opened.object); !type) {
    problem = type.error();
  }
  if (!problem) problem = opened.object.header->damage;
  return out;
}

Text structure_text(FileView& file, const OpenedObject& opened, std::string_view name) {
  for (const Line& line : kTable) {
    if (line.name != name) continue;
    const Gathered gathered = gather(file, opened, name == "error");
    if (!line.applies(gathered.subject)) return fail(absent());
    H5_ASSIGN(std::string text, line.text(gathered.subject));
    if (text.size() > kMaxXattrBytes) return fail({ErrorCode::TooLarge, "longer than an extended attribute can be"});
    return text;
  }
  return fail(absent());
}

}  // namespace

Result<std::vector<std::string>> list_object_xattrs(FileView& file, const OpenedObject& object) {
  std::vector<std::string> names;
  std::size_t bytes = 0;
  const auto add = [&](std::string name) {
    if (bytes + name.size() + 1 > kMaxXattrBytes) return false;
    bytes += name.size() + 1;
    names.push_back(std::move(name));
    return true;
  };
  const Gathered gathered = gather(file, object, true);
  for (const Line& line : kTable)
    if (line.applies(gathered.subject)) add(std::string(kStructurePrefix).append(line.name));
  const auto shown = shown_attribute_names(file, object, AttributeNaming::Xattr);
  if (!shown) {
    log_error(shown.error().within("attributes of the object", object.object.address));
    return names;
  }
  for (const std::string& name : *shown)
    if (!add(std::string(kPrefix) + name)) break;
  return names;
}

Text get_object_xattr(FileView& file, const OpenedObject& object, std::string_view name) {
  if (name.starts_with(kStructurePrefix)) return structure_text(file, object, name.substr(kStructurePrefix.size()));
  if (!name.starts_with(kPrefix)) return fail(absent());
  H5_ASSIGN(const Attribute attribute,
            find_shown_attribute(file, object, name.substr(kPrefix.size()), AttributeNaming::Xattr));
  return attribute_text(file, attribute, kMaxXattrBytes);
}

}  // namespace h5mount
