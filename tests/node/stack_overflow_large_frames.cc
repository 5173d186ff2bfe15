// Larger frames than the guard of a stack, compiled as the README says: for stack_overflow_program.cc.
namespace overflow {

// A frame of 400 KiB, which is written at its far end only: beyond the stack and its guard.
int UseLargeFrame(int depth) {
  volatile char frame[400 * 1024];
  frame[0] = static_cast<char>(depth);
  return frame[0] + depth;
}

}  // namespace overflow
