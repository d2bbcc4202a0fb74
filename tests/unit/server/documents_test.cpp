#include "server/documents.hpp"

#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "server/wire_context.hpp"
#include "support/wire_axes.hpp"

namespace cxlpool {
namespace {

json::Value parsed(const std::string& text) {
    Result<json::Value> value = json::parse("document", text);
    EXPECT_TRUE(value) << text;
    return std::move(*value);
}

class Documents : public ::testing::Test {
  protected:
    Documents() : interner_(1000, 1000), registry_(TenancyMode::multi, {}) {
        registry_.set_interner(&interner_);
        EXPECT_TRUE(registry_.add_tenant(TenantId{1}, "alpha"));
        EXPECT_TRUE(registry_.add_tenant(TenantId{2}, "be\"ta"));
        registry_.add_pool({Isolation::cooperative});
        span_.bytes.fill(0xab);
    }
    ContextKey key(const std::string& model) {
        const Result<ContextFields> fields = wire_context(testing::complete_axes(model));
        EXPECT_TRUE(fields);
        const Result<ContextKey> key = interner_.acquire(*fields, TenantId{1});
        EXPECT_TRUE(key);
        return *key;
    }
    ExplainQuestion question(TenantId requester, const std::string& model) {
        const Result<ContextFields> fields = wire_context(testing::complete_axes(model));
        EXPECT_TRUE(fields);
        const Result<ContextKey> wanted = interner_.probe(*fields);
        EXPECT_TRUE(wanted);
        return {requester, span_, *wanted, *fields, Timestamp{1}};
    }
    void seal_one() {
        const ConnectionId connection = registry_.open_connection(TenantId{1}, 1001, "engine");
        Location location;
        location.placement.length_bytes = 4096;
        const auto grant =
            registry_.begin(connection, key("m"), span_, location, Timestamp{1}, Timestamp{111});
        ASSERT_TRUE(grant) << grant.error().message();
        const auto work = registry_.start_seal(connection, grant->lease);
        ASSERT_TRUE(work);
        ContentDigest digest;
        digest.bytes.fill(0xcd);
        ASSERT_TRUE(registry_.finish_seal(*work, digest, {}, Timestamp{222}));
    }
    ContextInterner interner_;
    Registry registry_;
    SpanDigest span_;
};

TEST_F(Documents, StatusShowsPoolsAndTenants) {
    seal_one();
    DaemonStatus status;
    status.reactor = "poll";
    status.uptime_s = 5;
    status.connections = 3;
    status.pools.push_back({"p", "memfd", Isolation::kernel, {100, 50, 25, 0, 2}});
    const json::Value out = parsed(status_document(status, registry_));
    EXPECT_EQ(out.find("mode")->string, "multi");
    EXPECT_EQ(out.find("uptime_s")->unsigned_number, 5U);
    const json::Value& pool = out.find("pools")->items.at(0);
    EXPECT_EQ(pool.find("isolation")->string, "kernel");
    EXPECT_EQ(pool.find("placed_bytes")->unsigned_number, 25U);
    const json::Value& beta = out.find("tenants")->items.at(1);
    EXPECT_EQ(beta.find("name")->string, "be\"ta");
    EXPECT_EQ(out.find("tenants")->items.at(0).find("bytes")->unsigned_number, 4096U);
}

TEST_F(Documents, CellsCarryTheirAttribution) {
    seal_one();
    const json::Value out = parsed(cells_document(registry_, {"pool-0"}));
    EXPECT_EQ(out.find("total")->unsigned_number, 1U);
    const json::Value& cell = out.find("cells")->items.at(0);
    std::string span;
    for (int i = 0; i < 32; ++i) {
        span += "ab";
    }
    EXPECT_EQ(cell.find("span")->string, span);
    EXPECT_EQ(cell.find("pool")->string, "pool-0");
    EXPECT_EQ(cell.find("taint")->string, "tainted");
    EXPECT_TRUE(cell.find("adjudicated")->is(json::Value::Kind::null));
    const json::Value& by = *cell.find("written_by");
    EXPECT_EQ(by.find("uid")->unsigned_number, 1001U);
    EXPECT_EQ(by.find("engine")->string, "engine");
    EXPECT_EQ(by.find("sealed_at_ns")->unsigned_number, 222U);
}

TEST_F(Documents, ExplainNamesTheVerdictTheAxisAndWhatIsTold) {
    seal_one();
    // Nobody uses "other", and asking does not change that.
    const std::size_t values = interner_.value_count();
    const json::Value out =
        parsed(explain_document(question(TenantId{2}, "other"), registry_, interner_, {"pool-0"}));
    EXPECT_EQ(interner_.value_count(), values);
    EXPECT_EQ(out.find("verdict")->string, "scope_denied");
    EXPECT_EQ(out.find("outward")->string, "miss/absent");
    const json::Value& cell = out.find("cells")->items.at(0);
    EXPECT_EQ(cell.find("code")->unsigned_number, 37U);
    EXPECT_EQ(cell.find("axis")->string, "model");
    EXPECT_EQ(cell.find("wanted")->string, "other");
    EXPECT_EQ(cell.find("found")->string, "m");
    const json::Value* context = cell.find("context");
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(context->members.size(), kAxisCount);
    EXPECT_EQ(context->find("model")->string, "m") << "of the cell, not what was wanted";
    EXPECT_EQ(context->find("page_tokens")->string, "16");
}

TEST_F(Documents, ExplainOfNothingAndOfAStranger) {
    const json::Value nothing =
        parsed(explain_document(question(TenantId{2}, "m"), registry_, interner_, {"pool-0"}));
    EXPECT_EQ(nothing.find("verdict")->string, "miss/absent");
    EXPECT_TRUE(nothing.find("cells")->items.empty());
    seal_one();
    const json::Value stranger =
        parsed(explain_document(question(TenantId{99}, "m"), registry_, interner_, {"pool-0"}));
    EXPECT_FALSE(stranger.find("requester_known")->boolean);
    EXPECT_EQ(stranger.find("verdict")->string, "not_permitted");
    EXPECT_EQ(stranger.find("outward")->string, "miss/absent");
}

TEST(WireContext, TakesEachAxisOnceAndOnlyThoseThatExist) {
    const auto fields = wire_context({{0, "m"}, {14, "l"}});
    ASSERT_TRUE(fields);
    EXPECT_EQ((*fields)[Axis::model], "m");
    EXPECT_EQ((*fields)[Axis::layout], "l");
    EXPECT_FALSE((*fields)[Axis::weights].has_value());
    EXPECT_EQ(wire_context({{15, "x"}}).error().code(), Errc::unknown_word);
    EXPECT_EQ(wire_context({{0, "a"}, {0, "a"}}).error().code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace cxlpool
