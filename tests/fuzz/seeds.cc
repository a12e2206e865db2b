// Writes valid inputs, from which the fuzzers start, into a folder for each: fuzz_seeds DIRECTORY. The program's own writers
// make them, so that they follow its formats.

#include <elf.h>
#include <link.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "discovery/plugin_files.h"
#include "plan/trial.h"
#include "process/message.h"
#include "results/results_store.h"
#include "results/trial_progress.h"
#include "runtime/checkpoint.h"

extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace {

using namespace mgcompare;
namespace fs = std::filesystem;

fs::path root;

fs::path path_of(const std::string& target, const std::string& name) {
  fs::create_directories(root / target);
  return root / target / name;
}

void write(const std::string& target, const std::string& name, const std::string& bytes) {
  std::ofstream(path_of(target, name), std::ios::binary) << bytes;
}

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string packed(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()) + 32, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Two images of 2 x 3 pixels and their labels, plain and compressed.
void write_idx() {
  const std::string images("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03 abcdefghijkl", 29);
  const std::string labels("\0\0\x08\x01\0\0\0\x02\x03\x09", 10);
  const auto split = static_cast<char>(255 * (images.size() - 1) / (images.size() - 1 + labels.size()) + 1);
  write("idx", "plain", split + images.substr(0, 16) + images.substr(17) + labels);
  write("idx", "packed", '\xff' + packed(images));
}

// A header of each version, and each type of values.
void write_npy() {
  int version = 1;
  for (const char* type : {"|u1", "<f4", "<i4", "<i8"}) {
    std::string header = std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (2, 3), }";
    const std::size_t before = version == 1 ? 10 : 12;
    header.resize((before + header.size() + 64) / 64 * 64 - before, ' ');
    header.back() = '\n';
    std::string file = "\x93NUMPY" + std::string{static_cast<char>(version), '\0', static_cast<char>(header.size()), '\0'};
    if (version > 1) file += std::string(2, '\0');
    write("npy", type + 1, file + header + std::string(6 * static_cast<std::size_t>(type[2] - '0'), '\1'));
    version = version % 3 + 1;
  }
}

void write_cifar10() {
  const std::string records = std::string(3073, '\3') + std::string(3073, '\t');
  write("cifar10", "plain", records);
  write("cifar10", "packed", packed(records));
}

void write_sequences() {
  const std::string tokens = "1,2,3\n4;5 6\r\n\n127\t0,9\n", text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x99\x82\n";
  write("tokens", "plain", '\3' + tokens);
  write("tokens", "packed", '\0' + packed(tokens));
  const std::string mark = "\xEF\xBB\xBF";
  write("tokens", "marked", '\2' + mark + "1 000000000000000000000000000000000099\n");
  write("text", "marked", mark + text);
  write("text", "wide", std::string("\xFF\xFE" "a\0b\0", 6));
  write("text", "plain", text);
  write("text", "packed", packed(text));
}

void write_messages() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  MessageWriter writer(ends[0]);
  writer.send("hello", nullptr);
  writer.send("progress", progress_to_json({TrialPhase::training, 1, 2, 3, 4, 0.5}));
  writer.send("note", {{"text", "loading"}});
  Result result;
  result.epochs.resize(1);
  result.ranks.resize(1);
  writer.send("answer", result);
  writer.send("failed", "a cause");
  std::string bytes(1 << 20, '\0');
  bytes.resize(static_cast<std::size_t>(recv(ends[1], bytes.data(), bytes.size(), 0)));
  write("message", "all", '\x02' + bytes);
  close(ends[0]);
  close(ends[1]);
}

void write_checkpoints() {
  Checkpoint checkpoint;
  checkpoint.progress = {{"epoch", 3}, {"seconds", 1.5}, {"losses", {0.5, 0.25}}};
  checkpoint.ranks = {{{"weights", {1, 2, 3, 4}}, {"strategy/state", {}}}, {{"weights", {5, 6, 7, 8}}}};
  if (!write_checkpoint(path_of("checkpoint", "two_ranks").string(), checkpoint, 1 << 20)) std::abort();
}

void write_results() {
  Config config;
  config.name = "seed";
  config.model.name = "small";
  config.model.layers.resize(1);
  config.model.layers[0].name = "dense1";
  config.strategies.resize(1);
  config.strategies[0].name = config.strategies[0].label = "serial";
  std::vector<Trial> plan(2);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    plan[i].number = static_cast<int>(i) + 1;
    plan[i].config = config;
    plan[i].strategy = config.strategies[0];
    plan[i].devices = 1;
  }
  const fs::path folder = root / "run";
  {
    RunInfo info;
    info.name = config.name;
    info.config_json = nlohmann::json(config).dump();
    info.config_hash = config_hash(config);
    info.config_yaml = resolved_yaml(config);
    ResultsStore store(folder.string());
    store.begin(info, plan);
    Result result;
    result.status = TrialStatus::done;
    result.epochs.resize(1);
    result.ranks.resize(1);
    store.start(plan[0]);
    store.add(plan[0], result);
  }
  fs::copy_file(folder / kResultsFile, path_of("results", "two_trials"), fs::copy_options::overwrite_existing);
  fs::remove_all(folder);
}

// The smallest library that is accepted: one segment with strings, a record and the dynamic table.
void write_plugins() {
  const std::string strings("\0mgcompare_plugin\0", 18);
  const std::string record = "mgcompare-plugin;" + program_contract() + ";seed;a description";
  ElfW(Ehdr) header = __ehdr_start;
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  const std::size_t strings_at = sizeof header + 2 * sizeof(ElfW(Phdr));
  const std::size_t record_at = strings_at + strings.size(), dynamic_at = record_at + record.size() + 1;
  ElfW(Dyn) table[3] = {};
  table[0].d_tag = DT_STRTAB;
  table[0].d_un.d_ptr = strings_at;
  table[1].d_tag = DT_STRSZ;
  table[1].d_un.d_val = strings.size();
  ElfW(Phdr) segments[2] = {};
  segments[0].p_type = PT_LOAD;
  segments[0].p_filesz = segments[0].p_memsz = dynamic_at + sizeof table;
  segments[1].p_type = PT_DYNAMIC;
  segments[1].p_offset = dynamic_at;
  segments[1].p_filesz = segments[1].p_memsz = sizeof table;
  const std::string library = bytes_of(header) + bytes_of(segments) + strings + record + '\0' + bytes_of(table);
  write("plugin", "small.so", library);
  fs::create_directories(root / "check");
  std::ofstream(root / "check/small.so", std::ios::binary) << library;
  if (!inspect_plugin((root / "check/small.so").string()).problem.empty()) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  root = argv[1];
  write_idx();
  write_npy();
  write_cifar10();
  write_sequences();
  write_messages();
  write_checkpoints();
  write_results();
  write_plugins();
}
