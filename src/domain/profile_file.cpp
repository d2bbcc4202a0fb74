#include "domain/profile_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

#include "base/json_reader.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using json::Value;

// A profile names a few dozen figures; these bounds leave room for thousands of pools.
constexpr json::Limits kLimits{1U << 20U, 8, 1U << 17U};
constexpr std::size_t kMaxTextBytes = 256;  // label, host, detail: one line of a terminal
constexpr std::size_t kMaxPoolNameBytes = 64;

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

bool shows_safely(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte != 0x7F;
    });
}

bool is_pool_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxPoolNameBytes &&
           std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

class Reader {
  public:
    explicit Reader(std::string_view name) : name_(name) {}

    Result<ProfileFile> read_file(const Value& root);

  private:
    using ReadField = Result<void> (Reader::*)(std::string_view key, const Value&, Profile&);
    struct Field {
        std::string_view key;
        ReadField read;
    };
    static const std::array<Field, 9> kFields;

    Error fail(Errc code, const Value& at, std::string_view what) const {
        return json::error_at(code, name_, at, what);
    }
    Error wrong_type(std::string_view key, const Value& at, std::string_view wanted) const {
        return fail(Errc::malformed, at,
                    std::string(key) + " is " + std::string(json::to_word(at.kind)) + ": " +
                        std::string(wanted) + " is wanted");
    }
    Error unknown_key(std::string_view key, const Value& at, std::string_view known) const {
        return fail(Errc::unknown_word, at,
                    "unknown key " + words::quoted(key) + ": known are " + std::string(known));
    }

    Result<void> require_object(std::string_view key, const Value& value) const;
    Result<std::string> read_text(std::string_view key, const Value& value) const;
    Result<Timestamp> read_time(std::string_view key, const Value& value) const;
    Result<void> read_head(const Value& root, ProfileFile& out);
    Result<void> read_schema(const Value& root) const;
    Result<Profile> read_tier(std::string_view word, const Value& value);
    Result<Profile> read_pool(std::string_view pool, const Value& value);
    Result<void> read_fields(const Value& object, bool with_tier, Profile& out);

    // The value of a field in either form, and its evidence.
    Result<const Value*> unwrap(std::string_view key, const Value& field, Evidence& evidence) const;

    Result<std::uint64_t> read_number(std::string_view key, const Value& value, std::uint64_t min,
                                      std::uint64_t max) const;
    Result<void> read_value(std::string_view key, const Value& value,
                            std::optional<bool>& out) const;
    template <typename Word>
    Result<Word> parse_word(const Value& value, Result<Word> (*parse)(std::string_view)) const;
    Result<void> read_value(std::string_view key, const Value& value,
                            std::optional<ShareKind>& out) const;
    Result<void> read_value(std::string_view key, const Value& value,
                            std::optional<CrossHostCoherence>& out) const;
    Result<void> read_value(std::string_view key, const Value& value,
                            std::optional<std::uint32_t>& out) const;

    // One field of the table. `member` is where it goes.
    template <auto member>
    Result<void> field(std::string_view key, const Value& value, Profile& out);
    template <auto member, std::uint64_t min>
    Result<void> number_field(std::string_view key, const Value& value, Profile& out);

    std::string_view name_;
    Timestamp time_;
};

template <auto member>
Result<void> Reader::field(std::string_view key, const Value& value, Profile& out) {
    Evidence evidence;
    const Result<const Value*> bare = unwrap(key, value, evidence);
    if (!bare) {
        return bare.error();
    }
    CXLPOOL_TRY(read_value(key, **bare, (out.*member).value));
    (out.*member).evidence = std::move(evidence);
    return {};
}

template <auto member, std::uint64_t min>
Result<void> Reader::number_field(std::string_view key, const Value& value, Profile& out) {
    Evidence evidence;
    const Result<const Value*> bare = unwrap(key, value, evidence);
    if (!bare) {
        return bare.error();
    }
    const Result<std::uint64_t> number =
        read_number(key, **bare, min, std::numeric_limits<std::uint64_t>::max());
    if (!number) {
        return number.error();
    }
    (out.*member).value = *number;
    (out.*member).evidence = std::move(evidence);
    return {};
}

const std::array<Reader::Field, 9> Reader::kFields{
    Field{"read_latency_ns", &Reader::number_field<&Profile::read_latency_ns, 1>},
    Field{"read_mbps", &Reader::number_field<&Profile::read_mbps, 1>},
    Field{"capacity_bytes", &Reader::number_field<&Profile::capacity_bytes, 0>},
    Field{"byte_addressable", &Reader::field<&Profile::byte_addressable>},
    Field{"coherent_in_host", &Reader::field<&Profile::coherent_in_host>},
    Field{"persistent", &Reader::field<&Profile::persistent>},
    Field{"share_kind", &Reader::field<&Profile::share_kind>},
    Field{"hosts", &Reader::field<&Profile::hosts>},
    Field{"cross_host_coherence", &Reader::field<&Profile::cross_host_coherence>},
};

Result<void> Reader::require_object(std::string_view key, const Value& value) const {
    if (!value.is(Value::Kind::object)) {
        return wrong_type(key, value, "an object");
    }
    return {};
}

Result<std::string> Reader::read_text(std::string_view key, const Value& value) const {
    if (!value.is(Value::Kind::string)) {
        return wrong_type(key, value, "a string");
    }
    if (value.string.size() > kMaxTextBytes || !shows_safely(value.string)) {
        return fail(Errc::invalid_argument, value,
                    std::string(key) + " is " + words::quoted(value.string) + ": at most " +
                        std::to_string(kMaxTextBytes) + " bytes without control characters");
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

Result<std::uint64_t> Reader::read_number(std::string_view key, const Value& value,
                                          std::uint64_t min, std::uint64_t max) const {
    const std::string range =
        "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
    switch (value.kind) {
        case Value::Kind::unsigned_number:
            if (value.unsigned_number < min || value.unsigned_number > max) {
                const std::string leave_out =
                    value.unsigned_number == 0 ? "; leave the field out when it is not known" : "";
                return fail(Errc::invalid_argument, value,
                            std::string(key) + " is " + std::to_string(value.unsigned_number) +
                                ": " + range + " is wanted" + leave_out);
            }
            return value.unsigned_number;
        case Value::Kind::negative_number:
            return fail(Errc::invalid_argument, value,
                        std::string(key) + " is " + std::to_string(value.negative_number) + ": " +
                            range + " is wanted");
        case Value::Kind::real_number:
            return fail(Errc::invalid_argument, value,
                        std::string(key) + " is written as a fraction or with an exponent: " +
                            range + " is wanted");
        default:
            return wrong_type(key, value, range);
    }
}

Result<void> Reader::read_value(std::string_view key, const Value& value,
                                std::optional<bool>& out) const {
    if (!value.is(Value::Kind::boolean)) {
        return wrong_type(key, value, "true or false");
    }
    out = value.boolean;
    return {};
}

Result<void> Reader::read_value(std::string_view key, const Value& value,
                                std::optional<std::uint32_t>& out) const {
    const Result<std::uint64_t> number =
        read_number(key, value, 1, std::numeric_limits<std::uint32_t>::max());
    if (!number) {
        return number.error();
    }
    out = static_cast<std::uint32_t>(*number);
    return {};
}

template <typename Word>
Result<Word> Reader::parse_word(const Value& value, Result<Word> (*parse)(std::string_view)) const {
    Result<Word> word = parse(value.string);
    if (!word) {
        return fail(word.error().code(), value, word.error().message());
    }
    return word;
}

Result<void> Reader::read_value(std::string_view key, const Value& value,
                                std::optional<ShareKind>& out) const {
    if (!value.is(Value::Kind::string)) {
        return wrong_type(key, value, "a word");
    }
    const Result<ShareKind> word = parse_word(value, parse_share_kind);
    if (!word) {
        return word.error();
    }
    out = *word;
    return {};
}

Result<void> Reader::read_value(std::string_view key, const Value& value,
                                std::optional<CrossHostCoherence>& out) const {
    if (!value.is(Value::Kind::string)) {
        return wrong_type(key, value, "a word");
    }
    const Result<CrossHostCoherence> word = parse_word(value, parse_cross_host_coherence);
    if (!word) {
        return word.error();
    }
    out = *word;
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
    evidence.detail = std::string(name_) + ":" + std::to_string(bare->position.line) + ":" +
                      std::to_string(bare->position.column);
    if (bare == &field) {
        return bare;
    }
    for (const json::Member& member : field.members) {
        if (member.key == "value") {
            continue;
        }
        if (member.key == "source") {
            if (!member.value.is(Value::Kind::string)) {
                return wrong_type("source", member.value, "a word");
            }
            const Result<Source> source = parse_word(member.value, parse_source);
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
        const auto known = std::find_if(kFields.begin(), kFields.end(),
                                        [&member](const Field& f) { return f.key == member.key; });
        if (known == kFields.end()) {
            std::string list = with_tier ? "tier" : "";
            for (const Field& f : kFields) {
                list.append(list.empty() ? "" : " ").append(f.key);
            }
            return unknown_key(member.key, member.value, list);
        }
        CXLPOOL_TRY((this->*known->read)(known->key, member.value, out));
    }
    return {};
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
                        std::to_string(kMaxPoolNameBytes) +
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
    if (!tier->is(Value::Kind::string)) {
        return wrong_type("tier", *tier, "a word");
    }
    const Result<Tier> parsed = parse_word(*tier, parse_tier);
    if (!parsed) {
        return parsed.error();
    }
    Profile profile;
    profile.name = std::string(pool);
    profile.tier = *parsed;
    CXLPOOL_TRY(read_fields(value, true, profile));
    return profile;
}

Result<void> Reader::read_schema(const Value& root) const {
    CXLPOOL_TRY(require_object("the file", root));
    const Value* const schema = root.find("schema");
    if (schema == nullptr) {
        return fail(Errc::malformed, root,
                    "no \"schema\": this reader knows " + std::string(kProfileSchema));
    }
    if (!schema->is(Value::Kind::string)) {
        return wrong_type("schema", *schema, "a string");
    }
    if (schema->string != kProfileSchema) {
        return fail(Errc::unsupported_version, *schema,
                    "schema is " + words::quoted(schema->string) + ": this reader knows " +
                        std::string(kProfileSchema));
    }
    return {};
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
    CXLPOOL_TRY(read_schema(root));
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

template <typename T>
void lay_over(Known<T>& field, const Known<T>& named) {
    if (named.value) {
        field = named;
    }
}

void lay_over(Profile& profile, const Profile& named) {
    profile.tier = named.tier;
    lay_over(profile.read_latency_ns, named.read_latency_ns);
    lay_over(profile.read_mbps, named.read_mbps);
    lay_over(profile.capacity_bytes, named.capacity_bytes);
    lay_over(profile.byte_addressable, named.byte_addressable);
    lay_over(profile.coherent_in_host, named.coherent_in_host);
    lay_over(profile.persistent, named.persistent);
    lay_over(profile.share_kind, named.share_kind);
    lay_over(profile.hosts, named.hosts);
    lay_over(profile.cross_host_coherence, named.cross_host_coherence);
}

void lay_over(std::vector<Profile>& base, const std::vector<Profile>& named) {
    for (const Profile& entry : named) {
        const auto known = std::find_if(
            base.begin(), base.end(), [&entry](const Profile& p) { return p.name == entry.name; });
        if (known == base.end()) {
            base.push_back(entry);
        } else {
            lay_over(*known, entry);
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

std::vector<Profile> merge(std::vector<Profile> base, const ProfileFile& file) {
    lay_over(base, file.tiers);
    lay_over(base, file.pools);
    return base;
}

}  // namespace cxlpool
