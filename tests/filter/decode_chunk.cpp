// Decodes chunks for scripts. Reads requests from stdin, as many as there are:
//   chunk_bytes mask stored_bytes filters {id values value…}… newline, then the stored bytes
// and answers each with "ok", newline and chunk_bytes bytes, or with "error …" and newline.
#include <cstdio>
#include <iostream>
#include <string>

#include "h5mount/filter/filter.h"

int main() {
  using namespace h5mount;
  filter::FilterScratch scratch;
  std::size_t chunk_bytes = 0, stored_bytes = 0, filters = 0;
  std::uint32_t mask = 0;
  while (std::cin >> chunk_bytes >> mask >> stored_bytes >> filters) {
    std::vector<filter::FilterSpec> specs(filters);
    for (filter::FilterSpec& spec : specs) {
      std::size_t values = 0;
      std::cin >> spec.id >> values;
      spec.client_data.resize(values);
      for (std::uint32_t& value : spec.client_data) std::cin >> value;
    }
    std::cin.get();
    std::string stored(stored_bytes, '\0');
    std::cin.read(stored.data(), static_cast<std::streamsize>(stored.size()));
    std::vector<std::byte> out(chunk_bytes);
    const auto pipeline = filter::FilterPipeline::make(specs, chunk_bytes);
    Status status;
    if (pipeline) {
      status = (*pipeline)->decode(as_bytes(stored), mask, out, scratch);
    } else {
      status = fail(pipeline.error());
    }
    if (status) {
      std::cout << "ok\n";
      std::cout.write(reinterpret_cast<const char*>(out.data()), static_cast<std::streamsize>(out.size()));
    } else {
      std::cout << "error " << status.error().text() << '\n';
    }
    std::cout.flush();
  }
}
