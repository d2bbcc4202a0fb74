#include "domain/receipt.hpp"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <span>

#include "base/blake2b.hpp"
#include "base/json_reader.hpp"
#include "base/units.hpp"

namespace cxlpool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "cxlpool-receipt/1";

// RFC 3339, in seconds.
std::string time_of(Timestamp wall) {
    const auto seconds = static_cast<std::time_t>(wall.ns / 1'000'000'000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text.data(), size};
}

std::string digest_of(const Json& fields) {
    const std::string text = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
    Blake2b256 hash;
    hash.update(std::as_bytes(std::span(text)));
    const Digest256 digest = hash.finish();
    return to_hex(digest.bytes.data(), digest.bytes.size());
}

}  // namespace

std::string receipt_of(const Erasure& erasure) {
    Json out{
        {"schema", kSchema},
        {"tenant", erasure.tenant.value},
        {"name", erasure.name.empty() ? Json() : Json(erasure.name)},
        {"incarnation", erasure.incarnation},
        {"cells", erasure.cells},
        {"bytes", erasure.bytes},
        {"leases_drained", erasure.leases_drained},
        {"leases_revoked", erasure.leases_revoked},
        {"bytes_overwritten", erasure.bytes_overwritten},
        {"bytes_withdrawn", erasure.bytes_withdrawn},
        {"method", "overwritten with zeros and read back"},
        {"verified", erasure.bytes_withdrawn == 0},
        {"resumed", erasure.resumed},
        {"started", time_of(erasure.started)},
        {"finished", time_of(erasure.finished)},
    };
    out["digest"] = digest_of(out);
    return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<void> check_receipt(std::string_view name, std::string_view text) {
    // Bounds, duplicate keys and positions first.
    const Result<json::Value> read = json::parse(name, text);
    if (!read) {
        return read.error();
    }
    const json::Value* const schema = read->find("schema");
    const json::Value* const digest = read->find("digest");
    if (schema == nullptr || schema->string != kSchema || digest == nullptr) {
        return json::error_at(Errc::malformed, name, *read,
                              std::string("this is no receipt: \"schema\" is not ") + kSchema +
                                  ", or there is no \"digest\"");
    }
    Json fields = Json::parse(text);
    fields.erase("digest");
    if (digest_of(fields) != digest->string) {
        return json::error_at(Errc::malformed, name, *digest,
                              "the receipt is not what was written: its digest is another one");
    }
    return {};
}

}  // namespace cxlpool
