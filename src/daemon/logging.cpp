#include "daemon/logging.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

namespace cxlpool {
namespace {

// sd-daemon(3): "<N>" at the start of a line is its syslog priority.
class PriorityFlag final : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&,
                spdlog::memory_buf_t& out) override {
        char digit = '6';
        switch (message.level) {
            case spdlog::level::trace:
            case spdlog::level::debug:
                digit = '7';
                break;
            case spdlog::level::warn:
                digit = '4';
                break;
            case spdlog::level::err:
                digit = '3';
                break;
            case spdlog::level::critical:
                digit = '2';
                break;
            default:
                break;
        }
        const char text[] = {'<', digit, '>'};
        out.append(text, text + sizeof text);
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
        return std::make_unique<PriorityFlag>();
    }
};

}  // namespace

void start_logging(const std::string& level) {
    auto logger = std::make_shared<spdlog::logger>(
        "cxlpoold", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    if (std::getenv("JOURNAL_STREAM") != nullptr) {
        formatter->add_flag<PriorityFlag>('*').set_pattern("%*%v");
    } else {
        formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    }
    logger->set_formatter(std::move(formatter));
    logger->set_level(spdlog::level::from_str(level));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

void set_log_level(const std::string& level) {
    spdlog::default_logger_raw()->set_level(spdlog::level::from_str(level));
}

}  // namespace cxlpool
