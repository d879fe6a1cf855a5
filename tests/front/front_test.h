// A directory of HDF5 files written with h5py, and the program's commands over them. Nothing is mounted.
#pragma once

#include "mount/command.h"

namespace h5mount::test {

class FrontTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int counter = 0;
    place = scratch() / ("front" + std::to_string(counter++));
    std::filesystem::create_directory(place);
  }

  // Runs Python statements in the directory, with `f` = the file f.h5 to be written.
  void write(const std::string& statements) const {
    const Outcome made = python("with h5py.File('f.h5', 'w') as f:\n    pass\nf = h5py.File('f.h5', 'r+')\n" +
                                statements + "\nf.close()");
    ASSERT_EQ(made.code, 0) << made.err;
  }
  Outcome python(const std::string& statements) const {
    return in(
        "/usr/bin/python3 - <<'END'\nimport h5py, json, numpy as np, os, subprocess, sys, tarfile, time\n" +
        statements + "\nEND");
  }
  // A shell command in the directory.
  Outcome in(const std::string& command, int seconds = 60) const {
    return run("cd " + place.string() + " && " + command, seconds);
  }

  std::filesystem::path place;
};

}  // namespace h5mount::test
