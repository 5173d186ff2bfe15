#include <ergon/gen/scheduled_process.h>

namespace ergon::gen {

Process* ProcessOf(core::Schedulable& schedulable) { return dynamic_cast<Process*>(&schedulable); }

}  // namespace ergon::gen
