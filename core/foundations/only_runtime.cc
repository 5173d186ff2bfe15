#include <ergon/core/foundations/only_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <elf.h>
#include <link.h>
#include <unistd.h>

namespace ergon::core {
namespace {

constexpr std::uint32_t kKind = 1;

// The loader shows the notes of all that is loaded, also of a program that exports no symbols and of libraries that
// keep theirs to themselves.
struct Note {
  ElfW(Nhdr) header;
  char owner[8];
};
// Clang's address sanitizer would put bytes behind it that nobody may read, into the segment that is read here.
#ifdef __clang__
#define ERGON_NOTHING_BEHIND [[clang::no_sanitize("address")]]
#else
#define ERGON_NOTHING_BEHIND
#endif
ERGON_NOTHING_BEHIND [[gnu::used, gnu::section(".note.ergon"), gnu::aligned(4)]] const Note kNote{
    {6, 0, kKind}, "Ergon"};
#undef ERGON_NOTHING_BEHIND

// Where the notes of one segment hold one of ours that is not this copy's.
bool HoldsOther(const char* at, std::size_t bytes) {
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  const char* const end = at + bytes;
  while (static_cast<std::size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, at, sizeof(header));
    const std::size_t size = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
    if (size > static_cast<std::size_t>(end - at)) return false;
    if (header.n_namesz == kNote.header.n_namesz && header.n_type == kKind &&
        std::memcmp(at + sizeof(header), kNote.owner, header.n_namesz) == 0 &&
        at != reinterpret_cast<const char*>(&kNote)) {
      return true;
    }
    at += size;
  }
  return false;
}

struct Search {
  std::string own;
  std::string other;
};

std::string NameOf(const dl_phdr_info& object) {
  if (object.dlpi_name != nullptr && object.dlpi_name[0] != '\0') return object.dlpi_name;
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string("the program");
}

int Look(dl_phdr_info* object, std::size_t, void* into) {
  auto& search = *static_cast<Search*>(into);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const ElfW(Addr) begin = object->dlpi_addr + segment.p_vaddr;
    const auto own = reinterpret_cast<ElfW(Addr)>(&kNote);
    if (segment.p_type == PT_LOAD && own >= begin && own - begin < segment.p_memsz) {
      search.own = NameOf(*object);
    } else if (segment.p_type == PT_NOTE &&
               HoldsOther(reinterpret_cast<const char*>(begin), segment.p_memsz)) {
      search.other = NameOf(*object);
    }
  }
  return 0;
}

}  // namespace

[[gnu::constructor]] void RefuseSecondRuntime() noexcept {
  Search search;
  dl_iterate_phdr(&Look, &search);
  if (search.other.empty()) return;
  std::fprintf(stderr,
               "ergon: its runtime is in this process twice, in %s and in %s: build Ergon with "
               "-DBUILD_SHARED_LIBS=ON and link both with libergon.so\n",
               search.other.c_str(), search.own.c_str());
  std::abort();
}

}  // namespace ergon::core
