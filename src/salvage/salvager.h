// Salvager: one file being salvaged, from the first look to the source that is shown; the parts of
// salvage_source. Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "chunks/chunks.h"
#include "mend/mend.h"

namespace h5mount::salvage {

class Salvager {
 public:
  Salvager(std::shared_ptr<io::ByteSource> source, const Options& options)
      : state_(std::move(source), options) {}

  Result<Salvaged> run();

 private:
  // salvage.cpp
  Status open();
  Status sweep_rest();
  void take_found(Swept swept);
  void take_unreadable(const std::vector<Range>& ranges);
  void claim_extension(std::uint64_t address);
  void walk_reachable();
  void mend_headers();
  void mend_groups();
  void note_regained();
  void count_damaged_trees();
  bool needs_look(const object::DatasetDescription& dataset) const;
  void mend_datasets(const Surveyed& walked, bool unlinked);
  std::vector<std::uint64_t> datasets_beside(const Surveyed& walked, bool summed = false) const;
  Status check_walks() const;
  void note_writer();
  Salvaged finish();

  // shared.cpp
  void note_shared();

  // root.cpp
  Status choose_root();
  void set_root(std::uint64_t address);
  void find_root_links();
  std::vector<format::Link> links_of_root(const object::Object& root) const;
  void add_lost_and_found(std::vector<format::Link>& root);
  void write_lost_and_found();

  // unlinked.cpp
  void find_unlinked();
  void find_headless();
  bool is_proven(std::uint64_t address, object::ObjectKind kind) const;
  void note_object(std::uint64_t address, object::ObjectKind kind, const char* found_by);
  void note_unlinked();
  std::vector<format::Link> lost_links();

  // An object that goes into lost+found.
  struct Lost {
    std::uint64_t address = 0;
    bool group = false;
  };

  SalvageState state_;
  std::optional<Swept> swept_;
  bool swept_whole_ = false;
  std::optional<Survey> reachable_, unlinked_;
  std::optional<AddressTable>
      ordinary_;  // objects that ordinary readers reach, if damage hides some from them
  std::uint64_t root_ = format::kUndefinedAddress;
  bool root_opens_ = false;
  std::vector<format::Link> root_links_;  // the links of a root that has to be made
  std::vector<Lost> lost_;
  std::optional<Finding> general_;  // of every object, where the whole file is not as sound ones are
  std::unordered_set<std::uint64_t> headless_members_;  // lost objects in groups that were made for them
};

}  // namespace h5mount::salvage
