// References: where the chunks of a dataset's array in a store of stored chunks lie in files, for readers of
// Zarr that take them from there themselves. A chunk whose bytes no file holds as that store shows them is
// made, and handed on with the references. Threads: any.
#pragma once

#include <functional>
#include <string>

#include "h5mount/view/zarr.h"

namespace h5mount::view {

// Where an array's chunks come from.
enum class ReferenceForm : std::uint8_t {
  Chunks,   // chunks of the file; some may have to be made
  Runs,     // runs of the image, which files hold as they are
  Made,     // all are made, as there is no range that readers could take: compact data, strings, padding
  Decoded,  // all are made, as no codec of the readers decodes what is stored
};
struct ReferenceRule {
  ReferenceForm form;
  std::string reason = {};  // of Made and Decoded: why, a short phrase
  bool all_made() const { return form == ReferenceForm::Made || form == ReferenceForm::Decoded; }
};
// Pure: from the description alone. `dataset`: of a type that zarr_type accepts. `encoding`: one of stored
// chunks.
ReferenceRule reference_rule(const object::DatasetDescription& dataset, ZarrEncoding encoding);

struct ReferencedChunk {
  std::uint64_t number = 0;  // in the array's grid, row-major
  // The file that holds the chunk's bytes [offset, offset + length); null: the chunk is made. Bytes behind
  // the array's extent are undefined.
  const io::ByteSource* file = nullptr;
  std::uint64_t offset = 0, length = 0;
  // Of a chunk that is made: all elements are the same one, for every chunk of the array that is marked so,
  // as nothing in it was ever written, or as all of it is behind the end of the dataset.
  enum Constant : std::uint8_t { kNone, kUnwritten, kPadding };
  Constant constant = kNone;
};

// Bytes as they stand in references that are JSON: a string of base64.
std::string base64_text(ByteSpan bytes);

// The references of one state of a dataset.
class ReferencedArray {
 public:
  // `source`: the dataset as the store shows it. Fails as ZarrArray::of does. Opens the sources of a virtual
  // dataset.
  static Result<ReferencedArray> of(ViewInput source, ZarrEncoding encoding, RequestBudget& budget);

  const ZarrArray& array() const { return array_; }
  const ReferenceRule& rule() const { return rule_; }
  // With the chunks of the sources if they are those of a virtual dataset: the array is then another one than
  // that of the store, whose grid does not depend on them.
  const object::DatasetDescription& dataset() const { return source_.reader->description(); }
  bool of_sources() const { return of_sources_; }

  // Visits the chunks [begin, end), cut at the array's end, in the order of their numbers; reads the index,
  // and no data. An error of a visit ends the walk and is returned.
  using Visit = std::function<Status(const ReferencedChunk&)>;
  Status for_each(std::uint64_t begin, std::uint64_t end, const Visit& visit, RequestBudget& budget) const;

  // The file of a chunk in the store.
  Result<ComputedFilePtr> made(std::uint64_t number, RequestBudget& budget) const;
  // The bytes of a chunk that is constant, compressed where the array has a compressor. Fails with TooLarge
  // if the chunk has more than 16 MiB.
  Result<std::string> constant(std::uint64_t number, RequestBudget& budget) const;

 private:
  ReferencedArray(ViewInput source, ZarrArray array);
  Status visit_chunks(std::uint64_t begin, std::uint64_t end, const Visit& visit,
                      RequestBudget& budget) const;
  Status visit_runs(std::uint64_t begin, std::uint64_t end, const Visit& visit, RequestBudget& budget) const;

  ViewInput source_;
  ZarrArray array_;
  ReferenceRule rule_;
  bool of_sources_ = false;
  std::uint64_t chunk_bytes_ = 0;  // as stored, without filters
};

}  // namespace h5mount::view
