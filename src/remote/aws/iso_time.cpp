#include "iso_time.h"

#include <cstdio>
#include <cstring>
#include <ctime>

namespace h5mount::remote {

std::int64_t seconds_of_time(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  const std::int64_t seconds = ::timegm(&parts);
  rest += std::strspn(rest, ".0123456789");
  char sign = '+';
  int hours = 0, minutes = 0;
  if (std::sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) < 2) return seconds;
  const int offset = hours * 3600 + minutes * 60;
  return sign == '-' ? seconds + offset : seconds - offset;
}

}  // namespace h5mount::remote
