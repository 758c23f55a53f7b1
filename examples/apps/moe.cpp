// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// moe.cpp - a layer of a mixture of experts: tokens go to the rank of the expert that a gate chose for them,
// and come back (two alltoallv). A rank sends to each other about as much as --message says; table 3 of the
// paper has 2, 4 and 8 MiB. Its codec is ZFP at a fixed rate, which promises no error.
// Source: Zhou et al. 2022, table 3 and figure 11.
#include <cmath>

#include "app.hpp"

namespace {

using floats = std::vector<float>;
inline constexpr ccoll::menu<ccoll::Plan<>, ccoll::Plan<app::Codec::SZp, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::SZe, app::RuntimeBound>,
                             ccoll::Plan<app::Codec::Zfp, app::FixedRate<16>>,
                             ccoll::Plan<app::Codec::Zfp, app::FixedRate<8>>>
    moe_plans{"none", "SZp", "SZe", "Zfp16", "Zfp8"};

constexpr std::size_t width = 256;  // of a token

/// What an expert does to a token: a band of weights, and tanh. `expert` makes the weights.
void apply_expert(int expert, const float* in, float* out)
{
    for (std::size_t i = 0; i < width; ++i) {
        const float a = 1 + 0.1f * static_cast<float>(expert % 5),
                    b = 0.3f * std::sin(static_cast<float>(i) + static_cast<float>(expert));
        out[i] = std::tanh(a * in[i] + b * in[(i + 1) % width]);
    }
}
constexpr double largest_gain = 1.4 + 0.3;  // the sum of the weights

struct moe {
    static constexpr auto& menu = moe_plans;
    int message_kib = 512;

    std::vector<app::setting> settings()
    {
        return {{"--message", &message_kib, 24, 1, 16384, "KiB from a rank to each expert, on average"}};
    }
    void defaults(app::options& o)
    {
        o.program = "moe";
        o.about = "A mixture of experts with compressed dispatch and combination";
        o.plans = {"SZp", "SZe", "Zfp16", "Zfp8"};
        o.bounds = {1e-4, 1e-3, 1e-2, 1e-1};
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const auto p = static_cast<std::size_t>(here.size);
        const std::size_t tokens = static_cast<std::size_t>(message_kib) * p;  // of 1 KiB
        // Activations of a network: each token has a scale, and values around 0. The gate prefers the first
        // experts a little.
        floats x(tokens * width);
        std::vector<std::vector<std::size_t>> of_expert(p);
        auto word = static_cast<std::uint32_t>(here.rank + 1);
        const auto random = [&] {
            return static_cast<float>((word = word * 1664525u + 1013904223u) >> 8) / 16777216.0f;
        };
        for (std::size_t t = 0; t < tokens; ++t) {
            of_expert[static_cast<std::size_t>(random() * std::sqrt(random()) * static_cast<float>(p))]
                .push_back(t);
            const float scale = 0.2f + random();
            for (std::size_t i = 0; i < width; ++i)
                x[t * width + i] = scale * (random() + random() + random() - 1.5f);
        }
        std::vector<int> to(p), from(p);
        std::vector<double> counts(p), arriving(p);
        for (std::size_t e = 0; e < p; ++e) counts[e] = static_cast<double>(of_expert[e].size() * width);
        ccoll::alltoall(counts, arriving, here.comm);
        std::size_t arrives = 0;
        for (std::size_t e = 0; e < p; ++e) {
            to[e] = static_cast<int>(counts[e]);
            from[e] = static_cast<int>(arriving[e]);
            arrives += static_cast<std::size_t>(from[e]);
        }

        const auto solve = [&](auto& way) {
            floats sent, there(arrives), done(arrives), back(x.size());
            sent.reserve(x.size());
            for (const auto& list : of_expert)
                for (const std::size_t t : list)
                    sent.insert(sent.end(), &x[t * width], &x[t * width] + width);
            way.call([&] { return ccoll::alltoallv(way.plan, sent, to, there, from, way.comm, way.bound); });
            for (std::size_t i = 0; i < arrives; i += width) apply_expert(here.rank, &there[i], &done[i]);
            way.call([&] { return ccoll::alltoallv(way.plan, done, from, back, to, way.comm, way.bound); });
            floats y(x.size());
            std::size_t next = 0;
            for (const auto& list : of_expert)
                for (const std::size_t t : list) std::copy_n(&back[width * next++], width, &y[t * width]);
            return y;
        };
        const auto judge = [&](const auto& way, const floats& y) -> std::vector<app::figure> {
            double error = 0, squares = 0, size = 0;
            floats want(width);
            for (std::size_t e = 0; e < p; ++e)
                for (const std::size_t t : of_expert[e]) {
                    // What it should be, without any rank in between.
                    apply_expert(static_cast<int>(e), &x[t * width], want.data());
                    for (std::size_t i = 0; i < width; ++i) {
                        const double off =
                            static_cast<double>(y[t * width + i]) - static_cast<double>(want[i]);
                        error = std::max(error, std::fabs(off));
                        squares += off * off;
                        size += static_cast<double>(want[i]) * static_cast<double>(want[i]);
                    }
                }
            // tanh makes no difference larger. One ulp of 4 for the sum in an expert, one of 1 for tanh, in
            // both runs.
            const double rounding =
                way.plain ? 0 : 2 * 5 * static_cast<double>(std::numeric_limits<float>::epsilon());
            const bool promised = way.name.find("Zfp") != 0;
            double slowest = way.call_s;
            slowest = ccoll::value::allreduce<app::Op::Max>(slowest, way.comm).value;
            const double bytes = 2e-9 * static_cast<double>(x.size() * sizeof(float));
            return {{"error", error, promised ? (1 + largest_gain) * way.bound + rounding : HUGE_VAL},
                    {"relative rms", std::sqrt(squares / size)},
                    {"GB/s of a rank", bytes / slowest}};
        };
        return app::compare(
            here, o, std::to_string(tokens) + " tokens of " + std::to_string(width) + " floats on each rank",
            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<moe>(argc, argv); }
