// Views under /.h5 of files that a test writes with h5py, held against h5py and NumPy by Python statements.
#pragma once

#include <sstream>

#include "h5py_directory.h"

namespace h5mount::test {

class ViewsTest : public H5pyDirectoryTest {
 protected:
  // Python statements create `f`; a process of its own then writes it in SWMR mode: step `n` of it runs when
  // the check's advance(n) asks for it, and the file stays open until finish().
  void write_growing(const std::string& create, const std::string& step) const {
    std::ofstream(place / "step") << step;
    const std::string writer = source_root() / "tests/mount/fixtures/growing_writer.py";
    write("with h5py.File('f.h5', 'w', libver='latest') as f:\n" + indented(create, 4) +
          "\n    f.swmr_mode = True\nimport subprocess, time\nwriter = ['/usr/bin/python3', '" + writer +
          R"(', open('step').read()]
subprocess.Popen(writer, stdout=subprocess.DEVNULL, start_new_session=True)
while not os.path.exists('ready'): time.sleep(.01)
)");
  }

  // Runs a program of fixtures/ with the mount's .h5 and the file `f.h5`, which h5py opens.
  Outcome check_by(const std::string& program) const {
    return checked((source_root() / "tests/mount/fixtures" / program).string());
  }
  // The same for a few statements, with all that fixtures/mounted.py has.
  Outcome check(const std::string& statements) const {
    std::ofstream(place / "check.py") << "import h5py\nfrom mounted import *\n" << statements;
    return checked((place / "check.py").string());
  }

 private:
  Outcome checked(const std::string& program) const {
    return run(fixture_python() + program + " " + mount.path(".h5") + " " + (place / "f.h5").string(), 120);
  }
  static std::string indented(const std::string& lines, std::size_t by) {
    std::string out;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) out += std::string(by, ' ') + line + '\n';
    return out;
  }
};

}  // namespace h5mount::test

#define H5MOUNT_CHECK_GAVE(outcome)                  \
  do {                                               \
    const ::h5mount::test::Outcome seen = (outcome); \
    EXPECT_EQ(seen.code, 0) << seen.out << seen.err; \
  } while (false)
#define H5MOUNT_CHECK(statements) H5MOUNT_CHECK_GAVE(check(statements))
#define H5MOUNT_CHECK_BY(program) H5MOUNT_CHECK_GAVE(check_by(program))

// A test whose file the program `writer` makes and whose mount `checker` holds against it, both of fixtures/.
#define TEST_VIEW(suite, name, writer, checker) \
  TEST_F(suite, name) {                         \
    write_by(writer);                           \
    ASSERT_TRUE(mounts("f.h5")) << said;        \
    H5MOUNT_CHECK_BY(checker);                  \
  }
