#pragma once

// The texts of `mgcompare COMMAND --help`.

namespace CLI {
class App;
}

namespace mgcompare {

// Adds descriptions to the commands of the program and to their options. CLI11 lays them out.
void describe_commands(CLI::App& app);

}  // namespace mgcompare
