// Cards as bytes. Decoding is safe on any bytes, and checks what users of types rely on. Pure; threads: any.
#pragma once

#include <functional>
#include <vector>

#include "h5mount/join/card.h"

namespace h5mount::join {

std::vector<std::byte> encode_member(const MemberCard& member);
Result<MemberCard> decode_member(ByteSpan bytes);

std::vector<std::byte> encode_card(const FileCard& card, const Axis& axis);
// `member`: gives the card of a member from its bytes.
Result<FileCard> decode_card(ByteSpan bytes, const Axis& axis,
                             const std::function<Result<MemberCardPtr>(ByteSpan)>& member);

}  // namespace h5mount::join
