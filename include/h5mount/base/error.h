// Errors are values. An Error says what was wrong (code), where in the format (structure, field), where in
// the file (absolute byte offset), what was expected and what was found, and callers add the enclosing
// structure and its address (`within`). The message is formatted only when it is shown.
//
// Threads: an Error is immutable once built and cheap to copy (the waiters of one failed decode share it);
// `with_*` and `within` return new ones.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h5mount {

enum class ErrorCode : std::uint8_t {
  Truncated,           // the file or the structure ends before the bytes that it declares
  BadSignature,        // the signature is not that of the expected structure
  UnsupportedVersion,  // a version that the format does not define, or that this reader does not know
  UnsupportedFeature,  // valid, but this build cannot read it (a filter that is not available)
  ChecksumMismatch,    // the stored checksum does not match the bytes
  InvalidValue,        // a field holds a value that the format forbids
  OutOfRange,          // an address or index lies outside its valid range
  LimitExceeded,       // allowed by the format, above a bound of base/limits.h
  Cycle,               // a structure refers back to itself
  FilterFailed,        // a chunk's bytes could not be decoded
  Io,                  // a read failed in the system; errno_value() says why
  NotFound,            // no such link, attribute or object
  AccessDenied,        // the policy forbids opening the file that is named
  TooLarge,            // larger than a file can be (2^63 bytes)
  Stale,               // the source was replaced, cut or rewritten while in use
  Interrupted,         // the front end asked the request to end
  TimedOut,            // the request waited too long
  BudgetExceeded,      // the request would cause too much work (base/request_budget.h)
  OutOfMemory,         // there is no memory for it now
  TooMuchMemory,       // it needs more memory than any request is given (cache_size=)
  Internal,            // a bug in h5mount
};

std::string_view error_code_name(ErrorCode code);

// True for errors in the bytes of a file, which another state of the file may not have.
bool is_about_bytes(ErrorCode code);

// The one mapping to errno, for FUSE replies and exit codes.
int to_errno(ErrorCode code);

class [[nodiscard]] Error {
 public:
  // `structure` and `field` are names of the specification with static storage ("FixedArrayHeader",
  // "data_block_address"); they are not copied. `offset` is the absolute file offset of the field.
  Error(ErrorCode code, std::string_view structure, std::string_view field, std::uint64_t offset);
  // An error that concerns no position in a file.
  Error(ErrorCode code, std::string message);

  // Refinements, each returning a changed copy: Error(...).with_found(v).with_expected(w).
  Error with_expected(std::uint64_t value) const;
  Error with_found(std::uint64_t value) const;
  Error with_detail(std::string text) const;  // any text: "beyond end of file 0x52000"
  Error within(std::string_view structure, std::uint64_t address) const;  // "in FractalHeapHeader at 0x…"
  Error within(std::string place) const;                                  // "in chunk index of /grid/t"
  // An error of the system that was met while this field of a structure was read.
  Error of(std::string_view structure, std::string_view field, std::uint64_t offset) const;

  ErrorCode code() const;
  std::string_view structure() const;
  std::string_view field() const;
  std::uint64_t offset() const;  // UINT64_MAX for an error without a position
  int errno_value() const;       // to_errno(code()); for Io the system's errno if it is known
  int system_errno() const;      // of io_error; else 0
  int verdict() const;           // of refused_error; else 0

  // `FixedArrayHeader.data_block_address at 0x1010: 0x7fff… beyond end of file 0x52000; in chunk index of /t`
  std::string text() const;

 private:
  friend Error io_error(int errno_value, std::string what);
  friend Error refused_error(int verdict, std::string what);
  struct Info;
  std::shared_ptr<const Info> info_;
  explicit Error(std::shared_ptr<const Info> info) : info_(std::move(info)) {}
};

// An Io error from errno.
Error io_error(int errno_value, std::string what);

// AccessDenied to a file for what it holds. `verdict`: why, as a number of check::VerdictCode, not 0.
Error refused_error(int verdict, std::string what);

// That there is no memory. It needs none itself, so it can be told where nothing may be thrown.
Error no_memory() noexcept;

// Whether the error tells of a moment and nothing of the bytes: no answer of a server or disk, no memory, no
// descriptor, no time. The same request may succeed a moment later, so nobody keeps such an error, nor what
// was made in spite of it (base/momentary.h): no node, no cached value, no recorded damage. What a disk fails
// to give is damage like any other where salvage goes on past it.
bool is_momentary(const Error& error);

// Whether the system failed to give one range of a local source, as of a disk with bad sectors: reading other
// ranges may succeed.
bool is_of_range(const Error& error);

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

}  // namespace h5mount

#define H5_CONCAT_INNER(a, b) a##b
#define H5_CONCAT(a, b) H5_CONCAT_INNER(a, b)

// H5_TRY(expr): returns the error of a Result/Status expression from the calling function.
#define H5_TRY(...)                                                               \
  do {                                                                            \
    if (auto h5_try_result = (__VA_ARGS__); !h5_try_result) [[unlikely]]          \
      return std::unexpected<::h5mount::Error>(std::move(h5_try_result).error()); \
  } while (false)

// H5_ASSIGN(auto header, load_header(address)): declares (or assigns) from a Result, or returns its error.
#define H5_ASSIGN(target, ...) H5_ASSIGN_INNER(H5_CONCAT(h5_assign_, __COUNTER__), target, __VA_ARGS__)
#define H5_ASSIGN_INNER(result, target, ...)                             \
  auto result = (__VA_ARGS__);                                           \
  if (!result) [[unlikely]]                                              \
    return std::unexpected<::h5mount::Error>(std::move(result).error()); \
  target = *std::move(result)
