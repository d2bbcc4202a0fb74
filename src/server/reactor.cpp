#include "server/reactor.hpp"

#include <utility>

#include "server/reactor_loop.hpp"

namespace cxlpool {

Result<ReactorKind> parse_reactor_kind(std::string_view word) {
    if (word == "auto") {
        return ReactorKind::automatic;
    }
    if (word == "io_uring") {
        return ReactorKind::io_uring;
    }
    if (word == "poll") {
        return ReactorKind::poll;
    }
    return Error{Errc::unknown_word,
                 "'" + std::string(word) + "' is no reactor: known are auto, io_uring, poll"};
}

Result<std::unique_ptr<Reactor>> make_reactor_with(ReactorKind kind, std::string* why_not,
                                                   const UringOptions& options) {
    if (why_not != nullptr) {
        why_not->clear();
    }
    if (kind == ReactorKind::poll) {
        return make_poll_reactor();
    }
    Result<std::unique_ptr<Reactor>> reactor = make_uring_reactor(options);
    if (reactor || kind == ReactorKind::io_uring || reactor.error().code() != Errc::unavailable) {
        return reactor;
    }
    if (why_not != nullptr) {
        *why_not = reactor.error().message();
    }
    return make_poll_reactor();
}

Result<std::unique_ptr<Reactor>> make_reactor(ReactorKind kind, std::string* why_not) {
    return make_reactor_with(kind, why_not, UringOptions{});
}

}  // namespace cxlpool
