// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// paper_alltoall.cpp - what Zhou et al. (ISC 2022) compare, on processors and the links that this program
// runs on: an all-to-all with ZFP at several rates, compressed around each message, as a whole before the
// exchange, or by destination, and the plans of ccoll. Prints a table, and JSON lines with --json.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ccoll/ccoll.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>

#include "over_mpi.hpp"
#include "paper_fields.hpp"
#include "sample_fields.hpp"

using namespace ccoll::policies;

namespace {

MPI_Datatype type_of(float) { return MPI_FLOAT; }
MPI_Datatype type_of(double) { return MPI_DOUBLE; }

/// The designs of the paper, by hand: blocks are encoded with ZFP at a rate, so all frames of a call are
/// equally long. Ranks tell each other these lengths nevertheless, as the paper's do. A rank's own block is
/// copied.
template <class T>
class workshop {
public:
    workshop(std::size_t block, int me, int p)
        : block_(block), me_(me), p_(p), room_(ccoll::max_encoded_bytes<Codec::ZfpAtRate, T>(block)),
          leaving_(room_ * static_cast<std::size_t>(p)), arriving_(leaving_.size()),
          sent_(static_cast<std::size_t>(p)), received_(sent_.size())
    {}

    /// Pairwise exchange: a block is encoded when its message is due, and decoded when it has come.
    void around_each_message(const T* send, T* recv, double rate)
    {
        keep(send, recv);
        for (int k = 1; k < p_; ++k) {
            const int to = (me_ + k) % p_, from = (me_ + p_ - k) % p_;
            encode(send, to, rate);
            MPI_Sendrecv(&sent_[at(to)], 1, MPI_INT, to, 0, &received_[at(from)], 1, MPI_INT, from, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Sendrecv(frame(leaving_, to), sent_[at(to)], MPI_BYTE, to, 1, frame(arriving_, from),
                         received_[at(from)], MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            decode(recv, from);
        }
    }
    /// The paper's naive design: all blocks are encoded, then all leave, and all are decoded when all have
    /// come.
    void then_exchange(const T* send, T* recv, double rate)
    {
        keep(send, recv);
        for_each_other([&](int to) { encode(send, to, rate); });
        MPI_Alltoall(sent_.data(), 1, MPI_INT, received_.data(), 1, MPI_INT, MPI_COMM_WORLD);
        std::vector<MPI_Request> coming, going;
        for_each_other([&](int from) { post(coming, frame(arriving_, from), received_[at(from)], from); });
        for_each_other([&](int to) { leave(going, to); });
        MPI_Waitall(static_cast<int>(coming.size()), coming.data(), MPI_STATUSES_IGNORE);
        MPI_Waitall(static_cast<int>(going.size()), going.data(), MPI_STATUSES_IGNORE);
        for_each_other([&](int from) { decode(recv, from); });
    }
    /// The proposal, on one core: what is encoded leaves at once, and what has come is decoded while others
    /// are on their way. Receives have room for the longest frame, so nobody waits for lengths.
    void by_destination(const T* send, T* recv, double rate)
    {
        keep(send, recv);
        std::vector<MPI_Request> coming, going;
        std::vector<int> senders;
        for_each_other([&](int from) {
            post(coming, frame(arriving_, from), static_cast<int>(room_), from);
            senders.push_back(from);
        });
        for_each_other([&](int to) {
            encode(send, to, rate);
            leave(going, to);
        });
        for (std::size_t left = coming.size(); left > 0; --left) {
            int which = 0;
            MPI_Waitany(static_cast<int>(coming.size()), coming.data(), &which, MPI_STATUS_IGNORE);
            decode(recv, senders[at(which)]);
        }
        MPI_Waitall(static_cast<int>(going.size()), going.data(), MPI_STATUSES_IGNORE);
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    std::byte* frame(std::vector<std::byte>& of, int rank) const { return of.data() + at(rank) * room_; }
    template <class Work>
    void for_each_other(Work work) const
    {
        for (int k = 1; k < p_; ++k) work((me_ + k) % p_);
    }
    void keep(const T* send, T* recv) const
    {
        std::copy_n(send + at(me_) * block_, block_, recv + at(me_) * block_);
    }
    void encode(const T* send, int to, double rate)
    {
        const std::span<const T> in(send + at(to) * block_, block_);
        sent_[at(to)] = static_cast<int>(
            ccoll::encode<Codec::ZfpAtRate>(in, ccoll::byte_span(frame(leaving_, to), room_), rate).bytes);
    }
    void decode(T* recv, int from)
    {
        const std::span<T> out(recv + at(from) * block_, block_);
        if (ccoll::decode<Codec::ZfpAtRate>(ccoll::const_byte_span(frame(arriving_, from), room_), out) !=
            ccoll::status::ok)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    static void post(std::vector<MPI_Request>& all, std::byte* to, int bytes, int from)
    {
        MPI_Irecv(to, bytes, MPI_BYTE, from, 2, MPI_COMM_WORLD, &all.emplace_back());
    }
    void leave(std::vector<MPI_Request>& all, int to)
    {
        MPI_Isend(frame(leaving_, to), sent_[at(to)], MPI_BYTE, to, 2, MPI_COMM_WORLD, &all.emplace_back());
    }

    std::size_t block_;
    int me_, p_;
    std::size_t room_;
    std::vector<std::byte> leaving_, arriving_;
    std::vector<int> sent_, received_;
};

template <class T>
struct row {
    std::string name;
    double bits;  ///< the rate; 0: none
    std::function<ccoll::report(const std::vector<T>&, std::vector<T>&)> run;
    std::vector<double> seconds{};
    double largest = 0;
};

template <class T>
class comparison {
public:
    comparison(const std::vector<T>& x, int me, int p, double eb)
        : x_(x), p_(p), eb_(eb), work_(x.size() / static_cast<std::size_t>(p), me, p)
    {
        rows.push_back({"plain MPI", 0, [this](const auto& in, auto& out) { return plain(in, out); }});
    }
    template <int Bits>
    void add_rate()
    {
        const auto by_hand = [&](std::string name, auto how) {
            rows.push_back({std::move(name), Bits, [this, how](const auto& in, auto& out) {
                                (work_.*how)(in.data(), out.data(), Bits);
                                return ccoll::report{};
                            }});
        };
        by_hand("around each message", &workshop<T>::around_each_message);
        by_hand("as a whole, then exchanged", &workshop<T>::then_exchange);
        by_hand("by destination", &workshop<T>::by_destination);
        add<Algo::Pairwise, Codec::Zfp, FixedRate<Bits>>("ccoll, Pairwise", Bits);
        add<Algo::Spread, Codec::Zfp, FixedRate<Bits>>("ccoll, Spread", Bits);
    }
    void add_bound()
    {
        rows.push_back({"ccoll, Pairwise, SZp", 0, [this](const auto& in, auto& out) {
                            return ccoll::alltoall<Algo::Pairwise, Codec::SZp, RuntimeBound>(
                                in, out, MPI_COMM_WORLD, eb_);
                        }});
    }
    void measure(int repetitions)
    {
        std::vector<T> y(x_.size()), exact(x_.size());
        plain(x_, exact);
        std::vector<std::size_t> order(rows.size());
        std::iota(order.begin(), order.end(), 0u);
        std::mt19937 random(7);  // the same on all ranks
        for (int k = -1; k < repetitions; ++k) {
            std::shuffle(order.begin(), order.end(), random);
            for (const std::size_t i : order) {
                MPI_Barrier(MPI_COMM_WORLD);
                const double begin = MPI_Wtime();
                rows[i].run(x_, y);
                const double seconds = over_ranks(MPI_Wtime() - begin, MPI_MAX);
                if (k >= 0) rows[i].seconds.push_back(seconds);
                double largest = 0;
                for (std::size_t j = 0; j < y.size(); ++j)
                    largest = std::max(largest,
                                       std::fabs(static_cast<double>(y[j]) - static_cast<double>(exact[j])));
                rows[i].largest = over_ranks(largest, MPI_MAX);
            }
        }
    }

    std::vector<row<T>> rows;

private:
    template <class... P>
    void add(std::string name, double bits)
    {
        rows.push_back({std::move(name), bits, [](const auto& in, auto& out) {
                            return ccoll::alltoall<P...>(in, out, MPI_COMM_WORLD);
                        }});
    }
    ccoll::report plain(const std::vector<T>& in, std::vector<T>& out) const
    {
        const int part = static_cast<int>(in.size() / static_cast<std::size_t>(p_));
        MPI_Alltoall(in.data(), part, type_of(T()), out.data(), part, type_of(T()), MPI_COMM_WORLD);
        return {};
    }

    const std::vector<T>& x_;
    int p_;
    double eb_;
    workshop<T> work_;
};

struct options {
    std::vector<std::string> fields{"turbulence"};
    std::vector<std::size_t> kib{64, 256, 1024, 4096};
    std::vector<int> rates{4, 8, 16, 24};
    std::string link = "unknown", json;
    int repetitions = 5;
    double relative = 1e-3;
};

/// Whether SZp, which has a bound, kept it.
template <class T>
bool run(const options& o, const std::string& field, std::vector<T> x, int me, int p)
{
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const double range = over_ranks(static_cast<double>(*high) - static_cast<double>(*low), MPI_MAX),
                 eb = o.relative * range;
    comparison<T> c(x, me, p, eb);
    for (const int rate : o.rates) {
        if (rate == 4) c.template add_rate<4>();
        if (rate == 8) c.template add_rate<8>();
        if (rate == 16) c.template add_rate<16>();
        if (rate == 24) c.template add_rate<24>();
    }
    c.add_bound();
    c.measure(o.repetitions);
    if (me == 0)
        fmt::print(
            "\nalltoall, {} KiB for each rank, of {}, {} ranks, {}\n{:28} {:>4} {:>9} {:>17} {:>6} {:>15}\n",
            x.size() * sizeof(T) / static_cast<std::size_t>(p) / 1024, field, p, o.link, "", "bits", "ms",
            "quartiles", "speed", "error / range");
    for (const row<T>& r : c.rows) {
        if (me != 0) continue;
        const double ms = 1e3 * quantile(r.seconds, 0.5), speed = 1e3 * quantile(c.rows[0].seconds, 0.5) / ms;
        fmt::print("{:28} {:4} {:9.2f} {:8.2f}-{:<8.2f} {:6.2f} {:15.2g}\n", r.name, r.bits, ms,
                   1e3 * quantile(r.seconds, 0.25), 1e3 * quantile(r.seconds, 0.75), speed,
                   r.largest / range);
        std::fflush(stdout);
        if (o.json.empty()) continue;
        std::ofstream(o.json, std::ios::app)
            << nlohmann::json{{"operation", "alltoall"},
                              {"variant", r.name},
                              {"rate", r.bits},
                              {"type", sizeof(T) == 4 ? "f32" : "f64"},
                              {"field", field},
                              {"bytes", x.size() * sizeof(T)},
                              {"ranks", p},
                              {"link", o.link},
                              {"mpi", mpi_version().substr(0, mpi_version().find(','))},
                              {"ms", ms},
                              {"ms_quartiles",
                               {1e3 * quantile(r.seconds, 0.25), 1e3 * quantile(r.seconds, 0.75)}},
                              {"speed_up", speed},
                              {"error_of_range", r.largest / range}}
            << '\n';
    }
    return c.rows.back().largest <= eb;
}

}  // namespace

int main(int argc, char** argv)
{
    const auto [me, p] = begin_mpi(argc, argv);
    CLI::App app{"what Zhou et al. compare: alltoall with ZFP at a rate"};
    options o;
    app.add_option("--field", o.fields, "turbulence, wavefronts, a file *.f32, or f64: points, plasma")
        ->capture_default_str();
    app.add_option("--kib", o.kib, "from each rank to each rank")
        ->check(CLI::Range(1, 1 << 18))
        ->capture_default_str();
    app.add_option("--rate", o.rates, "bits per value")
        ->check(CLI::IsMember({4, 8, 16, 24}))
        ->capture_default_str();
    app.add_option("--repetitions", o.repetitions, "timed calls of each variant")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--link", o.link, "what connects the ranks, for the JSON lines")->capture_default_str();
    app.add_option("--json", o.json, "append JSON lines to this file");
    if (const std::optional<int> rc = exit_of_options(app, argc, argv)) return *rc;
    for (const std::string& field : o.fields)
        if (field != "points" && field != "plasma" && !fields::known(field).empty()) {
            if (me == 0) fmt::print(stderr, "--field: {}\n", fields::known(field));
            MPI_Finalize();
            return 2;
        }
    bool holds = true;
    for (const std::string& field : o.fields)
        for (const std::size_t kib : o.kib) {
            const std::size_t bytes = kib * 1024 * static_cast<std::size_t>(p);
            if (field == "points" || field == "plasma")
                holds &= run<double>(o, field,
                                     field == "points" ? fields::observation_points(bytes / 8)
                                                       : fields::pinch_temperature(bytes / 8),
                                     me, p);
            else
                holds &= run<float>(o, fields::name_of(field),
                                    fields::sample(field, bytes / 4, static_cast<unsigned>(me + 1)), me, p);
        }
    MPI_Finalize();
    return holds ? 0 : 1;
}
