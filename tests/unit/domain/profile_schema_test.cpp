#include "domain/profile_schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "domain/profile_fields.hpp"
#include "domain/profile_file.hpp"

namespace cxlpool {
namespace {

using Json = nlohmann::json;

Json schema() {
    return Json::parse(profile_file_schema(), nullptr, false);
}

TEST(ProfileSchema, IsADraft202012SchemaOfThisVersion) {
    EXPECT_EQ(schema()["$schema"], "https://json-schema.org/draft/2020-12/schema");
    EXPECT_EQ(schema()["properties"]["schema"]["const"], "cxlpool-profile/1");
    EXPECT_EQ(schema()["required"], Json::array({"schema"}));
    EXPECT_EQ(schema()["additionalProperties"], false);
}

TEST(ProfileSchema, HasExactlyTheFieldsOfTheTable) {
    const Json document = schema();
    std::size_t fields = 0;
    for_each_profile_field([&](const auto& field) {
        const std::string key(field.key);
        ++fields;
        for (const char* kind : {"tier", "pool"}) {
            EXPECT_EQ(document["$defs"][kind]["properties"][key]["$ref"], "#/$defs/" + key);
        }
        const Json& forms = document["$defs"][key]["anyOf"];
        ASSERT_EQ(forms.size(), 2U) << key;
        EXPECT_EQ(forms[0], forms[1]["properties"]["value"]) << key;
        EXPECT_EQ(forms[1]["additionalProperties"], false) << key;
    });
    EXPECT_EQ(fields, 11U);
    EXPECT_EQ(document["$defs"]["tier"]["properties"].size(), fields);
    EXPECT_EQ(document["$defs"]["pool"]["properties"].size(), fields + 1);
    EXPECT_EQ(document["$defs"]["pool"]["required"], Json::array({"tier"}));
}

TEST(ProfileSchema, EveryReferenceLeadsSomewhere) {
    const Json document = schema();
    const Json flat = document.flatten();
    int references = 0;
    for (const auto& [path, value] : flat.items()) {
        if (path.size() > 5 && path.substr(path.size() - 5) == "/$ref") {
            ++references;
            EXPECT_TRUE(document.contains(Json::json_pointer(value.get<std::string>().substr(1))))
                << value;
        }
    }
    EXPECT_GT(references, 20);
}

TEST(ProfileSchema, NamesEveryWordAndBoundThatTheReaderTakes) {
    const Json definitions = schema()["$defs"];
    EXPECT_EQ(definitions["share_kind"]["anyOf"][0]["enum"],
              Json::array({"none", "mmap", "cxl_hdm", "rdma", "dmabuf"}));
    EXPECT_EQ(definitions["cross_host_coherence"]["anyOf"][0]["enum"],
              Json::array({"none", "hardware", "managed"}));
    EXPECT_EQ(definitions["source"]["enum"],
              Json::array({"measured", "observed", "firmware", "declared", "representative"}));
    EXPECT_EQ(schema()["properties"]["tiers"]["propertyNames"]["enum"],
              Json::array({"hbm", "dram", "numa_far", "cxl", "remote_dram", "disk", "remote"}));
    EXPECT_EQ(definitions["hosts"]["anyOf"][0],
              (Json{{"type", "integer"}, {"minimum", 1}, {"maximum", 4294967295}}));
    EXPECT_EQ(definitions["capacity_bytes"]["anyOf"][0]["minimum"], 0);
    EXPECT_EQ(definitions["read_latency_ns"]["anyOf"][0]["minimum"], 1);
    // Each word that stands in the schema is one that the reader takes, and the other way round.
    for (const Json& word : definitions["share_kind"]["anyOf"][0]["enum"]) {
        EXPECT_TRUE(parse_share_kind(word.get<std::string>())) << word;
    }
    for (const Json& word : definitions["source"]["enum"]) {
        EXPECT_TRUE(parse_source(word.get<std::string>())) << word;
    }
}

}  // namespace
}  // namespace cxlpool
