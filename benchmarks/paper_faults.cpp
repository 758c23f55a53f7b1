// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_faults.cpp - what checks and corrections cost (Hu, figure 16), and what is left of a speed-up on
// links that flip bits (figure 17). Wrong bits are made by transport/faulty.hpp on top of MPI, on the links
// that this program runs on. Prints tables, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/ccoll.hpp>
#include <ccoll/integrity/crc32c.hpp>
#include <ccoll/integrity/hamming.hpp>
#include <ccoll/transport/faulty.hpp>

#include <cmath>
#include <fstream>
#include <functional>

#include "over_mpi.hpp"
#include "paper_fields.hpp"

using namespace ccoll::policies;

namespace {

struct options {
    std::vector<std::string> parts{"checks", "links"};
    std::vector<double> rates{0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5}, bounds{1e-6, 1e-4, 1e-2};
    std::size_t elements = std::size_t{1} << 19;
    int repetitions = 5;
    std::string link = "unknown", json;
};

void write(const options& o, const nlohmann::json& row)
{
    if (!o.json.empty()) std::ofstream(o.json, std::ios::app) << row.dump() << '\n';
}

/// Microseconds of a check of the frames of messages, beside those of the codec: a sender's and a receiver's
/// work.
void checks(const options& o)
{
    const auto microseconds = [](auto work) {
        std::vector<double> all;
        for (int k = 0; k < 21; ++k) {
            const double begin = MPI_Wtime();
            work();
            all.push_back(1e6 * (MPI_Wtime() - begin));
        }
        return quantile(std::move(all), 0.5);
    };
    fmt::print(
        "Blast waves, f64, BitZip at 1e-4: microseconds on one core\n{:>10} {:>10} | {:>9} {:>9} | {:>9} | "
        "{:>9} {:>9}  check words\n",
        "raw", "frame", "encode", "decode", "CRC-32C", "Hamming", "correct");
    const std::vector<double> blast = fields::blast_waves(8192);
    for (const std::size_t n :
         {std::size_t{8192}, std::size_t{65536}, std::size_t{524288}, std::size_t{4194304}}) {
        std::vector<double> x(n), y(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t finer = n / blast.size(), cell = std::min(i / finer, blast.size() - 2);
            x[i] = blast[cell] + (blast[cell + 1] - blast[cell]) * static_cast<double>(i % finer) /
                                     static_cast<double>(finer);
        }
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec::BitZip, double>(n));
        ccoll::encode_result r;
        const double encode = microseconds([&] { r = ccoll::encode<Codec::BitZip>(x, frame, 1e-4); });
        const ccoll::byte_span written = ccoll::byte_span(frame).first(r.bytes);
        const double decode =
            microseconds([&] { static_cast<void>(ccoll::decode<Codec::BitZip>(written, y)); });
        volatile std::uint32_t sum = 0;
        const double crc = microseconds([&] { sum = ccoll::crc32c(written); });
        constexpr ccoll::hamming_code code = ccoll::hamming_code_for(1e-5);
        std::vector<std::byte> words(code.check_bytes(written.size()));
        const double hamming = microseconds([&] { ccoll::hamming_encode(code, written, words); });
        const double correct = microseconds([&] {
            written[written.size() / 2] ^= std::byte{4};
            sum = static_cast<std::uint32_t>(ccoll::hamming_correct(code, written, words).corrected);
        });
        fmt::print("{:10} {:10} | {:9.1f} {:9.1f} | {:9.2f} | {:9.2f} {:9.2f}  {:.1f} %\n", n * 8,
                   written.size(), encode, decode, crc, hamming, correct,
                   100 * static_cast<double>(words.size()) / static_cast<double>(written.size()));
        write(o, {{"what", "checks"},
                  {"raw_bytes", n * 8},
                  {"frame_bytes", written.size()},
                  {"encode_us", encode},
                  {"decode_us", decode},
                  {"crc_us", crc},
                  {"hamming_us", hamming},
                  {"correct_us", correct}});
    }
}

using link_with_faults = ccoll::faulty<decltype(ccoll::transport_for<MPI_Comm>::make(MPI_COMM_WORLD))>;

struct row {
    std::string name;
    double bound;  ///< 0: none
    std::function<ccoll::report(std::vector<double>&)> run;
    std::vector<double> seconds{};
    std::uint64_t resent = 0, corrected = 0;
    double largest = 0;
};

/// bcast of the values of k-means, plain and compressed, without faults and with them.
/// @return whether all values are within their bounds
bool links(const options& o, int me, int p)
{
    const std::vector<double> x = fields::observation_points(o.elements);
    const int n = static_cast<int>(x.size());
    bool holds = true;
    for (const double rate : o.rates) {
        ccoll::fault_rates rates;
        rates.bit_errors = rate;
        rates.seed = static_cast<unsigned>(me + 1);
        link_with_faults bad(ccoll::transport_for<MPI_Comm>::make(MPI_COMM_WORLD), rates);
        std::vector<row> rows;
        rows.push_back({"plain MPI, no wrong bits", 0, [&](std::vector<double>& y) {
                            MPI_Bcast(y.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
                            return ccoll::report{};
                        }});
        rows.push_back({"no codec, CRC", 0, [&](std::vector<double>& y) {
                            return ccoll::bcast<Algo::Chain, Fault::Crc32c>(y, 0, bad);
                        }});
        for (const double bound : o.bounds) {
            rows.push_back({"BitMask<BitZip>, CRC", bound, [&, bound](std::vector<double>& y) {
                                return ccoll::bcast<Algo::Chain, Codec::BitMask<Codec::BitZip>, RuntimeBound,
                                                    Fault::Crc32c>(y, 0, bad, bound);
                            }});
            rows.push_back({"BitMask<BitZip>, Hamming", bound, [&, bound](std::vector<double>& y) {
                                return ccoll::bcast<Algo::Chain, Codec::BitMask<Codec::BitZip>, RuntimeBound,
                                                    Fault::Hamming>(y, 0, bad, bound);
                            }});
        }
        constexpr double patience_s = 1;  // calls that take longer are made once
        for (int k = -1; k < o.repetitions; ++k)
            for (row& r : rows) {
                if (k >= 0 && !r.seconds.empty() && r.seconds[0] > patience_s) continue;
                std::vector<double> y = me == 0 ? x : std::vector<double>(x.size());
                MPI_Barrier(MPI_COMM_WORLD);
                const double begin = MPI_Wtime();
                const ccoll::report report = r.run(y);
                const double seconds = over_ranks(MPI_Wtime() - begin, MPI_MAX);
                double largest = 0;
                for (std::size_t i = 0; i < y.size(); ++i)
                    largest = std::max(largest, std::fabs(y[i] - x[i]));
                r.largest = std::max(r.largest, over_ranks(largest, MPI_MAX));
                if (k < 0 && seconds < patience_s) continue;
                r.seconds.push_back(seconds);
                r.resent += static_cast<std::uint64_t>(
                    over_ranks(static_cast<double>(report.faults.resent), MPI_SUM));
                r.corrected += static_cast<std::uint64_t>(
                    over_ranks(static_cast<double>(report.faults.corrected), MPI_SUM));
            }
        if (me == 0)
            fmt::print(
                "\nbcast of {} doubles of observation points, {} ranks, {}, wrong bits: {:g}\n{:28} {:>7} "
                "{:>9} {:>17} {:>6} {:>8} {:>9}\n",
                n, p, o.link, rate, "", "bound", "ms", "quartiles", "speed", "resent", "corrected");
        for (const row& r : rows) {
            holds &= r.largest <= r.bound;
            if (me != 0) continue;
            const double ms = 1e3 * quantile(r.seconds, 0.5), low = 1e3 * quantile(r.seconds, 0.25),
                         high = 1e3 * quantile(r.seconds, 0.75),
                         speed = 1e3 * quantile(rows[0].seconds, 0.5) / ms;
            fmt::print("{:28} {:7g} {:9.2f} {:8.2f}-{:<8.2f} {:6.2f} {:8} {:9}{}\n", r.name, r.bound, ms, low,
                       high, speed, r.resent, r.corrected, r.largest <= r.bound ? "" : "  BROKEN");
            std::fflush(stdout);
            write(o, {{"what", "faults"},
                      {"operation", "bcast"},
                      {"variant", r.name},
                      {"bit_error_rate", rate},
                      {"bound", r.bound},
                      {"bytes", 8 * n},
                      {"ranks", p},
                      {"link", o.link},
                      {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                      {"ms", ms},
                      {"ms_quartiles", {low, high}},
                      {"speed_up", speed},
                      {"resent", r.resent},
                      {"corrected", r.corrected}});
        }
    }
    return holds;
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"what checks cost, and links that flip bits"};
    options o;
    app.add_option("--part", o.parts, "checks: of one core; links: calls over links that flip bits")
        ->check(CLI::IsMember({"checks", "links"}));
    app.add_option("--rate", o.rates, "probabilities of a wrong bit")
        ->check(CLI::Range(0.0, 1e-4))
        ->capture_default_str();
    app.add_option("--bound", o.bounds)->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--elements", o.elements, "doubles")->check(CLI::Range(1, 1 << 28))->capture_default_str();
    app.add_option("--repetitions", o.repetitions, "timed calls of each variant")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--link", o.link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    bool holds = true;
    for (const std::string& part : o.parts) {
        if (part == "links") holds &= links(o, me, p);
        else if (me == 0) checks(o);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return holds ? 0 : 1;
}
