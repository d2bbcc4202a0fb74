// Puts the devices of several listings together. Internal to captured.
//
// A tool prints one device in several places (nested below its port and flat), and two listings
// overlap. Copies that agree are one device, with what each of them knows; copies that disagree
// are an error.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "topology/captured/fields.hpp"
#include "topology/topology.hpp"

namespace cxlpool::captured {

// Far above any machine (CXL minor numbers end at 65,536), and small enough that comparing devices
// with each other stays quick.
inline constexpr std::size_t kMostDevices = 16384;

class Collector {
  public:
    void add(Source& source, const json::Value& at, Memdev device);
    void add(Source& source, const json::Value& at, Port device);
    void add(Source& source, const json::Value& at, Decoder device);
    void add(Source& source, const json::Value& at, Region device);
    void add(Source& source, const json::Value& at, DaxDevice device);
    // The same finding twice is one.
    void add(Finding finding);

    Topology take() { return std::move(topology_); }

  private:
    template <typename Device>
    void add_to(std::vector<Device>& devices, Source& source, const json::Value& at, Device device,
                std::string_view kind);

    Topology topology_;
    std::unordered_map<std::string, std::size_t> places_;  // "memdev mem0" to its index
    std::set<std::tuple<std::string, std::string, std::string>> findings_;
};

}  // namespace cxlpool::captured
