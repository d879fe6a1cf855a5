#include "h5mount/dataset/pieces.h"

#include <cstring>

#include "h5mount/base/momentary.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::dataset {

bool Pieces::add_mapped(const io::ByteSource& source, std::uint64_t address, std::uint64_t length,
                        std::shared_ptr<const void> owner, const MappedBytes* of) {
  const ByteSpan bytes = source.mapped(address, length);
  if (bytes.empty()) return false;
  total_ += bytes.size();
  pieces_.push_back({bytes, std::move(owner), &source, address, of});
  return true;
}

Status copy_pieces(std::span<const Piece> pieces, MutableByteSpan out) {
  for (const Piece& piece : pieces) {
    const MutableByteSpan to = out.first(piece.bytes.size());
    if (piece.kernel_only())
      H5_TRY(noted_read(piece.mapped_from->read_at(piece.address, to)));
    else
      std::memcpy(to.data(), piece.bytes.data(), to.size());
    if (piece.of != nullptr) H5_TRY(piece.of->confirm_unchanged());
    out = out.subspan(to.size());
  }
  return {};
}

}  // namespace h5mount::dataset
