# ergon_add_layer(<layer> [ROOMS <folder>...] [INSTALLED <header>...])
#
# Makes the static library ergon_<layer> (alias ergon::<layer>) of the *.cc and *.h in the current
# source folder and in its rooms, the given folders below it.
#
# The layer's include root is a folder with nothing but a link to the sources, so that
# <ergon/core/messages/mailbox.h> names core/messages/mailbox.h, and a target sees only its own layer and
# those it links.
#
# Headers directly in the layer's folder are what users include, and are installed. Those in rooms are the
# layer's own, and are not; but for the INSTALLED ones, which the former include. tests/layering.sh proves
# that these are all, and none too many.
function(ergon_add_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;INSTALLED")
  set(target ergon_${layer})
  set(source_dir "${CMAKE_CURRENT_SOURCE_DIR}")
  set(root "${PROJECT_BINARY_DIR}/include-roots/${layer}")
  file(MAKE_DIRECTORY "${root}/ergon")
  file(CREATE_LINK "${source_dir}" "${root}/ergon/${layer}" SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS "${source_dir}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${source_dir}" "${source_dir}/*.h")
  set(room_headers "")
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB found CONFIGURE_DEPENDS "${source_dir}/${room}/*.cc")
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${source_dir}" "${source_dir}/${room}/*.h")
    list(APPEND room_headers ${found})
  endforeach()
  if(arg_INSTALLED)
    list(APPEND headers ${arg_INSTALLED})
    list(REMOVE_ITEM room_headers ${arg_INSTALLED})
  endif()
  list(TRANSFORM headers PREPEND "${root}/ergon/${layer}/")
  list(TRANSFORM room_headers PREPEND "${root}/ergon/${layer}/")

  add_library(${target} STATIC ${sources})
  add_library(ergon::${layer} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${root}" FILES ${headers})
  if(ERGON_INSTALL)
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
