# With BUILD_SHARED_LIBS: the one shared library libergon.so of all layers, and the targets ergon::<layer> of users, who
# see of each layer what they see of a static one.
#
# One, because layers use each other's rooms: what those define can be hidden only within one library.
set(ergon_layers core gen act node)

add_library(ergon_shared SHARED)
add_library(ergon::library ALIAS ergon_shared)
# Below 1.0 each minor version may change what programs were compiled with.
set(ergon_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  string(APPEND ergon_soversion ".${PROJECT_VERSION_MINOR}")
endif()
set_target_properties(ergon_shared PROPERTIES
  OUTPUT_NAME ergon EXPORT_NAME library LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${ergon_soversion})
foreach(layer IN LISTS ergon_layers)
  target_link_libraries(ergon_shared PRIVATE ergon_${layer})
  if(TARGET ergon_${layer}_hidden)
    target_link_libraries(ergon_shared PRIVATE ergon_${layer}_hidden)
  endif()
endforeach()
# Hides what libraries of others leave here, too.
set(ergon_symbols "${CMAKE_CURRENT_LIST_DIR}/ergon.symbols")
target_link_options(ergon_shared PRIVATE "LINKER:--version-script=${ergon_symbols}")
set_target_properties(ergon_shared PROPERTIES LINK_DEPENDS "${ergon_symbols}")
if(NOT ERGON_SANITIZE)
  target_link_options(ergon_shared PRIVATE "LINKER:-z,defs")  # nothing is left for the program to define
endif()

foreach(layer IN LISTS ergon_layers)
  set(target ergon_${layer}_of_users)
  add_library(${target} INTERFACE)
  add_library(ergon::${layer} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(${target} INTERFACE cxx_std_20)
  get_target_property(headers ergon_${layer} HEADER_SET)
  get_target_property(root ergon_${layer} HEADER_DIRS)
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS "${root}" FILES ${headers})

  # What is PUBLIC there.
  get_target_property(links ergon_${layer} INTERFACE_LINK_LIBRARIES)
  list(FILTER links EXCLUDE REGEX "LINK_ONLY")
  list(TRANSFORM links REPLACE "^(ergon_.*)$" "\\1_of_users")
  target_link_libraries(${target} INTERFACE ergon_shared ${links})
  get_target_property(definitions ergon_${layer} INTERFACE_COMPILE_DEFINITIONS)
  if(definitions)
    target_compile_definitions(${target} INTERFACE ${definitions})
  endif()
  get_target_property(folders ergon_${layer} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
  if(folders)
    target_include_directories(${target} SYSTEM INTERFACE ${folders})
  endif()
  if(ERGON_INSTALL)
    install(TARGETS ${target} EXPORT ErgonTargets
      FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
  endif()
endforeach()
if(ERGON_INSTALL)
  install(TARGETS ergon_shared EXPORT ErgonTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev)
endif()
