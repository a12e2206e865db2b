#include "data/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/shape.h"
#include "data/mapped_file.h"

namespace mgcompare {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 1u << 16;  // NumPy's own headers have about 100 bytes
constexpr std::size_t kMaxAxes = 32;

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw DataError(fmt::format("{}: {}", path, why)); }

// The header: the literal of a Python dictionary with the keys descr, fortran_order and shape.
class Header {
 public:
  Header(const std::string& path, std::string_view text) : path_(path), rest_(text) {
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        // A structured type is a list.
        if (peek() == '[') refuse(path_, "its values are records; save one plain array for each field");
        descr = quoted();
      } else if (key == "fortran_order") {
        fortran_order = flag();
      } else if (key == "shape") {
        shape = tuple();
      } else {
        wrong(fmt::format("key '{}'", key.substr(0, 40)));
      }
      if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) wrong(fmt::format("key '{}' twice", key));
      keys_.push_back(key);
      if (!take(',') && peek() != '}') wrong("no comma between keys");
    }
    if (keys_.size() != 3) wrong("not all of descr, fortran_order and shape");
    skip_blanks();
    if (!rest_.empty()) wrong("text behind the closing brace");
  }

  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::size_t> shape;

 private:
  [[noreturn]] void wrong(const std::string& what) const { refuse(path_, fmt::format("the header of this .npy file is damaged: it has {}", what)); }

  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong(fmt::format("no '{}' where one is needed", c));
  }
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') wrong("a value without quotes where text is needed");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) wrong("text without an end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool flag() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    wrong("a fortran_order that is neither True nor False");
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> values;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::size_t value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc() || values.size() == kMaxAxes) wrong("a shape that is no list of counts");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      values.push_back(value);
      if (!take(',') && peek() != ')') wrong("no comma between the counts of the shape");
    }
    return values;
  }

  const std::string& path_;
  std::string_view rest_;
  std::vector<std::string_view> keys_;
};

// The first value that is no whole number.
struct Fraction {
  std::size_t index = 0;
  double value = 0;
};

template <class Value>
std::optional<Fraction> first_fraction(const std::uint8_t* bytes, std::size_t size) {
  for (std::size_t i = 0; (i + 1) * sizeof(Value) <= size; ++i) {
    Value value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    if (!std::isfinite(value) || value != std::floor(value)) return Fraction{i, value};
  }
  return std::nullopt;
}

// Labels that are no integers: what they are, and how to save them. `bytes` are the file's values.
[[noreturn]] void refuse_labels(const std::string& path, const Header& header, const std::uint8_t* bytes, std::size_t size) {
  const std::string_view descr = header.descr.substr(0, 20);
  const std::string shape = fmt::format("({})", fmt::join(header.shape, ", "));
  const bool is_text = descr == "|O" || descr.find_first_of("US") != descr.npos;
  if (is_text)
    refuse(path, fmt::format("labels are integers, counted from 0, but its values are {} (type '{}'): save "
                             "np.unique(y, return_inverse=True)[1] of the labels of all files together", descr == "|O" ? "objects" : "text", descr));
  const std::optional<Fraction> fraction = descr == "<f4"   ? first_fraction<float>(bytes, size)
                                           : descr == "<f8" ? first_fraction<double>(bytes, size)
                                                            : std::nullopt;
  if (fraction)
    refuse(path, fmt::format("networks are trained on classes only, so targets are integers, counted from 0, but value {} of {} is {}: save the "
                             "class of each sample, for instance np.digitize(y, bounds)", fraction->index, shape, fraction->value));
  const bool has_columns = header.shape.size() == 2 && header.shape[1] > 1;
  refuse(path, fmt::format("labels are uint8, int32 or int64, counted from 0, but its values are of type '{}' and shape {}: {}", descr, shape,
                           has_columns ? "save integers of shape (samples): if they are one-hot, y.argmax(axis=1)" : "save y.astype('int64')"));
}

ElementType element_of(const std::string& path, std::string_view descr) {
  static const std::map<std::string_view, ElementType> known = {
      {"|u1", ElementType::uint8}, {"<f4", ElementType::float32}, {"<i4", ElementType::int32}, {"<i8", ElementType::int64}};
  if (const auto found = known.find(descr); found != known.end()) return found->second;
  const std::string hint = descr == "<f8" || descr == "<f2" ? "save x.astype('float32')"
                           : descr.starts_with('>')         ? "save it in little-endian order, such as x.astype('<f4')"
                                                            : "save x.astype('float32'), or 'uint8', 'int32' or 'int64'";
  refuse(path, fmt::format("values of type '{}' cannot be read: {}", descr.substr(0, 20), hint));
}

// Where the header's text begins and ends.
std::pair<std::size_t, std::size_t> header_of(const std::string& path, const SharedBytes& file) {
  const std::uint8_t* const bytes = file.data();
  if (file.size() < 10 || std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0)
    refuse(path, "no .npy file: it does not begin with \\x93NUMPY; write it with numpy.save");
  const int major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0) refuse(path, fmt::format("version {}.{} of .npy cannot be read, only 1.0, 2.0 and 3.0", major, minor));
  const std::size_t begin = major == 1 ? 10 : 12;
  if (file.size() < begin) refuse(path, fmt::format("truncated at byte {}, within the header", file.size()));
  std::size_t size = bytes[8] + (std::size_t{bytes[9]} << 8);
  if (major > 1) size += (std::size_t{bytes[10]} << 16) + (std::size_t{bytes[11]} << 24);
  if (size > kMaxHeader) refuse(path, fmt::format("the header of this .npy file is damaged: it states a size of {} bytes for itself", size));
  if (size > file.size() - begin) refuse(path, fmt::format("truncated at byte {}: the header alone has {} bytes", file.size(), begin + size));
  return {begin, begin + size};
}

}  // namespace

std::size_t NpyArray::count() const { return values_in(shape); }

std::int64_t NpyArray::integer(std::size_t i) const {
  const std::uint8_t* const at = values.data() + i * size_of(element);
  if (element == ElementType::uint8) return *at;
  if (element == ElementType::int32) return *reinterpret_cast<const std::int32_t*>(at);
  return *reinterpret_cast<const std::int64_t*>(at);
}

NpyArray read_npy(const std::string& path, NpyContent content) {
  const auto [file, state] = map_file(path);
  const auto [begin, end] = header_of(path, file);
  const Header header(path, {reinterpret_cast<const char*>(file.data()) + begin, end - begin});
  NpyArray array;
  static const std::set<std::string_view> kIntegers = {"|u1", "<i4", "<i8"};
  if (content == NpyContent::labels && !kIntegers.contains(header.descr)) refuse_labels(path, header, file.data() + end, file.size() - end);
  array.element = element_of(path, header.descr);
  array.shape = header.shape;
  if (header.fortran_order && array.shape.size() > 1)
    refuse(path, "its values are in Fortran order: save numpy.ascontiguousarray(x)");
  const std::size_t there = (file.size() - end) / size_of(array.element);
  std::size_t count = 1;
  if (std::find(array.shape.begin(), array.shape.end(), std::size_t{0}) != array.shape.end())
    refuse(path, fmt::format("its shape ({}) has a 0: there is nothing in it", fmt::join(array.shape, ", ")));
  for (const std::size_t extent : array.shape) {
    if (extent > there / count)
      refuse(path, fmt::format("truncated: the header promises ({}) values of {} bytes, and {} bytes follow it",
                               fmt::join(array.shape, ", "), size_of(array.element), file.size() - end));
    count *= extent;
  }
  const std::size_t bytes = count * size_of(array.element);
  if (file.size() - end != bytes)
    refuse(path, fmt::format("trailing bytes from byte {} on: the header promises ({}) values and no more", end + bytes,
                             fmt::join(array.shape, ", ")));
  check_fits_memory(path, static_cast<double>(bytes));
  array.values = file.slice(end, file.size());
  array.file = state;
  // numpy.save pads the header. Where another writer did not, the values are copied to an aligned place.
  if (end % size_of(array.element) != 0)
    array.values = SharedBytes(std::vector<std::uint8_t>(array.values.data(), array.values.data() + bytes));
  return array;
}

}  // namespace mgcompare
