// Value-or-error, with a chain of context.
//
// Responsible for: carrying an expected failure from where it happened to who can act on it.
// Invariants: a Result holds exactly one of a value and an Error; asking for the wrong one is a
// broken invariant and aborts, in release builds too. Both classes are [[nodiscard]].
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/errc.hpp"

namespace cxlpool {

class [[nodiscard]] Error {
  public:
    // `message` says what is wrong, with the value and the remedy, without a trailing full stop.
    // `os_errno` is the errno behind it, or 0.
    Error(Errc code, std::string message, int os_errno = 0)
        : code_(code), os_errno_(os_errno), message_(std::move(message)) {}

    Errc code() const noexcept { return code_; }
    int os_errno() const noexcept { return os_errno_; }
    const std::string& message() const noexcept { return message_; }

    // Puts what was being done in front: "opening pool 'cxl0': ...". The code stays.
    Error with_context(std::string_view doing) && {
        message_.insert(0, ": ").insert(0, doing);
        return std::move(*this);
    }

  private:
    Errc code_;
    int os_errno_;
    std::string message_;
};

// An Error whose message ends in the text of `os_errno` ("...: Permission denied (EACCES)").
Error os_error(std::string message, int os_errno, Errc code = Errc::io);

template <typename T>
class [[nodiscard]] Result {
  public:
    // Holds T{}, made where it is: for values that take time to move.
    explicit Result(std::in_place_t) : state_(std::in_place_index<0>) {}
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T& value() & {
        CXLPOOL_CHECK(has_value());
        return std::get<0>(state_);
    }
    const T& value() const& {
        CXLPOOL_CHECK(has_value());
        return std::get<0>(state_);
    }
    T&& value() && {
        CXLPOOL_CHECK(has_value());
        return std::get<0>(std::move(state_));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const& {
        CXLPOOL_CHECK(!has_value());
        return std::get<1>(state_);
    }
    Error&& error() && {
        CXLPOOL_CHECK(!has_value());
        return std::get<1>(std::move(state_));
    }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    const Error& error() const& {
        CXLPOOL_CHECK(error_.has_value());
        return *error_;
    }
    Error&& error() && {
        CXLPOOL_CHECK(error_.has_value());
        return std::move(*error_);
    }

  private:
    std::optional<Error> error_;
};

}  // namespace cxlpool

// Returns the Error of `expression` from the enclosing function, or goes on.
#define CXLPOOL_TRY(expression)                            \
    do {                                                   \
        auto cxlpool_try_result_ = (expression);           \
        if (!cxlpool_try_result_) {                        \
            return std::move(cxlpool_try_result_).error(); \
        }                                                  \
    } while (false)
