#include "services/worker_main.h"

#include "process/worker.h"
#include "services/doctor_service.h"
#include "services/probe_service.h"
#include "services/trial_service.h"
#include "services/verify_service.h"
#include "train/session.h"

namespace mgcompare {

int run_worker() {
  Session session;
  Handlers handlers = trial_handlers(session);
  handlers.merge(probe_handlers());
  handlers.merge(verify_handlers());
  handlers.merge(doctor_handlers());
  return serve(handlers);
}

}  // namespace mgcompare
