// The objects of joined files: plans by hand over files that h5py and netCDF4 wrote.
#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/meaning/dimensions.h"
#include "made/image_source.h"
#include "made/made_objects.h"
#include "made_rig.h"
#include "support/h5py_file.h"

namespace h5mount::join {
namespace {

// A file that a function of made_files.py writes.
std::vector<std::byte> written(const std::string& call, const std::string& libver = "latest") {
  return test::written_with_h5py(import_made_files() + call, libver);
}

// Files in memory, and a plan that joins their datasets along the dimension of one of them.
class PlanRig {
 public:
  void add_file(const std::string& name, const std::vector<std::byte>& bytes) {
    auto card = std::make_shared<FileCard>();
    card->path = name;
    plan.files.push_back({card, plan.files.size(), 1});
    environments.push_back({std::make_shared<cache::BlockCache>(8U << 20),
                            std::make_shared<cache::WorkerPool>(1),
                            object::FileSet::open(io::make_memory_source(bytes), {}).value()});
    files[name] = bytes;
  }

  metadata::FileMetadataPtr metadata(std::size_t file = 0) const {
    return environments[file].files->main()->snapshot();
  }

  // The member as it is in the first file.
  PlannedMember& add(const std::string& path) {
    const auto file = metadata();
    const auto address = object::resolve_path(file, file->root_address(), path);
    const auto object = object::open_object(*file, address.value()).value();
    addresses[address.value()] = path;
    auto card = std::make_shared<MemberCard>();
    card->path = path;
    if (object.kind == object::ObjectKind::Dataset) describe(*file, object, *card);
    PlannedMember member;
    member.type = card->type;
    member.space = card->space;
    member.scales = card->scales;
    member.card = std::move(card);
    plan.members.push_back(std::move(member));
    return plan.members.back();
  }

  // Joins the dataset along its first dimension, which has the same length in all files.
  PlannedMember& add_joined(const std::string& path) {
    PlannedMember& member = add(path);
    member.axis = 0;
    auto starts = std::make_shared<std::vector<std::uint64_t>>(1, 0);
    for (std::uint32_t i = 0; i < plan.files.size(); ++i) {
      starts->push_back(starts->back() + member.card->space.dims[0]);
      member.parts.push_back({i, 0});
    }
    member.space.dims[0] = starts->back();
    member.space.max_dims[0] = std::max(member.space.max_dims[0], starts->back());
    member.starts = starts;
    member.treatments.resize(1);
    return member;
  }

  std::vector<MadeObject> made(MadeFor use) {
    std::ranges::sort(plan.members, {}, [](const PlannedMember& one) { return one.card->path; });
    const auto open = [this](std::uint32_t file) -> Result<dataset::ReadEnvironment> {
      return environments[file];
    };
    auto out = made_objects(plan, use, open, Unbounded());
    EXPECT_TRUE(out) << out.error().text();
    return out.value();
  }

  // Runs a script beside the sources and joined.h5.
  std::string said(const std::string& script) {
    std::map<std::string, std::vector<std::byte>> all = files;
    auto file = make_file(made(MadeFor::Storing), Unbounded());
    EXPECT_TRUE(file) << file.error().text();
    all["joined.h5"] = file.value();
    return said_by_python(all, script);
  }

  Plan plan;
  std::vector<dataset::ReadEnvironment> environments;
  std::map<std::string, std::vector<std::byte>> files;
  std::map<std::uint64_t, std::string> addresses;

 private:
  void describe(const metadata::FileMetadata& file, const object::Object& object, MemberCard& card) const {
    const auto description = object::describe_dataset(file, object).value();
    card.kind = MemberCard::Kind::Dataset;
    card.type = description.type;
    card.space = description.space;
    card.fill = description.fill.value;
    card.chunk = description.layout.chunk_dims;
    const auto role = meaning::dimension_role(file, object);
    card.is_scale = role.is_scale;
    card.without_values = role.without_values;
    Unbounded unbounded;
    const text::ValueContext values{{.file = metadata()}, unbounded};
    for (const std::uint64_t scale : meaning::dimension_scales(values, object, card.space.rank(), role)) {
      const auto found = addresses.find(scale);
      card.scales.push_back(found == addresses.end() ? "" : found->second);
    }
  }
};

TEST(MadeObjects, AttributesOfEveryClass) {
  for (const char* libver : {"earliest", "latest"}) {
    SCOPED_TRACE(libver);
    PlanRig rig;
    rig.add_file("a.h5", written("made_files.write_every_attribute(f)", libver));
    rig.add("");
    rig.add("g");
    PlannedMember& d = rig.add("g/d");
    d.attributes_differ = {"n7"};
    d.attributes_gone = {"n8"};
    d.attributes_set = {{"n9", "stated"}};
    EXPECT_EQ(rig.said("made_files.check_every_attribute()"), "");
  }
}

std::vector<std::byte> netcdf(int first) {
  return written("f.close() or made_files.write_netcdf(sys.argv[1], " + std::to_string(first) + ")");
}

void plan_netcdf(PlanRig& rig) {
  rig.add_file("a.nc", netcdf(0));
  rig.add_file("b.nc", netcdf(2));
  rig.add("");
  rig.add("g");
  for (const char* scale : {"lat", "nv", "chars"}) rig.add(scale);
  for (const char* joined : {"time", "time_bnds", "g/v"}) rig.add_joined(joined);
  for (const char* one : {"crs", "word", "label"}) rig.add(one);
  rig.add("station").scales = {"station", "chars"};
}

TEST(MadeObjects, NetcdfSeesItsDimensions) {
  if (!has_netcdf4()) GTEST_SKIP() << "no netCDF4 for Python";
  PlanRig rig;
  plan_netcdf(rig);
  EXPECT_EQ(rig.said("made_files.check_netcdf()"), "");
}

TEST(MadeObjects, OwnReadersSeeDimensionsOfTheServedImage) {
  if (!has_netcdf4()) GTEST_SKIP() << "no netCDF4 for Python";
  PlanRig rig;
  plan_netcdf(rig);
  const auto label = [](const PlannedMember& one) { return one.card->path; };
  PlannedMember& bad = *std::ranges::find(rig.plan.members, "label", label);
  bad.error = Error(ErrorCode::InvalidValue, "they differ");
  std::map<std::string, std::uint64_t, std::less<>> places;
  const auto place_of = [&](std::string_view path) {
    return places.try_emplace(std::string(path), places.size()).first->second;
  };
  const auto objects = rig.made(MadeFor::Serving);
  const auto source = std::make_shared<ImageSource>();
  source->replace(make_sparse_image(objects, place_of, Unbounded()).value());
  const auto files = object::FileSet::open(source, {}).value();
  const auto file = files->main()->snapshot();
  Unbounded unbounded;
  const text::ValueContext values{{.file = file}, unbounded};
  const auto object = [&](const char* path) {
    const auto address = object::resolve_path(file, file->root_address(), path);
    EXPECT_EQ(address.value(), place_address(places.at(path)));
    return object::open_object(*file, address.value()).value();
  };
  const auto v = object("g/v");
  EXPECT_EQ(meaning::dimension_scales(values, v, 2, meaning::dimension_role(*file, v)),
            (std::vector<std::uint64_t>{place_address(places.at("time")), place_address(places.at("lat"))}));
  const auto described = object::describe_dataset(*file, v).value();
  EXPECT_EQ(described.space.dims, (std::vector<std::uint64_t>{4, 4}));
  EXPECT_TRUE(described.fill.value == rig.plan.find("g/v")->card->fill);
  EXPECT_TRUE(meaning::dimension_role(*file, object("nv")).without_values);
  const auto refused = object::describe_dataset(*file, object("label")).value();
  EXPECT_EQ(refused.image_bytes, 0U);
}

TEST(MadeObjects, WhatVirtualDatasetsCannotSayIsLeftOut) {
  PlanRig rig;
  const auto bytes = test::written_with_h5py(R"(
for name in 'plain', 'rebased', 'unpacked', 'bad', 'gap':
    f[name] = np.arange(3, dtype='i4')
f['sub/x'] = 1
f['names'] = ['a', '', 'üb']
)");
  rig.add_file("a.h5", bytes);
  rig.add_file("b.h5", bytes);
  rig.add("");
  for (const char* path : {"plain", "rebased", "unpacked", "gap", "names"}) rig.add_joined(path);
  rig.add("bad").error = Error(ErrorCode::InvalidValue, "a.h5 and b.h5 differ");
  rig.add("sub").error = Error(ErrorCode::InvalidValue, "a group and a dataset");
  rig.add("sub/x");
  rig.plan.members[2].treatments[0].rebase = Treatment::Rebase();
  rig.plan.members[3].treatments[0].unpack = meaning::Packing();
  rig.plan.members[4].parts[1].treatment = PlannedMember::kGap;
  rig.plan.members[4].gap_fill = value_of<std::int32_t>({-9}).bytes;
  // A new axis of strings.
  auto card = std::make_shared<MemberCard>();
  card->path = "run";
  card->kind = MemberCard::Kind::Dataset;
  card->is_scale = true;
  PlannedMember run;
  run.type = made_type("vlen");
  run.space.kind = format::DataspaceKind::Simple;
  run.space.dims = run.space.max_dims = {2};
  run.scales = {"run"};
  run.texts = {"first", "zweitü"};
  run.card = card;
  rig.plan.members.push_back(run);
  EXPECT_EQ(rig.said("made_files.check_left_out()"), "");
}

// Whatever a source's bytes are, what is made of it is a sound file.
TEST(MadeObjects, DamagedSources) {
  const auto sound = written("made_files.write_every_attribute(f)");
  std::uint32_t random = 1;
  const auto next = [&random] { return random = random * 1'664'525U + 1'013'904'223U, random >> 8; };
  std::size_t made = 0;
  for (int i = 0; i < 40; ++i) {
    auto bytes = sound;
    for (int k = 0; k < 20; ++k)
      bytes[64 + next() % (bytes.size() - 64)] ^= static_cast<std::byte>(1U + next() % 255);
    auto files = object::FileSet::open(io::make_memory_source(std::move(bytes)), {});
    if (!files) continue;
    PlanRig rig;
    rig.add_file("a.h5", sound);
    for (const char* path : {"", "g", "g/d"}) rig.add(path);
    rig.environments[0].files = *std::move(files);
    const auto file = make_file(rig.made(MadeFor::Storing), Unbounded());
    ASSERT_TRUE(file) << file.error().text();
    const auto opened = object::FileSet::open(io::make_memory_source(*file), {}).value();
    const auto metadata = opened->main()->snapshot();
    const auto address = object::resolve_path(metadata, metadata->root_address(), "g/d");
    const auto d = object::open_object(*metadata, address.value()).value();
    EXPECT_TRUE(object::for_each_attribute(
        *metadata, d, [&](const object::Attribute& one) { return made += one.damage ? 0 : 1, true; },
        [](const Error& e) { ADD_FAILURE() << e.text(); }));
  }
  EXPECT_GT(made, 20'000U);
}

TEST(ImageSource, ReplacedImagesHaveOtherStampsAndHolesAreZeros) {
  ImageSource source;
  EXPECT_EQ(source.size(), 0U);
  const auto empty = source.state().stamp().value();
  SparseImage image;
  image.segments = {{0, std::vector<std::byte>(4, std::byte{1})},
                    {10, std::vector<std::byte>(2, std::byte{2})}};
  image.end = 14;
  source.replace(image);
  const auto first = source.state().stamp().value();
  EXPECT_FALSE(io::same_bytes(empty, first));
  std::vector<std::byte> all(14, std::byte{9});
  ASSERT_TRUE(source.read_at(0, all));
  const std::vector<int> expected{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(static_cast<int>(all[i]), expected[i]) << i;
  EXPECT_EQ(source.read_at(1, all).error().code(), ErrorCode::Truncated);
  EXPECT_EQ(source.read_cached(12, all).value(), 2U);
  source.replace(image);
  EXPECT_FALSE(io::same_bytes(first, source.state().stamp().value()));
}

}  // namespace
}  // namespace h5mount::join
