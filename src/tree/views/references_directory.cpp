// /.h5/refs/PATH/INDEX: the elements of datasets of references, each a symlink to the object that it refers
// to; a region to its slice of the dataset, where it is one. INDEX has a number for each dimension, and is 0
// for a scalar. Elements that refer to nothing, to another file, or to an object that no path leads to are
// left out.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "../core/external_files.h"
#include "../core/name_list.h"
#include "../objects/object_nodes.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/text.h"
#include "h5mount/text/reference.h"
#include "part_directories.h"

namespace h5mount::tree {

namespace {

// ---- regions

// Positions of one dimension: `count` blocks of `block` positions, `stride` apart.
struct Blocks {
  std::uint64_t start = 0, stride = 1, count = 1, block = 1;
};

// As a slice within the extent; nullopt if it is none.
std::optional<std::string> slice_of(const Blocks& blocks, std::uint64_t extent) {
  const auto [start, stride, count, block] = blocks;
  if (count == 0 || block == 0 || (count > 1 && block > 1 && stride != block)) return std::nullopt;
  const auto apart = checked_mul(count - 1, stride);
  const auto first_of_last = apart ? checked_add(start, *apart) : std::nullopt;
  const auto end = first_of_last ? checked_add(*first_of_last, block) : std::nullopt;
  if (!end || *end > extent) return std::nullopt;
  if (count == 1 || stride == block) return fmt::format("{}:{}", start, *end);
  return fmt::format("{}:{}:{}", start, *end, stride);
}

// The blocks of one dimension that a list has, if they are equally long and far apart.
std::optional<Blocks> blocks_in(const std::vector<std::uint64_t>& list, std::size_t rank,
                                std::size_t dimension) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> blocks;
  for (std::size_t at = dimension; at < list.size(); at += 2 * rank)
    blocks.emplace(list[at], list[at + rank]);
  const auto [start, end] = *blocks.begin();
  if (end < start || end == format::kUnlimited) return std::nullopt;
  Blocks out{.start = start, .count = blocks.size(), .block = end - start + 1};
  if (out.count > 1) out.stride = std::next(blocks.begin())->first - start;
  std::uint64_t number = 0;
  for (const auto& [from, to] : blocks) {
    const auto apart = checked_mul(number++, out.stride);
    if (!apart || from - start != *apart || to < from || to - from != end - start) return std::nullopt;
  }
  return out;
}

// The selection, where it is regular: a regular one may be stored as the list of its blocks, which make a
// grid.
std::optional<std::vector<Blocks>> regular_blocks(const format::Selection& selection, std::size_t rank) {
  if (selection.kind != format::Selection::Kind::Hyperslab || selection.rank != rank || rank == 0)
    return std::nullopt;
  std::vector<Blocks> out(rank);
  if (selection.regular) {
    for (std::size_t i = 0; i < rank; ++i)
      out[i] = {selection.start[i], selection.stride[i], selection.count[i], selection.block[i]};
    return out;
  }
  constexpr std::size_t kMostBlocks = 16U << 10;
  const std::vector<std::uint64_t>& list = selection.blocks;
  if (list.empty() || list.size() > kMostBlocks * 2 * rank) return std::nullopt;
  std::uint64_t in_grid = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto blocks = blocks_in(list, rank, i);
    const auto more = blocks ? checked_mul(in_grid, blocks->count) : std::nullopt;
    if (!more) return std::nullopt;
    out[i] = *blocks;
    in_grid = *more;
  }
  std::set<std::vector<std::uint64_t>> places;
  for (std::size_t at = 0; at < list.size(); at += 2 * rank)
    places.emplace(list.begin() + static_cast<std::ptrdiff_t>(at),
                   list.begin() + static_cast<std::ptrdiff_t>(at + rank));
  return places.size() == in_grid ? std::optional(std::move(out)) : std::nullopt;
}

// The name of the region among the slices of its dataset; nullopt if it is no slice.
std::optional<std::string> region_slice(const format::Selection& selection,
                                        const object::DatasetDescription& dataset) {
  const auto blocks = regular_blocks(selection, dataset.space.rank());
  if (!blocks) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const auto slice = slice_of((*blocks)[i], dataset.space.dims[i]);
    if (!slice) return std::nullopt;
    if (i > 0) out += ',';
    out += *slice;
  }
  return out;
}

// ---- indices

std::string index_name(std::uint64_t element, const std::vector<std::uint64_t>& dims) {
  if (dims.empty()) return "0";
  std::vector<std::uint64_t> index(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; element /= dims[i]) index[i] = element % dims[i];
  return fmt::format("{}", fmt::join(index, ","));
}

// The number of the element with that name, by rows.
std::optional<std::uint64_t> element_of(std::string_view name, const std::vector<std::uint64_t>& dims) {
  if (dims.empty()) return name == "0" ? std::optional<std::uint64_t>(0) : std::nullopt;
  const std::vector<std::string_view> words = split(name, ',');
  if (words.size() != dims.size()) return std::nullopt;
  std::uint64_t element = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto number = parse_whole<std::uint64_t>(words[i]);
    if (!number || *number >= dims[i] || words[i] != fmt::format("{}", *number)) return std::nullopt;
    element = element * dims[i] + *number;  // below the number of elements
  }
  return element;
}

class ReferencesDirectory : public PartsDirectory {
 public:
  ReferencesDirectory(DatasetPtr dataset, std::string name, unsigned depth)
      : PartsDirectory(std::move(dataset), std::move(name)), depth_(depth) {}

  Result<NodePtr> child(std::string_view shown, RequestBudget& budget) override {
    H5_ASSIGN(const DataStatePtr data, dataset()->newest(budget));
    const object::DatasetDescription& described = data->reader->description();
    const auto element = element_of(shown, described.space.dims);
    if (!element || !is_list_of_references(described)) return fail(no_part());
    std::vector<std::byte> stored(static_cast<std::size_t>(described.element_size));
    H5_TRY(data->reader->read_into(*element * described.element_size, stored, budget));
    H5_ASSIGN(const auto target, text::decode_reference(*described.type, stored, values(budget)));
    H5_ASSIGN(std::optional<std::string> text, link_text(target, budget));
    if (!text) return fail(no_part());
    // A link whose target changes is another node.
    NodeKey link{file().get(), key().kind, key().address, fmt::format("{}/{}/{}", key().name, shown, *text)};
    return make_symlink_node(std::move(link), file(), *std::move(text));
  }

  Result<std::shared_ptr<const DirectoryListing>> list(RequestBudget& budget) override {
    constexpr std::uint64_t kAtOnce = 1024;
    H5_ASSIGN(const DataStatePtr data, dataset()->newest(budget));
    const object::DatasetDescription& described = data->reader->description();
    auto out = std::make_shared<NameList>();
    if (!is_list_of_references(described)) return out;
    const auto size = static_cast<std::size_t>(described.element_size);
    const std::uint64_t count = std::min(described.image_bytes / size, limits::kMaxListedSlices);
    std::vector<std::byte> stored;
    for (std::uint64_t first = 0; first < count; first += kAtOnce) {
      stored.resize(static_cast<std::size_t>(std::min(kAtOnce, count - first)) * size);
      const Status read = data->reader->read_into(first * size, stored, budget);
      if (!read && is_passing(read.error())) return fail(read.error());
      if (!read) out->set_damage(read.error());
      for (std::size_t at = 0; read && at < stored.size(); at += size) {
        H5_ASSIGN(const bool leads,
                  leads_somewhere(*described.type, ByteSpan(stored).subspan(at, size), budget));
        if (leads) out->add(index_name(first + at / size, described.space.dims), NodeType::Symlink);
      }
    }
    return out;
  }

 private:
  const ServedFilePtr& file() const { return dataset()->file(); }
  text::ValueContext values(RequestBudget& budget) const { return file()->value_context(budget); }

  static bool is_list_of_references(const object::DatasetDescription& dataset) {
    return dataset.type->cls == format::DatatypeClass::Reference && dataset.image_bytes > 0;
  }

  // Whether an element has an entry. One whose bytes say nothing has none.
  Result<bool> leads_somewhere(const format::Datatype& type, ByteSpan element, RequestBudget& budget) const {
    constexpr std::uint64_t kStepsPerReference = 1000;
    H5_TRY(budget.spend(kStepsPerReference));
    const auto target = text::decode_reference(type, element, values(budget));
    if (!target && is_passing(target.error())) return fail(target.error());
    if (target && *target && (*target)->selection)
      H5_TRY(budget.spend((*target)->selection->blocks.size() + (*target)->selection->points.size()));
    return target && *target && !(*target)->file && file()->object_paths()->names_to((*target)->address);
  }

  // nullopt: it leads nowhere in this file.
  Result<std::optional<std::string>> link_text(const std::optional<text::ReferenceTarget>& target,
                                               RequestBudget& budget) const {
    if (!target || target->file) return std::nullopt;
    const auto paths = file()->object_paths();
    const auto names = paths->names_to(target->address);
    if (!names) return std::nullopt;
    H5_ASSIGN(const auto slice, slice_name(*target, budget));
    SymlinkPath path = canonical_path(*names, depth_ + file()->depth() + kDepthOfRefs);
    if (slice) {
      path.above += fmt::format("{}/slice/", kHiddenName);
      path.names.push_back(*slice);
    }
    if (file()->depth() > 0)
      path.above += fmt::format("{}/external/{}/", kHiddenName, context().external->shown_name_of(*file()));
    return symlink_text(path);
  }

  // nullopt: the target is no slice of a dataset.
  Result<std::optional<std::string>> slice_name(const text::ReferenceTarget& target,
                                                RequestBudget& budget) const {
    if (!target.selection) return std::nullopt;
    const auto object = file()->object(target.address, budget);
    if (!object && is_passing(object.error())) return fail(object.error());
    if (!object || (*object)->object.kind != object::ObjectKind::Dataset) return std::nullopt;
    const auto described = viewed_description_of(*file(), **object);
    if (!described && is_passing(described.error())) return fail(described.error());
    if (!described || !*described) return std::nullopt;
    return region_slice(*target.selection, **described);
  }

  const MountContext& context() const { return file()->context(); }

  static constexpr unsigned kDepthOfRefs = 2;  // /.h5/refs
  const unsigned depth_;
};

}  // namespace

NodePtr make_references_directory(const VirtualDirectorySetup& setup) {
  return make_mirror(setup, std::make_shared<PartsMirror>(
                                "refs",
                                [](const object::DatasetDescription& d) {
                                  return d.type->cls == format::DatatypeClass::Reference &&
                                         d.space.kind != format::DataspaceKind::Null;
                                },
                                [](DatasetPtr dataset, std::string_view name, unsigned depth) -> NodePtr {
                                  return std::make_shared<ReferencesDirectory>(std::move(dataset),
                                                                               std::string(name), depth);
                                }));
}

}  // namespace h5mount::tree
