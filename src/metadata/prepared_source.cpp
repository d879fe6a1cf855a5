#include "h5mount/metadata/prepared_source.h"

#include "h5mount/io/remarks.h"

namespace h5mount::metadata {
namespace {

PrepareSource& preparation() {
  static PrepareSource prepare;
  return prepare;
}

}  // namespace

void prepare_sources(PrepareSource prepare) {
  preparation() = std::move(prepare);
}

Result<std::shared_ptr<io::ByteSource>> prepared_source(const std::shared_ptr<io::ByteSource>& file) {
  if (!preparation() || io::remarks_of(file.get()) != nullptr) return file;
  return preparation()(file);
}

}  // namespace h5mount::metadata
