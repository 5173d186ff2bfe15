# ergon_add_layer(<layer> [APART] [ROOMS <folder>...] [TOGETHER <glob>...] [PRECOMPILED <header>...]
#                 [INSTALLED <header>...] [EXPORTED <header>...])
#
# Makes the static library ergon_<layer> (alias ergon::<layer>) of the *.cc and *.h in the current
# source folder and in its rooms, the given folders below it. With BUILD_SHARED_LIBS it makes objects only, of which
# ErgonShared.cmake makes one library and the target ergon::<layer>; but for a layer that stands APART. Layers link each
# other as ergon_<layer>.
#
# The layer's include root is a folder with nothing but a link to the sources, so that
# <ergon/core/messages/mailbox.h> names core/messages/mailbox.h, and a target sees only its own layer and
# those it links.
#
# Headers directly in the layer's folder are what users include, and are installed. Those in rooms are the
# layer's own, and are not; but for the INSTALLED ones, which the former include. tests/layering.sh proves
# that these are all, and none too many.
#
# The shared library hides what the rooms define, but for the INSTALLED headers and the EXPORTED ones, which the test
# kit uses.
# Sources TOGETHER are compiled as a few, in half the time. A message passes through none of them: the compiler inlines
# other functions then, and messages took 1.02 to 1.07 of the time when all sources were compiled so. The others share the
# PRECOMPILED headers, and take two thirds of the time.
function(ergon_add_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART" "" "ROOMS;TOGETHER;PRECOMPILED;INSTALLED;EXPORTED")
  set(target ergon_${layer})
  set(source_dir "${CMAKE_CURRENT_SOURCE_DIR}")
  set(root "${PROJECT_BINARY_DIR}/include-roots/${layer}")
  file(MAKE_DIRECTORY "${root}/ergon")
  file(CREATE_LINK "${source_dir}" "${root}/ergon/${layer}" SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS "${source_dir}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${source_dir}" "${source_dir}/*.h")
  set(room_headers "")
  set(hidden_sources "")
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB found CONFIGURE_DEPENDS "${source_dir}/${room}/*.cc")
    list(APPEND hidden_sources ${found})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${source_dir}" "${source_dir}/${room}/*.h")
    list(APPEND room_headers ${found})
  endforeach()
  if(arg_INSTALLED)
    list(APPEND headers ${arg_INSTALLED})
    list(REMOVE_ITEM room_headers ${arg_INSTALLED})
  endif()
  if(BUILD_SHARED_LIBS AND NOT arg_APART)
    foreach(header IN LISTS arg_INSTALLED arg_EXPORTED)
      string(REGEX REPLACE "[.]h$" ".cc" source "${source_dir}/${header}")
      if(source IN_LIST hidden_sources)
        list(REMOVE_ITEM hidden_sources "${source}")
        list(APPEND sources "${source}")
      endif()
    endforeach()
  else()
    list(APPEND sources ${hidden_sources})
  endif()
  set(together OFF)
  if(arg_TOGETHER AND ERGON_COMPILE_TOGETHER AND NOT CMAKE_UNITY_BUILD)  # which is all together
    set(together ON)
    set(alone ${sources} ${hidden_sources})
    file(GLOB found CONFIGURE_DEPENDS ${arg_TOGETHER})
    list(REMOVE_ITEM alone ${found})
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  list(TRANSFORM headers PREPEND "${root}/ergon/${layer}/")
  list(TRANSFORM room_headers PREPEND "${root}/ergon/${layer}/")

  if(BUILD_SHARED_LIBS AND NOT arg_APART)
    add_library(${target} OBJECT ${sources})
    if(hidden_sources)
      # What ${target} is compiled with, and hidden.
      add_library(${target}_hidden OBJECT ${hidden_sources})
      target_link_libraries(${target}_hidden PRIVATE
        ${target} $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
      foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
        set_property(TARGET ${target}_hidden APPEND PROPERTY ${property}
          $<TARGET_PROPERTY:${target},${property}>)
      endforeach()
      target_compile_options(${target}_hidden PRIVATE -fvisibility=hidden)
    endif()
    # Whatever CMAKE_CXX_VISIBILITY_PRESET or the options of who contains Ergon say, which come before: programs need
    # what is not in a room.
    target_compile_options(${target} PRIVATE -fvisibility=default)
    set_target_properties(${target} PROPERTIES VISIBILITY_INLINES_HIDDEN ON)
  else()
    add_library(${target} STATIC ${sources})
    add_library(ergon::${layer} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  endif()
  # One compilation has nobody to share with.
  set(are_many ON)
  list(LENGTH sources number)
  if(CMAKE_UNITY_BUILD AND NOT number GREATER CMAKE_UNITY_BUILD_BATCH_SIZE)
    set(are_many OFF)
  endif()
  foreach(part IN ITEMS ${target} ${target}_hidden)
    if(together AND TARGET ${part})
      set_target_properties(${part} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ergon_sources_together})
      target_compile_options(${part} PRIVATE ${ergon_options_together})
    endif()
    if(arg_PRECOMPILED AND are_many AND TARGET ${part})
      ergon_precompile_headers(${part} PRIVATE ${arg_PRECOMPILED})
    endif()
  endforeach()
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${root}" FILES ${headers})
  if(ERGON_INSTALL AND (NOT BUILD_SHARED_LIBS OR arg_APART))
    install(TARGETS ${target} EXPORT ErgonTargets
      ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
      FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
  endif()

  if(room_headers)  # not installed, but each must compile alone too
    add_library(${target}_rooms INTERFACE)
    target_sources(${target}_rooms
      INTERFACE FILE_SET HEADERS BASE_DIRS "${root}" FILES ${room_headers})
    target_link_libraries(${target}_rooms INTERFACE
      ${target} $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    target_compile_definitions(${target}_rooms INTERFACE
      $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  endif()
endfunction()

# ergon_precompile_headers(<target> <argument>...): as target_precompile_headers. A compiler cache keeps what is compiled with
# them: for Clang, too, the same headers are the same file.
function(ergon_precompile_headers target)
  target_precompile_headers(${target} ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
