// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_errors.cpp - how errors are distributed, and how they add up, without communication: errors of one
// compression, and of the second one in a chain (C-Coll, figures 5 and 6); sums and maxima over many ranks
// beside its theorems; and messages that are compressed again and again (Hu and Koibuchi, table 2; Hu, table
// 1). Prints tables, and JSON lines with --json, which plot_papers.py draws.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/codec.hpp>

#include <array>
#include <cmath>
#include <fstream>

#include "paper_fields.hpp"
#include "sample_fields.hpp"

namespace Codec = ccoll::policies::Codec;

namespace {

using floats = std::vector<float>;

struct options {
    std::vector<std::string> fields{"wavefronts", "turbulence"};
    std::vector<int> ranks{2, 4, 16, 100};
    std::size_t elements = std::size_t{1} << 18;
    double relative = 1e-3;
    int trips = 10000;
    std::string json;
};

void write(const options& o, const nlohmann::json& row)
{
    if (!o.json.empty()) std::ofstream(o.json, std::ios::app) << row.dump() << '\n';
}

/// What becomes of values on their way.
template <class C, class T>
class way {
public:
    explicit way(std::size_t n) : frame_(ccoll::max_encoded_bytes<C, T>(n)) {}
    void operator()(std::vector<T>& x, double eb)
    {
        const auto r = ccoll::encode<C>(x, frame_, eb);
        if (r.code != ccoll::status::ok ||
            ccoll::decode<C>(ccoll::const_byte_span(frame_).first(r.bytes), x) != ccoll::status::ok)
            throw std::runtime_error(std::string(C::name) + " failed");
    }

private:
    std::vector<std::byte> frame_;
};

/// Errors in units of the bound.
struct distribution {
    static constexpr int bins = 40;
    double mean = 0, sigma = 0, excess = 0, largest = 0;  ///< excess kurtosis: 0 if normal, -1.2 if uniform
    double within_two_sigma = 0, beyond_three = 0;        ///< parts
    std::array<double, bins> density{};                   ///< from -1 to 1

    explicit distribution(const std::vector<double>& errors)
    {
        const double n = static_cast<double>(errors.size());
        for (const double e : errors) {
            mean += e / n;
            largest = std::max(largest, std::fabs(e));
        }
        double second = 0, fourth = 0;
        for (const double e : errors) {
            second += (e - mean) * (e - mean) / n;
            fourth += std::pow(e - mean, 4) / n;
        }
        sigma = std::sqrt(second);
        excess = second > 0 ? fourth / (second * second) - 3 : 0;
        for (const double e : errors) {
            within_two_sigma += std::fabs(e - mean) <= 2 * sigma ? 1 / n : 0;
            beyond_three += std::fabs(e - mean) > 3 * sigma ? 1 / n : 0;
            const int bin = static_cast<int>(std::floor((e + 1) / 2 * bins));
            density[static_cast<std::size_t>(std::clamp(bin, 0, bins - 1))] += bins / 2.0 / n;
        }
    }
};

void print(const options& o, const std::string& figure, const std::string& field, const std::string& codec,
           const distribution& d)
{
    fmt::print("{:10} {:14} {:6} | {:7.4f} {:6.3f} {:6.2f} {:8.3f} | {:6.2f} {:6.2f}\n", figure, field, codec,
               d.mean, d.sigma, d.excess, d.largest, 100 * d.within_two_sigma, 100 * d.beyond_three);
    write(o, {{"what", "errors"},
              {"figure", figure},
              {"field", field},
              {"codec", codec},
              {"mean", d.mean},
              {"sigma", d.sigma},
              {"excess_kurtosis", d.excess},
              {"largest", d.largest},
              {"within_two_sigma", d.within_two_sigma},
              {"density", d.density}});
}

std::vector<double> differences(const floats& found, const floats& expected, double eb)
{
    std::vector<double> all(found.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = (static_cast<double>(found[i]) - static_cast<double>(expected[i])) / eb;
    return all;
}

/// Figures 5 and 6: errors of the first compression, and of compressing the sum of what has arrived and a
/// rank's own values.
template <class C>
void one_and_two(const options& o, const std::string& field, double eb)
{
    const std::string name = fields::name_of(field);
    way<C, float> compress(o.elements);
    floats x = fields::sample(field, o.elements, 1);
    const floats first = x, own = fields::sample(field, o.elements, 2);
    compress(x, eb);
    print(o, "figure 5", name, C::name, distribution(differences(x, first, eb)));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += own[i];
    const floats sum = x;
    compress(x, eb);
    print(o, "figure 6", name, C::name, distribution(differences(x, sum, eb)));
}

/// A chain of ranks as in a ring: each adds its values to, or takes the maximum with, what has come, and
/// sends it on, compressed.
template <class C, bool Sum>
void chain(const options& o, const std::string& field, double eb, double sigma)
{
    way<C, float> compress(o.elements);
    floats x = fields::sample(field, o.elements, 1);
    std::vector<double> exact(x.begin(), x.end());
    int done = 1;
    for (const int p : o.ranks) {
        for (; done < p; ++done) {
            const floats own = fields::sample(field, o.elements, static_cast<unsigned>(done + 1));
            compress(x, eb);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double v = static_cast<double>(own[i]);
                x[i] = Sum ? x[i] + own[i] : std::max(x[i], own[i]);
                exact[i] = Sum ? exact[i] + v : std::max(exact[i], v);
            }
        }
        floats result = x;  // the owner of a block sends it to all, compressed once more
        compress(result, eb);
        std::vector<double> errors(result.size());
        for (std::size_t i = 0; i < errors.size(); ++i)
            errors[i] = (static_cast<double>(result[i]) - exact[i]) / eb;
        const distribution d(errors);
        const double claimed = Sum ? sigma * std::sqrt(p) : sigma * std::sqrt(2 - (p + 2) / std::exp2(p)),
                     corollary = 2.0 / 3 * std::sqrt(p);
        double inside = 0, below = 0;
        for (const double e : errors) {
            inside += std::fabs(e) <= 2 * claimed ? 1 : 0;
            below += std::fabs(e) <= corollary ? 1 : 0;
        }
        inside /= static_cast<double>(errors.size());
        below /= static_cast<double>(errors.size());
        fmt::print("{:14} {:6} {:4} {:5} | {:7.3f} {:7.3f} {:8.2f} | {:8.2f} {:8}\n", fields::name_of(field),
                   C::name, Sum ? "sum" : "max", p, d.sigma, claimed, d.largest, 100 * inside,
                   Sum ? fmt::format("{:.2f}", 100 * below) : "");
        write(o, {{"what", "chain"},
                  {"operation", Sum ? "sum" : "max"},
                  {"field", fields::name_of(field)},
                  {"codec", C::name},
                  {"ranks", p},
                  {"sigma", d.sigma},
                  {"sigma_by_theorem", claimed},
                  {"largest", d.largest},
                  {"excess_kurtosis", d.excess},
                  {"within_two_sigma_of_theorem", inside},
                  {"within_corollary", below}});
    }
}

/// Hu and Koibuchi, table 2: a message goes to and fro, and is compressed each time.
template <class C, class T>
void again_and_again(const options& o, const std::vector<T>& x)
{
    for (const double eb : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2}) {
        way<C, T> compress(x.size());
        std::vector<T> y = x, before;
        int settled = o.trips;
        for (int k = 0; k < o.trips; ++k) {
            before = y;
            compress(y, eb);
            if (y == before) {
                settled = k;
                break;
            }
        }
        double largest = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            largest = std::max(largest, std::fabs(static_cast<double>(y[i]) - static_cast<double>(x[i])));
        fmt::print(
            "{:8} {} {:6.0e} | {:10.3g} {:8.2f} | {}\n", C::name, sizeof(T) == 4 ? "f32" : "f64", eb, largest,
            largest / eb,
            settled < o.trips ? fmt::format("the same from trip {} on", settled + 1) : "still changes");
        write(o, {{"what", "trips"},
                  {"codec", C::name},
                  {"type", sizeof(T) == 4 ? "f32" : "f64"},
                  {"bound", eb},
                  {"trips", o.trips},
                  {"largest_error", largest},
                  {"settled", settled}});
    }
}

}  // namespace

int main(int argc, char** argv)
{
    CLI::App app{"how errors of the codecs are distributed, and add up, beside the claims of the papers"};
    options o;
    app.add_option("--field", o.fields, "turbulence, wavefronts, or files *.f32")->check(fields::known);
    app.add_option("--elements", o.elements)->check(CLI::Range(1024, 1 << 26))->capture_default_str();
    app.add_option("--ranks", o.ranks, "of the chains, in ascending order")
        ->check(CLI::Range(2, 4096))
        ->capture_default_str();
    app.add_option("--bound", o.relative, "part of the range")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--trips", o.trips, "how often a message is compressed")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    CLI11_PARSE(app, argc, argv);

    const auto bound_of = [&](const std::string& field) {
        const floats x = fields::sample(field, o.elements, 1);
        const auto [low, high] = std::minmax_element(x.begin(), x.end());
        return o.relative * (static_cast<double>(*high) - static_cast<double>(*low));
    };
    fmt::print(
        "Errors in units of the bound, {} values, {:g} of the range. A normal distribution has 95.44 and "
        "0.26 %, a uniform one 100 and 0\n",
        o.elements, o.relative);
    fmt::print("{:10} {:14} {:6} | {:>7} {:>6} {:>6} {:>8} | {:>6} {:>6}\n", "C-Coll", "field", "codec",
               "mean", "sigma", "excess", "largest", "2 sig%", ">3 sig%");
    for (const std::string& field : o.fields) {
        one_and_two<Codec::SZx>(o, field, bound_of(field));
        one_and_two<Codec::Zfp>(o, field, bound_of(field));
        one_and_two<Codec::SZp>(o, field, bound_of(field));
    }
    fmt::print(
        "\nChains of compressions, by theorems 1 and 2 with the sigma of figure 5: % within 2 sigma of the "
        "theorem (claim: 95.44), and of 2/3 sqrt(n) bounds\n{:14} {:6} {:4} {:>5} | {:>7} {:>7} {:>8} | "
        "{:>8} {:>8}\n",
        "field", "codec", "", "ranks", "sigma", "theorem", "largest", "2 sigma", "2/3 sqrt");
    const auto chains = [&]<class C>(C, const std::string& field) {
        const double eb = bound_of(field);
        floats x = fields::sample(field, o.elements, 1);
        const floats original = x;
        way<C, float>(o.elements)(x, eb);
        const double sigma = distribution(differences(x, original, eb)).sigma;
        chain<C, true>(o, field, eb, sigma);
        chain<C, false>(o, field, eb, sigma);
    };
    for (const std::string& field : o.fields) {
        chains(Codec::SZx{}, field);
        chains(Codec::Zfp{}, field);
        chains(Codec::SZp{}, field);
    }
    fmt::print("\nBlast waves, compressed {} times: the error at the end, and in bounds\n", o.trips);
    const std::vector<double> blast = fields::blast_waves(8192);
    const floats shorter(blast.begin(), blast.end());
    again_and_again<Codec::BitWise>(o, shorter);
    again_and_again<Codec::ByteZip>(o, shorter);
    again_and_again<Codec::BitZip>(o, blast);
    again_and_again<Codec::SZp>(o, shorter);
    return 0;
}
