#pragma once

// The library that each of two plugins brings under the same file name.
int updates_per_step();
