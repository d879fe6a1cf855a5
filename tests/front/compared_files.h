// Datasets and attributes of a file that h5py writes, compared with each other.
#pragma once

#include <gtest/gtest.h>

#include "diff/compare_values.h"
#include "h5mount/dataset/stored_chunks.h"
#include "h5mount/object/file_set.h"
#include "mount/command.h"
#include "support/h5py_file.h"

namespace h5mount::front {

class ComparedFile {
 public:
  explicit ComparedFile(const std::string& path, unsigned threads = 2)
      : workers_(std::make_shared<cache::WorkerPool>(threads)) {
    auto files = object::FileSet::open(path, object::ExternalAccess(object::ExternalPolicy::None),
                                       metadata::MetadataOptions{});
    EXPECT_TRUE(files) << files.error().text();
    environment_ = {std::make_shared<cache::BlockCache>(64U << 20), workers_, *files};
    tree_ = *tree::Tree::make(environment_, {});
  }

  tree::FileObjectPtr object(std::string_view name) const {
    const auto root = tree_->root_object(tree::kRootNode, Unbounded());
    EXPECT_TRUE(root) << root.error().text();
    const auto link = (*root)->find_link(name, Unbounded());
    EXPECT_TRUE(link) << name << ": " << link.error().text();
    const auto object = (*root)->follow(*link, Unbounded());
    EXPECT_TRUE(object) << name << ": " << object.error().text();
    return *object;
  }
  cache::WorkerPool& workers() const { return *workers_; }
  Counters& counters() const { return *environment_.counters; }

 private:
  std::shared_ptr<cache::WorkerPool> workers_;
  dataset::ReadEnvironment environment_;
  std::shared_ptr<tree::Tree> tree_;
};

struct CompareOptions {
  Tolerance tolerance = {};
  std::uint64_t first = 10;
  std::uint64_t steps = std::uint64_t{1} << 40;
};

inline Result<DifferentValues> compared(const ComparedFile& file_a, std::string_view a,
                                        const ComparedFile& file_b, std::string_view b,
                                        const CompareOptions& options = {}) {
  const auto object_a = file_a.object(a), object_b = file_b.object(b);
  H5_ASSIGN(const auto of_a, object_a->description(Unbounded()));
  H5_ASSIGN(const auto of_b, object_b->description(Unbounded()));
  const auto comparison = ElementComparison::make(of_a->type, of_b->type, options.tolerance);
  if (!comparison) return fail({ErrorCode::InvalidValue, "the types differ"});
  RequestBudget budget({options.steps, RequestBudget::unbounded().time});
  return compare_elements(*comparison, *object_a, *object_b, options.first, file_a.workers(), budget);
}

// `3 of [0]=1/2 [1]=1/3 …`, or the error.
inline std::string text_of(const Result<DifferentValues>& values) {
  if (!values) return "error: " + values.error().text();
  std::string out = std::to_string(values->count);
  for (const DifferentPlace& place : values->first) {
    out += " [";
    for (const std::uint64_t index : place.index) {
      if (!out.ends_with('[')) out += ',';
      out += std::to_string(index);
    }
    out += "]=" + place.a + "/" + place.b;
  }
  for (const auto& failure : {values->failure_a, values->failure_b})
    if (failure) out += " failed: " + failure->text();
  return out;
}

}  // namespace h5mount::front
