#include "results/activity.h"

#include <algorithm>
#include <cstring>

namespace mgcompare {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

bool can_be_set(char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == ' '; }

}  // namespace

void Activity::set(const char* text) {
  char letters[2 * kWord] = {};
  if (text != nullptr) std::strncpy(letters, text, sizeof(letters) - 1);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, letters + i * kWord, kWord);
    words_[i].store(word, std::memory_order_relaxed);
  }
}

std::string Activity::get() const {
  char letters[2 * kWord + 1] = {};
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t word = words_[i].load(std::memory_order_relaxed);
    std::memcpy(letters + i * kWord, &word, kWord);
  }
  const std::string text = letters;
  return std::all_of(text.begin(), text.end(), can_be_set) ? text : "";
}

}  // namespace mgcompare
