// The datasets of a joined file: a member of a plan as a reader over the files' datasets. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "h5mount/dataset/concatenated_dataset.h"
#include "h5mount/join/joined_file.h"

namespace h5mount::join {

// The files of one plan, opened as they are needed; a bounded number of them stays open.
class PlannedFiles {
 public:
  // `numbers`: of each file of the plan, one that it keeps in later plans.
  PlannedFiles(std::shared_ptr<const SourceFiles> from, PlanPtr plan, std::vector<std::uint32_t> numbers);
  ~PlannedFiles();

  const Plan& plan() const { return *plan_; }
  const PlanPtr& shared_plan() const { return plan_; }
  // Fails with Stale if it is no longer the file that was planned with.
  Result<dataset::ReadEnvironment> open(std::uint32_t file, RequestBudget& budget) const;
  // What stands for a reference of a file; and the file and address of one, nullopt if there is none.
  std::uint64_t foreign_reference(std::uint32_t file, std::uint64_t address) const;
  std::optional<std::pair<std::uint32_t, std::uint64_t>> referred(std::uint64_t reference) const;

 private:
  struct Opened;
  const std::shared_ptr<const SourceFiles> from_;
  const PlanPtr plan_;
  const std::vector<std::uint32_t> numbers_;
  const std::unique_ptr<Opened> opened_;
};
using PlannedFilesPtr = std::shared_ptr<const PlannedFiles>;

// The reader of a member; `file` and `dataset`: of the made file. `previous`: the reader of an earlier state,
// or null.
Result<dataset::NextReader> open_member(const PlannedFilesPtr& files, std::size_t member,
                                        const dataset::ReadEnvironment& environment,
                                        const object::OpenedFilePtr& file,
                                        const object::DatasetDescription& dataset,
                                        const dataset::DatasetReaderPtr& previous);

}  // namespace h5mount::join
