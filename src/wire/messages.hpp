// The messages of the protocol as values, and their exact bytes.
//
// Responsible for: encoding and decoding every request and reply, byte for byte as documented in
// docs/protocol.md and cxlpool-protocol(7). Refuses to know: sockets, tenants, rights. Invariants:
// decode accepts nothing that encode does not produce, save that a longer reply, and a longer
// hello, is accepted and its tail ignored (a request may not grow within a version: what a daemon
// ignores could have narrowed what was asked); no number from a peer is used before it was checked
// against the bytes that are really there.
//
// One message is one datagram (SOCK_SEQPACKET) of at most kMaxMessageBytes:
//   u32 size        of the whole message, header included; must equal the datagram's length
//   u16 type        Type; a reply has the type of its request
//   u16 status      Errc; 0 in requests; a non-zero reply has an ErrorText body
//   u64 cookie      chosen by the client, echoed in the reply; replies may come out of order
//   body            fixed little-endian layout by type
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/errc.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace cxlpool::wire {

inline constexpr std::uint32_t kMagic = 0x504C5843;  // "CXLP"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kMaxMessageBytes = 65536;  // one datagram, one default socket buffer
inline constexpr std::size_t kMaxLookupSpans = 512;     // its reply still fits one message
inline constexpr std::size_t kMaxAllowList = 64;
inline constexpr std::size_t kMaxAxes = 15;
inline constexpr std::size_t kMaxAxisBytes = 256;
inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxDocumentBytes = 4U << 20U;  // a topology of 1,000 memdevs: 1 MiB
inline constexpr std::size_t kMaxChunkBytes = 60000;
inline constexpr std::size_t kMaxPlacementTiers = 7;    // the whole ladder
inline constexpr std::size_t kMaxPlacementCells = 256;  // planned on the daemon's loop
inline constexpr std::size_t kMaxRefusalRows = 128;     // one for each code: there are 26

// The last members of enumerations that other modules own: domain's Scope, Regime, FleetAdvice.
inline constexpr std::uint8_t kLastScope = 2;
inline constexpr std::uint8_t kLastRegime = 2;
inline constexpr std::uint8_t kLastAdvice = 2;
// And of those that stand one higher here, 0 being none: domain's Tier, Source, PlacementAction and
// PlacementReason. Of its Lifecycle, the states that a cell can be moved in.
inline constexpr std::uint8_t kLastTier = 7;
inline constexpr std::uint8_t kLastSource = 6;
inline constexpr std::uint8_t kLastAction = 5;
inline constexpr std::uint8_t kLastReason = 7;
inline constexpr std::uint8_t kFirstMovable = 1;
inline constexpr std::uint8_t kLastMovable = 4;

enum class Type : std::uint16_t {
    hello = 1,
    context_register = 2,
    context_release = 3,
    lookup = 4,
    begin = 5,
    map = 6,
    seal = 7,
    share = 8,
    release = 9,
    renew = 10,
    plan_fleet = 11,
    plan_placement = 12,

    adjudicate = 64,
    document = 65,       // status, topology, ...: JSON, first chunk
    document_more = 66,  // the chunks after it
    reload = 67,
    tenant_change = 68,
    forget = 69,
    own_statistics = 70,  // engines' own
};
std::string_view to_word(Type type) noexcept;

// --- requests and replies -----------------------------------------------------------------------

struct HelloRequest {
    std::uint32_t magic = kMagic;
    std::uint16_t version_min = kVersion;
    std::uint16_t version_max = kVersion;
    std::uint64_t tenant = 0;  // 0: the only tenant that the peer may act as
    std::string engine_name;   // information only, 0..64 printable ASCII bytes
    bool operator==(const HelloRequest&) const = default;
};
// Comes with one descriptor: the lease board, to be mapped read-only: an array of u32, one a
// lease index; the entry equals the generation of the lease while it is live. The board is a memfd
// of at least 4 * max_leases bytes with F_SEAL_SHRINK, so that reading it cannot fault.
struct HelloReply {
    std::uint16_t version = kVersion;
    std::uint16_t mode = 0;   // 0 single, 1 multi
    std::uint32_t roles = 0;  // bits: 1 engine, 2 adjudicator, 4 inspector, 8 admin
    std::uint64_t tenant = 0;
    std::uint32_t max_lookup_spans = 0;
    std::uint32_t max_leases = 0;  // entries of the board
    std::uint32_t max_contexts = 0;
    std::uint32_t lease_ttl_ms = 0;
    std::uint64_t max_cell_bytes = 0;
    bool operator==(const HelloReply&) const = default;
};

struct AxisField {
    std::uint8_t axis = 0;  // index of the axis
    std::string value;
    bool operator==(const AxisField&) const = default;
};
struct ContextRegisterRequest {
    std::vector<AxisField> axes;  // each axis at most once, ascending
    bool operator==(const ContextRegisterRequest&) const = default;
};
struct ContextRegisterReply {
    std::uint32_t context = 0;  // on this connection; never 0
    bool operator==(const ContextRegisterReply&) const = default;
};
struct ContextReleaseRequest {
    std::uint32_t context = 0;
    bool operator==(const ContextReleaseRequest&) const = default;
};

struct LookupRequest {
    std::uint32_t context = 0;
    std::vector<SpanDigest> spans;  // 1..kMaxLookupSpans
    bool operator==(const LookupRequest&) const = default;
};
// 64 bytes each. Everything but `verdict` is zero unless it is a hit.
struct LookupItem {
    std::uint16_t verdict = 0;  // Verdict
    std::uint16_t status = 0;   // Errc of this item: limit_exceeded when no lease was left
    LeaseRef lease;
    std::uint32_t segment = 0;  // on this connection
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    ContentDigest digest;
    bool operator==(const LookupItem&) const = default;
};
struct LookupReply {
    std::vector<LookupItem> items;  // in the order of the request
    bool operator==(const LookupReply&) const = default;
};

struct BeginRequest {
    std::uint32_t context = 0;
    SpanDigest span;
    std::uint64_t length_bytes = 0;
    std::uint64_t recompute_ns = 0;  // what computing these bytes again takes; 0: unknown
    std::string pool;                // empty: the daemon chooses
    bool operator==(const BeginRequest&) const = default;
};
struct BeginReply {
    LeaseRef lease;
    std::uint32_t segment = 0;
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    bool operator==(const BeginReply&) const = default;
};

enum class MapAccess : std::uint8_t { read = 0, write = 1 };
struct MapRequest {
    std::uint32_t segment = 0;
    MapAccess access = MapAccess::read;
    bool operator==(const MapRequest&) const = default;
};
// Comes with one descriptor.
struct MapReply {
    std::uint64_t size_bytes = 0;
    std::uint64_t alignment_bytes = 0;
    bool operator==(const MapReply&) const = default;
};

struct SealRequest {
    LeaseRef lease;
    bool operator==(const SealRequest&) const = default;
};
struct SealReply {
    ContentDigest digest;
    bool operator==(const SealReply&) const = default;
};

struct ShareRequest {
    std::uint32_t context = 0;
    SpanDigest span;
    std::uint8_t scope = 0;                 // Scope
    std::vector<std::uint64_t> allow_list;  // narrows fleet; 0..kMaxAllowList, non-zero
    bool operator==(const ShareRequest&) const = default;
};

struct ReleaseRequest {
    LeaseRef lease;
    bool operator==(const ReleaseRequest&) const = default;
};
struct RenewRequest {
    LeaseRef lease;
    bool operator==(const RenewRequest&) const = default;
};
struct RenewReply {
    std::uint32_t ttl_ms = 0;
    bool operator==(const RenewReply&) const = default;
};

struct PlanFleetRequest {
    std::uint64_t tenants = 0;
    std::uint64_t hosts = 0;  // 0: as many as tenants
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
    std::uint64_t recompute_ns_per_token = 0;
    std::string pool;  // the profile of this pool; empty: the first
    bool operator==(const PlanFleetRequest&) const = default;
};
struct PlanRegime {
    std::uint64_t prefill_tokens = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t prefill_tokens_saved = 0;
    std::uint64_t bytes_saved = 0;
    std::uint64_t reader_cost_ns = 0;  // UINT64_MAX: unknown
    bool operator==(const PlanRegime&) const = default;
};
struct PlanFleetReply {
    std::uint8_t holds = 0;   // Regime
    std::uint8_t advice = 0;  // FleetAdvice
    std::uint64_t hosts = 0;
    std::uint64_t attending_hosts = 0;
    PlanRegime private_copies;
    PlanRegime copy_only;
    PlanRegime coherent;
    std::uint64_t full_pass_ns = 0;         // UINT64_MAX: unknown
    std::uint64_t full_pass_shared_ns = 0;  // UINT64_MAX: unknown
    // What managed coherence costs besides; 0: none is needed, UINT64_MAX: unknown.
    std::uint64_t seal_writeback_ns = 0;
    std::uint64_t reader_invalidate_ns = 0;
    bool operator==(const PlanFleetReply&) const = default;
};

// What the engine says of one tier of its ladder. The room is its own: the daemon adds what it
// knows of the tier's speed and sharing, and nothing of what anybody stores there.
inline constexpr std::uint8_t kTierDemoteExpired = 1;  // an expired cell may be demoted from here
inline constexpr std::uint8_t kTierPromote = 2;        // promote_touches_per_hour is given
inline constexpr std::uint8_t kTierFlags = kTierDemoteExpired | kTierPromote;
struct PlacementTierField {
    std::uint8_t tier = 0;
    std::uint8_t flags = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t capacity_bytes = 0;  // 0: that of the profile
    std::uint64_t ttl_ns = 0;          // 0: for ever
    std::uint64_t promote_touches_per_hour = 0;
    std::string pool;  // whose profile; empty: the first of the tier, else the host's
    bool operator==(const PlacementTierField&) const = default;
};
inline constexpr std::uint8_t kCellLeased = 1;   // it is left alone
inline constexpr std::uint8_t kCellRevived = 2;  // since_revival_ns is given
inline constexpr std::uint8_t kCellFlags = kCellLeased | kCellRevived;
struct PlacementCellField {
    std::uint8_t state = 0;  // Lifecycle, kFirstMovable..kLastMovable
    std::uint8_t tier = 0;
    std::uint8_t flags = 0;
    std::uint64_t bytes = 0;
    std::uint64_t in_tier_ns = 0;
    std::uint64_t since_touch_ns = 0;  // 0 when touches is 0
    std::uint64_t since_revival_ns = 0;
    std::uint64_t touches = 0;       // since it entered the tier
    std::uint64_t recompute_ns = 0;  // 0: unknown
    bool operator==(const PlacementCellField&) const = default;
};
struct PlanPlacementRequest {
    std::vector<PlacementTierField> tiers;  // 1..kMaxPlacementTiers, each once
    std::vector<PlacementCellField> cells;  // 1..kMaxPlacementCells
    bool operator==(const PlanPlacementRequest&) const = default;
};
// Zero but for the status when that is not ok.
struct PlacementItem {
    std::uint16_t status = 0;  // Errc of this cell: wrong_state when it is leased
    std::uint8_t action = 0;
    std::uint8_t reason = 0;
    std::uint8_t state = 0;            // at the time of the plan
    std::uint8_t to = 0;               // 0: evicted
    std::uint8_t weighed = 0;          // the tier that the return cost is of; 0: none was weighed
    std::uint8_t return_source = 0;    // Source of the return cost; 0: none was weighed
    std::uint64_t return_cost_ns = 0;  // UINT64_MAX: unknown
    std::uint64_t recompute_ns = 0;    // UINT64_MAX: unknown
    bool operator==(const PlacementItem&) const = default;
};
struct PlanPlacementReply {
    std::vector<PlacementItem> items;  // in the order of the cells
    bool operator==(const PlanPlacementReply&) const = default;
};

struct OwnStatisticsRequest {
    bool operator==(const OwnStatisticsRequest&) const = default;
};
struct TierStatistics {
    std::uint8_t tier = 0;             // 1..kLastTier
    std::uint64_t resident_bytes = 0;  // that the tenant is charged
    std::uint64_t reserved_bytes = 0;
    bool operator==(const TierStatistics&) const = default;
};
struct RefusalRow {
    std::uint16_t code = 0;  // Errc, also one of a newer daemon; not ok
    std::uint64_t count = 0;
    bool operator==(const RefusalRow&) const = default;
};
// Of the connection's tenant alone, all its connections together. What its cells pushed out of
// others is not in it: that would say that they stored something.
struct OwnStatisticsReply {
    // Since the daemon's start.
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t evictions_suffered = 0;  // its cells that went so that there was room
    std::uint64_t evictions_self = 0;      // of those, for its own new ones
    std::uint64_t cells_materialised = 0;
    std::uint64_t bytes_materialised = 0;
    // Now.
    std::uint64_t cells = 0;
    std::uint64_t bytes = 0;
    std::uint64_t live_leases = 0;
    std::vector<TierStatistics> tiers;  // where it holds or has reserved something; ascending
    std::vector<RefusalRow> refusals;   // ascending
    bool operator==(const OwnStatisticsReply&) const = default;
};

enum class Decision : std::uint8_t { trust = 1, taint = 2, poison = 3 };
struct AdjudicateRequest {
    std::uint64_t owner = 0;
    SpanDigest span;
    std::uint64_t cell = 0;  // 0: the owner's only cell of this span
    ContentDigest expected;  // of the bytes that were judged; all zero: not checked
    Decision decision = Decision::taint;
    bool operator==(const AdjudicateRequest&) const = default;
};

enum class Document : std::uint8_t {
    status = 1,
    topology = 2,
    profiles = 3,
    explain = 4,
    cells = 5,
    stats = 6,
    tenants = 7,
    receipts = 8,
    stats_ended = 9,  // stats of the window that this ends; another one begins
};
struct DocumentRequest {
    Document kind = Document::status;
    // explain only: whose question it is, and what is wanted.
    std::uint64_t requester = 0;
    SpanDigest span;
    std::vector<AxisField> axes;
    bool operator==(const DocumentRequest&) const = default;
};
struct DocumentMoreRequest {
    std::uint64_t offset_bytes = 0;
    bool operator==(const DocumentMoreRequest&) const = default;
};
struct DocumentReply {
    std::uint64_t total_bytes = 0;
    std::uint64_t offset_bytes = 0;
    std::string chunk;  // at most kMaxChunkBytes
    bool operator==(const DocumentReply&) const = default;
};

struct ReloadRequest {
    bool operator==(const ReloadRequest&) const = default;
};
struct ReloadReply {
    std::uint32_t connections_closed = 0;  // whose peers may not be there any more
    bool operator==(const ReloadReply&) const = default;
};

// Answered when it is on the daemon's disk.
enum class TenantOp : std::uint8_t {
    add = 1,         // name
    set_name = 2,    // name
    set_salt = 3,    // value; 0: none
    set_weight = 4,  // value
    reserve = 5,     // pool, and bytes as the value; 0: none
};
struct TenantChangeRequest {
    TenantOp op = TenantOp::add;
    std::uint64_t tenant = 0;  // never 0
    std::uint64_t value = 0;
    std::string name;
    std::string pool;
    bool operator==(const TenantChangeRequest&) const = default;
};

// Answered when nothing of the tenant is left, which is never undone by a connection that ends.
struct ForgetRequest {
    std::uint64_t tenant = 0;  // never 0
    // How long leases on its cells may live on before they are revoked; 0: no time.
    std::uint32_t wait_ms = 0;
    bool operator==(const ForgetRequest&) const = default;
};
struct ForgetReply {
    std::string receipt;  // JSON
    bool operator==(const ForgetReply&) const = default;
};

struct EmptyReply {
    bool operator==(const EmptyReply&) const = default;
};
// The body of every reply whose status is not ok: a sentence for people, at most 512 bytes.
struct ErrorText {
    std::string text;
    bool operator==(const ErrorText&) const = default;
};

using RequestBody =
    std::variant<HelloRequest, ContextRegisterRequest, ContextReleaseRequest, LookupRequest,
                 BeginRequest, MapRequest, SealRequest, ShareRequest, ReleaseRequest, RenewRequest,
                 PlanFleetRequest, PlanPlacementRequest, AdjudicateRequest, DocumentRequest,
                 DocumentMoreRequest, ReloadRequest, TenantChangeRequest, ForgetRequest,
                 OwnStatisticsRequest>;
using ReplyBody =
    std::variant<EmptyReply, ErrorText, HelloReply, ContextRegisterReply, LookupReply, BeginReply,
                 MapReply, SealReply, RenewReply, PlanFleetReply, PlanPlacementReply, DocumentReply,
                 ReloadReply, ForgetReply, OwnStatisticsReply>;

struct Request {
    std::uint64_t cookie = 0;
    RequestBody body;
};
struct Reply {
    Type type = Type::hello;
    Errc status = Errc::ok;
    std::uint64_t cookie = 0;
    ReplyBody body;
};

Type type_of(const RequestBody& body) noexcept;

// Errors: too_large when a field is over its documented maximum; invalid_argument or malformed for
// a value that decode would refuse; internal when the body of a reply is not that of its type and
// status.
Result<std::vector<std::byte>> encode(const Request& request);
Result<std::vector<std::byte>> encode(const Reply& reply);

// The cookie of a datagram that may be anything; nothing when it is too short for a header. For
// answering a message that does not decode.
std::optional<std::uint64_t> peek_cookie(std::span<const std::byte> datagram) noexcept;
std::optional<std::uint16_t> peek_type(std::span<const std::byte> datagram) noexcept;

// Errors: malformed (the message says which field), too_large, unknown_word (a type that does not
// exist), invalid_argument (an enumeration value that does not exist).
Result<Request> decode_request(std::span<const std::byte> datagram);
Result<Reply> decode_reply(std::span<const std::byte> datagram);

// A lookup takes each span once: the index of the first that stands there again.
std::optional<std::size_t> first_repeated(std::span<const SpanDigest> spans);

}  // namespace cxlpool::wire
