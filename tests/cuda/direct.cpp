// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Transport::Direct: messages in the memory of the device. Every collective, algorithm and placement gives
// the bits of host buffers. The device is the emulator.
#include "device_vector.hpp"
#include "emulated.hpp"
#include "far_cases_on_device.hpp"

#include <random>
#include <string>

namespace direct_cases {

/// Elements on the device, whose messages are there, too, also in calls without Transport::Direct.
template <class T>
struct direct_vector : emulated::device_vector<T> {
    using emulated::device_vector<T>::device_vector;
};

}  // namespace direct_cases

template <class T>
struct ccoll::buffer_traits<direct_cases::direct_vector<T>> : buffer_traits<emulated::device_vector<T>> {
    using space = detail::direct<cuda_space>;
};
template <class T>
struct ccoll::buffer_traits<const direct_cases::direct_vector<T>>
    : buffer_traits<const emulated::device_vector<T>> {
    using space = detail::direct<cuda_space>;
};

namespace direct_cases {

using emulated::device_vector;
using namespace ccoll::policies;
using E = ErrorBound<1e-3>;

TEST_CASE("Direct: every collective, algorithm and placement gives the bits of host buffers",
          "[cuda][direct]")
{
    check_far_cases<direct_vector>();
}

TEST_CASE("Direct: the report says where messages were, and what has no kernel is staged", "[cuda][direct]")
{
    CHECK(on_ranks(3, [](ccoll::threads_comm& comm, std::string& wrong) {
              constexpr std::size_t n = 40000;
              const std::vector<float> x = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()) + 1);
              const device_vector<float> in(x);
              device_vector<float> out(n);
              std::vector<float> expected(n);
              const auto check = [&]<class... P>(const char* what, bool direct, ccoll::Plan<P...>) {
                  ccoll::allreduce<P...>(x, expected, comm);
                  const ccoll::report r = ccoll::allreduce<P..., Transport::Direct>(in, out, comm);
                  if (out.values() != expected) wrong += std::string(what) + ": other values; ";
                  if (r.direct != direct) wrong += std::string(what) + ": another way; ";
              };
              check("SZp", true, ccoll::Plan<Algo::Ring, Codec::SZp, E>());
              check("SZx", true, ccoll::Plan<Algo::Rabenseifner, Codec::SZx, E>());
              check("None", true, ccoll::Plan<Algo::Ring>());
              check("Lossless", false, ccoll::Plan<Algo::Ring, Codec::Lossless>());
              check("Prod", true, ccoll::Plan<Algo::Ring, Op::Prod>());
              const ccoll::report staged = ccoll::allreduce<Codec::SZp, E>(in, out, comm);
              if (staged.direct) wrong += "direct by default; ";
              const ccoll::report pairs = ccoll::sendrecv<Codec::SZp, E, Transport::Direct>(
                  in, comm.rank(), out, comm.rank(), 1, comm);
              if (!pairs.direct) wrong += "sendrecv: staged; ";
          }) == "");
}

TEST_CASE("Direct: trouble of a device reaches all ranks with CUDA's text, and the next call works",
          "[cuda][direct]")
{
    struct mistake {
        const char* what;
        long emulator::injected_faults::* which;
        long when;
    };
    for (const mistake& m : {mistake{"copies", &emulator::injected_faults::copies, 0},
                             mistake{"copies", &emulator::injected_faults::copies, 1},
                             mistake{"launches", &emulator::injected_faults::launches, 0},
                             mistake{"launches", &emulator::injected_faults::launches, 1},
                             mistake{"launches", &emulator::injected_faults::launches, 2}}) {
        INFO(m.what << " " << m.when);
        CHECK(on_ranks(3, [&m](ccoll::threads_comm& comm, std::string& wrong) {
                  constexpr std::size_t n = 30000;
                  const device_vector<float> in(fields::smooth<float>(n));
                  device_vector<float> out(n);
                  using plan = ccoll::Plan<Algo::Ring, Codec::SZp, E, Transport::Direct, Check::Collective>;
                  ccoll::allreduce<plan>(in, out, comm);
                  const std::vector<float> expected = out.values();
                  if (comm.rank() == 1) emulator::faults.*m.which = m.when;
                  try {
                      ccoll::allreduce<plan>(in, out, comm);
                      wrong += "no error; ";
                  } catch (const ccoll::error& e) {
                      const ccoll::status code = e.what_happened().code;
                      if (code != ccoll::status::device_failed && code != ccoll::status::transport_failed)
                          wrong += e.what();
                  }
                  emulator::faults.*m.which = -1;
                  ccoll::allreduce<plan>(in, out, comm);
                  if (out.values() != expected) wrong += "afterwards; ";
              }) == "");
    }
}

TEST_CASE("Direct: the kernel that fetches heads copies them and nothing else, whatever the message is",
          "[cuda][direct]")
{
    using namespace ccoll::detail::device;
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        // A stamp, and frames of several lengths one after another.
        std::vector<std::byte> message(48, std::byte{1});
        std::vector<std::pair<std::size_t, std::size_t>> heads;  // where each begins, and its bytes
        const auto frames = static_cast<unsigned>(1 + random() % 3);
        for (unsigned f = 0; f < frames; ++f) {
            const std::vector<float> x = fields::smooth<float>(random() % 20000, f + 1);
            std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec::SZp, float>(x.size()));
            frame.resize(ccoll::encode<Codec::SZp>(x, frame, 1e-3).bytes);
            heads.emplace_back(message.size(), ccoll::payload_offset((x.size() + 8191) / 8192));
            message.insert(message.end(), frame.begin(), frame.end());
        }
        if (round % 3 == 1)
            message[48 + random() % (message.size() - 48)] ^=
                std::byte{static_cast<unsigned char>(1 + random() % 255)};
        if (round % 3 == 2) message.resize(random() % message.size());
        emulated::exact_memory on_device{ccoll::const_byte_span(message)}, host(message.size() + 96);
        emulator::launch({static_cast<std::uint64_t>(round)}, 1, team_threads, 0, [&] {
            fetch_heads<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(on_device.data()), message.size(),
                                      reinterpret_cast<std::uint8_t*>(host.data()), frames);
        });
        const ccoll::byte_span fetched = host.span();
        INFO("round " << round);
        for (std::size_t i = 0; i < std::min<std::size_t>(96, message.size()); ++i)
            REQUIRE(fetched[i] == message[i]);
        for (std::size_t i = message.size(); i < fetched.size(); ++i) REQUIRE(fetched[i] == std::byte{0x5a});
        if (round % 3 != 0) continue;
        std::vector<std::byte> expected(fetched.size(), std::byte{0x5a});
        for (std::size_t i = 0; i < 96; ++i) expected[i] = message[i];
        for (const auto& [from, bytes] : heads)
            for (std::size_t i = from; i < from + bytes; ++i) expected[i] = message[i];
        CHECK(std::equal(expected.begin(), expected.end(), fetched.begin()));
    }
}

}  // namespace direct_cases
