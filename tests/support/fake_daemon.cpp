#include "support/fake_daemon.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.hpp"
#include "wire/socket.hpp"

namespace cxlpool::test {
namespace {

UniqueFd make_memfd(const char* name, std::uint64_t size) {
    UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    CXLPOOL_CHECK(fd && ::ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
    CXLPOOL_CHECK(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    return fd;
}

UniqueFd reopen(const UniqueFd& fd, int flags) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
    return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
}

template <typename... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

FakeDaemon::FakeDaemon()
    : segment_(make_memfd("fake-segment", kFakeSegmentBytes)),
      board_(make_memfd("fake-board", kFakeLeases * sizeof(std::uint32_t))) {
    greeting.mode = 1;
    greeting.roles = 1;
    greeting.tenant = 1;
    greeting.max_lookup_spans = 512;
    greeting.max_leases = kFakeLeases;
    greeting.max_contexts = 64;
    greeting.lease_ttl_ms = 30'000;
    greeting.max_cell_bytes = kFakeSegmentBytes;

    void* entries = ::mmap(nullptr, kFakeLeases * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                           MAP_SHARED, board_.get(), 0);
    CXLPOOL_CHECK(entries != MAP_FAILED);
    board_entries_ = static_cast<std::uint32_t*>(entries);

    std::string name = "/tmp/cxlpool-fake-XXXXXX";
    CXLPOOL_CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    path_ = directory_ + "/engine.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), std::begin(address.sun_path));
    listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    CXLPOOL_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) ==
                  0);
    CXLPOOL_CHECK(::listen(listener_.get(), 16) == 0);
    acceptor_ = std::thread([this] { accept_all(); });
}

FakeDaemon::~FakeDaemon() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (const UniqueFd& socket : sockets_) {
        ::shutdown(socket.get(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) {
        thread.join();
    }
    ::munmap(board_entries_, kFakeLeases * sizeof(std::uint32_t));
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
}

void FakeDaemon::on(wire::Type type, Override make) {
    const std::lock_guard lock(mutex_);
    overrides_[type] = std::move(make);
}

void FakeDaemon::refuse(wire::Type type, Errc code, std::string text) {
    on(type, [=](const wire::Request& request) {
        return Answer{{encode_refusal(type, request.cookie, code, text)}};
    });
}

void FakeDaemon::as_usual(wire::Type type) {
    const std::lock_guard lock(mutex_);
    overrides_.erase(type);
}

std::vector<wire::Request> FakeDaemon::take_requests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
}

void FakeDaemon::revoke(LeaseRef lease) {
    CXLPOOL_CHECK(lease.index < kFakeLeases);
    __atomic_store_n(board_entries_ + lease.index, 0U, __ATOMIC_RELEASE);
}

std::size_t FakeDaemon::live_leases() const {
    std::size_t live = 0;
    for (std::uint32_t i = 0; i < kFakeLeases; ++i) {
        live += __atomic_load_n(board_entries_ + i, __ATOMIC_ACQUIRE) != 0 ? 1U : 0U;
    }
    return live;
}

UniqueFd FakeDaemon::open_segment(bool writable) const {
    return reopen(segment_, writable ? O_RDWR : O_RDONLY);
}

std::vector<std::byte> FakeDaemon::encode(wire::Type type, std::uint64_t cookie,
                                          wire::ReplyBody body) {
    auto bytes = wire::encode(wire::Reply{type, Errc::ok, cookie, std::move(body)});
    CXLPOOL_CHECK(bytes.has_value());
    return std::move(bytes).value();
}

std::vector<std::byte> FakeDaemon::encode_refusal(wire::Type type, std::uint64_t cookie, Errc code,
                                                  std::string text) {
    auto bytes = wire::encode(wire::Reply{type, code, cookie, wire::ErrorText{std::move(text)}});
    CXLPOOL_CHECK(bytes.has_value());
    return std::move(bytes).value();
}

void FakeDaemon::accept_all() {
    while (true) {
        const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) {
            return;
        }
        sockets_.emplace_back(socket);
        threads_.emplace_back([this, socket] { serve(socket); });
    }
}

void FakeDaemon::serve(int socket) {
    std::vector<std::byte> buffer(wire::kMaxMessageBytes);
    while (true) {
        const auto received = wire::receive(socket, buffer, 0);
        if (!received || received->io != wire::Io::done) {
            return;
        }
        const auto request = wire::decode_request(std::span(buffer).first(received->size));
        CXLPOOL_CHECK(request.has_value());
        const Answer reply = answer(*request);
        for (std::size_t i = 0; i < reply.messages.size(); ++i) {
            const bool last = i + 1 == reply.messages.size();
            const int descriptor = last && reply.descriptor ? reply.descriptor->get() : -1;
            static_cast<void>(wire::send(socket, reply.messages[i], descriptor));
        }
        if (reply.close) {
            ::shutdown(socket, SHUT_RDWR);
            return;
        }
    }
}

Answer FakeDaemon::answer(const wire::Request& request) {
    Override make;
    {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        const auto found = overrides_.find(wire::type_of(request.body));
        if (found != overrides_.end()) {
            make = found->second;
        }
    }
    if (make) {
        if (auto made = make(request)) {
            return *std::move(made);
        }
    }
    return usual_answer(request);
}

Answer FakeDaemon::usual_answer(const wire::Request& request) {
    const std::lock_guard lock(mutex_);
    const wire::Type type = wire::type_of(request.body);
    UniqueFd descriptor;
    wire::ReplyBody body = reply_to(request, descriptor);
    Answer answer;
    if (std::holds_alternative<wire::ErrorText>(body)) {
        answer.messages = {encode_refusal(type, request.cookie, Errc::stale_lease,
                                          std::get<wire::ErrorText>(body).text)};
        return answer;
    }
    answer.messages = {encode(type, request.cookie, std::move(body))};
    answer.descriptor = std::make_shared<UniqueFd>(std::move(descriptor));
    return answer;
}

LeaseRef FakeDaemon::grant() {
    for (std::uint32_t i = 0; i < kFakeLeases; ++i) {
        if (board_entries_[i] == 0) {
            const LeaseRef lease{i, next_generation_++};
            __atomic_store_n(board_entries_ + i, lease.generation, __ATOMIC_RELEASE);
            return lease;
        }
    }
    return {};
}

bool FakeDaemon::is_live(LeaseRef lease) const {
    return lease.index < kFakeLeases && lease.generation != 0 &&
           __atomic_load_n(board_entries_ + lease.index, __ATOMIC_ACQUIRE) == lease.generation;
}

wire::ReplyBody FakeDaemon::reply_to(const wire::Request& request, UniqueFd& descriptor) {
    const wire::ErrorText stale{"the lease is not live"};
    const auto end = [&](LeaseRef lease) -> wire::ReplyBody {
        if (!is_live(lease)) {
            return stale;
        }
        revoke(lease);
        return wire::EmptyReply{};
    };
    return std::visit(
        Overloaded{
            [&](const wire::HelloRequest&) -> wire::ReplyBody {
                descriptor = reopen(board_, O_RDONLY);
                return greeting;
            },
            [&](const wire::ContextRegisterRequest&) -> wire::ReplyBody {
                return wire::ContextRegisterReply{next_context_++};
            },
            [&](const wire::LookupRequest& lookup) -> wire::ReplyBody {
                wire::LookupReply reply;
                for (const SpanDigest& span : lookup.spans) {
                    wire::LookupItem item;
                    const auto found = cells_.find(span);
                    const LeaseRef lease =
                        found != cells_.end() && found->second.sealed ? grant() : LeaseRef{};
                    item.verdict = lease.generation != 0 ? 1 : 16;
                    if (lease.generation != 0) {
                        item.lease = lease;
                        item.segment = kFakeSegment;
                        item.offset_bytes = found->second.offset;
                        item.length_bytes = found->second.length;
                        item.digest.bytes = span.bytes;
                    }
                    reply.items.push_back(item);
                }
                return reply;
            },
            [&](const wire::BeginRequest& begin) -> wire::ReplyBody {
                const LeaseRef lease = grant();
                const std::uint64_t offset = next_offset_;
                next_offset_ += (begin.length_bytes + 4095) / 4096 * 4096;
                cells_[begin.span] = {offset, begin.length_bytes, false};
                fillings_[lease.index] = begin.span;
                return wire::BeginReply{lease, kFakeSegment, offset, begin.length_bytes};
            },
            [&](const wire::MapRequest& map) -> wire::ReplyBody {
                descriptor = open_segment(map.access == wire::MapAccess::write);
                return wire::MapReply{kFakeSegmentBytes, 4096};
            },
            [&](const wire::SealRequest& seal) -> wire::ReplyBody {
                if (!is_live(seal.lease) || fillings_.count(seal.lease.index) == 0) {
                    return stale;
                }
                const SpanDigest span = fillings_.extract(seal.lease.index).mapped();
                cells_[span].sealed = true;
                revoke(seal.lease);
                wire::SealReply reply;
                reply.digest.bytes = span.bytes;
                return reply;
            },
            [&](const wire::ReleaseRequest& release) { return end(release.lease); },
            [&](const wire::RenewRequest& renew) -> wire::ReplyBody {
                return is_live(renew.lease) ? wire::ReplyBody(wire::RenewReply{30'000}) : stale;
            },
            [&](const wire::PlanFleetRequest& plan) -> wire::ReplyBody {
                wire::PlanFleetReply reply;
                reply.holds = 2;
                reply.hosts = plan.hosts == 0 ? plan.tenants : plan.hosts;
                reply.attending_hosts = reply.hosts;
                reply.private_copies = {1, 2, 3, 4, 5};
                reply.copy_only = {6, 7, 8, 9, 10};
                reply.coherent = {11, 12, 13, 14, 15};
                reply.full_pass_ns = 16;
                reply.full_pass_shared_ns = UINT64_MAX;
                reply.seal_writeback_ns = 17;
                reply.reader_invalidate_ns = UINT64_MAX;
                return reply;
            },
            [&](const wire::PlanPlacementRequest& plan) -> wire::ReplyBody {
                wire::PlanPlacementReply reply;
                reply.items.assign(plan.cells.size(), {0, 3, 5, 2, 4, 6, 1, 11, UINT64_MAX});
                reply.items.back() = {static_cast<std::uint16_t>(Errc::wrong_state)};
                return reply;
            },
            [&](const wire::OwnStatisticsRequest&) -> wire::ReplyBody {
                return wire::OwnStatisticsReply{
                    1,
                    2,
                    3,
                    4,
                    5,
                    6,
                    7,
                    8,
                    9,
                    {{2, 10, 0}, {4, 11, 12}},
                    {{static_cast<std::uint16_t>(Errc::capacity), 13}, {999, 14}}};
            },
            [&](const wire::DocumentRequest&) -> wire::ReplyBody {
                return wire::DocumentReply{2, 0, "{}"};
            },
            [&](const wire::DocumentMoreRequest&) -> wire::ReplyBody {
                return wire::DocumentReply{2, 2, ""};
            },
            [&](const wire::ReloadRequest&) -> wire::ReplyBody { return wire::ReloadReply{3}; },
            [&](const auto&) -> wire::ReplyBody { return wire::EmptyReply{}; },
        },
        request.body);
}

}  // namespace cxlpool::test
