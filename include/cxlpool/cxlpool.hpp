// SPDX-License-Identifier: Apache-2.0
//
// libcxlpool for C++20: owners of what cxlpool.h hands out. Header only; link with libcxlpool.
//
//     auto client = cxlpool::Client::connect({.tenant = 1});
//     if (!client) { std::cerr << client.failure().message; }
//
// RESULTS. No function throws for a failure of cxlpool: it returns Expected<T>, which holds either
// a T or a Failure with one of the CXLPOOL_E_ codes, and must be looked at. (Memory that the
// standard library cannot get throws std::bad_alloc as everywhere.) Which codes a function has,
// whether it blocks, and what threads, forks and a restart of the daemon mean, is said once, at
// the C function that it wraps.
//
// OWNERSHIP. Every class is the sole owner of its part and can be moved, not copied. All of them
// keep the connection alive: it closes when the last of them is gone. Destructors give leases back
// and unmap; what they could report is dropped, so call release() where it matters.
#ifndef CXLPOOL_CXLPOOL_HPP
#define CXLPOOL_CXLPOOL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cxlpool/cxlpool.h"

namespace cxlpool {
inline namespace abi0 {

using Digest = cxlpool_digest;
using AxisValue = cxlpool_axis;
using SpanItem = cxlpool_span_item;
using Info = cxlpool_info;
using FleetQuestion = cxlpool_fleet_question;
using FleetAnswer = cxlpool_fleet_plan;
using LadderTier = cxlpool_placement_tier;
using LadderCell = cxlpool_placement_cell;
using LadderAnswer = cxlpool_placement_directive;
using TenantStatistics = cxlpool_tenant_statistics;
using TierStatistics = cxlpool_tier_statistics;
using RefusalStatistics = cxlpool_refusal_statistics;

struct Statistics {
    TenantStatistics tenant{};
    std::vector<TierStatistics> tiers;
    std::vector<RefusalStatistics> refusals;
};

struct Failure {
    int code = CXLPOOL_OK;  // CXLPOOL_E_
    std::string message;    // a sentence for people
};

// Asking for what it does not hold ends the program.
template <typename T>
class [[nodiscard]] Expected {
  public:
    Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT
    Expected(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT

    explicit operator bool() const noexcept { return state_.index() == 0; }
    T& operator*() & noexcept { return held<0>(state_); }
    const T& operator*() const& noexcept { return held<0>(state_); }
    T&& operator*() && noexcept { return std::move(held<0>(state_)); }
    T* operator->() noexcept { return &held<0>(state_); }
    const T* operator->() const noexcept { return &held<0>(state_); }
    const Failure& failure() const noexcept { return held<1>(state_); }

  private:
    template <std::size_t I, typename State>
    static auto& held(State& state) noexcept {
        auto* value = std::get_if<I>(&state);
        if (value == nullptr) {
            std::abort();
        }
        return *value;
    }
    std::variant<T, Failure> state_;
};

struct Done {};

namespace detail {

using Handle = std::shared_ptr<cxlpool_client>;

inline Failure last_failure(int code) {
    return {code, cxlpool_last_message()};
}

inline Expected<Done> done_or_failure(int code) {
    if (code != CXLPOOL_OK) {
        return last_failure(code);
    }
    return Done{};
}

}  // namespace detail

// The digest of one span; `parent` null: it is the first of its sequence.
inline Expected<Digest> span_digest(const Digest* parent, std::span<const std::uint32_t> tokens,
                                    std::span<const SpanItem> items = {}) {
    Digest digest{};
    const int code = cxlpool_span_digest(parent, tokens.data(), tokens.size(), items.data(),
                                         items.size(), &digest);
    if (code != CXLPOOL_OK) {
        return detail::last_failure(code);
    }
    return digest;
}

// The digests of all whole blocks of `page_tokens` tokens, in their order.
inline Expected<std::vector<Digest>> span_chain(const Digest* parent,
                                                std::span<const std::uint32_t> tokens,
                                                std::uint32_t page_tokens,
                                                std::span<const SpanItem> items = {}) {
    // Of a page without tokens the library says what is wrong.
    std::vector<Digest> digests(page_tokens != 0 ? tokens.size() / page_tokens : 0);
    const int code = cxlpool_span_chain(parent, tokens.data(), tokens.size(), items.data(),
                                        items.size(), page_tokens, digests.data(), digests.size());
    if (code != CXLPOOL_OK) {
        return detail::last_failure(code);
    }
    return digests;
}

// The digest of a whole context.
inline Expected<Digest> context_identity(std::span<const AxisValue> axes) {
    Digest digest{};
    const int code = cxlpool_context_identity(axes.data(), axes.size(), &digest);
    if (code != CXLPOOL_OK) {
        return detail::last_failure(code);
    }
    return digest;
}

// One lease; given back when it goes.
class Lease {
  public:
    Lease() noexcept = default;
    Lease(detail::Handle client, cxlpool_lease lease) noexcept
        : client_(std::move(client)), lease_(lease) {}
    Lease(Lease&& other) noexcept
        : client_(std::move(other.client_)), lease_(std::exchange(other.lease_, {})) {}
    Lease& operator=(Lease&& other) noexcept {
        if (this != &other) {
            static_cast<void>(release());
            client_ = std::move(other.client_);
            lease_ = std::exchange(other.lease_, {});
        }
        return *this;
    }
    ~Lease() { static_cast<void>(release()); }

    // False for an empty one.
    bool live() const noexcept {
        return client_ != nullptr && cxlpool_lease_live(client_.get(), lease_) == 1;
    }
    // How long it lasts from now on, in milliseconds.
    Expected<std::uint32_t> renew() {
        std::uint32_t ttl_ms = 0;
        const int code = cxlpool_renew(client_.get(), lease_, &ttl_ms);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return ttl_ms;
    }
    // Empty afterwards, whatever it returns. An empty one is released already.
    Expected<Done> release() {
        if (client_ == nullptr || lease_.generation == 0) {
            return Done{};
        }
        const cxlpool_lease lease = std::exchange(lease_, {});
        return detail::done_or_failure(cxlpool_release(client_.get(), lease));
    }
    // The lease is over by other means: nothing to give back.
    void forget() noexcept { lease_ = {}; }
    cxlpool_lease get() const noexcept { return lease_; }

  private:
    detail::Handle client_;
    cxlpool_lease lease_{};
};

// The answer about one span, with its lease when it is a hit.
class Hit {
  public:
    Hit(detail::Handle client, const cxlpool_hit& hit)
        : client_(client), hit_(hit), lease_(std::move(client), hit.lease) {}

    std::uint32_t verdict() const noexcept { return hit_.verdict; }
    const char* verdict_name() const noexcept { return cxlpool_verdict_name(hit_.verdict); }
    int status() const noexcept { return static_cast<int>(hit_.status); }
    bool in_place() const noexcept { return hit_.verdict == CXLPOOL_HIT_IN_PLACE; }
    std::uint64_t length_bytes() const noexcept { return hit_.length_bytes; }
    const Digest& digest() const noexcept { return hit_.digest; }
    const cxlpool_hit& raw() const noexcept { return hit_; }
    Lease& lease() noexcept { return lease_; }
    bool live() const noexcept { return lease_.live(); }

    // The bytes; valid as long as this object keeps its lease.
    Expected<std::span<const std::byte>> attend() {
        const void* data = nullptr;
        const int code = cxlpool_attend(client_.get(), &hit_, &data);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return std::span(static_cast<const std::byte*>(data),
                         static_cast<std::size_t>(hit_.length_bytes));
    }

  private:
    detail::Handle client_;
    cxlpool_hit hit_;
    Lease lease_;
};

// A cell that is being filled; rolled back when it goes unsealed.
class Fill {
  public:
    Fill(detail::Handle client, const cxlpool_fill& fill)
        : client_(client), fill_(fill), lease_(std::move(client), fill.lease) {}

    // Empty once sealed.
    std::span<std::byte> bytes() noexcept {
        return {static_cast<std::byte*>(fill_.data),
                fill_.data != nullptr ? static_cast<std::size_t>(fill_.length_bytes) : 0};
    }
    const cxlpool_fill& raw() const noexcept { return fill_; }
    Lease& lease() noexcept { return lease_; }

    // The digest that the daemon took. On failure the fill is as it was.
    Expected<Digest> seal() {
        Digest digest{};
        const int code = cxlpool_seal(client_.get(), &fill_, &digest);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        lease_.forget();
        return digest;
    }

  private:
    detail::Handle client_;
    cxlpool_fill fill_;
    Lease lease_;
};

// A registered context.
class Context {
  public:
    Context(detail::Handle client, cxlpool_context* context) noexcept
        : client_(std::move(client)), context_(context) {}

    Expected<std::vector<Hit>> lookup(std::span<const Digest> spans) {
        std::vector<cxlpool_hit> answers(spans.size());
        std::vector<Hit> hits;
        hits.reserve(spans.size());
        const int code = cxlpool_lookup(context_.get(), spans.data(), spans.size(), answers.data());
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        for (const cxlpool_hit& answer : answers) {
            hits.emplace_back(client_, answer);
        }
        return hits;
    }
    // `recompute_ns` 0: unknown. `pool` null: the daemon chooses.
    Expected<Fill> begin(const Digest& span, std::uint64_t length_bytes,
                         std::uint64_t recompute_ns = 0, const char* pool = nullptr) {
        cxlpool_fill fill{};
        fill.struct_size = sizeof fill;
        const int code =
            cxlpool_begin(context_.get(), &span, length_bytes, recompute_ns, pool, &fill);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return Fill(client_, fill);
    }
    Expected<Done> share(const Digest& span, int scope, std::span<const std::uint64_t> allow = {}) {
        return detail::done_or_failure(
            cxlpool_share(context_.get(), &span, scope, allow.data(), allow.size()));
    }

  private:
    struct Destroy {
        void operator()(cxlpool_context* context) const noexcept {
            static_cast<void>(cxlpool_context_destroy(context));
        }
    };
    detail::Handle client_;  // outlives context_
    std::unique_ptr<cxlpool_context, Destroy> context_;
};

struct Options {
    const char* socket_path = nullptr;  // null: $CXLPOOL_SOCKET, then the built-in path
    std::uint64_t tenant = 0;           // 0: the only one that this user may act as
    const char* engine_name = nullptr;
    std::uint32_t timeout_ms = 0;  // 0: the default
};

class Client {
  public:
    static Expected<Client> connect(const Options& options = {}) {
        cxlpool_options raw{};
        raw.struct_size = sizeof raw;
        raw.socket_path = options.socket_path;
        raw.tenant = options.tenant;
        raw.engine_name = options.engine_name;
        raw.timeout_ms = options.timeout_ms;
        cxlpool_client* client = nullptr;
        const int code = cxlpool_connect(&raw, &client);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return Client(detail::Handle(client, cxlpool_close));
    }

    Info info() const noexcept {
        Info info{};
        info.struct_size = sizeof info;
        static_cast<void>(cxlpool_get_info(client_.get(), &info));  // cannot fail
        return info;
    }
    Expected<Context> create_context(std::span<const AxisValue> axes) {
        cxlpool_context* context = nullptr;
        const int code = cxlpool_context_create(client_.get(), axes.data(), axes.size(), &context);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return Context(client_, context);
    }
    // The descriptor is the caller's to close.
    Expected<int> segment_fd(std::uint32_t segment, int access) {
        int fd = -1;
        const int code = cxlpool_segment_fd(client_.get(), segment, access, &fd);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return fd;
    }
    // The question's struct_size is set here.
    Expected<FleetAnswer> plan_fleet(FleetQuestion question) {
        FleetAnswer answer{};
        question.struct_size = sizeof question;
        answer.struct_size = sizeof answer;
        const int code = cxlpool_plan_fleet(client_.get(), &question, &answer);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return answer;
    }
    // One answer for each cell, in their order.
    Expected<std::vector<LadderAnswer>> plan_placement(std::span<const LadderTier> tiers,
                                                       std::span<const LadderCell> cells) {
        std::vector<LadderAnswer> answers(cells.size());
        const int code = cxlpool_plan_placement(client_.get(), tiers.data(), tiers.size(),
                                                cells.data(), cells.size(), answers.data());
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        return answers;
    }
    // Every row that there is, up to 128 of each kind.
    Expected<Statistics> statistics() {
        constexpr std::size_t kRoom = 128;
        Statistics all;
        all.tenant.struct_size = sizeof all.tenant;
        all.tiers.resize(kRoom);
        all.tiers.front().struct_size = sizeof(TierStatistics);
        all.refusals.resize(kRoom);
        all.refusals.front().struct_size = sizeof(RefusalStatistics);
        const int code = cxlpool_statistics(client_.get(), &all.tenant, all.tiers.data(), kRoom,
                                            all.refusals.data(), kRoom);
        if (code != CXLPOOL_OK) {
            return detail::last_failure(code);
        }
        all.tiers.resize(std::min<std::size_t>(kRoom, all.tenant.tier_rows));
        all.refusals.resize(std::min<std::size_t>(kRoom, all.tenant.refusal_rows));
        return all;
    }
    cxlpool_client* get() noexcept { return client_.get(); }

  private:
    explicit Client(detail::Handle client) noexcept : client_(std::move(client)) {}
    detail::Handle client_;
};

}  // namespace abi0
}  // namespace cxlpool

#endif  // CXLPOOL_CXLPOOL_HPP
