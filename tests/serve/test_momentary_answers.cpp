// What fails for a moment while a request is answered is told as a failure: nothing is shown as missing,
// damaged or of another size because of it, and the next request gets what it would have got.
#include <regex>

#include "s3/s3_site.h"
#include "server_fixture.h"
#include "site/site.h"
#include "support/fails_once.h"

namespace h5mount::serve {
namespace {

std::vector<std::byte> written() {
  return test::written_with_h5py(
      "import numpy as np\n"
      "f['below/target'] = np.arange(10)\n"
      "for i in range(100): f['below/more%d' % i] = np.zeros(300)\n"
      "f['g/numbers'] = np.arange(1000)\n"
      "f['g'].attrs['note'] = 'x' * 500\n"
      "f.create_dataset('g/text', data=['row %d' % i for i in range(3000)], dtype=h5py.string_dtype())\n"
      "f['g/to'] = h5py.SoftLink('/below/target')\n"
      "f['g/nowhere'] = h5py.SoftLink('/below/none')\n"
      "f['links/to'] = h5py.SoftLink('/below/target')\n"
      "f['g/inner/d'] = 1\n");
}

Result<OpenedSource> open_over(const std::shared_ptr<io::ByteSource>& source) {
  H5_ASSIGN(auto files, object::FileSet::open(source, {}));
  H5_ASSIGN(auto tree, tree::Tree::make({std::make_shared<cache::BlockCache>(64U << 20),
                                         std::make_shared<cache::WorkerPool>(2), files},
                                        {}));
  return OpenedSource{tree, [] { return SourceState{true, 1, 1'000'000'000'000'000'000}; }};
}

struct Got {
  unsigned status = 0;
  std::string text;  // nothing where it could not be read to its end
  bool whole = false;
  bool failed() const { return status >= 500 || !whole; }
};

template <class AnySite>
Got get(AnySite& site, const std::string& target) {
  RequestWork work;
  const Answer answer = site.answer({"GET", target, {{"Host", "localhost"}}}, work);
  auto text = answer.body ? read_all(*answer.body, work) : Result<std::string>(std::string());
  return {answer.status, text ? *text : std::string(), text.has_value()};
}

struct Site1 : Site {
  explicit Site1(std::vector<SourceToServe> sources) : Site({}, std::move(sources)) {}
};
struct Bucket1 : S3Site {
  explicit Bucket1(std::vector<SourceToServe> sources) : S3Site({}, true, std::move(sources)) {}
};

// Of a page of a bucket that ends early the sizes of its keys count.
std::vector<std::string> sizes_of(const std::string& page) {
  std::vector<std::string> out;
  const std::regex pattern("<Contents><Key>([^<]*)</Key>.*?<Size>([^<]*)</Size>");
  for (std::sregex_iterator at(page.begin(), page.end(), pattern), end; at != end; ++at)
    out.push_back((*at)[1].str() + " " + (*at)[2].str());
  return out;
}

bool is_beginning(const std::string& page, const std::string& sound) {
  if (page.find("<IsTruncated>true<") == std::string::npos) return false;
  const auto got = sizes_of(page), all = sizes_of(sound);
  return got.size() <= all.size() && std::equal(got.begin(), got.end(), all.begin());
}

template <class AnySite>
void expect_nothing_of_it(const std::string& target) {
  const auto bytes = written();
  const auto site_over = [](const std::shared_ptr<test::FailsOnce>& source) {
    std::vector<SourceToServe> sources;
    sources.push_back({"f.h5", [source] { return open_over(source); }, *open_over(source)});
    return std::make_unique<AnySite>(std::move(sources));
  };
  const auto well = std::make_shared<test::FailsOnce>(bytes, true);
  const auto sound_site = site_over(well);
  const int before = well->reads;
  const Got sound = get(*sound_site, target);
  ASSERT_FALSE(sound.failed()) << target << sound.text;
  const int reads = well->reads - before;
  ASSERT_GT(reads, 2) << target;
  int failures = 0;
  for (int number = 1; number <= reads; ++number) {
    const auto source = std::make_shared<test::FailsOnce>(bytes, true);
    const auto site = site_over(source);
    source->goes_on = true;  // what fails once is often read again
    source->left = number;
    const Got during = get(*site, target);
    failures += during.failed() ? 1 : 0;
    EXPECT_TRUE(during.failed() || is_beginning(during.text, sound.text) ||
                (during.status == sound.status && during.text == sound.text))
        << target << ", read " << number << ": " << during.status << " " << during.text.substr(0, 2000);
    source->left = 0;
    const Got after = get(*site, target);
    EXPECT_EQ(after.status, sound.status) << target << ", read " << number;
    EXPECT_EQ(after.text, sound.text) << target << ", read " << number;
  }
  EXPECT_GT(failures, 0) << target;
}

TEST(MomentaryAnswers, OfPagesAndTheInterface) {
  for (const char* const target :
       {"/api/meta/?path=/g", "/api/meta/?path=/g/to", "/api/meta/?path=/g/to&resolve_links=all",
        "/api/meta/?path=/below", "/api/paths/?path=/", "/api/paths/?path=/links&resolve_links=all",
        "/api/attr/?path=/g", "/api/data/?path=/g/text", "/g/?list", "/g/?plain", "/g/text",
        "/.h5/metadata.jsonl"})
    expect_nothing_of_it<Site1>(target);
}

TEST(MomentaryAnswers, OfBuckets) {
  for (const char* const target : {"/f.h5?list-type=2&prefix=g/", "/f.h5?list-type=2&prefix=g/&delimiter=/",
                                   "/f.h5/g/text", "/f.h5/g/to"})
    expect_nothing_of_it<Bucket1>(target);
}

}  // namespace
}  // namespace h5mount::serve
