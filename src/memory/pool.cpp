#include "memory/pool.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/units.hpp"
#include "memory/guarded.hpp"

namespace cxlpool {
namespace {

// Extents start on pages, so that a cell never shares one with another.
constexpr std::uint64_t kExtentAlignmentBytes = 4096;

// A private segment made in advance takes at most this part of the capacity, so that in a small
// pool the first tenant does not leave the others, and the shared cells, without room.
constexpr std::uint64_t kPrivateShare = 8;

struct Held {
    Extent extent;
    std::uint64_t length_bytes = 0;
    bool releasing = false;
};

// Disjoint, coalesced byte ranges: offset -> end.
class RangeSet {
  public:
    RangeSet() = default;
    explicit RangeSet(std::uint64_t end) { ranges_.emplace(0, end); }
    bool intersects(const Extent& extent) const noexcept {
        const std::uint64_t end = extent.offset_bytes + extent.length_bytes;
        const auto next = ranges_.lower_bound(end);
        return next != ranges_.begin() && std::prev(next)->second > extent.offset_bytes;
    }
    // The first bytes, at most that many.
    std::optional<Extent> first(std::uint64_t max_bytes) const {
        if (ranges_.empty() || max_bytes == 0) {
            return std::nullopt;
        }
        const auto [begin, end] = *ranges_.begin();
        return Extent{begin, std::min(end - begin, max_bytes)};
    }
    void subtract(const Extent& extent) {
        const std::uint64_t begin = extent.offset_bytes;
        const std::uint64_t end = begin + extent.length_bytes;
        auto at = ranges_.lower_bound(begin);
        if (at != ranges_.begin() && std::prev(at)->second > begin) {
            --at;
        }
        while (at != ranges_.end() && at->first < end) {
            const auto [range_begin, range_end] = *at;
            at = ranges_.erase(at);
            if (range_begin < begin) {
                ranges_.emplace(range_begin, begin);
            }
            if (range_end > end) {
                ranges_.emplace(end, range_end);
            }
        }
    }

  private:
    std::map<std::uint64_t, std::uint64_t> ranges_;
};

// What has to be overwritten before it is handed out: everything on a device, which carries what
// its last user left; and private memory that is not populated. (A shared placement is populated by
// the copy into it.)
RangeSet fresh_bytes(const Segment& segment, SegmentUse use, bool as_found) {
    const bool reported = as_found || (use == SegmentUse::private_writable && !segment.populated());
    return reported ? RangeSet(segment.size_bytes()) : RangeSet();
}

struct SegmentState {
    SegmentState(std::unique_ptr<Segment> made, SegmentUse how, TenantId whose, bool as_found)
        : segment(std::move(made)),
          use(how),
          owner(whose),
          extents(segment->size_bytes(), kExtentAlignmentBytes),
          unscrubbed(fresh_bytes(*segment, how, as_found)) {}

    std::unique_ptr<Segment> segment;
    SegmentUse use;
    TenantId owner;
    ExtentAllocator extents;
    RangeSet unscrubbed;
    std::map<std::uint64_t, Held> placements;  // by offset
    std::uint64_t indexed_bytes = 0;           // key in Impl::roomiest; 0: not in there
};

Error not_held(const Placement& placement, const char* what) {
    return Error{Errc::invalid_argument,
                 "segment " + std::to_string(placement.segment.value) + ", offset " +
                     std::to_string(placement.extent.offset_bytes) + ", " +
                     std::to_string(placement.length_bytes) + " bytes: " + what};
}

}  // namespace

struct Pool::Impl {
    Impl(PoolOptions pool_options, std::unique_ptr<SegmentProvider> pool_provider)
        : options(std::move(pool_options)), provider(std::move(pool_provider)) {}

    PoolOptions options;
    std::unique_ptr<SegmentProvider> provider;
    std::unordered_map<std::uint64_t, SegmentState> segments;
    // Per tenant, its writable segments by their largest free extent.
    std::map<TenantId, std::set<std::pair<std::uint64_t, std::uint64_t>>> roomiest;
    std::map<TenantId, std::size_t> owned_segments;  // never 0; not those of nobody
    std::uint64_t last_segment = 0;
    std::uint64_t segment_bytes = 0;
    std::uint64_t placed_bytes = 0;
    std::uint64_t quarantined_bytes = 0;

    const ProviderTraits& traits() const noexcept { return provider->traits(); }

    SegmentState* find(SegmentId id) noexcept {
        const auto at = segments.find(id.value);
        return at == segments.end() ? nullptr : &at->second;
    }

    // The record of a placement in that state, or null.
    Held* find(const Placement& placement, bool releasing) noexcept {
        SegmentState* const state = find(placement.segment);
        if (state == nullptr) {
            return nullptr;
        }
        const auto at = state->placements.find(placement.extent.offset_bytes);
        if (at == state->placements.end() || at->second.extent != placement.extent ||
            at->second.length_bytes != placement.length_bytes ||
            at->second.releasing != releasing) {
            return nullptr;
        }
        return &at->second;
    }

    std::span<std::byte> view(const Placement& placement, std::uint64_t length_bytes) {
        return find(placement.segment)
            ->segment->bytes()
            .subspan(placement.extent.offset_bytes, length_bytes);
    }

    void index(std::uint64_t id, SegmentState& state) {
        if (traits().single_segment || state.use != SegmentUse::private_writable) {
            return;
        }
        auto& own = roomiest[state.owner];
        if (state.indexed_bytes != 0) {
            own.erase({state.indexed_bytes, id});
        }
        state.indexed_bytes = state.extents.largest_free_bytes();
        if (state.indexed_bytes != 0) {
            own.emplace(state.indexed_bytes, id);
        }
        if (own.empty()) {
            roomiest.erase(state.owner);
        }
    }

    void destroy(std::uint64_t id, SegmentState& state) {
        if (options.keeper) {
            options.keeper->give_up(options.name, SegmentId{id});
        }
        if (state.indexed_bytes != 0) {
            auto own = roomiest.find(state.owner);
            own->second.erase({state.indexed_bytes, id});
            if (own->second.empty()) {
                roomiest.erase(own);
            }
        }
        const auto owned = owned_segments.find(state.owner);
        if (--owned->second == 0) {
            owned_segments.erase(owned);
        }
        segment_bytes -= state.segment->size_bytes();
        // The bytes go back to the kernel, bad ones among them.
        quarantined_bytes -= state.extents.quarantined_bytes();
        segments.erase(id);
    }

    // A new segment of at least `needed` bytes, `wanted` if there is room.
    Result<std::uint64_t> add_segment(TenantId owner, SegmentUse use, std::uint64_t needed,
                                      std::uint64_t wanted) {
        if (segments.size() >= options.max_segments) {
            // Without numbers: a tenant is not told what the others hold.
            return Error{Errc::limit_exceeded,
                         "pool '" + options.name +
                             "' can have no more segments; try again when cells were released"};
        }
        const auto owned = owned_segments.find(owner);
        if (owned != owned_segments.end() && owned->second >= options.max_segments_per_owner) {
            return Error{Errc::limit_exceeded,
                         "pool '" + options.name + "': a tenant has at most " +
                             std::to_string(options.max_segments_per_owner) +
                             " segments, one for each shared cell among them, and this one has "
                             "them; release cells"};
        }
        const std::uint64_t mask = traits().alignment_bytes - 1;
        const std::uint64_t room =
            std::min(traits().capacity_bytes - segment_bytes, traits().largest_segment_bytes) &
            ~mask;
        if (needed > room) {
            return Error{Errc::capacity,
                         "pool '" + options.name + "': no room for " + std::to_string(needed) +
                             " bytes: " + std::to_string(traits().capacity_bytes - segment_bytes) +
                             " of " + std::to_string(traits().capacity_bytes) + " bytes are free"};
        }
        // `needed` fits into `room`, a multiple of the alignment, so rounding up cannot exceed it.
        const std::uint64_t size = (std::clamp(wanted, needed, room) + mask) & ~mask;
        Result<std::unique_ptr<Segment>> made = provider->create_segment(size, use);
        if (!made) {
            return std::move(made).error().with_context("pool '" + options.name + "'");
        }
        const std::uint64_t id = ++last_segment;
        insert(id, std::move(made).value(), use, owner, traits().single_segment);
        return id;
    }

    void insert(std::uint64_t id, std::unique_ptr<Segment> segment, SegmentUse use, TenantId owner,
                bool as_found) {
        if (owner) {
            ++owned_segments[owner];
        }
        segment_bytes += segment->size_bytes();
        if (options.keeper && segment->own_descriptor() >= 0) {
            options.keeper->keep(options.name, SegmentId{id}, segment->own_descriptor());
        }
        segments.emplace(id, SegmentState(std::move(segment), use, owner, as_found));
    }

    // Takes `length_bytes` out of a segment that has room for them.
    Placement place(std::uint64_t id, std::uint64_t length_bytes) {
        SegmentState& state = segments.at(id);
        const Result<Extent> extent = state.extents.allocate(length_bytes);
        CXLPOOL_CHECK(extent.has_value());
        state.placements.emplace(extent->offset_bytes, Held{*extent, length_bytes, false});
        placed_bytes += extent->length_bytes;
        index(id, state);
        return Placement{SegmentId{id}, *extent, length_bytes};
    }

    Result<void> check_request(TenantId owner, std::uint64_t length_bytes) const {
        if (!owner || length_bytes == 0) {
            return Error{Errc::invalid_argument,
                         !owner ? "a placement belongs to a tenant; tenant 0 is nobody"
                                : "a placement of 0 bytes was asked for"};
        }
        return {};
    }

    // Ends what begin_release began.
    Result<void> end_release(const Placement& placement, bool overwritten) {
        if (find(placement, true) == nullptr) {
            return not_held(placement, "not being released");
        }
        SegmentState& state = segments.at(placement.segment.value);
        state.placements.erase(placement.extent.offset_bytes);
        placed_bytes -= placement.extent.length_bytes;
        if (overwritten) {
            CXLPOOL_TRY(state.extents.free(placement.extent));
            state.unscrubbed.subtract(placement.extent);
        } else {
            CXLPOOL_TRY(state.extents.quarantine(placement.extent));
            quarantined_bytes += placement.extent.length_bytes;
        }
        if (state.placements.empty() && !traits().single_segment) {
            destroy(placement.segment.value, state);
        } else {
            index(placement.segment.value, state);
        }
        return {};
    }
};

Pool::Pool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pool::~Pool() {
    if (impl_->options.keeper) {
        for (auto& [id, state] : impl_->segments) {
            state.segment->outlive();
        }
    }
}

Result<std::unique_ptr<Pool>> Pool::create(PoolOptions options,
                                           std::unique_ptr<SegmentProvider> provider) {
    auto impl = std::make_unique<Impl>(std::move(options), std::move(provider));
    const ProviderTraits& traits = impl->traits();
    if (traits.single_segment) {
        const Result<std::uint64_t> only = impl->add_segment(
            TenantId{}, SegmentUse::private_writable, traits.capacity_bytes, traits.capacity_bytes);
        if (!only) {
            return Error(only.error());
        }
    }
    return std::unique_ptr<Pool>(new Pool(std::move(impl)));
}

const std::string& Pool::name() const noexcept {
    return impl_->options.name;
}
const ProviderTraits& Pool::traits() const noexcept {
    return impl_->traits();
}

PoolUsage Pool::usage() const noexcept {
    PoolUsage usage;
    usage.capacity_bytes = impl_->traits().capacity_bytes;
    usage.segment_bytes = impl_->segment_bytes;
    usage.placed_bytes = impl_->placed_bytes;
    usage.quarantined_bytes = impl_->quarantined_bytes;
    usage.segments = impl_->segments.size();
    return usage;
}

bool Pool::outlives_daemon() const noexcept {
    return impl_->traits().keeps_on_restart || impl_->options.keeper != nullptr;
}

void Pool::skip_segments(SegmentId last) noexcept {
    impl_->last_segment = std::max(impl_->last_segment, last.value);
}

Result<void> Pool::adopt(SegmentId segment, TenantId owner, UniqueFd descriptor) {
    if (!segment || !owner || impl_->traits().single_segment) {
        return Error{Errc::invalid_argument, "segment " + std::to_string(segment.value) +
                                                 " of tenant " + std::to_string(owner.value) +
                                                 " cannot be adopted by pool '" + name() + "'"};
    }
    if (impl_->find(segment) != nullptr) {
        return Error{Errc::already_exists,
                     "there is a segment " + std::to_string(segment.value) + " already"};
    }
    Result<std::unique_ptr<Segment>> adopted =
        impl_->provider->adopt_segment(std::move(descriptor));
    if (!adopted) {
        return std::move(adopted).error();
    }
    skip_segments(segment);
    impl_->insert(segment.value, std::move(*adopted), SegmentUse::private_writable, owner, true);
    impl_->index(segment.value, *impl_->find(segment));
    return {};
}

std::span<std::byte> Pool::segment_bytes(SegmentId segment) noexcept {
    SegmentState* const state = impl_->find(segment);
    return state == nullptr ? std::span<std::byte>{} : state->segment->bytes();
}

Result<void> Pool::restore(const Placement& placement) {
    SegmentState* const state = impl_->find(placement.segment);
    if (state == nullptr) {
        return Error{Errc::not_found,
                     "there is no segment " + std::to_string(placement.segment.value)};
    }
    if (placement.length_bytes == 0 || placement.length_bytes > placement.extent.length_bytes) {
        return not_held(placement, "longer than its extent, or empty");
    }
    CXLPOOL_TRY(state->extents.take(placement.extent));
    state->placements.emplace(placement.extent.offset_bytes,
                              Held{placement.extent, placement.length_bytes, false});
    state->unscrubbed.subtract(placement.extent);
    impl_->placed_bytes += placement.extent.length_bytes;
    impl_->index(placement.segment.value, *state);
    return {};
}

void Pool::drop_unused() {
    if (impl_->traits().single_segment) {
        return;
    }
    std::vector<std::uint64_t> unused;
    for (const auto& [id, state] : impl_->segments) {
        if (state.placements.empty()) {
            unused.push_back(id);
        }
    }
    for (const std::uint64_t id : unused) {
        impl_->destroy(id, impl_->segments.at(id));
    }
}

std::optional<Placement> Pool::place_unscrubbed(std::uint64_t max_bytes) {
    if (!impl_->traits().single_segment) {
        return std::nullopt;
    }
    auto& [id, state] = *impl_->segments.begin();
    const std::uint64_t most = max_bytes & ~(state.extents.alignment_bytes() - 1);
    const std::optional<Extent> found = state.unscrubbed.first(most);
    if (!found) {
        return std::nullopt;
    }
    const Placement placement{SegmentId{id}, *found, found->length_bytes};
    CXLPOOL_CHECK(restore(placement).has_value());
    return placement;
}

Result<Placement> Pool::place_private(TenantId owner, std::uint64_t length_bytes) {
    CXLPOOL_TRY(impl_->check_request(owner, length_bytes));
    if (impl_->traits().single_segment) {
        auto& [id, state] = *impl_->segments.begin();
        if (length_bytes > state.extents.largest_free_bytes()) {
            Result<Extent> refused = state.extents.allocate(length_bytes);
            CXLPOOL_CHECK(!refused);
            return std::move(refused).error().with_context("pool '" + name() + "'");
        }
        return impl_->place(id, length_bytes);
    }
    // A free extent is a multiple of the extent alignment: what is at least as long as the length
    // is at least as long as the length rounded up.
    const auto own = impl_->roomiest.find(owner);
    if (own != impl_->roomiest.end()) {
        const auto fit = own->second.lower_bound({length_bytes, 0});
        if (fit != own->second.end()) {
            return impl_->place(fit->second, length_bytes);
        }
    }
    const std::uint64_t wanted = std::min(impl_->options.private_segment_bytes,
                                          impl_->traits().capacity_bytes / kPrivateShare);
    const Result<std::uint64_t> id =
        impl_->add_segment(owner, SegmentUse::private_writable, length_bytes, wanted);
    if (!id) {
        return Error(id.error());
    }
    return impl_->place(*id, length_bytes);
}

Result<Placement> Pool::place_shared(TenantId owner, std::uint64_t length_bytes) {
    CXLPOOL_TRY(impl_->check_request(owner, length_bytes));
    if (impl_->traits().isolation != Isolation::kernel || impl_->traits().single_segment) {
        return Error{Errc::wrong_state,
                     "pool '" + name() + "' is one device for all: its cells are shared in place"};
    }
    const Result<std::uint64_t> id =
        impl_->add_segment(owner, SegmentUse::shared_read_only, length_bytes, length_bytes);
    if (!id) {
        return Error(id.error());
    }
    return impl_->place(*id, length_bytes);
}

Result<void> Pool::release(const Placement& placement) {
    const Result<std::span<std::byte>> extent = begin_release(placement);
    if (!extent) {
        return Error(extent.error());
    }
    return impl_->end_release(placement, guarded_zero(*extent).has_value());
}

Result<std::span<std::byte>> Pool::begin_release(const Placement& placement) {
    Held* const held = impl_->find(placement, false);
    if (held == nullptr) {
        return not_held(placement, "not handed out");
    }
    held->releasing = true;
    return impl_->view(placement, placement.extent.length_bytes);
}

Result<void> Pool::finish_release(const Placement& placement) {
    return impl_->end_release(placement, true);
}

Result<void> Pool::withdraw(const Placement& placement) {
    return impl_->end_release(placement, false);
}

bool Pool::needs_scrub(const Placement& placement) const noexcept {
    return holds(placement) &&
           impl_->find(placement.segment)->unscrubbed.intersects(placement.extent);
}

Result<void> Pool::mark_scrubbed(const Placement& placement) {
    if (!holds(placement)) {
        return not_held(placement, "not handed out");
    }
    impl_->find(placement.segment)->unscrubbed.subtract(placement.extent);
    return {};
}

std::span<std::byte> Pool::bytes(const Placement& placement) noexcept {
    return holds(placement) ? impl_->view(placement, placement.length_bytes)
                            : std::span<std::byte>{};
}

std::span<std::byte> Pool::extent_bytes(const Placement& placement) noexcept {
    return holds(placement) ? impl_->view(placement, placement.extent.length_bytes)
                            : std::span<std::byte>{};
}

bool Pool::holds(const Placement& placement) const noexcept {
    return impl_->find(placement, false) != nullptr;
}

std::uint64_t Pool::segment_size_bytes(SegmentId segment) const noexcept {
    const SegmentState* const state = impl_->find(segment);
    return state == nullptr ? 0 : state->segment->size_bytes();
}

TenantId Pool::segment_owner(SegmentId segment) const noexcept {
    const SegmentState* const state = impl_->find(segment);
    return state == nullptr ? TenantId{} : state->owner;
}

Result<UniqueFd> Pool::open_writable(SegmentId segment) {
    SegmentState* const state = impl_->find(segment);
    if (state == nullptr) {
        return Error{Errc::not_found, "there is no segment " + std::to_string(segment.value)};
    }
    return state->segment->open_writable();
}

Result<UniqueFd> Pool::open_readable(SegmentId segment) {
    SegmentState* const state = impl_->find(segment);
    if (state == nullptr) {
        return Error{Errc::not_found, "there is no segment " + std::to_string(segment.value)};
    }
    return state->segment->open_readable();
}

void Pool::check() const {
    std::uint64_t segment_sum = 0;
    std::uint64_t placed_sum = 0;
    std::uint64_t quarantined_sum = 0;
    std::size_t indexed = 0;
    std::map<TenantId, std::size_t> owned;
    for (const auto& [id, state] : impl_->segments) {
        state.extents.check();
        CXLPOOL_CHECK(id <= impl_->last_segment);
        CXLPOOL_CHECK(state.extents.used_count() == state.placements.size());
        segment_sum += state.segment->size_bytes();
        quarantined_sum += state.extents.quarantined_bytes();
        for (const auto& [offset, held] : state.placements) {
            CXLPOOL_CHECK(offset == held.extent.offset_bytes);
            CXLPOOL_CHECK(held.length_bytes != 0 && held.length_bytes <= held.extent.length_bytes);
            placed_sum += held.extent.length_bytes;
        }
        if (impl_->traits().single_segment) {
            continue;
        }
        CXLPOOL_CHECK(!state.placements.empty());
        CXLPOOL_CHECK(state.owner.value != 0);
        ++owned[state.owner];
        if (state.use == SegmentUse::shared_read_only) {
            CXLPOOL_CHECK(state.placements.size() == 1);
            continue;
        }
        CXLPOOL_CHECK(state.indexed_bytes == state.extents.largest_free_bytes());
        if (state.indexed_bytes != 0) {
            CXLPOOL_CHECK(impl_->roomiest.at(state.owner).count({state.indexed_bytes, id}) == 1);
            ++indexed;
        }
    }
    for (const auto& [owner, own] : impl_->roomiest) {
        CXLPOOL_CHECK(!own.empty());
        indexed -= own.size();
    }
    CXLPOOL_CHECK(indexed == 0);
    CXLPOOL_CHECK(segment_sum == impl_->segment_bytes);
    CXLPOOL_CHECK(segment_sum <= impl_->traits().capacity_bytes);
    CXLPOOL_CHECK(placed_sum == impl_->placed_bytes);
    CXLPOOL_CHECK(quarantined_sum == impl_->quarantined_bytes);
    CXLPOOL_CHECK(impl_->segments.size() <= impl_->options.max_segments);
    CXLPOOL_CHECK(owned == impl_->owned_segments);
    for (const auto& [owner, count] : owned) {
        CXLPOOL_CHECK(count <= impl_->options.max_segments_per_owner);
    }
}

}  // namespace cxlpool
