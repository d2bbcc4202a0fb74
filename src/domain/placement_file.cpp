#include "domain/placement_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/units.hpp"
#include "domain/file_reader.hpp"
#include "domain/profile_file.hpp"

namespace cxlpool {
namespace {

// Every cell with all its keys and itself, and room for the tiers.
constexpr std::size_t kValuesPerCell = 13;
constexpr json::Limits kLimits{kPlacementFileMaxBytes, 8,
                               kValuesPerCell* kPlacementFileMaxCells + (1U << 16U)};
constexpr std::size_t kMaxNameBytes = 64;

Result<Lifecycle> parse_state(std::string_view word) {
    if (const std::optional<Lifecycle> state = parse_lifecycle(word)) {
        return *state;
    }
    return words::unknown("state", word, kLifecycles);
}

class Reader : private FileReader {
  public:
    using FileReader::FileReader;

    Result<PlacementFile> read_file(const Value& root);

  private:
    Result<void> read_tier(std::string_view word, const Value& value);
    Result<Profile> read_profile(std::string_view word, const Value& tier) const;
    Result<void> read_policy(const json::Member& member, PlacementTier& out) const;
    Result<NamedCell> read_cell(const Value& value, std::size_t number);
    Result<void> read_cell_field(const json::Member& member, NamedCell& out);
    Result<void> count_in(const NamedCell& cell, const Value& at);
    Result<void> into(std::optional<std::uint64_t>& out, const json::Member& member,
                      std::uint64_t min) const;
    Result<void> into(Timestamp& out, const json::Member& member) const;
    Result<void> into(std::optional<Timestamp>& out, const json::Member& member) const;

    PlacementFile file_;
    bool representative_ = false;
    std::array<std::uint64_t, kTiers.size()> cell_bytes_{};  // by rung
};

Result<void> Reader::into(std::optional<std::uint64_t>& out, const json::Member& member,
                          std::uint64_t min) const {
    const Result<std::uint64_t> number = read_whole(member.key, member.value, min);
    if (!number) {
        return number.error();
    }
    out = *number;
    return {};
}

// No time of the file is after its now.
Result<void> Reader::into(Timestamp& out, const json::Member& member) const {
    const Result<std::uint64_t> number = read_whole(member.key, member.value, 0, file_.now.ns);
    if (!number) {
        return number.error();
    }
    out = Timestamp{*number};
    return {};
}

Result<void> Reader::into(std::optional<Timestamp>& out, const json::Member& member) const {
    Timestamp time;
    CXLPOOL_TRY(into(time, member));
    out = time;
    return {};
}

Result<Profile> Reader::read_profile(std::string_view word, const Value& tier) const {
    const Result<Tier> parsed = parse_tier(word);
    if (!parsed) {
        return fail(parsed.error().code(), tier, parsed.error().message());
    }
    std::vector<Profile> known(1);
    known[0].name = std::string(word);
    known[0].tier = *parsed;
    if (representative_) {
        known[0] = representative_profile(*parsed);
    }
    ProfileFile named;
    if (const Value* const profile = tier.find("profile")) {
        Result<Profile> read = read_tier_profile(name(), word, *profile);
        if (!read) {
            return read;
        }
        named.tiers.push_back(*std::move(read));
    }
    Profile out = merge(std::move(known), named).front();
    if (!out.capacity_bytes.value) {
        return fail(Errc::malformed, tier,
                    "tier " + std::string(word) +
                        " has no capacity_bytes in its profile: without it nothing fits (0 is "
                        "unbounded)");
    }
    return out;
}

Result<void> Reader::read_policy(const json::Member& member, PlacementTier& out) const {
    if (member.key == "profile") {
        return {};
    }
    if (member.key == "used_bytes") {
        return into(out.used_bytes, member, 0);
    }
    if (member.key == "ttl_ns") {
        return into(out.policy.ttl_ns, member, 1);
    }
    if (member.key == "promote_touches_per_hour") {
        return into(out.policy.promote_touches_per_hour, member, 0);
    }
    if (member.key == "demote_expired") {
        const Result<bool> truth = read_truth(member.key, member.value);
        if (!truth) {
            return truth.error();
        }
        out.policy.demote_expired = *truth;
        return {};
    }
    return unknown_key(member.key, member.value,
                       "profile used_bytes ttl_ns demote_expired promote_touches_per_hour");
}

Result<void> Reader::read_tier(std::string_view word, const Value& value) {
    CXLPOOL_TRY(require_object(word, value));
    PlacementTier tier;
    Result<Profile> profile = read_profile(word, value);
    if (!profile) {
        return profile.error();
    }
    tier.profile = *std::move(profile);
    CXLPOOL_TRY(require(value, "used_bytes"));
    for (const json::Member& member : value.members) {
        CXLPOOL_TRY(read_policy(member, tier));
    }
    return file_.ladder.add(std::move(tier));
}

Result<void> Reader::read_cell_field(const json::Member& member, NamedCell& out) {
    const std::string& key = member.key;
    const Value& value = member.value;
    const auto take = [](auto& to, auto result) -> Result<void> {
        if (!result) {
            return result.error();
        }
        to = *std::move(result);
        return {};
    };
    if (key == "name") {
        const bool good = value.is(Value::Kind::string) && !value.string.empty() &&
                          value.string.size() <= kMaxNameBytes &&
                          std::all_of(value.string.begin(), value.string.end(),
                                      [](char c) { return c >= ' ' && c <= '~'; });
        if (!good) {
            return fail(Errc::invalid_argument, value,
                        "name: 1 to " + std::to_string(kMaxNameBytes) +
                            " printable ASCII characters are wanted");
        }
        out.name = value.string;
        return {};
    }
    PlacementCell& cell = out.cell;
    if (key == "state") {
        return take(cell.life.state, read_word(key, value, parse_state));
    }
    if (key == "tier") {
        return take(cell.tier, read_word(key, value, parse_tier));
    }
    if (key == "bytes") {
        return take(cell.bytes, read_whole(key, value, 1));
    }
    if (key == "entered_at_ns") {
        return into(cell.life.entered_at, member);
    }
    if (key == "last_touch_ns") {
        return into(cell.life.last_touch, member);
    }
    if (key == "revived_at_ns") {
        return into(cell.life.revived_at, member);
    }
    if (key == "touches") {
        return take(cell.life.touches, read_whole(key, value, 0));
    }
    if (key == "leased") {
        return take(cell.leased, read_truth(key, value));
    }
    if (key == "recompute_ns") {
        return into(cell.recompute.ns, member, 0);
    }
    if (key == "recompute_source") {
        return take(cell.recompute.source, read_word(key, value, parse_source));
    }
    return unknown_key(key, value,
                       "name state tier bytes entered_at_ns last_touch_ns revived_at_ns touches "
                       "leased recompute_ns recompute_source");
}

// Evicted and lost cells have no bytes left.
Result<void> Reader::count_in(const NamedCell& named, const Value& at) {
    const PlacementCell& cell = named.cell;
    const PlacementTier* const tier = file_.ladder.find(cell.tier);
    if (tier == nullptr) {
        return fail(Errc::invalid_argument, at,
                    "the cell lies in " + std::string(to_word(cell.tier)) +
                        ", and the file does not describe that tier");
    }
    if (cell.life.state == Lifecycle::evicted || cell.life.state == Lifecycle::lost) {
        return {};
    }
    std::uint64_t& sum = cell_bytes_[static_cast<std::size_t>(cell.tier)];
    const std::optional<std::uint64_t> more = checked_add(sum, cell.bytes);
    if (!more || *more > *tier->used_bytes) {
        return fail(Errc::invalid_argument, at,
                    "with this cell, the cells in " + std::string(to_word(cell.tier)) +
                        " have more bytes than its used_bytes, " +
                        std::to_string(*tier->used_bytes));
    }
    sum = *more;
    return {};
}

Result<NamedCell> Reader::read_cell(const Value& value, std::size_t number) {
    CXLPOOL_TRY(require_object("a cell", value));
    for (const std::string_view key : {"state", "tier", "bytes", "entered_at_ns"}) {
        CXLPOOL_TRY(require(value, key));
    }
    NamedCell out;
    out.cell.recompute.source = Source::declared;
    for (const json::Member& member : value.members) {
        CXLPOOL_TRY(read_cell_field(member, out));
    }
    if (out.name.empty()) {
        out.name = "cell " + std::to_string(number);
    }
    Cost& cost = out.cell.recompute;
    const Value* const source = value.find("recompute_source");
    if (source != nullptr && (!cost.ns || cost.source == Source::unknown)) {
        return fail(Errc::invalid_argument, *source,
                    "recompute_source says how recompute_ns is known: leave both out when it is "
                    "not");
    }
    if (!cost.ns) {
        cost.source = Source::unknown;
    }
    CXLPOOL_TRY(count_in(out, value));
    // What cannot be true is refused here, where its place is known.
    const Result<void> checked = check_placement_cell(out.cell, file_.ladder, file_.now);
    if (!checked) {
        return fail(checked.error().code(), value, checked.error().message());
    }
    return out;
}

Result<PlacementFile> Reader::read_file(const Value& root) {
    CXLPOOL_TRY(require_schema(root, kPlacementSchema));
    for (const json::Member& member : root.members) {
        if (member.key == "now_ns") {
            const Result<std::uint64_t> now = read_whole("now_ns", member.value, 0);
            if (!now) {
                return now.error();
            }
            file_.now = Timestamp{*now};
        } else if (member.key == "representative") {
            const Result<bool> truth = read_truth("representative", member.value);
            if (!truth) {
                return truth.error();
            }
            representative_ = *truth;
        } else if (member.key != "schema" && member.key != "tiers" && member.key != "cells") {
            return unknown_key(member.key, member.value,
                               "schema now_ns representative tiers cells");
        }
    }
    CXLPOOL_TRY(require(root, "now_ns"));
    const Result<const Value*> tiers = require(root, "tiers");
    const Result<const Value*> cells = require(root, "cells");
    if (!tiers || !cells) {
        return tiers ? cells.error() : tiers.error();
    }
    CXLPOOL_TRY(require_object("tiers", **tiers));
    for (const json::Member& member : (*tiers)->members) {
        CXLPOOL_TRY(read_tier(member.key, member.value));
    }
    if (!(*cells)->is(Value::Kind::array)) {
        return wrong_type("cells", **cells, "an array");
    }
    const std::vector<Value>& items = (*cells)->items;
    if (items.size() > kPlacementFileMaxCells) {
        return fail(Errc::too_large, items[kPlacementFileMaxCells],
                    "more than " + std::to_string(kPlacementFileMaxCells) + " cells");
    }
    file_.cells.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        Result<NamedCell> cell = read_cell(items[i], i + 1);
        if (!cell) {
            return cell.error();
        }
        file_.cells.push_back(*std::move(cell));
    }
    return std::move(file_);
}

}  // namespace

Result<PlacementFile> parse_placement_file(std::string_view name, std::string_view text) {
    const Result<json::Value> root = json::parse(name, text, kLimits);
    if (!root) {
        return root.error();
    }
    return Reader(name).read_file(*root);
}

}  // namespace cxlpool
