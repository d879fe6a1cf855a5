#include <array>

#include "h5mount/view/view.h"
#include "npy.h"

namespace h5mount::view {

namespace {

constexpr std::array kViews = {
    View{"npy", ".npy", npy_unfit, npy_size, make_npy},
};

}  // namespace

std::span<const View> views() {
  return kViews;
}

}  // namespace h5mount::view
