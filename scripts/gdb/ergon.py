# Ergon's processes in gdb: in a program that runs, and in a core file.
#
#   (gdb) source /usr/share/ergon/gdb/ergon.py
#   (gdb) ergon ps
#   (gdb) ergon bt 2.1
#
# No code of the program is run, and no debug information is needed: where things are is told by the program
# itself (node/runtime/debugger_layout.h). It is found by a symbol, so the program must not be stripped.

import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

ANCHOR = "ergon_debugger_anchor"
HEADS = ("PID", "NAME", "BEHAVIOUR", "STATE", "QUEUED", "HIGH", "HELD", "HANDLES", "WAITS FOR")
# As those of a dump (node/diagnosis/dump.cc).
BLOCK = 256
WIDEST = 48
STAGES = (", being sent", "", ", handled without an answer so far", ", put aside or passed on there")
# A thread that handles a signal may do so on another stack than that of the turn it runs.
FRAMES_SEARCHED = 32


# ---- memory


def read(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.MemoryError:
        raise gdb.GdbError(
            "Memory at 0x%x cannot be read. Is the core file complete, and of this program?" % address)
    except gdb.error as error:  # as of a program that runs on
        raise gdb.GdbError(str(error))


def number(form, address):
    return struct.unpack("<" + form, read(address, struct.calcsize(form)))[0]


def pointer(address):
    return number("Q", address)


def text_at(address):
    text = b""
    while True:
        # Not beyond the page, which may be the last one there is.
        part = read(address, min(64, 4096 - address % 4096))
        end = part.find(b"\0")
        if end >= 0:
            return (text + part[:end]).decode("utf-8", "replace")
        text += part
        address += len(part)


def address_of(symbol):
    """The address of a symbol, or None."""
    try:
        return int(gdb.parse_and_eval("&" + symbol))
    except gdb.error:
        return None


# ---- what the program tells of itself


SHORT_NAMES = (
    (
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
        "std::string",
    ),
    ("std::basic_string_view<char, std::char_traits<char> >", "std::string_view"),
)


class Layout:
    """Offsets and constants by their names."""

    def __init__(self, address):
        self._numbers = {}
        while True:
            name, value = struct.unpack("<32sQ", read(address, 40))
            name = name.partition(b"\0")[0].decode()
            if not name:
                break
            self._numbers[name] = value
            address += 40
        self.states = {value: name[len("state "):]
                       for name, value in self._numbers.items() if name.startswith("state ")}

    def __getitem__(self, name):
        if name not in self._numbers:
            raise gdb.GdbError("This program's Ergon does not tell where '%s' is: take the ergon.py of the version "
                               "that the program was built with." % name)
        return self._numbers[name]

    def get(self, name):
        return self._numbers.get(name)


class Program:
    """The nodes of a program, as they are now."""

    def __init__(self):
        if not gdb.selected_inferior().threads():
            raise gdb.GdbError("There is no program that runs, and no core file: begin with 'run', or with "
                               "'gdb PROGRAM CORE'.")
        anchor = address_of(ANCHOR)
        if anchor is None:
            raise gdb.GdbError(
                "There is no Ergon in this program." if address_of("main") is not None else
                "The program's symbols are missing, so Ergon cannot be found. Give gdb the program as it was before "
                "it was stripped: 'gdb PROGRAM CORE', or 'symbol-file PROGRAM'.")
        # node/runtime/debugger_view.h
        layout, nodes, workers, self._atoms = struct.unpack("<4Q", read(anchor, 32))
        if workers == 0:  # what follows may not even be loaded
            raise gdb.GdbError("No node was started in this program yet.")
        self.layout = Layout(layout)
        self.workers = list(self._roster(workers))
        self._atom_texts = {}
        self._type_names = {}
        self._behaviors = {}
        self._threads = None
        self.nodes = [Node(self, view) for view in reversed(list(self._roster(nodes)))]
        if not self.nodes:
            raise gdb.GdbError("There is no node in the program any more: all have ended.")

    def _roster(self, roster):
        place = pointer(roster)
        while place != 0:
            who = pointer(place + self.layout["place.who"])
            if who != 0:
                yield who
            place = pointer(place + self.layout["place.next"])

    def atom(self, index):
        if index not in self._atom_texts:
            self._atom_texts[index] = self._read_atom(index)
        return self._atom_texts[index]

    def _read_atom(self, index):
        layout = self.layout
        if layout.get("string.text") is None:  # unknown to this script
            return "atom-%d" % index if index != 0 else ""
        chunk = pointer(self._atoms + 8 * (index // layout["atoms.chunk"]))
        string = chunk + index % layout["atoms.chunk"] * layout["string.bytes"]
        text, length = struct.unpack("<2Q", read(string + layout["string.text"], 16))
        return read(text, length).decode("utf-8", "replace") if length != 0 else ""

    def type_name(self, type_info):
        """What a std::type_info is of."""
        if type_info not in self._type_names:
            mangled = text_at(pointer(type_info + 8)).lstrip("*")
            try:
                name = gdb.execute("demangle -l c++ -- _ZTS" + mangled, to_string=True).strip()
            except gdb.error:
                name = mangled
            name = re.sub("^typeinfo name for ", "", name)
            for long_one, short_one in SHORT_NAMES:  # as in core/foundations/demangle.cc
                name = name.replace(long_one, short_one)
            self._type_names[type_info] = name
        return self._type_names[type_info]

    def message_type(self, descriptor):
        name = self.type_name(pointer(descriptor + self.layout["type.info"]))
        return "a continuation" if name == "ergon::node::Continuation" else name

    def behavior(self, address):
        """The class of an object with virtual functions."""
        if address == 0:
            return "ended"
        table = pointer(address)
        if table not in self._behaviors:
            self._behaviors[table] = self.type_name(pointer(table - 8))
        return self._behaviors[table]

    def thread_of(self, slot):
        """The number of the thread that runs a turn of the process in this slot, or None."""
        if self._threads is None:
            self._threads = self._find_threads()
        return self._threads.get(slot)

    def _find_threads(self):
        layout = self.layout
        turns = []
        for worker in self.workers:
            running = pointer(worker + layout["worker.running"])
            fiber = pointer(worker + layout["worker.fiber"])
            if running != 0 and fiber != 0:
                stack = pointer(fiber + layout["fiber.stack"])
                # One that has used up its stack is in the guard below.
                turns.append((stack - layout["fiber.guard_bytes"],
                              stack + pointer(fiber + layout["fiber.stack_bytes"]), running))
        found = {}
        if not turns:
            return found
        with SelectionKept():
            for thread in gdb.selected_inferior().threads():
                if not thread.is_stopped():
                    continue
                thread.switch()
                slot = running_on_this_thread(turns)
                if slot is not None:
                    found[slot] = thread.num
        return found


def running_on_this_thread(turns):
    try:
        frame = gdb.newest_frame()
        for _ in range(FRAMES_SEARCHED):
            if frame is None:
                break
            stack = int(frame.read_register("sp"))
            for low, high, slot in turns:
                if low <= stack < high:
                    return slot
            frame = frame.older()
    except gdb.error:
        pass  # a stack that cannot be read
    return None


class Node:
    def __init__(self, program, view):
        self.program = program
        layout = program.layout
        addresses, table = struct.unpack("<2Q", read(view, 16))  # node/runtime/debugger_view.h
        self.name = program.atom(number("I", addresses + layout["addresses.node"]))
        self.has_stopped = number("B", addresses + layout["addresses.stopped"]) != 0
        self._slot_bytes = pointer(table + layout["table.slot_bytes"])
        self._chunks = []
        chunks = table + layout["table.chunks"]
        while len(self._chunks) < layout["table.max_chunks"]:
            chunk = pointer(chunks + 8 * len(self._chunks))
            if chunk == 0:
                break
            self._chunks.append(chunk)

    def pid(self, process):
        return "<%s.%d.%d>" % (self.name, process & 0xffffffff, process >> 32)

    def processes(self):
        """All that live, in the order in which they were spawned."""
        found = []
        size = self.program.layout["table.chunk_slots"]
        for first, chunk in enumerate(self._chunks):
            memory = read(chunk, size * self._slot_bytes)
            for place in range(size):
                begin = place * self._slot_bytes
                process = Process(self, first * size + place, chunk + begin,
                                  memory[begin:begin + self._slot_bytes])
                if process.is_alive():
                    found.append(process)
        found.sort(key=lambda process: process.sequence())
        return found

    def slot(self, index):
        """The process that lives in a slot, or lived there last; None: there is no such slot."""
        size = self.program.layout["table.chunk_slots"]
        if index == 0 or index // size >= len(self._chunks):
            return None
        address = self._chunks[index // size] + index % size * self._slot_bytes
        return Process(self, index, address, read(address, self._slot_bytes))


def parents_in_spawn(processes):
    """Those in whose turns the Init of a child runs, by the child's id."""
    return {process.starting_child(): process for process in processes if process.starting_child() != 0}


class Process:
    """What a slot says; see node/process_state/slot.h and node/diagnosis/dump.cc."""

    def __init__(self, node, index, address, memory):
        self.node = node
        self.program = node.program
        self.index = index
        self.address = address
        self._memory = memory

    def _get(self, form, name):
        return struct.unpack_from("<" + form, self._memory, self.program.layout[name])[0]

    def _cold(self, form, name, otherwise):
        cold = self._get("Q", "slot.cold")
        return number(form, cold + self.program.layout[name]) if cold != 0 else otherwise

    def generation(self):
        return self._get("I", "slot.generation")

    def id(self):
        return self.generation() << 32 | self.index

    def pid(self):
        return self.node.pid(self.id())

    def _top(self):
        return self._get("Q", "slot.main") & ((1 << self.program.layout["main.top_bits"]) - 1)

    def is_alive(self):
        return self._top() != self.program.layout["main.closed"] and self._get("B", "slot.closed") == 0

    def sequence(self):
        return self._get("Q", "slot.sequence")

    def name(self):
        return self.program.atom(self._cold("I", "cold.name", 0))

    def behavior(self):
        return self.program.behavior(self._get("Q", "slot.behavior"))

    def state(self):
        layout = self.program.layout
        state = layout.states.get(self._get("B", "slot.state"), "unknown")
        if state == "idle":
            idle = ("main.idle", "main.redirected_idle", "main.refused_idle")
            is_ready = self._top() not in [layout[name] for name in idle]
        else:
            is_ready = state == "waiting" and self._has_outcome()
        return "ready" if is_ready else state

    def _has_outcome(self):
        """Whether what it waits for has come, or its time is up."""
        layout = self.program.layout
        word = self._get("Q", "slot.await")
        return word != 0 and word & layout["await.tag_mask"] not in (layout["await.running"], layout["await.parked"])

    def parked(self):
        """The fiber of its turn that is suspended, or 0."""
        return self._get("Q", "slot.parked")

    def starting_child(self):
        extras = self._get("Q", "slot.extras")
        return pointer(extras + self.program.layout["extras.starting_child"]) if extras != 0 else 0

    def _messages(self):
        bits = self.program.layout["main.top_bits"]
        pushed = self._get("Q", "slot.main") >> bits
        messages = (pushed - self._get("I", "slot.main_taken")) & ((1 << (64 - bits)) - 1)
        messages += self._get("I", "slot.main_queued") - self._cold("q", "cold.own_in_main", 0)
        return max(messages, 0)

    def queued(self):
        messages = self._messages()
        bound = self._get("I", "slot.main_capacity")
        lane = self._cold("Q", "cold.queue_lane", 0)
        if lane != 0 and number("I", lane + self.program.layout["queue_lane.generation"]) == self.generation():
            bound = pointer(lane + self.program.layout["queue_lane.bound"])
        return "%d/%d" % (messages, bound) if bound != 0 else str(messages)

    def handles(self):
        state = self.state()
        if state == "starting":
            return "Init"
        if state == "terminating":
            return "Terminate"
        if state == "ready":
            return "waits for a thread"
        if state == "idle":
            return self._with_workers()
        descriptor = self._get("Q", "slot.handles")
        return self.program.message_type(descriptor) if descriptor != 0 else "Init or a signal"

    def _with_workers(self):
        """Of a pool how many workers it has, and what waits with them."""
        layout = self.program.layout
        pool = self._get("Q", "slot.pool")
        size = number("I", pool + layout["pool.size"]) if pool != 0 else 0
        if size == 0:
            return ""
        array = pointer(pool + layout["pool.array"])
        entries = pointer(array + layout["array.entries"])
        waiting = 0
        for place in range(min(size, pointer(array + layout["array.capacity"]))):
            worker = pointer(entries + 8 * place)
            process = self.node.slot(worker & 0xffffffff)
            if process is not None and process.id() == worker and process.is_alive():
                waiting += process._messages()
        return "a pool: with its workers (%d) wait %d" % (size, waiting)

    def waits_for(self):
        if self.starting_child() != 0:
            return self._describe(self.starting_child()) + ": its Init"
        if self.state() != "waiting":
            return ""
        layout = self.program.layout
        extras = self._get("Q", "slot.extras")
        word = pointer(extras + layout["call.word"]) if extras != 0 else 0
        if word == 0:
            return "sleeps, or waits for no process"
        descriptor = pointer(extras + layout["call.type"])
        to = pointer(extras + layout["call.to"])
        stage = word >> layout["call.stage_shift"]
        # A pool has given the request to another worker.
        moved = pointer(extras + layout["call.moved"])
        if moved == word & ((1 << layout["call.stage_shift"]) - 1) | 3 << layout["call.stage_shift"]:
            to = pointer(extras + layout["call.moved_to"])
            stage = min(stage, 1)
        return "%s: %s%s" % (self._describe(to),
                             self.program.message_type(descriptor) if descriptor != 0 else "a signal",
                             STAGES[stage])

    def _describe(self, other):
        if other == 0:
            return "another node"
        process = self.node.slot(other & 0xffffffff)
        if process is None or process.id() != other or not process.is_alive():
            return self.node.pid(other) + " (has ended)"
        return process.describe()

    def describe(self):
        return " ".join(word for word in (self.pid(), self.name(), self.behavior()) if word)

    def thread(self, parents):
        """The number of the thread it runs on, or None; see parents_in_spawn."""
        if self.state() in ("idle", "waiting") and self.starting_child() == 0:
            return None
        if self.parked() != 0:
            return None
        thread = self.program.thread_of(self.address)
        if thread is None and self.id() in parents:
            return parents[self.id()].thread(parents)
        return thread

    def row(self, parents):
        state = self.state()
        if self._get("B", "slot.suspended") != 0:
            state += ", suspended"
        thread = self.thread(parents)
        if thread is not None:
            state += ", thread %d" % thread
        return (self.pid(), self.name() or "-", self.behavior(), state, self.queued(),
                str(max(self._get("i", "slot.express"), 0)),
                str(max(self._cold("q", "cold.held", 0), 0)),
                self.handles(), self.waits_for())


# ---- the stack of a process that is suspended


class SelectionKept:
    """The selected thread and frame stay as they were."""

    def __enter__(self):
        self._thread = gdb.selected_thread()
        self._level = gdb.selected_frame().level()

    def __exit__(self, *_):
        self._thread.switch()
        frame = gdb.newest_frame()
        while frame.level() < self._level:
            frame = frame.older()
        frame.select()


class FrameId:
    def __init__(self, sp, pc):
        self.sp = gdb.Value(sp)
        self.pc = gdb.Value(pc)


class SuspendedTurn(Unwinder):
    """Makes the newest frame of the selected thread look as if a suspended turn had called it."""

    def __init__(self):
        super().__init__("ergon-suspended-turn")
        self.enabled = False
        self._registers = {}
        self._stack_of_thread = 0

    def __call__(self, frame):
        if int(frame.read_register("rsp")) != self._stack_of_thread:
            return None
        # Below the frames of the turn, as the frame of a function that was called by them.
        info = frame.create_unwind_info(FrameId(self._registers["rsp"] - 16, int(frame.read_register("rip"))))
        for name, value in self._registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(frame.read_register(name).type))
        return info

    def backtrace(self, registers, arguments):
        """What gdb's bt, with these arguments, says of a turn with these registers."""
        frame = gdb.newest_frame()
        foreign = 1  # frames of the thread before those of the turn
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
            foreign += 1
        # A number of frames, also behind other words, is meant without those; a negative one counts from the other end.
        arguments = re.sub(r"(?<!\S)\d+$", lambda found: str(int(found[0]) + foreign), arguments)
        with SelectionKept():
            self._stack_of_thread = int(frame.read_register("rsp"))
            self._registers = registers
            self.enabled = True
            gdb.invalidate_cached_frames()
            try:
                said = gdb.execute("bt " + arguments, to_string=True)
            finally:
                self.enabled = False
                gdb.invalidate_cached_frames()
        return own_frames(said, foreign)


def own_frames(said, foreign):
    """Without the first `foreign` frames, and without what is below the first function of the stack."""
    lines = []
    level = 0
    for line in said.splitlines():
        begin = re.match(r"#(\d+)\s*", line)
        if begin is not None:
            level = int(begin[1]) - foreign
            if re.search(r"\bmake_fcontext\b", line):
                break
            line = "#%-3d%s" % (level, line[begin.end():])
        if level >= 0 and (begin is not None or lines):
            lines.append(line)
    return "\n".join(lines)


suspended_turn = SuspendedTurn()


def saved_registers(context):
    """What Boost.Context's jump_fcontext has saved: in its own frame, whose size depends on the version."""
    architecture = gdb.selected_inferior().architecture().name()
    if "x86-64" not in architecture:
        raise gdb.GdbError("The stacks of suspended processes can be shown on x86-64 only, and this is %s."
                           % architecture)
    jump = address_of("jump_fcontext")
    code = read(jump, 64) if jump is not None else b""
    frame = re.search(rb"\A(?:\xf3\x0f\x1e\xfa)?\x48\x8d\x64\x24(.)", code, re.DOTALL)  # lea -N(%rsp),%rsp
    first = re.search(rb"\x4c\x89\x64\x24(.)", code, re.DOTALL)  # mov %r12,N(%rsp)
    if frame is None or first is None or 256 - frame[1][0] != first[1][0] + 6 * 8:
        raise gdb.GdbError("How this program's Boost.Context saves registers cannot be told: gdb does not have its "
                           "library (see 'info sharedlibrary'), or this version is not known to ergon.py.")
    registers = dict(zip(("r12", "r13", "r14", "r15", "rbx", "rbp", "rip"),
                         struct.unpack("<7Q", read(context + first[1][0], 7 * 8))))
    registers["rsp"] = context + (256 - frame[1][0]) + 8
    return registers


# ---- commands


class Ergon(gdb.Command):
    """Processes of the C++ library Ergon, in a program or a core file.

ergon ps        A line for each process: what it does, what waits, for whom it waits.
ergon bt PID    The call stack of a suspended process.

No code of the program is run. 'help ergon ps' and 'help ergon bt' tell more."""

    def __init__(self):
        super().__init__("ergon", gdb.COMMAND_STATUS, prefix=True)

    def invoke(self, arguments, from_tty):
        if arguments:
            raise gdb.GdbError("There is no command 'ergon %s': 'help ergon' tells which there are." % arguments)
        gdb.write(self.__doc__ + "\n")


class ErgonPs(gdb.Command):
    """A line for each process, as node.Dump writes them.

The columns: its PID; the name it is registered by, or -; its class; starting, idle, ready, running,
waiting or terminating, with the number of gdb's thread that runs it; messages of normal priority that wait, with the
bound, if there is one; those of higher priority; messages that the behaviour has put aside; the type of what
it handles, or of a pool what waits with its workers; whom it waits for in a Call, and with what.

Times are not told. The class is the one of the object, whatever its BehaviorName says, and a message has the
name of its type, whatever its kTag says."""

    def __init__(self):
        super().__init__("ergon ps", gdb.COMMAND_STATUS)

    def invoke(self, arguments, from_tty):
        if arguments:
            raise gdb.GdbError("'ergon ps' takes no arguments.")
        for node in Program().nodes:
            self._write(node)

    def _write(self, node):
        processes = node.processes()
        parents = parents_in_spawn(processes)
        gdb.write("%s%s; processes: %d\n" % (node.name, " has stopped" if node.has_stopped else "",
                                             len(processes)))
        widths = [len(head) for head in HEADS]
        for begin in range(0, len(processes), BLOCK):
            rows = [process.row(parents) for process in processes[begin:begin + BLOCK]]
            for row in rows:
                widths = [max(width, min(len(text), WIDEST)) for width, text in zip(widths, row)]
            if begin == 0:
                rows.insert(0, HEADS)
            for row in rows:
                line = "  ".join(text.ljust(width) for text, width in zip(row, widths))
                gdb.write(line.rstrip() + "\n")


class ErgonBt(gdb.Command):
    """The call stack of a process that is suspended: in a Call, a Sleep, an Await, a Yield or a Spawn.

Usage: ergon bt PID [ARGUMENTS OF bt]

PID is as 'ergon ps' writes it, or without the node, as in 2.1, or a registered name. What follows is given
to gdb's bt: 'ergon bt 2.1 full' shows variables, 'ergon bt 2.1 5' five frames.

A process that runs is on a thread: then its number is told, for 'thread N' and 'bt'."""

    def __init__(self):
        super().__init__("ergon bt", gdb.COMMAND_STACK)

    def invoke(self, arguments, from_tty):
        who, _, rest = arguments.strip().partition(" ")
        if not who:
            raise gdb.GdbError("Whose stack? 'ergon bt PID', with a PID or a name of 'ergon ps'.")
        process = find_process(Program(), who)
        fiber = fiber_of(process)
        if fiber == 0:
            raise gdb.GdbError(why_no_stack(process))
        layout = process.program.layout
        registers = saved_registers(pointer(fiber + layout["fiber.context"]))
        gdb.write(process.describe() + "\n" + suspended_turn.backtrace(registers, rest.strip()) + "\n")


def find_process(program, who):
    pid = re.fullmatch(r"<?(?:([^<>\s]+)\.)?(\d+)\.(\d+)>?", who)
    found = []
    ended = False
    for node in program.nodes:
        if pid is None:
            found += [process for process in node.processes() if process.name() == who]
        elif pid[1] is None or pid[1] == node.name:
            process = node.slot(int(pid[2]))
            if process is not None and process.generation() == int(pid[3]) and process.is_alive():
                found.append(process)
            elif process is not None and 0 < int(pid[3]) < process.generation():
                ended = True
    if len(found) > 1:
        raise gdb.GdbError("Which one: %s?" % " or ".join(process.pid() for process in found))
    if not found:
        raise gdb.GdbError("%s: 'ergon ps' tells which processes there are."
                           % ("The process %s has ended" % who if ended else "There is no process %s" % who))
    return found[0]


def fiber_of(process):
    """The suspended fiber of a process, or 0."""
    if process.parked() != 0:
        return process.parked()
    # Its Init runs inside of a turn of its parent, or it is such a parent: they have one stack.
    seen = process
    while seen is not None and seen.starting_child() != 0:
        seen = process.node.slot(seen.starting_child() & 0xffffffff)
        if seen is not None and seen.parked() != 0:
            return seen.parked()
    return 0


def why_no_stack(process):
    thread = process.thread(parents_in_spawn(process.node.processes()))
    if thread is not None:
        return "%s runs on thread %d: 'thread %d', then 'bt', shows its stack." % (
            process.describe(), thread, thread)
    state = process.state()
    if state == "idle":
        return "%s is idle, and has no stack." % process.describe()
    return "%s is %s, but on no thread: it waits for its turn, and has no stack." % (process.describe(), state)


Ergon()
ErgonPs()
ErgonBt()
register_unwinder(None, suspended_turn, replace=True)
