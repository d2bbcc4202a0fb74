#include "domain/profile_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <type_traits>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "domain/file_reader.hpp"
#include "domain/profile_fields.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using json::Value;

// A profile names a few dozen figures; these bounds leave room for thousands of pools.
constexpr json::Limits kLimits{kProfileMaxBytes, 8, 1U << 17U};

// "2025-03-01T12:00:00Z" and nothing else, from 1970 on.
std::optional<Timestamp> parse_utc(std::string_view text) {
    constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:ddZ";
    if (text.size() != kShape.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < kShape.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) {
            return std::nullopt;
        }
    }
    const auto number = [text](std::size_t at, std::size_t digits) {
        unsigned value = 0;
        std::from_chars(text.data() + at, text.data() + at + digits, value);
        return value;
    };
    using namespace std::chrono;
    const year_month_day date{year(static_cast<int>(number(0, 4))), month(number(5, 2)),
                              day(number(8, 2))};
    const unsigned hour = number(11, 2);
    const unsigned minute = number(14, 2);
    const unsigned second = number(17, 2);
    constexpr int kLastYear = 2500;  // nanoseconds since 1970 in 64 bits end in 2554
    if (!date.ok() || date.year() < year(1970) || date.year() > year(kLastYear) || hour > 23 ||
        minute > 59 || second > 59) {
        return std::nullopt;
    }
    const auto days = static_cast<std::uint64_t>(sys_days(date).time_since_epoch().count());
    const std::uint64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    return Timestamp{seconds * 1'000'000'000ULL};
}

bool is_pool_name(std::string_view name) {
    return !name.empty() && name.size() <= kProfileMaxPoolNameBytes &&
           std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

template <typename Int>
std::string number_wanted(const ProfileField<Int>& field) {
    return "a whole number of " + std::string(field.unit) + " from " + std::to_string(field.min) +
           " to " + std::to_string(field.max);
}

std::string short_form(double number) {
    std::array<char, 32> text{};
    const auto [end, ec] = std::to_chars(text.data(), text.data() + text.size(), number);
    return ec == std::errc() ? std::string(text.data(), end) : "a fraction";
}

// For who writes "2TiB": the number that it is.
std::string as_bytes(std::string_view unit, std::string_view text) {
    const Result<std::uint64_t> bytes =
        unit == "bytes" ? parse_bytes(text) : Result<std::uint64_t>(Error{Errc::malformed, ""});
    return bytes ? " and unit: " + std::to_string(*bytes) : " and unit";
}

// What somebody who writes another unit, or none, probably means. Longer stems come first.
struct Stem {
    std::string_view stem;
    std::string_view key;
};
constexpr std::array kStems{
    Stem{"cache_writeback", "cache_writeback_mbps"},
    Stem{"writeback", "cache_writeback_mbps"},
    Stem{"cache_invalidate", "cache_invalidate_mbps"},
    Stem{"invalidate", "cache_invalidate_mbps"},
    Stem{"read_latency", "read_latency_ns"},
    Stem{"latency", "read_latency_ns"},
    Stem{"read_bandwidth", "read_mbps"},
    Stem{"read_bw", "read_mbps"},
    Stem{"read_mb", "read_mbps"},
    Stem{"read_gb", "read_mbps"},
    Stem{"bandwidth", "read_mbps"},
    Stem{"bw", "read_mbps"},
    Stem{"capacity", "capacity_bytes"},
    Stem{"size", "capacity_bytes"},
    Stem{"host", "hosts"},
    Stem{"share", "share_kind"},
    Stem{"coheren", "cross_host_coherence"},
    Stem{"cross_host", "cross_host_coherence"},
};

std::string_view field_meant_by(std::string_view key) {
    for (const Stem& row : kStems) {
        if (key.substr(0, row.stem.size()) == row.stem) {
            return row.key;
        }
    }
    return {};
}

// Bounds of what can have been measured. Below the latency it was a cache or the prefetcher that
// answered; above the bandwidth the clock was too coarse for the run.
struct Plausible {
    Tier tier;
    std::uint64_t min_latency_ns;
    std::uint64_t max_mbps;
};
constexpr std::uint64_t kFastestLink = 10'000'000;
constexpr std::uint64_t kFastestHbm = 100'000'000;
constexpr std::array kPlausible{
    Plausible{Tier::hbm, 20, kFastestHbm},           Plausible{Tier::dram, 20, kFastestLink},
    Plausible{Tier::numa_far, 40, kFastestLink},     Plausible{Tier::cxl, 50, kFastestLink},
    Plausible{Tier::remote_dram, 500, kFastestLink}, Plausible{Tier::disk, 1000, kFastestLink},
    Plausible{Tier::remote, 1000, kFastestLink},
};

// Why a measured figure cannot be one; empty when it can.
std::string implausible(Known<std::uint64_t> Profile::*field, std::uint64_t figure, Tier tier) {
    const auto* const row =
        std::find_if(kPlausible.begin(), kPlausible.end(),
                     [tier](const Plausible& bounds) { return bounds.tier == tier; });
    if (row == kPlausible.end()) {
        return {};
    }
    if (field == &Profile::read_latency_ns && figure < row->min_latency_ns) {
        return "below " + std::to_string(row->min_latency_ns) +
               " ns a cache or the prefetcher was measured, not tier " + std::string(to_word(tier));
    }
    if (field == &Profile::read_mbps && figure > row->max_mbps) {
        return "above " + std::to_string(row->max_mbps) +
               " MB/s the run was too short for its clock, not tier " + std::string(to_word(tier));
    }
    return {};
}

class Reader : private FileReader {
  public:
    using FileReader::FileReader;

    Result<ProfileFile> read_file(const Value& root);
    Result<Profile> read_tier(std::string_view word, const Value& value);

  private:
    Result<std::string> read_text(std::string_view key, const Value& value) const;
    Result<Timestamp> read_time(std::string_view key, const Value& value) const;
    Result<void> read_head(const Value& root, ProfileFile& out);
    Result<Profile> read_pool(std::string_view pool, const Value& value);
    Result<void> read_fields(const Value& object, bool with_tier, Profile& out);
    Error unknown_field(std::string_view key, const Value& at, bool with_tier) const;

    // The value of a field in either form, and its evidence.
    Result<const Value*> unwrap(std::string_view key, const Value& field, Evidence& evidence) const;

    // One overload a kind of field.
    template <typename Int>
    Result<void> read_value(const ProfileField<Int>& field, const Value& value,
                            std::optional<Int>& out) const;
    Result<void> read_value(const ProfileField<bool>& field, const Value& value,
                            std::optional<bool>& out) const;
    Result<void> read_value(const ProfileField<ShareKind>& field, const Value& value,
                            std::optional<ShareKind>& out) const;
    Result<void> read_value(const ProfileField<CrossHostCoherence>& field, const Value& value,
                            std::optional<CrossHostCoherence>& out) const;

    template <typename T>
    Result<void> read_known(const ProfileField<T>& field, const Value& value, Profile& out) const;

    Timestamp time_;
};

Result<std::string> Reader::read_text(std::string_view key, const Value& value) const {
    if (!value.is(Value::Kind::string)) {
        return wrong_type(key, value, "a string");
    }
    if (value.string.size() > kProfileMaxTextBytes || !shows_safely(value.string)) {
        return fail(Errc::invalid_argument, value,
                    std::string(key) + " is " + words::quoted(value.string) + ": at most " +
                        std::to_string(kProfileMaxTextBytes) + " bytes without control characters");
    }
    return value.string;
}

Result<Timestamp> Reader::read_time(std::string_view key, const Value& value) const {
    if (!value.is(Value::Kind::string)) {
        return wrong_type(key, value, "a string");
    }
    if (const std::optional<Timestamp> time = parse_utc(value.string)) {
        return *time;
    }
    return fail(Errc::malformed, value,
                std::string(key) + " is " + words::quoted(value.string) +
                    ": write UTC to the second, as in 2025-03-01T12:00:00Z");
}

template <typename Int>
Result<void> Reader::read_value(const ProfileField<Int>& field, const Value& value,
                                std::optional<Int>& out) const {
    const std::string wanted = number_wanted(field);
    switch (value.kind) {
        case Value::Kind::unsigned_number:
            if (value.unsigned_number < field.min || value.unsigned_number > field.max) {
                const std::string leave_out =
                    value.unsigned_number == 0 ? "; leave the field out when it is not known" : "";
                return fail(Errc::invalid_argument, value,
                            std::string(field.key) + " is " +
                                std::to_string(value.unsigned_number) + ": " + wanted +
                                " is wanted" + leave_out);
            }
            out = static_cast<Int>(value.unsigned_number);
            return {};
        case Value::Kind::negative_number:
            return fail(Errc::invalid_argument, value,
                        std::string(field.key) + " is " + std::to_string(value.negative_number) +
                            ": " + wanted + " is wanted");
        case Value::Kind::real_number:
            return fail(Errc::invalid_argument, value,
                        std::string(field.key) + " is " + short_form(value.real_number) +
                            ", written as a fraction or with an exponent: " + wanted +
                            " is wanted");
        case Value::Kind::string:
            return fail(Errc::malformed, value,
                        std::string(field.key) + " is the string " + words::quoted(value.string) +
                            ": " + wanted + " is wanted, without quotes" +
                            as_bytes(field.unit, value.string));
        default:
            return wrong_type(field.key, value, wanted);
    }
}

Result<void> Reader::read_value(const ProfileField<bool>& field, const Value& value,
                                std::optional<bool>& out) const {
    if (!value.is(Value::Kind::boolean)) {
        return wrong_type(field.key, value, "true or false");
    }
    out = value.boolean;
    return {};
}

Result<void> Reader::read_value(const ProfileField<ShareKind>& field, const Value& value,
                                std::optional<ShareKind>& out) const {
    const Result<ShareKind> word = read_word(field.key, value, parse_share_kind);
    if (!word) {
        return word.error();
    }
    out = *word;
    return {};
}

Result<void> Reader::read_value(const ProfileField<CrossHostCoherence>& field, const Value& value,
                                std::optional<CrossHostCoherence>& out) const {
    const Result<CrossHostCoherence> word = read_word(field.key, value, parse_cross_host_coherence);
    if (!word) {
        return word.error();
    }
    out = *word;
    return {};
}

template <typename T>
Result<void> Reader::read_known(const ProfileField<T>& field, const Value& value,
                                Profile& out) const {
    Known<T>& known = out.*field.known;
    const Result<const Value*> bare = unwrap(field.key, value, known.evidence);
    if (!bare) {
        return bare.error();
    }
    CXLPOOL_TRY(read_value(field, **bare, known.value));
    if constexpr (std::is_same_v<T, std::uint64_t>) {
        if (known.evidence.source == Source::measured) {
            const std::string why = implausible(field.known, *known.value, out.tier);
            if (!why.empty()) {
                return fail(Errc::invalid_argument, **bare,
                            std::string(field.key) + " is " + std::to_string(*known.value) +
                                ", measured: " + why);
            }
        }
    }
    return {};
}

Result<const Value*> Reader::unwrap(std::string_view key, const Value& field,
                                    Evidence& evidence) const {
    const Value* bare = &field;
    evidence.source = Source::declared;
    evidence.time = time_;
    if (field.is(Value::Kind::object)) {
        bare = field.find("value");
        if (bare == nullptr) {
            return fail(Errc::malformed, field, std::string(key) + " has no \"value\"");
        }
    }
    evidence.detail = std::string(name()) + ":" + std::to_string(bare->position.line) + ":" +
                      std::to_string(bare->position.column);
    if (bare == &field) {
        return bare;
    }
    for (const json::Member& member : field.members) {
        if (member.key == "value") {
            continue;
        }
        if (member.key == "source") {
            const Result<Source> source = read_word("source", member.value, parse_source);
            if (!source) {
                return source.error();
            }
            if (*source == Source::unknown) {
                return fail(
                    Errc::invalid_argument, member.value,
                    std::string(key) + " has a value from an unknown source: leave the field out");
            }
            evidence.source = *source;
        } else if (member.key == "detail") {
            Result<std::string> detail = read_text("detail", member.value);
            if (!detail) {
                return detail.error();
            }
            evidence.detail = *std::move(detail);
        } else if (member.key == "time") {
            const Result<Timestamp> time = read_time("time", member.value);
            if (!time) {
                return time.error();
            }
            evidence.time = *time;
        } else {
            return unknown_key(member.key, member.value, "value source detail time");
        }
    }
    return bare;
}

Result<void> Reader::read_fields(const Value& object, bool with_tier, Profile& out) {
    for (const json::Member& member : object.members) {
        if (with_tier && member.key == "tier") {
            continue;
        }
        bool known = false;
        Result<void> result;
        for_each_profile_field([&](const auto& field) {
            if (field.key == member.key) {
                known = true;
                result = read_known(field, member.value, out);
            }
        });
        if (!known) {
            return unknown_field(member.key, member.value, with_tier);
        }
        CXLPOOL_TRY(std::move(result));
    }
    return {};
}

Error Reader::unknown_field(std::string_view key, const Value& at, bool with_tier) const {
    std::string known = with_tier ? "tier" : "";
    std::string hint;
    const std::string_view meant = field_meant_by(key);
    for_each_profile_field([&](const auto& field) {
        known.append(known.empty() ? "" : " ").append(field.key);
        if (field.key == meant) {
            hint = ": write " + std::string(meant) +
                   (field.unit.empty() ? "" : ", in " + std::string(field.unit));
        }
    });
    return fail(Errc::unknown_word, at,
                "unknown key " + words::quoted(key) + hint + (hint.empty() ? ": " : "; ") +
                    "known are " + known);
}

Result<Profile> Reader::read_tier(std::string_view word, const Value& value) {
    const Result<Tier> tier = parse_tier(word);
    if (!tier) {
        return fail(tier.error().code(), value, tier.error().message());
    }
    CXLPOOL_TRY(require_object(word, value));
    Profile profile;
    profile.name = std::string(word);
    profile.tier = *tier;
    CXLPOOL_TRY(read_fields(value, false, profile));
    return profile;
}

Result<Profile> Reader::read_pool(std::string_view pool, const Value& value) {
    if (!is_pool_name(pool)) {
        return fail(Errc::invalid_argument, value,
                    "pool name " + words::quoted(pool) + ": 1 to " +
                        std::to_string(kProfileMaxPoolNameBytes) +
                        " printable ASCII characters without blanks are wanted");
    }
    if (parse_tier(pool)) {
        return fail(Errc::invalid_argument, value,
                    "pool name " + words::quoted(pool) +
                        " is the word of a tier: describe it under \"tiers\", or rename the pool");
    }
    CXLPOOL_TRY(require_object(words::quoted(pool), value));
    const Value* const tier = value.find("tier");
    if (tier == nullptr) {
        return fail(Errc::malformed, value, "pool " + words::quoted(pool) + " has no \"tier\"");
    }
    const Result<Tier> parsed = read_word("tier", *tier, parse_tier);
    if (!parsed) {
        return parsed.error();
    }
    Profile profile;
    profile.name = std::string(pool);
    profile.tier = *parsed;
    CXLPOOL_TRY(read_fields(value, true, profile));
    return profile;
}

// All that is not a tier or a pool. First, because the time is evidence for the rest.
Result<void> Reader::read_head(const Value& root, ProfileFile& out) {
    for (const json::Member& member : root.members) {
        if (member.key == "label" || member.key == "host") {
            Result<std::string> text = read_text(member.key, member.value);
            if (!text) {
                return text.error();
            }
            (member.key == "label" ? out.label : out.host) = *std::move(text);
        } else if (member.key == "time") {
            const Result<Timestamp> time = read_time("time", member.value);
            if (!time) {
                return time.error();
            }
            out.time = *time;
            time_ = *time;
        } else if (member.key == "tiers" || member.key == "pools") {
            CXLPOOL_TRY(require_object(member.key, member.value));
        } else if (member.key != "schema") {
            return unknown_key(member.key, member.value, "schema label host time tiers pools");
        }
    }
    return {};
}

Result<ProfileFile> Reader::read_file(const Value& root) {
    ProfileFile out;
    CXLPOOL_TRY(require_schema(root, kProfileSchema));
    CXLPOOL_TRY(read_head(root, out));
    if (const Value* const tiers = root.find("tiers")) {
        for (const json::Member& member : tiers->members) {
            Result<Profile> profile = read_tier(member.key, member.value);
            if (!profile) {
                return profile.error();
            }
            out.tiers.push_back(*std::move(profile));
        }
    }
    if (const Value* const pools = root.find("pools")) {
        for (const json::Member& member : pools->members) {
            Result<Profile> profile = read_pool(member.key, member.value);
            if (!profile) {
                return profile.error();
            }
            out.pools.push_back(*std::move(profile));
        }
    }
    return out;
}

void lay_over(Profile& profile, const Profile& named) {
    profile.tier = named.tier;
    for_each_profile_field([&](const auto& field) {
        if ((named.*field.known).value) {
            profile.*field.known = named.*field.known;
        }
    });
}

void lay_over(std::vector<Profile>& base, const std::vector<Profile>& named) {
    std::map<std::string, std::size_t, std::less<>> known;  // a file may name very many pools
    for (std::size_t i = 0; i < base.size(); ++i) {
        known.emplace(base[i].name, i);
    }
    for (const Profile& entry : named) {
        const auto [at, fresh] = known.emplace(entry.name, base.size());
        if (fresh) {
            base.push_back(entry);
        } else {
            lay_over(base[at->second], entry);
        }
    }
}

}  // namespace

Result<ProfileFile> parse_profile_file(std::string_view name, std::string_view text) {
    const Result<Value> root = json::parse(name, text, kLimits);
    if (!root) {
        return root.error();
    }
    return Reader(name).read_file(*root);
}

Result<Profile> read_tier_profile(std::string_view name, std::string_view word,
                                  const json::Value& value) {
    return Reader(name).read_tier(word, value);
}

std::vector<Profile> merge(std::vector<Profile> base, const ProfileFile& file) {
    lay_over(base, file.tiers);
    lay_over(base, file.pools);
    return base;
}

}  // namespace cxlpool
