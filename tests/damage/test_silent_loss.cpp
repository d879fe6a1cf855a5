// A sample of what tests/damage/silent_loss counts over the whole corpus, on files written here.
#include <gtest/gtest.h>

#include "damage/damage_cases.h"
#include "damage/file_state.h"
#include "h5mount/base/log.h"
#include "support/every_index.h"

namespace h5mount::test {
namespace {

class SilentLossTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    sound_ = written_with_h5py(kEveryIndex, GetParam());
    intact_ = read_file_state(io::make_memory_source(sound_));
    ASSERT_TRUE(intact_.opened && intact_.complete);
    ASSERT_TRUE(intact_.errors.empty()) << *intact_.errors.begin();
  }

  SilentLoss loss_by(const DamageCase& damage) const {
    return silent_loss(intact_, read_file_state(io::make_memory_source(damage.apply(sound_))));
  }

  std::vector<std::byte> sound_;
  FileState intact_;
};

INSTANTIATE_TEST_SUITE_P(Libver, SilentLossTest, testing::Values("earliest", "latest"),
                         [](const auto& info) { return info.param; });

TEST_P(SilentLossTest, ACutLosesNothingInSilence) {
  for (const DamageCase& cut : cuts_of(sound_)) {
    const SilentLoss loss = loss_by(cut);
    EXPECT_EQ(loss.loss, Loss::None) << cut.text() << ": " << loss_name(loss.loss) << ": " << loss.what;
  }
}

TEST_P(SilentLossTest, ABitBehindAChecksumLosesNothingInSilence) {
  std::set<std::string> kinds;
  for (const DamageCase& damage : flips_of(sound_, intact_.headers, 3, 6)) {
    if (!damage.checksummed) continue;
    kinds.insert(damage.structure);
    const SilentLoss loss = loss_by(damage);
    EXPECT_EQ(loss.loss, Loss::None) << damage.text() << ": " << loss_name(loss.loss) << ": " << loss.what;
  }
  if (std::string(GetParam()) == "latest")
    for (const char* kind :
         {"OHDR", "OCHK", "BTHD", "BTIN", "BTLF", "FRHP", "FHDB", "FHIB", "FAHD", "FADB", "EAHD", "EAIB"})
      EXPECT_TRUE(kinds.contains(kind)) << kind;
}

}  // namespace
}  // namespace h5mount::test
