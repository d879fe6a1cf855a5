// References that were written earlier: /.h5/references.json, or a copy of /.h5/references.parq or
// references.icechunk, or such as kerchunk writes, if Parquet is not compressed. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::front {

// A file that references are of, as it was when they were written.
struct ReferencedFile {
  std::string url;  // or its path
  std::uint64_t size = 0;
  std::string modified = {};    // seconds since 1970, as it is written; empty: not known
  std::string entity_tag = {};  // empty: not known
};

// What references say. An error of a function ends the reading. Strings live as long as the call.
class ReferenceVisitor {
 public:
  virtual ~ReferenceVisitor() = default;
  virtual Status visit_file(const ReferencedFile& file) = 0;
  // `key`: such as a/.zarray, of Icechunk a/zarr.json of each array; the text is JSON without spaces.
  virtual Status visit_metadata(std::string_view key, std::string_view json) = 0;
  // `key`: such as a/0.1.
  virtual Status visit_range(std::string_view key, std::string_view url, std::uint64_t offset,
                             std::uint64_t length) = 0;
  // `bytes`: the chunk.
  virtual Status visit_held(std::string_view key, std::string_view bytes) = 0;
};

// Fails with UnsupportedFeature if this build has no nlohmann-json, and with InvalidValue if it is nothing of
// that kind.
Status read_references(const std::string& path, ReferenceVisitor& visitor);
Status read_json_references(std::string_view text, ReferenceVisitor& visitor);

// A file of a directory of references, by its name in that; nullopt: there is none.
using ReadReferenceFile = std::function<Result<std::optional<std::string>>(const std::string& name)>;
// Fails with UnsupportedFeature also if this build has no libzstd.
Status read_icechunk_references(const ReadReferenceFile& read, ReferenceVisitor& visitor);
// Whether a directory is a repository of Icechunk.
bool is_icechunk_repository(const std::string& path);

}  // namespace h5mount::front
