// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// What CUDA refuses, on one rank: an error on all ranks that names the call; on that rank also CUDA's text.
// Nothing is left behind.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"

#include <string>

namespace errors_cases {

using namespace ccoll::policies;
using emulated::device_vector;
using E = ErrorBound<1e-3>;
using floats = std::vector<float>;

namespace {

constexpr int p = 3, unlucky = 1;

struct told {
    std::string text;
    ccoll::status code = ccoll::status::ok;
};

/// One call in which `arm` prepares trouble on rank 1, and the same call again.
/// @return what each rank was told by the first
template <class Arm, class Call>
std::vector<told> with_trouble(std::size_t n, Arm arm, Call call)
{
    std::vector<told> all(p);
    const std::string differs = on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
        const floats x = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
        floats expected(n);
        call(x, expected, comm);
        const device_vector<float> in(x);
        device_vector<float> out(n);
        told& mine = all[static_cast<std::size_t>(comm.rank())];
        if (comm.rank() == unlucky) arm(emulator::faults);
        try {
            call(in, out, comm);
        } catch (const ccoll::error& e) {
            mine = {e.what(), e.what_happened().code};
        }
        emulator::faults = {};
        const cudaError_t left = cudaGetLastError();
        if (left != cudaSuccess && left != cudaErrorNotReady) wrong += "an error is left behind; ";
        if (mine.code == ccoll::status::ok && out.values() != expected)
            wrong += "no error, and other values; ";
        call(in, out, comm);
        if (out.values() != expected) wrong += "other values afterwards; ";
    });
    CHECK(differs == "");
    return all;
}
// Trouble with the last piece of a result is heard by the others only if ranks compare at the end.
constexpr auto sum = [](const auto& x, auto& y, auto& comm) {
    ccoll::allreduce<Algo::Ring, Codec::SZp, E, Check::Collective>(x, y, comm);
};
/// Ranks 0 and 1 share a node. Input is looked at, and the sum is divided.
constexpr auto average_on_two_levels = [](const auto& x, auto& y, auto& comm) {
    ccoll::set_nodes(comm, std::vector<int>{0, 0, 1});
    ccoll::allreduce<Algo::Hierarchical<Algo::Binomial, Algo::Ring>, Codec::SZp, RelativeBound<1e-3>,
                     Op::Average, Check::Collective>(x, y, comm);
};

/// The n-th call of a kind fails, for all n until none is left. @return how many there were
template <class Arm, class Call = decltype(sum)>
int each_fails(const char* what, const std::string& text, Arm arm, Call call = sum)
{
    for (int nth = 0; nth < 200; ++nth) {
        INFO(what << " " << nth);
        const std::vector<told> all =
            with_trouble(3000, [&](emulator::injected_faults& f) { arm(f, nth); }, call);
        const bool failed = all[unlucky].code != ccoll::status::ok;
        for (const told& each : all) {
            CHECK((each.code != ccoll::status::ok) == failed);
            if (!failed) continue;
            CHECK(each.code == ccoll::status::device_failed);
            CHECK(each.text.find("ccoll::allreduce") == 0);
            CHECK(each.text.find("rank 1") != std::string::npos);
        }
        if (!failed) return nth;
        INFO(all[unlucky].text);
        CHECK(all[unlucky].text.find(text) != std::string::npos);
    }
    return 200;
}

}  // namespace

TEST_CASE("Device memory that is not there is an error on all ranks", "[cuda][errors]")
{
    const auto arm = [](emulator::injected_faults& f, long nth) { f.allocations = nth; };
    CHECK(each_fails("allocation", "cudaErrorMemoryAllocation: out of memory", arm) > 3);
}

TEST_CASE("A launch that fails is an error on all ranks", "[cuda][errors]")
{
    const auto arm = [](emulator::injected_faults& f, long nth) { f.launches = nth; };
    CHECK(each_fails("launch", "cudaErrorLaunchOutOfResources: too many resources requested for launch",
                     arm) > 2);
}

TEST_CASE("A copy or an event that fails is an error on all ranks", "[cuda][errors]")
{
    CHECK(each_fails("copy", "cudaErrorInvalidValue: invalid argument",
                     [](emulator::injected_faults& f, long nth) { f.copies = nth; }) > 2);
    CHECK(each_fails("record", "cudaErrorInvalidValue: invalid argument",
                     [](emulator::injected_faults& f, long nth) { f.records = nth; }) > 2);
}

TEST_CASE("A launch or a copy that fails on two levels is an error on all ranks", "[cuda][errors]")
{
    CHECK(each_fails(
              "launch", "cudaErrorLaunchOutOfResources: too many resources requested for launch",
              [](emulator::injected_faults& f, long nth) { f.launches = nth; }, average_on_two_levels) > 2);
    CHECK(each_fails(
              "copy", "cudaErrorInvalidValue: invalid argument",
              [](emulator::injected_faults& f, long nth) { f.copies = nth; }, average_on_two_levels) > 0);
}

TEST_CASE("Memory that the device does not have is named before anything moves", "[cuda][errors]")
{
    const std::string differs = on_ranks(p, [](ccoll::threads_comm& comm, std::string& wrong) {
        constexpr std::size_t n = 400000;  // long enough that ranks compare their arguments
        floats host(n);
        device_vector<float> in(n, 1), out(n);
        const bool mine = comm.rank() == unlucky;
        const auto says = [&](auto call) {
            try {
                call();
            } catch (const ccoll::error& e) {
                return std::string(e.what());
            }
            return std::string();
        };
        const std::string of_host = says([&] {
            ccoll::allreduce<Algo::Ring>(in.span(),
                                         mine ? ccoll::device_span<float>(host.data(), n) : out.span(), comm);
        });
        if (mine && cudaSetDevice(1) != cudaSuccess) wrong += "there is no second device; ";
        const std::string of_another =
            says([&] { ccoll::allreduce<Algo::Ring>(in.span(), out.span(), comm); });
        if (cudaSetDevice(0) != cudaSuccess) wrong += "there is no device; ";
        const std::string of_pair =
            mine ? says([&] { ccoll::send(ccoll::device_span<float>(host.data(), n), 0, 1, comm); }) : "";
        cudaStream_t s = nullptr;
        cudaStreamCreateWithFlags(&s, cudaStreamDefault);
        s->capturing = mine;
        const std::string of_graph =
            says([&] { ccoll::allreduce<Algo::Ring>(in.span(), out.span(), comm, s); });
        cudaStreamDestroy(s);
        const std::string nothing = says([&] { ccoll::allreduce<Algo::Ring>(in.span(), out.span(), comm); });
        const auto has = [&](const std::string& text, const std::string& part) {
            if (text.find(part) == std::string::npos) wrong += "'" + text + "' does not say '" + part + "'; ";
        };
        for (const std::string& each : {of_host, of_another, of_graph}) {
            if (each.find("ccoll::allreduce: a device could not do its work") != 0)
                wrong += "it begins: " + each;
            has(each, "(seen on rank 1)");
        }
        if (nothing != "" || out.values() != floats(n, p)) wrong += "the next call does not work; ";
        if (!mine) return;
        has(of_host, "memory of the host");
        has(of_another, "another device");
        has(of_graph, "graph");
        if (of_pair.find("ccoll::send: a device could not do its work") != 0)
            wrong += "it begins: " + of_pair;
        has(of_pair, "memory of the host");
    });
    CHECK(differs == "");
}

TEST_CASE("A kernel that fails while it runs is an error on all ranks", "[cuda][errors]")
{
    const std::string differs = on_ranks(p, [](ccoll::threads_comm& comm, std::string& wrong) {
        constexpr std::size_t n = 3000;
        const device_vector<float> in(fields::smooth<float>(n));
        device_vector<float> out(n);
        if (comm.rank() == unlucky) emulator::faults.kernels = 0;
        std::string text;
        try {
            ccoll::allreduce<Algo::Ring, Codec::SZp, E>(in, out, comm);
        } catch (const ccoll::error& e) {
            text = e.what();
        }
        emulator::faults = {};
        const bool names_the_call = text.find("ccoll::allreduce: a device could not do its work") == 0;
        const bool has_words =
            text.find("cudaErrorLaunchFailure: unspecified launch failure") != std::string::npos;
        if (!names_the_call || (comm.rank() == unlucky && !has_words)) wrong += "said: '" + text + "'; ";
    });
    CHECK(differs == "");
}

}  // namespace errors_cases
