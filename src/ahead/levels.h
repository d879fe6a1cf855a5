// Levels: structures that a far source is asked for together, a level at a time. Readers run over
// `asked_file`, in which a read of what was not asked for fails, and is asked for with the next level; they
// run again when it has come. What has been added must stay alive until `run` returns. Threads: one.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::ahead {

class Levels {
 public:
  Levels(const metadata::FileMetadata& file, RequestBudget& budget)
      : file_(file), asked_file_(*this), budget_(budget) {}
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;

  const metadata::FileMetadata& file() const { return file_; }
  metadata::FileMetadataPtr asked_file() const { return {metadata::FileMetadataPtr(), &asked_file_}; }
  // Charges work to the request; false: it may do no more.
  bool spend(std::uint64_t steps) { return budget_.spend(steps).has_value(); }

  // Adds a reader of the structure at `address`, unless one was added before: structures may lead back to
  // themselves. It runs once a level until it misses nothing, and adds what else the structure leads to.
  using Walk = std::function<void()>;
  void add_walk(std::uint64_t address, Walk walk);

  // Adds bytes, and what is made of them; null if they lead nowhere. What was added before is left out.
  using Decode = std::function<void(const metadata::MetadataBlock&)>;
  void expect(std::uint64_t address, std::uint64_t bytes, Decode decode,
              metadata::Among among = metadata::Among::Structures);

  void run(unsigned levels);

 private:
  // Passes on what was asked for.
  class AskedFile final : public metadata::FileMetadata {
   public:
    explicit AskedFile(Levels& levels) : levels_(levels) {}
    const format::Superblock& superblock() const override { return levels_.file_.superblock(); }
    format::FileSizes sizes() const override { return levels_.file_.sizes(); }
    std::uint64_t base_address() const override { return levels_.file_.base_address(); }
    std::uint64_t root_address() const override { return levels_.file_.root_address(); }
    const std::shared_ptr<io::ByteSource>& source() const override { return levels_.file_.source(); }
    bool far() const override { return false; }
    const metadata::SharedMessages* shared_messages() const override { return nullptr; }
    Result<metadata::MetadataBlock> read(std::uint64_t address, std::uint64_t length,
                                         std::string_view structure, metadata::Among among) const override;
    Result<metadata::MetadataBlock> read_up_to(std::uint64_t address, std::uint64_t length,
                                               std::string_view structure,
                                               metadata::Among among) const override;

   private:
    Levels& levels_;
  };
  struct Place {
    std::uint64_t address, bytes;
    Decode decode;
    metadata::Among among;
  };
  struct Asked {
    std::uint64_t bytes = 0;
    bool now = false;  // false: with the next level
  };
  Status ask(std::uint64_t address, std::uint64_t bytes, metadata::Among among);
  bool add(Place place);
  void walk_all();
  void run_levels(unsigned levels);
  void tell(const std::vector<Place>& level);

  const metadata::FileMetadata& file_;
  const AskedFile asked_file_;
  RequestBudget& budget_;
  std::vector<Place> next_;
  std::vector<Walk> walks_;
  std::unordered_set<std::uint64_t> walked_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // by address
  std::uint64_t bytes_ = 0;                         // of all that was asked for
  std::uint64_t read_again_ = 0;                    // bytes, by walks that run again
  bool missed_ = false;                             // by the walk that runs
};

}  // namespace h5mount::ahead
