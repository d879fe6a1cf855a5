#include "h5mount/metadata/object_header.h"

#include <algorithm>
#include <deque>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/object_header_format.h"

namespace h5mount::metadata {
namespace {

constexpr std::string_view kHeader = structures::kObjectHeader;
constexpr std::string_view kContinuation = structures::kObjectHeaderContinuation;
constexpr std::string_view kContinuationMessage = structures::kObjectHeaderContinuationMessage;
constexpr std::uint64_t kFirstRead = 512;  // holds most headers whole; every read loads a whole window anyway

class HeaderLoader {
 public:
  HeaderLoader(const FileMetadata& file, std::uint64_t address)
      : file_(file), header_(std::make_shared<ObjectHeader>()) {
    header_->address = address;
  }

  Result<std::shared_ptr<const ObjectHeader>> load() {
    H5_TRY(load_chunk_0());
    while (!pending_.empty()) {
      const format::HeaderContinuation next = pending_.front();
      pending_.pop_front();
      if (auto loaded = load_continuation(next); !loaded)
        note_damage(loaded.error().within(kContinuation, file_.base_address() + next.address.value));
    }
    check_count();
    return header_;
  }

 private:
  struct Extent {
    std::uint64_t address, length;
  };

  // Checks the number of messages. Version 1 has no checksums: a size that was decreased by damage is
  // detected only by missing messages.
  void check_count() {
    if (prefix_.version != 1 || message_count_ >= prefix_.message_count) return;
    note_damage(
        Error(ErrorCode::InvalidValue, kHeader, "message_count", file_.base_address() + header_->address + 2)
            .with_found(message_count_)
            .with_expected(prefix_.message_count)
            .with_detail("messages are missing"));
  }

  // Keeps the first of several errors.
  void note_damage(Error error) {
    if (!header_->damage) header_->damage = std::move(error);
  }

  Status load_chunk_0() {
    const std::uint64_t address = header_->address;
    H5_ASSIGN(MetadataBlock block, file_.read_up_to(address, kFirstRead, kHeader));
    format::Cursor cursor = block.cursor(kHeader);
    H5_ASSIGN(prefix_, format::decode_object_header_prefix(cursor));
    total_bytes_ = prefix_.chunk0_bytes;
    take_prefix();
    const std::uint64_t whole = prefix_.prefix_bytes + prefix_.chunk0_bytes + checksum_bytes();
    file_.covers(address, whole);
    if (whole > block.bytes().size()) {
      H5_ASSIGN(block, file_.read(address, whole, kHeader));
    }
    chunks_.push_back({address, whole});
    return absorb(std::move(block), static_cast<std::size_t>(whole), prefix_.prefix_bytes, kHeader);
  }

  void take_prefix() {
    header_->version = prefix_.version;
    header_->flags = prefix_.flags;
    header_->reference_count = prefix_.reference_count;
    header_->modification_time = prefix_.modification_time;
  }

  std::size_t checksum_bytes() const { return format::header_checksum_bytes(prefix_.version); }

  // Checks a continuation against those before it. Errors have the offset of the continuation message.
  Status check_continuation(const format::HeaderContinuation& next) {
    const auto refused = [](ErrorCode code, const format::Field& field) {
      return Error(code, kContinuationMessage, field.name, field.offset).with_found(field.value);
    };
    const std::uint64_t address = next.address.value, length = next.length.value;
    if (chunks_.size() >= limits::kMaxHeaderChunks)
      return fail(
          refused(ErrorCode::LimitExceeded, next.address).with_detail("too many parts of one header"));
    for (const Extent& chunk : chunks_)
      if (address < chunk.address + chunk.length && chunk.address - std::min(chunk.address, address) < length)
        return fail(
            refused(ErrorCode::Cycle, next.address).with_detail("overlaps another part of the header"));
    total_bytes_ = checked_add(total_bytes_, length).value_or(~std::uint64_t{0});
    if (total_bytes_ > limits::kMaxHeaderBytes)
      return fail(refused(ErrorCode::LimitExceeded, next.length)
                      .with_expected(limits::kMaxHeaderBytes)
                      .with_detail("all parts of the header together"));
    return {};
  }

  Status load_continuation(const format::HeaderContinuation& next) {
    H5_TRY(check_continuation(next));
    const std::uint64_t address = next.address.value, length = next.length.value;
    H5_ASSIGN(MetadataBlock block, file_.read(address, length, kContinuation));
    chunks_.push_back({address, length});
    format::Cursor cursor = block.cursor(kContinuation);
    if (prefix_.version != 1 && !cursor.signature("OCHK")) return cursor.finish();
    return absorb(std::move(block), static_cast<std::size_t>(length), cursor.position(), kContinuation);
  }

  // Takes the messages of a chunk, which is the first `length` bytes of `block`. A wrong checksum of the
  // chunk is an error; messages that exceed its end are noted as damage.
  Status absorb(MetadataBlock&& read, std::size_t length, std::size_t start, std::string_view name) {
    const auto block = std::make_shared<const MetadataBlock>(std::move(read));
    header_->storage.push_back(block);
    const ByteSpan chunk = block->bytes().first(length);
    const std::size_t end = length - checksum_bytes();
    if (prefix_.version != 1) {
      format::Cursor checked(chunk, block->file_offset(), name, file_.sizes());
      checked.seek(end);
      checked.checksum();
      H5_TRY(checked.finish());
    }
    format::Cursor chunk_cursor(chunk, block->file_offset(), name, file_.sizes());
    chunk_cursor.seek(start);
    format::Cursor cursor = chunk_cursor.part(end - start, "messages");
    auto walked = format::for_each_raw_message(
        cursor, prefix_, [this](const format::RawMessage& raw) { return take_message(raw); });
    if (!walked) note_damage(walked.error());
    return {};
  }

  Status take_message(const format::RawMessage& raw) {
    HeaderMessage message{.type = static_cast<format::MessageType>(raw.type),
                          .flags = raw.flags,
                          .creation_order = raw.creation_order,
                          .body = raw.body,
                          .offset = raw.offset,
                          .sizes = file_.sizes(),
                          .owner = {}};
    ++message_count_;
    if (message.type == format::MessageType::Nil) return {};
    if (message.type == format::MessageType::ObjectHeaderContinuation) return take_continuation(message);
    if (header_->messages.size() >= limits::kMaxHeaderMessages)
      return fail(Error(ErrorCode::LimitExceeded, kHeader, "message.type", raw.type_offset)
                      .with_expected(limits::kMaxHeaderMessages)
                      .with_detail("too many messages"));
    if (format::must_be_understood(raw.type, raw.flags))
      note_unsupported(Error(ErrorCode::UnsupportedFeature, kHeader, "message.type", raw.type_offset)
                           .with_found(raw.type)
                           .with_detail("unknown message that a reader must understand"));
    else if (raw.type > 0xFF)
      note_damage(Error(ErrorCode::InvalidValue, kHeader, "message.type", raw.type_offset)
                      .with_found(raw.type)
                      .with_detail("no message has such a type, as one byte holds all in newer headers"));
    if (message.type == format::MessageType::ObjectReferenceCount && prefix_.version != 1 &&
        !message.is_shared()) {
      format::Cursor cursor = message.cursor("ObjectReferenceCountMessage");
      if (auto count = format::decode_reference_count(cursor))
        header_->reference_count = *count;
      else if (count.error().code() == ErrorCode::UnsupportedVersion)
        note_unsupported(count.error());
    }
    header_->messages.push_back(std::move(message));
    return {};
  }

  void note_unsupported(Error error) {
    if (!header_->unsupported) header_->unsupported = std::move(error);
  }

  // Notes the next chunk. If the continuation message is damaged, its chunk is missing; the messages after it
  // are not affected.
  Status take_continuation(const HeaderMessage& message) {
    format::Cursor cursor = message.cursor(kContinuationMessage);
    auto next = format::decode_header_continuation(cursor, prefix_.version);
    if (!next)
      note_damage(next.error());
    else if (pending_.size() < limits::kMaxHeaderChunks)
      pending_.push_back(*next);
    else
      note_damage(Error(ErrorCode::LimitExceeded, kHeader, "continuations", message.offset));
    return {};
  }

  const FileMetadata& file_;
  std::shared_ptr<ObjectHeader> header_;
  format::ObjectHeaderPrefix prefix_;
  std::vector<Extent> chunks_;
  std::deque<format::HeaderContinuation> pending_;
  std::uint64_t total_bytes_ = 0;
  std::size_t message_count_ = 0;
};

}  // namespace

const HeaderMessage* ObjectHeader::find(format::MessageType type) const {
  const auto found = std::ranges::find(messages, type, &HeaderMessage::type);
  return found == messages.end() ? nullptr : &*found;
}

Result<std::shared_ptr<const ObjectHeader>> load_object_header(const FileMetadata& file,
                                                               std::uint64_t address) {
  return HeaderLoader(file, address).load();
}

}  // namespace h5mount::metadata
