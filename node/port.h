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
// Input. What is sent to the port is written in order. While the program does not read, messages wait in the
// port's mailbox: ProcessOptions::mailbox_size bounds it, with an error for the senders. Call(port,
// PortInput{...}) returns when the bytes are in the pipe. A program that has closed its input, or has ended, is
// an error to the caller, and a line in the log for a message; no signal SIGPIPE is raised.
//
// Output. The owner gets PortData, sent as by SendImportant, from helpers of the port: the sender is not the port
// itself, which PortData::port names. The port does not read while the owner has PortOptions::window messages
// waiting, or refuses one for want of room: then the program waits. So an owner that suspends itself in a Call to
// the port handles no output meanwhile, and may wait for a program that waits for it: use Send or Request where
// there may be much of both.
//
// The end. When the program ends, what is left of its process group is killed, the rest of its output is delivered,
// then PortExit, and the port ends: with reason normal for the status 0, else with the error "sort exited with
// status 2" or "sort was ended by signal SIGSEGV", which with a link ends an owner that does not trap exits. One that
// does gets the exit signal behind the output and PortExit if it has linked itself with gen::NoticeOrder::kInOrder. What
// a daemon writes later that has left the group and has kept the pipe is not read.
//
// The port ends with its owner; no link is needed. An owner that has ended, an exit signal, StopProcess, a
// supervisor and the end of the node ask it to stop: it closes the program's input and sends SIGTERM to its process
// group. What has not ended after PortOptions::shutdown_timeout is killed, and an owner that is slow then does not
// get the rest of the output. PortExit comes all the same, and the reason of the end is the one that was asked for.
// StopProcess comes after the input that was sent before; the program has to take that within shutdown_timeout, too.
//
// A port that is killed kills the group at once, and waits until the program is gone; its owner gets no PortExit. No
// end of a port leaves a zombie. When this program itself is killed its ports' programs go on, until they find the
// end of their input.
//
// The program runs in a process group of its own, with no other descriptor than the three, with all signals as by
// default and none blocked. Its id is what Inspect calls "os_pid".
//
// With a port go up to four processes more, which are suspended. It needs Linux; before 5.3 it looks every 20 ms
// whether its program has ended.
#pragma once

#include <ergon/gen/factory.h>
#include <ergon/node/port/messages.h>
#include <ergon/node/port/options.h>

namespace ergon::node {

// Makes processes that start the program in their Init. Any thread; may be used many times, as by a supervisor.
// Spawn returns kProcessTerminated when the program cannot be started, with the program and the reason in its text:
// "cannot start sort: No such file or directory", or an option that is not correct. Only for nodes of
// node::Start; the program aborts when the node has a clock of its own (see gen::NodeOptions::clock).
[[nodiscard]] gen::ProcessFactory Port(PortOptions options);

}  // namespace ergon::node
