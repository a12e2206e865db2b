# Installation, and the package that find_package(mgcompare) finds in an installation or in the build directory.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mgcompare)
install(TARGETS mgcompare RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The program searches for back ends and plugins in ../lib/mgcompare, relative to its own file.
install(TARGETS platform_cpu LIBRARY DESTINATION lib/mgcompare)
if(MGCOMPARE_WITH_CUDA)
  install(TARGETS platform_cuda LIBRARY DESTINATION lib/mgcompare)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/mgcompare/plugins/ DESTINATION lib/mgcompare/plugins
  FILES_MATCHING PATTERN "strategy_*.so")
# The component `sdk` has everything for building plugins. A full installation has all components.
install(DIRECTORY core/include/mgcompare DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
install(DIRECTORY configs share DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare)
# Configs outside of the source tree find their `model:` here.
install(DIRECTORY configs/models DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare)
install(FILES cmake/Contract.cmake cmake/Strategy.cmake DESTINATION ${package_folder} COMPONENT sdk)

set(MGCOMPARE_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR})
# Default GPU generations of plugins: those of the program, or else 9.0, which newer GPUs can run too.
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
