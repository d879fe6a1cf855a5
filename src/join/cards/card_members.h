// Cards of members as headers and attributes say them; of elements nothing. Threads: one.
#pragma once

#include <vector>

#include "digests.h"
#include "file_walk.h"
#include "h5mount/dataset/open_dataset.h"

namespace h5mount::join {

// One file of which a card is made.
struct CardSource {
  const dataset::ReadEnvironment& environment;
  object::OpenedFilePtr file;
  metadata::FileMetadataPtr metadata;
  const Axis& axis;
  const WalkedFile& walked;
  text::ValueContext values;
  DigestWork work;
};

// Damage is in MemberCard::error; errors are those that are passing.
Result<MemberCard> describe_member(CardSource& source, const WalkedObject& object);

// By path: marks what others name as coordinates and bounds, and gives bounds of times their units. Fails
// with LimitExceeded if they name too much.
Status relate_members(std::vector<MemberCard>& members, RequestBudget& budget);

std::string_view last_component(std::string_view path);

}  // namespace h5mount::join
