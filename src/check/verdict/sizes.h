// Sizes: what datasets claim to hold, what of it is stored, and how many chunks there are. Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <string>

#include "../walk.h"
#include "findings.h"

namespace h5mount::check {

class Sizes {
 public:
  Sizes(const Policy& policy, Findings& findings) : policy_(policy), findings_(findings) {}

  void judge_shape(const std::string& place, const object::DatasetParts& dataset);
  void judge_type(const Places& places, PlaceId place, const format::Datatype& type);
  void judge_filters(const std::string& place, std::span<const format::FilterDescription> filters);

  // The bytes that a reader makes of a dataset: its elements, or all of the chunks that it decodes for them.
  static double claimed_by(const object::DatasetDescription& dataset, std::uint64_t chunks);
  // Bytes that a reader of `place` gets, for those that are stored. 0 are stored: all are made up.
  void judge_expansion(const std::string& place, double claimed, std::uint64_t stored);
  // The same for the whole file, at the end: `claimed` beside those of datasets.
  void judge_file(std::uint64_t claimed, std::uint64_t stored_bytes);

 private:
  void judge_parameters(const std::string& place, const object::DatasetDescription& dataset);
  void judge_chunks(const std::string& place, const object::DatasetDescription& dataset);
  void judge_claim(const std::string& place, double claimed, double stored);

  const Policy& policy_;
  Findings& findings_;
  double claimed_ = 0;        // by all datasets
  double tiny_ = 0;           // chunks
  double most_tiny_ = 0;      // of one dataset, which is
  std::string most_tiny_at_;  // this one
};

}  // namespace h5mount::check
