#include "virtual_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "../core/growth.h"
#include "h5mount/base/limits.h"
#include "virtual_names.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kMaxNumbered = 1U << 20;  // largest number of numbered sources that are searched for
constexpr std::size_t kMaxStale = 64;             // ranges; if there are more, they are joined into one

}  // namespace

Result<std::shared_ptr<const VirtualReader>> VirtualReader::open(const ReadEnvironment& environment,
                                                                 object::OpenedFilePtr file,
                                                                 object::DatasetDescription d,
                                                                 const VirtualReader* previous,
                                                                 RequestBudget& budget) {
  ReadEnvironment nested = environment;
  H5_ASSIGN(nested.within, nest(environment.within, file.get(), d.address));
  H5_ASSIGN(Mappings mappings, Mappings::load(*file->reread(), d.layout));
  // However much that is, something is left for those who read.
  const std::size_t most = environment.cache->budget() + limits::kMemoryAboveCache / 2;
  H5_ASSIGN(auto charge, environment.cache->charge(std::min(mappings.memory_bytes(), most)));
  auto sources = std::make_unique<VirtualSources>(std::move(nested), file,
                                                  previous != nullptr ? previous->sources_.get() : nullptr);
  const auto renewed = sources->renew(budget);
  for (Part& part : mappings.kept())
    if (part.view_unlimited) measure(*sources, d.space, part, budget);
  // If the request had to end, the extent is unknown: another request may determine it.
  H5_TRY(budget.check());
  H5_TRY(settle_extent(d, mappings));
  H5_TRY(mappings.settle(d));
  std::shared_ptr<VirtualReader> reader(new VirtualReader(environment, std::move(file), std::move(d),
                                                          std::move(sources), std::move(mappings),
                                                          std::move(charge)));
  if (previous != nullptr) reader->stale_ = reader->stale_since(*previous, renewed);
  return reader;
}

VirtualReader::VirtualReader(const ReadEnvironment& environment, object::OpenedFilePtr file,
                             object::DatasetDescription description, std::unique_ptr<VirtualSources> sources,
                             Mappings mappings, cache::BlockCache::Charge charge)
    : DatasetReader(std::move(description)),
      file_(std::move(file)),
      fill_(this->description().fill, this->description().element_size),
      sources_(std::move(sources)),
      mappings_(std::move(mappings)),
      charge_(std::move(charge)),
      cache_(environment.cache),
      readahead_(environment.cache, environment.workers, environment.counters, kUnitBytes,
                 divide_up(size(), kUnitBytes)) {
  for (const Part& part : mappings_.kept())
    if (!problem_) problem_ = part.problem;
}

// Determines the current extent of an unlimited mapping's sources. A source that exists and cannot be opened
// counts with the extent in the header, so that the reads that need it fail.
void VirtualReader::measure(VirtualSources& sources, const format::Dataspace& space, Part& part,
                            RequestBudget& budget) {
  const format::VirtualMapping& mapping = part.mapping;
  const std::size_t dimension = *part.view_unlimited;
  const std::uint64_t stored =  // in slices
      dimension < space.dims.size() ? slices_within(mapping.view, dimension, space.dims[dimension]) : 0;
  if (part.numbered) {
    VirtualSources::SourcePtr source;
    part.blocks = sources.count_numbered(mapping.file, mapping.dataset, kMaxNumbered - 1, budget);
    for (; part.blocks < kMaxNumbered; ++part.blocks) {
      source = sources.get(numbered_name(mapping.file, part.blocks),
                           numbered_name(mapping.dataset, part.blocks), budget);
      if (!source->reader) break;
      if (!budget.check()) break;
    }
    part.found = part.blocks;
    part.problem = source->error;
    if (part.problem && mapping.view.block[dimension] > 0)
      part.blocks = std::max(part.blocks, std::min(kMaxNumbered, stored / mapping.view.block[dimension]));
    if (part.blocks == 0) sources.note_missing(*source);
    return;
  }
  if (!part.source_unlimited) return;
  const auto source = sources.get(mapping.file, mapping.dataset, budget);
  part.problem = source->error;
  if (part.problem) part.slices = stored;
  if (source->absent) sources.note_missing(*source);
  if (!source->reader) return;
  const auto& dims = source->reader->description().space.dims;
  if (*part.source_unlimited < dims.size())
    part.slices = slices_within(mapping.source, *part.source_unlimited, dims[*part.source_unlimited]);
}

// Sets the view's extent in its unlimited dimensions to the part that its sources fill; the extent in the
// header is that of the time when it was written.
Status VirtualReader::settle_extent(object::DatasetDescription& d, const Mappings& mappings) {
  const std::vector<Part>& parts = mappings.kept();
  std::vector<std::uint64_t> dims = d.space.dims;
  std::vector<bool> measured(dims.size(), false);
  const auto grow = [&](std::size_t i, std::uint64_t extent) {
    if (!measured[i]) dims[i] = 0;
    measured[i] = true;
    dims[i] = std::max(dims[i], extent);
  };
  for (const Part& part : parts) {
    if (!part.view_unlimited || *part.view_unlimited >= dims.size()) continue;
    const std::size_t i = *part.view_unlimited;
    const format::Selection& view = part.mapping.view;
    if (part.numbered)
      grow(i, part.blocks == 0
                  ? 0
                  : extent_of_slices(view, i, checked_mul(part.blocks, view.block[i]).value_or(0)));
    else
      grow(i, extent_of_slices(view, i, part.slices));
  }
  // Mappings of fixed size also require their extent.
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (measured[i]) grow(i, mappings.least_extent(i));
  for (const Part& part : parts) {
    const format::Selection& view = part.mapping.view;
    if (part.view_unlimited || view.kind != format::Selection::Kind::Hyperslab || !view.regular) continue;
    for (std::size_t i = 0; i < dims.size() && i < view.count.size(); ++i) {
      const auto slices = checked_mul(view.count[i], view.block[i]);
      if (measured[i] && slices) grow(i, extent_of_slices(view, i, *slices));
    }
  }
  d.space.dims = dims;
  const auto count = d.space.element_count();
  const auto bytes = count ? checked_mul(*count, d.element_size) : std::nullopt;
  if (!bytes || *bytes > static_cast<std::uint64_t>(INT64_MAX))
    return fail(Error(ErrorCode::TooLarge, "Dataspace", "dims", d.address));
  d.image_bytes = *bytes;
  return {};
}

// ---- sources that grow

std::vector<ByteRange> VirtualReader::stale_since(
    const VirtualReader& before, const std::vector<VirtualSources::SourcePtr>& renewed) const {
  const format::DataLayout& old_layout = before.description().layout;
  const format::DataLayout& layout = description().layout;
  if (before.sources_->reopened() || !grew_at_end(before.description(), description()) ||
      layout.virtual_heap_address != old_layout.virtual_heap_address ||
      layout.virtual_heap_index != old_layout.virtual_heap_index)
    return {kWholeImage};
  std::vector<ByteRange> stale;
  for (const auto& source : renewed)
    for (const Mappings::Entry& entry : mappings_.entries()) {
      if (!is_of(entry, *source)) continue;
      const Part* const kept = mappings_.kept_part(entry);
      const auto made = kept == nullptr ? mappings_.unpack(entry, description().space.dims) : Part();
      const ByteRange range = kept != nullptr ? stale_by(*kept, *source)
                              : made          ? stale_by(*made, *source)
                                              : kWholeImage;
      if (range.begin < range.end) stale.push_back(range);
    }
  if (stale.size() > kMaxStale) {
    const auto first = std::ranges::min_element(stale, {}, &ByteRange::begin);
    stale = {{first->begin, format::kUnlimited}};
  }
  return stale;
}

bool VirtualReader::is_of(const Mappings::Entry& entry, const VirtualSources::Source& source) const {
  const Part* const kept = mappings_.kept_part(entry);
  return (kept != nullptr && kept->numbered) ||
         (mappings_.file(entry) == source.file_name && mappings_.dataset(entry) == source.dataset);
}

// The range of the view's image that starts where a part of it became stale: elements have the same order in
// a source's selection and in the view's.
ByteRange VirtualReader::stale_by(const Part& part, const VirtualSources::Source& source) const {
  // No bytes of a numbered source that did not exist were returned: the view ended before it.
  if (part.numbered) return {0, source.was_there ? format::kUnlimited : 0};
  const std::uint64_t e = description().element_size;
  const ByteRange whole{part.row_begin * e, part.row_end * e};
  const bool ordered = part.mapping.source.kind != format::Selection::Kind::Points &&
                       part.mapping.view.kind != format::Selection::Kind::Points;
  if (!source.reader || !ordered) return whole;
  std::optional<ElementSelection::Clip> clip;
  if (part.source_unlimited) clip = {*part.source_unlimited, part.slices};
  const object::DatasetDescription& from = source.reader->description();
  const auto selected = ElementSelection::make(part.mapping.source, from.space.dims, clip);
  if (!selected) return whole;
  std::uint64_t begin = format::kUnlimited;
  for (const ByteRange& range : source.stale) begin = std::min(begin, range.begin);
  std::uint64_t ordinal = format::kUnlimited, linear = part.row_end;
  selected->for_each_in_range(begin / std::max<std::uint64_t>(1, from.element_size), format::kUnlimited,
                              [&](std::uint64_t, std::uint64_t, std::uint64_t first) {
                                ordinal = first;
                                return false;
                              });
  if (ordinal < part.view->count())
    part.view->for_each_ordinal(ordinal, ordinal + 1,
                                [&](std::uint64_t at, std::uint64_t) { return linear = at, false; });
  return {linear * e, part.row_end * e};
}

Result<NextReader> VirtualReader::continued(const ReadEnvironment& environment,
                                            const object::OpenedFilePtr& file,
                                            const object::DatasetDescription& next,
                                            RequestBudget& budget) const {
  if (next.layout.cls == format::LayoutClass::Virtual) {
    H5_ASSIGN(auto reader, open(environment, file, next, this, budget));
    return NextReader{reader, reader->stale_};
  }
  return NextReader{};
}

// ---- reading

Status VirtualReader::read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const {
  if (offset >= size()) return {};
  length = std::min(length, size() - offset);
  if (length == 0) return {};
  const bool forward = access.pattern != nullptr && access.pattern->note(offset, length);
  H5_TRY(DatasetReader::read(offset, length, access, out));
  if (forward) readahead_.advance(shared_from_this(), (offset + length - 1) / kUnitBytes, *access.pattern);
  return {};
}

void VirtualReader::make_unit(std::uint64_t unit) const {
  const std::uint64_t offset = unit * kUnitBytes;
  cache::Block discarded(static_cast<std::size_t>(unit_end(unit) - offset));
  RequestBudget budget;
  budget.allow_for(file_->followed->source()->stored_bytes());
  (void)read_into(offset, discarded.bytes(), budget);
}

Status VirtualReader::read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const {
  H5_TRY(check_inside(offset, out.size()));
  const std::uint64_t e = description().element_size;
  const std::uint64_t first = offset / e, last = divide_up(offset + out.size(), e);
  if (first * e == offset && last * e == offset + out.size())
    return read_elements(first, last - first, out, budget);
  // A request need not begin or end at elements: whole elements are assembled in a separate buffer.
  cache::Block whole(static_cast<std::size_t>((last - first) * e));
  H5_TRY(read_elements(first, last - first, whole.bytes(), budget));
  std::memcpy(out.data(), whole.bytes().data() + (offset - first * e), out.size());
  return {};
}

Status VirtualReader::read_elements(std::uint64_t first, std::uint64_t count, MutableByteSpan out,
                                    RequestBudget& budget) const {
  fill_.write(first * description().element_size, out);
  for (const Mappings::Entry& entry : mappings_.entries()) {
    const Part* const kept = mappings_.kept_part(entry);
    if (kept != nullptr && kept->numbered) {
      H5_TRY(read_numbered(*kept, first, count, out, budget));
    } else if (entry.row_begin < first + count && entry.row_end > first) {
      if (kept != nullptr) {
        H5_TRY(read_part(*kept, first, count, out, budget));
        continue;
      }
      H5_ASSIGN(const Part part, mappings_.unpack(entry, description().space.dims));
      H5_TRY(read_part(part, first, count, out, budget));
    }
  }
  return {};
}

// Adds the source's name to an error of reading it.
template <class Read>
Status VirtualReader::read_source(const std::string& file, const std::string& dataset, RequestBudget& budget,
                                  Read&& read) const {
  return sources_->use(file, dataset, budget, [&](const VirtualSources::Source& source) -> Status {
    Status done = read(source);
    if (!done) return fail(done.error().within(fmt::format("virtual source {}:{}", file, dataset)));
    return done;
  });
}

Status VirtualReader::read_part(const Part& part, std::uint64_t first, std::uint64_t count,
                                MutableByteSpan out, RequestBudget& budget) const {
  std::optional<ElementSelection::Clip> clip;
  if (part.source_unlimited) clip = {*part.source_unlimited, part.slices};
  return read_source(part.mapping.file, part.mapping.dataset, budget, [&](const auto& source) {
    return copy_from(source, part.mapping.source, clip, *part.view, first, count, out, budget);
  });
}

// What a numbered source shows.
Result<ElementSelection> VirtualReader::block_of(const Part& part, std::uint64_t number) const {
  format::Selection block = part.mapping.view;
  const std::size_t d = *part.view_unlimited;
  block.start[d] += number * block.stride[d];
  block.count[d] = 1;
  return ElementSelection::make(block, description().space.dims);
}

Status VirtualReader::for_each_piece(const VisitPiece& visit, RequestBudget& budget) const {
  for (const Mappings::Entry& entry : mappings_.entries()) {
    const Part* const kept = mappings_.kept_part(entry);
    if (kept == nullptr) {
      H5_ASSIGN(const Part part, mappings_.unpack(entry, description().space.dims));
      H5_TRY(visit(part.mapping.file, part.mapping.dataset, *part.view, part.mapping.source, {}));
    } else if (!kept->numbered) {
      std::optional<ElementSelection::Clip> clip;
      if (kept->source_unlimited) clip = {*kept->source_unlimited, kept->slices};
      H5_TRY(visit(kept->mapping.file, kept->mapping.dataset, *kept->view, kept->mapping.source, clip));
    } else {
      for (std::uint64_t i = 0; kept->view_unlimited && i < kept->blocks; ++i) {
        H5_TRY(budget.spend(limits::kStepsPerSourceRead));
        H5_ASSIGN(const auto block, block_of(*kept, i));
        H5_TRY(visit(numbered_name(kept->mapping.file, i), numbered_name(kept->mapping.dataset, i), block,
                     kept->mapping.source, {}));
      }
    }
  }
  return {};
}

Result<bool> VirtualReader::same_elements(const VirtualSources::Source& source) const {
  const object::DatasetDescription& from = source.reader->description();
  if (from.element_size != description().element_size) return false;
  const auto conversion = TypeConversion::make(from.type, description().type, heap_move(source));
  if (!conversion && conversion.error().code() != ErrorCode::UnsupportedFeature)
    return fail(conversion.error());
  return conversion && (*conversion)->identity();
}

Status VirtualReader::use_source(const std::string& file, const std::string& dataset, RequestBudget& budget,
                                 const std::function<Status(const DatasetReader&)>& use) const {
  return read_source(file, dataset, budget, [&](const auto& source) { return use(*source.reader); });
}

Status VirtualReader::read_numbered(const Part& part, std::uint64_t first, std::uint64_t count,
                                    MutableByteSpan out, RequestBudget& budget) const {
  if (!part.view_unlimited || part.blocks == 0) return {};
  const auto& dims = description().space.dims;
  const std::size_t d = *part.view_unlimited;
  // The blocks that can intersect the range: all, or only those of its rows if the numbered dimension is the
  // slowest.
  std::uint64_t begin = 0, end = part.blocks;
  const format::Selection& view = part.mapping.view;
  if (d == 0 && view.stride[0] > 0) {
    std::uint64_t row = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) row *= dims[i];
    const std::uint64_t low = first / row, high = (first + count - 1) / row;
    if (high < view.start[0]) return {};
    end = std::min(end, (high - view.start[0]) / view.stride[0] + 1);
    if (low > view.start[0]) begin = std::min(end, (low - view.start[0]) / view.stride[0]);
  }
  for (std::uint64_t i = begin; i < end; ++i) {
    H5_ASSIGN(const auto selected, block_of(part, i));
    H5_TRY(read_source(numbered_name(part.mapping.file, i), numbered_name(part.mapping.dataset, i), budget,
                       [&](const auto& source) {
                         return copy_from(source, part.mapping.source, {}, selected, first, count, out,
                                          budget);
                       }));
  }
  return {};
}

HeapMove VirtualReader::heap_move(const VirtualSources::Source& source) const {
  if (!description().type->has_variable_part) return {};
  const metadata::FileMetadataPtr from = source.file->snapshot(), to = file_->snapshot();
  std::string name = fmt::format("{}:{}", source.file->path, fmt::join(source.way, ":"));
  return {.from_sizes = from->sizes(),
          .to_sizes = to->sizes(),
          .from_heaps = from->foreign_heaps(),
          .to_heaps = to->foreign_heaps(),
          .same_file = source.file->followed == file_->followed,
          .name = std::move(name),
          .open = sources_->opener_of(source)};
}

Status VirtualReader::copy_from(const VirtualSources::Source& source, const format::Selection& selection,
                                std::optional<ElementSelection::Clip> clip, const ElementSelection& view,
                                std::uint64_t first, std::uint64_t count, MutableByteSpan out,
                                RequestBudget& budget) const {
  const DatasetReader& reader = *source.reader;
  H5_ASSIGN(const auto selected, ElementSelection::make(selection, reader.description().space.dims, clip));
  const auto made = TypeConversion::make(reader.description().type, description().type, heap_move(source));
  if (!made && made.error().code() == ErrorCode::UnsupportedFeature)
    return fail(Error(ErrorCode::UnsupportedFeature, "VirtualMapping", "datatype", description().address)
                    .with_detail(made.error().text()));
  if (!made) return fail(made.error());
  const TypeConversion& conversion = **made;
  const std::uint64_t from_size = reader.description().element_size, to_size = description().element_size;
  Status status;
  std::vector<std::byte> aside;
  view.for_each_in_range(
      first, first + count, [&](std::uint64_t linear, std::uint64_t n, std::uint64_t ordinal) {
        std::byte* to = out.data() + (linear - first) * to_size;
        return selected.for_each_ordinal(ordinal, ordinal + n, [&](std::uint64_t at, std::uint64_t run) {
          const MutableByteSpan place(to, static_cast<std::size_t>(run * to_size));
          to += run * to_size;
          status = budget.spend(limits::kStepsPerSourceRead);
          if (!status) return false;
          if (conversion.identity()) {
            status = reader.read_into(at * from_size, place, budget);
            return status.has_value();
          }
          aside.resize(static_cast<std::size_t>(run * from_size));
          status = reader.read_into(at * from_size, aside, budget);
          if (status) status = conversion.convert(static_cast<std::size_t>(run), aside, place);
          return status.has_value();
        });
      });
  return status;
}

// ---- the named sources

NamedFile VirtualReader::named_source(const Mappings::Entry& entry, RequestBudget& budget) const {
  NamedFile named{.file = mappings_.file(entry), .dataset = mappings_.dataset(entry)};
  const Part* const part = mappings_.kept_part(entry);
  if (part != nullptr && part->numbered) {
    if (part->problem) named = NamedFile::of(named.file, named.dataset, *part->problem);
    if (!part->problem && part->found == 0) named.state = NamedFile::State::Missing;
    named.numbered = part->found;
    return named;
  }
  const auto source = sources_->get(named.file, named.dataset, budget);
  const std::optional<Error>& why = source->error ? source->error : source->absent;
  return why ? NamedFile::of(named.file, named.dataset, *why) : named;
}

NamedSources VirtualReader::named_sources(std::size_t most, RequestBudget& budget) const {
  NamedSources out;
  std::set<std::pair<std::string_view, std::string_view>> named;
  for (const Mappings::Entry& entry : mappings_.entries()) {
    if (!named.emplace(mappings_.file(entry), mappings_.dataset(entry)).second) continue;
    if (out.list.size() < most)
      out.list.push_back(named_source(entry, budget));
    else
      ++out.left_out;
  }
  return out;
}

// Elements that no mapping covers are unwritten. Whether others are only their source knows, which is not
// asked.
Result<WrittenRun> VirtualReader::written_run(std::uint64_t offset, RequestBudget& budget) const {
  const std::uint64_t e = description().element_size, at = offset / e;
  H5_TRY(budget.spend(mappings_.entries().size()));
  std::uint64_t covered = at, next = size() / e;
  for (const Mappings::Entry& entry : mappings_.entries()) {
    if (const Part* const kept = mappings_.kept_part(entry); kept != nullptr && kept->numbered)
      return WrittenRun{size(), true};
    if (entry.row_begin <= covered)
      covered = std::max(covered, entry.row_end);
    else
      next = std::min(next, entry.row_begin);
  }
  if (covered > at) return WrittenRun{std::min(covered, size() / e) * e, true};
  return WrittenRun{next * e, false};
}

}  // namespace h5mount::dataset
