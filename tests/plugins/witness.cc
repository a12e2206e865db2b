// Tells that its file was opened: the constructor of a static object creates the file that MGCOMPARE_TEST_WITNESS names.

#include <cstdio>
#include <cstdlib>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

struct Witness {
  Witness() {
    const char* const name = std::getenv("MGCOMPARE_TEST_WITNESS");
    if (std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "w"); file != nullptr) std::fclose(file);
  }
};
const Witness witness;

class Seen : public Strategy {
 public:
  Seen(Options& options, const Facts&) {
    if (options.flag("hostile", false, "\u202e\x1b[31mhelp")) throw Error("\u202e\x1b[31mreversed");
  }

  Traits traits() const override { return {}; }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }
};

}  // namespace

MGCOMPARE_STRATEGY(Seen, "witness", "wrong on purpose: shows that it was opened, and has a hostile help")
