#include "topology/live/libcxl_compat.hpp"

#include <cxl/libcxl.h>

namespace cxlpool::live {

std::optional<std::string> region_mode([[maybe_unused]] cxl_region* region) {
#ifdef CXLPOOL_HAVE_CXL_REGION_GET_MODE
    const cxl_decoder_mode mode = cxl_region_get_mode(region);
    if (mode != CXL_DECODER_MODE_NONE) {
        return std::string(cxl_decoder_mode_name(mode));
    }
#endif
    return std::nullopt;
}

}  // namespace cxlpool::live
