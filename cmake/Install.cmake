# Where things go, and what find_package(mgcompare) finds: installed, or in the build folder as it is.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mgcompare)
install(TARGETS mgcompare RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The program looks for both of these beside itself, in ../lib/mgcompare.
install(TARGETS platform_cpu LIBRARY DESTINATION lib/mgcompare)
if(MGCOMPARE_WITH_CUDA)
  install(TARGETS platform_cuda LIBRARY DESTINATION lib/mgcompare)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/mgcompare/plugins/ DESTINATION lib/mgcompare/plugins
  FILES_MATCHING PATTERN "strategy_*.so")
# The component sdk is what builds plugins; an installation has all components.
install(DIRECTORY core/include/mgcompare DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
install(DIRECTORY configs share DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare)
# Where a config anywhere on the machine finds its `model:`.
install(DIRECTORY configs/models DESTINATION ${CMAKE_INSTALL_DATADIR}/mgcompare)
install(FILES cmake/Contract.cmake cmake/Strategy.cmake DESTINATION ${package_folder} COMPONENT sdk)

set(MGCOMPARE_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR})
# The GPU generations of a plugin whose author chooses none: those of the program, else one that newer GPUs can run too.
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
