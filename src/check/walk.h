// Walk: a whole file, object by object, as checks and verdicts walk over it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "accounting_metadata.h"
#include "allocated_space.h"
#include "context.h"

namespace h5mount::check {

class Walk {
 public:
  // `environment` may be null (Context::environment); so may `observer` and `ranges`, which then learns where
  // the structures are.
  Walk(const object::OpenedFilePtr& file, const dataset::ReadEnvironment* environment, const Options& options,
       Report& report, Observer* observer = nullptr, StructureRanges* ranges = nullptr);

  void run();
  // Links were left out, so that their numbers tell nothing.
  void leave_out_counts() { places_.leave_out_counts(); }

  const Context& context() const { return context_; }
  Tally& tally() { return tally_; }
  const Tally& tally() const { return tally_; }
  const Places& places() const { return places_; }
  const metadata::FileMetadata& metadata() const { return *metadata_; }
  // After `run`: the raw data, sorted.
  const std::vector<Extent>& data() const { return data_; }

  // Whether the file is a set, whose members lie far apart in the address space.
  bool is_set() const;
  // After `run`: visits each range of addresses, below the end that the file states, that nothing accounts
  // for.
  void for_each_unaccounted(const std::function<void(const ByteRange&)>& visit) const;

 private:
  void check_length(std::uint64_t used);
  void check_link_counts();
  void check_objects();

  Tally tally_;
  AllocatedSpace space_;
  std::shared_ptr<AccountingMetadata> metadata_;
  Places places_;
  Extents extents_;
  ValueWork values_;
  Structures structures_;
  const Context context_;
  std::vector<Extent> data_;
};

}  // namespace h5mount::check
