#include "domain/profile_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/fleet_plan.hpp"
#include "domain/profile_fields.hpp"

namespace cxlpool {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

ProfileFile must(std::string_view text) {
    Result<ProfileFile> file = parse_profile_file("p.json", text);
    EXPECT_TRUE(file) << file.error().message();
    return std::move(file).value();
}

std::string with_cxl(std::string_view fields) {
    return R"({"schema": "cxlpool-profile/1", "tiers": {"cxl": {)" + std::string(fields) + "}}}";
}

std::string with_pool(std::string_view name, std::string_view body) {
    return R"({"schema": "cxlpool-profile/1", "pools": {")" + std::string(name) +
           "\": " + std::string(body) + "}}";
}

struct Refusal {
    Errc code = Errc::ok;
    std::string message;
};

Refusal refusal_of(std::string_view text) {
    const Result<ProfileFile> file = parse_profile_file("p.json", text);
    return file ? Refusal{} : Refusal{file.error().code(), file.error().message()};
}

std::vector<Profile> planning_tiers() {
    std::vector<Profile> tiers;
    for (const Tier tier : kTiers) {
        tiers.push_back(representative_profile(tier));
    }
    return tiers;
}

const Profile& named(const std::vector<Profile>& profiles, std::string_view name) {
    const auto found = std::find_if(profiles.begin(), profiles.end(),
                                    [name](const Profile& p) { return p.name == name; });
    EXPECT_NE(found, profiles.end()) << name;
    return *found;
}

TEST(ProfileFile, ReadsEveryFieldInBothForms) {
    const ProfileFile file = must(R"({
  "schema": "cxlpool-profile/1",
  "label": "rack 7", "host": "node-a", "time": "2025-03-01T12:00:00Z",
  "tiers": {
    "cxl": {
      "read_latency_ns": 250,
      "read_mbps": {"value": 31000, "source": "measured", "detail": "run 12",
                    "time": "1970-01-02T00:00:01Z"},
      "capacity_bytes": 18446744073709551615,
      "byte_addressable": true,
      "coherent_in_host": {"value": false},
      "persistent": {"value": true, "source": "firmware"},
      "share_kind": "cxl_hdm",
      "hosts": 4294967295,
      "cross_host_coherence": {"value": "managed", "source": "declared", "detail": "ticket 4"}
    }
  },
  "pools": {"cxl0": {"tier": "remote", "capacity_bytes": 0}}
})");
    EXPECT_EQ(file.label, "rack 7");
    EXPECT_EQ(file.host, "node-a");
    const Timestamp noon{1740830400 * kSecond};
    EXPECT_EQ(file.time, noon);

    ASSERT_EQ(file.tiers.size(), 1U);
    Profile want;
    want.name = "cxl";
    want.tier = Tier::cxl;
    const auto at = [](const char* place) { return std::string("p.json:") + place; };
    want.read_latency_ns = {250, {Source::declared, at("6:26"), noon}};
    want.read_mbps = {31000, {Source::measured, "run 12", Timestamp{86401 * kSecond}}};
    want.capacity_bytes = {18446744073709551615U, {Source::declared, at("9:25"), noon}};
    want.byte_addressable = {true, {Source::declared, at("10:27"), noon}};
    want.coherent_in_host = {false, {Source::declared, at("11:37"), noon}};
    want.persistent = {true, {Source::firmware, at("12:31"), noon}};
    want.share_kind = {ShareKind::cxl_hdm, {Source::declared, at("13:21"), noon}};
    want.hosts = {4294967295U, {Source::declared, at("14:16"), noon}};
    want.cross_host_coherence = {CrossHostCoherence::managed, {Source::declared, "ticket 4", noon}};
    EXPECT_EQ(file.tiers[0], want);

    ASSERT_EQ(file.pools.size(), 1U);
    EXPECT_EQ(file.pools[0].name, "cxl0");
    EXPECT_EQ(file.pools[0].tier, Tier::remote);
    EXPECT_EQ(file.pools[0].capacity_bytes.value, 0U);
    EXPECT_FALSE(file.pools[0].read_latency_ns.value);
}

TEST(ProfileFile, NeedsNothingButTheSchema) {
    const ProfileFile file = must(R"({"schema":"cxlpool-profile/1"})");
    EXPECT_EQ(file.label, "");
    EXPECT_EQ(file.host, "");
    EXPECT_EQ(file.time, Timestamp{0});
    EXPECT_TRUE(file.tiers.empty());
    EXPECT_TRUE(file.pools.empty());
    EXPECT_EQ(merge(planning_tiers(), file), planning_tiers());
}

TEST(ProfileFile, MergesFieldByField) {
    const ProfileFile file = must(with_cxl(R"("hosts": 2, "read_latency_ns": 400)"));
    const std::vector<Profile> merged = merge(planning_tiers(), file);
    ASSERT_EQ(merged.size(), kTiers.size());
    Profile want = representative_profile(Tier::cxl);
    want.hosts = Known<std::uint32_t>::of(2, Source::declared, "p.json:1:60");
    want.read_latency_ns = Known<std::uint64_t>::of(400, Source::declared, "p.json:1:82");
    EXPECT_EQ(named(merged, "cxl"), want);
    for (const Tier tier : kTiers) {
        if (tier != Tier::cxl) {
            EXPECT_EQ(named(merged, to_word(tier)), representative_profile(tier));
        }
    }
}

// A value for each field of the table that differs from what the cxl tier has on paper.
std::string another_value(const ProfileField<std::uint64_t>&) {
    return "70";
}
std::string another_value(const ProfileField<std::uint32_t>&) {
    return "7";
}
std::string another_value(const ProfileField<ShareKind>&) {
    return "\"rdma\"";
}
std::string another_value(const ProfileField<CrossHostCoherence>&) {
    return "\"managed\"";
}
std::string another_value(const ProfileField<bool>& field) {
    return representative_profile(Tier::cxl).*field.known == Known<bool>() ||
                   *(representative_profile(Tier::cxl).*field.known).value
               ? "false"
               : "true";
}

int declared_fields(const Profile& profile) {
    int declared = 0;
    for_each_profile_field([&](const auto& field) {
        declared += (profile.*field.known).evidence.source == Source::declared ? 1 : 0;
    });
    return declared;
}

TEST(ProfileFile, MergeCoversEachFieldAlone) {
    const Profile base = representative_profile(Tier::cxl);
    for_each_profile_field([&](const auto& named_field) {
        const std::string text =
            "\"" + std::string(named_field.key) + "\": " + another_value(named_field);
        const std::vector<Profile> merged = merge({base}, must(with_cxl(text)));
        ASSERT_EQ(merged.size(), 1U);
        EXPECT_NE(merged[0].*named_field.known, base.*named_field.known) << text;
        EXPECT_EQ(declared_fields(merged[0]), 1) << text;
        // Everything else keeps its value and its evidence.
        Profile rest = merged[0];
        rest.*named_field.known = base.*named_field.known;
        EXPECT_EQ(rest, base) << text;
    });
}

TEST(ProfileFile, ReferenceFileChangesOnlyTheCostsOfTheReferencePlan) {
    FleetPlanInput input;
    input.tenants = 8;
    input.tokens = 4000;
    input.bytes = 64ULL << 20U;
    input.recompute_ns_per_token = 2'000'000;
    const ProfileFile file = must(with_cxl(
        R"("read_latency_ns": 596, "read_mbps": 60000, "capacity_bytes": 2199023255552,
           "hosts": 8, "cross_host_coherence": "hardware")"));
    const auto before = plan_fleet(input, representative_profile(Tier::cxl));
    const auto after = plan_fleet(input, named(merge(planning_tiers(), file), "cxl"));
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->holds, Regime::coherent);
    EXPECT_EQ(after->advice, FleetAdvice::reuse);
    EXPECT_EQ(after->attending_hosts, 8U);
    EXPECT_EQ(after->coherent.prefill_tokens, 4000U);
    EXPECT_EQ(after->coherent.resident_bytes, 67108864U);
    EXPECT_EQ(after->coherent.prefill_tokens_saved, 28000U);
    EXPECT_EQ(after->coherent.bytes_saved, 469762048U);
    EXPECT_EQ(after->copy_only.prefill_tokens_saved, before->copy_only.prefill_tokens_saved);
    EXPECT_EQ(after->coherent.reader_cost_ns, 596U);
    EXPECT_EQ(after->coherent.full_pass_ns, 1'119'077U);  // 596 + 67108864000 / 60000
    EXPECT_EQ(after->coherent.full_pass_shared_ns, 8'948'444U);
    EXPECT_EQ(after->copy_only.reader_cost_ns, 1'119'077U);
}

TEST(ProfileFile, HostsAloneChangesOnlyTheHosts) {
    const std::vector<Profile> merged = merge(planning_tiers(), must(with_cxl(R"("hosts": 16)")));
    Profile want = representative_profile(Tier::cxl);
    want.hosts = Known<std::uint32_t>::of(16, Source::declared, "p.json:1:60");
    EXPECT_EQ(named(merged, "cxl"), want);
    EXPECT_EQ(declared_fields(want), 1);
}

TEST(ProfileFile, NothingIsAppliedOfAFileThatIsRefused) {
    // The error stands at the very end; the fields before it must not have gone anywhere.
    const auto file = parse_profile_file(
        "p.json", R"({"schema": "cxlpool-profile/1", "tiers": {"cxl": {"hosts": 16}},
                      "pools": {"p0": {"tier": "cxl", "hosts": 0}}})");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), Errc::invalid_argument);
}

TEST(ProfileFile, MergeAddsWhatIsNotKnownYetAndMovesAPoolToItsTier) {
    const ProfileFile file = must(R"({"schema": "cxlpool-profile/1",
        "tiers": {"disk": {"read_mbps": 5000}},
        "pools": {"cxl0": {"tier": "cxl"}, "new": {"tier": "disk", "hosts": 3}}})");
    Profile cxl0;
    cxl0.name = "cxl0";
    cxl0.tier = Tier::numa_far;
    cxl0.capacity_bytes = Known<std::uint64_t>::of(9, Source::firmware, "sysfs");
    cxl0.memory_node = Known<std::uint32_t>::of(1, Source::firmware, "sysfs");
    cxl0.may_shrink = true;
    const std::vector<Profile> merged = merge({cxl0}, file);
    ASSERT_EQ(merged.size(), 3U);
    cxl0.tier = Tier::cxl;
    EXPECT_EQ(merged[0], cxl0);
    EXPECT_EQ(named(merged, "disk").read_mbps.value, 5000U);
    EXPECT_FALSE(named(merged, "disk").capacity_bytes.value);
    EXPECT_EQ(named(merged, "new").hosts.value, 3U);
    EXPECT_EQ(named(merged, "new").tier, Tier::disk);
    EXPECT_FALSE(fabric_shareable(named(merged, "new")));
}

TEST(ProfileFile, RefusesWhatIsNoProfile) {
    EXPECT_EQ(refusal_of("").code, Errc::malformed);
    EXPECT_EQ(refusal_of("{").code, Errc::malformed);
    EXPECT_EQ(refusal_of("[]").message, "p.json:1:1: the file is an array: an object is wanted");
    EXPECT_EQ(refusal_of("{}").message,
              "p.json:1:1: no \"schema\": this reader knows cxlpool-profile/1");
    EXPECT_EQ(refusal_of("{}").code, Errc::malformed);
    EXPECT_EQ(refusal_of(R"({"schema": 1})").code, Errc::malformed);
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/2"})").code, Errc::unsupported_version);
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/2"})").message,
              "p.json:1:12: schema is 'cxlpool-profile/2': this reader knows cxlpool-profile/1");
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "tiers": []})").code, Errc::malformed);
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "pools": null})").code,
              Errc::malformed);
    EXPECT_EQ(refusal_of(std::string((1U << 20U) + 1, ' ')).code, Errc::too_large);
}

TEST(ProfileFile, RefusesUnknownKeysAndWords) {
    const std::pair<std::string, const char*> table[] = {
        {R"({"schema": "cxlpool-profile/1", "tier": {}})",
         "p.json:1:41: unknown key 'tier': known are schema label host time tiers pools"},
        {R"({"schema": "cxlpool-profile/1", "tiers": {"cxl2": {}}})",
         "p.json:1:51: unknown tier 'cxl2': known are hbm dram numa_far cxl remote_dram disk "
         "remote"},
        {with_cxl(R"("read_latency": 3)"),
         "p.json:1:67: unknown key 'read_latency': write read_latency_ns, in nanoseconds; known "
         "are "
         "read_latency_ns read_mbps "
         "capacity_bytes byte_addressable coherent_in_host persistent share_kind hosts "
         "cross_host_coherence cache_writeback_mbps cache_invalidate_mbps"},
        {with_cxl(R"("tier": "cxl")"),
         "p.json:1:59: unknown key 'tier': known are read_latency_ns read_mbps capacity_bytes "
         "byte_addressable coherent_in_host persistent share_kind hosts cross_host_coherence "
         "cache_writeback_mbps cache_invalidate_mbps"},
        {with_cxl(R"("share_kind": "hdm")"),
         "p.json:1:65: unknown share kind 'hdm': known are none mmap cxl_hdm rdma dmabuf"},
        {with_cxl(R"("cross_host_coherence": "yes")"),
         "p.json:1:75: unknown cross-host coherence 'yes': known are none hardware managed"},
        {with_cxl(R"("hosts": {"value": 2, "source": "guessed"})"),
         "p.json:1:83: unknown source 'guessed': known are measured observed firmware declared "
         "representative unknown"},
        {with_cxl(R"("hosts": {"value": 2, "unit": "x"})"),
         "p.json:1:81: unknown key 'unit': known are value source detail time"},
        {with_pool("p0", R"({"tier": "tape"})"),
         "p.json:1:58: unknown tier 'tape': known are hbm dram numa_far cxl remote_dram disk "
         "remote"},
        {with_pool("p0", R"({"tier": "cxl", "speed": 1})"),
         "p.json:1:74: unknown key 'speed': known are tier read_latency_ns read_mbps "
         "capacity_bytes byte_addressable coherent_in_host persistent share_kind hosts "
         "cross_host_coherence cache_writeback_mbps cache_invalidate_mbps"},
    };
    for (const auto& [text, message] : table) {
        const Refusal refusal = refusal_of(text);
        EXPECT_EQ(refusal.code, Errc::unknown_word) << text;
        EXPECT_EQ(refusal.message, message);
    }
}

TEST(ProfileFile, RefusesWrongTypes) {
    for (const char* field :
         {R"("read_latency_ns": "300")", R"("read_latency_ns": null)", R"("read_mbps": true)",
          R"("capacity_bytes": [1])", R"("hosts": "8")", R"("byte_addressable": 1)",
          R"("persistent": "yes")", R"("share_kind": 2)", R"("cross_host_coherence": true)",
          R"("hosts": {"source": "declared"})", R"("hosts": {"value": {"value": 2}})",
          R"("hosts": {"value": null})", R"("hosts": {"value": 2, "source": 1})",
          R"("hosts": {"value": 2, "detail": 1})", R"("hosts": {"value": 2, "time": 1})",
          R"("hosts": 2, "hosts": 2)", R"("hosts": {"value": 2, "value": 2})",
          R"("read_mbps": NaN)", R"("read_mbps": 18446744073709551616)"}) {
        const Refusal refusal = refusal_of(with_cxl(field));
        EXPECT_EQ(refusal.code, Errc::malformed) << field;
        EXPECT_EQ(refusal.message.find("p.json:1:"), 0U) << refusal.message;
    }
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "tiers": {"cxl": 3}})").code,
              Errc::malformed);
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "label": 3})").code, Errc::malformed);
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "schema": "x"})").code,
              Errc::malformed);
    EXPECT_EQ(
        refusal_of(with_cxl(R"("hosts": "8")")).message,
        "p.json:1:60: hosts is the string '8': a whole number of hosts from 1 to 4294967295 is "
        "wanted, without quotes and unit");
}

TEST(ProfileFile, RefusesNumbersThatAreNoFigure) {
    for (const char* field :
         {R"("read_latency_ns": 0)", R"("read_mbps": 0)", R"("hosts": 0)", R"("hosts": 4294967296)",
          R"("read_latency_ns": -1)", R"("capacity_bytes": -9223372036854775808)",
          R"("read_mbps": 1.5)", R"("read_mbps": 300.0)", R"("read_mbps": 1e3)",
          R"("hosts": {"value": 0, "source": "measured"})",
          R"("hosts": {"value": 2, "source": "unknown"})"}) {
        EXPECT_EQ(refusal_of(with_cxl(field)).code, Errc::invalid_argument) << field;
    }
    EXPECT_EQ(refusal_of(with_cxl(R"("read_latency_ns": 0)")).message,
              "p.json:1:70: read_latency_ns is 0: a whole number of nanoseconds from 1 to "
              "18446744073709551615 is "
              "wanted; leave the field out when it is not known");
}

TEST(ProfileFile, ExplainsAWrongUnit) {
    const std::pair<const char*, const char*> table[] = {
        {R"("read_latency_us": 3)",
         "unknown key 'read_latency_us': write read_latency_ns, in "
         "nanoseconds; known are read_latency_ns "},
        {R"("latency": 0.1856)", "write read_latency_ns, in nanoseconds; "},
        {R"("read_bw": 5388)", "write read_mbps, in 10^6 bytes a second; "},
        {R"("read_bw_mbs": 23800)", "write read_mbps, in 10^6 bytes a second; "},
        {R"("read_gbps": 64)", "write read_mbps, in 10^6 bytes a second; "},
        {R"("capacity_gib": 2)", "write capacity_bytes, in bytes; "},
        {R"("size": 2)", "write capacity_bytes, in bytes; "},
        {R"("host_count": 2)", "write hosts, in hosts; "},
        {R"("coherence": "none")", "write cross_host_coherence; known"},
        {R"("writeback_ns": 2)", "write cache_writeback_mbps, in 10^6 bytes a second; "},
        {R"("read_latency_ns": "300ns")",
         "p.json:1:70: read_latency_ns is the string '300ns': a whole number of nanoseconds from 1 "
         "to 18446744073709551615 is wanted, without quotes and unit"},
        {R"("read_mbps": "64 GB/s")", "is wanted, without quotes and unit"},
        {R"("capacity_bytes": "2TiB")", "without quotes and unit: 2199023255552"},
        {R"("capacity_bytes": "2 furlongs")", "is wanted, without quotes and unit"},
        {R"("read_latency_ns": 0.3)",
         "read_latency_ns is 0.3, written as a fraction or with an "
         "exponent: a whole number of nanoseconds from 1 "},
    };
    for (const auto& [field, message] : table) {
        EXPECT_THAT(refusal_of(with_cxl(field)).message, ::testing::HasSubstr(message)) << field;
    }
}

// Samples of measurements gone wrong, as people published them.
TEST(ProfileFile, RefusesMeasurementsThatCannotBe) {
    const auto measured = [](const std::string& tier, const std::string& field,
                             const std::string& value) {
        return refusal_of(R"({"schema": "cxlpool-profile/1", "tiers": {")" + tier + R"(": {")" +
                          field + R"(": {"value": )" + value + R"(, "source": "measured"}}}})");
    };
    for (const char* zero_or_no_number : {"0", "\"inf\"", "\"NaN\"", "-3", "Infinity", "NaN"}) {
        EXPECT_NE(measured("cxl", "read_latency_ns", zero_or_no_number).code, Errc::ok);
        EXPECT_NE(measured("cxl", "read_mbps", zero_or_no_number).code, Errc::ok);
    }
    EXPECT_EQ(measured("cxl", "read_mbps", "10485760").message,
              "p.json:1:74: read_mbps is 10485760, measured: above 10000000 MB/s the run was too "
              "short for its clock, not tier cxl");
    EXPECT_EQ(measured("cxl", "read_latency_ns", "12").message,
              "p.json:1:80: read_latency_ns is 12, measured: below 50 ns a cache or the prefetcher "
              "was measured, not tier cxl");
    EXPECT_EQ(measured("cxl", "read_latency_ns", "12").code, Errc::invalid_argument);
    EXPECT_EQ(measured("cxl", "read_latency_ns", "50").code, Errc::ok);
    EXPECT_EQ(measured("cxl", "read_latency_ns", "251").code, Errc::ok);
    EXPECT_EQ(measured("cxl", "read_mbps", "23800").code, Errc::ok);
    EXPECT_EQ(measured("hbm", "read_mbps", "10485760").code, Errc::ok);
    // A declaration is a plan on paper, and may ask what if.
    EXPECT_EQ(refusal_of(with_cxl(R"("read_latency_ns": 12)")).code, Errc::ok);
    // Of a pool it is the pool's tier that counts, wherever the file names it.
    EXPECT_EQ(refusal_of(with_pool("p0", R"({"read_latency_ns": {"value": 30, "source": "measured"},
                            "tier": "dram"})"))
                  .code,
              Errc::ok);
}

TEST(ProfileFile, RefusesBadPools) {
    EXPECT_EQ(refusal_of(with_pool("p0", "{}")).message, "p.json:1:49: pool 'p0' has no \"tier\"");
    EXPECT_EQ(refusal_of(with_pool("p0", "{}")).code, Errc::malformed);
    EXPECT_EQ(refusal_of(with_pool("p0", "3")).code, Errc::malformed);
    EXPECT_EQ(refusal_of(with_pool("p0", R"({"tier": 3})")).code, Errc::malformed);
    const std::string body = R"({"tier": "cxl"})";
    EXPECT_EQ(refusal_of(with_pool("cxl", body)).code, Errc::invalid_argument);
    EXPECT_EQ(refusal_of(with_pool("", body)).code, Errc::invalid_argument);
    EXPECT_EQ(refusal_of(with_pool("a b", body)).code, Errc::invalid_argument);
    EXPECT_EQ(refusal_of(with_pool("a\\u001b", body)).code, Errc::invalid_argument);
    EXPECT_EQ(refusal_of(with_pool(std::string(65, 'p'), body)).code, Errc::invalid_argument);
    EXPECT_EQ(refusal_of(with_pool(std::string(64, 'p'), body)).code, Errc::ok);
}

TEST(ProfileFile, ReadsOneFormOfTime) {
    const auto with_time = [](std::string_view time) {
        return R"({"schema": "cxlpool-profile/1", "time": ")" + std::string(time) + "\"}";
    };
    EXPECT_EQ(must(with_time("1970-01-01T00:00:00Z")).time, Timestamp{0});
    EXPECT_EQ(must(with_time("2024-02-29T23:59:59Z")).time, Timestamp{1709251199 * kSecond});
    EXPECT_EQ(must(with_time("2500-12-31T23:59:59Z")).time, Timestamp{16756761599 * kSecond});
    for (const char* bad :
         {"", "yesterday", "2025-03-01", "2025-03-01T12:00:00", "2025-03-01T12:00:00+01:00",
          "2025-03-01 12:00:00Z", "2023-02-29T00:00:00Z", "2025-13-01T00:00:00Z",
          "2025-00-01T00:00:00Z", "2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z",
          "2025-01-01T00:00:60Z", "1969-12-31T23:59:59Z", "2501-01-01T00:00:00Z",
          "2025-03-01T12:00:0-Z", " 025-03-01T12:00:00Z"}) {
        EXPECT_EQ(refusal_of(with_time(bad)).code, Errc::malformed) << bad;
    }
}

TEST(ProfileFile, RefusesTextThatATerminalActsOn) {
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "label": "\u009b2J"})").code,
              Errc::invalid_argument)
        << "the same control character in one";
    EXPECT_EQ(refusal_of(R"({"schema": "cxlpool-profile/1", "label": "\u001b[2J"})").code,
              Errc::invalid_argument);
    EXPECT_EQ(
        refusal_of(with_cxl(R"("hosts": {"value": 2, "detail": ")" + std::string(257, 'd') + "\"}"))
            .code,
        Errc::invalid_argument);
    EXPECT_EQ(
        refusal_of(with_cxl(R"("hosts": {"value": 2, "detail": ")" + std::string(256, 'd') + "\"}"))
            .code,
        Errc::ok);
}

TEST(ProfileFile, NamesTheLine) {
    EXPECT_EQ(refusal_of("{\"schema\": \"cxlpool-profile/1\",\n \"tiers\": {\n  \"cxl\": "
                         "{\"hosts\": -2}}}")
                  .message,
              "p.json:3:20: hosts is -2: a whole number of hosts from 1 to 4294967295 is wanted");
}

}  // namespace
}  // namespace cxlpool
