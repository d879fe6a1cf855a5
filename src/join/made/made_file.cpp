#include "h5mount/join/made_file.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>
#include <unordered_map>

#include "made_layout.h"
#include "made_segment.h"
#include "made_types.h"

namespace h5mount::join {
namespace {

using format::MessageType;
using format::NewMessage;

// The bytes of a continuation of a header, about: what one of libhdf5's caches of metadata holds easily.
constexpr std::size_t kContinuationBytes = 256U << 10;
constexpr std::uint64_t kSuperblockBytes = 48;

NewMessage message_of(MessageType type, std::vector<std::byte> body) {
  return {static_cast<std::uint8_t>(type), 0, 0, std::move(body)};
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

class FileMaker {
 public:
  FileMaker(const std::vector<MadeObject>& objects, RequestBudget& budget)
      : objects_(objects), budget_(budget) {}

  // Finds the members of groups.
  Status prepare() {
    if (objects_.empty() || !objects_.front().path.empty()) return fail(bad("no root"));
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (!number_.emplace(objects_[i].path, i).second) return fail(bad("two objects of one path"));
    members_.resize(objects_.size());
    for (std::size_t i = 1; i < objects_.size(); ++i) {
      const auto parent = number_.find(parent_of(objects_[i].path));
      if (parent == number_.end() || objects_[parent->second].kind != MadeObject::Kind::Group)
        return fail(bad("no group for /" + objects_[i].path));
      members_[parent->second].push_back(i);
    }
    addresses_.resize(objects_.size());
    return budget_.spend(64 * objects_.size());
  }

  bool is_stored(std::size_t i) const { return objects_[i].kind != MadeObject::Kind::SoftLink; }
  void place(std::size_t i, std::uint64_t address) { addresses_[i] = address; }
  std::uint64_t address(std::size_t i) const { return addresses_[i]; }

  // The object's bytes. Their number does not depend on addresses.
  Result<std::vector<std::byte>> encode(std::size_t i) {
    auto bytes = encode_object(i);
    if (!bytes) return fail(bytes.error().within("/" + objects_[i].path));
    return bytes;
  }

  std::vector<std::byte> superblock(std::uint64_t end) const {
    format::Superblock block;
    block.end_of_file = end;
    block.root_address = addresses_[0];
    return format::encode_superblock(block, 3);
  }

 private:
  static Error bad(const std::string& why) { return {ErrorCode::Internal, "objects of a made file: " + why}; }

  std::uint64_t address_of(std::string_view path) const {
    const auto found = number_.find(path);
    return found == number_.end() || !is_stored(found->second) ? 0 : addresses_[found->second];
  }

  Result<std::vector<std::byte>> encode_object(std::size_t i) {
    const MadeObject& object = objects_[i];
    const AddressOf address_of = [this](std::string_view path) { return this->address_of(path); };
    const bool more = !object.attributes.empty() || !members_[i].empty();
    H5_ASSIGN(std::vector<NewMessage> first, first_messages(object));
    const bool is_dataset = object.kind == MadeObject::Kind::Dataset;
    if (is_dataset) {
      H5_ASSIGN(NewMessage layout, encode_layout(object, nullptr, address_of));
      first.push_back(std::move(layout));
    }
    if (more) first.push_back(format::encode_continuation_message(0, 0, {}));
    H5_TRY(check_messages(first));
    MadeSegment segment(addresses_[i], format::encode_header(first).size(), budget_);
    if (is_dataset) {
      H5_ASSIGN(first[first.size() - (more ? 2 : 1)], encode_layout(object, &segment, address_of));
    }
    if (more) {
      H5_ASSIGN(first.back(), continue_header(i, segment, address_of));
    }
    return segment.finish(format::encode_header(first));
  }

  static Status check_messages(std::span<const NewMessage> messages) {
    for (const NewMessage& message : messages)
      if (message.body.size() > 0xFFFF)
        return fail(Error(ErrorCode::TooLarge, "more than a header message can hold"));
    return {};
  }

  // Those that tell what the object is.
  static Result<std::vector<NewMessage>> first_messages(const MadeObject& object) {
    std::vector<NewMessage> out;
    if (object.kind == MadeObject::Kind::Group) {
      out.push_back(format::encode_link_info(false, false, {}));
      return out;
    }
    if (object.kind == MadeObject::Kind::Dataset)
      out.push_back(message_of(MessageType::Dataspace, format::encode_dataspace(object.space)));
    H5_ASSIGN(std::vector<std::byte> type, format::encode_datatype(*object.type));
    out.push_back(message_of(MessageType::Datatype, std::move(type)));
    if (object.kind == MadeObject::Kind::Datatype) return out;
    out.push_back(
        message_of(MessageType::FillValue, format::encode_fill_value(object.fill, allocation_time(object))));
    if (object.pipeline.filters.empty() || !has_chunks(object)) return out;
    H5_ASSIGN(std::vector<std::byte> pipeline, format::encode_filter_pipeline(object.pipeline));
    out.push_back(message_of(MessageType::FilterPipeline, std::move(pipeline)));
    return out;
  }

  Result<NewMessage> continue_header(std::size_t i, MadeSegment& segment, const AddressOf& address_of) {
    H5_ASSIGN(std::vector<NewMessage> messages,
              encode_attributes(objects_[i].attributes, segment, address_of));
    const std::vector<format::Link> links = links_of(i);
    std::vector<NewMessage> linking = format::encode_links(links, false, false, {});
    std::ranges::move(linking.begin() + 1, linking.end(), std::back_inserter(messages));
    return append_continuations(messages, segment);
  }

  std::vector<format::Link> links_of(std::size_t i) const {
    std::vector<format::Link> links;
    for (const std::size_t member : members_[i]) {
      const MadeObject& object = objects_[member];
      format::Link link;
      link.name = object.path.substr(object.path.rfind('/') + 1);
      link.charset = charset_of(link.name);
      link.type =
          static_cast<std::uint8_t>(is_stored(member) ? format::LinkType::Hard : format::LinkType::Soft);
      link.address = addresses_[member];
      link.target = object.target;
      links.push_back(std::move(link));
    }
    return links;
  }

  // Puts the messages into blocks one behind the other, each of which leads to the next.
  static Result<NewMessage> append_continuations(std::span<const NewMessage> messages, MadeSegment& segment) {
    H5_TRY(check_messages(messages));
    std::vector<std::span<const NewMessage>> parts;
    std::size_t begin = 0, bytes = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      bytes += messages[i].body.size();
      if (bytes < kContinuationBytes) continue;
      parts.push_back(messages.subspan(begin, i + 1 - begin));
      begin = i + 1;
      bytes = 0;
    }
    if (begin < messages.size() || parts.empty()) parts.push_back(messages.subspan(begin));
    NewMessage leading;
    for (const std::span<const NewMessage> part : parts | std::views::reverse) {
      std::vector<NewMessage> whole(part.begin(), part.end());
      if (!leading.body.empty()) whole.push_back(std::move(leading));
      const std::vector<std::byte> block = format::encode_continuation(2, 0, whole);
      H5_ASSIGN(const std::uint64_t address, segment.append(block));
      leading = format::encode_continuation_message(address, block.size(), {});
    }
    return leading;
  }

  const std::vector<MadeObject>& objects_;
  RequestBudget& budget_;
  std::unordered_map<std::string_view, std::size_t> number_;  // by path
  std::vector<std::vector<std::size_t>> members_;             // of groups
  std::vector<std::uint64_t> addresses_;
};

}  // namespace

Result<SparseImage> make_sparse_image(const std::vector<MadeObject>& objects, const PlaceOf& place_of,
                                      RequestBudget& budget) {
  constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << (62 - kPlaceBits);
  FileMaker maker(objects, budget);
  H5_TRY(maker.prepare());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!maker.is_stored(i)) continue;
    const std::uint64_t place = place_of(objects[i].path);
    if (place >= kMostPlaces) return fail(Error(ErrorCode::TooLarge, "too many objects of a joined file"));
    maker.place(i, place_address(place));
  }
  SparseImage image;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!maker.is_stored(i)) continue;
    H5_ASSIGN(std::vector<std::byte> bytes, maker.encode(i));
    image.segments.push_back({maker.address(i), std::move(bytes)});
  }
  std::ranges::sort(image.segments, {}, &SparseImage::Segment::address);
  if (std::ranges::adjacent_find(image.segments, {}, &SparseImage::Segment::address) != image.segments.end())
    return fail(Error(ErrorCode::Internal, "two objects of a joined file have one place"));
  image.end = image.segments.back().address + image.segments.back().bytes.size();
  image.segments.insert(image.segments.begin(), {0, maker.superblock(image.end)});
  return image;
}

Result<std::vector<std::byte>> make_file(const std::vector<MadeObject>& objects, RequestBudget& budget) {
  FileMaker maker(objects, budget);
  H5_TRY(maker.prepare());
  // Sizes do not depend on addresses: the first pass finds the sizes.
  std::uint64_t end = kSuperblockBytes;
  std::vector<std::uint64_t> addresses(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!maker.is_stored(i)) continue;
    H5_ASSIGN(const std::vector<std::byte> bytes, maker.encode(i));
    addresses[i] = end;
    end += (bytes.size() + 7) / 8 * 8;
  }
  for (std::size_t i = 0; i < objects.size(); ++i) maker.place(i, addresses[i]);
  std::vector<std::byte> out = maker.superblock(end);
  out.reserve(static_cast<std::size_t>(end));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!maker.is_stored(i)) continue;
    H5_ASSIGN(const std::vector<std::byte> bytes, maker.encode(i));
    out.insert(out.end(), bytes.begin(), bytes.end());
    out.resize((out.size() + 7) / 8 * 8);
  }
  return out;
}

}  // namespace h5mount::join
