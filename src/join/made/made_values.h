// Values of a source's file as values of a made one: places in the file are resolved, so that they can be
// written anew. Threads: one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/join/made_file.h"

namespace h5mount::join {

// The type as a made file has it, whose lengths and offsets take 8 bytes; null if no made file can: parts
// refer to regions, or a compound would have other offsets.
format::DatatypePtr type_for_made(const format::DatatypePtr& type);

// All bytes that a joined file has of its sources' attributes are in memory: those beyond are left out.
inline constexpr std::uint64_t kMostMadeBytes = 256U << 20;

class ValueReader {
 public:
  // `has`: whether the made file has an object; references to others are null. `bytes_left`: of
  // kMostMadeBytes.
  ValueReader(metadata::FileMetadataPtr file, std::function<bool(std::string_view path)> has,
              std::uint64_t& bytes_left, RequestBudget& budget)
      : file_(std::move(file)), has_(std::move(has)), bytes_left_(bytes_left), budget_(budget) {}

  // `elements`: of `type`, as stored; `made`: type_for_made(type). Fails with TooLarge where too much would
  // be in memory, and with errors of the file.
  Result<MadeValue> read(const format::Datatype& type, const format::Datatype& made, ByteSpan elements);
  // nullopt: it cannot be expressed in another file, or it is damaged.
  Result<std::optional<MadeAttribute>> read(const object::Attribute& attribute);

 private:
  Status take(const format::Datatype& type, const format::Datatype& made, ByteSpan element, std::size_t at,
              MadeValue& out);
  Status take_compound(const format::Datatype& type, const format::Datatype& made, ByteSpan element,
                       std::size_t at, MadeValue& out);
  Status take_sequence(const format::Datatype& type, const format::Datatype& made, ByteSpan element,
                       std::size_t at, MadeValue& out);
  Status take_reference(const format::Datatype& type, ByteSpan element, std::size_t at, MadeValue& out);
  Status charge(std::uint64_t bytes);
  Result<std::optional<std::string>> path_of(std::uint64_t address);
  Status walk();

  metadata::FileMetadataPtr file_;
  std::function<bool(std::string_view)> has_;
  std::uint64_t& bytes_left_;
  RequestBudget& budget_;
  bool walked_ = false;
  std::unordered_map<std::uint64_t, std::string> paths_;  // of all objects, once a reference was met
};

}  // namespace h5mount::join
