#include "discovery/plugin_image.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <sstream>

#include "base/descriptor.h"
#include "base/error_text.h"
#include "base/text.h"
#include "mgcompare/error.h"

// The ELF header of this program, by the linker.
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace mgcompare {
namespace {

constexpr std::string_view kMark = "mgcompare-plugin;";
constexpr std::size_t kLongestRecord = 4096;
// The name in the strings of the dynamic symbols, where a zero ends it. Linkers store a name that ends another one only as a part
// of that one, so no zero need be before it. The loader decides.
constexpr std::string_view kSymbolEntry("mgcompare_plugin\0", 17);
constexpr std::string_view kElfMagic(ELFMAG, SELFMAG);

constexpr char kNotALibrary[] = "is not a shared library";
constexpr char kDamaged[] = "is damaged: its tables do not fit into the file; build it again";

void check_kind(const struct stat& facts) {
  if (!S_ISREG(facts.st_mode)) throw Error("is not a regular file");
  if (facts.st_size > static_cast<off_t>(kPluginLimit)) throw Error("is larger than 256 MiB, the limit for plugins");
}

// At most `count` bytes from `begin` on; fewer at the end of the file.
std::string read_part(int descriptor, std::size_t begin, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t now = pread(descriptor, bytes.data() + done, count - done, static_cast<off_t>(begin + done));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) refuse_unreadable(errno);
    if (now == 0) break;
    done += static_cast<std::size_t>(now);
  }
  bytes.resize(done);
  return bytes;
}

std::string_view part(std::string_view bytes, std::uint64_t begin, std::uint64_t size) {
  if (begin > bytes.size() || size > bytes.size() - begin) throw Error(kDamaged);
  return bytes.substr(begin, size);
}

// A structure of the file; it may lie at an address that is not aligned.
template <class T>
T structure(std::string_view bytes, std::uint64_t begin) {
  T value;
  memcpy(&value, part(bytes, begin, sizeof(T)).data(), sizeof(T));
  return value;
}

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using DynamicEntry = ElfW(Dyn);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

Header header_of(std::string_view bytes) {
  if (!bytes.starts_with(kElfMagic)) throw Error(kNotALibrary);
  const auto header = structure<Header>(bytes, 0);
  const Header& own = __ehdr_start;
  if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_ident[EI_DATA] != own.e_ident[EI_DATA] ||
      header.e_machine != own.e_machine) {
    throw Error("was built for another kind of processor; build it on this machine");
  }
  if (header.e_type != ET_DYN) throw Error(kNotALibrary);
  if (header.e_phentsize != sizeof(Segment)) throw Error(kDamaged);
  return header;
}

// Where the file has the bytes that are loaded to `address`. Segments are already known to lie within the file.
std::string_view loaded(std::string_view bytes, std::string_view segments, std::uint64_t address, std::uint64_t size) {
  for (std::size_t at = 0; at < segments.size(); at += sizeof(Segment)) {
    const auto segment = structure<Segment>(segments, at);
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t begin = address - segment.p_vaddr;
    if (begin < segment.p_filesz && size <= segment.p_filesz - begin) return part(bytes, segment.p_offset + begin, size);
  }
  throw Error(kDamaged);
}

struct DynamicSection {
  std::vector<DynamicEntry> entries;
  std::string_view strings;  // of symbols and of entries, as the loader finds them; the last one is complete

  std::string string(std::uint64_t at) const {
    if (at >= strings.size()) throw Error(kDamaged);
    return strings.data() + at;
  }
};

// Everything that the loader maps must be in the file.
DynamicSection dynamic_section(std::string_view bytes) {
  const Header header = header_of(bytes);
  const std::string_view segments = part(bytes, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Segment));
  std::string_view dynamic;
  for (std::size_t at = 0; at < segments.size(); at += sizeof(Segment)) {
    const auto segment = structure<Segment>(segments, at);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    const std::string_view content = part(bytes, segment.p_offset, segment.p_filesz);
    if (segment.p_memsz < segment.p_filesz) throw Error(kDamaged);
    if (segment.p_type == PT_DYNAMIC) dynamic = content;
  }
  DynamicSection section;
  std::uint64_t address = 0, size = 0;
  for (std::size_t at = 0; dynamic.size() - at >= sizeof(DynamicEntry); at += sizeof(DynamicEntry)) {
    const auto entry = structure<DynamicEntry>(dynamic, at);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    section.entries.push_back(entry);
  }
  section.strings = loaded(bytes, segments, address, size);
  if (section.strings.empty() || section.strings.back() != '\0') throw Error(kDamaged);
  return section;
}

// "CONTRACT;name;description". A text without the three parts is none: programs that search for records contain the mark.
bool parse_record(std::string_view text, PluginRecord& record) {
  const std::size_t first = text.find(';');
  const std::size_t second = first == std::string_view::npos ? first : text.find(';', first + 1);
  if (second == std::string_view::npos || first == 0 || second == first + 1) return false;
  const auto printable = [](std::string_view piece) { return plain(piece.substr(0, 200)); };
  record = {printable(text.substr(0, first)), printable(text.substr(first + 1, second - first - 1)),
            printable(text.substr(second + 1))};
  return true;
}

}  // namespace

void refuse_unreadable(int code) {
  if (code == ENOENT || code == ENOTDIR) throw Error("does not exist");
  throw Error("cannot be read: " + error_text(code));
}

std::string read_plugin_bytes(const std::string& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) refuse_unreadable(errno);
  check_kind(facts);
  // The file may have been replaced since: the flags make sure that opening does not wait.
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (descriptor.number() < 0 || fstat(descriptor.number(), &facts) != 0) refuse_unreadable(errno);
  check_kind(facts);
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (read_part(descriptor.number(), 0, std::min(size, kElfMagic.size())) != kElfMagic) throw Error(kNotALibrary);
  return read_part(descriptor.number(), 0, size);
}

void check_library(std::string_view bytes) {
  if (dynamic_section(bytes).strings.find(kSymbolEntry) == std::string_view::npos) {
    throw Error("is a shared library but not a plugin: it does not export mgcompare_plugin; close its source with "
                "MGCOMPARE_STRATEGY");
  }
}

NeededLibraries needed_libraries(std::string_view bytes) {
  const DynamicSection section = dynamic_section(bytes);
  NeededLibraries needed;
  for (const DynamicEntry& entry : section.entries) {
    if (entry.d_tag == DT_NEEDED) needed.names.push_back(section.string(entry.d_un.d_val));
    if (entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    std::istringstream folders(section.string(entry.d_un.d_val));
    for (std::string folder; std::getline(folders, folder, ':');) needed.folders.push_back(folder);
  }
  return needed;
}

std::vector<std::string_view> sections_named(std::string_view bytes, std::string_view name) {
  std::vector<std::string_view> found;
  const Header header = header_of(bytes);
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Section)) return found;
  const std::string_view table = part(bytes, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Section));
  const auto section = [&](std::uint64_t number) { return structure<Section>(table, number * sizeof(Section)); };
  const auto content = [&](const Section& of) { return of.sh_type == SHT_NOBITS ? std::string_view() : part(bytes, of.sh_offset, of.sh_size); };
  const std::string_view names = content(section(header.e_shstrndx));
  const std::string whole = std::string(name) + '\0';
  for (std::uint64_t number = 0; number < header.e_shnum; ++number) {
    const Section at = section(number);
    if (at.sh_name < names.size() && names.substr(at.sh_name).starts_with(whole)) found.push_back(content(at));
  }
  return found;
}

std::string with_own_variables(std::string bytes) {
  const Header header = header_of(bytes);
  for (std::uint64_t number = 0; number < header.e_shnum; ++number) {
    const auto section = structure<Section>(bytes, header.e_shoff + number * sizeof(Section));
    if (section.sh_type != SHT_DYNSYM) continue;
    part(bytes, section.sh_offset, section.sh_size);
    for (std::uint64_t at = section.sh_offset; at + sizeof(Symbol) <= section.sh_offset + section.sh_size; at += sizeof(Symbol)) {
      auto symbol = structure<Symbol>(bytes, at);
      if (ELF64_ST_BIND(symbol.st_info) != STB_GNU_UNIQUE) continue;
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbol.st_info));
      memcpy(bytes.data() + at, &symbol, sizeof symbol);
    }
  }
  return bytes;
}

bool next_record(std::string_view& rest, PluginRecord& record) {
  // memmem() is linear. After a mark the search goes on behind the end of its text, so no byte is searched twice.
  while (const void* const found = memmem(rest.data(), rest.size(), kMark.data(), kMark.size())) {
    rest.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - rest.data()) + kMark.size());
    const std::size_t end = rest.substr(0, kLongestRecord + 1).find('\0');
    const std::string_view text = rest.substr(0, end == std::string_view::npos ? 0 : end);
    rest.remove_prefix(std::min(end, std::min(rest.size(), kLongestRecord)));
    if (parse_record(text, record)) return true;
  }
  return false;
}

}  // namespace mgcompare
