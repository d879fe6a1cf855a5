#include "h5mount/join/card.h"

#include <algorithm>

#include "card_codec.h"
#include "card_members.h"
#include "card_values.h"
#include "file_walk.h"
#include "h5mount/base/momentary.h"
#include "labels.h"
#include "member_table.h"

namespace h5mount::join {

namespace {

// Bytes of the cards of a file's members, encoded: types and attributes can be large.
constexpr std::size_t kMostCardBytes = 64U << 20;

// About bytes of values that are read and compared of a file.
std::uint64_t digest_work(std::uint64_t stored_bytes) {
  constexpr std::uint64_t kBase = 256U << 20, kMost = 4ULL << 30, kPerByte = 64;
  return std::min(kMost, kBase + kPerByte * std::min(stored_bytes, kMost / kPerByte));
}

class CardOfFile {
 public:
  CardOfFile(const dataset::ReadEnvironment& environment, const Axis& axis, RequestBudget& budget)
      : environment_(environment),
        axis_(axis),
        budget_(budget),
        file_(environment.files->main()),
        metadata_(file_->reread()) {}

  // Errors are those of the file, too.
  Status make(MemberTable& table, const Labels& labels, FileCard& card) {
    card.may_grow = file_->followed->following();
    H5_ASSIGN(const WalkedFile walked, walk_file(metadata_, budget_));
    const auto path_of = [&](std::uint64_t address) -> std::optional<std::string> {
      const auto found = walked.first.find(address);
      if (found == walked.first.end()) return std::nullopt;
      return "/" + walked.objects[found->second].path;
    };
    CardSource source{environment_,
                      file_,
                      metadata_,
                      axis_,
                      walked,
                      {{.file = metadata_, .path_of = path_of}, budget_},
                      {digest_work(metadata_->source()->stored_bytes())}};
    H5_TRY(describe(source));
    H5_TRY(relate_members(members_, budget_));
    H5_TRY(read_values(source, card));
    H5_TRY(keep(table, card));
    if (!card.label) {
      H5_ASSIGN(card.label, labels.of_attribute(source.values));
    }
    return {};
  }

 private:
  Status describe(CardSource& source) {
    // By path, with the address of each.
    std::vector<const WalkedObject*> objects;
    for (const WalkedObject& object : source.walked.objects) objects.push_back(&object);
    std::ranges::sort(objects, {}, [](const WalkedObject* one) -> const std::string& { return one->path; });
    members_.reserve(objects.size());
    for (const WalkedObject* const object : objects) {
      H5_ASSIGN(MemberCard member, describe_member(source, *object));
      H5_TRY(charge(member));
      members_.push_back(std::move(member));
      addresses_.push_back(object->address);
    }
    return {};
  }

  Status charge(const MemberCard& member) {
    bytes_ += encode_member(member).size();
    if (bytes_ <= kMostCardBytes) return {};
    return fail({ErrorCode::LimitExceeded, "types and attributes are too large"});
  }

  Status read_values(CardSource& source, FileCard& card) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      MemberCard& member = members_[i];
      if (member.kind != MemberCard::Kind::Dataset || member.error) continue;
      if (is_axis_coordinate(member, axis_)) {
        H5_ASSIGN(AxisValues values, axis_values(source, addresses_[i], member));
        values.member = static_cast<std::uint32_t>(i);
        card.axes.push_back(values);
      } else {
        H5_TRY(add_values(source, addresses_[i], member));
      }
    }
    return {};
  }

  Status keep(MemberTable& table, FileCard& card) {
    card.members.reserve(members_.size());
    for (MemberCard& member : members_) {
      const std::vector<std::byte> bytes = encode_member(member);
      H5_TRY(budget_.spend(bytes.size()));
      card.members.push_back(table.keep(std::move(member), bytes));
    }
    return {};
  }

  const dataset::ReadEnvironment& environment_;
  const Axis& axis_;
  RequestBudget& budget_;
  const object::OpenedFilePtr file_;
  const metadata::FileMetadataPtr metadata_;
  std::vector<MemberCard> members_;
  std::vector<std::uint64_t> addresses_;
  std::size_t bytes_ = 0;
};

}  // namespace

struct CardMaker::State {
  explicit State(Axis of) : axis(std::move(of)), labels(axis) {}
  const Axis axis;
  const Labels labels;
  MemberTable table;
};

const MemberCardPtr* FileCard::find(std::string_view member) const {
  const auto found = std::ranges::lower_bound(
      members, member, {}, [](const MemberCardPtr& one) { return std::string_view(one->path); });
  return found != members.end() && (*found)->path == member ? &*found : nullptr;
}

CardMaker::CardMaker(Axis axis) : state_(std::make_unique<State>(std::move(axis))) {}
CardMaker::~CardMaker() = default;

Result<FileCardPtr> CardMaker::make(const dataset::ReadEnvironment& environment, FileCard card,
                                    RequestBudget& budget) {
  const MomentaryWatch watch;
  const auto made = [&]() -> Result<FileCardPtr> {
    budget.allow_more(environment.files->main()->followed->source()->stored_bytes());
    card.label = state_->labels.of_path(card.path);
    const Status read =
        CardOfFile(environment, state_->axis, budget).make(state_->table, state_->labels, card);
    if (!read && is_passing(read.error())) return fail(read.error());
    if (!read) {
      card.error = read.error();
      card.members.clear();
      card.axes.clear();
    }
    return std::make_shared<const FileCard>(std::move(card));
  };
  return watch.unless_met(made());
}

std::vector<std::byte> CardMaker::encode(const FileCard& card) const {
  return encode_card(card, state_->axis);
}

Result<FileCardPtr> CardMaker::decode(ByteSpan bytes) {
  H5_ASSIGN(FileCard card, decode_card(bytes, state_->axis, [&](ByteSpan member) -> Result<MemberCardPtr> {
              if (MemberCardPtr known = state_->table.find(member)) return known;
              H5_ASSIGN(MemberCard made, decode_member(member));
              return state_->table.keep(std::move(made), member);
            }));
  return std::make_shared<const FileCard>(std::move(card));
}

}  // namespace h5mount::join
