# What is installed besides the layers (ErgonLayer.cmake): what find_package and pkg-config read.
include(CMakePackageConfigHelpers)
set(ergon_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Ergon")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/ErgonConfig.cmake.in" "${PROJECT_BINARY_DIR}/ErgonConfig.cmake"
  INSTALL_DESTINATION "${ergon_package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/ErgonConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(TARGETS ergon EXPORT ErgonTargets)
install(EXPORT ErgonTargets NAMESPACE ergon:: DESTINATION "${ergon_package_dir}" COMPONENT dev)
install(FILES
  "${PROJECT_BINARY_DIR}/ErgonConfig.cmake"
  "${PROJECT_BINARY_DIR}/ErgonConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/ErgonDependencies.cmake"
  DESTINATION "${ergon_package_dir}" COMPONENT dev)

# pkg-config finds the prefix from where the file lies, wherever it was installed.
set(ergon_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${ergon_pc_dir}")
  set(ergon_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH ergon_pc_prefix "/prefix/${ergon_pc_dir}" /prefix)
  string(REGEX REPLACE "/$" "" ergon_pc_prefix "\${pcfiledir}/${ergon_pc_prefix}")
endif()
foreach(kind IN ITEMS libdir includedir)
  string(TOUPPER "CMAKE_INSTALL_${kind}" variable)
  set(ergon_pc_${kind} "${${variable}}")
  if(NOT IS_ABSOLUTE "${ergon_pc_${kind}}")
    string(PREPEND ergon_pc_${kind} "\${prefix}/")
  endif()
endforeach()
get_target_property(ergon_pc_definitions ergon_node INTERFACE_COMPILE_DEFINITIONS)
list(TRANSFORM ergon_pc_definitions PREPEND -D)
list(JOIN ergon_pc_definitions " " ergon_pc_definitions)
set(ergon_pc_requires fmt)
set(ergon_pc_requires_private "")
set(ergon_pc_libraries -lergon)
set(ergon_pc_libraries_private "")
if(NOT BUILD_SHARED_LIBS)
  set(ergon_pc_requires_private "spdlog openssl")
  set(ergon_pc_libraries "-lergon_act -lergon_node -lergon_gen -lergon_core")
  set(ergon_pc_libraries_private "-lboost_context -lei")
endif()
if(ERGON_STATIC_PROGRAMS)
  set(ergon_pc_requires "")
  set(ergon_pc_requires_private openssl)
  string(APPEND ergon_pc_definitions " -DFMT_HEADER_ONLY=1")
endif()
set(ergon_pc_names ergon)
if(TARGET ergon_testkit)
  list(APPEND ergon_pc_names ergon-testkit)
endif()
foreach(name IN LISTS ergon_pc_names)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${ergon_pc_dir}" COMPONENT dev)
endforeach()
set(ergon_doc_dir "${CMAKE_INSTALL_DOCDIR}")
if(NOT PROJECT_IS_TOP_LEVEL)  # that folder is the project's that contains Ergon
  set(ergon_doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/Ergon")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${ergon_doc_dir}" COMPONENT dev)

# For users' debuggers: node/DEBUGGING.md.
install(FILES "${PROJECT_SOURCE_DIR}/scripts/gdb/ergon.py"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/ergon/gdb" COMPONENT dev)

# For whoever runs a program that has an observer.
install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/ergon-top"
  DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT dev)

# cpack --preset install: a package for Debian. Whoever contains Ergon has packages of his own.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME libergon-dev)
  set(ergon_part "")  # of the names of variables that are about libergon-dev only
  list(JOIN ergon_needed_by_users ", " ergon_depends)
  if(BUILD_SHARED_LIBS)
    set(ergon_part DEV_)
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_COMPONENTS_ALL runtime dev)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libergon${ergon_soversion})
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")  # later ones of the same soname will do
    set(CPACK_DEBIAN_DEV_PACKAGE_NAME libergon-dev)
    string(PREPEND ergon_depends "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${PROJECT_VERSION}), ")
  endif()
  set(CPACK_PACKAGE_CONTACT "The developers of Ergon")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  # Whatever the umask of who makes it.
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_${ergon_part}PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_${ergon_part}PACKAGE_DEPENDS "${ergon_depends}")
  # For <ergon/node/await.h>, boost_await.h, command_line.h and cereal.h there, the tests of a project that scripts/new
  # makes, and ergon-top.
  set(CPACK_DEBIAN_${ergon_part}PACKAGE_SUGGESTS "libasio-dev, libboost-dev, libcli11-dev, libcereal-dev, doctest-dev, python3")
  set(CPACK_VERBATIM_VARIABLES ON)
  include(CPack)
endif()
