#pragma once

// One of the numbered parts of report.html: charts, tables, reasons, sentences and texts, as its template takes them.

#include <string>
#include <vector>

#include <kainjow/mustache.hpp>

#include "reports/charts/chart.h"
#include "reports/explain.h"
#include "reports/tables.h"

namespace mgcompare {

// Around what stands below a figure in a table. The page's writer makes elements of them; no data hold them, since plain() drops
// control characters.
inline constexpr char kBelow = '\x0e', kEndOfBelow = '\x0f';

// A template leaves out what has no text.
kainjow::mustache::data text_or_nothing(const std::string& text);

class Section {
 public:
  Section(const char* id, const char* title, const std::string& intro = "");
  // The charts' specifications go to `charts`. `table` holds what they show, and is to be added too.
  void add(const std::vector<ChartGroup>& groups, const Table& table, Json& charts);
  // Empty tables are left out.
  void add(const Table& table, bool open = false);
  void reason(const Reason& reason);
  void say(const std::string& sentence);
  void quote(const std::string& title, const std::string& intro, const std::string& text);
  // Addresses of a picture that always stands there, and of one for readers whose browser runs no scripts.
  void show(const std::string& always, const std::string& fallback, const char* description);
  const std::string& id() const { return id_; }
  const std::string& title() const { return title_; }
  kainjow::mustache::data data() const;

 private:
  using Data = kainjow::mustache::data;
  std::string id_, title_;
  Data data_;
  Data groups_{Data::type::list}, reasons_{Data::type::list}, sentences_{Data::type::list},
      tables_{Data::type::list}, texts_{Data::type::list};
};

}  // namespace mgcompare
