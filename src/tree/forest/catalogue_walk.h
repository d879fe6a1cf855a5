// CatalogueWalk: the files of a forest one after the other, depth first, in the order of listings, each with
// the rows that describe it. Each file has a budget of its own. Only one listing for each level is held in
// memory. Threads: one.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../source_tree.h"
#include "catalogue_rows.h"
#include "h5mount/tree/forest.h"
#include "sibling_files.h"

namespace h5mount::tree {

// Counts of what all walks of a mount have done.
struct CatalogueProgress {
  std::atomic<std::uint64_t> running{0};     // that are making a catalogue.parquet
  std::atomic<std::uint64_t> files{0};       // of these, told so far
  std::atomic<std::uint64_t> of_files{0};    // and in all
  std::atomic<std::uint64_t> opened{0};      // by all walks
  std::atomic<std::uint64_t> remembered{0};  // taken from the store
};

class CatalogueWalk {
 public:
  CatalogueWalk(const ForestOptions& options, ForestDirectoryPtr top, CatalogueProgress& progress);

  struct File {
    std::string path;  // in the forest
    CatalogueRows rows;
  };
  // The next file, or a directory or symlink that cannot be looked into; false if there is none. After an
  // error, which is the request's own (interrupted, no space), the same file comes next.
  Result<bool> next(File& out, RequestBudget& budget);

  // A summary of all files according to listings and the entries' own data, made without opening a file.
  struct Survey {
    std::uint64_t files = 0;
    std::uint64_t digest = 0;  // another one after every change of a file, of its name or of its rights
  };
  static Result<Survey> survey(ForestDirectoryPtr top, RequestBudget& budget);
  // Whether a row says what was wrong for a moment only.
  bool met_momentary() const { return met_momentary_; }

 private:
  struct Level {
    ForestDirectoryPtr directory;
    std::string path;
    std::vector<ForestDirectory::Item> items;
    std::size_t next = 0;
  };

  Result<bool> take_next(File& out, RequestBudget& budget);
  Status enter(ForestDirectoryPtr directory, std::string path);
  Result<bool> take(const std::string& name, File& out, RequestBudget& budget);
  Status describe(const ForestDirectoryPtr& directory, const std::string& name, ForestEntry entry, File& out,
                  RequestBudget& budget);
  Status read(const ForestDirectoryPtr& directory, const std::string& name, const ForestEntry& entry,
              File& out, RequestBudget& budget, PassingFacts& facts) const;
  bool recall(const CatalogueStore::Key& key, File& out) const;
  void remember(const CatalogueStore::Key& key, const File& file) const;
  static Status tell_error(const Error& error, File& out);
  void end();

  const ForestOptions& options_;
  CatalogueProgress& progress_;
  const ForestDirectoryPtr top_;
  const std::shared_ptr<SiblingFiles> siblings_ = std::make_shared<SiblingFiles>();
  bool begun_ = false, ended_ = false;
  bool met_momentary_ = false;
  bool saw_all_ = true;               // no directory could not be listed
  std::vector<std::uint64_t> files_;  // identities, if rows are remembered
  std::vector<Level> levels_;
};

}  // namespace h5mount::tree
