// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "requests.hpp"

#include <exception>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "buffers.hpp"
#include "menu.hpp"

namespace preload {

int under_way = 0;

namespace {

struct entry {
    arguments of;
    decision by;
    buffers users;
    int tag;
    ccoll::request call{};
    ccoll::persistent prepared{};  ///< in place of `call`, if the request is persistent

    entry(const arguments& a, const decision& d, int its_tag)
        : of(a), by(d), users(a, d.me, d.p), tag(its_tag)
    {
        users.in_elements().how = d.taken->how;
        users.in_elements().op = id_of(d.op);
        users.in_elements().type = id_of(d.elements);
    }
};

MPI_Comm own = MPI_COMM_NULL;  ///< of this process alone
std::vector<std::shared_ptr<entry>> running;
std::map<MPI_Request, std::shared_ptr<entry>> persistent;
std::vector<int> free_tags;
int tags = 0;

int take_tag()
{
    if (free_tags.empty()) return tags++;
    const int tag = free_tags.back();
    free_tags.pop_back();
    return tag;
}

void complete(const entry& e) { PMPI_Send(nullptr, 0, MPI_BYTE, 0, e.tag, own); }

/// @return has it ended?
bool poll(entry& e, int& failure)
{
    try {
        const bool often = e.prepared.valid();
        if (!(often ? e.prepared.test() : e.call.test())) return false;
        const ccoll::report done = often ? e.prepared.wait() : e.call.wait();
        e.users.end();
        note_done(e.of.which, e.by.me == 0, e.by.bytes, done);
    } catch (const std::exception& thrown) {
        failure = failed(e.of, thrown.what());
    }
    complete(e);
    return true;
}

int run(const std::shared_ptr<entry>& e)
{
    int failure = MPI_SUCCESS;
    try {
        e->users.begin();
        if (e->prepared.valid()) e->prepared.start();
        else e->call = dynamic::begin<menu>(e->users.in_elements(), e->of.comm);
    } catch (const std::exception& thrown) {
        failure = failed(e->of, thrown.what());
        complete(*e);
        return failure;
    }
    running.push_back(e);
    ++under_way;
    return progress();
}

}  // namespace

int progress()
{
    int failure = MPI_SUCCESS;
    for (std::size_t i = 0; i < running.size();) {
        const std::shared_ptr<entry> e = running[i];  // an error handler of the program may begin calls
        if (!poll(*e, failure)) {
            ++i;
            continue;
        }
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        --under_way;
        if (e.use_count() == 1) free_tags.push_back(e->tag);
    }
    return failure;
}

int begin(const arguments& a, const decision& d, MPI_Request* request)
try {
    const auto e = std::make_shared<entry>(a, d, take_tag());
    if (const int code = PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, e->tag, own, request); code != MPI_SUCCESS)
        return code;
    return run(e);
} catch (const std::exception& thrown) {
    return failed(a, thrown.what());
}

int prepare(const arguments& a, const decision& d, MPI_Request* request)
try {
    auto e = std::make_shared<entry>(a, d, take_tag());
    e->prepared = dynamic::prepare<menu>(e->users.in_elements(), a.comm);
    if (const int code = PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, e->tag, own, request); code != MPI_SUCCESS)
        return code;
    persistent[*request] = std::move(e);
    return MPI_SUCCESS;
} catch (const std::exception& thrown) {
    return failed(a, thrown.what());
}

bool is_ours(MPI_Request request) { return !persistent.empty() && persistent.count(request) > 0; }
int start(MPI_Request request) { return run(persistent.at(request)); }
void forget(MPI_Request request)
{
    const auto at = persistent.find(request);
    if (at == persistent.end()) return;
    if (at->second.use_count() == 1) free_tags.push_back(at->second->tag);
    persistent.erase(at);
}

void open_requests() { PMPI_Comm_dup(MPI_COMM_SELF, &own); }
void close_requests()
{
    persistent.clear();
    if (own != MPI_COMM_NULL) PMPI_Comm_free(&own);
}

}  // namespace preload
