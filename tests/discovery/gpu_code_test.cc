// Which GPUs a library has code for is read from its fat binaries, which are foreign bytes.

#include "discovery/gpu_code.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "discovery/plugin_image.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

template <class T> void append(std::string& bytes, T value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }

constexpr std::uint16_t kPtx = 1, kMachineCode = 2;

std::string entry(std::uint16_t kind, std::uint32_t generation, bool is_specific = false, std::uint64_t size = 24) {
  std::string bytes;
  append<std::uint16_t>(bytes, kind);
  append<std::uint16_t>(bytes, 0x101);
  append<std::uint32_t>(bytes, 64);
  append<std::uint64_t>(bytes, size);
  append<std::uint64_t>(bytes, 0);
  append<std::uint32_t>(bytes, 0x10008);
  append<std::uint32_t>(bytes, generation);
  append<std::uint64_t>(bytes, 0);
  append<std::uint64_t>(bytes, is_specific ? 0x100011 : 0x11);
  bytes.resize(64 + 24);
  return bytes;
}

std::string fatbin(const std::string& entries, std::uint32_t magic = 0xBA55ED50) {
  std::string bytes;
  append<std::uint32_t>(bytes, magic);
  append<std::uint16_t>(bytes, 1);
  append<std::uint16_t>(bytes, 16);
  append<std::uint64_t>(bytes, entries.size());
  return bytes + entries;
}

// A shared library that has only this section.
std::string library(const std::string& section) {
  const std::string names = std::string("\0.nv_fatbin\0.shstrtab\0", 22);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof header + section.size() + names.size();
  Elf64_Shdr fatbins{}, strings{};
  fatbins.sh_name = 1;
  fatbins.sh_type = SHT_PROGBITS;
  fatbins.sh_offset = sizeof header;
  fatbins.sh_size = section.size();
  strings.sh_name = 12;
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof header + section.size();
  strings.sh_size = names.size();
  std::string bytes;
  append(bytes, header);
  bytes += section + names;
  append(bytes, Elf64_Shdr{});
  append(bytes, fatbins);
  append(bytes, strings);
  return bytes;
}

std::string codes(const std::string& section) {
  std::string text;
  for (const GpuCode& code : gpu_code(library(section))) text += (text.empty() ? "" : ", ") + code.text();
  return text;
}

TEST(GpuCode, IsThatOfAllFatBinaries) {
  EXPECT_EQ(codes(""), "");
  EXPECT_EQ(codes(fatbin(entry(kMachineCode, 90))), "sm_90");
  const std::string several = fatbin(entry(kMachineCode, 90, true) + entry(kPtx, 80) + entry(kMachineCode, 80));
  EXPECT_EQ(codes(several), "sm_80, PTX 80, sm_90a");
  EXPECT_EQ(codes(several + std::string(8, '\0') + fatbin(entry(kMachineCode, 120) + entry(kMachineCode, 90))), "sm_80, PTX 80, sm_90, sm_90a, sm_120");
  EXPECT_EQ(codes(fatbin(entry(7, 90))), "") << "another kind of entry";
}

TEST(GpuCode, WhatDoesNotFitIsLeftOut) {
  EXPECT_EQ(codes(fatbin(entry(kMachineCode, 90), 1)), "") << "another magic number";
  EXPECT_EQ(codes(fatbin(entry(kMachineCode, 80) + entry(kMachineCode, 90, false, 25))), "sm_80");
  EXPECT_EQ(codes(fatbin(entry(kMachineCode, 80) + entry(kMachineCode, 90, false, ~std::uint64_t{0} - 63))), "sm_80");
  const std::string whole = fatbin(entry(kMachineCode, 80) + entry(kPtx, 90));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_EQ(codes(whole.substr(0, size)), "") << size;
  std::string endless = fatbin(entry(kMachineCode, 80));
  endless.replace(16 + 4, 4, std::string(4, '\0'));  // the size of the entry's header
  EXPECT_EQ(codes(endless), "");
}

TEST(GpuCode, TablesThatAreNotInTheFileAreDamage) {
  const std::string whole = library(fatbin(entry(kMachineCode, 90)));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      gpu_code(whole.substr(0, size));
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
    }
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = value;
      try {
        gpu_code(bytes);
      } catch (const Error& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
}

TEST(GpuCode, RunsOnLaterGenerationsOfItsMajorVersionAndAsPtxOnAllLaterOnes) {
  const GpuCode code{80, false, false}, specific{90, false, true}, ptx{80, true, false};
  EXPECT_TRUE(code.runs_on(80) && code.runs_on(89) && !code.runs_on(75) && !code.runs_on(90));
  EXPECT_TRUE(specific.runs_on(90) && !specific.runs_on(89) && !specific.runs_on(100));
  EXPECT_TRUE(ptx.runs_on(80) && ptx.runs_on(120) && !ptx.runs_on(75));
}

TEST(GpuCode, GenerationsAreReadFromTheNotesOfGpus) {
  DeviceSummary device;
  EXPECT_EQ(generation_of(device), std::nullopt);
  device.notes = {"a note", "compute capability 12.1"};
  EXPECT_EQ(generation_of(device), 121);
}

// As nvcc writes it.
TEST(GpuCode, OfAShippedPluginIsFound) {
  const std::filesystem::path folder = std::filesystem::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare";
  if (!std::filesystem::exists(folder / "platform_cuda.so") || !std::filesystem::exists(folder / "plugins/strategy_tower.so"))
    GTEST_SKIP() << "a build without CUDA";
  EXPECT_THAT(gpu_code(read_plugin_bytes((folder / "plugins/strategy_tower.so").string())), ::testing::Not(::testing::IsEmpty()));
}

}  // namespace
}  // namespace mgcompare
