#include "element_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "damaged_lists.h"
#include "followed_dataset.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/text.h"
#include "h5mount/meaning/decoding.h"
#include "object_facts.h"

namespace h5mount::tree {

namespace {

using Dims = std::vector<std::uint64_t>;  // as HDF5 has them: MATLAB's, reversed

Error no_such_element() {
  return {ErrorCode::NotFound, "no such element"};
}

Result<std::optional<object::Attribute>> attribute_of(const OpenedObject& object, std::string_view name) {
  auto found = object::find_attribute(*object.snapshot, object.object, name);
  if (!found && found.error().code() == ErrorCode::NotFound) return std::nullopt;
  H5_TRY(found);
  if (found->damage || !found->type) return std::nullopt;
  return std::optional(*std::move(found));
}

Result<bool> has_class(const OpenedObject& object) {
  H5_ASSIGN(const auto found, attribute_of(object, "MATLAB_class"));
  return found.has_value();
}

std::string element_name(std::uint64_t number, const Dims& dims) {
  Dims place(dims.size());
  row_major_place(number, dims, place);
  std::string out;
  for (std::size_t i = dims.size(); i-- > 0;)
    out += fmt::format("{}{}", out.empty() ? "" : ",", place[i] + 1);
  return out;
}

std::optional<std::uint64_t> element_number(std::string_view name, const Dims& dims) {
  Dims place(dims.size());
  std::string_view rest = name;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto index = parse_whole<std::uint64_t>(take_until(rest, ','));
    if (!index || *index == 0 || *index > dims[i]) return std::nullopt;
    place[i] = *index - 1;
  }
  const std::uint64_t number = row_major_number(place, dims);
  return element_name(number, dims) == name ? std::optional(number) : std::nullopt;
}

bool holds_references(const object::DatasetDescription& dataset) {
  return dataset.type->cls == format::DatatypeClass::Reference &&
         dataset.type->reference == format::ReferenceKind::Object1 &&
         dataset.element_size <= sizeof(std::uint64_t) && !dataset.space.dims.empty();
}

// A dataset of references, opened.
struct References {
  DatasetDescriptionPtr description;
  DatasetReaderPtr reader;

  const Dims& dims() const { return description->space.dims; }
  std::uint64_t count() const { return description->image_bytes / description->element_size; }

  // nullopt: the reference is empty.
  Result<std::optional<format::Link>> link(std::uint64_t number, std::string name,
                                           RequestBudget& budget) const {
    std::byte bytes[sizeof(std::uint64_t)];
    const auto size = static_cast<std::size_t>(description->element_size);
    H5_TRY(reader->read_into(number * size, MutableByteSpan(bytes).first(size), budget));
    return link_of(bytes, std::move(name));
  }
  std::optional<format::Link> link_of(const std::byte* element, std::string name) const {
    const std::uint64_t address = load_le_width(element, static_cast<std::size_t>(description->element_size));
    if (address == 0 || address == format::kUndefinedAddress) return std::nullopt;
    format::Link out;
    out.name = std::move(name);
    out.address = address;
    return out;
  }
};

// nullopt: another dataset, or no dataset.
Result<std::optional<References>> references_in(ServedFile& file, const OpenedObject& object,
                                                RequestBudget& budget) {
  if (object.object.kind != object::ObjectKind::Dataset) return std::nullopt;
  H5_ASSIGN(DatasetDescriptionPtr description, viewed_description_of(file, object));
  if (!description || !holds_references(*description)) return std::nullopt;
  H5_ASSIGN(DatasetReaderPtr reader, open_reader(file, *description, budget));
  return std::optional(References{std::move(description), std::move(reader)});
}

class NoElements final : public ElementLinks {
 public:
  Result<format::Link> find(std::string_view, RequestBudget&) const override {
    return fail(no_such_element());
  }
  Result<FoundLinks> list(RequestBudget&) const override { return FoundLinks(); }
};

class OfObject : public ElementLinks {
 protected:
  OfObject(ServedFile& file, std::uint64_t address) : file_(file.shared_from_this()), address_(address) {}

  ServedFile& file() const { return *file_; }
  std::uint64_t address() const { return address_; }
  Result<OpenedObjectPtr> object(RequestBudget& budget) const { return file_->object(address_, budget); }

 private:
  const ServedFilePtr file_;
  const std::uint64_t address_;
};

class CellElements final : public OfObject {
 public:
  CellElements(ServedFile& file, std::uint64_t address) : OfObject(file, address) {}

  Result<format::Link> find(std::string_view name, RequestBudget& budget) const override {
    H5_ASSIGN(const References cell, references(budget));
    const auto number = element_number(name, cell.dims());
    if (!number) return fail(no_such_element());
    H5_ASSIGN(auto link, cell.link(*number, std::string(name), budget));
    if (!link) return fail(no_such_element());
    return *std::move(link);
  }

  Result<FoundLinks> list(RequestBudget& budget) const override {
    H5_ASSIGN(const References cell, references(budget));
    const std::uint64_t count = std::min(cell.count(), kMostListed);
    const auto size = static_cast<std::size_t>(cell.description->element_size);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
    H5_TRY(budget.spend(count * kStepsPerLink));
    H5_TRY(cell.reader->read_into(0, bytes, budget));
    FoundLinks out;
    for (std::uint64_t i = 0; i < count; ++i)
      if (auto link = cell.link_of(bytes.data() + i * size, element_name(i, cell.dims()))) {
        link->creation_order = static_cast<std::int64_t>(i);
        out.add(*link);
      }
    return out;
  }

 private:
  Result<References> references(RequestBudget& budget) const {
    H5_ASSIGN(const OpenedObjectPtr opened, object(budget));
    H5_ASSIGN(auto out, references_in(file(), *opened, budget));
    if (!out) return fail({ErrorCode::Stale, "a dataset that holds no references any more"});
    return *std::move(out);
  }
};

// The field of an array of structures that a link leads to; nullopt: the link leads to something else.
Result<std::optional<References>> field_of(ServedFile& file, const format::Link& link,
                                           RequestBudget& budget) {
  if (!link.is(format::LinkType::Hard)) return std::nullopt;
  H5_ASSIGN(const OpenedObjectPtr field, file.object(link.address, budget));
  H5_ASSIGN(const bool is_variable, has_class(*field));
  if (is_variable) return std::nullopt;
  return references_in(file, *field, budget);
}

// The fields of one structure of an array: each is a dataset of as many references as there are structures.
class StructureFields final : public OfObject {
 public:
  StructureFields(ServedFile& file, std::uint64_t address, std::string index)
      : OfObject(file, address), index_(std::move(index)) {}

  Result<format::Link> find(std::string_view name, RequestBudget& budget) const override {
    H5_ASSIGN(const OpenedObjectPtr opened, object(budget));
    H5_ASSIGN(const auto group, opened_group(*opened));
    H5_ASSIGN(const format::Link link, group->find(name));
    H5_ASSIGN(auto value, value_of(link, budget));
    if (!value) return fail(no_such_element());
    return *std::move(value);
  }

  Result<FoundLinks> list(RequestBudget& budget) const override {
    H5_ASSIGN(const OpenedObjectPtr opened, object(budget));
    H5_ASSIGN(const auto group, opened_group(*opened));
    FoundLinks out;
    Status done;
    const Status all = group->for_each(
        [&](const format::Link& link) {
          done = budget.spend(kStepsPerLink);
          auto value = done ? value_of(link, budget) : Result<std::optional<format::Link>>(std::nullopt);
          if (!value && is_passing(value.error())) done = fail(value.error());
          // What cannot be read is named, and says why when it is looked up.
          if (!value) value = link;
          if (done && *value) out.add(**value);
          return done.has_value();
        },
        nullptr);
    H5_TRY(done);
    H5_TRY(all);
    return out;
  }

 private:
  Result<std::optional<format::Link>> value_of(const format::Link& link, RequestBudget& budget) const {
    H5_ASSIGN(const auto field, field_of(file(), link, budget));
    if (!field) return std::nullopt;
    const auto number = element_number(index_, field->dims());
    if (!number) return std::nullopt;
    return field->link(*number, link.name, budget);
  }

  const std::string index_;
};

class StructureArray final : public OfObject {
 public:
  StructureArray(ServedFile& file, std::uint64_t address, Dims dims)
      : OfObject(file, address), dims_(std::move(dims)) {}

  Result<format::Link> find(std::string_view name, RequestBudget&) const override {
    if (!element_number(name, dims_)) return fail(no_such_element());
    return link_to(std::string(name), 0);
  }

  Result<FoundLinks> list(RequestBudget& budget) const override {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : dims_) count = dim == 0 ? 0 : std::min(count, kMostListed) * dim;
    count = std::min(count, kMostListed);
    H5_TRY(budget.spend(count * kStepsPerLink));
    FoundLinks out;
    for (std::uint64_t i = 0; i < count; ++i)
      out.add(link_to(element_name(i, dims_), static_cast<std::int64_t>(i)));
    return out;
  }
  ElementLinksPtr inside(const format::Link& link) const override {
    return std::make_shared<const StructureFields>(file(), address(), link.name);
  }

 private:
  format::Link link_to(std::string name, std::int64_t number) const {
    format::Link out;
    out.name = std::move(name);
    out.address = address();
    out.creation_order = number;
    return out;
  }

  const Dims dims_;
};

// A structure is a group of its fields; of an array of them, each field is a dataset of references without a
// class of its own.
Result<ElementLinksPtr> structures_in(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(const auto group, opened_group(object));
  std::optional<format::Link> first;
  H5_TRY(group->for_each([&](const format::Link& link) { return first = link, false; }, nullptr));
  if (!first) return nullptr;
  auto field = field_of(file, *first, budget);
  if (!field && is_passing(field.error())) return fail(field.error());
  if (!field || !*field) return nullptr;
  return std::make_shared<const StructureArray>(file, object.object.address, (*field)->dims());
}

constexpr std::size_t kLooksAt = 16;

// Whether one of the first objects of a group has a class.
Result<bool> has_matlab_objects(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(const auto group, opened_group(object));
  std::vector<std::uint64_t> addresses;
  H5_TRY(group->for_each(
      [&](const format::Link& link) {
        if (link.is(format::LinkType::Hard)) addresses.push_back(link.address);
        return addresses.size() < kLooksAt;
      },
      nullptr));
  for (const std::uint64_t address : addresses) {
    const auto member = file.object(address, budget);
    const auto found = member ? has_class(**member) : Result<bool>(false);
    if (found && *found) return true;
  }
  return false;
}

}  // namespace

Result<ElementLinksPtr> matlab_elements(ServedFile& file, const OpenedObject& object, RequestBudget& budget) {
  H5_ASSIGN(const std::string cls, meaning::matlab_class(*object.snapshot, object.object));
  if (cls != "cell" && cls != "struct") return nullptr;
  if (object.object.kind == object::ObjectKind::Group)
    return cls == "struct" ? structures_in(file, object, budget) : nullptr;
  if (object.object.kind != object::ObjectKind::Dataset) return nullptr;
  H5_ASSIGN(const auto empty, attribute_of(object, "MATLAB_empty"));
  if (empty && std::ranges::any_of(empty->data, [](std::byte b) { return b != std::byte{0}; }))
    return std::make_shared<const NoElements>();
  H5_ASSIGN(const DatasetDescriptionPtr description, viewed_description_of(file, object));
  if (cls != "cell" || !description || !holds_references(*description)) return nullptr;
  return std::make_shared<const CellElements>(file, object.object.address);
}

Result<bool> is_kept_beside(const GroupContents& group, const format::Link& link, RequestBudget& budget) {
  constexpr std::string_view kIndices = "_i_";
  ServedFile& file = *group.file();
  const bool of_matlab =
      group.address() == file.root_address() && (link.name == "#refs#" || link.name == "#subsystem#");
  const bool of_pytables = link.name.starts_with(kIndices);
  if ((!of_matlab && !of_pytables) || !link.is(format::LinkType::Hard)) return false;
  H5_ASSIGN(const OpenedObjectPtr object, file.object(link.address, budget));
  if (object->object.kind != object::ObjectKind::Group) return false;
  if (of_matlab) {
    H5_ASSIGN(const bool found, has_matlab_objects(file, *object, budget));
    if (found) return true;
    H5_ASSIGN(const OpenedObjectPtr root, file.object(file.root_address(), budget));
    return has_matlab_objects(file, *root, budget);
  }
  H5_ASSIGN(const auto cls, attribute_of(*object, "CLASS"));
  return cls && cls->type->cls == format::DatatypeClass::String &&
         text::fixed_string(*cls->type, cls->data) == "TINDEX" &&
         group.find_named(link.name.substr(kIndices.size()), budget).has_value();
}

Result<std::optional<std::string>> ElementPlaces::other_place(std::uint64_t address,
                                                              const std::string& path) {
  constexpr std::size_t kMostBytes = 64U << 20, kEntryBytes = 100;
  const MutexLock lock(mutex_);
  const auto found = paths_.find(address);
  if (found != paths_.end()) return found->second == path ? std::nullopt : std::optional(found->second);
  const std::size_t bytes = path.size() + kEntryBytes;
  if (bytes_ + bytes > kMostBytes)
    return fail({ErrorCode::LimitExceeded, "too many directories of elements"});
  bytes_ += bytes;
  paths_.emplace(address, path);
  return std::nullopt;
}

}  // namespace h5mount::tree
