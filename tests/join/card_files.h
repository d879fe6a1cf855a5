// Cards of files that tests write. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include "h5mount/join/card.h"
#include "support/h5py_file.h"

namespace h5mount::join {

inline dataset::ReadEnvironment environment_of(std::shared_ptr<object::FileSet> files) {
  static const auto workers = std::make_shared<cache::WorkerPool>(1);
  static const auto cache = std::make_shared<cache::BlockCache>(64U << 20);
  return {cache, workers, std::move(files)};
}

inline Result<FileCardPtr> try_card(CardMaker& maker, std::shared_ptr<io::ByteSource> source,
                                    std::string path = "a.nc") {
  H5_ASSIGN(auto files, object::FileSet::open(std::move(source), {}));
  FileCard card;
  card.path = std::move(path);
  card.identity = 7, card.stamp = 8, card.size = 9;
  RequestBudget budget;
  return maker.make(environment_of(std::move(files)), std::move(card), budget);
}

inline FileCardPtr card_of(CardMaker& maker, const std::vector<std::byte>& bytes, std::string path = "a.nc") {
  auto card = try_card(maker, io::make_memory_source(bytes), std::move(path));
  if (!card) throw std::runtime_error(card.error().text());
  return *card;
}

// `script` fills `d`, a dataset of netCDF4-python.
inline std::vector<std::byte> netcdf_file(const std::string& script) {
  return test::written_with_h5py("f.close()\nimport netCDF4\nd = f = netCDF4.Dataset(sys.argv[1], 'w')\n" +
                                 script);
}

inline const MemberCard& member(const FileCardPtr& card, std::string_view path) {
  const MemberCardPtr* const found = card->find(path);
  if (found == nullptr) throw std::runtime_error("no member " + std::string(path));
  return **found;
}

inline Axis axis_named(std::string_view text) {
  return parse_axis(text).value();
}

}  // namespace h5mount::join
