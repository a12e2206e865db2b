#include "services/trial_service.h"

#include <string>

#include "config/config.h"
#include "data/dataset.h"
#include "services/data_service.h"

namespace mgcompare {

Handlers trial_handlers(Session& session) {
  const auto run_trial = [&session](const nlohmann::json& body, RequestContext& context) -> nlohmann::json {
    const TrialFiles files{body.at("checkpoint").get<std::string>(), body.at("resume").get<bool>(),
                           body.at("record").get<std::string>(), body.at("replay").get<bool>(),
                           body.at("trace").get<std::string>(),      body.at("data_folder").get<std::string>()};
    const Trial trial = body.at("trial").get<Trial>();
    session.data(trial.config.data, reporting_places(files.data_folder, context), reporting_log(context));
    context.note({{"ready", true}});
    return session.run(trial, files, [&](const Progress& progress) { context.report(progress); },
                       [&] { return context.stopping(); }, [&](const Result& result) { context.leave(result); });
  };
  const auto load_data = [&session](const nlohmann::json& body, RequestContext& context) -> nlohmann::json {
    const DataPlaces places = reporting_places(body.at("data_folder").get<std::string>(), context);
    const Dataset& data = session.data(body.at("config").get<Config>().data, places, reporting_log(context));
    return {{"name", data.name},
            {"origin", data.origin},
            {"fingerprint", data.fingerprint},
            {"train_samples", data.train.samples},
            {"test_samples", data.test.samples}};
  };
  return {{"trial", run_trial}, {"data", load_data}};
}

}  // namespace mgcompare
