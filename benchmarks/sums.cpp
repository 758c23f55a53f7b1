// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sums.cpp - what a sum of two-byte numbers over many ranks has lost, without communication: where partial
// sums are rounded to two bytes at each hop of a ring, or at each level of a tree; where they are floats that
// are rounded once; and where they are added encoded (Codec::SZp), with one bound, with one scale for all
// values and with a scale per block. Ranks are simulated one after another. Prints a table, and JSON lines
// with
// --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/codec.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "real_fields.hpp"

namespace {

using ccoll::policies::Codec::SZp;
using ccoll::policies::Op::Sum;
using floats = std::vector<float>;
using doubles = std::vector<double>;

constexpr std::size_t group = 256;  // of values, for errors of each and for scales of blocks
constexpr int bits = 8;             // of FixedBits

struct options {
    std::vector<std::string> fields{"normal", "layers"}, types{"bf16", "f16"};
    std::vector<int> ranks{2, 4, 16, 64, 256, 1024};
    std::size_t elements = std::size_t{1} << 16;
    double relative = 1e-3;
    std::string data, json;
};

/// The values of each rank: a part that all have in common, and noise of its own that is as large.
/// "normal" has amplitude 1; those of "layers" are log-uniform from 1e-4 to 1, for each 1024 values; a file
/// is the part in common, and the noise is as large as the file is in each 256 values.
class source {
public:
    source(const std::string& name, std::size_t n) : common_(n), amplitude_(n, 1.0f)
    {
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        std::uniform_real_distribution<float> exponent(-4, 0);
        if (name.ends_with(".f32")) {
            common_ = fields::read_middle<float>(name, n);
            amplitude_.resize(common_.size());
            for (std::size_t i = 0; i < common_.size(); ++i) {
                const std::size_t from = i / group * group, to = std::min(common_.size(), from + group);
                if (i == from) {
                    double squares = 0;
                    for (std::size_t k = from; k < to; ++k)
                        squares += static_cast<double>(common_[k]) * static_cast<double>(common_[k]);
                    amplitude_[i] = static_cast<float>(std::sqrt(squares / static_cast<double>(to - from)));
                } else {
                    amplitude_[i] = amplitude_[from];
                }
            }
            return;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (name == "layers")
                amplitude_[i] = i % 1024 == 0 ? std::pow(10.0f, exponent(random)) : amplitude_[i - 1];
            common_[i] = amplitude_[i] * normal(random);
        }
    }
    std::size_t size() const { return common_.size(); }
    template <class T>
    std::vector<T> of_rank(int rank) const
    {
        std::mt19937 random(static_cast<unsigned>(rank) + 2);
        std::normal_distribution<float> normal;
        std::vector<T> x;
        for (std::size_t i = 0; i < size(); ++i) x.push_back(T(common_[i] + amplitude_[i] * normal(random)));
        return x;
    }

private:
    floats common_, amplitude_;
};

/// Sums of p ranks, which arrive one after another.
template <class T>
struct way {
    std::string name;
    std::function<void(const std::vector<T>&)> add;
    std::function<std::vector<T>()> sum;
    double addend_bits, sum_bits;  ///< per value
};

template <class T>
way<T> ring_of_two_bytes()
{
    auto sum = std::make_shared<std::vector<T>>();
    return {"ring, rounded at each hop",
            [=](const std::vector<T>& x) {
                if (sum->empty()) *sum = x;
                else
                    for (std::size_t i = 0; i < x.size(); ++i) (*sum)[i] += x[i];
            },
            [=] { return *sum; }, 16, 16};
}
/// Partial sums of 2^k ranks are added to others of as many.
template <class T>
way<T> tree_of_two_bytes()
{
    auto sums = std::make_shared<std::vector<std::pair<std::vector<T>, int>>>();
    const auto join = [=](std::vector<T>& y, const std::vector<T>& x) {
        for (std::size_t i = 0; i < x.size(); ++i) y[i] += x[i];
    };
    return {"tree, rounded at each level",
            [=](const std::vector<T>& x) {
                sums->emplace_back(x, 1);
                while (sums->size() > 1 && sums->back().second == (*sums)[sums->size() - 2].second) {
                    const auto last = std::move(sums->back());
                    sums->pop_back();
                    join(sums->back().first, last.first);
                    sums->back().second += last.second;
                }
            },
            [=] {
                std::vector<T> all = sums->back().first;
                for (std::size_t k = sums->size() - 1; k-- > 0;) join(all, (*sums)[k].first);
                return all;
            },
            16, 16};
}
template <class T>
way<T> ring_of_floats()
{
    auto sum = std::make_shared<floats>();
    return {"ring of floats, rounded once",
            [=](const std::vector<T>& x) {
                sum->resize(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) (*sum)[i] += static_cast<float>(x[i]);
            },
            [=] {
                std::vector<T> y;
                for (const float v : *sum) y.push_back(T(v));
                return y;
            },
            32, 32};
}

/// The encoded sum of addends.
template <class T>
struct encoded_sum {
    explicit encoded_sum(std::size_t n)
        : sum(ccoll::max_addend_bytes<SZp, T>(n)), addend(sum.size()), next(sum.size()), elements(n)
    {}
    void add(const std::vector<T>& x, double eb)
    {
        const auto check = [](const ccoll::encode_result& r) {
            if (r.code != ccoll::status::ok)
                throw std::runtime_error("SZp: these values are no addend at this bound");
            return r.bytes;
        };
        addend_bytes = check(ccoll::encode_addend<SZp>(x, ccoll::byte_span(addend), eb));
        const auto mine = ccoll::const_byte_span(addend).first(addend_bytes);
        if (bytes == 0) {
            std::copy(mine.begin(), mine.end(), sum.begin());
            bytes = addend_bytes;
        } else {
            const auto all = ccoll::const_byte_span(sum).first(bytes);
            bytes = check(ccoll::reduce_encoded<SZp, Sum, T>(all, mine, ccoll::byte_span(next)));
            std::swap(sum, next);
        }
    }
    std::vector<T> decoded() const
    {
        std::vector<T> y(elements);
        if (ccoll::decode<SZp>(ccoll::const_byte_span(sum).first(bytes), y) != ccoll::status::ok)
            throw std::runtime_error("SZp: a sum cannot be decoded");
        return y;
    }

    std::vector<std::byte> sum, addend, next;
    std::size_t elements, bytes = 0, addend_bytes = 0;
};

template <class T>
way<T> encoded(const std::string& name, std::size_t n, double eb, std::shared_ptr<encoded_sum<T>>& all)
{
    all = std::make_shared<encoded_sum<T>>(n);
    const auto sum = all;
    return {name, [=](const std::vector<T>& x) { sum->add(x, eb); }, [=] { return sum->decoded(); }, 0, 0};
}
/// Values divided by the scale of their block, a power of two that all ranks have in common.
template <class T>
way<T> encoded_in_blocks(std::size_t n, const floats& largest, std::shared_ptr<encoded_sum<float>>& all)
{
    all = std::make_shared<encoded_sum<float>>(n);
    const auto sum = all;
    auto scales = std::make_shared<floats>();
    for (const float most : largest) {
        int exponent = 0;
        const float part = std::frexp(most, &exponent);
        scales->push_back(most > 0 ? std::ldexp(1.0f, part == 0.5f ? exponent - 1 : exponent) : 0x1p-126f);
    }
    return {fmt::format("encoded, FixedBits<{}, Block<{}>>", bits, group),
            [=](const std::vector<T>& x) {
                floats y(n);
                for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]) / (*scales)[i / group];
                sum->add(y, std::ldexp(1.0, -bits));
            },
            [=] {
                const floats y = sum->decoded();
                std::vector<T> z;
                for (std::size_t i = 0; i < n; ++i) z.push_back(T(y[i] * (*scales)[i / group]));
                return z;
            },
            0, 0};
}

/// Errors relative to the exact sum: the largest to the largest magnitude, their root mean square to that of
/// the sum, and the median of this over groups.
struct errors {
    double largest = 0, rms = 0, median_of_groups = 0;

    template <class T>
    errors(const std::vector<T>& found, const doubles& exact)
    {
        double most = 0, worst = 0, squares = 0, all = 0, group_squares = 0, group_all = 0;
        doubles of_groups;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const double e = static_cast<double>(static_cast<float>(found[i])) - exact[i];
            worst = std::max(worst, std::fabs(e));
            most = std::max(most, std::fabs(exact[i]));
            group_squares += e * e;
            group_all += exact[i] * exact[i];
            if ((i + 1) % group != 0 && i + 1 != exact.size()) continue;
            if (group_all > 0) of_groups.push_back(std::sqrt(group_squares / group_all));
            squares += std::exchange(group_squares, 0);
            all += std::exchange(group_all, 0);
        }
        largest = worst / most;
        rms = std::sqrt(squares / all);
        std::nth_element(of_groups.begin(), of_groups.begin() + static_cast<long>(of_groups.size() / 2),
                         of_groups.end());
        median_of_groups = of_groups[of_groups.size() / 2];
    }
};

template <class T>
void run(const options& o, const std::string& type, const std::string& field, const source& from)
{
    const std::size_t n = from.size();
    fmt::print("\n{}, {}, {} values. Errors relative to the exact sum\n", field, type, n);
    fmt::print("{:5} {:33} {:>9} {:>9} {:>9} | {:>6} {:>6}\n", "ranks", "partial sums", "largest", "RMS",
               "of groups", "addend", "sum");
    doubles exact(n, 0.0);
    floats largest_of_groups(n / group + (n % group != 0), 0.0f);
    float largest = 0;
    int so_far = 0;
    for (const int p : o.ranks) {
        for (; so_far < p; ++so_far) {
            const std::vector<T> x = from.of_rank<T>(so_far);
            for (std::size_t i = 0; i < n; ++i) {
                const float v = static_cast<float>(x[i]);
                exact[i] += static_cast<double>(v);  // of numbers of 8 or 11 bits: exact, or nearly so
                largest = std::max(largest, std::fabs(v));
                largest_of_groups[i / group] = std::max(largest_of_groups[i / group], std::fabs(v));
            }
        }
        std::shared_ptr<encoded_sum<T>> bounded, fixed;
        std::shared_ptr<encoded_sum<float>> blocks;
        std::array<way<T>, 6> ways{ring_of_two_bytes<T>(),
                                   tree_of_two_bytes<T>(),
                                   ring_of_floats<T>(),
                                   encoded<T>("encoded, ErrorBound", n, o.relative * largest, bounded),
                                   encoded<T>(fmt::format("encoded, FixedBits<{}>", bits), n,
                                              std::ldexp(static_cast<double>(largest), -bits), fixed),
                                   encoded_in_blocks<T>(n, largest_of_groups, blocks)};
        for (int r = 0; r < p; ++r) {
            const std::vector<T> x = from.of_rank<T>(r);
            for (const way<T>& each : ways) each.add(x);
        }
        const auto bits_of = [&](std::size_t bytes) {
            return 8.0 * static_cast<double>(bytes) / static_cast<double>(n);
        };
        ways[3].addend_bits = bits_of(bounded->addend_bytes);
        ways[3].sum_bits = bits_of(bounded->bytes);
        ways[4].addend_bits = bits_of(fixed->addend_bytes);
        ways[4].sum_bits = bits_of(fixed->bytes);
        ways[5].addend_bits = bits_of(blocks->addend_bytes);
        ways[5].sum_bits = bits_of(blocks->bytes);
        for (const way<T>& each : ways) {
            const errors e(each.sum(), exact);
            fmt::print("{:5} {:33} {:9.2e} {:9.2e} {:9.2e} | {:6.2f} {:6.2f}\n", p, each.name, e.largest,
                       e.rms, e.median_of_groups, each.addend_bits, each.sum_bits);
            if (o.json.empty()) continue;
            std::ofstream(o.json, std::ios::app) << nlohmann::json{{"what", "error_of_sum"},
                                                                   {"field", field},
                                                                   {"type", type},
                                                                   {"values", n},
                                                                   {"ranks", p},
                                                                   {"partial_sums", each.name},
                                                                   {"largest", e.largest},
                                                                   {"rms", e.rms},
                                                                   {"median_of_groups", e.median_of_groups},
                                                                   {"addend_bits", each.addend_bits},
                                                                   {"sum_bits", each.sum_bits},
                                                                   {"bound_of_largest", o.relative}}
                                                        .dump()
                                                 << '\n';
        }
    }
}

}  // namespace

int main(int argc, char** argv)
{
    options o;
    CLI::App app("What sums of two-byte numbers over many simulated ranks have lost");
    app.add_option("--field", o.fields, "normal, layers (amplitudes from 1e-4 to 1)")
        ->delimiter(',')
        ->check(CLI::IsMember({"normal", "layers"}));
    app.add_option("--type", o.types, "element types")->delimiter(',')->check(CLI::IsMember({"bf16", "f16"}));
    app.add_option("--ranks", o.ranks, "numbers of ranks, rising")
        ->delimiter(',')
        ->check(CLI::Range(1, 65536));
    app.add_option("--elements", o.elements, "values of a generated field, or of a file at most")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 26));
    app.add_option("--bound", o.relative, "ErrorBound, in units of the largest magnitude of all inputs");
    app.add_option("--data", o.data, "folder of raw little-endian *.f32, which are fields as well")
        ->check(CLI::ExistingDirectory);
    app.add_option("--json", o.json, "appends JSON lines");
    CLI11_PARSE(app, argc, argv);
    std::sort(o.ranks.begin(), o.ranks.end());
    try {
        if (!o.data.empty())
            for (const auto& file : fields::files_of<float>(o.data)) o.fields.push_back(file.string());
        for (const std::string& field : o.fields) {
            const source from(field, o.elements);
            const std::string name =
                field.ends_with(".f32") ? std::filesystem::path(field).stem().string() : field;
            for (const std::string& type : o.types) {
                if (type == "bf16") run<ccoll::bfloat16>(o, type, name, from);
                else run<ccoll::half>(o, type, name, from);
            }
        }
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 1;
    }
    return 0;
}
