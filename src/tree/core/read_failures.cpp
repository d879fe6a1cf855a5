#include "read_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "h5mount/base/request_budget.h"

namespace h5mount::tree {

namespace {

// Not what failed for a moment: the next read may succeed. What a disk does not give, and what takes more
// work than a request may cause, is kept until a read of it succeeds.
bool is_kept(const Error& error) {
  return error.code() == ErrorCode::BudgetExceeded || is_of_range(error) || !is_passing(error);
}

}  // namespace

// Returns null if no more datasets can be recorded.
ReadFailures::Record* ReadFailures::record_of(std::uint64_t address, std::uint64_t snapshot) {
  auto found = by_address_.find(address);
  if (found == by_address_.end()) {
    if (by_address_.size() >= kMaxDatasets) return nullptr;
    found = by_address_.emplace(address, Record{.snapshot = snapshot}).first;
  } else if (found->second.snapshot != snapshot) {
    found->second = Record{.snapshot = snapshot};
  }
  return &found->second;
}

void ReadFailures::note(std::uint64_t address, std::uint64_t snapshot, std::uint64_t offset,
                        const Error& error) {
  if (!is_kept(error)) return;
  const MutexLock lock(mutex_);
  Record* const record = record_of(address, snapshot);
  if (record == nullptr) return;
  if (!record->first) {
    record->first = error;
    record->offset = offset;
  }
  ++record->failures;
  ++changes_;
  any_.store(true, std::memory_order_relaxed);
}

void ReadFailures::note_success(std::uint64_t address, std::uint64_t begin, std::uint64_t end) {
  const MutexLock lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end() || !found->second.first) return;
  if (found->second.offset < begin || found->second.offset >= end) return;
  found->second.first.reset();
  found->second.failures = 0;
  ++changes_;
  any_.store(
      std::ranges::any_of(by_address_, [](const auto& entry) { return entry.second.first.has_value(); }),
      std::memory_order_relaxed);
}

std::optional<Error> ReadFailures::find(std::uint64_t address, std::uint64_t snapshot) const {
  const MutexLock lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end() || found->second.snapshot != snapshot) return std::nullopt;
  const Record& record = found->second;
  if (!record.first || record.failures == 1) return record.first;
  return record.first->within(fmt::format("the first of {} failed reads", record.failures));
}

std::uint64_t ReadFailures::note_missing(std::uint64_t address, std::uint64_t snapshot, std::uint64_t count) {
  const MutexLock lock(mutex_);
  Record* const record = record_of(address, snapshot);
  if (record == nullptr || count <= record->missing) return 0;
  return count - std::exchange(record->missing, count);
}

}  // namespace h5mount::tree
