// Snappy by libsnappy, which only old Blosc chunks use.
#include "codecs.h"
#include "filters.h"

#if H5MOUNT_HAVE_SNAPPY
#include <snappy-c.h>
#endif

namespace h5mount::filter {

#if H5MOUNT_HAVE_SNAPPY
Result<std::size_t> decode_snappy(ByteSpan in, MutableByteSpan out) {
  std::size_t size = out.size();  // libsnappy rejects a stream that declares more
  const auto result = snappy_uncompress(reinterpret_cast<const char*>(in.data()), in.size(),
                                        reinterpret_cast<char*>(out.data()), &size);
  if (result != SNAPPY_OK) return failed("snappy", "the stream is damaged or larger than declared");
  return size;
}
#else
Result<std::size_t> decode_snappy(ByteSpan, MutableByteSpan) {
  return not_built_in("Snappy", "libsnappy");
}
#endif

}  // namespace h5mount::filter
