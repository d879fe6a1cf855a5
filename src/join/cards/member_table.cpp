#include "member_table.h"

#include <algorithm>

#include "card_codec.h"
#include "digests.h"

namespace h5mount::join {

namespace {

std::uint64_t key_of(ByteSpan bytes) {
  Hasher out;
  out.add(as_text(bytes));
  return out.digest().low;
}

}  // namespace

MemberCardPtr MemberTable::find(ByteSpan bytes) {
  MemberCardPtr out;
  {
    const MutexLock lock(mutex_);
    const auto found = members_.find(key_of(bytes));
    if (found != members_.end()) out = found->second.lock();
  }
  // Another one can have the same hash.
  if (out && !std::ranges::equal(encode_member(*out), bytes)) return nullptr;
  return out;
}

MemberCardPtr MemberTable::keep(MemberCard member, ByteSpan bytes) {
  if (MemberCardPtr known = find(bytes)) return known;
  auto out = std::make_shared<const MemberCard>(std::move(member));
  const MutexLock lock(mutex_);
  members_.insert_or_assign(key_of(bytes), out);
  if (members_.size() >= sweep_at_) {
    std::erase_if(members_, [](const auto& one) { return one.second.expired(); });
    sweep_at_ = std::max<std::size_t>(2 * members_.size(), 1024);
  }
  return out;
}

}  // namespace h5mount::join
