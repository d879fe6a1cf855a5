#include "joined_datasets.h"

#include <fmt/format.h>

#include <cstring>
#include <list>
#include <string>
#include <unordered_map>

#include "h5mount/base/hash.h"
#include "h5mount/base/once_value.h"
#include "h5mount/dataset/readers_over.h"
#include "h5mount/object/resolve_path.h"
#include "treatments.h"

namespace h5mount::join {

// ---- files

// Files that were used last; a file that is no longer among them stays open as long as a reader has it.
struct PlannedFiles::Opened {
  static constexpr std::size_t kMost = 64;
  using Once = OnceValue<dataset::ReadEnvironment>;

  std::shared_ptr<Once> of(std::uint32_t file) {
    const MutexLock lock(mutex);
    if (const auto found = places.find(file); found != places.end()) {
      order.splice(order.begin(), order, found->second);
      return order.front().second;
    }
    order.emplace_front(file, std::make_shared<Once>());
    places.emplace(file, order.begin());
    auto out = order.front().second;
    if (order.size() > kMost) {
      places.erase(order.back().first);
      order.pop_back();
    }
    return out;
  }

  Mutex mutex;
  std::list<std::pair<std::uint32_t, std::shared_ptr<Once>>> order H5_GUARDED_BY(mutex);
  std::unordered_map<std::uint32_t, decltype(order)::iterator> places H5_GUARDED_BY(mutex);
};

PlannedFiles::PlannedFiles(std::shared_ptr<const SourceFiles> from, PlanPtr plan,
                           std::vector<std::uint32_t> numbers)
    : from_(std::move(from)),
      plan_(std::move(plan)),
      numbers_(std::move(numbers)),
      opened_(std::make_unique<Opened>()) {}
PlannedFiles::~PlannedFiles() = default;

Result<dataset::ReadEnvironment> PlannedFiles::open(std::uint32_t file, RequestBudget& budget) const {
  const FileCard& card = *plan_->files[file].card;
  const auto open = [&]() -> Result<dataset::ReadEnvironment> {
    H5_ASSIGN(auto opened, from_->open(card.path));
    H5_ASSIGN(const SourceFile now, from_->look_at(card.path));
    if (now.identity != card.identity || (now.stamp != card.stamp && !card.may_grow))
      return fail(Error(ErrorCode::Stale, card.path + ": it was written or replaced"));
    return opened;
  };
  auto found = opened_->of(file)->get(open, budget);
  if (!found && found.error().code() == ErrorCode::NotFound)
    return fail(Error(ErrorCode::Stale, card.path + ": it was removed"));
  return found;
}

namespace {
constexpr unsigned kFileAt = 44;  // in a foreign reference; addresses are below
constexpr std::uint64_t kForeignBit = std::uint64_t{1} << 63, kFileNumbers = std::uint64_t{1} << 19;
}  // namespace

std::uint64_t PlannedFiles::foreign_reference(std::uint32_t file, std::uint64_t address) const {
  const bool null = address == 0 || address == format::kUndefinedAddress;
  if (null || address >> kFileAt != 0 || numbers_[file] >= kFileNumbers - 1) return 0;
  return kForeignBit | std::uint64_t{numbers_[file]} << kFileAt | address;
}

std::optional<std::pair<std::uint32_t, std::uint64_t>> PlannedFiles::referred(std::uint64_t reference) const {
  const auto found = std::ranges::find(numbers_, (reference & ~kForeignBit) >> kFileAt);
  if (found == numbers_.end()) return std::nullopt;
  return std::pair(static_cast<std::uint32_t>(found - numbers_.begin()),
                   reference & ((std::uint64_t{1} << kFileAt) - 1));
}

namespace {

// ---- datasets

// References to objects of a file, as those of the made file are.
class ForeignReferences final : public dataset::UnitsReader {
 public:
  ForeignReferences(dataset::DatasetReaderPtr base, PlannedFilesPtr files, std::uint32_t file)
      : UnitsReader(base->description(), base, sizeof(std::uint64_t), sizeof(std::uint64_t)),
        files_(std::move(files)),
        file_(file) {}

 private:
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    for (std::size_t at = 0; at < stored.size(); at += sizeof(std::uint64_t)) {
      const auto foreign = files_->foreign_reference(file_, load_le<std::uint64_t>(stored.data() + at));
      std::memcpy(shown.data() + at, &foreign, sizeof foreign);
    }
    return {};
  }

  const PlannedFilesPtr files_;
  const std::uint32_t file_;
};

class MemberParts final : public dataset::ConcatenatedParts {
 public:
  MemberParts(PlannedFilesPtr files, std::size_t member, std::vector<std::uint64_t> single)
      : files_(std::move(files)), member_(member), single_(std::move(single)) {}

  const std::vector<std::uint64_t>& starts() const override {
    return planned().axis ? *planned().starts : single_;
  }

  std::uint64_t identity(std::size_t part) const override {
    const Part of = part_of(part);
    const FileCard& card = *files_->plan().files[of.file].card;
    if (of.treatment == PlannedMember::kGap) return fnv1a("gap");
    return mix_bits({card.identity, card.may_grow ? 0 : card.stamp, fnv1a(card.path),
                     planned().treatments.empty() ? 0 : treatment_hash(of.treatment)});
  }

  Result<dataset::OpenedPart> open(std::size_t part, RequestBudget& budget) const override {
    const Part of = part_of(part);
    if (of.treatment == PlannedMember::kGap) return dataset::OpenedPart{};
    const std::string& path = files_->plan().files[of.file].card->path;
    auto opened = open_part(of, budget);
    if (!opened) return fail(opened.error().within(path + ":/" + planned().card->path));
    return opened;
  }

  std::string name(std::size_t part) const override {
    return files_->plan().files[part_of(part).file].card->path;
  }
  Status check(std::size_t) const override { return {}; }  // each file is asked by those who read it

 private:
  const PlannedMember& planned() const { return files_->plan().members[member_]; }
  Part part_of(std::size_t part) const {
    return planned().axis ? planned().parts[part] : Part{planned().from, 0};
  }
  // Equal treatments of two plans need not have equal numbers: what is done follows from the first file's.
  std::uint64_t treatment_hash(std::uint32_t number) const {
    if (planned().treatments[number].nothing()) return 0;
    const FileCard& first = *files_->plan().files[planned().from].card;
    return mix_bits({first.identity, first.stamp, fnv1a(first.path), 1});
  }

  Result<dataset::OpenedPart> open_part(const Part& of, RequestBudget& budget) const {
    H5_ASSIGN(const dataset::ReadEnvironment environment, files_->open(of.file, budget));
    const object::OpenedFilePtr& file = environment.files->main();
    H5_ASSIGN(const metadata::FileMetadataPtr snapshot, file->followed->current());
    object::PathWork work{budget};
    H5_ASSIGN(const std::uint64_t address,
              object::resolve_path(snapshot, snapshot->root_address(), planned().card->path, work));
    H5_ASSIGN(const object::Object object, object::open_object(*snapshot, address));
    H5_ASSIGN(auto description, object::describe_dataset(*snapshot, object));
    H5_ASSIGN(auto next,
              dataset::open_next_dataset(environment, file, std::move(description), nullptr, budget));
    dataset::DatasetReaderPtr reader = std::move(next.reader);
    if (of.treatment < planned().treatments.size()) {
      H5_ASSIGN(reader, treated(std::move(reader), planned().treatments[of.treatment], planned().type));
    }
    if (planned().type->has_reference)
      reader = std::make_shared<ForeignReferences>(std::move(reader), files_, of.file);
    const auto reopen = [files = files_,
                         number = of.file]() -> Result<std::shared_ptr<metadata::FollowedFile>> {
      RequestBudget own;
      H5_ASSIGN(const dataset::ReadEnvironment again, files->open(number, own));
      return again.files->main()->followed;
    };
    return dataset::OpenedPart{std::move(reader), file, reopen};
  }

  const PlannedFilesPtr files_;
  const std::size_t member_;
  const std::vector<std::uint64_t> single_;  // the one part of a dataset that is not joined
};

}  // namespace

Result<dataset::NextReader> open_member(const PlannedFilesPtr& files, std::size_t member,
                                        const dataset::ReadEnvironment& environment,
                                        const object::OpenedFilePtr& file,
                                        const object::DatasetDescription& dataset,
                                        const dataset::DatasetReaderPtr& previous) {
  const PlannedMember& planned = files->plan().members[member];
  dataset::ConcatenatedDataset whole;
  whole.file = file;
  whole.description = dataset;
  whole.dimension = planned.axis.value_or(0);
  whole.gap_fill = planned.gap_fill;
  whole.stored_chunks = planned.stored;
  const std::uint64_t extent = dataset.space.dims.empty() ? 1 : dataset.space.dims[0];
  whole.parts = std::make_shared<MemberParts>(files, member, std::vector<std::uint64_t>{0, extent});
  return dataset::open_concatenated(environment, std::move(whole), previous);
}

}  // namespace h5mount::join
