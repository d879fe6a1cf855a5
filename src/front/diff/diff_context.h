// What all parts of one comparison share, and the place where it is. Threads: one.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/cache/worker_pool.h"
#include "h5mount/front/diff.h"
#include "ignored.h"
#include "report.h"

namespace h5mount::front {

class DiffContext {
 public:
  DiffContext(const DiffSide& a, const DiffSide& b, const DiffOptions& how, Output& out)
      : options(how),
        ignored(how.ignored),
        report(out, how.json),
        workers(std::max(how.threads, 1U)),
        a_(a),
        b_(b) {}

  const DiffOptions& options;
  const Ignored ignored;
  DiffReport report;
  cache::WorkerPool workers;

  // The paths at which both sides begin, without a leading `/`.
  void begin(std::string_view in_a, std::string_view in_b) {
    path_ = in_a.empty() ? "" : "/" + std::string(in_a);
    begin_a_ = path_.size();
    begin_b_ = in_b;
  }

  // ---- the place

  std::size_t length() const { return path_.size(); }
  void cut(std::size_t length) { path_.resize(length); }
  void enter(std::string_view shown) { path_.append("/").append(shown); }
  std::string_view path() const { return path_.empty() ? "/" : std::string_view(path_); }
  DiffPlace place(std::optional<std::string_view> attribute = {}) const { return {path(), attribute}; }

  // Something at the place could not be compared. `shown`: the attribute.
  void failed(Which side, const Error& error, std::string_view attribute = {}) {
    any_failed_ = true;
    std::string path = side == Which::A ? path_ : begin_b_ + path_.substr(begin_a_);
    path.erase(0, path.starts_with('/') ? 1 : 0);
    const Error told = attribute.empty() ? error : error.within("attribute " + std::string(attribute));
    (side == Which::A ? a_ : b_).failed(path, told);
  }
  bool any_failed() const { return any_failed_; }

 private:
  const DiffSide& a_;
  const DiffSide& b_;
  std::string path_;  // in A; empty: the root
  std::size_t begin_a_ = 0;
  std::string begin_b_;
  bool any_failed_ = false;
};

}  // namespace h5mount::front
