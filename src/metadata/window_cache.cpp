#include "window_cache.h"

#include <algorithm>

namespace h5mount::metadata {

bool WindowCache::copy_from(const Window& window, std::uint64_t number, std::uint64_t offset,
                            MutableByteSpan out) const {
  const std::uint64_t start = number * window_bytes_;
  const std::uint64_t from = std::max(start, offset);
  const std::uint64_t to = std::min(start + window_bytes_, offset + out.size());
  if (to - start > window.size()) return false;
  std::memcpy(out.data() + (from - offset), window.bytes().data() + (from - start),
              static_cast<std::size_t>(to - from));
  return true;
}

void WindowCache::ask_for_page(std::uint64_t offset) const {
  if (!pages_.are_larger_than(window_bytes_) || offset < pages_.base || offset >= source_->size()) return;
  ByteRange page = pages_.around(offset);
  page.end = std::min(page.end, source_->size());
  source_->will_read({&page, 1});
}

Status WindowCache::read(std::uint64_t snapshot, std::uint64_t offset, MutableByteSpan out, Among among) {
  if (out.empty()) return {};
  if (out.size() > window_bytes_ || offset > ~std::uint64_t{0} - 4 * window_bytes_) {
    if (among == Among::Structures) ask_for_page(offset);
    return source_->read_at(offset, out);
  }
  std::uint64_t first = offset / window_bytes_;
  std::uint64_t last = (offset + out.size() - 1) / window_bytes_;  // the first window or the one after it
  const auto held = [&](std::uint64_t number) {
    const auto window = windows_.find(snapshot, number);
    return window && copy_from(*window, number, offset, out);
  };
  const bool have_first = held(first);
  const bool have_last = first == last ? have_first : held(last);
  if (have_first && have_last) return {};
  if (have_first) first = last;
  if (have_last) last = first;
  if (among == Among::Structures)
    ask_for_page(first * window_bytes_ < offset ? offset : first * window_bytes_);
  return fetch(snapshot, first, last, offset, out);
}

// Reads windows `first` to `last` at once, so that a structure across their border costs one read.
Status WindowCache::fetch(std::uint64_t snapshot, std::uint64_t first, std::uint64_t last,
                          std::uint64_t offset, MutableByteSpan out) {
  const std::uint64_t start = first * window_bytes_;
  const std::uint64_t end = std::min((last + 1) * window_bytes_, source_->size());
  if (offset + out.size() > end && last * window_bytes_ + window_bytes_ > end)
    return source_->read_at(offset, out);
  const auto read = std::make_shared<Window>(static_cast<std::size_t>(end - start));
  if (!source_->read_at(start, read->bytes())) return source_->read_at(offset, out);
  for (std::uint64_t number = first; number <= last; ++number) {
    auto window = read;
    if (first != last) {
      const ByteSpan part = read->bytes().subspan(static_cast<std::size_t>((number - first) * window_bytes_));
      window = std::make_shared<Window>(std::min(part.size(), window_bytes_));
      std::ranges::copy(part.first(window->size()), window->bytes().begin());
    }
    if (!copy_from(*window, number, offset, out)) return source_->read_at(offset, out);
    windows_.insert(snapshot, number, window, window->size());
  }
  return {};
}

}  // namespace h5mount::metadata
