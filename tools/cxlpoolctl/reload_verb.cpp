// cxlpoolctl reload
#include <ostream>

#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {
namespace {

// Is it the file that is wrong? Then it is a bad configuration, as for cxlpoold itself.
bool is_wrong_file(Errc code) {
    return code == Errc::malformed || code == Errc::overflow || code == Errc::too_large ||
           code == Errc::tenancy_unset;
}

}  // namespace

OptionSet reload_options() {
    OptionSet set("reload [OPTION...]",
                  "The running daemon reads its configuration again and takes it on whole, or says "
                  "why not\nand changes nothing. It takes the role admin.");
    add_socket_option(set);
    return set;
}

int run_reload(const OptionValues& values, Streams& streams) {
    const Result<std::uint32_t> closed = reload(values);
    if (!closed) {
        return is_wrong_file(closed.error().code()) ? fail(streams, closed.error(), kExitUsage)
                                                    : daemon_failure(streams, closed.error());
    }
    streams.out << "reloaded";
    if (*closed != 0) {
        streams.out << "; connections closed: " << *closed;
    }
    streams.out << '\n';
    return kExitOk;
}

}  // namespace cxlpool::ctl
