// Names of virtual sources: `%b` stands for a block's number, `%%` for a percent sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace h5mount::dataset {

bool has_block_number(std::string_view name);
std::string numbered_name(std::string_view name, std::uint64_t block);
std::string plain_name(std::string_view name);  // replaces `%%` by `%`

}  // namespace h5mount::dataset
