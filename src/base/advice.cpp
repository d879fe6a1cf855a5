#include "h5mount/base/advice.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>

#include "h5mount/base/structures.h"

namespace h5mount {
namespace {

std::atomic<SalvageMode> g_salvage{SalvageMode::Off};

// The things that module `salvage` could do about damage that an ordinary reader met: show more, where such a
// structure is damaged, or no more than give the fill value.
enum class SalvageHelp : std::uint8_t { None, Shows, Fills };

SalvageHelp salvage_help_for(const Error& error) {
  if (error.code() == ErrorCode::FilterFailed) return SalvageHelp::Fills;
  if (!is_about_bytes(error.code()) || error.code() == ErrorCode::LimitExceeded) return SalvageHelp::None;
  if (structures::holds_data(error.structure())) return SalvageHelp::Fills;
  return structures::is_rebuilt(error.structure()) ? SalvageHelp::Shows : SalvageHelp::None;
}

std::string_view advice_on_system_error(int why) {
  switch (why) {
    case EIO:
      return "the device did not give it: see the kernel's log (dmesg), and go on with a copy of the file";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
      return "end other programs, or use less with cache_size=";
    default:
      return {};
  }
}

}  // namespace

void set_salvage_mode(SalvageMode mode) {
  g_salvage.store(mode, std::memory_order_relaxed);
}

SalvageMode salvage_mode() {
  return g_salvage.load(std::memory_order_relaxed);
}

std::string_view salvage_advice_on(const Error& error) {
  const SalvageHelp help = salvage_help_for(error);
  if (help == SalvageHelp::Shows && salvage_mode() == SalvageMode::Off)
    return "h5mount -o salvage shows what can still be known of a damaged file";
  if (help == SalvageHelp::Fills && salvage_mode() != SalvageMode::Fill)
    return "h5mount -o salvage=fill gives the fill value for what is gone";
  return {};
}

std::string_view advice_on(const Error& error) {
  if (error.code() == ErrorCode::FilterFailed)
    return salvage_mode() == SalvageMode::Fill
               ? "what its other chunks hold can be read in parts, as with /.h5/slice"
               : "what its other chunks hold can be read in parts, as with /.h5/slice, or h5mount -o "
                 "salvage=fill gives the fill value for this one";
  if (const std::string_view advice = salvage_advice_on(error); !advice.empty()) return advice;
  switch (error.code()) {
    case ErrorCode::LimitExceeded:
    case ErrorCode::BudgetExceeded:
      return "that is beyond what h5mount does for a file (LIMITS in man h5mount)";
    case ErrorCode::OutOfMemory:
    case ErrorCode::TooMuchMemory:
      return "h5mount's option cache_size= with a larger size allows more";
    case ErrorCode::Internal:
      return "this is a fault of h5mount: please report it";
    case ErrorCode::Io:
      if (is_of_range(error) && structures::is_rebuilt(error.structure()) &&
          salvage_mode() == SalvageMode::Off)
        return "the device did not give it: see the kernel's log (dmesg), and go on with a copy of the file; "
               "h5mount -o salvage shows what can be known without it";
      return advice_on_system_error(error.system_errno());
    default:
      return {};
  }
}

std::string text_with_advice(const Error& error) {
  const std::string_view advice = advice_on(error);
  return advice.empty() ? error.text() : fmt::format("{}; {}", error.text(), advice);
}

}  // namespace h5mount
