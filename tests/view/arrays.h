// The file of fixtures/arrays.py.
#pragma once

#include "view_file.h"

namespace h5mount::test {

inline const ViewFile& arrays() {
  static const ViewFile file(written_by_program("view/fixtures/arrays.py"));
  return file;
}

}  // namespace h5mount::test
