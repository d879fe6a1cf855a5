// What the writer's values are, by their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace h5mount::test {

inline std::uint16_t frame_value(std::uint64_t frame, std::uint64_t element) {
  return static_cast<std::uint16_t>(frame * 2654435761U + element * (frame % 97 + 1));
}

// The bytes of /frames.
inline std::string frames_image(std::uint64_t frames, std::uint64_t elements) {
  std::string out;
  out.reserve(frames * elements * 2);
  for (std::uint64_t f = 0; f < frames; ++f)
    for (std::uint64_t i = 0; i < elements; ++i) {
      const std::uint16_t value = frame_value(f, i);
      out += static_cast<char>(value & 0xFF);
      out += static_cast<char>(value >> 8);
    }
  return out;
}

// The text of /lines and of /events.
inline std::string lines_text(std::uint64_t count) {
  std::string out;
  for (std::uint64_t i = 0; i < count; ++i)
    out += "line " + std::to_string(i) + " of the log" + std::string(i % 13, '*') + "\n";
  return out;
}

inline std::string events_text(std::uint64_t count) {
  std::string out;
  for (std::uint64_t i = 0; i < count; ++i) {
    out += "{\"time\":" + std::to_string(i) + ",\"hits\":[";
    for (std::uint64_t hit = 0; hit < i % 5; ++hit)
      out += (hit == 0 ? "" : ",") + std::to_string(i * 10 + hit);
    out += "]}\n";
  }
  return out;
}

}  // namespace h5mount::test
