// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// modelled.hpp - collectives as the cost model (tune/cost_model.hpp) sees them: the work of their schedules,
// and codecs that are measured for a moment on the data at hand. For model.cpp and model_lab.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/tune/cost_model.hpp>

#include "fields.hpp"

namespace modelled {

using namespace ccoll::tune;
using floats = std::vector<float>;

enum class coding { none, szp, pipe_szx };

/// A collective with an algorithm and a codec.
struct plan {
    const char* operation;
    const char* algorithm;
    coding codec;
    ccoll::schedule path;
    ccoll::block_set (*after)(int me, int root, int blocks);
    ccoll::placement_rules rules;
    bool reduces;

    schedule_work work(int p) const { return work_of(path, after, rules, p, 0); }
    std::size_t chunk() const
    {
        using namespace ccoll;
        return codec == coding::none ? codec_impl<policies::Codec::None, float, host_space>::chunk_elements
               : codec == coding::szp
                   ? codec_impl<policies::Codec::SZp, float, host_space>::chunk_elements
                   : codec_impl<policies::Codec::PipeSZx, float, host_space>::chunk_elements;
    }
    slicing cut(std::size_t n, int p) const
    {
        return usual_slicing(n, sizeof(float), chunk(), path.blocks(p), path.widest(p));
    }
    std::string codec_name() const
    {
        return codec == coding::none ? "None" : codec == coding::szp ? "SZp" : "PipeSZx";
    }
};

/// A plan of the library, with the placement that it would take by default.
template <class Collective, class Algo>
constexpr plan plan_of(coding codec)
{
    const bool adds = Collective::reduces && codec == coding::szp;
    return {Collective::name,
            Algo::name,
            codec,
            ccoll::schedule_view<ccoll::schedule_for<Algo, Collective>>,
            &Collective::after,
            adds ? ccoll::placement_rules{"Homomorphic", true, true} : ccoll::decode_reduce_encode,
            Collective::reduces};
}

/// What a codec takes for a value of this field, and how many bits.
struct codec_figures {
    codec_model one;             ///< a vector that is only moved; adding: two addends
    std::vector<double> summed;  ///< bits of a sum of k addends, from k = 1 on
    /// Bits of a sum of as many addends: what further doublings add is as much as the last one did.
    double bits(double addends) const
    {
        if (summed.size() < 2) return one.bits_per_element;
        const double at = std::log2(addends), last = std::log2(static_cast<double>(summed.size()));
        const auto of = [&](double doublings) {
            return summed[static_cast<std::size_t>(std::lround(std::exp2(doublings))) - 1];
        };
        if (at >= last) return of(last) + (at - last) * (of(last) - of(last - 1));
        const double low = std::floor(at);
        return of(low) + (at - low) * (of(low + 1) - of(low));
    }
};

inline double best_of(int times, auto work)
{
    double best = 1e9;
    for (int i = 0; i < times; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
}

/// @param field  (n, seed) -> values: each rank has another seed
/// @param addends  a power of two: so many are added for `summed`
template <class Field>
codec_figures measure(coding codec, Field field, double eb, std::size_t addends = 8)
{
    using namespace ccoll::policies;
    constexpr std::size_t n = std::size_t{1} << 18;  // in the cache, as a slice of the engine
    constexpr double values = n;
    codec_figures f;
    floats x = field(n, 1), y(n);
    f.one.combine_s = best_of(20,
                              [&] {
                                  for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
                              }) /
                      values;
    if (codec == coding::none) {
        f.one = no_codec(sizeof(float), f.one.combine_s);
        return f;
    }
    const std::size_t room = std::max(ccoll::max_addend_bytes<Codec::SZp, float>(n),
                                      ccoll::max_encoded_bytes<Codec::PipeSZx, float>(n));
    std::vector<std::byte> a(room), b(room), sum(room);
    ccoll::encode_result r;
    const auto bits = [&] { return 8 * static_cast<double>(r.bytes) / values; };
    // Sums are decoded, added and encoded again, and larger values take more bits.
    if (codec == coding::pipe_szx) {
        floats all(n);
        for (std::size_t k = 1; k <= addends; ++k) {
            const floats more = field(n, static_cast<unsigned>(k));
            for (std::size_t i = 0; i < n; ++i) all[i] += more[i];
            r = ccoll::encode<Codec::PipeSZx>(all, a, eb);
            f.summed.push_back(bits());
        }
        f.one.encode_s = best_of(9, [&] { r = ccoll::encode<Codec::PipeSZx>(x, a, eb); }) / values;
        f.one.bits_per_element = bits();
        f.one.decode_s =
            best_of(
                9,
                [&] { static_cast<void>(ccoll::decode<Codec::PipeSZx>(std::span(a).first(r.bytes), y)); }) /
            values;
        return f;
    }
    f.one.encode_s = best_of(9, [&] { r = ccoll::encode_addend<Codec::SZp>(x, a, eb); }) / values;
    f.one.bits_per_element = bits();
    f.one.decode_s =
        best_of(9, [&] { static_cast<void>(ccoll::decode<Codec::SZp>(std::span(a).first(r.bytes), y)); }) /
        values;
    f.summed.push_back(bits());
    std::size_t of_a = r.bytes;
    for (std::size_t k = 2; k <= addends; ++k) {
        const std::size_t of_b =
            ccoll::encode_addend<Codec::SZp>(field(n, static_cast<unsigned>(k)), b, eb).bytes;
        const double seconds = best_of(9, [&] {
            r = ccoll::reduce_encoded<Codec::SZp, Op::Sum, float>(std::span(a).first(of_a),
                                                                  std::span(b).first(of_b), sum);
        });
        if (k == 2) f.one.add_s = seconds / values;
        std::swap(a, sum);
        of_a = r.bytes;
        f.summed.push_back(bits());
    }
    return f;
}

/// The codec as it is in this plan: sums of many addends have more bits than one, and what is sent is such a
/// sum in part. In a ring the first half of the messages are sums of 1, 2, ... p - 1 addends, and the second
/// half sums of all. Recursive doubling sends sums of 1, 2, 4, ...; halving sends most of its bytes when
/// there are few addends.
inline codec_model codec_in(const plan& of, const codec_figures& figures, int p)
{
    codec_model c = figures.one;
    if (!of.reduces || figures.summed.empty()) return c;
    const std::string name = of.algorithm;
    double bits = 0;
    if (name == "RecursiveDoubling") {
        int rounds = 0;
        for (int k = 1; k < p; k *= 2) {
            bits += figures.bits(k);
            ++rounds;
        }
        bits /= std::max(1, rounds);
    } else {
        double sent = 0, first = 0;
        if (name == "Rabenseifner")
            for (double k = 1, part = 0.5; k < p; k *= 2, part /= 2) {
                first += part * figures.bits(k);
                sent += part;
            }
        else
            for (double k = 1; k < p; k += std::max(1.0, std::floor(p / 256.0))) {
                first += figures.bits(k);
                sent += 1;
            }
        bits = 0.5 * first / sent + 0.5 * figures.bits(p);
    }
    c.bits_per_element = bits;
    return c;
}

}  // namespace modelled
