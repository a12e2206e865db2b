#pragma once

// A section of report.html: charts, tables, reasons, sentences and texts, as data for the template.

#include <string>
#include <vector>

#include <kainjow/mustache.hpp>

#include "reports/charts/chart.h"
#include "reports/explain.h"
#include "reports/tables.h"

namespace mgcompare {

// Marks around the second line of a table cell, which html_report() replaces by elements. Data cannot contain them, because
// plain() removes control characters.
inline constexpr char kBelow = '\x0e', kEndOfBelow = '\x0f';
// The same around code in a sentence.
inline constexpr char kCode = '\x10', kEndOfCode = '\x11';

// plain(), with marks around code (code_spans.h).
std::string sentence_text(const std::string& text);
// The template omits elements without text.
kainjow::mustache::data text_or_nothing(const std::string& text);

class Section {
 public:
  Section(const char* id, const char* title, const std::string& intro = "");
  // Appends the charts' specifications to `charts`. `table` has the same figures and must be added too.
  void add(const std::vector<ChartGroup>& groups, const Table& table, Json& charts);
  // Empty tables are omitted.
  void add(const Table& table, bool open = false);
  void reason(const Reason& reason);
  void sentence(const std::string& text);
  void lead(const std::string& text);  // a sentence before the charts
  void quote(const std::string& title, const std::string& intro, const std::string& text);
  // URLs of a picture that is always shown, and of one for browsers without scripts.
  void show(const std::string& always, const std::string& fallback, const char* description);
  const std::string& id() const { return id_; }
  const std::string& title() const { return title_; }
  kainjow::mustache::data data() const;

 private:
  using Data = kainjow::mustache::data;
  std::string id_, title_;
  Data data_;
  Data groups_{Data::type::list}, reasons_{Data::type::list}, leads_{Data::type::list}, sentences_{Data::type::list},
      tables_{Data::type::list}, texts_{Data::type::list};
};

}  // namespace mgcompare
