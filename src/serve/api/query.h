// The parameters of a request to the API, as forms encode them: `+` is a space, percent-encoded bytes may be
// any. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h5mount::serve {

class ApiQuery {
 public:
  explicit ApiQuery(std::string_view query) : query_(query) {}

  // The first parameter of that name; nullopt if there is none.
  std::optional<std::string> get(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  // True for any value but `false`, as h5grove reads it.
  bool is_true(std::string_view name) const;

 private:
  std::string_view query_;
};

}  // namespace h5mount::serve
