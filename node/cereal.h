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
// Both nodes must register the type as dist::Cereal. To all other nodes (Erlang, older Ergon nodes, nodes without this
// registration) an Order goes as a term, {order, Number, Items} (erlang/archive.h); for that it is registered as Order,
// too. A type that is registered only as dist::Cereal cannot go to such nodes: the sender gets kUnsupported. Values of
// events go to each node in the form that it takes, too; one that cannot go to a node ends the subscriptions of that
// node.
//
// What cereal takes can be packed: serialize, save and load, also beside the type; the containers of the standard
// library, std::optional, variant, unique_ptr and shared_ptr; dist::Field and CEREAL_NVP, whose names are not written;
// and gen::PID, Atom, Ref, Alias, dist::Reference and Term. Types with virtual functions travel in a std::unique_ptr or
// shared_ptr, by the names of CEREAL_REGISTER_TYPE, which must stand behind this header. A type must be default
// constructible and movable. The archives that load and save get are dist::CerealReader and CerealWriter.
//
// The version of a type is that of CEREAL_CLASS_VERSION, 0 without one. Nodes tell each other the versions of their
// types when they connect. If the versions of a type differ, nothing is sent: the sender gets kIncorrect, with the type
// and both versions. If the versions are equal but the fields differ, because somebody forgot to raise the version, the
// value goes as a term; if it is registered only as dist::Cereal, the sender gets kIncorrect. The fields compared are
// those of a default-constructed value, and of the types of these fields. An object behind a pointer to a base class
// has its version in each message; if that differs, the message is unreadable there (see
// MessageBalance::dropped_unreadable).
//
// Bytes from a peer either make a value or are refused: counts larger than the bytes allow, too few or too many bytes,
// values nested more than 100 deep, objects that contain themselves. A load() of your own must check a count before it
// allocates for it; cereal::make_size_tag does.
//
// A load runs in a turn of the message's receiver, or on the thread of the network. It runs on the thread of the
// network if a value may contain others of its own type, and so be as deep as its sender likes, or if the message does
// not come straight into a mailbox. Whether a value may contain others is seen from what a default-constructed value
// saves. What such a value does not save, as an object behind a pointer, is not seen: 100 such objects within each
// other must fit on the stack of a handler (NodeOptions::handler_stack_bytes).
//
// This header includes cereal, Debian's libcereal-dev. No other header of Ergon does, and Ergon's libraries are built
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
  // Makes a T and looks at its fields; an exception becomes the `problem` of the result. Any thread.
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
  static core::EnvelopePtr Unpack(std::string_view bytes, const ReadLimits& limits,
                                  std::uint8_t kind, core::EnvelopeNumbers numbers) {
    core::EnvelopePtr envelope = core::MakeEnvelopeWith<T>(numbers, kind, core::Lane::kMain);
    CerealReader reader(bytes, limits);
    reader(*static_cast<T*>(envelope->Value()));
    reader.Close();
    return envelope;
  }
};

}  // namespace ergon::dist
