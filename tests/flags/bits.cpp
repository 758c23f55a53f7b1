// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints hashes of frames, decoded values, sums and bounds. cmake/check_flags.cmake compiles this file with
// several compilers and flags, and compares what is printed. Each line is computed with every instruction
// set, and all of them must agree already here.
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include <ccoll/codec.hpp>
#include <ccoll/call/promise.hpp>
#include <ccoll/tune/cost_model.hpp>

using namespace ccoll::policies;

namespace {

/// FNV-1a.
struct hash {
    unsigned long long state = 14695981039346656037u;

    void add(const void* from, std::size_t bytes)
    {
        for (const auto* at = static_cast<const unsigned char*>(from); bytes > 0; --bytes)
            state = (state ^ *at++) * 1099511628211u;
    }
    template <class T>
    void add(const std::vector<T>& x)
    {
        add(x.data(), x.size() * sizeof(T));
    }
};

int disagreements = 0;

/// A line: what `compute` adds to a hash, with every instruction set of this machine.
template <class Compute>
void line(const char* what, const char* type, Compute compute)
{
    hash first;
    bool is_first = true;
    for (const ccoll::isa set : ccoll::every_isa) {
        if (ccoll::use_isa(set) != set) continue;
        hash h;
        compute(h);
        if (is_first) first = h;
        if (h.state != first.state) {
            std::fprintf(stderr, "%s %s: other bits with %s\n", what, type, ccoll::name_of(set));
            ++disagreements;
        }
        is_first = false;
    }
    std::printf("%s %s %016llx\n", what, type, first.state);
}

template <class T>
constexpr const char* name_of_type = sizeof(T) == 4 ? "f32" : "f64";

CCOLL_EXACT_BEGIN

/// Integers divided by a power of two. A parabola with noise: quotients by a step have many digits.
template <class T>
std::vector<T> parabolas(std::size_t n)
{
    CCOLL_EXACT_BODY
    std::vector<T> x(n);
    unsigned seed = 7;
    for (std::size_t i = 0; i < n; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const long long a = static_cast<int>(i % 4096) - 2048, noise = static_cast<int>(seed >> 18);
        x[i] = static_cast<T>(a * a * 64 + noise) * T(0x1p-20);
    }
    return x;
}
/// Next to the middle between two multiples of a step, where the last bit of a product decides.
template <class T>
std::vector<T> ties(std::size_t n, double step)
{
    CCOLL_EXACT_BODY
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const int k = static_cast<int>(static_cast<unsigned>(i) * 2654435761u >> 19) - 4096;
        x[i] = static_cast<T>((k + 0.5) * step);
    }
    return x;
}
/// Noise around 0, of which encoders of SZp find that neighbours say nothing.
template <class T>
std::vector<T> noise(std::size_t n)
{
    CCOLL_EXACT_BODY
    std::vector<T> x(n);
    unsigned seed = 11;
    for (T& v : x) {
        seed = seed * 1664525u + 1013904223u;
        v = static_cast<T>(static_cast<int>(seed)) * T(0x1p-31);
    }
    return x;
}

CCOLL_EXACT_END

/// Fill values in runs, numbers without a value, denormals and zeros, by their bits.
template <class T>
std::vector<T> with_exceptions(std::vector<T> x)
{
    using fields = ccoll::detail::fields_of<T>;
    const auto put = [&](std::size_t i, typename fields::word bits) {
        std::memcpy(&x[i], &bits, sizeof bits);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 97 < 5) x[i] = static_cast<T>(1e20);
        if (i % 211 == 3) put(i, fields::exponent | fields::exponent_one >> 1);
        if (i % 223 == 4) put(i, fields::exponent);
        if (i % 307 == 5) put(i, static_cast<typename fields::word>(i));
        if (i % 311 == 6) put(i, fields::sign);
    }
    return x;
}

template <class T>
double addend_step(double eb)
{
    return ccoll::codec_impl<ccoll::policies::Codec::SZp, T, ccoll::host_space>::addend_step(eb);
}
template <class Codec, class T>
void add_frame(hash& h, const std::vector<T>& x, double eb)
{
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    std::vector<T> y(x.size());
    frame.resize(ccoll::encode<Codec>(x, frame, eb).bytes);
    const ccoll::status s = ccoll::decode<Codec>(std::span<const std::byte>(frame), y);
    h.add(frame);
    h.add(y);
    h.add(&s, sizeof s);
}

constexpr std::size_t elements = 20001;

template <class Codec, class T>
void codec(const char* name)
{
    line(name, name_of_type<T>, [](hash& h) {
        for (const double eb : {1e-3, 3e-7, 1.5e-6, 0x1p-9}) {
            add_frame<Codec, T>(h, parabolas<T>(elements), eb);
            add_frame<Codec, T>(h, ties<T>(elements, addend_step<T>(eb)), eb);
            add_frame<Codec, T>(h, ties<T>(elements, 1.9375 * eb), eb);
            add_frame<Codec, T>(h, with_exceptions(parabolas<T>(elements)), eb);
            add_frame<Codec, T>(h, noise<T>(elements), eb);
        }
    });
}

template <class T>
void sums()
{
    line("sums", name_of_type<T>, [](hash& h) {
        for (const double eb : {1e-3, 3e-7}) {
            const double step = addend_step<T>(eb);
            h.add(&step, sizeof step);
            for (const auto& x : {parabolas<T>(elements), ties<T>(elements, step),
                                  with_exceptions(ties<T>(elements, step))}) {
                std::vector<std::byte> a(ccoll::max_addend_bytes<Codec::SZp, T>(x.size())), b(a.size());
                a.resize(ccoll::encode_addend<Codec::SZp>(x, a, eb).bytes);
                b.resize(ccoll::reduce_encoded<Codec::SZp, Op::Sum, T>(std::span<const std::byte>(a),
                                                                       std::span<const std::byte>(a), b)
                             .bytes);
                std::vector<T> y(x.size());
                (void)ccoll::decode<Codec::SZp>(std::span<const std::byte>(b), y);
                h.add(a);
                h.add(b);
                h.add(y);
            }
        }
    });
}

template <class Op, class T>
void operation(const char* name)
{
    line(name, name_of_type<T>, [](hash& h) {
        const ccoll::detail::exact_environment environment;  // as in a call
        constexpr const ccoll::reduction<T>& op = ccoll::reduction_of<Op, T>;
        std::vector<T> a = with_exceptions(parabolas<T>(elements)), b = noise<T>(elements);
        op.apply(a.data(), a.data(), b.data(), elements);
        if (op.divides()) op.divide(a.data(), 7, elements);
        using fields = ccoll::detail::fields_of<T>;
        for (T& v : a)
            if (fields::magnitude(v) > fields::exponent)
                v = T(-1);  // a NaN: nobody promises its sign and payload
        h.add(a);
    });
}

/// Ranges, bounds and predictions, of which all ranks must think alike.
template <class T>
void bounds()
{
    line("bounds", name_of_type<T>, [](hash& h) {
        for (const auto& x : {parabolas<T>(elements), with_exceptions(noise<T>(elements))}) {
            ccoll::detail::value_survey found;
            found.range = found.magnitude = true;
            ccoll::detail::look_at(x.data(), x.size(), found);
            h.add(&found.lowest, sizeof found.lowest);
            h.add(&found.highest, sizeof found.highest);
            h.add(&found.largest, sizeof found.largest);
            for (const double share : {1e-3, 3e-7}) {
                const double eb = ccoll::detail::bound_from_range<T>(share, found.lowest, found.highest),
                             part = ccoll::detail::share_of(eb, 7);
                h.add(&eb, sizeof eb);
                h.add(&part, sizeof part);
            }
        }
        for (const double fill : {3e15, 7e21, 9e28, 3e35, 0x1.Ep+122})
            for (const double off : {1 - 0x1.001p-24, 1 - 0x1p-24, 1 + 0x1.fffp-25, 1 + 0x1p-24,
                                     1 + 0x1.001p-24, 1 + 0x1.002p-24}) {
                const bool is = ccoll::detail::is_fill_value(fill * off, 0x1.001p-24);
                h.add(&is, sizeof is);
            }
        for (const double latency : {1.1e-6, 1.7e-6, 4.3e-6, 1e-5, 2.3e-5, 7.1e-5, 1e-4, 3.3e-4, 7.7e-4}) {
            const ccoll::tune::schedule_work work{{3, 0.7, 0.3, 0.1, 0.9, 0.2}, {2, 0.6, 0.3, 0.1, 0.7, 0.3}};
            const auto seconds = ccoll::tune::predict(work, 1e6, {latency, 1.1e-9},
                                                      {3e-10, 1e-10, 2.1e-10, 1e-10, 7.3}, 0.7, {7, 3});
            h.add(&seconds.seconds, sizeof seconds.seconds);
            h.add(&seconds.least_seconds, sizeof seconds.least_seconds);
        }
    });
}

template <class T>
void all()
{
    codec<Codec::SZx, T>("SZx");
    codec<Codec::SZp, T>("SZp");
    codec<Codec::SZe, T>("SZe");
    codec<Codec::Zfp, T>("Zfp");
    codec<Codec::BitZip, T>("BitZip");
    sums<T>();
    operation<Op::Sum, T>("Sum");
    operation<Op::Average, T>("Average");
    operation<Op::Prod, T>("Prod");
    operation<Op::Max, T>("Max");
    bounds<T>();
}

}  // namespace

int main()
{
    all<float>();
    all<double>();
    return disagreements > 0 ? 1 : 0;
}
