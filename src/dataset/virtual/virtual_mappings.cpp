// The mappings of a virtual dataset, most of them as they stand in the file's bytes.
#include <fmt/format.h>

#include "h5mount/base/checked.h"
#include "h5mount/metadata/global_heap.h"
#include "virtual_names.h"
#include "virtual_reader.h"

namespace h5mount::dataset {
namespace {

// Whether a selection is made of few numbers, so that making it anew takes no time.
bool is_short(const format::Selection& selection) {
  constexpr std::size_t kFew = 64;
  return selection.points.size() <= kFew && selection.blocks.size() <= kFew;
}

}  // namespace

Result<VirtualReader::Mappings> VirtualReader::Mappings::load(const metadata::FileMetadata& snapshot,
                                                              const format::DataLayout& layout) {
  Mappings out;
  if (layout.virtual_heap_address == format::kUndefinedAddress) return out;
  H5_ASSIGN(const auto object, metadata::load_global_heap_object(snapshot, layout.virtual_heap_address,
                                                                 layout.virtual_heap_index));
  out.bytes_.assign(object.bytes().begin(), object.bytes().end());
  out.offset_ = snapshot.base_address() + layout.virtual_heap_address;
  out.sizes_ = snapshot.sizes();
  format::Cursor cursor(out.bytes_, out.offset_, "VirtualMappings", out.sizes_);
  H5_TRY(format::for_each_virtual_mapping(
      cursor, [&](format::VirtualMapping mapping, std::size_t selections) -> Status {
        out.add(std::move(mapping), selections);
        return {};
      }));
  out.known_.clear();
  return out;
}

void VirtualReader::Mappings::add(format::VirtualMapping mapping, std::size_t selections) {
  Part part;
  part.numbered = has_block_number(mapping.file) || has_block_number(mapping.dataset);
  part.view_unlimited = unlimited_dimension(mapping.view);
  part.source_unlimited = unlimited_dimension(mapping.source);
  if (!part.numbered) {
    mapping.file = plain_name(mapping.file);
    mapping.dataset = plain_name(mapping.dataset);
  }
  const bool fixed = !part.numbered && !part.view_unlimited && !part.source_unlimited;
  if (!fixed || !is_short(mapping.view) || !is_short(mapping.source)) {
    part.mapping = std::move(mapping);
    entries_.push_back({.at = kept_.size(), .name = kKept});
    kept_.push_back(std::move(part));
    return;
  }
  const format::Selection& view = mapping.view;
  if (least_.size() < view.count.size()) least_.resize(view.count.size());
  for (std::size_t i = 0; view.regular && i < view.count.size(); ++i) {
    const auto slices = checked_mul(view.count[i], view.block[i]);
    if (slices) least_[i] = std::max(least_[i], extent_of_slices(view, i, *slices));
  }
  const auto [known, is_new] = known_.try_emplace({std::move(mapping.file), std::move(mapping.dataset)},
                                                  static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(known->first);
  entries_.push_back({.at = selections, .name = known->second});
}

const std::string& VirtualReader::Mappings::file(const Entry& entry) const {
  const Part* const kept = kept_part(entry);
  return kept != nullptr ? kept->mapping.file : names_[entry.name].first;
}

const std::string& VirtualReader::Mappings::dataset(const Entry& entry) const {
  const Part* const kept = kept_part(entry);
  return kept != nullptr ? kept->mapping.dataset : names_[entry.name].second;
}

Result<VirtualReader::Part> VirtualReader::Mappings::unpack(const Entry& entry,
                                                            std::span<const std::uint64_t> dims) const {
  Part part;
  part.mapping.file = file(entry);
  part.mapping.dataset = dataset(entry);
  format::Cursor cursor(bytes_, offset_, "VirtualMappings", sizes_);
  cursor.seek(static_cast<std::size_t>(entry.at));
  H5_ASSIGN(part.mapping.source, format::decode_selection(cursor));
  H5_ASSIGN(part.mapping.view, format::decode_selection(cursor));
  H5_ASSIGN(part.view, ElementSelection::make(part.mapping.view, dims));
  part.view->bounds(part.row_begin, part.row_end);
  return part;
}

// Determines what each mapping covers of the view's extent.
Status VirtualReader::Mappings::settle(const object::DatasetDescription& d) {
  for (Entry& entry : entries_) {
    const auto named = [&](const Error& error) {
      return error.within(fmt::format("virtual mapping of {}", dataset(entry)));
    };
    if (entry.name != kKept) {
      const auto part = unpack(entry, d.space.dims);
      if (!part) return fail(named(part.error()));
      entry.row_begin = part->row_begin;
      entry.row_end = part->row_end;
      continue;
    }
    Part& part = kept_[static_cast<std::size_t>(entry.at)];
    if (part.numbered) continue;
    std::optional<ElementSelection::Clip> clip;
    if (part.view_unlimited) clip = {*part.view_unlimited, part.slices};
    auto view = ElementSelection::make(part.mapping.view, d.space.dims, clip);
    if (!view) return fail(named(view.error()));
    part.view = *std::move(view);
    part.view->bounds(part.row_begin, part.row_end);
    entry.row_begin = part.row_begin;
    entry.row_end = part.row_end;
  }
  return {};
}

}  // namespace h5mount::dataset
