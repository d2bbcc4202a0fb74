// The JSON Schema of profile files, for editors and other people's programs.
//
// Responsible for: saying in JSON Schema (draft 2020-12) what parse_profile_file takes, from the
// same table of fields. Refuses to know: what no schema can say, which is that a pool may not be
// named twice, that a measured figure must be plausible, and that 300.0 is no whole number here.
#pragma once

#include <string>

namespace cxlpool {

std::string profile_file_schema();

}  // namespace cxlpool
