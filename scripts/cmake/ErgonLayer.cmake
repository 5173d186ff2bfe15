# ergon_add_layer(<layer> [SUBFOLDERS <folder>...] [INTERNAL_HEADERS <pattern>...])
#
# Makes the static library ergon_<layer> (alias ergon::<layer>) of the *.cc and *.h in the current
# source folder and the given folders below it.
#
# The layer's include root is a folder with nothing but a link to the sources, so that
# <ergon/core/mailbox.h> names core/mailbox.h, and a target sees only its own layer and those it links.
#
# Headers whose path in the layer matches one of the patterns (regular expressions) stay out of the
# installation; no installed header may include them.
function(ergon_add_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SUBFOLDERS;INTERNAL_HEADERS")
  set(target ergon_${layer})
  set(source_dir "${CMAKE_CURRENT_SOURCE_DIR}")
  set(root "${PROJECT_BINARY_DIR}/include-roots/${layer}")
  file(MAKE_DIRECTORY "${root}/ergon")
  file(CREATE_LINK "${source_dir}" "${root}/ergon/${layer}" SYMBOLIC)

  set(sources "")
  set(headers "")
  set(internal_headers "")
  foreach(folder IN ITEMS "" LISTS arg_SUBFOLDERS)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${source_dir}" "${source_dir}/${folder}/*.cc")
    list(TRANSFORM found PREPEND "${source_dir}/")
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${source_dir}" "${source_dir}/${folder}/*.h")
    list(APPEND headers ${found})
  endforeach()
  foreach(pattern IN LISTS arg_INTERNAL_HEADERS)
    set(found ${headers})
    list(FILTER found INCLUDE REGEX "${pattern}")
    list(APPEND internal_headers ${found})
  endforeach()
  if(internal_headers)
    list(REMOVE_ITEM headers ${internal_headers})
  endif()
  list(TRANSFORM headers PREPEND "${root}/ergon/${layer}/")
  list(TRANSFORM internal_headers PREPEND "${root}/ergon/${layer}/")
  if(NOT sources)  # a static library needs something to compile
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.cc" "")
    set(sources "${CMAKE_CURRENT_BINARY_DIR}/empty.cc")
  endif()

  add_library(${target} STATIC ${sources})
  add_library(ergon::${layer} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${root}" FILES ${headers})
  install(TARGETS ${target} EXPORT ErgonTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

  if(internal_headers)  # not installed, but each must compile alone too
    add_library(${target}_internal INTERFACE)
    target_sources(${target}_internal
      INTERFACE FILE_SET HEADERS BASE_DIRS "${root}" FILES ${internal_headers})
    target_link_libraries(${target}_internal INTERFACE
      ${target} $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    target_compile_definitions(${target}_internal INTERFACE
      $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  endif()
endfunction()
