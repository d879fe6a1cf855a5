#include "h5mount/front/references_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/base/text.h"
#include "h5mount/base/uri.h"
#include "h5mount/front/references.h"

namespace h5mount::front {

namespace {

struct Written {
  enum class Kind : std::uint8_t { Metadata, Range, Held };
  Kind kind;
  bool seen = false;                     // in the file as it is now
  std::uint32_t url = 0;                 // of a range
  std::uint64_t offset = 0, length = 0;  // of a range; of other kinds the first is a hash of the bytes
};

std::string array_of(std::string_view key) {
  return "/" + std::string(key.substr(0, key.rfind('/') == std::string_view::npos ? 0 : key.rfind('/')));
}

std::string source_name(std::string_view url) {
  constexpr std::string_view kFile = "file://";
  return url.starts_with(kFile) ? decode_percent(url.substr(kFile.size())) : std::string(url);
}

// The references as they were written, in memory. Local files are named by their paths.
class WrittenReferences final : public ReferenceVisitor {
 public:
  Status visit_file(const ReferencedFile& file) override {
    files.push_back(file);
    files.back().url = source_name(file.url);
    return {};
  }
  Status visit_metadata(std::string_view key, std::string_view json) override {
    if (key.ends_with(".zarray") || key.ends_with("/zarr.json"))
      keys[std::string(key)] = {Written::Kind::Metadata, false, 0, hash_of(json)};
    return {};
  }
  Status visit_range(std::string_view key, std::string_view url, std::uint64_t offset,
                     std::uint64_t length) override {
    if (urls.empty() || last_url_ != url) {
      last_url_ = url;
      const auto [at, first] = numbers_.try_emplace(source_name(url), urls.size());
      if (first) urls.push_back(at->first);
      last_ = at->second;
    }
    keys[std::string(key)] = {Written::Kind::Range, false, last_, offset, length};
    return {};
  }
  Status visit_held(std::string_view key, std::string_view bytes) override {
    keys[std::string(key)] = {Written::Kind::Held, false, 0, hash_of(bytes)};
    return {};
  }

  static std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

  // For each URL whether it is one of the source's files; else it is a server's.
  std::vector<bool> of_source() const {
    std::unordered_set<std::string_view> names;
    for (const ReferencedFile& file : files) names.insert(file.url);
    std::vector<bool> out;
    for (const std::string& url : urls) out.push_back(files.empty() || names.contains(url));
    return out;
  }

  std::vector<ReferencedFile> files;
  std::vector<std::string> urls;
  std::unordered_map<std::string, Written> keys;

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of URLs: each chunk at a server has its own
  std::string last_url_;
  std::uint32_t last_ = 0;
};

// The references of the source as it is now, each compared as it comes.
class Comparison final : public ReferenceVisitor {
 public:
  // `by_time`: readers of these references refuse a file that has another time.
  Comparison(WrittenReferences& written, std::vector<bool> of_source, bool by_time,
             const ReferencesCheck& check)
      : written_(written), check_(check), of_source_(std::move(of_source)), by_time_(by_time) {}

  Status visit_file(const ReferencedFile& file) override {
    const auto was = std::ranges::find(written_.files, file.url, &ReferencedFile::url);
    if (was == written_.files.end()) return {};
    if (was->size != file.size) {
      changed_ = true;
      tell("", fmt::format("{} had {} bytes and has {}", file.url, was->size, file.size), true);
    } else if (!was->entity_tag.empty() && !file.entity_tag.empty() && was->entity_tag != file.entity_tag) {
      changed_ = true;
      tell("",
           fmt::format("{} was replaced: its entity tag was {} and is {}", file.url, was->entity_tag,
                       file.entity_tag),
           true);
    } else if (was->entity_tag.empty() && was->modified != file.modified && !file.url.contains("://")) {
      changed_ = true;
      tell("", fmt::format("{} was written since{}", file.url, by_time_ ? ", and readers refuse it" : ""),
           by_time_);
    }
    return {};
  }

  Status visit_metadata(std::string_view key, std::string_view json) override {
    if (Written* const was = seen(key, Written::Kind::Metadata)) {
      ++totals_.arrays;
      if (was->offset != WrittenReferences::hash_of(json))
        note(key, [&] { return std::string("another shape, type or codec than the references have"); });
    }
    return {};
  }

  Status visit_range(std::string_view key, std::string_view url, std::uint64_t offset,
                     std::uint64_t length) override {
    const auto found = written_.keys.find(std::string(key));
    if (found == written_.keys.end()) return {};
    Written& was = found->second;
    was.seen = true;
    if (was.kind == Written::Kind::Held) {
      other_held_.emplace_back(key);
      return {};
    }
    const std::string& was_url = written_.urls[was.url];
    if (url != last_url_) {
      last_url_ = url;
      last_name_ = source_name(url);
    }
    if (was_url != last_name_ && !of_source_[was.url]) {
      ++totals_.elsewhere;
      return {};
    }
    ++totals_.ranges;
    if (was_url != last_name_ || was.offset != offset || was.length != length)
      note(key, [&] {
        return fmt::format("was {} bytes at {} and is {} at {}", was.length, was.offset, length, offset);
      });
    return {};
  }

  Status visit_held(std::string_view key, std::string_view bytes) override {
    const auto found = written_.keys.find(std::string(key));
    if (found == written_.keys.end()) return {};
    Written& was = found->second;
    was.seen = true;
    if (was.kind == Written::Kind::Range && !of_source_[was.url]) {
      ++totals_.elsewhere;
    } else if (was.kind == Written::Kind::Range) {
      ++totals_.ranges;
      note(key, [] { return std::string("is no range of the file any more"); });
    } else {
      ++totals_.held;
      // Whether that is wrong is known at the end: files are visited after the chunks.
      if (was.offset != WrittenReferences::hash_of(bytes)) other_held_.emplace_back(key);
    }
    return {};
  }

  ReferenceTotals end() {
    // Another build may compress the same bytes in another way.
    if (changed_ || written_.files.empty())
      for (const std::string& key : other_held_)
        note(key, [] { return std::string("the bytes that the references hold are not the file's"); });
    for (const auto& [key, was] : written_.keys)
      if (!was.seen) note(key, [] { return std::string("has no reference in the file as it is now"); });
    for (const auto& [path, wrong] : wrong_)
      tell(path, wrong.count > 1 ? fmt::format("{}, and {} more", wrong.first, wrong.count - 1) : wrong.first,
           true);
    return totals_;
  }

 private:
  struct Wrong {
    std::string first;
    std::uint64_t count = 0;
  };

  Written* seen(std::string_view key, Written::Kind kind) {
    const auto found = written_.keys.find(std::string(key));
    if (found == written_.keys.end() || found->second.kind != kind) return nullptr;
    found->second.seen = true;
    return &found->second;
  }
  template <class What>
  void note(std::string_view key, What what) {
    Wrong& wrong = wrong_[array_of(key)];
    if (wrong.count++ > 0) return;
    const std::string_view name = key.substr(key.rfind('/') + 1);
    wrong.first =
        name == ".zarray" || name == "zarr.json" ? what() : fmt::format("chunk {}: {}", name, what());
  }
  void tell(const std::string& path, std::string why, bool wrong) {
    check_.found(path, Error(ErrorCode::InvalidValue, std::move(why)), wrong);
  }

  WrittenReferences& written_;
  const ReferencesCheck& check_;
  const std::vector<bool> of_source_;  // for each URL of the written ones
  const bool by_time_;
  std::string last_url_, last_name_;
  ReferenceTotals totals_;
  bool changed_ = false;  // a file is not the one that the references are of
  std::vector<std::string> other_held_;
  std::map<std::string, Wrong> wrong_;  // by array
};

// The bytes of a file in /.h5.
Result<std::string> hidden_bytes(tree::Tree& tree, std::string_view path) {
  const std::shared_ptr<void> pin = tree.pin();
  H5_ASSIGN(tree::Entry entry, tree.lookup(tree::kRootNode, ".h5"));
  while (!path.empty()) {
    H5_ASSIGN(entry, tree.lookup(entry.node, take_until(path, '/')));
  }
  H5_ASSIGN(const auto file, tree.open(entry.node));
  std::string out;
  constexpr std::uint64_t kPiece = 4U << 20;
  for (;;) {
    dataset::Pieces pieces;
    H5_TRY(file->read(out.size(), kPiece, pieces));
    const std::size_t before = out.size();
    std::size_t bytes = 0;
    for (const dataset::Piece& piece : pieces.list()) bytes += piece.bytes.size();
    out.resize(before + bytes);
    H5_TRY(dataset::copy_pieces(pieces.list(),
                                MutableByteSpan(as_writable_bytes(std::span(out))).subspan(before)));
    if (out.size() == before) return out;
  }
}

// The references of the same form as the source's own.
Status read_own_references(tree::Tree& tree, bool icechunk, ReferenceVisitor& visitor) {
  if (icechunk)
    return read_icechunk_references(
        [&](const std::string& name) -> Result<std::optional<std::string>> {
          return hidden_bytes(tree, "references.icechunk/" + name);
        },
        visitor);
  H5_ASSIGN(const std::string text, hidden_bytes(tree, "references.json"));
  return read_json_references(text, visitor);
}

}  // namespace

bool is_icechunk_repository(const std::string& path) {
  std::error_code missing;
  return std::filesystem::is_regular_file(std::filesystem::path(path) / "repo", missing);
}

Result<ReferenceTotals> check_references(const std::string& path, const ReferencesCheck& check) {
  WrittenReferences written;
  H5_TRY(read_references(path, written));
  if (written.files.empty() && written.urls.empty())
    return fail({ErrorCode::InvalidValue, "references that name no file"});
  const std::string& first = written.files.empty() ? written.urls.front() : written.files.front().url;
  std::vector<bool> of_source = written.of_source();
  const bool some_served = std::ranges::find(of_source, false) != of_source.end();
  H5_ASSIGN(const std::shared_ptr<tree::Tree> tree, check.open(first, some_served));
  const bool icechunk = is_icechunk_repository(path);
  Comparison comparison(written, std::move(of_source), icechunk, check);
  H5_TRY(read_own_references(*tree, icechunk, comparison));
  return comparison.end();
}

}  // namespace h5mount::front
