#include "results/cause.h"

#include <new>

#include "base/device_lost.h"
#include "base/text.h"

namespace mgcompare {

Cause cause_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Diverged& error) {
    return {TrialStatus::diverged, shortened(error.what())};
  } catch (const Interrupted& error) {
    return {TrialStatus::interrupted, shortened(error.what())};
  } catch (const DeviceLost& error) {
    return {TrialStatus::device_lost, shortened(error.what())};
  } catch (const OutOfMemory& error) {
    return {TrialStatus::out_of_memory, shortened(error.what())};
  } catch (const std::bad_alloc&) {
    return {TrialStatus::out_of_memory, "the host has no more memory"};
  } catch (const std::exception& error) {
    return {TrialStatus::failed, shortened(error.what())};
  } catch (...) {
    return {TrialStatus::failed, "the plugin threw something that is not an exception"};
  }
}

}  // namespace mgcompare
