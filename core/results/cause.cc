#include "results/cause.h"

#include <new>

#include "base/device_lost.h"

namespace mgcompare {

Cause cause_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Diverged& error) {
    return {"diverged", error.what()};
  } catch (const Interrupted& error) {
    return {"interrupted", error.what()};
  } catch (const DeviceLost& error) {
    return {"device lost", error.what()};
  } catch (const OutOfMemory& error) {
    return {"out of memory", error.what()};
  } catch (const std::bad_alloc&) {
    return {"out of memory", "the host has no more memory"};
  } catch (const std::exception& error) {
    return {"failed", error.what()};
  } catch (...) {
    return {"failed", "the plugin threw something that is not an exception"};
  }
}

}  // namespace mgcompare
