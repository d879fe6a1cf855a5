// Messages about files that are not HDF5.
#include "h5mount/base/foreign_format.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace h5mount::cli {
namespace {

using namespace std::string_literals;

std::string named(const std::string& head) {
  return foreign_format(head).value_or("");
}

TEST(ForeignFormat, MagicIsNamedWithItsCure) {
  EXPECT_NE(named("CDF\x05rest").find("nccopy"), std::string::npos);
  EXPECT_NE(named("\x0E\x03\x13\x01"s).find("h4toh5"), std::string::npos);
  EXPECT_NE(named(std::string(257, 'x') + "ustar").find("tar -xf"), std::string::npos);
  EXPECT_NE(named("\x89HDF\n\x1A\n").find("binary"), std::string::npos);
}

TEST(ForeignFormat, DocumentsMayBeginWithSpaceAndCapitals) {
  EXPECT_NE(named("\r\n  <!DOCTYPE html><html>").find("HTML"), std::string::npos);
  EXPECT_NE(named("\xEF\xBB\xBF<HTML>").find("HTML"), std::string::npos);
  EXPECT_NE(named("{\n  \"error\": 404}").find("JSON"), std::string::npos);
}

TEST(ForeignFormat, AllElseIsNotNamed) {
  EXPECT_FALSE(foreign_format(""));
  EXPECT_FALSE(foreign_format("\x89HDF\r\n\x1A\n"));
  EXPECT_FALSE(foreign_format("CDF"));
  EXPECT_FALSE(foreign_format(std::string(257, 'x') + "usta"));
  EXPECT_FALSE(foreign_format("some notes"));
}

TEST(ForeignFormat, EmptyFilesAndZeros) {
  const std::string path = std::filesystem::temp_directory_path() / "h5mount-foreign-format";
  std::ofstream(path).close();
  EXPECT_NE(foreign_file(path).value_or("").find("empty"), std::string::npos);
  std::filesystem::resize_file(path, 5000);
  EXPECT_NE(foreign_file(path).value_or("").find("nothing but zeros:"), std::string::npos);
  std::filesystem::resize_file(path, 1ULL << 40);
  EXPECT_NE(foreign_file(path).value_or("").find("zeros at its beginning"), std::string::npos);
  std::ofstream(path) << std::string(100, '\0') << "x";
  EXPECT_FALSE(foreign_file(path));
  std::filesystem::remove(path);
  EXPECT_FALSE(foreign_file(path));
}

}  // namespace
}  // namespace h5mount::cli
