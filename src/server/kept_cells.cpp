// Cells that outlive the daemon: finding them again at a start, and keeping their records true.
//
// A record may be older than the bytes that it speaks of: the digest decides. What is not, byte for
// byte, what was sealed is dropped.
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "memory/guarded.hpp"
#include "server/server.hpp"

namespace cxlpool {
namespace {

constexpr std::size_t kCellsBetweenProgress = 256;

// A kept shared segment, which nobody can write any more.
class ReadOnlyMapping {
  public:
    static Result<ReadOnlyMapping> of(const UniqueFd& descriptor) {
        struct stat status = {};
        if (::fstat(descriptor.get(), &status) != 0 || status.st_size <= 0) {
            return Error{Errc::invalid_argument, "its segment is no memory"};
        }
        const auto size = static_cast<std::size_t>(status.st_size);
        void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
        if (at == MAP_FAILED) {
            return os_error("mapping its segment", errno);
        }
        return ReadOnlyMapping({static_cast<std::byte*>(at), size});
    }
    ReadOnlyMapping(ReadOnlyMapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    ReadOnlyMapping& operator=(ReadOnlyMapping&&) = delete;
    ~ReadOnlyMapping() {
        if (!bytes_.empty()) {
            ::munmap(bytes_.data(), bytes_.size());
        }
    }
    std::span<const std::byte> bytes() const noexcept { return bytes_; }

  private:
    explicit ReadOnlyMapping(std::span<std::byte> bytes) : bytes_(bytes) {}
    std::span<std::byte> bytes_;
};

Result<std::span<const std::byte>> part(std::span<const std::byte> bytes, std::uint64_t offset,
                                        std::uint64_t length) {
    if (offset > bytes.size() || length > bytes.size() - offset) {
        return Error{Errc::invalid_argument, "its segment is shorter than it was"};
    }
    return bytes.subspan(offset, length);
}

Result<void> check_digest(std::span<const std::byte> bytes, const ContentDigest& wanted) {
    const Result<ContentDigest> found = guarded_digest(bytes);
    if (!found) {
        return found.error();
    }
    return *found == wanted ? Result<void>()
                            : Error{Errc::malformed, "its bytes are not what was sealed"};
}

// Puts the bytes of a shared cell into a segment that this process can overwrite one day, and the
// record's place to there.
Result<void> bring_over(Pool& pool, CellRecord& record, const UniqueFd& descriptor) {
    const Result<ReadOnlyMapping> mapping = ReadOnlyMapping::of(descriptor);
    if (!mapping) {
        return mapping.error();
    }
    const auto from = part(mapping->bytes(), record.offset_bytes, record.length_bytes);
    if (!from) {
        return from.error();
    }
    const Result<Placement> to = pool.place_shared(record.owner, record.length_bytes);
    if (!to) {
        return to.error();
    }
    Result<void> whole = guarded_copy(pool.bytes(*to), *from);
    if (whole) {
        whole = check_digest(pool.bytes(*to), record.digest);
    }
    if (!whole) {
        CXLPOOL_CHECK(pool.release(*to).has_value());
        return whole;
    }
    record.segment = to->segment.value;
    record.offset_bytes = to->extent.offset_bytes;
    record.extent_bytes = to->extent.length_bytes;
    return {};
}

Placement placement_of(const CellRecord& record) {
    return Placement{SegmentId{record.segment}, Extent{record.offset_bytes, record.extent_bytes},
                     record.length_bytes};
}

// Takes the bytes back where they lie.
Result<void> take_back(Pool& pool, const CellRecord& record, KeptCells& kept) {
    const SegmentId segment{record.segment};
    const auto descriptor = kept.segments.find({record.pool, record.segment});
    if (descriptor != kept.segments.end() && descriptor->second) {
        CXLPOOL_TRY(pool.adopt(segment, record.owner, std::move(descriptor->second)));
    }
    if (pool.segment_owner(segment) != record.owner && !pool.traits().single_segment) {
        return Error{Errc::not_found, "its segment is gone"};
    }
    const auto bytes = part(pool.segment_bytes(segment), record.offset_bytes, record.length_bytes);
    if (!bytes) {
        return bytes.error();
    }
    CXLPOOL_TRY(check_digest(*bytes, record.digest));
    return pool.restore(placement_of(record));
}

Cell cell_of(const CellRecord& record, const ContextKey& key) {
    Cell cell;
    cell.id = record.id;
    cell.owner = record.owner;
    cell.key = key;
    cell.span = record.span;
    cell.lifecycle = record.quarantined ? Lifecycle::quarantined : Lifecycle::sealed;
    cell.taint = record.taint;
    cell.admission = record.admission;
    cell.scope = record.scope;
    cell.allow_list = record.allow_list;
    cell.adjudicated_epoch = record.adjudicated_epoch;
    cell.length_bytes = record.length_bytes;
    cell.recompute_ns = record.recompute_ns;
    cell.digest = record.digest;
    cell.attribution =
        Attribution{record.owner, record.uid, record.engine, record.begun_at, record.sealed_at};
    cell.adjudication = record.adjudication;
    return cell;
}

}  // namespace

Result<void> Server::restore_cell(CellRecord& record, KeptCells& kept) {
    if (!registry_.has_tenant(record.owner)) {
        return Error{Errc::not_found, "its tenant is gone"};
    }
    const auto served = std::find_if(pools_.begin(), pools_.end(), [&](const ServedPool& p) {
        return p.pool->name() == record.pool && p.pool->outlives_daemon();
    });
    if (served == pools_.end()) {
        return Error{Errc::not_found, "its pool is not served, or is a new one at each start"};
    }
    Pool& pool = *served->pool;
    const Result<ContextKey> key = interner_.acquire(record.context, record.owner);
    if (!key) {
        return key.error();
    }
    const bool moved = record.offered && !pool.traits().single_segment;
    Result<void> done;
    if (moved) {
        const auto descriptor = kept.segments.find({record.pool, record.segment});
        done = descriptor == kept.segments.end()
                   ? Result<void>(Error{Errc::not_found, "its segment is gone"})
                   : bring_over(pool, record, descriptor->second);
    } else {
        done = take_back(pool, record, kept);
    }
    if (done) {
        const Placement placement = placement_of(record);
        done = registry_.restore(
            cell_of(record, *key),
            located(static_cast<std::size_t>(served - pools_.begin()), placement, record.offered));
        if (!done) {
            CXLPOOL_CHECK(pool.release(placement).has_value());
        }
    }
    interner_.release(*key, record.owner);
    return done;
}

Result<void> Server::restore_cells(KeptCells kept) {
    for (const ServedPool& served : pools_) {
        // Whatever has been a number of a segment never names another one.
        for (const auto& [name, descriptor] : kept.segments) {
            if (name.first == served.pool->name()) {
                served.pool->skip_segments(SegmentId{name.second});
            }
        }
    }
    CellChanges changes;
    std::map<std::string, std::size_t> dropped;
    std::size_t done = 0;
    for (CellRecord& record : kept.cells) {
        const std::uint64_t was_in = record.segment;
        if (Result<void> restored = restore_cell(record, kept); !restored) {
            ++dropped[restored.error().message()];
            changes.gone.push_back(record.id);
        } else if (record.segment != was_in) {
            changes.put.push_back(record);
        }
        if (++done % kCellsBetweenProgress == 0 && kept.progress) {
            kept.progress(done);
        }
    }
    for (const ServedPool& served : pools_) {
        served.pool->drop_unused();
    }
    if (!kept.cells.empty()) {
        spdlog::info("{} of {} kept cells were found again", done - changes.gone.size(), done);
    }
    for (const auto& [why, count] : dropped) {
        spdlog::warn("{} kept cells are dropped: {}", count, why);
    }
    if (changes.put.empty() && changes.gone.empty()) {
        return {};
    }
    return options_.state->save_cells(changes.put, changes.gone);
}

CellRecord Server::record_of(const Cell& cell) const {
    const Location& location = *registry_.location_of(cell.id);
    CellRecord out;
    out.id = cell.id;
    out.owner = cell.owner;
    out.pool = pools_[location.pool].pool->name();
    out.segment = location.placement.segment.value;
    out.offset_bytes = location.placement.extent.offset_bytes;
    out.extent_bytes = location.placement.extent.length_bytes;
    out.length_bytes = cell.length_bytes;
    out.offered = location.offered;
    out.context = interner_.fields(cell.key);
    out.span = cell.span;
    out.digest = cell.digest;
    out.recompute_ns = cell.recompute_ns;
    out.quarantined = cell.lifecycle == Lifecycle::quarantined;
    out.taint = cell.taint;
    out.admission = cell.admission;
    out.scope = cell.scope;
    out.allow_list = cell.allow_list;
    out.adjudicated_epoch = cell.adjudicated_epoch;
    out.adjudication = cell.adjudication;
    out.uid = cell.attribution.uid;
    out.engine = cell.attribution.engine;
    out.begun_at = cell.attribution.begun_at;
    out.sealed_at = cell.attribution.sealed_at;
    return out;
}

Server::CellChanges Server::take_cell_changes() {
    for (const CellId cell : registry_.take_changed()) {
        unsaved_cells_.insert(cell);
    }
    CellChanges out;
    for (const CellId id : std::exchange(unsaved_cells_, {})) {
        const Cell* const cell = registry_.find(id);
        if (cell == nullptr) {
            out.gone.push_back(id);
        } else {
            out.put.push_back(record_of(*cell));
        }
    }
    return out;
}

void Server::save_cells_at_the_end() {
    if (cells_being_saved_) {
        save_later(*cells_being_saved_);  // by a worker that may not have come to it
    }
    const CellChanges changes = take_cell_changes();
    if (!changes.put.empty() || !changes.gone.empty()) {
        finish_saving_cells(changes, options_.state->save_cells(changes.put, changes.gone));
    }
}

void Server::reply_when_kept(Session& session, wire::Type type, std::uint64_t cookie,
                             Answer answer) {
    for (const CellId cell : registry_.take_changed()) {
        unsaved_cells_.insert(cell);
    }
    if (unsaved_cells_.empty()) {
        reply(session, type, cookie, std::move(answer));
        return;
    }
    ++session.pending;
    answers_when_kept_.push_back(AnswerWhenKept{session.id, type, cookie, std::move(answer)});
    save_cells();
}

void Server::save_cells() {
    if (saving_) {
        return;  // Who saves now comes here afterwards, and the next tick does.
    }
    auto changes = std::make_shared<CellChanges>(take_cell_changes());
    if (changes->put.empty() && changes->gone.empty()) {
        return;
    }
    auto saved = std::make_shared<Result<void>>();
    const Result<void> accepted =
        workers_->submit([state = options_.state.get(), changes,
                          saved] { *saved = state->save_cells(changes->put, changes->gone); },
                         [this, changes, saved] {
                             saving_ = false;
                             cells_being_saved_.reset();
                             finish_saving_cells(*changes, *saved);
                             start_changes();
                         });
    if (!accepted) {
        save_later(*changes);
        return;
    }
    saving_ = true;
    cells_being_saved_ = changes;
    answers_being_kept_ = std::exchange(answers_when_kept_, {});
}

void Server::save_later(const CellChanges& changes) {
    for (const CellRecord& cell : changes.put) {
        unsaved_cells_.insert(cell.id);
    }
    unsaved_cells_.insert(changes.gone.begin(), changes.gone.end());
}

void Server::finish_saving_cells(const CellChanges& changes, const Result<void>& saved) {
    if (!saved && !std::exchange(saving_cells_failed_, true)) {
        spdlog::error("keeping {} cells failed: {}; it is tried again",
                      changes.put.size() + changes.gone.size(), saved.error().message());
    }
    saving_cells_failed_ = !saved;
    if (!saved) {
        save_later(changes);
    }
    for (AnswerWhenKept& waiting : std::exchange(answers_being_kept_, {})) {
        Session* const session = find(waiting.session);
        if (session == nullptr) {
            continue;
        }
        --session->pending;
        if (!saved) {
            waiting.answer =
                Error{saved.error().code(),
                      "it is done, but not on the disk: after a crash of the daemon it "
                      "would be undone; ask again"};
        }
        reply(*session, waiting.type, waiting.cookie, std::move(waiting.answer));
        if (Session* const there = find(waiting.session)) {
            update_interest(*there);
        }
    }
}

}  // namespace cxlpool
