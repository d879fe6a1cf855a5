// What a convention says that the elements of a dataset mean, from the dataset's attributes: packed numbers,
// fill values. Views show it as they show datasets. Pure but for the attributes, which are read. Threads:
// any.
//
// To add a convention: a function like those of meaning/conventions.h in a file of its own, and a line of the
// table in decoding.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "h5mount/dataset/derivation.h"
#include "h5mount/text/value_text.h"

namespace h5mount::meaning {

struct Decoding {
  // What was applied: JSON, the value of user.hdf5.decoded.
  std::string text;
  // By dataset::ShownAs; null: the elements as they are stored. Those of tables tell which values are missing
  // (DatasetDescription::masks), and are of one or two dimensions.
  std::array<dataset::DerivationPtr, 4> derivations = {};
  std::string fill = {};  // of integers that stay so: the number that stands for missing ones; or empty
  bool bytes_are_lines = false;  // the values have no other bytes than their text
  bool changes_shape = false;    // a selection is one of the values, and not of the elements
  // Why the object is shown as it is stored, although the convention says what it is: a short phrase.
  std::string undecoded = {};

  // For the dataset, or a part of it; null: the elements as they are stored.
  dataset::DerivationPtr derivation(const object::DatasetDescription& part, dataset::ShownAs form) const;
};

struct Subject {
  const object::Object& object;
  const object::DatasetDescription& dataset;
  const text::ValueContext& values;  // of the object's file
  // For what is said by the elements of others (coordinates); null: nothing is.
  const dataset::ReadEnvironment* environment = nullptr;
  object::OpenedFilePtr file = nullptr;
};

// Returns nullopt if no convention speaks of the dataset. Errors are those of reading attributes.
Result<std::optional<Decoding>> decoding_of(const Subject& subject);

// The class that MATLAB has an object of, a group too; empty: none. Errors are those of reading attributes.
Result<std::string> matlab_class(const metadata::FileMetadata& file, const object::Object& object);
// What is said of any object of a class; what its elements mean is said by decoding_of alone.
Decoding matlab_named(std::string_view cls);

}  // namespace h5mount::meaning
