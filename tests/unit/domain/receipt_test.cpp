#include "domain/receipt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

Erasure erasure() {
    Erasure out;
    out.tenant = TenantId{7};
    out.name = "bank-a";
    out.incarnation = 3;
    out.cells = 12;
    out.bytes = 4096;
    out.leases_drained = 2;
    out.leases_revoked = 1;
    out.bytes_overwritten = 8192;
    out.started = Timestamp{1'769'903'999'000'000'000ULL};
    out.finished = Timestamp{1'769'904'000'999'999'999ULL};
    return out;
}

TEST(Receipt, HasOneSpelling) {
    // The digest is what `b2sum -l 256` says of the text without it.
    EXPECT_EQ(receipt_of(erasure()),
              "{\"schema\":\"cxlpool-receipt/1\",\"tenant\":7,\"name\":\"bank-a\","
              "\"incarnation\":3,\"cells\":12,\"bytes\":4096,\"leases_drained\":2,"
              "\"leases_revoked\":1,\"bytes_overwritten\":8192,\"bytes_withdrawn\":0,"
              "\"method\":\"overwritten with zeros and read back\",\"verified\":true,"
              "\"resumed\":false,\"started\":\"2026-01-31T23:59:59Z\","
              "\"finished\":\"2026-02-01T00:00:00Z\",\"digest\":"
              "\"7a734c0bd79374d816ddcb4e22cfdc70ce4831e8544ad84299c45d31b29fae50\"}");
}

TEST(Receipt, IsWholeOrFoundToBeChanged) {
    Erasure extreme = erasure();
    extreme.tenant = TenantId{std::numeric_limits<std::uint64_t>::max()};
    extreme.bytes = std::numeric_limits<std::uint64_t>::max();
    extreme.name.clear();
    extreme.bytes_withdrawn = 1;
    for (const Erasure& one : {erasure(), extreme, Erasure{}}) {
        const std::string text = receipt_of(one);
        EXPECT_TRUE(check_receipt("r.json", text + "\n"));
        // Whitespace is not content.
        EXPECT_TRUE(check_receipt("r.json", " " + text));
        for (std::size_t at = 0; at < text.size(); ++at) {
            std::string changed = text;
            changed[at] = changed[at] == '1' ? '2' : '1';
            EXPECT_FALSE(check_receipt("r.json", changed)) << at;
        }
    }
    EXPECT_THAT(receipt_of(extreme), HasSubstr("\"name\":null"));
    EXPECT_THAT(receipt_of(extreme), HasSubstr("\"verified\":false"));
}

TEST(Receipt, SaysWhatIsNoReceipt) {
    for (const char* text : {"", "{", "[]", "7", "{}", "{\"schema\":\"cxlpool-receipt/2\"}",
                             "{\"schema\":\"cxlpool-receipt/1\"}", "{\"schema\":7,\"digest\":7}"}) {
        const Result<void> bad = check_receipt("r.json", text);
        ASSERT_FALSE(bad) << text;
        EXPECT_EQ(bad.error().code(), Errc::malformed);
        EXPECT_THAT(bad.error().message(), HasSubstr("r.json:1:"));
    }
    std::string changed = receipt_of(erasure());
    changed.replace(changed.find("4096"), 4, "4097");
    EXPECT_THAT(check_receipt("r.json", changed).error().message(),
                HasSubstr("is not what was written"));
}

}  // namespace
}  // namespace cxlpool
