// Programs in Python that talk to a server, which is the program itself.
#pragma once

#include <fstream>
#include <string>

#include "front/front_test.h"
#include "h5mount/serve/server.h"

namespace h5mount::test {

class ServeCommand : public FrontTest {
 protected:
  void SetUp() override {
    if (!serve::can_serve()) GTEST_SKIP() << "built without libmicrohttpd";
    FrontTest::SetUp();
  }
  // Statements, with all that serving.py has. As a file, so that a failure shows its line.
  void check(const std::string& statements) const {
    std::ofstream(place / "test.py") << "import gzip, socket, sys, threading, urllib.request\n"
                                        "from serving import *\n"
                                     << statements;
    const std::string tests = (source_root() / "tests").string();
    const Outcome out =
        in("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + tests + "/serve:" + tests + " /usr/bin/python3 test.py");
    EXPECT_EQ(out.code, 0) << out.err;
  }
  void write_example() const { check("write_example()"); }
};

}  // namespace h5mount::test
