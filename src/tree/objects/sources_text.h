// user.hdf5.sources: the files that a virtual dataset or one of external raw data names, as JSON.
//
//   [{"file":"a.h5","dataset":"/x","state":"found"},
//    {"file":"b.h5","dataset":"/x","state":"missing","reason":"…"},
//    {"file":"part-%b.h5","dataset":"/x","state":"found","numbered":12},{"left_out":4000}]
//
// `state` is found, missing or refused; a file that was found and cannot be read has a reason too. A name
// with %b stands for `numbered` files, counted from 0 on. Raw files have no dataset. A last element
// counts the files that would make the value too long.
#pragma once

#include <string>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::tree {

inline constexpr std::size_t kMaxListedSources = 1024;  // each is opened to know its state

std::string sources_text(const dataset::NamedSources& sources, std::size_t most_bytes);

}  // namespace h5mount::tree
