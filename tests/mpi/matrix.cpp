// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix over MPI: a sample of all that compiles for a few element types (tests/matrix/spec.hpp explains
// how to run all, or one entry).
// ranks: 2 3 8
// one MPI
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <unistd.h>

#include "check.hpp"

#include "matrix/job.hpp"

using namespace matrix;

namespace {

/// Another call on the same communicator.
void another_call(const MPI_Comm& comm)
{
    float x[3] = {1, 0, 7};
    ccoll::allreduce<ccoll::policies::Algo::Ring>(x, comm);
    int p = 0;
    MPI_Comm_size(comm, &p);
    EXPECT(x[0] == static_cast<float>(p) && x[2] == 7 * static_cast<float>(p));
}

// A deadlock ends the program, because a rank that waits in MPI cannot be called back.
char under_way[2048];
constexpr unsigned promptly = 5, patience = 30;
extern "C" void too_late(int)
{
    if (write(2, under_way, std::strlen(under_way)) < 0) _exit(3);
    std::abort();
}

template <class T>
suite<MPI_Comm>& rows_of()
{
    static typed_suite<T, MPI_Comm> all(all_rows<T, MPI_Comm, false>());
    return all;
}

class runner {
public:
    runner(int p, int me) : p_(p), me_(me) { renew(); }
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;
    /// Freed here and not earlier, because messages left over from a failed call would arrive in the next
    /// communicator with that context.
    ~runner()
    {
        for (MPI_Comm& each : all_comms_) MPI_Comm_free(&each);
    }

    void run(suite<MPI_Comm>& of, const spec& s)
    {
        waiting_.push_back({of.prepare(s), s.text()});
        entry& e = waiting_.back();
        ++count_;
        if (!check::expect(e.what != nullptr, (s.text() + ": there is no such entry").c_str()))
            return waiting_.pop_back();
        std::snprintf(under_way, sizeof under_way,
                      "FAILED: deadlock on rank %d in CCOLL_MATRIX_CASE=\"%s\"\n  the entry before it: %s\n",
                      me_, e.text.c_str(), before_.c_str());
        if (me_ == 0 && environment("CCOLL_MATRIX_TRACE") != nullptr)
            std::fprintf(stderr, "%s\n", e.text.c_str());
        alarm(s.bad != fault::no ? 2 * promptly : patience);  // twice: the other ranks may come later
        e.what->run(me_, comm_, &another_call);
        alarm(0);
        const std::string wrong = e.what->judge(me_);
        check::expect(
            wrong.empty(),
            ("CCOLL_MATRIX_CASE=\"" + e.text + "\"" + wrong + "\n  the entry before it: " + before_).c_str());
        before_ = e.text;
        if (s.bad == fault::plan && environment("CCOLL_MATRIX_NEW_WORLDS") != nullptr) renew();
        if (waiting_.size() == 16) compare();
    }
    /// Compares what ranks must have in common. Collective.
    void compare()
    {
        std::vector<summary> mine, all(waiting_.size() * static_cast<std::size_t>(p_));
        for (const entry& e : waiting_) mine.push_back(e.what->tell(me_));
        const int bytes = static_cast<int>(mine.size() * sizeof(summary));
        MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
        for (std::size_t i = 0; i < waiting_.size() && me_ == 0; ++i) {
            std::vector<summary> ranks;
            for (std::size_t r = 0; r < static_cast<std::size_t>(p_); ++r)
                ranks.push_back(all[r * waiting_.size() + i]);
            const std::string wrong = waiting_[i].what->judge_all(ranks);
            check::expect(wrong.empty(), ("CCOLL_MATRIX_CASE=\"" + waiting_[i].text + "\"" + wrong).c_str());
        }
        waiting_.clear();
    }
    std::size_t count() const { return count_; }

private:
    void renew()
    {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        all_comms_.push_back(comm_);
        ccoll::set_nodes(comm_, nodes_of_world(p_));
    }
    struct entry {
        std::unique_ptr<job<MPI_Comm>> what;
        std::string text;
    };
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<MPI_Comm> all_comms_;
    int p_, me_;
    std::vector<entry> waiting_;
    std::string before_ = "none";
    std::size_t count_ = 0;
};

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    std::signal(SIGALRM, too_late);
    suite<MPI_Comm>* const suites[] = {&rows_of<float>(), &rows_of<std::int32_t>(), &rows_of<point>()};
    std::optional<runner> kept(std::in_place, p, check::rank);
    runner& ranks = *kept;
    unsigned seed = sample_seed();
    MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    if (check::rank == 0) std::fprintf(stderr, "matrix: CCOLL_MATRIX_SEED=%u\n", seed);
    fields::generator random(seed * 100 + static_cast<unsigned>(p));
    struct row_id {
        suite<MPI_Comm>* of;
        std::size_t index;
    };
    std::vector<row_id> rows;
    for (suite<MPI_Comm>* each : suites)
        for (std::size_t i = 0; i < each->rows(); ++i) rows.push_back({each, i});
    if (const std::vector<spec> asked = asked_for(); !asked.empty()) {
        for (const spec& s : asked)
            for (suite<MPI_Comm>* each : suites)
                if (s.p == p && s.element == each->element()) ranks.run(*each, s);
    } else if (everything()) {
        for (const row_id& each : rows)
            for (const spec& s : each.of->all(each.index, p, random)) ranks.run(*each.of, s);
    } else {
        for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
        const double seconds = number_from("CCOLL_MATRIX_SECONDS", p == 1 ? 1 : 3), begin = MPI_Wtime();
        const bool faults = number_from("CCOLL_MATRIX_FAULTS", 1) > 0;
        const auto most = static_cast<std::size_t>(number_from("CCOLL_MATRIX_CASES", 1500));
        for (std::size_t i = 0;; ++i) {
            int go_on = ranks.count() < most && MPI_Wtime() - begin < seconds;
            if (i % 16 == 0) MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (i % 16 == 0 && go_on == 0) break;
            const row_id& each = rows[i % rows.size()];
            const spec healthy = each.of->draw(each.index, p, random);
            ranks.run(*each.of, healthy);
            if (spec wrong = healthy;
                random.below(12) == 0 && faults && each.of->spoil(each.index, wrong, random))
                ranks.run(*each.of, wrong);
        }
    }
    ranks.compare();
    if (check::rank == 0)
        std::printf("matrix: %d ranks, %zu rows, %zu entries\n", p, rows.size(), ranks.count());
    kept.reset();
    return check::finish();
}
