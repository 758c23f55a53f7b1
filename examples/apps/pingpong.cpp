// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// pingpong.cpp - a field goes to a partner and back, many times: ratio, time, the error after all journeys,
// and the speed of the codec alone.
// Source: Hu and Koibuchi 2021, figures 5 to 7, 13 and 14, table 2.
#include <cmath>

#include "app.hpp"

namespace {

using floats = std::vector<float>;

struct speeds {
    double encode = 0, decode = 0;  ///< GB/s
};

/// Of the codec with this name, in encoding and decoding `field` for some milliseconds.
template <class... Codecs>
speeds speeds_of(const std::string& name, const floats& field, double bound)
{
    speeds s;
    const auto measure = [&]<class Codec>(Codec) {
        if (name != Codec::name) return;
        std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec, float>(field.size()));
        floats back(field.size());
        const auto per_second = [&](auto&& work) {
            const double start = app::seconds();
            double bytes = 0;
            do {
                work();
                bytes += static_cast<double>(field.size() * sizeof(float));
            } while (app::seconds() - start < 3e-3);
            return 1e-9 * bytes / (app::seconds() - start);
        };
        s.encode = per_second([&] { ccoll::encode<Codec>(field, frame, bound); });
        s.decode = per_second([&] { ccoll::decode<Codec>(frame, back); });
    };
    (measure(Codecs{}), ...);
    return s;
}

struct pingpong {
    static constexpr auto& menu = app::plans;
    int elements = 65536, laps = 10;

    std::vector<app::setting> settings()
    {
        return {{"--elements", &elements, 8192, 0, 1e9, "floats of a message"},
                {"--laps", &laps, 3, 1, 1e6, "journeys there and back"}};
    }
    void defaults(app::options& o)
    {
        o.program = "pingpong";
        o.about = "A message to a partner and back, compressed";
        o.plans = {"SZp", "SZe", "SZx", "BitZip", "BitWise", "ByteZip", "BitCut"};
        o.bounds = {1e-6, 1e-4, 1e-2};
    }

    template <class Comm>
    bool run(const app::ranks<Comm>& here, const app::options& o)
    {
        const int partner = here.rank ^ 1, tag = 1;  // with an odd number of ranks, the last one has none
        const bool plays = partner < here.size, serves = here.rank < partner;
        floats field(static_cast<std::size_t>(elements));
        // Waves of several lengths, as a line of a simulation.
        for (std::size_t i = 0; i < field.size(); ++i) {
            const double x = static_cast<double>(i);
            field[i] =
                static_cast<float>(std::sin(2e-3 * x) + 0.3 * std::sin(0.017 * x + 1) * std::sin(1.1e-4 * x) +
                                   0.01 * std::sin(0.9 * x));
        }

        const auto send = [&](auto& way, floats& f) {
#if !defined(CCOLL_NO_MPI)
            if constexpr (std::is_same_v<Comm, MPI_Comm>)
                if (way.plain) {
                    MPI_Send(f.data(), elements, MPI_FLOAT, partner, tag, way.comm);
                    return ccoll::report{};
                }
#endif
            return ccoll::send(way.plan, f, partner, tag, way.comm, way.bound);
        };
        const auto receive = [&](auto& way, floats& f) {
#if !defined(CCOLL_NO_MPI)
            if constexpr (std::is_same_v<Comm, MPI_Comm>)
                if (way.plain) {
                    MPI_Recv(f.data(), elements, MPI_FLOAT, partner, tag, way.comm, MPI_STATUS_IGNORE);
                    return ccoll::report{};
                }
#endif
            return ccoll::recv(way.plan, f, partner, tag, way.comm, way.bound);
        };
        ccoll::attach(here.comm);

        const auto solve = [&](auto& way) {
            floats ball = serves ? field : floats(field.size());
            for (int lap = 0; plays && lap < laps; ++lap) {
                if (serves) way.call([&] { return send(way, ball); });
                way.call([&] { return receive(way, ball); });
                if (!serves) way.call([&] { return send(way, ball); });
            }
            return ball;
        };
        const auto judge = [&](const auto& way, const floats& ball) -> std::vector<app::figure> {
            double error = 0;
            for (std::size_t i = 0; plays && i < field.size(); ++i)
                error =
                    std::max(error, std::fabs(static_cast<double>(ball[i]) - static_cast<double>(field[i])));
            namespace Codec = ccoll::policies::Codec;
            const speeds s =
                speeds_of<Codec::SZp, Codec::SZe, Codec::SZx, Codec::BitZip, Codec::BitWise, Codec::ByteZip,
                          Codec::BitCut, Codec::Lossless>(way.name, field, way.bound);
            return {{"error at the end", error, 2 * laps * way.bound},
                    {"encode, GB/s", s.encode},
                    {"decode, GB/s", s.decode}};
        };
        return app::compare(here, o, std::to_string(elements) + " floats, " + std::to_string(laps) + " laps",
                            menu, solve, judge);
    }
};

}  // namespace

int main(int argc, char** argv) { return app::main<pingpong>(argc, argv); }
