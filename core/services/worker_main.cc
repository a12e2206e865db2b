#include "services/worker_main.h"

#include "process/worker.h"
#include "services/examination.h"
#include "services/probe.h"
#include "services/trial_service.h"
#include "services/verification.h"
#include "train/session.h"

namespace mgcompare {

int run_worker() {
  Session session;
  Handlers handlers = trial_handlers(session);
  handlers.merge(probe_handlers());
  handlers.merge(verification_handlers());
  handlers.merge(examination_handlers());
  return serve(handlers);
}

}  // namespace mgcompare
