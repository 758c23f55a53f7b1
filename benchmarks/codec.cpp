// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec.cpp - codecs without collectives, on one thread. Every instruction set of this machine is measured
// against a memcpy of the same bytes, alternately in the same run, and every decoded value is checked against
// its bound. Prints a table, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/base/isa.hpp>
#include <ccoll/codec.hpp>
#include <ccoll/version.hpp>

#ifdef BENCHMARK_WITH_ZFP
#include <zfp.h>
#endif
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "fields.hpp"
#include "real_fields.hpp"

using namespace ccoll::policies;

namespace {

// Measurements on two threads would be rows of their own, with this number in the record and a second thread
// in `measure`.
constexpr int threads = 1;
// zfp takes a hundred times as long as a memcpy, and its relative spread is smaller.
constexpr int slow_peer_runs = 3;

// ---- time

double seconds_now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Ticks of the time stamp counter per nanosecond of the clock, measured since the first call. 0 on
/// processors without the counter.
double tsc_ghz()
{
#ifdef __x86_64__
    static const double start = seconds_now();
    static const unsigned long long ticks = __rdtsc();
    const double elapsed = seconds_now() - start;
    return elapsed > 0 ? static_cast<double>(__rdtsc() - ticks) / elapsed * 1e-9 : 0;
#else
    return 0;
#endif
}

struct spread {
    double low = 0, median = 0, high = 0;  // quartiles
};

spread spread_of(std::vector<double> v)
{
    if (v.empty()) return {};
    std::sort(v.begin(), v.end());
    const auto at = [&](double part) {
        return v[static_cast<std::size_t>(part * static_cast<double>(v.size() - 1) + 0.5)];
    };
    return {at(0.25), at(0.5), at(0.75)};
}

/// Work that is the same in every run, with its times, and the times of a memcpy of the raw bytes just before
/// it.
struct operation {
    std::string name;
    std::function<void()> run;
    std::vector<double> seconds, copy_seconds;

    operation(std::string what, std::function<void()> how) : name(std::move(what)), run(std::move(how)) {}

    spread gigabytes_per_second(double raw_bytes) const
    {
        std::vector<double> v;
        for (double s : seconds) v.push_back(raw_bytes / s * 1e-9);
        return spread_of(v);
    }
    /// Compares pair by pair, because anything that slows the machine for a while slows both.
    spread times_memcpy() const
    {
        std::vector<double> v;
        for (std::size_t i = 0; i < seconds.size(); ++i) v.push_back(copy_seconds[i] / seconds[i]);
        return spread_of(v);
    }
};

// ---- element types

template <class T>
constexpr double epsilon_of = static_cast<double>(std::numeric_limits<T>::epsilon());
template <>
constexpr double epsilon_of<ccoll::half> = 0x1p-10;
template <>
constexpr double epsilon_of<ccoll::bfloat16> = 0x1p-7;
template <class T>
constexpr double least_normal_of = static_cast<double>(std::numeric_limits<T>::min());
template <>
constexpr double least_normal_of<ccoll::half> = 0x1p-14;
template <>
constexpr double least_normal_of<ccoll::bfloat16> = 0x1p-126;

// ---- correctness

struct quality {
    double error_of_bound = 0, psnr = 0;
    bool holds = true;
};

/// Compares in long double, which holds the difference of two elements exactly if they are close to each
/// other.
/// @param truth     i -> long double
/// @param rounding  the decoded value may be off by the bound plus this fraction of itself
template <class T, class Truth>
quality compare(std::span<const T> decoded, double bound, double rounding, Truth truth)
{
    quality q;
    long double worst = 0, squares = 0, low = std::numeric_limits<long double>::infinity(), high = -low;
    for (std::size_t i = 0; i < decoded.size(); ++i) {
        const long double expected = truth(i), found = static_cast<long double>(decoded[i]);
        if (!std::isfinite(expected)) {
            q.holds &= std::isnan(expected) ? std::isnan(found) : expected == found;
            continue;
        }
        const long double error = std::fabs(expected - found);
        q.holds &= error <= bound + rounding * std::fabs(found);  // false for NaN
        worst = std::max(worst, error);
        squares += error * error;
        low = std::min(low, expected);
        high = std::max(high, expected);
    }
    q.error_of_bound = static_cast<double>(worst / bound);
    q.psnr = 20 * std::log10(static_cast<double>(
                      (high - low) / std::sqrt(squares / static_cast<long double>(decoded.size()))));
    return q;
}

// ---- what is measured

struct row {
    std::string codec, isa_name;
    ccoll::isa isa = ccoll::isa::portable;
    bool is_sum = false;  // a sum of two frames; otherwise one frame
    // Another library: if it breaks the bound, that is shown but does not count as a failure of ours.
    bool is_peer = false;
    std::size_t bytes = 0;
    quality result;
    std::string trouble = {};
    std::vector<operation> operations = {};

    void note(ccoll::status s)
    {
        if (s != ccoll::status::ok && trouble.empty()) trouble = ccoll::describe(s);
    }
    void note(bool broken, const std::string& what)
    {
        if (broken && trouble.empty()) trouble = what;
    }
    bool failed() const { return !is_peer && (!trouble.empty() || !result.holds); }
};

/// An array that begins so many bytes after the start of a cache line: 0 as from MPI_Alloc_mem and the
/// allocators of deep-learning frameworks, 16 as from malloc.
template <class T>
class placed_array {
public:
    placed_array(std::size_t n, std::size_t offset) : store_(n + (line + offset) / sizeof(T))
    {
        const auto from = reinterpret_cast<std::uintptr_t>(store_.data()),
                   to = (from + line - 1) / line * line + offset;
        values = std::span<T>(store_).subspan((to - from) / sizeof(T), n);
    }
    placed_array(const placed_array&) = delete;
    placed_array& operator=(const placed_array&) = delete;

    std::span<T> values;

private:
    static constexpr std::size_t line = 64;
    std::vector<T> store_;
};

/// One field with one bound, and all measurements on it.
template <class T>
struct group {
    std::span<const T> x;
    double eb;
    std::vector<ccoll::isa> isas;
    placed_array<T> place;
    std::span<T> y;                  // what was decoded
    std::vector<std::byte> scratch;  // what was encoded
    std::vector<row> rows;

    group(std::span<const T> values, double bound, std::vector<ccoll::isa> sets, std::size_t offset)
        : x(values), eb(bound), isas(std::move(sets)), place(values.size(), offset), y(place.values)
    {}
    double raw_bytes() const { return static_cast<double>(x.size_bytes()); }
    ccoll::const_byte_span encoded(const ccoll::encode_result& r) const
    {
        return ccoll::const_byte_span(scratch).first(r.bytes);
    }
    row new_row(std::string codec, ccoll::isa isa) const
    {
        return {std::move(codec), ccoll::name_of(isa), isa, false, false, 0, {}};
    }
};

/// Frames live longer than the call that makes them, because the timed functions hold them.
using frame = std::shared_ptr<std::vector<std::byte>>;

/// Keeps the first result. Later results, of other instruction sets, must have the same bytes.
void same_bytes(frame& first, ccoll::const_byte_span now, row& r)
{
    if (!first) first = std::make_shared<std::vector<std::byte>>(now.begin(), now.end());
    r.note(!std::equal(now.begin(), now.end(), first->begin(), first->end()),
           "bytes differ between instruction sets");
}

/// Adds one row per instruction set. `encode` and `decode` are the functions that a user calls.
template <class T, class Encode, class Decode>
frame add_frames(group<T>& g, const std::string& name, double rounding, Encode encode, Decode decode)
{
    frame encoded;
    for (const ccoll::isa isa : g.isas) {
        ccoll::use_isa(isa);
        row r = g.new_row(name, isa);
        const ccoll::encode_result written = encode(g.x, ccoll::byte_span(g.scratch));
        r.note(written.code);
        same_bytes(encoded, g.encoded(written), r);
        r.note(decode(g.encoded(written)));
        r.bytes = written.bytes;
        r.result =
            compare<T>(g.y, g.eb, rounding, [&](std::size_t i) { return static_cast<long double>(g.x[i]); });
        r.operations.emplace_back("compress", [&g, encode] { encode(g.x, ccoll::byte_span(g.scratch)); });
        r.operations.emplace_back("decompress",
                                  [encoded, decode] { decode(ccoll::const_byte_span(*encoded)); });
        g.rows.push_back(std::move(r));
    }
    return encoded;
}

template <class Codec, class T>
void add_codec(group<T>& g)
{
    g.scratch.resize(std::max(g.scratch.size(), ccoll::max_encoded_bytes<Codec, T>(g.x.size())));
    add_frames(
        g, Codec::name, 0,
        [&g](std::span<const T> in, ccoll::byte_span to) { return ccoll::encode<Codec>(in, to, g.eb); },
        [&g](ccoll::const_byte_span from) { return ccoll::decode<Codec>(from, g.y); });
}

/// Frames that can be added, and then the sum of two of them. The sum is compared with the
/// decompress-operate-compress step of C-Coll, which a reduction uses otherwise: decode one frame, add own
/// values, encode.
template <class Codec, class T>
void add_sums(group<T>& g)
{
    // Far from zero, the quantum of an addend and its product with the step are rounded, by half an ulp each.
    // So is the sum of two elements in DOC.
    const double rounding = epsilon_of<T>;
    const std::size_t n = g.x.size();
    g.scratch.resize(std::max(g.scratch.size(), ccoll::max_addend_bytes<Codec, T>(n)));
    if (const auto s = ccoll::encode_addend<Codec>(g.x, ccoll::byte_span(g.scratch), g.eb).code;
        s == ccoll::status::too_large) {
        // Documented behaviour, not a failure.
        fmt::print("\n{}: no sums at this bound, {}\n", Codec::name, ccoll::describe(s));
        return;
    }
    const auto decode = [&g](ccoll::const_byte_span from) { return ccoll::decode<Codec>(from, g.y); };
    const frame mine = add_frames(
        g, std::string(Codec::name) + " for sums", rounding,
        [&g](std::span<const T> in, ccoll::byte_span to) {
            return ccoll::encode_addend<Codec>(in, to, g.eb);
        },
        decode);

    // Data of the same kind, but unrelated to the first at every point.
    auto other = std::make_shared<std::vector<T>>(n);
    std::rotate_copy(g.x.begin(), g.x.begin() + static_cast<std::ptrdiff_t>((65536 + 37) % n), g.x.end(),
                     other->begin());
    const auto keep = [&g](const ccoll::encode_result& r) {
        const auto bytes = g.encoded(r);
        return std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    };
    const frame theirs = keep(ccoll::encode_addend<Codec>(*other, ccoll::byte_span(g.scratch), g.eb));
    const frame theirs_moved = keep(ccoll::encode<Codec>(*other, ccoll::byte_span(g.scratch), g.eb));
    const auto add = [&g, mine, theirs] {
        return ccoll::reduce_encoded<Codec, Op::Sum, T>(*mine, *theirs, ccoll::byte_span(g.scratch));
    };
    const auto doc = [&g, theirs_moved] {
        const auto& codec = ccoll::frame_codec_of<Codec, T>;
        ccoll::frame_view view;
        const ccoll::status s = codec.open(*theirs_moved, g.x.size(), view);
        if (s != ccoll::status::ok) return ccoll::encode_result{0, s};
        return codec.decode_reduce_encode(view, g.x, ccoll::byte_span(g.scratch), g.eb,
                                          ccoll::reduction_of<Op::Sum, T>, {});
    };
    const auto exact = [&g, other](std::size_t i) {
        return static_cast<long double>(g.x[i]) + static_cast<long double>((*other)[i]);
    };

    frame sum, doc_sum;
    for (const ccoll::isa isa : g.isas) {
        ccoll::use_isa(isa);
        row r = g.new_row(Codec::name, isa);
        r.is_sum = true;
        for (const bool homomorphic : {false, true}) {  // the row keeps the figures of the second
            const ccoll::encode_result written = homomorphic ? add() : doc();
            r.note(written.code);
            same_bytes(homomorphic ? sum : doc_sum, g.encoded(written), r);
            r.note(decode(g.encoded(written)));
            r.bytes = written.bytes;
            r.result = compare<T>(g.y, 2 * g.eb, rounding, exact);
            r.note(!r.result.holds,
                   homomorphic ? "the homomorphic sum breaks its bound" : "the DOC sum breaks its bound");
        }
        r.operations.emplace_back("add", add);
        r.operations.emplace_back("doc_add", doc);
        g.rows.push_back(std::move(r));
    }
}

/// Zfp at a rate, which has no bound.
template <class T>
void add_rate(group<T>& g, double rate)
{
    g.scratch.resize(std::max(g.scratch.size(), ccoll::max_encoded_bytes<Codec::ZfpAtRate, T>(g.x.size())));
    const double eb = std::exchange(g.eb, std::numeric_limits<double>::infinity());
    add_frames(
        g, fmt::format("Zfp, {} bits", rate), 0,
        [rate](std::span<const T> in, ccoll::byte_span to) {
            return ccoll::encode<Codec::ZfpAtRate>(in, to, rate);
        },
        [&g](ccoll::const_byte_span from) { return ccoll::decode<Codec::ZfpAtRate>(from, g.y); });
    g.eb = eb;
}

#ifdef BENCHMARK_WITH_ZFP
/// libzfp in fixed-accuracy or fixed-rate mode, on the same values in one dimension, as our codecs see them.
class zfp_peer {
public:
    /// @param at_rate  `number` is not a tolerance but bits per value
    template <class T>
    zfp_peer(std::span<T> values, double number, bool at_rate = false)
        : field_(
              zfp_field_1d(values.data(), sizeof(T) == 4 ? zfp_type_float : zfp_type_double, values.size())),
          stream_(zfp_stream_open(nullptr))
    {
        if (at_rate)
            zfp_stream_set_rate(stream_.get(), number, sizeof(T) == 4 ? zfp_type_float : zfp_type_double, 1,
                                0);
        else zfp_stream_set_accuracy(stream_.get(), number);
        buffer_.resize(zfp_stream_maximum_size(stream_.get(), field_.get()));
        bits_.reset(stream_open(buffer_.data(), buffer_.size()));
        zfp_stream_set_bit_stream(stream_.get(), bits_.get());
    }
    std::size_t compress(const void* from) { return run(from, zfp_compress); }
    std::size_t decompress(void* to) { return run(to, zfp_decompress); }

private:
    struct close {
        void operator()(zfp_field* f) const { zfp_field_free(f); }
        void operator()(zfp_stream* s) const { zfp_stream_close(s); }
        void operator()(bitstream* b) const { stream_close(b); }
    };
    template <class Values, class Function>
    std::size_t run(Values* values, Function function)
    {
        zfp_field_set_pointer(field_.get(), const_cast<std::remove_const_t<Values>*>(values));
        zfp_stream_rewind(stream_.get());
        return function(stream_.get(), field_.get());
    }
    std::unique_ptr<zfp_field, close> field_;
    std::unique_ptr<zfp_stream, close> stream_;
    std::vector<std::byte> buffer_;
    std::unique_ptr<bitstream, close> bits_;
};

/// @param rate  bits per value; 0: at the bound of the group
template <class T>
void add_zfp(group<T>& g, double rate = 0)
{
    if (std::any_of(g.x.begin(), g.x.end(), [](T v) { return !std::isfinite(v); }))
        return;  // zfp does not define what happens with them
    const auto zfp = std::make_shared<zfp_peer>(std::span<T>(g.y), rate > 0 ? rate : g.eb, rate > 0);
    row r = g.new_row(rate > 0 ? fmt::format("zfp 1-D, {} bits", rate) : "zfp 1-D", ccoll::isa::portable);
    r.isa_name = "-";
    r.is_peer = true;
    r.bytes = zfp->compress(g.x.data());
    r.note(r.bytes == 0 || zfp->decompress(g.y.data()) == 0, "libzfp failed");
    r.result = compare<T>(g.y, rate > 0 ? std::numeric_limits<double>::infinity() : g.eb, 0,
                          [&](std::size_t i) { return static_cast<long double>(g.x[i]); });
    r.operations.emplace_back("compress", [&g, zfp] { zfp->compress(g.x.data()); });
    r.operations.emplace_back("decompress", [&g, zfp] { zfp->decompress(g.y.data()); });
    g.rows.push_back(std::move(r));
}
#endif

/// Does everything once per run, each time after a memcpy. The memcpy also leaves the caches in the same
/// state for all.
template <class T>
void measure(group<T>& g, int runs)
{
    for (int k = -1; k < runs; ++k)  // the first is not timed
        for (row& r : g.rows) {
            if (r.is_peer && k >= slow_peer_runs) continue;
            ccoll::use_isa(r.isa);
            for (operation& o : r.operations) {
                const double start = seconds_now();
                std::memcpy(g.y.data(), g.x.data(), g.x.size_bytes());
#ifdef __GNUC__
                asm volatile(""
                             :
                             : "r"(g.y.data())
                             : "memory");  // the copy must be made, although nobody reads it
#endif
                const double copied = seconds_now();
                o.run();
                const double done = seconds_now();
                if (k < 0) continue;
                o.copy_seconds.push_back(copied - start);
                o.seconds.push_back(done - copied);
            }
        }
}

// ---- report

struct options {
    std::vector<std::string> fields{"quiet", "wave", "turbulence", "noise", "real"},
        codecs{"SZp", "SZx", "PipeSZx", "zfp"}, types{"f32", "f64"}, isas;
    std::vector<double> bounds{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
    std::size_t mib = 32, offset = 0;
    int runs = 11;
    std::string data, json, model;
    bool quick = false, denormals = false, weights = false;
};

struct statistics {
    double low = 0, high = 0, zeros = 0, denormals = 0;  // the last two are fractions of all values

    double range() const { return high - low; }
};

template <class T>
statistics statistics_of(std::span<const T> x)
{
    statistics s{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    const double one = 1 / static_cast<double>(x.size());
    for (const T number : x) {
        const double v = static_cast<double>(number);
        if (!std::isfinite(v)) continue;
        s.low = std::min(s.low, v);
        s.high = std::max(s.high, v);
        if (v == 0) s.zeros += one;
        else if (std::fabs(v) < least_normal_of<T>) s.denormals += one;
    }
    return s;
}

template <class T>
constexpr const char* type_name = std::is_same_v<T, ccoll::half> ? "f16"
                                  : sizeof(T) == 2               ? "bf16"
                                  : sizeof(T) == 4               ? "f32"
                                                                 : "f64";

nlohmann::json record(const operation& o, double raw_bytes, std::size_t n)
{
    const spread speed = o.gigabytes_per_second(raw_bytes), times = o.times_memcpy();
    nlohmann::json j{{"gb_per_s", speed.median},
                     {"gb_per_s_quartiles", {speed.low, speed.high}},
                     {"times_memcpy", times.median},
                     {"times_memcpy_quartiles", {times.low, times.high}}};
    if (tsc_ghz() > 0)
        j["tsc_cycles_per_value"] = raw_bytes / static_cast<double>(n) / speed.median * tsc_ghz();
    return j;
}

template <class T>
nlohmann::json record(const group<T>& g, const row& r)
{
    nlohmann::json j{{"record", r.is_sum ? "sum" : "frame"},
                     {"codec", r.codec},
                     {"isa", r.isa_name},
                     {"threads", threads},
                     {"bytes", r.bytes},
                     {"ratio", g.raw_bytes() / static_cast<double>(r.bytes)},
                     {"bits_per_value", 8 * static_cast<double>(r.bytes) / static_cast<double>(g.x.size())},
                     {"max_error_of_bound", r.result.error_of_bound},
                     {"psnr_db", r.result.psnr},
                     {"holds", r.result.holds},
                     {"trouble", r.trouble}};
    for (const operation& o : r.operations) j[o.name] = record(o, g.raw_bytes(), g.x.size());
    return j;
}

/// Prints the rows of one kind: first the properties of the frames, then the cost of each operation.
void print_rows(const std::vector<nlohmann::json>& rows,
                const std::vector<std::pair<const char*, const char*>>& operations, const char* title,
                const char* error_title)
{
    if (rows.empty()) return;
    std::string names, columns;
    for (const auto& [key, heading] : operations) {
        names += fmt::format(" | {:32}", heading);
        columns += " |   GB/s  x memcpy (quartiles)   tsc";
    }
    fmt::print("{:59}{}\n{:16} {:11} {:>6} {:>7} {:>7} {:>6} {}\n", "", names, title, "isa", "bits", "ratio",
               error_title, "PSNR", columns);
    for (const auto& r : rows) {
        const auto number = [](const nlohmann::json& of, const char* what) { return of[what].get<double>(); };
        fmt::print("{:16} {:11} {:6.2f} {:7.2f} {:7.4f} {:6.1f} ", r["codec"].get<std::string>(),
                   r["isa"].get<std::string>(), number(r, "bits_per_value"), number(r, "ratio"),
                   number(r, "max_error_of_bound"), number(r, "psnr_db"));
        for (const auto& [key, heading] : operations) {
            const auto& o = r[key];
            const auto& quartiles = o["times_memcpy_quartiles"];
            fmt::print(" | {:6.2f}  {:5.2f} ({:5.2f}..{:5.2f}) {}", number(o, "gb_per_s"),
                       number(o, "times_memcpy"), quartiles[0].get<double>(), quartiles[1].get<double>(),
                       o.contains("tsc_cycles_per_value")
                           ? fmt::format("{:7.2f}", number(o, "tsc_cycles_per_value"))
                           : "      -");
        }
        const std::string trouble = r["trouble"];
        fmt::print("{}{}\n", r["holds"].get<bool>() ? "" : "  BOUND BROKEN",
                   trouble.empty() ? "" : "  " + trouble);
    }
}

class report {
public:
    explicit report(const std::string& file)
    {
        if (file.empty()) return;
        stream_.open(file);
        if (!stream_) throw std::runtime_error(file + ": cannot be written");
    }
    void line(const nlohmann::json& j)
    {
        if (stream_.is_open()) stream_ << j << std::endl;
    }
    void add(nlohmann::json j, bool failed)
    {
        line(j);
        failed_ |= failed;
        all_.push_back(std::move(j));
    }
    bool failed() const { return failed_; }
    const std::vector<nlohmann::json>& all() const { return all_; }

private:
    std::ofstream stream_;
    std::vector<nlohmann::json> all_;
    bool failed_ = false;
};

/// Codecs that are not measured on numbers of two bytes.
template <class T, class Wanted>
void add_others(group<T>& g, const Wanted& wanted)
{
    if (wanted("SZx")) add_codec<Codec::SZx>(g);
    if (wanted("PipeSZx")) add_codec<Codec::PipeSZx>(g);
    if (wanted("SZe")) add_codec<Codec::SZe>(g);
    if (wanted("ByteZip")) add_codec<Codec::ByteZip>(g);
    if (wanted("BitZip")) add_codec<Codec::BitZip>(g);
    if (wanted("BitWise")) add_codec<Codec::BitWise>(g);
    if (wanted("BitCut")) add_codec<Codec::BitCut>(g);
    if (wanted("BitMask")) add_codec<Codec::BitMask<Codec::BitZip>>(g);
    if (wanted("Zfp")) add_codec<Codec::Zfp>(g);
    for (const double rate : {8.0, 16.0, 24.0}) {
        if (!wanted("rates")) break;
        add_rate(g, rate);
#ifdef BENCHMARK_WITH_ZFP
        add_zfp(g, rate);
#endif
    }
#ifdef BENCHMARK_WITH_ZFP
    if (wanted("zfp")) add_zfp(g);
#endif
}

template <class T>
void run_group(report& to, const options& chosen, const std::vector<ccoll::isa>& isas,
               const std::string& name, std::span<const T> x, double range, double relative)
{
    group<T> g(x, relative * range, isas, chosen.offset);
    const auto wanted = [&](const char* codec) {
        return std::find(chosen.codecs.begin(), chosen.codecs.end(), codec) != chosen.codecs.end();
    };
    if (wanted("SZp")) {
        add_codec<Codec::SZp>(g);
        add_sums<Codec::SZp>(g);
    }
    if constexpr (sizeof(T) > 2) add_others(g, wanted);
    measure(g, chosen.runs);

    std::vector<double> copies;
    std::vector<nlohmann::json> frames, sums;
    for (const row& r : g.rows) {
        nlohmann::json j = record(g, r);
        j.update({{"field", name},
                  {"type", type_name<T>},
                  {"values", x.size()},
                  {"bound_of_range", relative},
                  {"bound", g.eb}});
        (r.is_sum ? sums : frames).push_back(j);
        to.add(std::move(j), r.failed());
        for (const operation& o : r.operations)
            copies.insert(copies.end(), o.copy_seconds.begin(), o.copy_seconds.end());
    }
    fmt::print("\n{} {}, eb = {:.0e} of the range = {:.4g}; memcpy {:.2f} GB/s\n", name, type_name<T>,
               relative, g.eb, g.raw_bytes() / spread_of(copies).median * 1e-9);
    print_rows(frames, {{"compress", "compress"}, {"decompress", "decompress"}}, "codec", "err/eb");
    print_rows(sums, {{"add", "add"}, {"doc_add", "DOC add"}}, "sum of 2 frames", "err/2eb");
    std::fflush(stdout);
}

template <class T>
void run_field(report& to, const options& chosen, const std::vector<ccoll::isa>& isas,
               const std::string& name, const std::vector<T>& x)
{
    const statistics s = statistics_of<T>(x);
    if (!(s.range() > 0) || !std::isfinite(s.range())) {
        fmt::print(
            "\n# {} {}: skipped, because the values have no range that a bound could be a fraction of\n",
            name, type_name<T>);
        return;
    }
    const double mib = static_cast<double>(x.size() * sizeof(T)) / (1 << 20);
    fmt::print("\n# {} {}: {} values = {:.2f} MiB, {:.4g} .. {:.4g}, {:.2f} % zeros, {:.2f} % denormals\n",
               name, type_name<T>, x.size(), mib, s.low, s.high, 100 * s.zeros, 100 * s.denormals);
    to.line({{"record", "field"},
             {"field", name},
             {"type", type_name<T>},
             {"values", x.size()},
             {"low", s.low},
             {"high", s.high},
             {"zeros", s.zeros},
             {"denormals", s.denormals}});
    const placed_array<T> place(x.size(), chosen.offset);
    std::copy(x.begin(), x.end(), place.values.begin());
    for (const double relative : chosen.bounds)
        run_group<T>(to, chosen, isas, name, std::span<const T>(place.values), s.range(), relative);
}

/// A codec without a bound.
template <class Codec, class T>
void add_exact(group<T>& g)
{
    g.scratch.resize(std::max(g.scratch.size(), ccoll::max_encoded_bytes<Codec, T>(g.x.size())));
    frame encoded;
    for (const ccoll::isa isa : g.isas) {
        ccoll::use_isa(isa);
        row r = g.new_row(Codec::name, isa);
        const auto encode = [&g] { return ccoll::encode<Codec>(g.x, ccoll::byte_span(g.scratch)); };
        const ccoll::encode_result written = encode();
        r.note(written.code);
        r.bytes = written.bytes;
        same_bytes(encoded, g.encoded(written), r);
        r.note(ccoll::decode<Codec>(g.encoded(written), g.y));
        r.result.holds = std::memcmp(g.x.data(), g.y.data(), g.x.size_bytes()) == 0;
        r.operations.emplace_back("compress", encode);
        r.operations.emplace_back("decompress", [&g, encoded] {
            (void)ccoll::decode<Codec>(ccoll::const_byte_span(*encoded), g.y);
        });
        g.rows.push_back(std::move(r));
    }
}

/// Weights, and for comparison bits that no codec shortens, with the exact codecs.
template <class T>
void run_exact(report& to, const options& chosen, const std::vector<ccoll::isa>& isas,
               const std::string& name, const std::vector<T>& x)
{
    const placed_array<T> place(x.size(), chosen.offset);
    std::copy(x.begin(), x.end(), place.values.begin());
    group<T> g(place.values, 0, isas, chosen.offset);
    add_exact<Codec::None>(g);
    add_exact<Codec::Lossless>(g);
    measure(g, chosen.runs);
    std::vector<double> copies;
    std::vector<nlohmann::json> frames;
    for (const row& r : g.rows) {
        nlohmann::json j = record(g, r);
        j.update({{"field", name}, {"type", type_name<T>}, {"values", x.size()}});
        frames.push_back(j);
        to.add(std::move(j), r.failed());
        for (const operation& o : r.operations)
            copies.insert(copies.end(), o.copy_seconds.begin(), o.copy_seconds.end());
    }
    fmt::print("\n{} {}, {} values; memcpy {:.2f} GB/s\n", name, type_name<T>, x.size(),
               g.raw_bytes() / spread_of(copies).median * 1e-9);
    print_rows(frames, {{"compress", "compress"}, {"decompress", "decompress"}}, "codec", "");
    std::fflush(stdout);
}

void run_weights(report& to, const options& chosen, const std::vector<ccoll::isa>& isas)
{
    const std::size_t bytes = chosen.mib << 20;
    const auto both = [&](const std::string& name, const std::vector<float>& w) {
        std::vector<float> x(bytes / sizeof(float));
        std::vector<ccoll::bfloat16> half(bytes / sizeof(ccoll::bfloat16));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = w[i % w.size()];
        for (std::size_t i = 0; i < half.size(); ++i) half[i] = static_cast<ccoll::bfloat16>(w[i % w.size()]);
        run_exact(to, chosen, isas, name, x);
        run_exact(to, chosen, isas, name, half);
    };
    both("weights", fields::weights(bytes / sizeof(ccoll::bfloat16), 1));
    if (!chosen.model.empty()) {
        const auto size = std::filesystem::file_size(chosen.model);
        std::vector<float> w(size / sizeof(float));
        std::ifstream in(chosen.model, std::ios::binary);
        in.read(reinterpret_cast<char*>(w.data()), static_cast<std::streamsize>(w.size() * sizeof(float)));
        if (w.empty() || !in) throw std::runtime_error(chosen.model + ": no f32 values can be read");
        both(std::filesystem::path(chosen.model).filename().string(), w);
    }
    std::mt19937_64 random(2);
    std::vector<std::uint32_t> bits(bytes / sizeof(std::uint32_t));
    for (std::uint32_t& v : bits) v = static_cast<std::uint32_t>(random());
    std::vector<float> x(bits.size());
    std::vector<ccoll::bfloat16> half(2 * bits.size());
    std::memcpy(x.data(), bits.data(), bytes);
    std::memcpy(static_cast<void*>(half.data()), bits.data(), bytes);
    run_exact(to, chosen, isas, "random bits", x);
    run_exact(to, chosen, isas, "random bits", half);
}

// ---- the fields by name

const std::vector<std::string> field_names{"quiet", "wave",      "turbulence", "noise",
                                           "zeros", "denormals", "zero-runs",  "denormal-runs",
                                           "land",  "gaps",      "constant",   "real"};

template <class T>
std::vector<T> rounded(const std::vector<float>& x)
{
    std::vector<T> y;
    for (const float v : x) y.push_back(T(v));
    return y;
}

/// Generates a field when it is first used. Fields are in double and as large as the smallest type needs, so
/// that f32 and f64 have the same field.
class generator {
public:
    explicit generator(std::size_t mib)
        : mib_(mib),
          depth_(std::bit_ceil(std::max<std::size_t>(
              64, mib * (std::size_t{1} << 20) / sizeof(float) / (fields::grid_edge * fields::grid_edge))))
    {}

    template <class T>
    std::vector<T> field(const std::string& name)
    {
        const std::size_t n = count<T>();
        if (name == "quiet" || name == "wave") {
            if (!wave_) wave_ = fields::acoustic_wave(depth_);
            return fields::middle<T>(name == "quiet" ? wave_->quiet : wave_->late, n);
        }
        if (name == "noise") return fields::middle<T>(fields::white_noise(n, 1), n);
        if (name == "constant") {  // whole chunks, between two values that give the field a range
            std::vector<T> same(n, T(3.25));
            same.front() = T(0);
            same.back() = T(5);
            return same;
        }
        if (turbulence_.empty()) turbulence_ = fields::spectral_turbulence(depth_, 1);
        std::vector<T> x = fields::middle<T>(turbulence_, n);
        if (name == "turbulence") return x;
        if (name == "land" || name == "gaps") {
            fields::take_away(x, name == "land" ? fields::missing::land : fields::missing::gaps);
            return x;
        }
        // Single values fall into nearly every vector of a processor. In runs, as behind a wave front, they
        // fall into every twentieth.
        const bool runs = name == "zero-runs" || name == "denormal-runs",
                   zero = name == "zeros" || name == "zero-runs";
        fields::sprinkle(x, zero ? fields::speck::zero : fields::speck::denormal, runs ? 4096 : 1, 1);
        return x;
    }
    template <class T>
    std::size_t count() const
    {
        return mib_ * (std::size_t{1} << 20) / sizeof(T);
    }

private:
    std::size_t mib_, depth_;
    std::optional<fields::wave_snapshots> wave_;
    std::vector<double> turbulence_;
};

template <class T>
void run_named(report& to, const options& chosen, const std::vector<ccoll::isa>& isas, generator& generate,
               const std::string& name)
{
    if (std::find(chosen.types.begin(), chosen.types.end(), type_name<T>) == chosen.types.end()) return;
    // Numbers of two bytes are the floats, rounded: half as many bytes.
    using number = std::conditional_t<sizeof(T) == 2, float, T>;
    const auto run = [&](const std::string& as, const std::vector<number>& x) {
        if constexpr (sizeof(T) == 2) run_field<T>(to, chosen, isas, as, rounded<T>(x));
        else run_field<T>(to, chosen, isas, as, x);
    };
    if (name != "real") {
        run(name, generate.field<number>(name));
    } else if (!chosen.data.empty()) {
        for (const auto& file : fields::files_of<number>(chosen.data))
            run(file.filename().string(), fields::read_middle<number>(file, generate.count<number>()));
    }
}

/// The table of docs/performance.md in Markdown: the measurements at one bound, one line per codec and
/// instruction set.
void print_summary(const report& from, const options& chosen)
{
    const auto& all = from.all();
    const auto find = [&](const std::string& record, const nlohmann::json& like, const std::string& field,
                          const std::string& type) -> const nlohmann::json* {
        for (const auto& r : all)
            if (r["record"] == record && r["codec"] == like["codec"] && r["isa"] == like["isa"] &&
                r["field"] == field && r["type"] == type)
                return &r;
        return nullptr;
    };
    fmt::print(
        "\ncompress / decompress / add two frames, as multiples of memcpy\n\n| codec | instruction set |");
    std::string rule = "|---|---|";
    for (const std::string& type : chosen.types)
        for (const std::string& field : chosen.fields) {
            fmt::print(" {} {} |", field, type);
            rule += "---|";
        }
    fmt::print("\n{}\n", rule);
    std::vector<std::string> seen;
    for (const auto& r : all) {
        const std::string codec = r["codec"], isa = r["isa"], key = "| " + codec + " | " + isa + " |";
        if (r["record"] != "frame" || std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
        seen.push_back(key);
        fmt::print("{}", key);
        for (const std::string& type : chosen.types)
            for (const std::string& field : chosen.fields) {
                const auto times = [](const nlohmann::json* of, const char* what) {
                    return (*of)[what]["times_memcpy"].get<double>();
                };
                const nlohmann::json *moved = find("frame", r, field, type),
                                     *sum = find("sum", r, field, type);
                fmt::print(" ");
                if (moved != nullptr)
                    fmt::print("{:.2f} / {:.2f}", times(moved, "compress"), times(moved, "decompress"));
                if (sum != nullptr) fmt::print(" / {:.2f}", times(sum, "add"));
                fmt::print(" |");
            }
        fmt::print("\n");
    }
}

// ---- the command line

std::string processor_name()
{
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

/// Has no date, so that files from equal machines can be compared.
nlohmann::json header(const options& chosen)
{
    nlohmann::json j{
        {"record", "header"},
        {"benchmark", "codec"},
        {"cpu", processor_name()},
        {"highest_isa", ccoll::name_of(ccoll::highest_isa())},
        {"tsc_ghz", tsc_ghz()},
        {"mib", chosen.mib},
        {"runs", chosen.runs},
        {"offset", chosen.offset},
        {"threads", threads},
        {"ccoll", fmt::format("{}.{}.{}", ccoll::version_major, ccoll::version_minor, ccoll::version_patch)}};
#if defined(__clang__)
    j["compiler"] = "clang " __clang_version__;
#elif defined(__GNUC__)
    j["compiler"] = "g++ " __VERSION__;
#endif
#ifdef BENCHMARK_FLAGS
    j["flags"] = BENCHMARK_FLAGS;
#endif
#ifdef BENCHMARK_WITH_ZFP
    j["zfp"] = ZFP_VERSION_STRING;
#endif
    return j;
}

void print_header(const nlohmann::json& j)
{
    fmt::print(
        "{}; {} {}; {:.2f} GHz time stamp counter; {} thread; {} MiB, median of {}; arrays begin {} bytes "
        "after the start of a cache line\n"
        "GB/s and memcpy: raw bytes of one vector. tsc: ticks of the time stamp counter per value (the clock "
        "of the core varies). err/eb: largest error divided by the bound; all values are checked.\n"
        "For sums, and for frames that can be added, err/eb may exceed 1 by the rounding of the result, at "
        "most two half ulps.\n"
        "add: two frames without decoding. DOC add: decode one frame, add own values, encode.\n",
        j["cpu"].get<std::string>(), j.value("compiler", "unknown compiler"), j.value("flags", ""),
        j["tsc_ghz"].get<double>(), threads, j["mib"].get<std::size_t>(), j["runs"].get<int>(),
        j["offset"].get<std::size_t>());
}

std::vector<ccoll::isa> instruction_sets(const options& chosen)
{
    std::vector<ccoll::isa> found;
    for (const ccoll::isa isa : ccoll::every_isa) {
        const bool wanted = chosen.isas.empty() || std::find(chosen.isas.begin(), chosen.isas.end(),
                                                             ccoll::name_of(isa)) != chosen.isas.end();
        if (wanted && ccoll::machine_has(isa)) found.push_back(isa);
        else if (wanted)
            fmt::print(stderr, "left out {}, which this machine does not have\n", ccoll::name_of(isa));
    }
    return found;
}

void declare(CLI::App& app, options& o)
{
    std::vector<std::string> isa_names;
    for (const ccoll::isa isa : ccoll::every_isa) isa_names.emplace_back(ccoll::name_of(isa));
    app.add_option("--field", o.fields, "fields; 'real' means the files of --data")
        ->delimiter(',')
        ->check(CLI::IsMember(field_names))
        ->capture_default_str();
    app.add_option("--eb", o.bounds, "absolute bounds, as fractions of the value range")
        ->delimiter(',')
        ->check(CLI::Range(1e-12, 1.0))
        ->capture_default_str();
    app.add_option("--codec", o.codecs,
                   "codecs, also SZe, ByteZip, BitZip, BitWise, BitCut, BitMask and Zfp; zfp is libzfp, for "
                   "comparison; rates: both at 8, 16 and 24 bits")
        ->delimiter(',')
        ->check(CLI::IsMember({"SZp", "SZx", "PipeSZx", "SZe", "ByteZip", "BitZip", "BitWise", "BitCut",
                               "BitMask", "Zfp", "zfp", "rates"}))
        ->capture_default_str();
    app.add_option("--isa", o.isas, "instruction sets; default: all that the machine has")
        ->delimiter(',')
        ->check(CLI::IsMember(isa_names));
    app.add_option("--type", o.types, "element types; also bf16 and f16, for SZp")
        ->delimiter(',')
        ->check(CLI::IsMember({"f32", "f64", "bf16", "f16"}))
        ->capture_default_str();
    app.add_option("--mib", o.mib, "raw size of each field")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--offset", o.offset,
                   "bytes from the start of a cache line to the start of each array; malloc gives 16")
        ->check(CLI::IsMember({0, 8, 16, 24, 32, 40, 48, 56}))
        ->capture_default_str();
    app.add_option("--runs", o.runs, "timed runs, after one that is not timed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--data", o.data, "folder of raw little-endian *.f32 and *.f64")
        ->check(CLI::ExistingDirectory);
    app.add_option("--json", o.json, "write JSON lines to this file");
    CLI::Option* quick = app.add_flag(
        "--quick", o.quick, "the table of docs/performance.md: wave and turbulence at 1e-3, with a summary");
    app.add_flag("--denormals", o.denormals,
                 "turbulence at 1e-3, alone and with 5 % of its values denormal, or zero at the same places")
        ->excludes(quick);
    CLI::Option* weights = app.add_flag(
        "--weights", o.weights, "exact codecs on weights, f32 and bf16, and on random bits; no other field");
    weights->excludes(quick);
    app.add_option("--model", o.model, "with --weights: a file of raw little-endian f32, weights of a model")
        ->check(CLI::ExistingFile)
        ->needs(weights);
}

void apply_sets(const CLI::App& app, options& o)
{
    if (app.count("--field") != 0 && o.data.empty() &&
        std::find(o.fields.begin(), o.fields.end(), "real") != o.fields.end())
        throw std::runtime_error("--field real: name the folder of the files with --data");
    if (!o.quick && !o.denormals) return;
    if (app.count("--eb") == 0) o.bounds = {1e-3};
    if (app.count("--field") != 0) return;
    if (o.quick) o.fields = {"wave", "turbulence"};
    else o.fields = {"turbulence", "zeros", "denormals", "zero-runs", "denormal-runs"};
}

}  // namespace

int main(int argc, char** argv)
try {
    tsc_ghz();
    CLI::App app{"codecs without collectives, against memcpy"};
    options chosen;
    declare(app, chosen);
    CLI11_PARSE(app, argc, argv);
    apply_sets(app, chosen);
    const std::vector<ccoll::isa> isas = instruction_sets(chosen);

    report to(chosen.json);
    const nlohmann::json about = header(chosen);
    print_header(about);
    to.line(about);
    if (chosen.weights) run_weights(to, chosen, isas);
    generator generate(chosen.mib);
    for (const std::string& name : chosen.weights ? std::vector<std::string>{} : chosen.fields) {
        run_named<float>(to, chosen, isas, generate, name);
        run_named<double>(to, chosen, isas, generate, name);
        run_named<ccoll::bfloat16>(to, chosen, isas, generate, name);
        run_named<ccoll::half>(to, chosen, isas, generate, name);
    }
    if (chosen.quick) print_summary(to, chosen);
    if (to.failed())
        fmt::print(stderr, "FAILED: a bound was broken, or a codec failed; see the lines above\n");
    return to.failed() ? 1 : 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
}
