#include "h5mount/join/joined_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "file_cards.h"
#include "h5mount/base/log.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/shared_slot.h"
#include "h5mount/object/source_opener.h"
#include "h5mount/text/value_text.h"
#include "joined_datasets.h"
#include "made/image_source.h"
#include "made/made_objects.h"

namespace h5mount::join {

namespace {

using Clock = std::chrono::steady_clock;

// How often the files are looked at, and how often while some of them are being written.
constexpr std::chrono::milliseconds kLookedAt{1000}, kLookedAtSoon{500};

// The made file, opened as any source is.
class ImageOpener final : public object::SourceOpener {
 public:
  ImageOpener(std::shared_ptr<io::ByteSource> image, const object::FileAttributes& attributes)
      : image_(std::move(image)), attributes_(attributes) {}

  Result<object::FoundSource> find_main(const std::string&) override {
    return object::FoundSource{
        .key = "joined", .attributes = attributes_, .open = [image = image_] { return image; }};
  }
  Result<object::FoundSource> find_named(const object::OpenedFile&, std::string_view name,
                                         object::NameUse) const override {
    return fail(Error(ErrorCode::AccessDenied, std::string(name) + ": a joined file names no other"));
  }
  const object::ExternalAccess& access() const override { return access_; }

 private:
  const std::shared_ptr<io::ByteSource> image_;
  const object::FileAttributes attributes_;
  const object::ExternalAccess access_{object::ExternalPolicy::None};
};

// One plan, and where its members are in the made file.
struct State {
  PlannedFilesPtr files;
  std::unordered_map<std::uint64_t, std::size_t> members;  // by address
  std::vector<FileCardPtr> cards;
  object::FileAttributes attributes;
  std::uint64_t waiting = 0, version = 0;
  std::shared_ptr<const State> before = {};  // of the plan before; it has none before it
  std::optional<Error> not_joined = {};      // why what has arrived since is not in the plan
};
using StatePtr = std::shared_ptr<const State>;

class LiveJoinedFile final : public JoinedFile {
 public:
  LiveJoinedFile(std::shared_ptr<const SourceFiles> files, Options options)
      : files_(std::move(files)), options_(std::move(options)), cards_(files_, options_.axis) {}

  Result<std::shared_ptr<object::FileSet>> open_made(RequestBudget& budget) override {
    H5_TRY(plan(budget));
    metadata::MetadataOptions metadata;
    metadata.follow = metadata::Follow::Always;
    return object::FileSet::open("joined", std::make_shared<ImageOpener>(image_, attributes()), metadata);
  }

  Result<PlanPtr> plan(RequestBudget& budget) override {
    H5_TRY(first_.get(
        [&]() -> Result<bool> {
          H5_TRY(advance(false, budget));
          return true;
        },
        budget));
    return state_.load()->files->shared_plan();
  }

  Result<std::vector<std::byte>> stored_form(RequestBudget& budget) override {
    H5_TRY(plan(budget));
    const StatePtr state = state_.load();
    H5_ASSIGN(const auto objects,
              made_objects(state->files->plan(), MadeFor::Storing, opener_of(state->files, budget), budget));
    return make_file(objects, budget);
  }

  std::uint64_t version() const override {
    const StatePtr state = state_.load();
    return state ? state->version : 0;
  }

  Result<dataset::NextReader> open(const dataset::ReadEnvironment& environment,
                                   const object::OpenedFilePtr& file,
                                   const object::DatasetDescription& dataset,
                                   const dataset::DatasetReaderPtr& previous, RequestBudget&) const override {
    StatePtr state = state_.load();
    // The header may have been read just before the newest plan.
    if (state->before && !fits(*state, dataset) && fits(*state->before, dataset)) state = state->before;
    const PlannedMember* const member = member_at(*state, dataset.address);
    if (member == nullptr || !member->made.empty() || !member->texts.empty()) return dataset::NextReader{};
    if (member->error) return fail(*member->error);
    if (!fits(*state, dataset))
      return fail(Error(ErrorCode::Stale, "the files that are joined have changed"));
    return open_member(state->files, state->members.at(dataset.address), environment, file, dataset,
                       previous);
  }

  std::optional<Error> problem(std::uint64_t address) const override;
  std::string facts(std::uint64_t address) const override;
  object::FileAttributes attributes() const override {
    const StatePtr state = state_.load();
    return state ? state->attributes : object::FileAttributes{};
  }
  Result<Referred> referred(std::uint64_t reference, RequestBudget& budget) const override {
    const StatePtr state = state_.load();
    const auto found = state ? state->files->referred(reference) : std::nullopt;
    if (!found) return fail(Error(ErrorCode::NotFound, "a file that is no longer joined"));
    H5_ASSIGN(auto environment, state->files->open(found->first, budget));
    return Referred{state->files->plan().files[found->first].card->path, std::move(environment),
                    found->second};
  }
  JoinCounts counts() const override;
  void check() override;
  const Options& options() const override { return options_; }

  // Who asks whether the made file is another one asks about its files.
  void watch_image() {
    image_->ask(
        [weak = weak_from_this()] {
          if (const auto alive = weak.lock()) alive->check();
        },
        [files = files_] { return files->watchable(); });
  }

 private:
  static const PlannedMember* member_at(const State& state, std::uint64_t address) {
    const auto found = state.members.find(address);
    return found == state.members.end() ? nullptr : &state.files->plan().members[found->second];
  }
  static bool fits(const State& state, const object::DatasetDescription& dataset) {
    const PlannedMember* const member = member_at(state, dataset.address);
    return member == nullptr || member->error ||
           (member->space.dims == dataset.space.dims && member->type->size == dataset.element_size);
  }
  static OpenPlanned opener_of(const PlannedFilesPtr& files, RequestBudget& budget) {
    return [files, &budget](std::uint32_t file) { return files->open(file, budget); };
  }

  Status advance(bool arriving, RequestBudget& budget);
  Result<SparseImage> make_image(State& next, RequestBudget& budget);
  void install(std::shared_ptr<State> next) { state_.store(std::move(next)); }

  const std::shared_ptr<const SourceFiles> files_;
  const Options options_;
  const std::shared_ptr<ImageSource> image_ = std::make_shared<ImageSource>();
  FileCards cards_;                                         // used by the one thread that advances
  std::unordered_map<std::string, std::uint64_t> places_;   // of members, by path; the same
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of files, by path; the same
  OnceValue<bool> first_;
  SharedSlot<const State> state_;
  std::atomic<bool> advancing_ = false;
  std::atomic<Clock::rep> next_look_ = 0;
};

// ---- plans

Result<SparseImage> LiveJoinedFile::make_image(State& next, RequestBudget& budget) {
  const auto place_of = [this](std::string_view path) {
    return places_.try_emplace(std::string(path), places_.size()).first->second;
  };
  place_of("");
  H5_ASSIGN(const auto objects,
            made_objects(next.files->plan(), MadeFor::Serving, opener_of(next.files, budget), budget));
  const std::vector<PlannedMember>& members = next.files->plan().members;
  for (std::size_t i = 0; i < members.size(); ++i)
    next.members.emplace(place_address(place_of(members[i].card->path)), i);
  return make_sparse_image(objects, place_of, budget);
}

// The first few of each kind; files.jsonl has all.
void tell_of(const Plan& plan) {
  constexpr std::size_t kMostTold = 16;
  std::size_t told = 0;
  for (const LeftOutFile& left : plan.left_out)
    if (++told <= kMostTold)
      log_once(LogLevel::Warning,
               fmt::format("joined: {} is left out: {}", left.card->path, left.why.text()));
  if (told > kMostTold)
    log_once(LogLevel::Warning,
             fmt::format("joined: {} files are left out (/.h5/joined/.h5/files.jsonl)", told));
  told = 0;
  for (const PlannedMember& member : plan.members)
    if (member.error && ++told <= kMostTold)
      log_once(LogLevel::Warning,
               fmt::format("joined: /{} is not joined: {}", member.card->path, member.error->text()));
  if (told > kMostTold)
    log_once(LogLevel::Warning,
             fmt::format("joined: {} members are not joined (/.h5/joined/.h5/files.jsonl)", told));
}

// Makes the first plan, or another one if the files are no longer those of the present one. Files that have
// arrived and cannot be joined leave the present plan as it is, and are told of.
Status LiveJoinedFile::advance(bool arriving, RequestBudget& budget) {
  H5_ASSIGN(const std::vector<SourceFile> files, files_->survey(budget));
  H5_ASSIGN(FileCards::Cards cards, cards_.read(files, arriving, budget));
  const StatePtr state = state_.load();
  auto next = std::make_shared<State>();
  if (state) *next = *state;
  next->attributes = common_attributes(files);
  next->waiting = cards.waiting;
  if (state && state->cards == cards.cards) return install(std::move(next)), Status();
  H5_ASSIGN(const PlanPtr plan, make_plan(cards.cards, options_, budget));
  if (plan->error && !state) return fail(*plan->error);
  next->cards = std::move(cards.cards);
  next->not_joined = plan->error;
  if (plan->error) {
    log_once(LogLevel::Warning, "joined: what has changed is not joined: " + plan->error->text());
    return install(std::move(next)), Status();
  }
  std::vector<std::uint32_t> numbers;
  for (const PlannedFile& file : plan->files)
    numbers.push_back(
        numbers_.try_emplace(file.card->path, static_cast<std::uint32_t>(numbers_.size())).first->second);
  next->files = std::make_shared<const PlannedFiles>(files_, plan, std::move(numbers));
  next->members.clear();
  ++next->version;
  if (state) {
    auto before = std::make_shared<State>(*state);
    before->before = nullptr;
    next->before = std::move(before);
  }
  H5_ASSIGN(SparseImage image, make_image(*next, budget));
  tell_of(*plan);
  install(std::move(next));
  image_->replace(std::move(image));
  return {};
}

// Ends also if the work throws.
struct Ends {
  std::atomic<bool>& running;
  ~Ends() { running = false; }
};

void LiveJoinedFile::check() {
  const StatePtr state = state_.load();
  if (!state) return;
  const auto now = Clock::now().time_since_epoch().count();
  if (now < next_look_ || advancing_.exchange(true)) return;
  files_->run_later([weak = std::weak_ptr<JoinedFile>(shared_from_this()), this] {
    const auto alive = weak.lock();
    if (!alive) return;
    const Ends ends{advancing_};
    RequestBudget budget(RequestBudget::unbounded());
    const auto began = Clock::now();
    const Status done = advance(true, budget);
    const auto took = Clock::now() - began;
    if (!done) log_once(LogLevel::Warning, "joined: " + done.error().text());
    const bool soon = state_.load()->waiting != 0;
    // Of very many files the looks alone must not take a processor.
    const Clock::duration pause = std::max<Clock::duration>(soon ? kLookedAtSoon : kLookedAt, 4 * took);
    next_look_ = (Clock::now() + pause).time_since_epoch().count();
  });
}

// ---- what is told

std::string LiveJoinedFile::facts(std::uint64_t address) const {
  const StatePtr state = state_.load();
  const PlannedMember* const member = state ? member_at(*state, address) : nullptr;
  if (member == nullptr) return {};
  const Plan& plan = state->files->plan();
  if (member->card->path.empty())
    return fmt::format(R"({{"axis":{},"files":{},"left_out":{},"waiting":{}}})",
                       text::json_string(text_of(options_.axis)), plan.files.size(), plan.left_out.size(),
                       state->waiting);
  if (member->card->kind != MemberCard::Kind::Dataset || member->error) return {};
  std::string out = fmt::format(R"({{"files":{},"missing_in":{},"unpacked":{},"rebased":{},)", member->files,
                                member->missing_in, member->unpacked, member->rebased);
  if (!member->compared) out += R"("compared":false,)";
  out += R"("attributes_differ":[)";
  for (const std::string& name : member->attributes_differ) {
    if (out.back() != '[') out += ',';
    text::append_json_string(name, out);
  }
  return out + "]}";
}

// Of the root: which files are missing from what is joined.
std::optional<Error> LiveJoinedFile::problem(std::uint64_t address) const {
  const StatePtr state = state_.load();
  const PlannedMember* const member = state ? member_at(*state, address) : nullptr;
  if (member == nullptr || member->error || !member->card->path.empty())
    return member == nullptr ? std::nullopt : member->error;
  if (state->not_joined) return state->not_joined;
  const std::vector<LeftOutFile>& left = state->files->plan().left_out;
  if (left.empty()) return std::nullopt;
  const std::string more = left.size() == 1 ? "" : fmt::format(", and {} more", left.size() - 1);
  return Error(left.front().why.code(),
               fmt::format("{} is left out: {}{}", left.front().card->path, left.front().why.text(), more));
}

JoinCounts LiveJoinedFile::counts() const {
  JoinCounts out;
  cards_.add_counts(out);
  const StatePtr state = state_.load();
  if (!state) return out;
  const Plan& plan = state->files->plan();
  out.files = plan.files.size();
  out.left_out = plan.left_out.size();
  out.waiting = state->waiting;
  out.plans = state->version;
  for (const PlannedMember& member : plan.members) {
    if (member.card->kind == MemberCard::Kind::Dataset) ++out.variables;
    if (member.error) ++out.refused;
  }
  return out;
}

}  // namespace

object::FileAttributes common_attributes(const std::vector<SourceFile>& files) {
  object::FileAttributes out;
  if (!files.empty()) out = files.front().attributes;
  for (const SourceFile& file : files) {
    out.mode &= file.attributes.mode;
    if (file.attributes.mtime > out.mtime)
      out.mtime = file.attributes.mtime, out.mtime_nanoseconds = file.attributes.mtime_nanoseconds;
  }
  return out;
}

JoinedFilePtr JoinedFile::make(std::shared_ptr<const SourceFiles> files, Options options) {
  auto out = std::make_shared<LiveJoinedFile>(std::move(files), std::move(options));
  out->watch_image();
  return out;
}

}  // namespace h5mount::join
