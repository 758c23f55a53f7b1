// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// error_feedback.cuh beside error_feedback on the host: the same averages in each step, bit for bit. The
// device is the emulator, whose streams do their work late.
#include "device_vector.hpp"
#include "feedback_steps.hpp"

#include <cmath>
#include <limits>
#include <memory>

namespace error_feedback_cases {

using emulated::device_vector;
using feedback::gradient_of;

namespace {

/// Gradients are written late.
template <class T, class Bound = ccoll::policies::RuntimeBound>
void same_steps(int p, std::size_t n, float special)
{
    INFO(p << " ranks, n " << n << ", " << special);
    const auto write = [](device_vector<T>& to, const std::vector<T>& from, cudaStream_t stream) {
        for (int i = 0; i < 20; ++i) emulator::later(stream, [] {});
        emulator::later(stream, [at = to.address(), from] { std::copy(from.begin(), from.end(), at); });
    };
    CHECK(feedback::steps_that_differ<T, device_vector, Bound>(p, n, special, write) == "");
}

/// What a call says, and whether it fails.
struct told {
    ccoll::status code = ccoll::status::ok;
    std::string text;
};
template <class Call>
told told_by(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        return {e.what_happened().code, e.what()};
    }
    return {};
}
bool has(const told& t, const char* part) { return t.text.find(part) != std::string::npos; }

/// A step in which the n-th call of a kind fails on rank 1, and one after it.
/// @param arm  (faults) -> void
/// @return what the ranks were told
template <class T, class Arm>
std::vector<told> with_trouble(Arm arm)
{
    constexpr int p = 3;
    std::vector<told> all(p);
    const std::string wrong_there = on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
        constexpr std::size_t n = 3000;
        constexpr double bound = 0.3;
        const auto me = static_cast<std::size_t>(comm.rank());
        ccoll::error_feedback<T> host(n);
        ccoll::device_error_feedback<T> device(n);
        std::vector<T> x = gradient_of<T>(n, comm.rank(), 0, 0);
        const std::vector<T> next = gradient_of<T>(n, comm.rank(), 1, 0);
        device_vector<T> y(x), z(next);
        host.average(std::span<T>(x), bound, comm);
        device.average(y.span(), bound, comm);
        if (comm.rank() == 1) arm(emulator::faults);
        all[me] = told_by([&] { device.average(z.span(), bound, comm); });
        emulator::faults = {};
        const cudaError_t left = cudaGetLastError();
        if (left != cudaSuccess && left != cudaErrorNotReady) wrong += "an error is left behind; ";
        // Where the sum has failed on all ranks, it is as if it had never been asked for.
        std::vector<float> failed(1, all[me].code != ccoll::status::ok ? 1.0f : 0.0f);
        ccoll::allreduce<ccoll::policies::Op::Sum>(failed, comm);
        if (failed[0] > 0 && failed[0] < p) return;
        if (failed[0] > 0 && !same_bits(z.values(), next)) wrong += "the gradient has changed; ";
        std::vector<T> w = next;
        if (failed[0] == 0) host.average(std::span<T>(w), bound, comm);
        z.put(next);
        w = next;
        host.average(std::span<T>(w), bound, comm);
        device.average(z.span(), bound, comm);
        if (!same_bits(z.values(), w)) wrong += "other bits afterwards; ";
    });
    CHECK(wrong_there == "");
    return all;
}

/// @return how many calls of this kind rank 1 makes
template <class T, class Arm>
int each_fails(const char* text, Arm arm, int& on_all_ranks)
{
    for (int nth = 0; nth < 200; ++nth) {
        INFO(text << ", number " << nth);
        const std::vector<told> all = with_trouble<T>([&](emulator::injected_faults& f) { arm(f, nth); });
        if (all[1].code == ccoll::status::ok) return nth;
        CHECK(has(all[1], text));
        int failed = 0;
        for (const told& each : all) {
            failed += each.code != ccoll::status::ok;
            if (each.code == ccoll::status::ok) continue;
            CHECK(each.code == ccoll::status::device_failed);
            CHECK(has(each, "rank 1"));
        }
        on_all_ranks += failed == 3;
    }
    return 200;
}

/// A sum that has ended, and counts how often somebody sleeps in it.
class ended_sum final : public ccoll::detail::pending_call {
public:
    explicit ended_sum(int& slept) : slept_(slept) {}
    bool moved() const override { return false; }
    void idle() override { ++slept_; }
    ccoll::detail::resting_place rest() override { return {&slept_}; }
    void abandon() override {}
    void give_up(const ccoll::verdict&) override {}
    const ccoll::detail::outcome& result() const override { return result_; }
    const char* name() const override { return "a sum"; }

private:
    bool advance() override { return true; }
    int& slept_;
    ccoll::detail::outcome result_;
};
/// A memory on a slow device.
struct slow_memory {
    int turns = 5;
    bool under_way_ = false;
    ccoll::status end_step(int, ccoll::report&, const std::uint8_t*) { return ccoll::status::ok; }
    bool has_ended_step(ccoll::status&) { return turns-- == 0; }
    void let_go() noexcept {}
    static const char* explain() { return ""; }
};

}  // namespace

TEST_CASE("Error feedback on a device has the bits of the host in each step", "[cuda]")
{
    for (const int p : {1, 2, 3})
        for (const std::size_t n : {std::size_t{0}, std::size_t{37}, std::size_t{9000}})
            for (const float special : {0.0f, std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
                same_steps<float>(p, n, special);
                same_steps<double>(p, n, special);
                same_steps<ccoll::bfloat16>(p, n, special);
                same_steps<ccoll::half>(p, n, special);
            }
}

TEST_CASE("Error feedback on a device has the bits of the host where that cuts a vector into slices",
          "[cuda]")
{
    same_steps<float>(2, 70001, 0);
    same_steps<ccoll::bfloat16>(2, 70001, 0);
}

TEST_CASE("Error feedback with blocks on a device has the bits of the host in each step", "[cuda]")
{
    using namespace ccoll::policies;
    for (const int p : {1, 3})
        for (const std::size_t n : {std::size_t{0}, std::size_t{37}, std::size_t{70001}})
            for (const float special : {0.0f, std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
                same_steps<float, FixedBits<4, Block<64>>>(p, n, special);
                if (n < 100) same_steps<ccoll::bfloat16, FixedBits<3, Block<32>>>(p, n, special);
                if (n < 100) same_steps<ccoll::half, FixedBits<5, Block<4096>>>(p, n, special);
            }
}

TEST_CASE("Error feedback on a device keeps nothing of a step in which a slice was reduced exactly", "[cuda]")
{
    CHECK(on_ranks(2, [&](ccoll::threads_comm& comm, std::string& wrong) {
              constexpr std::size_t slice = ccoll::detail::device::slice_elements, n = slice + 600;
              std::vector<float> x(n, 0.01f);  // all of which a bound of 0.1 cuts off
              // More different values beyond 2^45 steps than an addend holds, on one of the ranks.
              if (comm.rank() == 1)
                  for (std::size_t i = slice; i < n; ++i) x[i] = 1e30f * static_cast<float>(i - slice + 1);
              device_vector<float> y(x);
              ccoll::device_error_feedback<float> feedback(n);
              const ccoll::report facts = feedback.average(y.span(), 0.1, comm);
              if (facts.exact || facts.fallback_blocks == 0) wrong += "no slice, or all, were exact; ";
              y.put(std::vector<float>(n));
              feedback.average(y.span(), 1e-3, comm);
              if (y.values() != std::vector<float>(n)) wrong += "it was kept; ";
          }) == "");
}

TEST_CASE("Error feedback on a device: one call at a time, and of the length that it was made for", "[cuda]")
{
    CHECK(on_ranks(2, [&](ccoll::threads_comm& comm, std::string& wrong) {
              constexpr std::size_t n = 500;
              ccoll::device_error_feedback<float> feedback(n);
              device_vector<float> x(gradient_of<float>(n, comm.rank(), 0, 0)), y(n), shorter(n - 1);
              ccoll::request first = feedback.iaverage(x.span(), 0.1, comm);
              const auto trouble_of = [&](device_vector<float>& v) {
                  return told_by([&] { feedback.average(v.span(), 0.1, comm); }).code;
              };
              if (trouble_of(y) != ccoll::status::out_of_turn) wrong += "two at once; ";
              first.wait();
              if (trouble_of(shorter) != ccoll::status::size_mismatch) wrong += "another length; ";
              feedback.average(x.span(), 0.1, comm);
          }) == "");
}

TEST_CASE("Several vectors on a device may be under way, and are waited for in any order", "[cuda]")
{
    CHECK(on_ranks(3, [&](ccoll::threads_comm& comm, std::string& wrong) {
              using T = ccoll::bfloat16;
              constexpr std::size_t lengths[] = {5000, 1, 20000};
              std::vector<std::unique_ptr<ccoll::error_feedback<T>>> host;
              std::vector<std::unique_ptr<ccoll::device_error_feedback<T>>> device;
              for (const std::size_t n : lengths) {
                  host.push_back(std::make_unique<ccoll::error_feedback<T>>(n));
                  device.push_back(std::make_unique<ccoll::device_error_feedback<T>>(n));
              }
              for (int step = 0; step < 3; ++step) {
                  std::vector<std::vector<T>> x;
                  std::vector<std::unique_ptr<device_vector<T>>> y;
                  std::vector<ccoll::request> open;
                  for (std::size_t v = 0; v < 3; ++v) {
                      x.push_back(gradient_of<T>(lengths[v], comm.rank(), 3 * step + static_cast<int>(v), 0));
                      y.push_back(std::make_unique<device_vector<T>>(x[v]));
                      open.push_back(device[v]->iaverage(y[v]->span(), 0.2, comm));
                  }
                  const auto turn = static_cast<std::size_t>(comm.rank() + step);
                  for (std::size_t v = 0; v < 3; ++v) open[(v + turn) % 3].wait();
                  for (std::size_t v = 0; v < 3; ++v) {
                      host[v]->average(std::span<T>(x[v]), 0.2, comm);
                      if (!same_bits(y[v]->values(), x[v])) wrong += "vector " + std::to_string(v) + "; ";
                  }
              }
          }) == "");
}

TEST_CASE("A call on a device that fails changes nothing, and nothing uses the gradient after it", "[cuda]")
{
    CHECK(on_ranks(3, [&](ccoll::threads_comm& comm, std::string& wrong) {
              constexpr std::size_t n = 2000;
              constexpr double bound = 0.7;
              ccoll::device_error_feedback<float> with(n);
              ccoll::error_feedback<float> without(n);
              cudaStream_t s = nullptr;
              cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
              for (int step = 0; step < 8; ++step) {
                  std::vector<float> expected = gradient_of<float>(n, comm.rank(), step, 0);
                  const std::vector<float> given = expected;
                  device_vector<float> x(given);
                  bool begun = false;
                  for (int i = 0; i < 50; ++i) emulator::later(s, [] {});
                  emulator::later(s, [&] { begun = true; });
                  std::error_code code;
                  auto other = ccoll::status::bound_differs;
                  if (step % 2 == 0) {
                      const double one_differs = comm.rank() == 1 ? 2 * bound : bound;
                      with.iaverage(x.span(), one_differs, comm, s).wait(code);
                  } else {  // the others begin only when rank 1 has dropped its request
                      std::vector<float> dropped{1};
                      other = ccoll::status::abandoned;
                      if (comm.rank() == 1) {
                          static_cast<void>(with.iaverage(x.span(), bound, comm, s));
                          for (const int peer : {0, 2}) ccoll::send(dropped, peer, 0, comm);
                          code = make_error_code(other);
                      } else {
                          ccoll::recv(dropped, 1, 0, comm);
                          with.iaverage(x.span(), bound, comm, s).wait(code);
                      }
                  }
                  if (code != other) wrong += "it does not fail; ";
                  if (!begun) wrong += "what reads the gradient is under way; ";
                  if (!same_bits(x.values(), given)) wrong += "the gradient; ";
                  with.average(x.span(), bound, comm, s);
                  without.average(std::span<float>(expected), bound, comm);
                  if (!same_bits(x.values(), expected)) wrong += "step " + std::to_string(step) + "; ";
              }
              cudaStreamDestroy(s);
          }) == "");
}

TEST_CASE("What a device refuses of error feedback is told to the other ranks", "[cuda][errors]")
{
    int on_all = 0;
    CHECK(each_fails<float>(
              "cudaErrorLaunchOutOfResources",
              [](emulator::injected_faults& f, long nth) { f.launches = nth; }, on_all) > 5);
    CHECK(on_all >= 4);  // all that a step begins before its sum
    on_all = 0;
    CHECK(each_fails<ccoll::half>(
              "cudaErrorLaunchOutOfResources",
              [](emulator::injected_faults& f, long nth) { f.launches = nth; }, on_all) > 7);
    CHECK(on_all >= 4);
    on_all = 0;
    CHECK(each_fails<float>(
              "cudaErrorInvalidValue", [](emulator::injected_faults& f, long nth) { f.records = nth; },
              on_all) > 2);
    CHECK(on_all >= 2);  // in front of the step, and of its sum
    CHECK(each_fails<float>(
              "cudaErrorInvalidValue", [](emulator::injected_faults& f, long nth) { f.copies = nth; },
              on_all) > 1);
}

TEST_CASE("A kernel of error feedback that fails while it runs is an error of its rank", "[cuda][errors]")
{
    const std::vector<told> all = with_trouble<float>([](emulator::injected_faults& f) { f.kernels = 0; });
    CHECK(all[1].code == ccoll::status::device_failed);
    CHECK(has(all[1], "cudaErrorLaunchFailure"));
    CHECK(has(all[1], "rank 1"));
}

TEST_CASE("Error feedback on a device refuses memory of the host, and streams that are captured",
          "[cuda][errors]")
{
    CHECK(on_ranks(3, [&](ccoll::threads_comm& comm, std::string& wrong) {
              constexpr std::size_t n = 600;
              const bool mine = comm.rank() == 1;
              ccoll::device_error_feedback<float> feedback(n);
              std::vector<float> host(n);
              const device_vector<float> x(n, 1);
              const told of_host = told_by([&] {
                  feedback.average(mine ? ccoll::device_span<float>(host.data(), n) : x.span(), 0.1, comm);
              });
              cudaStream_t s = nullptr;
              cudaStreamCreateWithFlags(&s, cudaStreamDefault);
              s->capturing = mine;
              const told of_graph = told_by([&] { feedback.average(x.span(), 0.1, comm, s); });
              cudaStreamDestroy(s);
              for (const told& each : {of_host, of_graph})
                  if (each.code != ccoll::status::device_failed || !has(each, "rank 1"))
                      wrong += "said: '" + each.text + "'; ";
              if (mine && !has(of_host, "memory of the host")) wrong += of_host.text;
              if (mine && !has(of_graph, "graph")) wrong += of_graph.text;
              feedback.average(x.span(), 0.1, comm);
              for (const float v : x.values())
                  if (std::fabs(v - 1) > 0.1f) wrong += "the next call; ";
          }) == "");
}

TEST_CASE("Memory that a device does not have is an error of the constructor, which leaves none behind",
          "[cuda][errors]")
{
    emulator::devices& all = emulator::devices::all();
    cudaDeviceSynchronize();
    const std::size_t before = all.memory.size();
    int refused = 0;
    for (long nth = 0; nth < 20; ++nth) {
        emulator::faults.allocations = nth;
        const told t = told_by([] { const ccoll::device_error_feedback<float> feedback(1000); });
        refused += t.code == ccoll::status::device_failed;
        CHECK((t.code == ccoll::status::ok || has(t, "out of memory")));
        emulator::faults = {};
        cudaDeviceSynchronize();
        CHECK(all.memory.size() == before);
    }
    CHECK(refused == 6);
}

TEST_CASE("While a device stores an average no rank sleeps in its transport", "[cuda]")
{
    int slept = 0;
    slow_memory memory;
    ccoll::detail::feedback_call<slow_memory, int> call(memory, 0, std::make_unique<ended_sum>(slept),
                                                        ccoll::status::ok, 0);
    CHECK(call.rest().where != nullptr);
    CHECK(!call.progress());
    CHECK(call.rest().where == nullptr);
    ccoll::detail::complete(call);
    CHECK(slept == 0);
    CHECK(memory.turns < 0);
    CHECK(!memory.under_way_);
}

}  // namespace error_feedback_cases
