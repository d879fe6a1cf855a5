// A client of S3's, for tests of --serve --s3.
#pragma once

#include "serve_fixture.h"

namespace h5mount::test {

class ServeS3 : public ServeCommand {
 protected:
  void check_s3(const std::string& statements) const {
    check("import hashlib, hmac, re\nfrom s3_client import *\n" + statements);
  }
};

}  // namespace h5mount::test
