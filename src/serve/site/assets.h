// The files of the page, which the build embeds from src/serve/page.
//
// The page is H5Web's application over the interface below /api/. npm installs its packages by a lock file
// when the build is configured (scripts/npm_packages.py), esbuild makes one bundle of them and page.jsx
// (build.mjs), and scripts/embed_files.py embeds it compressed. Its policy forbids scripts that make code,
// which the packages `ndarray` and `ndarray-ops` do, so ndarray.mjs is in their place. The page's fetcher
// sees every answer: what H5Web would take too long for (overview.jsx, and image.jsx, which asks with
// `reduce=`) or cannot show (palettes) is drawn above its application, which waits for the data until a
// button lets it; the plot of a group takes its data as they are. Dates of axes (times.mjs) are put into
// `@h5web/lib` when the bundle is made, as no property of the application reaches them.
#pragma once

#include <span>
#include <string_view>

namespace h5mount::serve {

struct Asset {
  std::string_view name, content;
};
std::span<const Asset> page_assets();

}  // namespace h5mount::serve
