// JoinedFile: many files as one HDF5 file. It has the plan (join/plan.h), the made file that shows it
// (join/made_file.h), whose datasets it opens, and follows what happens to the files: arrivals, removals and
// growth give another plan, which readers see as the growth of the made file.
//
// Nothing is read before the first use. Threads: any; no lock is held while files are read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/join/plan.h"

namespace h5mount::join {

// A file as its directory tells it, without opening it.
struct SourceFile {
  std::string path;  // below the directory of sources; of a list the name there
  std::uint64_t identity = 0, stamp = 0, size = 0;  // other ones after every change
  std::int64_t modified = 0;                        // nanoseconds since 1970
  object::FileAttributes attributes = {};
};

// Where the files come from.
class SourceFiles {
 public:
  virtual ~SourceFiles() = default;
  // All of them, in the order given. Errors: a directory cannot be listed.
  virtual Result<std::vector<SourceFile>> survey(RequestBudget& budget) const = 0;
  virtual Result<SourceFile> look_at(const std::string& path) const = 0;
  // What a reader of its datasets needs; a file of it that is open may be closed between reads.
  virtual Result<dataset::ReadEnvironment> open(const std::string& path) const = 0;
  // Whether opening a file costs round trips.
  virtual bool far() const = 0;
  // A card that was kept for this state of the file; empty: there is none.
  virtual std::vector<std::byte> remembered(const SourceFile& file) const = 0;
  virtual void remember(const SourceFile& file, ByteSpan card) const = 0;
  // Paths by which inotify can watch the directories of the files.
  virtual std::vector<std::string> watchable() const = 0;
  // Runs the work when there is time for it.
  virtual void run_later(std::function<void()> work) const = 0;
};

struct JoinCounts {
  std::uint64_t files = 0, left_out = 0, waiting = 0, variables = 0, refused = 0;  // of the newest plan
  std::uint64_t cards_read = 0, cards_remembered = 0, plans = 0;                   // since the beginning
  std::uint64_t reading = 0, to_read = 0;  // the cards that are being made now, and how many there are
};

// What stands for a reference to an object of a joined file's files, as an element of the made file: no
// address that a file has. Null references stay.
inline bool is_foreign_reference(std::uint64_t address) {
  return address >> 63 != 0 && address != format::kUndefinedAddress;
}

class JoinedFile : public dataset::MadeDatasets, public std::enable_shared_from_this<JoinedFile> {
 public:
  static std::shared_ptr<JoinedFile> make(std::shared_ptr<const SourceFiles> files, Options options);

  // The made file. The first call reads all headers and makes the plan; the budget is raised for each file.
  // Fails with InvalidValue, and words for the user, if nothing can be joined.
  virtual Result<std::shared_ptr<object::FileSet>> open_made(RequestBudget& budget) = 0;
  // The newest plan, which is made by the first call of this or of `open_made`.
  virtual Result<PlanPtr> plan(RequestBudget& budget) = 0;
  // The joined file as one of virtual datasets, to be stored beside the files.
  virtual Result<std::vector<std::byte>> stored_form(RequestBudget& budget) = 0;
  // Another number for another plan; 0: there is none yet.
  virtual std::uint64_t version() const = 0;
  // Of a dataset or group of the made file, or of its root: the text of user.hdf5.joined; empty: nothing.
  virtual std::string facts(std::uint64_t address) const = 0;
  // The file of such a reference, and the address in it. Fails with NotFound if there is none.
  struct Referred {
    std::string file;
    dataset::ReadEnvironment environment;
    std::uint64_t address = 0;
  };
  virtual Result<Referred> referred(std::uint64_t reference, RequestBudget& budget) const = 0;
  // What all may do who may read every one of the files, according to the newest plan.
  virtual object::FileAttributes attributes() const = 0;
  virtual JoinCounts counts() const = 0;
  // Looks whether the files are still those of the plan, at most once a second, and makes another one beside
  // the caller if they are not.
  virtual void check() = 0;
  virtual const Options& options() const = 0;
};
using JoinedFilePtr = std::shared_ptr<JoinedFile>;

// Those of the file that fewest may read, with the newest time.
object::FileAttributes common_attributes(const std::vector<SourceFile>& files);

}  // namespace h5mount::join
