// The files that references are of, by the URLs that readers know them by. Threads: one.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "../core/served_file.h"

namespace h5mount::tree {

// A file that references are of.
struct ReferencedFile {
  std::string url;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::string entity_tag;     // empty: its server states none, or it is local
  bool copied = false;        // the URL is that of a copy, which has a time and an entity tag of its own
};

class ReferencedFiles {
 public:
  // `options` are valid as long as this. `mounted`: the path of the file that is shown; empty: it has none.
  ReferencedFiles(const ReferenceOptions& options, std::string mounted)
      : options_(options), mounted_(std::move(mounted)) {}

  // A file that holds chunks; null if it has no URL. Valid as long as this and what is taken from it.
  const ReferencedFile* find(const io::ByteSource& file);
  // Those that were found, the first one first.
  std::deque<ReferencedFile> take() { return std::move(files_); }

  // The URL of a file in `stored.zarr` of the server; nullopt if that does not serve the mounted file.
  std::optional<std::string> url_at_server(const std::string& path_in_store) const;

 private:
  std::optional<std::string> url_of(const std::string& name) const;
  std::optional<std::string> below_root(const std::string& name) const;

  const ReferenceOptions& options_;
  const std::string mounted_;
  std::deque<ReferencedFile> files_;
  std::map<std::string, const ReferencedFile*> by_name_;
};

// Whether the mount shows references: it does not if they would name a path that must not be told.
bool shows_references(const MountContext& context);

}  // namespace h5mount::tree
