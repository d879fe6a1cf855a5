// DatasetImage: the bytes of one dataset's file: its row-major image, or its text (text_image.h). What is made of a
// dataset on demand is kept here, and in a growing file made anew when the object is.
#pragma once

#include <memory>
#include <mutex>

#include "object_facts.h"
#include "text_image.h"

namespace h5mount {

Result<DatasetReaderPtr> open_reader(const FileView& file, const DatasetDescription& description);

class DatasetImage {
 public:
  DatasetImage(FileViewPtr file, std::uint64_t address) : file_(std::move(file)), address_(address) {}

  // Adds size and blocks to `stat`. Damage is no error here: the size is then 0.
  void measure(StatDepth depth, NodeStat& stat);

  // Exactly one of the two is set, and stays as it is while it is held.
  struct Bytes {
    DatasetReaderPtr raw;
    TextImagePtr text;
    std::uint64_t size() const { return raw ? raw->size() : text->size(); }
    Status read(std::uint64_t offset, std::uint64_t length, ReadPattern* pattern, Pieces& out) const {
      return raw ? raw->read(offset, length, pattern, out) : text->read(offset, length, out);
    }
  };
  Result<Bytes> bytes();

  bool grows() const { return file_->context().options.follow_growth; }

 private:
  // All that one state of the object gave.
  struct Version {
    explicit Version(OpenedObjectPtr opened) : object(std::move(opened)) {}
    OpenedObjectPtr object;
    JoinedOnce<DatasetReaderPtr> reader;
    JoinedOnce<TextImagePtr> text;
  };
  Result<std::shared_ptr<Version>> version();
  Result<DatasetReaderPtr> reader(Version& version);
  Result<TextImagePtr> text(Version& version);
  void measure_text(StatDepth depth, NodeStat& stat);
  void measure_blocks(StatDepth depth, const DatasetDescription& description, NodeStat& stat);

  FileViewPtr file_;
  std::uint64_t address_;
  std::mutex mutex_;
  std::shared_ptr<Version> version_;
};

}  // namespace h5mount
