// Cells as rows: a JSON text each, and the seal.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/units.hpp"
#include "domain/tagged_hash.hpp"
#include "state/rows.hpp"

namespace cxlpool::state {
namespace {

using Json = nlohmann::ordered_json;

Digest256 seal_of(CellId id, std::string_view body) {
    TaggedHash hash("cxlpool/state/cell/1");
    hash.begin_field(1, sizeof id.value);
    hash.u64(id.value);
    hash.begin_field(2, body.size());
    hash.text(body);
    return hash.finish();
}

std::string hex(const Digest256& digest) {
    return to_hex(digest.bytes.data(), digest.bytes.size());
}

Json to_json(const ContextFields& context) {
    Json out = Json::object();
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (context.axes[i]) {
            out[std::string(to_word(static_cast<Axis>(i)))] = *context.axes[i];
        }
    }
    return out;
}

Json to_json(const std::optional<Adjudication>& adjudication) {
    return adjudication ? Json{{"judgement", to_word(adjudication->judgement)},
                               {"uid", adjudication->uid},
                               {"at", adjudication->at.ns},
                               {"epoch", adjudication->epoch}}
                        : Json();
}

std::string body_of(const CellRecord& cell) {
    Json allow_list = Json::array();
    for (const TenantId tenant : cell.allow_list) {
        allow_list.push_back(tenant.value);
    }
    return Json{
        {"owner", cell.owner.value},
        {"pool", cell.pool},
        {"segment", cell.segment},
        {"offset_bytes", cell.offset_bytes},
        {"extent_bytes", cell.extent_bytes},
        {"length_bytes", cell.length_bytes},
        {"offered", cell.offered},
        {"context", to_json(cell.context)},
        {"span", hex(cell.span)},
        {"digest", hex(cell.digest)},
        {"recompute_ns", cell.recompute_ns},
        {"quarantined", cell.quarantined},
        {"taint", to_word(cell.taint)},
        {"admission", to_word(cell.admission)},
        {"scope", to_word(cell.scope)},
        {"allow_list", std::move(allow_list)},
        {"adjudicated_epoch", cell.adjudicated_epoch},
        {"adjudication", to_json(cell.adjudication)},
        {"uid", cell.uid},
        {"engine", cell.engine},
        {"begun_at", cell.begun_at.ns},
        {"sealed_at", cell.sealed_at.ns},
    }
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Throws for anything that body_of() did not write.
template <typename Digest>
Digest digest_from(const Json& text) {
    Digest out;
    if (!from_hex(text.get<std::string>(), out.bytes.data(), out.bytes.size())) {
        throw std::invalid_argument("no digest");
    }
    return out;
}

template <typename Word>
Word word_from(const Json& text, std::optional<Word> (*parse)(std::string_view) noexcept) {
    return parse(text.get<std::string>()).value();
}

CellRecord cell_from(CellId id, const std::string& body) {
    const Json json = Json::parse(body);
    CellRecord out;
    out.id = id;
    out.owner = TenantId{json.at("owner").get<std::uint64_t>()};
    out.pool = json.at("pool").get<std::string>();
    out.segment = json.at("segment").get<std::uint64_t>();
    out.offset_bytes = json.at("offset_bytes").get<std::uint64_t>();
    out.extent_bytes = json.at("extent_bytes").get<std::uint64_t>();
    out.length_bytes = json.at("length_bytes").get<std::uint64_t>();
    out.offered = json.at("offered").get<bool>();
    for (const auto& [axis, value] : json.at("context").items()) {
        out.context[parse_axis(axis).value()] = value.get<std::string>();
    }
    out.span = digest_from<SpanDigest>(json.at("span"));
    out.digest = digest_from<ContentDigest>(json.at("digest"));
    out.recompute_ns = json.at("recompute_ns").get<std::uint64_t>();
    out.quarantined = json.at("quarantined").get<bool>();
    out.taint = word_from(json.at("taint"), &parse_taint);
    out.admission = word_from(json.at("admission"), &parse_admission);
    out.scope = word_from(json.at("scope"), &parse_scope);
    for (const Json& tenant : json.at("allow_list")) {
        out.allow_list.push_back(TenantId{tenant.get<std::uint64_t>()});
    }
    out.adjudicated_epoch = json.at("adjudicated_epoch").get<std::uint64_t>();
    if (const Json& said = json.at("adjudication"); !said.is_null()) {
        out.adjudication = Adjudication{
            word_from(said.at("judgement"), &parse_judgement), said.at("uid").get<uid_t>(),
            Timestamp{said.at("at").get<std::uint64_t>()}, said.at("epoch").get<std::uint64_t>()};
    }
    out.uid = json.at("uid").get<uid_t>();
    out.engine = json.at("engine").get<std::string>();
    out.begun_at = Timestamp{json.at("begun_at").get<std::uint64_t>()};
    out.sealed_at = Timestamp{json.at("sealed_at").get<std::uint64_t>()};
    return out;
}

}  // namespace

Result<void> write(const Database& database, const std::vector<CellRecord>& cells) {
    Result<Statement> put =
        database.prepare("INSERT OR REPLACE INTO cell (id, body, seal) VALUES (?, ?, ?)");
    if (!put) {
        return std::move(put).error();
    }
    for (const CellRecord& cell : cells) {
        const std::string body = body_of(cell);
        CXLPOOL_TRY(put->bind(cell.id.value).bind(body).bind(seal_of(cell.id, body)).run());
    }
    return {};
}

Result<void> remove(const Database& database, const std::vector<CellId>& cells) {
    Result<Statement> gone = database.prepare("DELETE FROM cell WHERE id = ?");
    if (!gone) {
        return std::move(gone).error();
    }
    for (const CellId cell : cells) {
        CXLPOOL_TRY(gone->bind(cell.value).run());
    }
    return {};
}

Result<std::vector<CellRecord>> read_cells(const Database& database) {
    Result<Statement> rows = database.prepare("SELECT id, body, seal FROM cell");
    if (!rows) {
        return std::move(rows).error();
    }
    std::vector<CellRecord> out;
    for (;;) {
        const Result<bool> row = rows->step();
        if (!row) {
            return row.error();
        }
        if (!*row) {
            break;
        }
        const CellId id{rows->number(0)};
        const std::string body = rows->text(1);
        if (rows->digest(2) != seal_of(id, body)) {
            return database.damaged("a row is not what was written");
        }
        try {
            out.push_back(cell_from(id, body));
        } catch (const std::exception& why) {
            return database.damaged("cell " + std::to_string(id.value) + ": " + why.what());
        }
        if (const Result<void> good = check_record(out.back()); !good) {
            return database.damaged(good.error().message());
        }
    }
    std::sort(out.begin(), out.end(),
              [](const CellRecord& a, const CellRecord& b) { return a.id < b.id; });
    return out;
}

}  // namespace cxlpool::state
