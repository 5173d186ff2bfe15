# What Ergon is built on, and the Debian packages that contain it. Read by the top CMakeLists.txt and, by
# find_package(Ergon), where Ergon is installed.
#
# Each of these adds to the list ergon_missing the Debian package of what it does not find, so that one message
# can name them all, and to ergon_needed in any case.

# ergon_look_for(<Debian package> <arguments of find_package>...)
macro(ergon_look_for debian_package name)
  list(APPEND ergon_needed ${debian_package})
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    list(APPEND ergon_missing ${debian_package})
  endif()
endmacro()

# ergon_look_for_header(<Debian package> <variable> <header>): the variable is the folder to include it from.
macro(ergon_look_for_header debian_package variable header)
  list(APPEND ergon_needed ${debian_package})
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    list(APPEND ergon_missing ${debian_package})
  endif()
endmacro()

# ergon_look_for_library(<Debian package> <target> <library>): one that has neither a package of CMake's nor one of
# pkg-config's.
macro(ergon_look_for_library debian_package target library)
  list(APPEND ergon_needed ${debian_package})
  find_library(ERGON_LIBRARY_${library} ${library})
  mark_as_advanced(ERGON_LIBRARY_${library})
  if(NOT ERGON_LIBRARY_${library})
    list(APPEND ergon_missing ${debian_package})
  elseif(NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${ERGON_LIBRARY_${library}}")
  endif()
endmacro()

# ergon_look_for_libraries(<shared> <static_programs>): what a program is compiled or linked with that uses Ergon; one
# that is shared, or one for programs that are linked with -static. A function: what it tells find_package is not for what
# else a project looks for.
function(ergon_look_for_libraries shared static_programs)
  set(Boost_NO_WARN_NEW_VERSIONS ON)
  if("${static_programs}")
    set(Boost_USE_STATIC_LIBS ON)
    set(OPENSSL_USE_STATIC_LIBS ON)
  endif()
  ergon_look_for(libc6-dev Threads)
  if(NOT "${shared}")
    ergon_look_for(libboost-context-dev Boost 1.74 COMPONENTS context)
  endif()
  ergon_look_for(libexpected-dev tl-expected)
  ergon_look_for(libfmt-dev fmt)
  if(NOT "${shared}")
    if(NOT "${static_programs}")  # which contain it
      ergon_look_for(libspdlog-dev spdlog)
    endif()
    # Other nodes: <ergon/node/erlang.h>.
    ergon_look_for(libssl-dev OpenSSL)
    ergon_look_for_library(erlang-dev erlang::ei ei)
  endif()
  set(ergon_needed "${ergon_needed}" PARENT_SCOPE)
  set(ergon_missing "${ergon_missing}" PARENT_SCOPE)
endfunction()

# ergon_name_missing(<variable>): the variable says what is missing, for people; it is empty if nothing is.
macro(ergon_name_missing variable)
  set(${variable} "")
  if(ergon_missing)
    list(REMOVE_DUPLICATES ergon_missing)
    list(JOIN ergon_missing " " ${variable})
    set(${variable} "Ergon needs what is missing here; on Debian, it comes with\n  apt-get install ${${variable}}\n")
  endif()
endmacro()
