#include "part.h"

int updates_per_step() { return MGCOMPARE_UPDATES; }
