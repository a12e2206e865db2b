#include "results/cause.h"

#include <sys/sysinfo.h>

#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "base/device_lost.h"
#include "base/error_text.h"
#include "base/free_memory.h"
#include "base/text.h"

namespace mgcompare {
namespace {

// The what() of an exception of a plugin may return null.
std::string text_of(const std::exception& error) {
  const char* text = error.what();
  return text != nullptr ? shortened(text) : "the plugin threw an exception without a text";
}

}  // namespace

Cause cause_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Diverged& error) {
    return {TrialStatus::diverged, text_of(error)};
  } catch (const Interrupted& error) {
    return {TrialStatus::interrupted, text_of(error)};
  } catch (const EndedAs& error) {
    return {error.status(), text_of(error)};
  } catch (const DeviceLost& error) {
    return {TrialStatus::device_lost, text_of(error)};
  } catch (const OutOfMemory& error) {
    return {TrialStatus::out_of_memory, text_of(error)};
  } catch (const std::bad_alloc&) {
    struct sysinfo info {};
    sysinfo(&info);
    const OutOfMemory error("the host gave no more memory" + memory_limit_note(), static_cast<std::size_t>(usable_memory()),
                            info.totalram * info.mem_unit);
    return {TrialStatus::out_of_memory, error.what()};
  } catch (const std::system_error& error) {
    // That of a thread which could not be started says only "Resource temporarily unavailable".
    const bool is_of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr;
    if (is_of_file || !is_limit(error.code().value())) return {TrialStatus::failed, text_of(error)};
    if (lacks_memory_for_stack()) return cause_of(std::make_exception_ptr(std::bad_alloc()));
    return {TrialStatus::failed, fmt::format("no thread could be started: {}", error_text(error.code().value()))};
  } catch (const std::exception& error) {
    return {TrialStatus::failed, text_of(error)};
  } catch (...) {
    return {TrialStatus::failed, "the plugin threw something that is not an exception"};
  }
}

}  // namespace mgcompare
