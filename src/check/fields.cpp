#include "fields.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "structures.h"

namespace h5mount::check {

std::uint64_t Fields::met(std::uint64_t value, std::uint64_t bytes) {
  if (ok() && !copy_ && context_.fields != nullptr)
    context_.fields->field(cursor_.structure(), last().name, last().offset, bytes);
  return value;
}

ByteSpan Fields::bytes(std::uint64_t count, std::string_view name) {
  const ByteSpan out = cursor_.bytes(static_cast<std::size_t>(count), name);
  if (!out.empty()) met(0, count);
  return out;
}

void Fields::zeros(std::size_t count, std::string_view name) {
  const ByteSpan found = bytes(count, name);
  const auto other = std::ranges::find_if(found, [](std::byte one) { return one != std::byte{0}; });
  if (other == found.end()) return;
  format::Field field = last();
  field.value = std::to_integer<std::uint64_t>(*other);
  want_equal(0, field, "these bytes are reserved");
}

std::string_view Fields::c_string(std::string_view name) {
  const std::string_view text = cursor_.c_string(name);
  met(0, text.size() + 1);
  return text;
}

void Fields::checksum() {
  const std::uint64_t at = here();
  (void)u32("checksum");
  if (ok() && !copy_ && context_.fields != nullptr) context_.fields->sealed(begin_, at, at);
}

void Fields::checksum_of_block(std::uint64_t bytes) {
  const std::uint64_t at = here();
  (void)u32("checksum");
  if (ok() && !copy_ && context_.fields != nullptr) context_.fields->sealed(begin_, begin_ + bytes, at);
}

Fields Fields::part(std::uint64_t count, std::string_view structure) {
  Fields out(context_, place_, cursor_.part(static_cast<std::size_t>(count), "part", structure));
  if (copy_) out.is_copy();
  return out;
}

bool Fields::want(bool condition, const format::Field& field, std::string_view why) {
  if (!ok() || condition) return condition;
  context_.disagrees(place_, Error(ErrorCode::InvalidValue, structure(), field.name, field.offset)
                                 .with_found(field.value)
                                 .with_detail(std::string(why)));
  return false;
}

bool Fields::want_equal(std::uint64_t expected, const format::Field& field, std::string_view why) {
  if (!ok() || field.value == expected) return field.value == expected;
  context_.disagrees(place_, Error(ErrorCode::InvalidValue, structure(), field.name, field.offset)
                                 .with_found(field.value)
                                 .with_expected(expected)
                                 .with_detail(std::string(why)));
  return false;
}

bool Fields::want_stored(const format::Field& field, std::uint64_t bytes, std::string_view why) {
  if (field.value == format::kUndefinedAddress) return true;
  return want(range_within(field.value, bytes, context_.stored_end), field, why);
}

void LargestOrder::take(const Fields& record, const format::Field& order) {
  ++count_;
  if (!most_ || order.value <= most_->value) return;
  if (++above_count_ == 1) above_.emplace(record, order);
}

void LargestOrder::finish() {
  if (!above_) return;
  auto& [record, order] = *above_;
  if (above_count_ == 1 && count_ > 1) {
    record.want(false, order, "is above the largest of the object");
    return;
  }
  record.context().disagrees(record.place(), Error(ErrorCode::InvalidValue, "AttributeInfoMessage",
                                                   "max_creation_index", most_->offset)
                                                 .with_found(most_->value)
                                                 .with_expected(order.value)
                                                 .with_detail("attributes of the object have larger ones"));
}

std::optional<metadata::MetadataBlock> take_structure(const Context& context, std::uint64_t address,
                                                      std::uint64_t bytes, std::string_view structure) {
  if (address == format::kUndefinedAddress || bytes > limits::kMaxNodeBytes || !context.tally.go_on())
    return std::nullopt;
  if (!context.structures.enter(address, bytes)) return std::nullopt;
  auto block = context.metadata->read_up_to(address, bytes, structure);
  if (!block || block->bytes().size() < bytes) return std::nullopt;
  return *std::move(block);
}

}  // namespace h5mount::check
