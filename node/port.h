// Ports: a program of the operating system as a process of the node.
//
//   auto port = Spawn(node::Port({.program = "sort", .arguments = {"-n"}, .lines = 4096}));
//   ...
//   Send(*port, node::PortInput{"3\n1\n2\n"});
//   Send(*port, node::PortCloseInput{});
//   ...
//   gen::Status HandleMessage(gen::PID, gen::Message& message) override {
//     if (auto* line = message.As<node::PortData>()) ...    // "1", "2", "3"
//     if (auto* exit = message.As<node::PortExit>()) ...    // after the last of them
//
// Input. Input that is sent to the port is written in order. While the program does not read, messages wait in the
// port's mailbox. ProcessOptions::mailbox_size bounds the mailbox; when it is full, senders get an error. Call(port,
// PortInput{...}) returns when the bytes are in the pipe. If the program has closed its input or has ended, a
// caller gets an error, and for the first such message there is a warning in the log; no signal SIGPIPE is raised.
//
// Output. The owner gets PortData, sent as by SendImportant, from helper processes of the port: the sender is not the
// port itself, which PortData::port names. The first output may come before the port's Init is over. The port does not
// read while the owner has PortOptions::window messages waiting, or refuses one for want of room; then the program
// waits. So an owner that suspends itself in a Call to the port handles no output meanwhile, and may wait for a program
// that waits for it: use Send or Request if there may be much input and much output.
//
// End of the program. When the program ends, the rest of its process group is killed, the rest of its output is
// delivered, then PortExit, and the port ends: with reason normal for the status 0, else with the error "sort exited
// with status 2" or "sort was ended by signal SIGSEGV". With a link this ends an owner that does not trap exits. An
// owner that traps exits gets the exit signal behind the output and PortExit if it has linked itself with
// gen::NoticeOrder::kInOrder. (PortExit itself waits for the ends of the processes that read: they send the output to
// the owner, and an order of signals holds between two processes only.) A daemon that has left the group and has kept
// the pipe may write later; this is not read. (In a program that ignores SIGCHLD, or waits for children that are not
// its own, the status is not known, and the rest of the group is not killed: its number may be another group's by
// then.)
//
// End of the port. The port ends with its owner; no link is needed. The end of the owner, an exit signal, StopProcess,
// a supervisor and the end of the node ask the port to stop: it closes the program's input and sends SIGTERM to its
// process group. Processes of the group that have not ended after PortOptions::shutdown_timeout are killed, and an
// owner that is slow then does not get the rest of the output. PortExit comes all the same, as soon as the owner's
// mailbox has room, and the port ends with the reason that was asked for. (An owner on another node may get it twice,
// if the port is asked to stop while it waits for that node to confirm it.) Of an owner that has no room for
// shutdown_timeout the log tells instead. StopProcess takes effect after the input that was sent before; the program
// has to take this input within shutdown_timeout, too.
//
// A port that is killed kills the group at once and waits until the program is gone; its owner gets no PortExit. No
// end of a port leaves a zombie. But a program that has become another user's, as by sudo, takes no signal from this
// one: the port waits for it shutdown_timeout at most, its PortExit has an unknown status, and it goes on until it
// finds the end of its input, and is a zombie then. The programs of all ports go on, too, if this program itself is
// killed.
//
// The program runs in a process group of its own, with no descriptors except the three standard ones, with all signals
// as by default and none blocked. Inspect shows its id as "os_pid".
//
// A port has up to four more processes, which are suspended. It needs Linux; before 5.3 it checks every 20 ms
// whether its program has ended.
#pragma once

#include <ergon/gen/factory.h>
#include <ergon/node/port/messages.h>
#include <ergon/node/port/options.h>

namespace ergon::node {

// Returns a factory of processes that start the program in their Init. Any thread; the factory may be used many times,
// as by a supervisor. Spawn returns kProcessTerminated if the program cannot be started, with the program and the
// reason in its text ("cannot start sort: No such file or directory"), or if an option is not correct. Only for nodes
// of node::Start; the program aborts if the node has a clock of its own (see gen::NodeOptions::clock).
[[nodiscard]] gen::ProcessFactory Port(PortOptions options);

}  // namespace ergon::node
