// The files of the page, which the build embeds from src/serve/page.
#pragma once

#include <span>
#include <string_view>

namespace h5mount::serve {

struct Asset {
  std::string_view name, content;
};
std::span<const Asset> page_assets();

}  // namespace h5mount::serve
