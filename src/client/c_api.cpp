// The C ABI: checks what C cannot, turns values over, and keeps every exception in.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/session.hpp"
#include "client/words.hpp"
#include "cxlpool/cxlpool.h"
#include "domain/context_identity.hpp"
#include "domain/span.hpp"

// The numbers of the axes are those of domain, in its order.
static_assert(CXLPOOL_AXIS_COUNT == cxlpool::kAxisCount);

namespace client = cxlpool::client;
namespace wire = cxlpool::wire;
using cxlpool::Errc;
using cxlpool::Error;
using cxlpool::LeaseRef;
using cxlpool::SpanDigest;

struct cxlpool_context {
    cxlpool_client* client = nullptr;
    std::uint32_t id = 0;
};

struct cxlpool_client {
    std::unique_ptr<client::Session> session;
    std::mutex mutex;
    std::map<cxlpool_context*, std::unique_ptr<cxlpool_context>> contexts;
};

namespace {

constexpr int kOk = CXLPOOL_OK;
constexpr const char* kDefaultSocket = CXLPOOL_RUNTIME_DIR "/engine.sock";

// Not a std::string: it must also hold the news that there is no memory.
thread_local std::array<char, 1024> last_message{};

int fail(Errc code, const char* message) noexcept {
    std::strncpy(last_message.data(), message, last_message.size() - 1);
    return static_cast<int>(code);
}
int fail(const Error& error) noexcept {
    return fail(error.code(), error.message().c_str());
}
int refuse_argument(const char* message) noexcept {
    return fail(Errc::invalid_argument, message);
}

template <typename F>
int guarded(F&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(Errc::out_of_memory, "this process is out of memory");
    } catch (...) {
        return fail(Errc::internal, "an unexpected exception in libcxlpool");
    }
}

// No structure comes near this size: a larger one was not set.
constexpr std::size_t kMaxStructBytes = 4096;

// The size that a structure had in the first release. One that grows names the old size here, and
// what a caller of then does not have is taken for zero and not written.
template <typename T>
constexpr std::size_t kFirstBytes = sizeof(T);

template <typename T>
bool has_size(const T* structure) noexcept {
    return structure != nullptr && structure->struct_size >= kFirstBytes<T> &&
           structure->struct_size <= kMaxStructBytes;
}

// A structure of the caller's size: what this library does not know of must be zero.
template <typename T>
bool copy_in(const T* from, T& to) noexcept {
    if (!has_size(from)) {
        return false;
    }
    const std::size_t known = std::min(from->struct_size, sizeof(T));
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    if (std::any_of(bytes + known, bytes + from->struct_size,
                    [](unsigned char b) { return b != 0; })) {
        return false;
    }
    to = T{};
    std::memcpy(&to, from, known);
    return true;
}

// The structure, zeros after it, and the caller's size as it was.
template <typename T>
void copy_out(T* to, T value) noexcept {
    value.struct_size = to->struct_size;
    const std::size_t known = std::min(to->struct_size, sizeof(T));
    std::memset(reinterpret_cast<unsigned char*>(to) + known, 0, value.struct_size - known);
    std::memcpy(to, &value, known);
}

// Rows of the caller's size: as many as there is room for.
template <typename Row>
bool has_room(const Row* rows, std::size_t room) noexcept {
    return room == 0 || (has_size(rows) && rows->struct_size % alignof(Row) == 0);
}
template <typename Row, typename From, typename Convert>
void copy_rows(Row* rows, std::size_t room, const std::vector<From>& from, Convert convert) {
    for (std::size_t i = 0; i < std::min(room, from.size()); ++i) {
        auto* row =
            reinterpret_cast<Row*>(reinterpret_cast<unsigned char*>(rows) + i * rows->struct_size);
        row->struct_size = rows->struct_size;
        copy_out(row, convert(from[i]));
    }
}

constexpr const char* kNull = "a pointer is null";
constexpr const char* kBadStruct =
    "a structure is null, of a size that this library does not have, or asks for something that "
    "it does not know: set struct_size to sizeof and everything else to 0 first";

template <typename D>
D digest_from(const cxlpool_digest& from) noexcept {
    D digest;
    std::memcpy(digest.bytes.data(), from.bytes, sizeof from.bytes);
    return digest;
}
cxlpool_digest digest_to(const cxlpool::Digest256& from) noexcept {
    cxlpool_digest digest;
    std::memcpy(digest.bytes, from.bytes.data(), sizeof digest.bytes);
    return digest;
}
LeaseRef lease_from(cxlpool_lease lease) noexcept {
    return {lease.index, lease.generation};
}
cxlpool_lease lease_to(LeaseRef lease) noexcept {
    return {lease.index, lease.generation};
}

cxlpool_hit hit_to(const wire::LookupItem& item) noexcept {
    cxlpool_hit hit{};
    hit.verdict = item.verdict;
    hit.status = item.status;
    hit.lease = lease_to(item.lease);
    hit.segment = item.segment;
    hit.offset_bytes = item.offset_bytes;
    hit.length_bytes = item.length_bytes;
    hit.digest = digest_to(item.digest);
    return hit;
}

cxlpool_regime_plan regime_to(const wire::PlanRegime& from) noexcept {
    return {from.prefill_tokens, from.resident_bytes, from.prefill_tokens_saved, from.bytes_saved,
            from.reader_cost_ns};
}

// A word of the wire; too large a number is none that exists, and is refused with those.
std::uint8_t word_from(std::uint32_t number) noexcept {
    return static_cast<std::uint8_t>(std::min<std::uint32_t>(number, UINT8_MAX));
}

wire::PlacementTierField tier_from(const cxlpool_placement_tier& from) {
    wire::PlacementTierField tier;
    tier.tier = word_from(from.tier);
    tier.flags = word_from(from.flags);
    tier.used_bytes = from.used_bytes;
    tier.capacity_bytes = from.capacity_bytes;
    tier.ttl_ns = from.ttl_ns;
    tier.promote_touches_per_hour = from.promote_touches_per_hour;
    tier.pool = from.pool != nullptr ? from.pool : "";
    return tier;
}

wire::PlacementCellField cell_from(const cxlpool_placement_cell& from) noexcept {
    wire::PlacementCellField cell;
    cell.state = word_from(from.state);
    cell.tier = word_from(from.tier);
    cell.flags = word_from(from.flags);
    cell.bytes = from.bytes;
    cell.in_tier_ns = from.in_tier_ns;
    cell.since_touch_ns = from.since_touch_ns;
    cell.since_revival_ns = from.since_revival_ns;
    cell.touches = from.touches;
    cell.recompute_ns = from.recompute_ns;
    return cell;
}

cxlpool_placement_directive directive_to(const wire::PlacementItem& from) noexcept {
    cxlpool_placement_directive directive{};
    directive.status = from.status;
    directive.action = from.action;
    directive.reason = from.reason;
    directive.state = from.state;
    directive.to_tier = from.to;
    directive.weighed_tier = from.weighed;
    directive.return_source = from.return_source;
    directive.return_cost_ns = from.return_cost_ns;
    directive.recompute_ns = from.recompute_ns;
    return directive;
}

cxlpool_tier_statistics tier_statistics_to(const wire::TierStatistics& from) noexcept {
    cxlpool_tier_statistics row{};
    row.tier = from.tier;
    row.resident_bytes = from.resident_bytes;
    row.reserved_bytes = from.reserved_bytes;
    return row;
}

cxlpool_refusal_statistics refusal_statistics_to(const wire::RefusalRow& from) noexcept {
    cxlpool_refusal_statistics row{};
    row.code = from.code;
    row.count = from.count;
    return row;
}

std::string socket_path(const cxlpool_options& options) {
    if (options.socket_path != nullptr) {
        return options.socket_path;
    }
    const char* from_environment = ::secure_getenv("CXLPOOL_SOCKET");
    return from_environment != nullptr ? from_environment : kDefaultSocket;
}

// In ascending order, as the protocol wants them.
cxlpool::Result<std::vector<wire::AxisField>> axes_from(const cxlpool_axis* axes, std::size_t n) {
    std::array<const char*, CXLPOOL_AXIS_COUNT> values{};
    for (std::size_t i = 0; i < n; ++i) {
        const std::string name = "axis " + std::to_string(axes[i].axis);
        if (axes[i].axis >= CXLPOOL_AXIS_COUNT) {
            return Error{Errc::invalid_argument, "there is no " + name};
        }
        if (axes[i].reserved != 0) {
            return Error{Errc::invalid_argument,
                         name + ": reserved is " + std::to_string(axes[i].reserved) + ", not 0"};
        }
        if (axes[i].value == nullptr) {
            return Error{Errc::invalid_argument,
                         name + ": its value is NULL; leave the axis out or give it one"};
        }
        if (values[axes[i].axis] != nullptr) {
            return Error{Errc::invalid_argument, name + " is given twice; leave one out"};
        }
        values[axes[i].axis] = axes[i].value;
    }
    std::vector<wire::AxisField> fields;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
        if (values[axis] != nullptr) {
            fields.push_back({static_cast<std::uint8_t>(axis), values[axis]});
        }
    }
    return fields;
}

// What the functions that name spans have in common.
struct SpanArguments {
    std::optional<SpanDigest> parent;
    std::span<const std::uint32_t> tokens;
    std::vector<cxlpool::SpanItem> items;
};

template <typename T>
cxlpool::Result<std::span<const T>> array_from(const T* from, std::size_t count) {
    if (from == nullptr && count > 0) {
        return Error{Errc::invalid_argument, kNull};
    }
    if (count > PTRDIFF_MAX / sizeof(T)) {
        return Error{Errc::too_large,
                     "no array in memory has " + std::to_string(count) + " elements"};
    }
    return std::span(from, count);
}

cxlpool::Result<SpanArguments> span_arguments(const cxlpool_digest* parent, const uint32_t* tokens,
                                              std::size_t token_count,
                                              const cxlpool_span_item* items,
                                              std::size_t item_count) {
    const auto given_tokens = array_from(tokens, token_count);
    CXLPOOL_TRY(given_tokens);
    const auto given_items = array_from(items, item_count);
    CXLPOOL_TRY(given_items);
    SpanArguments arguments;
    if (parent != nullptr) {
        arguments.parent = digest_from<SpanDigest>(*parent);
    }
    arguments.tokens = *given_tokens;
    arguments.items.reserve(item_count);
    for (const cxlpool_span_item& item : *given_items) {
        arguments.items.push_back(
            {item.first_token, item.token_count, digest_from<cxlpool::Digest256>(item.digest)});
    }
    return arguments;
}

}  // namespace

int cxlpool_connect(const cxlpool_options* options, cxlpool_client** out) {
    return guarded([&] {
        cxlpool_options wanted{};
        if (out == nullptr) {
            return refuse_argument(kNull);
        }
        if (options != nullptr && (!copy_in(options, wanted) || wanted.reserved != 0)) {
            return refuse_argument(kBadStruct);
        }
        wire::HelloRequest hello;
        hello.tenant = wanted.tenant;
        hello.engine_name = wanted.engine_name != nullptr ? wanted.engine_name : "";
        const std::uint32_t timeout_ms =
            wanted.timeout_ms != 0 ? wanted.timeout_ms : client::kDefaultTimeoutMs;
        auto connection = client::Connection::connect(socket_path(wanted), hello, timeout_ms);
        if (!connection) {
            return fail(connection.error());
        }
        auto session =
            client::Session::open(std::move(connection).value(), cxlpool::system_clock());
        if (!session) {
            return fail(session.error());
        }
        auto made = std::make_unique<cxlpool_client>();
        made->session = std::move(session).value();
        *out = made.release();
        return kOk;
    });
}

void cxlpool_close(cxlpool_client* client) {
    delete client;
}

int cxlpool_get_info(const cxlpool_client* client, cxlpool_info* info) {
    if (client == nullptr) {
        return refuse_argument(kNull);
    }
    if (!has_size(info)) {
        return refuse_argument(kBadStruct);
    }
    const wire::HelloReply& greeting = client->session->greeting();
    cxlpool_info said{};
    said.protocol_version = greeting.version;
    said.mode = greeting.mode;
    said.roles = greeting.roles;
    said.max_lookup_spans = greeting.max_lookup_spans;
    said.tenant = greeting.tenant;
    said.max_leases = greeting.max_leases;
    said.max_contexts = greeting.max_contexts;
    said.lease_ttl_ms = greeting.lease_ttl_ms;
    said.max_cell_bytes = greeting.max_cell_bytes;
    copy_out(info, said);
    return kOk;
}

int cxlpool_context_create(cxlpool_client* client, const cxlpool_axis* axes, size_t n,
                           cxlpool_context** out) {
    return guarded([&] {
        if (client == nullptr || out == nullptr || (axes == nullptr && n > 0)) {
            return refuse_argument(kNull);
        }
        auto fields = axes_from(axes, n);
        if (!fields) {
            return fail(fields.error());
        }
        auto made = std::make_unique<cxlpool_context>();
        made->client = client;
        const auto id = client->session->register_context(std::move(fields).value());
        if (!id) {
            return fail(id.error());
        }
        made->id = *id;
        cxlpool_context* handle = made.get();
        const std::lock_guard lock(client->mutex);
        client->contexts.emplace(handle, std::move(made));
        *out = handle;
        return kOk;
    });
}

int cxlpool_context_destroy(cxlpool_context* context) {
    return guarded([&] {
        if (context == nullptr) {
            return kOk;
        }
        cxlpool_client* client = context->client;
        const auto released = client->session->release_context(context->id);
        if (!released && released.error().code() == Errc::wrong_state) {
            return fail(released.error());  // a fork: the lock may be held by nobody that exists
        }
        {
            const std::lock_guard lock(client->mutex);
            client->contexts.erase(context);
        }
        return released ? kOk : fail(released.error());
    });
}

int cxlpool_context_identity(const cxlpool_axis* axes, size_t n, cxlpool_digest* out) {
    return guarded([&] {
        if (out == nullptr || (axes == nullptr && n > 0)) {
            return refuse_argument(kNull);
        }
        const auto fields = axes_from(axes, n);
        if (!fields) {
            return fail(fields.error());
        }
        cxlpool::ContextFields context;
        for (const wire::AxisField& field : *fields) {
            context.axes[field.axis] = field.value;
        }
        const auto identity = cxlpool::context_identity(context);
        if (!identity) {
            return fail(identity.error());
        }
        *out = digest_to(*identity);
        return kOk;
    });
}

int cxlpool_span_digest(const cxlpool_digest* parent, const uint32_t* tokens, size_t token_count,
                        const cxlpool_span_item* items, size_t item_count, cxlpool_digest* out) {
    return guarded([&] {
        if (out == nullptr) {
            return refuse_argument(kNull);
        }
        const auto given = span_arguments(parent, tokens, token_count, items, item_count);
        if (!given) {
            return fail(given.error());
        }
        const auto digest = cxlpool::span_digest(given->parent, given->tokens, given->items);
        if (!digest) {
            return fail(digest.error());
        }
        *out = digest_to(*digest);
        return kOk;
    });
}

int cxlpool_span_chain(const cxlpool_digest* parent, const uint32_t* tokens, size_t token_count,
                       const cxlpool_span_item* items, size_t item_count, uint32_t page_tokens,
                       cxlpool_digest* out, size_t digest_count) {
    return guarded([&] {
        const auto given = span_arguments(parent, tokens, token_count, items, item_count);
        if (!given) {
            return fail(given.error());
        }
        if (out == nullptr && digest_count > 0) {
            return refuse_argument(kNull);
        }
        if (digest_count > token_count) {
            return refuse_argument(
                "there are more digests than tokens: digest_count is token_count "
                "/ page_tokens");
        }
        std::vector<SpanDigest> digests(digest_count);
        const auto done =
            cxlpool::span_chain(given->parent, given->tokens, given->items, page_tokens, digests);
        if (!done) {
            return fail(done.error());
        }
        std::transform(digests.begin(), digests.end(), out, digest_to);
        return kOk;
    });
}

int cxlpool_lookup(cxlpool_context* context, const cxlpool_digest* spans, size_t n,
                   cxlpool_hit* out) {
    return guarded([&] {
        if (context == nullptr || (n > 0 && (spans == nullptr || out == nullptr))) {
            return refuse_argument(kNull);
        }
        std::vector<SpanDigest> wanted;
        wanted.reserve(n);
        for (std::size_t i = 0; i < n; ++i) {
            wanted.push_back(digest_from<SpanDigest>(spans[i]));
        }
        const auto items = context->client->session->lookup(context->id, wanted);
        if (!items) {
            return fail(items.error());
        }
        std::transform(items->begin(), items->end(), out, hit_to);
        return kOk;
    });
}

int cxlpool_attend(cxlpool_client* client, const cxlpool_hit* hit, const void** data) {
    return guarded([&] {
        if (client == nullptr || hit == nullptr || data == nullptr) {
            return refuse_argument(kNull);
        }
        if (hit->verdict != CXLPOOL_HIT_IN_PLACE) {
            return fail(Errc::wrong_state, "only a hit/in_place can be attended where it is");
        }
        wire::LookupItem item;
        item.lease = lease_from(hit->lease);
        item.segment = hit->segment;
        item.offset_bytes = hit->offset_bytes;
        item.length_bytes = hit->length_bytes;
        const auto bytes = client->session->attend(item);
        if (!bytes) {
            return fail(bytes.error());
        }
        *data = *bytes;
        return kOk;
    });
}

int cxlpool_lease_live(const cxlpool_client* client, cxlpool_lease lease) {
    return client != nullptr && client->session->live(lease_from(lease)) ? 1 : 0;
}

int cxlpool_renew(cxlpool_client* client, cxlpool_lease lease, uint32_t* ttl_ms) {
    return guarded([&] {
        if (client == nullptr) {
            return refuse_argument(kNull);
        }
        const auto ttl = client->session->renew(lease_from(lease));
        if (!ttl) {
            return fail(ttl.error());
        }
        if (ttl_ms != nullptr) {
            *ttl_ms = *ttl;
        }
        return kOk;
    });
}

int cxlpool_release(cxlpool_client* client, cxlpool_lease lease) {
    return guarded([&] {
        if (client == nullptr) {
            return refuse_argument(kNull);
        }
        const auto released = client->session->release(lease_from(lease));
        return released ? kOk : fail(released.error());
    });
}

int cxlpool_begin(cxlpool_context* context, const cxlpool_digest* span, uint64_t length_bytes,
                  uint64_t recompute_ns, const char* pool, cxlpool_fill* out) {
    return guarded([&] {
        if (context == nullptr || span == nullptr) {
            return refuse_argument(kNull);
        }
        if (!has_size(out)) {
            return refuse_argument(kBadStruct);
        }
        if (length_bytes == 0) {
            return refuse_argument("a cell has at least one byte");
        }
        wire::BeginRequest request;
        request.context = context->id;
        request.span = digest_from<SpanDigest>(*span);
        request.length_bytes = length_bytes;
        request.recompute_ns = recompute_ns;
        request.pool = pool != nullptr ? pool : "";
        const auto begun = context->client->session->begin(std::move(request));
        if (!begun) {
            return fail(begun.error());
        }
        cxlpool_fill fill{};
        fill.lease = lease_to(begun->grant.lease);
        fill.segment = begun->grant.segment;
        fill.offset_bytes = begun->grant.offset_bytes;
        fill.length_bytes = begun->grant.length_bytes;
        fill.data = begun->data;
        copy_out(out, fill);
        return kOk;
    });
}

int cxlpool_seal(cxlpool_client* client, cxlpool_fill* fill, cxlpool_digest* digest) {
    return guarded([&] {
        if (client == nullptr) {
            return refuse_argument(kNull);
        }
        if (!has_size(fill)) {
            return refuse_argument(kBadStruct);
        }
        if (fill->data == nullptr) {
            return fail(Errc::wrong_state, "nothing is being filled: begin first");
        }
        const auto sealed = client->session->seal(lease_from(fill->lease));
        if (!sealed) {
            return fail(sealed.error());
        }
        fill->data = nullptr;
        if (digest != nullptr) {
            *digest = digest_to(*sealed);
        }
        return kOk;
    });
}

int cxlpool_share(cxlpool_context* context, const cxlpool_digest* span, int scope,
                  const uint64_t* allow, size_t n) {
    return guarded([&] {
        if (context == nullptr || span == nullptr || (n > 0 && allow == nullptr)) {
            return refuse_argument(kNull);
        }
        if (scope < CXLPOOL_SCOPE_AGENT || scope > CXLPOOL_SCOPE_FLEET) {
            return refuse_argument("there is no such scope: agent 0, tenant 1, fleet 2");
        }
        if (n > wire::kMaxAllowList) {
            return fail(Errc::too_large, "an allow-list names at most 64 tenants");
        }
        wire::ShareRequest request;
        request.context = context->id;
        request.span = digest_from<SpanDigest>(*span);
        request.scope = static_cast<std::uint8_t>(scope);
        if (n > 0) {
            request.allow_list.assign(allow, allow + n);
        }
        const auto shared = context->client->session->share(std::move(request));
        return shared ? kOk : fail(shared.error());
    });
}

int cxlpool_segment_fd(cxlpool_client* client, uint32_t segment, int access, int* fd) {
    return guarded([&] {
        if (client == nullptr || fd == nullptr) {
            return refuse_argument(kNull);
        }
        if (access != CXLPOOL_ACCESS_READ && access != CXLPOOL_ACCESS_WRITE) {
            return refuse_argument("there is no such access: read 0, write 1");
        }
        auto opened = client->session->open_segment(segment, static_cast<wire::MapAccess>(access));
        if (!opened) {
            return fail(opened.error());
        }
        *fd = opened->release();
        return kOk;
    });
}

int cxlpool_plan_fleet(cxlpool_client* client, const cxlpool_fleet_question* question,
                       cxlpool_fleet_plan* plan) {
    return guarded([&] {
        cxlpool_fleet_question asked{};
        if (client == nullptr) {
            return refuse_argument(kNull);
        }
        if (!copy_in(question, asked) || !has_size(plan)) {
            return refuse_argument(kBadStruct);
        }
        const auto reply = client->session->plan_fleet({asked.tenants, asked.hosts, asked.tokens,
                                                        asked.bytes, asked.recompute_ns_per_token,
                                                        asked.pool != nullptr ? asked.pool : ""});
        if (!reply) {
            return fail(reply.error());
        }
        cxlpool_fleet_plan said{};
        said.holds = reply->holds;
        said.advice = reply->advice;
        said.hosts = reply->hosts;
        said.attending_hosts = reply->attending_hosts;
        said.regimes[CXLPOOL_REGIME_PRIVATE] = regime_to(reply->private_copies);
        said.regimes[CXLPOOL_REGIME_COPY_ONLY] = regime_to(reply->copy_only);
        said.regimes[CXLPOOL_REGIME_COHERENT] = regime_to(reply->coherent);
        said.full_pass_ns = reply->full_pass_ns;
        said.full_pass_shared_ns = reply->full_pass_shared_ns;
        said.seal_writeback_ns = reply->seal_writeback_ns;
        said.reader_invalidate_ns = reply->reader_invalidate_ns;
        copy_out(plan, said);
        return kOk;
    });
}

int cxlpool_plan_placement(cxlpool_client* client, const cxlpool_placement_tier* tiers,
                           size_t n_tiers, const cxlpool_placement_cell* cells, size_t n,
                           cxlpool_placement_directive* out) {
    return guarded([&] {
        if (client == nullptr || tiers == nullptr || cells == nullptr || out == nullptr) {
            return refuse_argument(kNull);
        }
        if (n_tiers > wire::kMaxPlacementTiers || n > wire::kMaxPlacementCells) {
            return fail(Errc::too_large, "a plan is of at most 7 tiers and 256 cells");
        }
        if (std::any_of(cells, cells + n, [](const auto& cell) { return cell.reserved != 0; })) {
            return refuse_argument("a reserved member of a cell is not 0");
        }
        wire::PlanPlacementRequest request;
        std::transform(tiers, tiers + n_tiers, std::back_inserter(request.tiers), tier_from);
        std::transform(cells, cells + n, std::back_inserter(request.cells), cell_from);
        const auto reply = client->session->plan_placement(std::move(request));
        if (!reply) {
            return fail(reply.error());
        }
        std::transform(reply->items.begin(), reply->items.end(), out, directive_to);
        return kOk;
    });
}

int cxlpool_statistics(cxlpool_client* client, cxlpool_tenant_statistics* out,
                       cxlpool_tier_statistics* tiers, size_t tier_room,
                       cxlpool_refusal_statistics* refusals, size_t refusal_room) {
    return guarded([&] {
        if (client == nullptr) {
            return refuse_argument(kNull);
        }
        if (!has_size(out) || !has_room(tiers, tier_room) || !has_room(refusals, refusal_room)) {
            return refuse_argument(kBadStruct);
        }
        const auto reply = client->session->own_statistics();
        if (!reply) {
            return fail(reply.error());
        }
        cxlpool_tenant_statistics said{};
        said.hits = reply->hits;
        said.misses = reply->misses;
        said.evictions_suffered = reply->evictions_suffered;
        said.evictions_self = reply->evictions_self;
        said.cells_materialised = reply->cells_materialised;
        said.bytes_materialised = reply->bytes_materialised;
        said.cells = reply->cells;
        said.bytes = reply->bytes;
        said.live_leases = reply->live_leases;
        said.tier_rows = static_cast<std::uint32_t>(reply->tiers.size());
        said.refusal_rows = static_cast<std::uint32_t>(reply->refusals.size());
        copy_out(out, said);
        copy_rows(tiers, tier_room, reply->tiers, tier_statistics_to);
        copy_rows(refusals, refusal_room, reply->refusals, refusal_statistics_to);
        return kOk;
    });
}

const char* cxlpool_strerror(int code) {
    return client::error_name(code);
}

const char* cxlpool_last_message(void) {
    return last_message.data();
}

const char* cxlpool_verdict_name(uint32_t verdict) {
    return client::verdict_name(verdict);
}

const char* cxlpool_version(void) {
    return CXLPOOL_VERSION;
}
