#include "survey.h"

#include <algorithm>

#include "claiming_metadata.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/filter_ids.h"
#include "h5mount/metadata/global_heap.h"

namespace h5mount::salvage {
namespace {

// Objects may claim this many times the file's bytes together: a file in which they claim more is hostile,
// and no more of it is looked at.
constexpr std::uint64_t kMaxClaimedTimes = 8;
// Many objects may also share an index or a list of links, which is followed for each of them: no more bytes
// of indexes are read than this many times the file's and kReadAnyway, and no more links followed than bytes
// in the file let it have, and kLinksAnyway.
constexpr std::uint64_t kMaxReadTimes = 16;
constexpr std::uint64_t kReadAnyway = 64U << 20;
constexpr std::uint64_t kLinksAnyway = 1U << 17;
constexpr std::uint64_t kMinLinkBytes = 8;

}  // namespace

Result<chunk::ChunkGeometry> geometry_of(const object::DatasetDescription& description) {
  return chunk::ChunkGeometry::make(description.space, description.layout,
                                    !description.pipeline.filters.empty());
}

bool has_filter(const object::DatasetDescription& description, std::uint16_t id) {
  const auto& filters = description.pipeline.filters;
  return std::ranges::find(filters, id, &format::FilterDescription::id) != filters.end();
}

bool is_contiguous(const object::DatasetDescription& description) {
  return description.layout.cls == format::LayoutClass::Contiguous &&
         description.layout.address != format::kUndefinedAddress && description.external.empty();
}

std::optional<std::uint64_t> chunk_count(const chunk::ChunkGeometry& geometry, std::uint64_t limit) {
  std::uint64_t count = 1;
  for (const std::uint64_t chunks : geometry.grid) {
    const auto product = checked_mul(count, chunks);
    if (!product || *product > limit) return std::nullopt;
    count = *product;
  }
  return count;
}

Survey::Survey(metadata::FileMetadataPtr file, std::uint64_t end, UsedRanges& used, const UsedRanges* foreign,
               const Options& options, UsedByData* data)
    : file_(std::make_shared<ClaimingMetadata>(std::move(file), used, read_)),
      end_(end),
      links_left_(kLinksAnyway + end / kMinLinkBytes),
      used_(used),
      foreign_(foreign),
      data_(data),
      options_(options) {}

void Survey::read_through(const metadata::FileMetadataPtr& file) {
  file_ = std::make_shared<ClaimingMetadata>(file, used_, read_);
}

void Survey::walk(std::uint64_t root) {
  pending_.push_back(root);
  while (!pending_.empty() && go_on()) {
    const std::uint64_t address = pending_.front();
    pending_.pop_front();
    visit(address);
  }
}

bool Survey::go_on() {
  constexpr std::uint64_t kAskedEvery = 1024;
  if (!stopped_ && ++steps_ % kAskedEvery == 0 && options_.progress) stopped_ = !options_.progress(0, 0);
  return !stopped_;
}

void Survey::visit(std::uint64_t address) {
  if (out_.reached.contains(address) || (others_ != nullptr && others_->reached.contains(address))) return;
  if (out_.reached.size() >= limits::kMaxWalkedObjects) {
    full_ = true;
    return;
  }
  const auto opened = object::open_object(*file_, address);
  if (!opened) {
    out_.unreadable.push_back(address);
    return;
  }
  out_.reached.add(address, static_cast<std::uint8_t>(opened->kind));
  if (opened->kind == object::ObjectKind::Group) visit_group(*opened);
  if (opened->kind == object::ObjectKind::Dataset) visit_dataset(*opened);
  read_attributes(*opened);
}

void Survey::visit_group(const object::Object& object) {
  std::vector<format::Link> links;
  std::optional<Error> damage = object.header->damage;
  bool misnamed = false;
  const auto note = [&](const Error& error) {
    if (!damage) damage = error;
    misnamed = misnamed || error.field() == "link_name";
  };
  const auto group = object::Group::open(file_, object);
  if (!group) {
    note(group.error());
  } else {
    const Status listed = (*group)->for_each(
        [&](const format::Link& link) {
          full_ = full_ || links_left_ == 0;
          if (full_) return false;
          --links_left_;
          links.push_back(link);
          return true;
        },
        note);
    if (!listed) note(listed.error());
  }
  for (const format::Link& link : links) {
    if (!link.is(format::LinkType::Hard)) continue;
    if (out_.links_in.add(link.address)) pending_.push_back(link.address);
    if (misnamed) out_.misnamed.push_back(link.address);
  }
  if (damage) out_.groups.push_back({object, std::move(links), *damage});
}

// Notes the bytes as used. Returns false if they are not all in the file, or if something else claims them
// (`foreign`).
bool Survey::claim(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return true;
  if (!range_within(address, bytes, end_)) return false;
  claimed_ += bytes;
  if (claimed_ <= kMaxClaimedTimes * end_) used_.add(address, bytes);
  return foreign_ == nullptr || !foreign_->touches(address, address + bytes);
}

// The same for data that are in one piece.
bool Survey::claim_data(std::uint64_t address, std::uint64_t bytes) {
  const bool whole = claim(address, bytes);
  if (data_ != nullptr && address < end_ && range_within(address, bytes, data_->end) &&
      claimed_ <= kMaxClaimedTimes * end_)
    data_->ranges.add(address, std::min(bytes, end_ - address));
  return whole;
}

void Survey::visit_dataset(const object::Object& object) {
  auto description = object::describe_dataset(*file_, object);
  if (!description) return;
  std::optional<Error> damage;
  bool whole = true;
  const format::DataLayout& layout = description->layout;
  if (is_contiguous(*description)) whole = claim_data(layout.address, description->image_bytes);
  if (layout.cls == format::LayoutClass::Chunked) {
    read_ = index_read_;  // what was read of other structures does not count
    whole = claim_chunks(object, *description, damage);
    index_read_ = read_;
  }
  if (layout.cls == format::LayoutClass::Virtual && layout.virtual_heap_address != format::kUndefinedAddress)
    (void)metadata::load_global_heap_object(*file_, layout.virtual_heap_address, layout.virtual_heap_index);
  const bool tree =
      layout.index == format::ChunkIndexKind::BTree1 || layout.index == format::ChunkIndexKind::BTree2;
  if (!whole || damage) out_.datasets.push_back({object.address, damage.has_value(), tree});
  if (layout.cls == format::LayoutClass::Chunked && has_filter(*description, format::kFletcher32))
    out_.summed.push_back(object.address);
}

bool Survey::may_claim() const {
  return claimed_ <= kMaxClaimedTimes * end_ && read_ <= kReadAnyway + kMaxReadTimes * end_;
}

bool Survey::claim_chunks(const object::Object& object, const object::DatasetDescription& description,
                          std::optional<Error>& damage) {
  const auto geometry = geometry_of(description);
  if (!geometry || !may_claim()) return true;
  const auto index = chunk::open_chunk_index(file_, description.layout, *geometry);
  if (!index) {
    damage = index.error();
    return true;
  }
  if (description.layout.index == format::ChunkIndexKind::Implicit) {
    const auto count =
        chunk_count(*geometry, ~std::uint64_t{0} / std::max<std::uint64_t>(geometry->chunk_bytes, 1));
    return !count || claim_data(description.layout.address, *count * geometry->chunk_bytes);
  }
  bool whole = true;
  UsedRanges chunks;
  const Status walked =
      (*index)->for_each([&](std::span<const std::uint64_t>, const chunk::ChunkRecord& record) {
        const std::uint64_t address = record.address, bytes = record.stored_size;
        if (range_within(address, bytes, end_)) chunks.add(address, bytes);
        whole = claim(address, bytes) && whole;
        return may_claim() && go_on();
      });
  if (!walked) damage = walked.error();
  chunks.settle();
  if (chunks.overlap()) out_.overlapping.push_back(object.address);
  if (data_ != nullptr && claimed_ <= kMaxClaimedTimes * end_) data_->ranges.add(chunks, end_);
  return whole;
}

// Reads the attributes only to claim their space: dense attributes have a heap and trees.
void Survey::read_attributes(const object::Object& object) {
  if (object.header->find(format::MessageType::AttributeInfo) == nullptr) return;
  (void)object::for_each_attribute(
      *file_, object, [](const object::Attribute&) { return true; }, [](const Error&) {},
      object::AttributeDetail::Name);
}

}  // namespace h5mount::salvage
