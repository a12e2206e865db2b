#include "check/collective_call.h"

#include <algorithm>
#include <array>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

std::size_t floats(const CallVectors& of) { return of.bytes / sizeof(float); }
Counts counts(const CallVectors& of) { return Counts(of.ranks, floats(of) / of.ranks); }
Counts sizes(const CallVectors& of) { return Counts(of.ranks, floats(of) / of.ranks * sizeof(float)); }

struct NamedCall {
  std::string_view name;
  void (*make)(Collectives&, const CallVectors&);
  bool sends_its_part = false;  // else the whole vector
};
constexpr std::array<NamedCall, 8> kCalls{{
    {kAllReduce, [](Collectives& group, const CallVectors& of) { group.all_reduce(of.rank, of.all, floats(of), Type::float32); }},
    {"reduce", [](Collectives& group, const CallVectors& of) { group.reduce(of.rank, of.all, floats(of), Type::float32, of.root); }},
    {"broadcast", [](Collectives& group, const CallVectors& of) { group.broadcast(of.rank, of.all, of.bytes, of.root); }},
    {"gather", [](Collectives& group, const CallVectors& of) { group.gather(of.rank, of.mine, of.all, sizes(of), of.root); }, true},
    {"scatter", [](Collectives& group, const CallVectors& of) { group.scatter(of.rank, of.all, of.mine, sizes(of), of.root); }},
    {"all_gather", [](Collectives& group, const CallVectors& of) { group.all_gather(of.rank, of.mine, of.all, sizes(of)); }, true},
    {"reduce_scatter", [](Collectives& group, const CallVectors& of) { group.reduce_scatter(of.rank, of.all, of.mine, counts(of), Type::float32); }},
    {"all_to_all", [](Collectives& group, const CallVectors& of) { group.all_to_all(of.rank, of.all, sizes(of), of.mine, sizes(of)); }},
}};

const NamedCall& call_named(const std::string& name) {
  const auto found = std::find_if(kCalls.begin(), kCalls.end(), [&](const NamedCall& each) { return each.name == name; });
  if (found == kCalls.end()) throw Error("there is no collective " + name);
  return *found;
}

}  // namespace

Vec sent_by(const std::string& name, const CallVectors& of) {
  return call_named(name).sends_its_part ? Vec(of.mine, floats(of) / of.ranks) : Vec(of.all, floats(of));
}

void make_call(const std::string& name, Collectives& group, const CallVectors& of) { call_named(name).make(group, of); }

}  // namespace mgcompare
