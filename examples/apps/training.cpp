// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// training.cpp - data-parallel training of a small network: each rank has a part of the data, and gradients
// in bfloat16 are averaged in every step, as a bucket of tensors. 'SZp, feedback' keeps what a bound cuts off
// for the next step (error_feedback.hpp).
// Source: Zhou et al. 2022, figure 11, for the application; Karimireddy et al. 2019 for error feedback.
#include <array>
#include <cmath>
#include <random>

#include <ccoll/bucket.hpp>
#include <ccoll/error_feedback.hpp>

#include "app.hpp"

namespace {

using floats = std::vector<float>;
using bf16 = ccoll::bfloat16;
using lossy = ccoll::Plan<app::Codec::SZp, app::RuntimeBound>;
inline constexpr ccoll::menu<ccoll::Plan<>, lossy, lossy> training_plans{"none", "SZp", "SZp, feedback"};

constexpr std::size_t inputs = 24, hidden = 40, classes = 6;
constexpr std::size_t weights = hidden * (inputs + 1) + classes * (hidden + 1);

struct sample {
    std::array<float, inputs> x;
    std::size_t label;
};

/// Points around the centre of their class, many of them nearer to another one.
std::vector<sample> data_of(int rank, int n)
{
    std::minstd_rand centres(5), random(static_cast<unsigned>(rank) + 11);
    std::normal_distribution<float> normal;
    std::array<std::array<float, inputs>, classes> centre;
    for (auto& c : centre)
        for (auto& v : c) v = 0.4f * normal(centres);
    normal.reset();
    std::vector<sample> all(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].label = i % classes;
        for (std::size_t j = 0; j < inputs; ++j) all[i].x[j] = centre[all[i].label][j] + normal(random);
    }
    return all;
}

/// A layer of tanh and a layer of softmax. Adds the gradient of the mean loss over `data`, and returns that
/// loss.
double loss(const floats& w, const std::vector<sample>& data, floats* gradient)
{
    const float *w1 = w.data(), *w2 = w1 + hidden * (inputs + 1), scale = 1 / static_cast<float>(data.size());
    double total = 0;
    for (const sample& s : data) {
        std::array<float, hidden> h;
        std::array<float, classes> q;
        for (std::size_t i = 0; i < hidden; ++i) {
            float sum = w1[i * (inputs + 1) + inputs];
            for (std::size_t j = 0; j < inputs; ++j) sum += w1[i * (inputs + 1) + j] * s.x[j];
            h[i] = std::tanh(sum);
        }
        float norm = 0;
        for (std::size_t i = 0; i < classes; ++i) {
            float sum = w2[i * (hidden + 1) + hidden];
            for (std::size_t j = 0; j < hidden; ++j) sum += w2[i * (hidden + 1) + j] * h[j];
            norm += q[i] = std::exp(sum);
        }
        total -= std::log(static_cast<double>(q[s.label] / norm));
        if (gradient == nullptr) continue;
        float *g1 = gradient->data(), *g2 = g1 + hidden * (inputs + 1);
        std::array<float, hidden> back{};
        for (std::size_t i = 0; i < classes; ++i) {
            const float d = scale * (q[i] / norm - (i == s.label ? 1.0f : 0.0f));
            for (std::size_t j = 0; j < hidden; ++j) {
                g2[i * (hidden + 1) + j] += d * h[j];
                back[j] += d * w2[i * (hidden + 1) + j];
            }
            g2[i * (hidden + 1) + hidden] += d;
        }
        for (std::size_t i = 0; i < hidden; ++i) {
            const float d = back[i] * (1 - h[i] * h[i]);
            for (std::size_t j = 0; j < inputs; ++j) g1[i * (inputs + 1) + j] += d * s.x[j];
            g1[i * (inputs + 1) + inputs] += d;
        }
    }
    return total / static_cast<double>(data.size());
}

struct trained {
    floats w;
    std::vector<double> given, got;  ///< sums over all steps: of this rank's gradients, and of their averages
    double largest = 0;              ///< average
};

struct training {
    static constexpr auto& menu = training_plans;
    int samples = 120, steps = 200;
    double rate = 0.5;

    std::vector<app::setting> settings()
    {
        return {{"--samples", &samples, 48, 1, 1e6, "samples of a rank"},
                {"--steps", &steps, 40, 1, 1e6, "number of steps"},
                {"--rate", &rate, 0.5, 1e-6, 100, "learning rate"}};
    }
    void defaults(app::options& o)
    {
        o.program = "training";
        o.about = "Data-parallel training with compressed gradients and error feedback";
        o.plans = {"SZp", "SZp, feedback"};
        o.bounds = {1e-4, 1e-3, 1e-2, 3e-2, 1e-1};
        o.repeat = 1;
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const std::vector<sample> data = data_of(here.rank, samples);
        floats begin(weights);
        std::minstd_rand random(3);
        for (float& v : begin) v = std::normal_distribution<float>(0, 0.2f)(random);

        const auto solve = [&](auto& way) {
            trained t{begin, std::vector<double>(weights), std::vector<double>(weights)};
            floats gradient(weights), exact(weights);
            std::vector<bf16> narrow(weights);
            ccoll::bucket<bf16> tensors;  // weights and biases of both layers
            tensors.add(std::span(narrow).first(hidden * (inputs + 1)));
            tensors.add(std::span(narrow).subspan(hidden * (inputs + 1)));
            ccoll::error_feedback<bf16> feedback(weights);
            for (int step = 0; step < steps; ++step) {
                std::fill(gradient.begin(), gradient.end(), 0.0f);
                loss(t.w, data, &gradient);
                for (std::size_t i = 0; i < weights; ++i) {
                    narrow[i] = bf16(gradient[i]);
                    exact[i] = static_cast<float>(narrow[i]);
                    t.given[i] += static_cast<double>(exact[i]);
                }
                if (way.plain) way.call([&] { return ccoll::allreduce<app::Op::Average>(exact, way.comm); });
                else if (way.name == "SZp") {
                    way.call([&] {
                        return ccoll::allreduce<app::Op::Average>(way.plan, tensors, way.comm, way.bound);
                    });
                } else {
                    way.call([&] { return feedback.average(narrow, way.bound, way.comm); });
                }
                for (std::size_t i = 0; i < weights; ++i) {
                    const float average = way.plain ? exact[i] : static_cast<float>(narrow[i]);
                    t.got[i] += static_cast<double>(average);
                    t.largest = std::max(t.largest, std::fabs(static_cast<double>(average)));
                    t.w[i] -= static_cast<float>(rate) * average;
                }
            }
            return t;
        };
        const auto judge = [&](const auto& way, trained t) -> std::vector<app::figure> {
            std::vector<double> all{loss(t.w, data, nullptr) / here.size};
            ccoll::allreduce(all, way.comm);
            ccoll::allreduce<app::Op::Average>(t.given, way.comm);
            double lost = 0;
            for (std::size_t i = 0; i < weights; ++i) lost = std::max(lost, std::fabs(t.given[i] - t.got[i]));
            // A step may lose the bound, and half the distance of neighbours in bfloat16. With feedback the
            // last one alone loses something. The rest is rounding of floats: of sums over the ranks, and of
            // what is kept.
            const double half_ulp = way.plain ? 0 : (t.largest + way.bound) * 0x1p-8;
            const double rounding = (here.size + 4) * (t.largest + 2 * way.bound) *
                                    static_cast<double>(std::numeric_limits<float>::epsilon());
            const int lossy_steps = way.name == "SZp" ? steps : 1;
            return {{"loss", all[0]},
                    {"gradient lost", lost, lossy_steps * (way.bound + half_ulp) + steps * rounding}};
        };
        return app::compare(here, o,
                            std::to_string(weights) + " weights, " + std::to_string(steps) + " steps, loss " +
                                std::to_string(std::log(static_cast<double>(classes))) + " for a guess",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<training>(argc, argv); }
