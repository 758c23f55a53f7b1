// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// threads.cpp - what Exec::Threads gains: codecs on several threads, against one thread and against a memcpy
// on as many threads, alternately. Checks that frames have the same length and decode to the same bits (their
// chunks stand in the order in which they were finished), and that values are within the bound.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/codec.hpp>
#include <ccoll/exec.hpp>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>

#include "fields.hpp"

using namespace ccoll::policies;

namespace {

struct options {
    std::size_t mib = 512;
    int runs = 11;
    double relative = 1e-3;
    std::string json;
};

template <std::size_t Threads>
void copy(std::span<std::byte> to, std::span<const std::byte> from)
{
    Exec::Threads<Threads>{}(Threads, [&](std::size_t part) {
        const std::size_t first = from.size() * part / Threads, last = from.size() * (part + 1) / Threads;
        std::memcpy(to.data() + first, from.data() + first, last - first);
    });
}

/// The same work on one, two, four and eight threads.
struct work {
    std::string name;
    std::vector<std::function<void()>> on;
    std::vector<std::vector<double>> seconds = {};
};

constexpr int counts[] = {1, 2, 4, 8};

/// @param job  called with Exec::Threads<1>, <2>, <4>, <8>
template <class Job>
work each(std::string name, Job job)
{
    return {std::move(name),
            {[=] { job(Exec::Threads<1>{}); }, [=] { job(Exec::Threads<2>{}); },
             [=] { job(Exec::Threads<4>{}); }, [=] { job(Exec::Threads<8>{}); }}};
}

double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

void measure(work& w, int runs, std::size_t widths)
{
    w.seconds.assign(widths, {});
    for (int k = -1; k < runs; ++k)  // the first is not timed
        for (std::size_t i = 0; i < widths; ++i) {
            const auto start = std::chrono::steady_clock::now();
            w.on[i]();
            const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            if (k >= 0) w.seconds[i].push_back(s);
        }
}

void print(const options& chosen, const work& w, double raw_bytes)
{
    nlohmann::json j{{"name", w.name},
                     {"gb_per_s", raw_bytes / median(w.seconds[0]) * 1e-9},
                     {"times", nlohmann::json::object()}};
    fmt::print("{:28} {:8.2f} GB/s", w.name, raw_bytes / median(w.seconds[0]) * 1e-9);
    for (std::size_t i = 1; i < w.seconds.size(); ++i) {
        // Compared pair by pair, because anything that slows the machine for a while slows both.
        std::vector<double> times;
        for (std::size_t k = 0; k < w.seconds[0].size(); ++k)
            times.push_back(w.seconds[0][k] / w.seconds[i][k]);
        fmt::print("   {} threads {:5.2f}", counts[i], median(times));
        j["times"][std::to_string(counts[i])] = median(times);
    }
    fmt::print("\n");
    if (!chosen.json.empty()) std::ofstream(chosen.json, std::ios::app) << j << '\n';
}

template <class Codec, class T>
bool run(const options& chosen, std::span<const T> x, double eb, std::size_t widths)
{
    const std::size_t n = x.size();
    const std::string name = fmt::format("{} {} ", Codec::name, sizeof(T) == 4 ? "f32" : "f64");
    std::vector<T> y(n);
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(n)), room(frame.size());
    const auto written = ccoll::encode<Codec>(x, frame, eb);
    const auto again = ccoll::encode<Codec>(x, room, eb, Exec::Threads<2>{});
    bool good =
        written.code == ccoll::status::ok && again.code == ccoll::status::ok && again.bytes == written.bytes;
    const auto encoded = ccoll::const_byte_span(frame).first(written.bytes);
    const auto same_values = [&](ccoll::const_byte_span one, ccoll::const_byte_span two) {
        std::vector<T> other(n);
        return ccoll::decode<Codec>(one, y, Exec::Threads<2>{}) == ccoll::status::ok &&
               ccoll::decode<Codec>(two, other) == ccoll::status::ok &&
               std::memcmp(y.data(), other.data(), n * sizeof(T)) == 0;
    };
    good = good && same_values(encoded, ccoll::const_byte_span(room).first(again.bytes));
    for (std::size_t i = 0; i < n; ++i)
        good &= std::fabs(static_cast<long double>(x[i]) - static_cast<long double>(y[i])) <=
                static_cast<long double>(eb);
    std::vector<work> all{
        each(name + "compress", [&](auto threads) { ccoll::encode<Codec>(x, room, eb, threads); }),
        each(name + "decompress", [&](auto threads) { ccoll::decode<Codec>(encoded, y, threads); })};
    std::vector<std::byte> a, b, sum;
    if constexpr (ccoll::has_homomorphic_codec<Codec, T>) {
        a.resize(ccoll::max_addend_bytes<Codec, T>(n));
        sum.resize(a.size());
        a.resize(ccoll::encode_addend<Codec>(x, a, eb).bytes);
        b = a;
        const auto one = ccoll::reduce_encoded<Codec, Op::Sum, T>(a, b, sum);
        const std::vector<std::byte> expected(sum.begin(),
                                              sum.begin() + static_cast<std::ptrdiff_t>(one.bytes));
        const auto two = ccoll::reduce_encoded<Codec, Op::Sum, T>(a, b, sum, Exec::Threads<2>{});
        good = good && one.code == ccoll::status::ok && two.bytes == one.bytes &&
               same_values(expected, ccoll::const_byte_span(sum).first(two.bytes));
        all.push_back(each(name + "add two streams", [&](auto threads) {
            ccoll::reduce_encoded<Codec, Op::Sum, T>(a, b, sum, threads);
        }));
    }
    for (work& w : all) {
        measure(w, chosen.runs, widths);
        print(chosen, w, static_cast<double>(x.size_bytes()));
    }
    if (!good) fmt::print("{}: another length or other values, or a value outside its bound\n", name);
    return good;
}

/// Copies of a field of 64 MiB, one after another. Codecs do not look back that far.
template <class T>
bool run_type(const options& chosen, std::span<const double> field, std::size_t widths)
{
    std::vector<T> x((chosen.mib << 20) / sizeof(T)), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(field[i % field.size()]);
    const auto [low, high] = std::minmax_element(field.begin(), field.end());
    const double eb = chosen.relative * (*high - *low);
    work plain{sizeof(T) == 4 ? "memcpy f32" : "memcpy f64",
               {[&] { copy<1>(std::as_writable_bytes(std::span(y)), std::as_bytes(std::span(x))); },
                [&] { copy<2>(std::as_writable_bytes(std::span(y)), std::as_bytes(std::span(x))); },
                [&] { copy<4>(std::as_writable_bytes(std::span(y)), std::as_bytes(std::span(x))); },
                [&] { copy<8>(std::as_writable_bytes(std::span(y)), std::as_bytes(std::span(x))); }}};
    measure(plain, chosen.runs, widths);
    print(chosen, plain, static_cast<double>(x.size() * sizeof(T)));
    bool good = run<Codec::SZp, T>(chosen, x, eb, widths);
    good &= run<Codec::SZx, T>(chosen, x, eb, widths);
    return good;
}

}  // namespace

int main(int argc, char** argv)
{
    options chosen;
    CLI::App app{"codecs on several threads, against one thread"};
    app.add_option("--mib", chosen.mib, "raw size of a vector")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--runs", chosen.runs, "timed runs, after one that is not timed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--eb", chosen.relative, "absolute bound, as a fraction of the value range")
        ->check(CLI::Range(1e-12, 1.0))
        ->capture_default_str();
    app.add_option("--json", chosen.json, "append JSON lines to this file");
    CLI11_PARSE(app, argc, argv);
    std::size_t widths = 1;
    while (widths < std::size(counts) &&
           counts[widths] <= static_cast<int>(std::thread::hardware_concurrency()))
        ++widths;
    fmt::print(
        "turbulence, eb = {:g} of the range, {} MiB, median of {}. One thread: GB/s of raw bytes; more "
        "threads: how many times as fast\n",
        chosen.relative, chosen.mib, chosen.runs);
    const std::vector<double> field = fields::spectral_turbulence(128, 1);
    bool good = run_type<float>(chosen, field, widths);
    good &= run_type<double>(chosen, field, widths);
    return good ? 0 : 1;
}
