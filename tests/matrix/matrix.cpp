// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix: collective x algorithm x placement x codec x operation x element x ranks x count x in place x
// how, over all that compiles.
// A sample, another one in every run; spec.hpp says how to run all of it, or one entry.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "support/catch.hpp"
#include "threads_suites.hpp"

#include <ccoll/allreduce.hpp>

using namespace matrix;
using ccoll::threads_comm;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr double slower = 6;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr double slower = 6;
#else
constexpr double slower = 1;
#endif
#else
constexpr double slower = 1;
#endif
/// The library promises that a wrong call ends within 5 s on all ranks. A correct call has more to do.
constexpr double promptly = 5 * slower, patience = 10 * slower;

/// Another call on the same communicator.
void another_call(const threads_comm& comm)
{
    int x[3] = {1, comm.rank(), 7};
    ccoll::allreduce<ccoll::policies::Algo::Ring>(x, comm);
    if (x[0] != comm.size() || x[2] != 7 * comm.size())
        throw std::runtime_error("the call in between is wrong");
}

/// Ranks that stay between entries, so that each entry uses a communicator that has seen other calls,
/// including failed ones.
class world {
public:
    explicit world(int p) : shared_(std::make_shared<shared>())
    {
        shared_->p = p;
        runner_ = std::thread([common = shared_] {
            ccoll::run_ranks(common->p, [&](threads_comm& comm) { common->serve(comm); });
        });
    }
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    /// Ranks that hang are left as they are.
    ~world()
    {
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->over = true;
        }
        shared_->changed.notify_all();
        if (stuck_) runner_.detach();
        else runner_.join();
    }

    /// @return false when not all ranks came back in time
    bool run(std::shared_ptr<job<threads_comm>> what, double seconds)
    {
        std::unique_lock lock(shared_->mutex);
        shared_->current = std::move(what);
        shared_->ended = 0;
        ++shared_->turn;
        shared_->changed.notify_all();
        stuck_ = !shared_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                            [&] { return shared_->ended == shared_->p; });
        return !stuck_;
    }
    std::string who_came_back() const
    {
        const std::lock_guard lock(shared_->mutex);
        return std::to_string(shared_->ended) + " of " + std::to_string(shared_->p) + " ranks came back";
    }

private:
    struct shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::shared_ptr<job<threads_comm>> current;
        int p = 1, turn = 0, ended = 0;
        bool over = false;

        void serve(threads_comm& comm)
        {
            comm.set_nodes(nodes_of_world(p));
            for (int seen = 0;;) {
                std::shared_ptr<job<threads_comm>> mine;
                {
                    std::unique_lock lock(mutex);
                    changed.wait(lock, [&] { return over || turn != seen; });
                    if (over) return;
                    seen = turn;
                    mine = current;
                }
                mine->run(comm.rank(), comm, &another_call);
                {
                    const std::lock_guard lock(mutex);
                    ++ended;
                }
                changed.notify_all();
            }
        }
    };
    std::shared_ptr<shared> shared_;
    std::thread runner_;
    bool stuck_ = false;
};

const std::vector<suite<threads_comm>*>& suites()
{
#if defined(CCOLL_MATRIX_FEW)  // over another transport: elements do not matter to it
    static const std::vector<suite<threads_comm>*> all{&suite_of<float, threads_comm>(),
                                                       &suite_of<std::int32_t, threads_comm>()};
#else
    static const std::vector<suite<threads_comm>*> all{
        &suite_of<float, threads_comm>(),        &suite_of<double, threads_comm>(),
        &suite_of<ccoll::half, threads_comm>(),  &suite_of<point, threads_comm>(),
        &suite_of<location, threads_comm>(),     &suite_of<std::int32_t, threads_comm>(),
        &suite_of<std::uint8_t, threads_comm>(), &suite_of<std::complex<float>, threads_comm>()};
#endif
    return all;
}

/// Runs entries one after the other in one world, and a new one after a deadlock.
class runner {
public:
    explicit runner(int p) : p_(p) {}

    void run(const spec& s)
    {
        std::shared_ptr<job<threads_comm>> what;
        for (suite<threads_comm>* each : suites())
            if (each->element() == s.element) what = each->prepare(s);
        ++count_;
        if (environment("CCOLL_MATRIX_TRACE") != nullptr) std::fprintf(stderr, "%s\n", s.text().c_str());
        if (what == nullptr) return fail(s, "there is no such entry");
        if (!world_) world_ = std::make_unique<world>(p_);
        if (!world_->run(what, s.bad != fault::no ? promptly : patience)) {
            fail(s, "\n  deadlock: " + world_->who_came_back());
            world_.reset();
            return;
        }
        std::string wrong;
        std::vector<summary> told;
        for (int r = 0; r < p_; ++r) {
            wrong += what->judge(r);
            told.push_back(what->tell(r));
        }
        wrong += what->judge_all(told);
        if (!wrong.empty()) fail(s, wrong);
        before_ = s.text();
        if (s.bad == fault::plan && environment("CCOLL_MATRIX_NEW_WORLDS") != nullptr) world_.reset();
    }
    std::size_t count() const { return count_; }
    std::size_t failures() const { return failures_; }

private:
    void fail(const spec& s, const std::string& wrong)
    {
        if (++failures_ > 20) return;
        // Not through Catch, because it would break the line.
        std::fprintf(stderr, "FAILED CCOLL_MATRIX_CASE=\"%s\"%s\n  the entry before it: %s\n",
                     s.text().c_str(), wrong.c_str(), before_.c_str());
    }

    int p_;
    std::unique_ptr<world> world_;
    std::string before_ = "none";
    std::size_t count_ = 0, failures_ = 0;
};

struct row_id {
    suite<threads_comm>* of;
    std::size_t index;
};

void on_ranks(int p)
{
    runner ranks(p);
    const unsigned seed = sample_seed();
    fields::generator random(seed * 100 + static_cast<unsigned>(p));
    if (const std::vector<spec> asked = asked_for(); !asked.empty()) {
        for (const spec& s : asked)
            if (s.p == p) ranks.run(s);
        SUCCEED();
        return;
    }
    std::vector<row_id> rows;
    for (suite<threads_comm>* each : suites())
        for (std::size_t i = 0; i < each->rows(); ++i) rows.push_back({each, i});
    if (everything()) {
        for (const row_id& each : rows)
            for (const spec& s : each.of->all(each.index, p, random)) ranks.run(s);
    } else {
        for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
        const auto most = static_cast<std::size_t>(number_from("CCOLL_MATRIX_CASES", 1e9));
        const bool faults = number_from("CCOLL_MATRIX_FAULTS", 1) > 0;
        const double seconds = number_from("CCOLL_MATRIX_SECONDS", 2);
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; ranks.count() < most; ++i) {
            if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds)
                break;
            const row_id& each = rows[i % rows.size()];
            const spec healthy = each.of->draw(each.index, p, random);
            ranks.run(healthy);
            if (spec wrong = healthy;
                random.below(8) == 0 && faults && each.of->spoil(each.index, wrong, random))
                ranks.run(wrong);
        }
    }
    std::printf("matrix: %d ranks, %zu rows, %zu entries, CCOLL_MATRIX_SEED=%u\n", p, rows.size(),
                ranks.count(), seed);
    INFO("CCOLL_MATRIX_SEED=" << seed);
    CHECK(ranks.failures() == 0);
}

}  // namespace

TEST_CASE("The matrix on 1 rank", "[matrix]") { on_ranks(1); }
TEST_CASE("The matrix on 2 ranks", "[matrix]") { on_ranks(2); }
TEST_CASE("The matrix on 3 ranks", "[matrix]") { on_ranks(3); }
TEST_CASE("The matrix on 4 ranks", "[matrix]") { on_ranks(4); }
TEST_CASE("The matrix on 5 ranks", "[matrix]") { on_ranks(5); }
TEST_CASE("The matrix on 6 ranks", "[matrix]") { on_ranks(6); }
TEST_CASE("The matrix on 7 ranks", "[matrix]") { on_ranks(7); }
TEST_CASE("The matrix on 8 ranks", "[matrix]") { on_ranks(8); }
TEST_CASE("The matrix on 12 ranks", "[matrix]") { on_ranks(12); }
TEST_CASE("The matrix on 13 ranks", "[matrix]") { on_ranks(13); }
TEST_CASE("The matrix on 16 ranks", "[matrix]") { on_ranks(16); }
