// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "route.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include <ccoll/transport/mpi.hpp>
#include <ccoll/tune/settings.hpp>

#include "buffers.hpp"
#include "menu.hpp"
#include "requests.hpp"

namespace preload {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

state now = [] {
    state s;
    std::fill(std::begin(s.smallest), std::end(s.smallest), never);
    return s;
}();

namespace {

plan the_plan;
bool names_communicators = false;

/// What ranks of a communicator have in common.
struct facts {
    bool routed = false;  ///< more than one rank, one group, all of them of this program
    bool attached = false, waits = false;
    bool named = false;  ///< `name` is that of its first rank
    std::string name;
    int me = 0, p = 1;
};

int key = MPI_KEYVAL_INVALID;

int drop(MPI_Comm, int, void* value, void*)
{
    const facts* const f = static_cast<facts*>(value);
    if (f->waits) --now.waiting;
    delete f;
    return MPI_SUCCESS;
}

/// All processes of the group belong to this MPI_COMM_WORLD, which has read one plan.
bool of_this_program(MPI_Comm comm, int p)
{
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<std::size_t>(p)), there(ranks.size());
    for (int i = 0; i < p; ++i) ranks[static_cast<std::size_t>(i)] = i;
    PMPI_Group_translate_ranks(group, p, ranks.data(), world, there.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
}

facts& facts_of(MPI_Comm comm)
{
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, key, &value, &found);
    if (found != 0) return *static_cast<facts*>(value);
    auto* const fresh = new facts;
    int two_groups = 0;
    PMPI_Comm_test_inter(comm, &two_groups);
    PMPI_Comm_size(comm, &fresh->p);
    PMPI_Comm_rank(comm, &fresh->me);
    fresh->routed = two_groups == 0 && fresh->p > 1 && of_this_program(comm, fresh->p);
    PMPI_Comm_set_attr(comm, key, fresh);
    return *fresh;
}

void tell(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    patiently(
        comm, [&] { return PMPI_Bcast(data, n, type, root, comm); },
        [&](MPI_Request* request) { return PMPI_Ibcast(data, n, type, root, comm, request); });
}

/// Names need not be the same on all ranks, so the first one's is taken.
void agree_on_name(MPI_Comm comm, facts& f)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    PMPI_Comm_get_name(comm, name, &length);
    tell(name, sizeof name, MPI_CHAR, 0, comm);
    f.name = name;
    f.named = true;
}

std::uint64_t item_bytes(MPI_Datatype type)
{
    if (type == MPI_FLOAT) return 4;
    if (type == MPI_DOUBLE) return 8;
    if (type == MPI_DATATYPE_NULL) return 0;
    MPI_Count bytes = 0;
    return PMPI_Type_size_x(type, &bytes) == MPI_SUCCESS && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

std::uint64_t sum_of(const dynamic::counts& list, int p)
{
    std::uint64_t n = 0;
    for (int i = 0; list.given() && i < p; ++i) n += static_cast<std::uint64_t>(std::max(0LL, list[i]));
    return n;
}

/// 0 where no codec knows the elements; otherwise 1 + kind.
int code_of(MPI_Datatype type, bool& complex)
{
    const auto s = ccoll::detail::signature_of(type);
    complex = s.complex;
    if (s.element == ccoll::detail::mpi_element::f32) return 1 + static_cast<int>(kind::f32);
    if (s.element == ccoll::detail::mpi_element::f64) return 1 + static_cast<int>(kind::f64);
    return 0;
}

/// What all ranks know of a call whose counts only its ends know.
struct asked {
    std::uint64_t bytes = 0;
    int code = 0;
};
asked ask(const arguments& a, const facts& f)
{
    bool complex = false;
    if (a.which != what::alltoallv) {  // the root knows
        std::uint64_t told[2] = {};
        if (f.me == a.root) {
            told[0] = bytes_seen_by(a);
            told[1] =
                static_cast<std::uint64_t>(code_of(gathers(a.which) ? a.recv_type : a.send_type, complex));
        }
        tell(told, 2, MPI_UINT64_T, a.root, a.comm);
        return {told[0], static_cast<int>(told[1])};
    }
    // A rank without elements may have any type, so ranks tell the kinds that they do have.
    std::uint64_t mine[4] = {};
    const auto look = [&](const dynamic::counts& list, MPI_Datatype type) {
        const std::uint64_t n = sum_of(list, f.p);
        if (n == 0) return;
        mine[0] = std::max(mine[0], n * item_bytes(type));
        mine[1 + code_of(type, complex)] = 1;
    };
    look(a.recv_counts, a.recv_type);
    if (!in_place(a)) look(a.send_counts, a.send_type);
    std::uint64_t all[4] = {};
    patiently(
        a.comm, [&] { return PMPI_Allreduce(mine, all, 4, MPI_UINT64_T, MPI_MAX, a.comm); },
        [&](MPI_Request* request) {
            return PMPI_Iallreduce(mine, all, 4, MPI_UINT64_T, MPI_MAX, a.comm, request);
        });
    const int code = all[1] + all[2] + all[3] != 1 ? 0 : all[2] != 0 ? 1 : all[3] != 0 ? 2 : 0;
    return {all[0], code};
}

/// The first call of ccoll on a communicator waits for all of its ranks, and not in a way that moves other
/// calls on. So they meet before.
void attach(MPI_Comm comm, facts& f)
{
    patiently(
        comm, [&] { return PMPI_Barrier(comm); },
        [&](MPI_Request* request) { return PMPI_Ibarrier(comm, request); });
    (void)ccoll::as_transport(comm);
    if (names_communicators && !f.named) agree_on_name(comm, f);
    now.waiting -= f.waits ? 1 : 0;
    f.waits = false;
    f.attached = true;
}

void find_smallest()
{
    for (const rule& each : the_plan.rules) {
        if (!each.compresses) continue;
        for (std::size_t i = 0; i < whats; ++i)
            if (bit(each.collectives, i))
                now.smallest[i] = std::min(now.smallest[i], std::max<std::uint64_t>(1, each.bytes.from));
        names_communicators = names_communicators || !each.communicator.empty();
    }
    for (const rule& each : the_plan.rules)
        names_communicators = names_communicators || !each.communicator.empty();
}

/// Is there a rule that takes such a call, if its elements are right? All ranks give the same answer.
/// @param bytes  nothing where they are not known yet
bool may_be_taken(what which, std::optional<std::uint64_t> bytes, int p)
{
    return std::any_of(the_plan.rules.begin(), the_plan.rules.end(), [&](const rule& r) {
        return bit(r.collectives, which) && r.compresses && r.ranks.has(static_cast<std::uint64_t>(p)) &&
               (!bytes || r.bytes.has(*bytes));
    });
}

/// A nonblocking call is left to MPI, and those after the next blocking one need not be. All ranks see the
/// same calls on a communicator.
decision until_attached(decision d, facts& f)
{
    now.waiting += f.waits ? 0 : 1;
    f.waits = true;
    d.why = reason::fresh;
    return d;
}

}  // namespace

std::uint64_t bytes_seen_by(const arguments& a)
{
    int me = 0, p = 1;
    if (a.comm == MPI_COMM_NULL) return 0;
    const auto n = [&](long long items, MPI_Datatype type) {
        return static_cast<std::uint64_t>(std::max(0LL, items)) * item_bytes(type);
    };
    switch (a.which) {
    case what::allreduce:
    case what::reduce:
    case what::bcast: return n(a.recv_n, a.recv_type);
    default: break;
    }
    PMPI_Comm_size(a.comm, &p);
    const auto parts = static_cast<std::uint64_t>(p);
    switch (a.which) {
    case what::reduce_scatter_block:
    case what::allgather:
    case what::alltoall: return parts * n(a.recv_n, a.recv_type);
    case what::reduce_scatter:
    case what::allgatherv:
    case what::alltoallv: return sum_of(a.recv_counts, p) * item_bytes(a.recv_type);
    default: break;
    }
    PMPI_Comm_rank(a.comm, &me);
    const bool sends = send_side_tells(a, me), at_root = me == a.root;
    if (a.which == what::gather || a.which == what::scatter)
        return parts * (sends ? n(a.send_n, a.send_type) : n(a.recv_n, a.recv_type));
    if (!at_root) return sends ? n(a.send_n, a.send_type) : n(a.recv_n, a.recv_type);
    return sends ? sum_of(a.send_counts, p) * item_bytes(a.send_type)
                 : sum_of(a.recv_counts, p) * item_bytes(a.recv_type);
}

decision decide(const arguments& a, bool later)
{
    decision d;
    if (a.comm == MPI_COMM_NULL) return d;
    facts& f = facts_of(a.comm);
    d.me = f.me;
    d.p = f.p;
    if (!f.routed) {
        d.why = reason::communicator;
        return d;
    }
    // Arguments that MPI refuses are left to it, with its own words.
    const bool rooted =
        gathers(a.which) || scatters(a.which) || a.which == what::reduce || a.which == what::bcast;
    if (a.recv_n < 0 || a.send_n < 0 || (rooted && (a.root < 0 || a.root >= f.p))) return d;
    if (later && !now.nonblocking) {
        d.why = reason::nonblocking;
        return d;
    }
    if (reduces(a.which)) {
        if (a.op == MPI_SUM) d.op = operation::sum;
        else if (a.op == MPI_MIN) d.op = operation::min;
        else if (a.op == MPI_MAX) d.op = operation::max;
        else {
            d.why = reason::operation;
            return d;
        }
    }
    if (names_communicators && !f.named) {
        if (later) return until_attached(d, f);
        agree_on_name(a.comm, f);
    }
    int code = 0;
    bool complex = false;
    if (must_ask(a.which)) {
        if (later) {
            d.why = reason::nonblocking;
            return d;
        }
        if (!may_be_taken(a.which, std::nullopt, f.p)) return d;
        const asked told = ask(a, f);
        d.bytes = told.bytes;
        code = told.code;
    } else {
        d.bytes = bytes_seen_by(a);
        if (d.bytes > 0) code = code_of(send_side_tells(a, f.me) ? a.send_type : a.recv_type, complex);
        if (a.which == what::bcast && !later && may_be_taken(a.which, d.bytes, f.p)) {
            // Floats may be sent and received as a packing unit (MPI_PACKED), so what they are is the root's
            // word.
            int told = code;
            tell(&told, 1, MPI_INT, a.root, a.comm);
            if (told == 0 || a.recv_type == MPI_PACKED) code = told;
        }
    }
    if (d.bytes == 0) {
        d.why = reason::empty;
        return d;
    }
    if (code == 0 || (complex && reduces(a.which) && d.op != operation::sum)) {
        d.why = reason::elements;
        return d;
    }
    d.elements = static_cast<kind>(code - 1);
    for (const rule& each : the_plan.rules) {
        if (!bit(each.collectives, a.which) || !bit(each.types, d.elements) || !each.bytes.has(d.bytes))
            continue;
        if (!each.ranks.has(static_cast<std::uint64_t>(f.p)) ||
            (reduces(a.which) && !bit(each.operations, d.op)))
            continue;
        if (!each.communicator.empty() && each.communicator != f.name) continue;
        if (!each.compresses) {
            d.why = reason::by_rule;
            return d;
        }
        if (later && !f.attached) return until_attached(d, f);
        d.taken = &each;
        if (now.nonblocking && !f.attached) attach(a.comm, f);
        return d;
    }
    return d;
}

int perform(const arguments& a, const decision& d)
try {
    arguments in_floats = a;
    if (a.which == what::bcast && a.recv_type == MPI_PACKED) {
        in_floats.recv_type = d.elements == kind::f32 ? MPI_FLOAT : MPI_DOUBLE;
        in_floats.recv_n = static_cast<long long>(d.bytes / item_bytes(in_floats.recv_type));
    }
    buffers b(in_floats, d.me, d.p);
    b.in_elements().how = d.taken->how;
    b.in_elements().op = id_of(d.op);
    b.in_elements().type = id_of(d.elements);
    b.begin();
    const ccoll::report done = dynamic::run<menu>(b.in_elements(), a.comm);
    b.end();
    if (is_measured(d.taken->how) && done.ran_by == ccoll::ran_by::mpi) note_left(a, reason::does_not_pay);
    else note_done(a.which, d.me == 0, d.bytes, done);
    return MPI_SUCCESS;
} catch (const std::exception& e) {
    return failed(a, e.what());
}

void attach_if_waiting(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) return;
    if (facts& f = facts_of(comm); f.waits) attach(comm, f);
}

int failed(const arguments& a, const char* says)
{
    static const int error_class = [] {
        int fresh = MPI_ERR_OTHER;
        PMPI_Add_error_class(&fresh);
        PMPI_Add_error_string(
            fresh,
            "ccoll preload: a compressed collective failed; a sentence is on the standard error output");
        return fresh;
    }();
    std::fprintf(
        stderr, "ccoll preload: MPI_%s on rank %d of MPI_COMM_WORLD: %s\n", a.name,
        [] {
            int me = 0;
            PMPI_Comm_rank(MPI_COMM_WORLD, &me);
            return me;
        }(),
        says);
    int code = error_class;
    PMPI_Add_error_code(error_class, &code);
    PMPI_Add_error_string(code, std::string(says).substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
    PMPI_Comm_call_errhandler(a.comm, code);
    return code;
}

void open()
{
    if (now.open) return;
    int me = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    std::string text;
    std::string fault;
    if (const std::string& wrong = asked_report().fault; me == 0 && !wrong.empty())
        std::fprintf(stderr, "ccoll preload: %s\n", wrong.c_str());
    const char* const path = me == 0 ? std::getenv("CCOLL_PLAN") : nullptr;
    if (path != nullptr) {
        std::ifstream file(ccoll::tune::from_first_folder(path));
        text.assign(std::istreambuf_iterator<char>(file), {});
        if (!file || text.empty()) fault = "it cannot be read, or is empty";
        else if (plan read = read_plan(text); !read.fault.empty()) fault = read.fault;
        if (!fault.empty()) {
            std::fprintf(stderr, "ccoll preload: %s: %s; the program runs without a plan\n", path,
                         fault.c_str());
            text.clear();
        }
    }
    unsigned long long length = text.size();
    PMPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    if (length == 0) return;
    text.resize(length);
    PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
    the_plan = read_plan(text);
    // A call that one thread begins and another one waits for would be another thread's.
    int level = MPI_THREAD_SINGLE, highest = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    PMPI_Allreduce(&level, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    the_plan.nonblocking = the_plan.nonblocking && highest <= MPI_THREAD_FUNNELED;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &drop, &key, nullptr);
    now.nonblocking = the_plan.nonblocking;
    now.open = true;
    find_smallest();
    if (now.nonblocking) {
        open_requests();
        attach(MPI_COMM_WORLD, facts_of(MPI_COMM_WORLD));
    }
}

void close()
{
    write_records(now.open);
    close_requests();
}

}  // namespace preload
