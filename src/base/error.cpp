#include "h5mount/base/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "h5mount/base/advice.h"

namespace h5mount {

struct Error::Info {
  ErrorCode code;
  std::string_view structure = {}, field = {};
  std::uint64_t offset = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> expected = {}, found = {};
  std::string detail = {};
  std::vector<std::string> places = {};
  int system_errno = 0;
  int verdict = 0;
};

namespace {

struct CodeFacts {
  std::string_view name;
  int error;         // errno
  bool about_bytes;  // see is_about_bytes
};

// In the order of the codes.
constexpr CodeFacts kCodes[] = {
    {"truncated", EIO, true},
    {"bad signature", EIO, true},
    {"unsupported version", EOPNOTSUPP, true},
    {"unsupported", EOPNOTSUPP, false},
    {"checksum mismatch", EIO, true},
    {"invalid value", EIO, true},
    {"out of range", EIO, true},
    {"limit exceeded", EIO, true},
    {"cycle", EIO, true},
    {"filter failed", EIO, true},
    {"read error", EIO, false},
    {"not found", ENOENT, false},
    {"access denied", EACCES, false},
    {"too large", EFBIG, false},
    {"stale", ESTALE, false},
    {"interrupted", EINTR, false},
    {"timed out", ETIMEDOUT, false},
    {"too much work", EFBIG, false},
    {"out of memory", ENOMEM, false},
    {"too much memory", ENOMEM, false},
    {"internal error", EIO, false},
};
static_assert(std::size(kCodes) == static_cast<std::size_t>(ErrorCode::Internal) + 1);

const CodeFacts& facts_of(ErrorCode code) {
  return kCodes[static_cast<std::size_t>(code)];
}

template <class Info, class Change>
std::shared_ptr<const Info> changed(const Info& info, Change change) {
  auto copy = std::make_shared<Info>(info);
  change(*copy);
  return copy;
}

}  // namespace

std::string_view error_code_name(ErrorCode code) {
  return facts_of(code).name;
}

bool is_about_bytes(ErrorCode code) {
  return facts_of(code).about_bytes;
}

int to_errno(ErrorCode code) {
  return facts_of(code).error;
}

Error::Error(ErrorCode code, std::string_view structure, std::string_view field, std::uint64_t offset)
    : info_(std::make_shared<const Info>(
          Info{.code = code, .structure = structure, .field = field, .offset = offset})) {}

Error::Error(ErrorCode code, std::string message)
    : info_(std::make_shared<const Info>(Info{.code = code, .detail = std::move(message)})) {}

Error Error::with_expected(std::uint64_t value) const {
  return Error(changed(*info_, [&](Info& i) { i.expected = value; }));
}
Error Error::with_found(std::uint64_t value) const {
  return Error(changed(*info_, [&](Info& i) { i.found = value; }));
}
Error Error::with_detail(std::string text) const {
  return Error(changed(*info_, [&](Info& i) { i.detail = std::move(text); }));
}
Error Error::within(std::string_view structure, std::uint64_t address) const {
  return within(fmt::format("{} at {:#x}", structure, address));
}
Error Error::within(std::string place) const {
  return Error(changed(*info_, [&](Info& i) { i.places.push_back(std::move(place)); }));
}
Error Error::of(std::string_view structure, std::string_view field, std::uint64_t offset) const {
  return Error(
      changed(*info_, [&](Info& i) { i.structure = structure, i.field = field, i.offset = offset; }));
}

ErrorCode Error::code() const {
  return info_->code;
}
std::string_view Error::structure() const {
  return info_->structure;
}
std::string_view Error::field() const {
  return info_->field;
}
std::uint64_t Error::offset() const {
  return info_->offset;
}

int Error::errno_value() const {
  return info_->code == ErrorCode::Io && info_->system_errno != 0 ? info_->system_errno
                                                                  : to_errno(info_->code);
}

int Error::system_errno() const {
  return info_->system_errno;
}

int Error::verdict() const {
  return info_->verdict;
}

std::string Error::text() const {
  const Info& i = *info_;
  std::string out;
  if (!i.structure.empty()) {
    out += i.structure;
    if (!i.field.empty()) out += fmt::format(".{}", i.field);
    if (i.offset != std::numeric_limits<std::uint64_t>::max()) out += fmt::format(" at {:#x}", i.offset);
    out += ": ";
    out += error_code_name(i.code);
  } else {
    out = i.detail.empty() ? std::string(error_code_name(i.code)) : i.detail;
  }
  if (i.found) out += fmt::format(": {:#x}", *i.found);
  if (i.expected) out += fmt::format(", expected {:#x}", *i.expected);
  if (!i.structure.empty() && !i.detail.empty()) out += fmt::format(", {}", i.detail);
  for (const auto& place : i.places) out += fmt::format("; in {}", place);
  return out;
}

Error io_error(int errno_value, std::string what) {
  Error error(ErrorCode::Io, fmt::format("{}: {}", what, std::strerror(errno_value)));
  auto info = std::make_shared<Error::Info>(*error.info_);
  info->system_errno = errno_value;
  return Error(std::shared_ptr<const Error::Info>(std::move(info)));
}

Error refused_error(int verdict, std::string what) {
  return Error(std::make_shared<const Error::Info>(
      Error::Info{.code = ErrorCode::AccessDenied, .detail = std::move(what), .verdict = verdict}));
}

namespace {
// Made when the program starts, as there may be no memory for it later; threads that outlive `main` use it.
const Error& g_no_memory = *new Error(ErrorCode::OutOfMemory, "there is no memory for it");
}  // namespace

Error no_memory() noexcept {
  return g_no_memory;
}

bool is_momentary(const Error& error) {
  switch (error.code()) {
    case ErrorCode::Io:
      return salvage_mode() == SalvageMode::Off || !is_of_range(error);
    case ErrorCode::Interrupted:
    case ErrorCode::TimedOut:
    case ErrorCode::OutOfMemory:
    case ErrorCode::Internal:
      return true;
    default:
      return false;
  }
}

bool is_of_range(const Error& error) {
  switch (error.system_errno()) {
    case EIO:
    case ENODATA:  // a medium that is damaged
    case EREMOTEIO:
    case EILSEQ:
    case EBADMSG:  // a file system whose own checksums are wrong
    case EUCLEAN:
      return error.code() == ErrorCode::Io;
    default:
      return false;
  }
}

}  // namespace h5mount
