# Installation in components, which are also the Debian packages (Packages.cmake): `program`, `cuda`, `mpi` and `sdk`, which is enough
# to build plugins. A full installation has all of them. And the package files for find_package(mgcompare), both installed and in the build folder.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mgcompare)
install(TARGETS mgcompare RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
# The program looks for its modules in ../lib/mgcompare, relative to its own folder.
install(TARGETS platform_cpu transfer_https LIBRARY DESTINATION lib/mgcompare COMPONENT program)
if(MGCOMPARE_WITH_CUDA)
  install(TARGETS platform_cuda LIBRARY DESTINATION lib/mgcompare COMPONENT cuda)
endif()
if(MGCOMPARE_WITH_MPI)
  install(TARGETS transport_mpi LIBRARY DESTINATION lib/mgcompare COMPONENT mpi)
endif()
# By their targets, so that the library paths of the build are removed.
get_directory_property(strategies DIRECTORY plugins BUILDSYSTEM_TARGETS)
install(TARGETS ${strategies} LIBRARY DESTINATION lib/mgcompare/plugins COMPONENT program)
install(DIRECTORY core/include/mgcompare DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
install(DIRECTORY configs share DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare COMPONENT program PATTERN "__pycache__" EXCLUDE)
# Where users look for the schema. Configs name it as ../share/mgcompare.schema.json, in the sources and in an installation.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/install)
file(CREATE_LINK share/mgcompare.schema.json ${PROJECT_BINARY_DIR}/install/mgcompare.schema.json SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/install/mgcompare.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare COMPONENT program)
# The models that a config may name under `model:`.
install(DIRECTORY configs/models DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare COMPONENT program)
# The program looks for them beside its folder, so the build folder has them too.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/mgcompare)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/configs/models ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/mgcompare/models SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/configs ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/mgcompare/configs SYMBOLIC)
# The Python module for backends, which is in share/ of both.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/share ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/mgcompare/share SYMBOLIC)
# Backends: folders with a manifest, installed as they are.
file(GLOB manifests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/plugins/*/backend.json)
foreach(manifest IN LISTS manifests)
  get_filename_component(folder ${manifest} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/mgcompare/plugins)
  file(CREATE_LINK ${folder} ${PROJECT_BINARY_DIR}/lib/mgcompare/plugins/${name} SYMBOLIC)
  install(DIRECTORY ${folder} DESTINATION lib/mgcompare/plugins COMPONENT program PATTERN "__pycache__" EXCLUDE)
endforeach()
# The sources of the shipped strategies, as examples for authors.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/plugins/*/*.cc ${PROJECT_SOURCE_DIR}/plugins/*/*.h ${PROJECT_SOURCE_DIR}/plugins/*/*.cu)
foreach(source IN LISTS sources)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare/plugins/${name} COMPONENT sdk)
endforeach()
install(FILES cmake/Contract.cmake cmake/Strategy.cmake DESTINATION ${package_folder} COMPONENT sdk)

set(MGCOMPARE_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR})
# Default GPU generations of plugins: those of the program, or one that newer GPUs can run through its PTX.
set(MGCOMPARE_PLUGIN_ARCHITECTURES 90)
if(MGCOMPARE_WITH_CUDA)
  set(MGCOMPARE_PLUGIN_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
endif()
configure_package_config_file(cmake/mgcompareConfig.cmake.in ${PROJECT_BINARY_DIR}/install/mgcompareConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS MGCOMPARE_INCLUDE)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/mgcompareConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/mgcompareConfig.cmake
  ${PROJECT_BINARY_DIR}/install/mgcompareConfigVersion.cmake DESTINATION ${package_folder} COMPONENT sdk)

set(MGCOMPARE_INCLUDE ${PROJECT_SOURCE_DIR}/core/include)
configure_file(cmake/Contract.cmake ${PROJECT_BINARY_DIR}/Contract.cmake COPYONLY)
configure_file(cmake/Strategy.cmake ${PROJECT_BINARY_DIR}/Strategy.cmake COPYONLY)
configure_package_config_file(cmake/mgcompareConfig.cmake.in ${PROJECT_BINARY_DIR}/mgcompareConfig.cmake
  INSTALL_DESTINATION ${PROJECT_BINARY_DIR} INSTALL_PREFIX ${PROJECT_BINARY_DIR} PATH_VARS MGCOMPARE_INCLUDE)
configure_file(${PROJECT_BINARY_DIR}/install/mgcompareConfigVersion.cmake
  ${PROJECT_BINARY_DIR}/mgcompareConfigVersion.cmake COPYONLY)
