// user.hdf5.*: the structure of an object. Each line of the table is one name.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../core/external_files.h"
#include "attribute_values.h"
#include "damaged_lists.h"
#include "decoded.h"
#include "followed_dataset.h"
#include "h5mount/base/advice.h"
#include "h5mount/io/remarks.h"
#include "h5mount/object/object.h"
#include "h5mount/tree/names.h"
#include "h5mount/tree/xattr_list.h"
#include "h5mount/view/text_lines.h"
#include "object_facts.h"
#include "salvage_remark.h"
#include "sources_text.h"

namespace h5mount::tree {

namespace {

using Text = Result<std::string>;

constexpr std::string_view kPrefix = "user.";
constexpr std::string_view kStructurePrefix = "user.hdf5.";

// The arguments of a table line. For a dataset that cannot be described whole, `parts` has what is known.
struct StructureSubject {
  ServedFile& file;
  const OpenedObject& opened;
  RequestBudget& budget;
  const object::DatasetDescription* dataset = nullptr;
  object::DatasetParts parts;
  std::optional<Error> problem;
};

std::string numbers_text(const std::vector<std::uint64_t>& numbers) {
  std::string out = "[";
  for (const std::uint64_t number : numbers) {
    if (out.size() > 1) out += ',';
    out += number == format::kUnlimited ? "null" : fmt::format("{}", number);
  }
  return out + "]";
}

std::string_view layout_name(const object::DatasetDescription& dataset) {
  if (dataset.layout.cls == format::LayoutClass::Contiguous && !dataset.external.empty()) return "external";
  constexpr std::array<std::string_view, 5> kNames = {"compact", "contiguous", "chunked", "virtual",
                                                      "sparse"};
  return kNames[static_cast<std::size_t>(dataset.layout.cls)];
}

bool has_type(const StructureSubject& subject) {
  return subject.parts.type;
}
bool has_space(const StructureSubject& subject) {
  return subject.parts.space;
}
bool has_layout(const StructureSubject& subject) {
  return subject.parts.layout;
}
bool has_fill(const StructureSubject& subject) {
  return subject.parts.type && subject.parts.fill;
}
bool is_chunked(const StructureSubject& subject) {
  return subject.parts.layout && (subject.dataset->layout.cls == format::LayoutClass::Chunked ||
                                  subject.dataset->layout.cls == format::LayoutClass::Structured);
}
bool has_filters(const StructureSubject& subject) {
  return is_chunked(subject) && subject.parts.pipeline;
}
bool has_sections(const StructureSubject& subject) {
  return has_filters(subject) && subject.dataset->layout.cls == format::LayoutClass::Structured;
}
bool is_whole(const StructureSubject& subject) {
  return subject.dataset != nullptr && !subject.parts.problem;
}
bool is_any(const StructureSubject&) {
  return true;
}

Text dtype_text(const StructureSubject& subject) {
  if (has_type(subject)) return text::datatype_text(*subject.dataset->type);
  H5_ASSIGN(const format::DatatypePtr type,
            object::committed_datatype(*subject.opened.snapshot, subject.opened.object));
  return text::datatype_text(*type);
}

Text fill_value_text(const StructureSubject& subject) {
  const object::DatasetDescription& dataset = *subject.dataset;
  if (!dataset.fill.defined) return "null";
  // The default fill value is an element of zeros; a type of a few bytes in a file can have elements of
  // gigabytes.
  constexpr std::size_t kMaxZeros = 16 * kMaxXattrBytes;
  if (dataset.fill.value.empty() && dataset.type->size > kMaxZeros)
    return fail({ErrorCode::TooLarge, "the zeros of an element are too many to be shown"});
  const std::vector<std::byte> zeros(dataset.fill.value.empty() ? dataset.type->size : 0);
  const ByteSpan value = dataset.fill.value.empty() ? ByteSpan(zeros) : ByteSpan(dataset.fill.value);
  if (value.size() < dataset.type->size)
    return fail({ErrorCode::Truncated, "fill value shorter than its type"});
  return text::value_text(*dataset.type, format::Dataspace{}, value.first(dataset.type->size),
                          subject.file.value_context(subject.opened.snapshot, subject.budget),
                          kMaxXattrBytes);
}

Text storage_size_text(const StructureSubject& subject) {
  H5_ASSIGN(const DatasetReaderPtr reader, open_reader(subject.file, *subject.dataset, subject.budget));
  H5_ASSIGN(const std::uint64_t bytes, reader->storage_bytes(subject.budget));
  return fmt::format("{}", bytes);
}

bool names_sources(const StructureSubject& subject) {
  return is_whole(subject) &&
         (subject.dataset->layout.cls == format::LayoutClass::Virtual || !subject.dataset->external.empty());
}

Text source_files_text(const StructureSubject& subject) {
  H5_ASSIGN(const DatasetReaderPtr reader, open_reader(subject.file, *subject.dataset, subject.budget));
  return sources_text(reader->named_sources(kMaxListedSources, subject.budget), kMaxXattrBytes);
}

// The account of what salvage did for the object; nullopt if nothing.
std::optional<std::string> remark_on(const StructureSubject& subject) {
  const io::Remarks* const remarks = io::remarks_of(subject.opened.snapshot->source().get());
  return remarks == nullptr ? std::nullopt : remarks->remark(subject.opened.object.address);
}

// The ranges that salvage names are of the dataset's file: where that is text, of lines.
Text remark_text(const StructureSubject& subject) {
  const std::string remark = remark_on(subject).value_or("");
  if (!is_whole(subject) || subject.dataset->image_bytes == 0 ||
      !view::is_shown_as_text(*subject.dataset->type) || remark.find("[[") == std::string::npos)
    return remark;
  H5_ASSIGN(DatasetReaderPtr reader, open_reader(subject.file, *subject.dataset, subject.budget));
  view::ViewInput source{std::move(reader), subject.file.value_environment(subject.opened.snapshot),
                         subject.file.context().environment, subject.file.file()};
  const auto made = view::make_element_lines(std::move(source), {}, subject.budget);
  if (!made && is_passing(made.error())) return fail(made.error());
  if (!made) return remark;
  const view::ComputedFilePtr& lines = *made;
  return remark_in_lines(remark, *lines, subject.dataset->element_size, subject.budget);
}

// Sparse storage has one pipeline per section; the message lists them.
Text sections_text(const StructureSubject& subject) {
  std::string out = "[";
  for (const format::FilterPipelineMessage::Section& section : subject.dataset->pipeline.sections) {
    format::FilterPipelineMessage one;
    one.filters = section.filters;
    if (out.size() > 1) out += ',';
    out += fmt::format(R"({{"section":{},"filters":{}}})", section.number, text::filters_text(one));
  }
  return out + "]";
}

// How the object was joined of those of files; empty: it was not.
std::string joined_text(const StructureSubject& subject) {
  const join::JoinedFilePtr& joined = subject.file.context().options.joined;
  return joined ? joined->facts(subject.opened.object.address) : std::string();
}

// What conventions say of the object.
Text decoded_text(const StructureSubject& subject) {
  H5_ASSIGN(std::string text, decoded_text_of(subject.file, subject.opened, subject.budget));
  return text.empty() ? Text(fail(object::no_such_attribute())) : Text(std::move(text));
}

struct XattrLine {
  std::string_view name;
  bool (*applies)(const StructureSubject&);
  Text (*text)(const StructureSubject&);
  bool may_be_long = false;  // may exceed an extended attribute
};

const std::array kTable = {
    XattrLine{"kind", is_any,
              [](const StructureSubject& s) -> Text {
                return std::string(object::kind_name(s.opened.object.kind));
              }},
    XattrLine{
        "address", is_any,
        [](const StructureSubject& s) -> Text { return fmt::format("0x{:x}", s.opened.object.address); }},
    XattrLine{"dtype",
              [](const StructureSubject& s) {
                return has_type(s) || s.opened.object.kind == object::ObjectKind::Datatype;
              },
              dtype_text, true},
    XattrLine{"shape", has_space,
              [](const StructureSubject& s) -> Text {
                return s.dataset->space.kind == format::DataspaceKind::Null
                           ? "null"
                           : numbers_text(s.dataset->space.dims);
              }},
    XattrLine{"maxshape", has_space,
              [](const StructureSubject& s) -> Text {
                const format::Dataspace& space = s.dataset->space;
                if (space.kind == format::DataspaceKind::Null) return "null";
                return numbers_text(space.max_dims.empty() ? space.dims : space.max_dims);
              }},
    XattrLine{"layout", has_layout,
              [](const StructureSubject& s) -> Text { return std::string(layout_name(*s.dataset)); }},
    XattrLine{"chunks", is_chunked,
              [](const StructureSubject& s) -> Text { return numbers_text(s.dataset->layout.chunk_dims); }},
    XattrLine{"filters", has_filters,
              [](const StructureSubject& s) -> Text { return text::filters_text(s.dataset->pipeline); },
              true},
    XattrLine{"sections", has_sections, sections_text, true},
    XattrLine{"fill_value", has_fill, fill_value_text, true},
    XattrLine{"storage_size", is_whole, storage_size_text},
    XattrLine{"comment",
              [](const StructureSubject& s) {
                return object::object_comment(*s.opened.snapshot, s.opened.object).has_value();
              },
              [](const StructureSubject& s) -> Text {
                return object::object_comment(*s.opened.snapshot, s.opened.object).value_or("");
              },
              true},
    XattrLine{"sources", names_sources, source_files_text},
    XattrLine{"decoded", [](const StructureSubject& s) { return decoded_text(s).has_value(); }, decoded_text},
    XattrLine{"joined", [](const StructureSubject& s) { return !joined_text(s).empty(); },
              [](const StructureSubject& s) -> Text { return joined_text(s); }, true},
    XattrLine{"salvage", [](const StructureSubject& s) { return remark_on(s).has_value(); }, remark_text},
    XattrLine{"error", [](const StructureSubject& s) { return s.problem.has_value(); },
              [](const StructureSubject& s) -> Text { return text_with_advice(*s.problem); }},
    // Stands for attributes that cannot be listed: reading it fails, so that programs that copy attributes
    // report an error.
    XattrLine{"lost_attributes",
              [](const StructureSubject& s) { return lost_attributes(s.opened).has_value(); },
              [](const StructureSubject& s) -> Text {
                return fail(lost_attributes(s.opened).value_or(Error(ErrorCode::NotFound, "none is lost")));
              }},
};

// Keeps the description alive with the subject.
struct Gathered {
  DatasetDescriptionPtr description;
  StructureSubject subject;
};

void gather_dataset(Gathered& out) {
  StructureSubject& subject = out.subject;
  const auto description = description_of(subject.file, subject.opened, subject.budget);
  if (description) {
    out.description = *description;
    object::DatasetParts& parts = subject.parts;
    parts.type = parts.space = parts.layout = parts.fill = parts.pipeline = true;
  } else {
    subject.problem = description.error();
    subject.parts = object::describe_parts(*subject.opened.snapshot, subject.opened.object);
    out.description =
        std::make_shared<const object::DatasetDescription>(std::move(subject.parts.description));
    subject.parts.problem = description.error();
  }
  subject.dataset = out.description.get();
}

// `with_problem`: finding the reason for a failure may cost reads, which most names do not need.
Gathered gather(ServedFile& file, const OpenedObject& opened, bool with_problem, RequestBudget& budget) {
  Gathered out{nullptr, {file, opened, budget, nullptr, {}, std::nullopt}};
  std::optional<Error>& problem = out.subject.problem;
  if (opened.object.kind == object::ObjectKind::Dataset) gather_dataset(out);
  if (!with_problem || problem) return out;
  if (is_whole(out.subject)) {
    const auto reader = open_reader(file, *out.description, budget);
    problem = reader ? (*reader)->problem() : std::optional(reader.error());
  } else if (opened.object.kind == object::ObjectKind::Group) {
    const auto& made = file.context().environment.made;
    problem = made ? made->problem(opened.object.address) : links_damage(opened);
  } else if (const auto type = object::committed_datatype(*opened.snapshot, opened.object); !type) {
    problem = type.error();
  }
  if (!problem) problem = opened.object.header->damage;
  if (!problem) problem = attributes_damage(opened);
  if (!problem) problem = file.failures().find(opened.object.address, file.metadata()->number());
  return out;
}

constexpr std::string_view kLargeAttributes = "large_attributes";

bool has_references(const ServedFile& file, const OpenedObject& object) {
  return file.context().references->text != nullptr && file.file() == file.context().mounted_file() &&
         object.object.address == file.root_address();
}

bool is_too_long(const Text& text) {
  return text ? text->size() > kMaxXattrBytes : text.error().code() == ErrorCode::TooLarge;
}

// The names of all xattrs without `user.`: first those of the table, then the attributes.
struct AllNames {
  std::vector<std::string_view> lines;
  std::vector<std::string_view> large_lines;
  XattrNames attributes;
};

AllNames all_names(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  AllNames out;
  const Gathered gathered = gather(file, object, true, budget);
  for (const XattrLine& line : kTable) {
    if (!line.applies(gathered.subject)) continue;
    const bool large = line.may_be_long && is_too_long(line.text(gathered.subject));
    (large ? out.large_lines : out.lines).push_back(line.name);
  }
  auto attributes = xattr_names(file, object, budget);
  if (attributes)
    out.attributes = *std::move(attributes);
  else if (!is_passing(attributes.error()))
    file.report(file.path_of_object(object.object.address), attributes.error().within("its attributes"));
  return out;
}

// JSON; ends in `null` if names were omitted.
Text large_attributes_text(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  constexpr std::string_view kCut = "null]";
  const AllNames names = all_names(file, object, budget);
  H5_TRY(budget.check());
  std::string out = "[";
  const auto add = [&](std::string_view name) {
    const std::size_t before = out.size();
    text::append_json_string(name, out);
    out += ',';
    if (out.size() + kCut.size() <= kMaxXattrBytes) return true;
    out.resize(before);
    out += kCut;
    return false;
  };
  for (const std::string_view name : names.large_lines)
    if (!add(std::string("hdf5.").append(name))) return out;
  for (const std::string& name : names.attributes.large)
    if (!add(name)) return out;
  if (out.size() == 1) return fail(object::no_such_attribute());
  out.back() = ']';
  return out;
}

// Which attributes the kernel's list lacks is told by their number and the place of all of them.
Text more_attributes_text(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(const std::vector<std::string> names, list_object_xattrs(file, object, budget));
  const std::size_t more = kernel_xattrs(names).more;
  if (more == 0) return fail(object::no_such_attribute());
  std::string place = "/.h5/attributes";
  if (file.depth() > 0) place += "/.h5/external/" + file.context().external->shown_name_of(file);
  std::string path = file.path_of_object(object.object.address);
  if (path == "/") path.clear();
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    place += '/' + encode_name_without_at(std::string_view(path).substr(at + 1, end - at - 1));
    at = end;
  }
  if (path.empty()) place += '/';
  return fmt::format(R"({{"count":{},"at":{}}})", more, text::json_string(place + '@'));
}

Text structure_text(ServedFile& file, const OpenedObject& opened, std::string_view name,
                    RequestBudget& budget) {
  if (name == kMoreAttributes.substr(kStructurePrefix.size()))
    return more_attributes_text(file, opened, budget);
  if (name == kLargeAttributes) return large_attributes_text(file, opened, budget);
  if (name == kReferencesXattr.substr(kStructurePrefix.size()) && has_references(file, opened))
    return file.context().references->text(file.shared_from_this(), budget);
  for (const XattrLine& line : kTable) {
    if (line.name != name) continue;
    const Gathered gathered = gather(file, opened, name == "error", budget);
    if (!line.applies(gathered.subject)) return fail(object::no_such_attribute());
    Text text = line.text(gathered.subject);
    if (is_too_long(text)) return fail({ErrorCode::TooLarge, "longer than an extended attribute can be"});
    return text;
  }
  return fail(object::no_such_attribute());
}

}  // namespace

Result<std::vector<std::string>> list_object_xattrs(ServedFile& file, const OpenedObject& object,
                                                    RequestBudget& budget) {
  const AllNames names = all_names(file, object, budget);
  H5_TRY(budget.check());
  std::vector<std::string> list;
  const auto add = [&](std::string_view prefix, std::string_view name) {
    list.push_back(std::string(prefix).append(name));
  };
  for (const std::string_view line : names.lines) add(kStructurePrefix, line);
  if (has_references(file, object) && file.context().references->listed) list.emplace_back(kReferencesXattr);
  if (!names.large_lines.empty() || !names.attributes.large.empty()) add(kStructurePrefix, kLargeAttributes);
  for (const std::string& name : names.attributes.listed) add(kPrefix, name);
  return list;
}

std::optional<Error> object_damage(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  return gather(file, object, true, budget).subject.problem;
}

Text get_object_xattr(ServedFile& file, const OpenedObject& object, std::string_view name,
                      RequestBudget& budget) {
  if (name.starts_with(kStructurePrefix))
    return structure_text(file, object, name.substr(kStructurePrefix.size()), budget);
  if (!name.starts_with(kPrefix)) return fail(object::no_such_attribute());
  H5_ASSIGN(const object::Attribute attribute, find_xattr(object, name.substr(kPrefix.size())));
  return attribute_text(file, attribute, kMaxXattrBytes, budget);
}

}  // namespace h5mount::tree
