// Messages between Ergon nodes in cereal's portable binary: no field is looked for, and nothing becomes an atom.
//
//   #include <ergon/node/cereal.h>
//
//   struct Order {
//     static constexpr const char* kTag = "order";
//     int number = 0;
//     std::vector<std::string> items;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(number, items); }
//   };
//   CEREAL_CLASS_VERSION(Order, 1)
//
//   options.types.Register<Order>().Register<dist::Cereal<Order>>();
//
// Both nodes have to register the type so. To a node that has not, to an older one, and to one of Erlang an Order goes
// as erlang/archive.h has it, as {order, Number, Items}, for which it is registered a second time, as it is. One that
// is registered as dist::Cereal only goes nowhere else: who sends it there gets kUnsupported. Values of events go as
// terms in any case.
//
// What cereal takes can be packed: serialize, save and load, also beside the type; the containers of the standard
// library, std::optional, variant, unique_ptr and shared_ptr; dist::Field and CEREAL_NVP, whose names are not written.
// Types with virtual functions travel in a std::unique_ptr or shared_ptr, by the names of CEREAL_REGISTER_TYPE, which
// has to stand behind this header. Besides gen::PID, Atom, Ref, Alias, dist::Reference and Term. A type is default
// constructible and movable. What load and save get is an archive of ours: dist::CerealReader and CerealWriter.
//
// The version of a type is that of CEREAL_CLASS_VERSION, 0 without one. Nodes tell each other the versions of their
// types when they connect. Of a type with other versions nothing is sent: that is kIncorrect, with the type and both
// versions. A type of the same version that is made of others nevertheless, as somebody has forgotten, goes as a term;
// registered as dist::Cereal only, it is kIncorrect. Looked at are the fields of a default constructed value, and what
// their types are made of: what is behind a pointer to a base class has its version in each message, and is unreadable
// there (see MessageBalance::dropped_unreadable) when it is another one.
//
// Whatever a peer sends is refused or a value: numbers of elements for which there are not enough bytes, bytes too few
// or too many, more than 100 values in each other, objects that contain themselves. A load() of one's own that reads a
// number and makes room for so many has to look at it first: with cereal::make_size_tag that is done.
//
// A load runs in a turn of the message's receiver, or in the thread of the network: there, if a value may have others of its
// own type in it, and so be as deep as who writes it likes; and if the message does not come straight into a mailbox.
//
// This header includes cereal, Debian's libcereal-dev; no other one of Ergon does, and Ergon's libraries are built
// without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/wire_types.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/packed/archive.h>
#include <ergon/node/erlang/packed/layout.h>
#include <ergon/node/erlang/packed_type.h>

namespace ergon::dist {

// Stands for T where types are registered.
template <class T>
struct Cereal {};

// For gen::WireTypes::Register.
template <class T>
struct WireTypeOf<Cereal<T>> : private WireTypeBase<T> {
  // Makes a T and looks at its fields; what it throws is the problem of the result. Any thread.
  static std::shared_ptr<const WireType> Describe(const gen::WireTypeOptions& options = {}) {
    return WireTypeBase<T>::Describe(options,
                                     [](WireType& described) { described.packed = Packed(); });
  }

 private:
  static PackedType Packed() {
    CerealLayout layout;
    layout.Describe<T>();
    return {.version = detail::VersionOf<T>(),
            .fingerprint = FingerprintOf(core::TypeOf<T>()->Name() + ' ' + layout.words()),
            .is_bounded = layout.is_bounded(),
            .pack = &Pack,
            .unpack = &Unpack};
  }
  static void Pack(std::string& out, const void* value) {
    CerealWriter writer(out);
    writer(*static_cast<const T*>(value));
    writer.Close();
  }
  static core::EnvelopePtr Unpack(std::string_view bytes, AtomBudget* atoms, std::uint8_t kind,
                                  core::EnvelopeNumbers numbers) {
    core::EnvelopePtr envelope = core::MakeEnvelopeWith<T>(numbers, kind, core::Lane::kMain);
    CerealReader reader(bytes, atoms);
    reader(*static_cast<T*>(envelope->Value()));
    reader.Close();
    return envelope;
  }
};

}  // namespace ergon::dist
