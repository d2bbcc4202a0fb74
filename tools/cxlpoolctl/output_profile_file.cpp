// What a profile file names, as a table and as JSON. Only what it names: the rest of each profile
// is not this file's business.
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/check.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/table.hpp"
#include "topology/report.hpp"

namespace cxlpool::ctl {
namespace {

using Json = nlohmann::ordered_json;

// The profiles as everywhere, without the fields that have no value.
Json named_fields(const std::vector<Profile>& profiles) {
    Json out = Json::array();
    const Json whole = Json::parse(profiles_json(profiles));
    for (const Json& profile : whole["profiles"]) {
        Json named{{"name", profile["name"]}, {"tier", profile["tier"]}};
        for (const auto& [key, field] : profile.items()) {
            if (field.is_object() && !field["value"].is_null()) {
                named[key] = field;
            }
        }
        out.push_back(std::move(named));
    }
    return out;
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json file_json(const CheckedProfileFile& checked) {
    if (!checked.file) {
        return Json{
            {"file", checked.name}, {"good", false}, {"error", checked.file.error().message()}};
    }
    const ProfileFile& file = *checked.file;
    return Json{{"file", checked.name},
                {"good", true},
                {"label", text_or_null(file.label)},
                {"host", text_or_null(file.host)},
                {"time_ns", file.time.ns == 0 ? Json(nullptr) : Json(file.time.ns)},
                {"tiers", named_fields(file.tiers)},
                {"pools", named_fields(file.pools)}};
}

std::string counted(std::size_t count, std::string_view one) {
    return std::to_string(count) + ' ' + std::string(one) + (count == 1 ? "" : "s");
}

void print_entries(std::ostream& out, std::string_view kind, const std::vector<Profile>& profiles) {
    const Result<json::Value> document = parse_document("profiles", profiles_json(profiles));
    CXLPOOL_CHECK(document.has_value());
    for (const json::Value& profile : items_of(*document, "profiles")) {
        out << "\n" << kind << ' ' << printable(text_of(profile, "name"));
        if (kind == "pool") {
            out << " in tier " << printable(text_of(profile, "tier"));
        }
        out << '\n';
        print_named_fields(out, profile);
    }
}

}  // namespace

std::string checked_files_json(const std::vector<CheckedProfileFile>& files) {
    Json list = Json::array();
    for (const CheckedProfileFile& checked : files) {
        list.push_back(file_json(checked));
    }
    return Json{{"files", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace);
}

void print_checked_file(std::ostream& out, const CheckedProfileFile& checked) {
    const ProfileFile& file = *checked.file;
    out << printable(checked.name) << ": good, " << counted(file.tiers.size(), "tier") << ", "
        << counted(file.pools.size(), "pool");
    if (!file.label.empty()) {
        out << ", label " << printable(file.label);
    }
    if (!file.host.empty()) {
        out << ", host " << printable(file.host);
    }
    out << '\n';
    print_entries(out, "tier", file.tiers);
    print_entries(out, "pool", file.pools);
}

}  // namespace cxlpool::ctl
