// A file set opens whatever its opener finds: nothing in it knows that names are paths.
#include "h5mount/object/source_opener.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "h5mount/object/file_set.h"
#include "support/corpus.h"
#include "support/far_source.h"

namespace h5mount::test {
namespace {

std::vector<std::byte> weather() {
  std::ifstream in(source_root() / "tests/data/weather.h5", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// Names are keys of a table, relative ones those behind the naming source's own name.
class TableOpener final : public object::SourceOpener {
 public:
  std::map<std::string, std::shared_ptr<io::ByteSource>> table;
  mutable int opened = 0;
  std::string refused;  // the path of a file that is not admitted

  Result<object::FoundSource> find_main(const std::string& name) override { return find(name); }
  Result<object::FoundSource> find_named(const object::OpenedFile& from, std::string_view name,
                                         object::NameUse) const override {
    return find(from.directory + "/" + std::string(name));
  }
  const object::ExternalAccess& access() const override { return access_; }
  Status admit(const object::OpenedFilePtr& file) const override {
    if (file->path != refused) return {};
    return fail(refused_error(3, "refused at " + std::to_string(file->snapshot()->root_address())));
  }

 private:
  Result<object::FoundSource> find(const std::string& name) const {
    const auto at = table.find(name);
    if (at == table.end()) return fail(Error(ErrorCode::NotFound, "nothing is named " + name));
    return object::FoundSource{
        .key = name,
        .path = name,
        .directory = name.substr(0, name.rfind('/')),
        .open = [this, source = at->second]() -> Result<std::shared_ptr<io::ByteSource>> {
          ++opened;
          return source;
        }};
  }
  object::ExternalAccess access_{object::ExternalPolicy::Any};
};

TEST(SourceOpener, IsAskedAboutEachHdf5FileThatIsOpen) {
  const auto opener = std::make_shared<TableOpener>();
  for (const char* name : {"store/main", "store/other", "store/raw"})
    opener->table[name] = io::make_memory_source(weather());
  opener->refused = "store/other";
  const auto set = object::FileSet::open("store/main", opener, {});
  ASSERT_TRUE(set) << set.error().text();
  const auto other = (*set)->open_hdf5((*set)->main(), "other", object::NameUse::Link);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::AccessDenied);
  EXPECT_EQ(other.error().verdict(), 3);
  EXPECT_TRUE(other.error().text().starts_with("refused at "));
  opener->refused = "store/raw";
  EXPECT_TRUE((*set)->open_hdf5((*set)->main(), "other", object::NameUse::Link));
  EXPECT_TRUE((*set)->open_raw((*set)->main(), "raw"));  // it has no structure
  opener->refused = "store/main";
  EXPECT_FALSE(object::FileSet::open("store/main", opener, {}));
}

TEST(SourceOpener, FileSetOpensWhatItsOpenerFinds) {
  const auto opener = std::make_shared<TableOpener>();
  const auto far = std::make_shared<FarSource>(io::make_memory_source(weather()));
  opener->table = {{"store/main", far},
                   {"store/other", io::make_memory_source(weather())},
                   {"store/raw", io::make_memory_source(weather())}};
  const auto set = object::FileSet::open("store/main", opener, {});
  ASSERT_TRUE(set) << set.error().text();
  const object::OpenedFilePtr& main = (*set)->main();
  EXPECT_EQ(main->path, "store/main");
  EXPECT_TRUE(main->followed->source()->far());
  EXPECT_EQ(&(*set)->access(), &opener->access());
  EXPECT_EQ(opener->opened, 1);

  const auto other = (*set)->open_hdf5(main, "other", object::NameUse::Link);
  ASSERT_TRUE(other);
  EXPECT_EQ((*other)->path, "store/other");
  const auto again = (*set)->open_hdf5(main, "other", object::NameUse::VirtualSource);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *other);
  EXPECT_EQ(opener->opened, 2) << "what is open already is not opened again";
  const auto back = (*set)->open_hdf5(*other, "main", object::NameUse::Link);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, main);
  EXPECT_EQ(opener->opened, 2);

  const auto raw = (*set)->open_raw(main, "raw");
  ASSERT_TRUE(raw);
  EXPECT_EQ((*raw)->size(), weather().size());
  EXPECT_EQ((*set)->open_hdf5(main, "none", object::NameUse::Link).error().code(), ErrorCode::NotFound);
}

TEST(SourceOpener, ErrorsOfTheMainSourceAreThoseOfItsOpener) {
  const auto opener = std::make_shared<TableOpener>();
  const auto set = object::FileSet::open("store/none", opener, {});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code(), ErrorCode::NotFound);
  EXPECT_NE(set.error().text().find("nothing is named store/none"), std::string::npos);
}

TEST(SourceOpener, ASourceThatIsOpenAlreadyNamesNothing) {
  const auto set = object::FileSet::open(io::make_memory_source(weather()), {});
  ASSERT_TRUE(set);
  const auto other = (*set)->open_hdf5((*set)->main(), "other.h5", object::NameUse::Link);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::AccessDenied);
}

}  // namespace
}  // namespace h5mount::test
