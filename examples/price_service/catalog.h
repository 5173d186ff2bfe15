// Knows what each article costs, and tells those who want to know.
#pragma once

#include <string>
#include <vector>

#include <ergon/act/actor.h>

#include "messages.h"

namespace price_service {

class Catalog : public ergon::act::Actor {
  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;
  // For sys:get_state in the shop, too: the articles and what they cost.
  ergon::gen::Inspection HandleInspect(ergon::gen::PID from,
                                       const std::vector<std::string>& items) override;

  void Set(const SetPrice& price);
  void Publish();

  PriceTable table_{.cents = {{"tea", 250}, {"cup", 750}}};
  ergon::gen::Ref token_;  // whoever has it may publish
};

}  // namespace price_service
