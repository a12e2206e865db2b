# Debian packages by `cpack -G DEB`, one for each component of the installation (Install.cmake), with the files that Debian wants of
# each package. scripts/package builds and makes them.
set(MGCOMPARE_CONTACT "mgcompare maintainers <maintainers@mgcompare.invalid>" CACHE STRING "Maintainer of the packages")
set(package_of_program mgcompare)
set(package_of_cuda mgcompare-cuda)
set(package_of_mpi mgcompare-mpi)
set(package_of_sdk mgcompare-dev)
set(components program sdk)
if(MGCOMPARE_WITH_CUDA)
  list(APPEND components cuda)
endif()
if(MGCOMPARE_WITH_MPI)
  list(APPEND components mpi)
endif()

set(MGCOMPARE_PACKAGE_RELEASE 1)
set(package_version ${PROJECT_VERSION}-${MGCOMPARE_PACKAGE_RELEASE})
# Of the sources, not of the build: SOURCE_DATE_EPOCH, which reproducible builds set, else the last commit.
set(package_time $ENV{SOURCE_DATE_EPOCH})
if(NOT package_time)
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct OUTPUT_VARIABLE package_time
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT package_time)
  set(package_time 0)
endif()
execute_process(COMMAND date -uR -d @${package_time} OUTPUT_VARIABLE MGCOMPARE_PACKAGE_DATE OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)

# Writes FILE.gz beside the file, without the time, so that the same file gives the same bytes.
function(mgcompare_compress file)
  execute_process(COMMAND gzip -9nkf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS components)
  set(package ${package_of_${component}})
  set(folder ${PROJECT_BINARY_DIR}/packages/${package})
  set(MGCOMPARE_PACKAGE ${package})
  configure_file(cmake/packages/changelog.in ${folder}/changelog.Debian @ONLY)
  configure_file(CHANGELOG.md ${folder}/changelog COPYONLY)
  mgcompare_compress(${folder}/changelog.Debian)
  mgcompare_compress(${folder}/changelog)
  install(FILES cmake/packages/copyright ${folder}/changelog.Debian.gz ${folder}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

install(FILES cmake/packages/mgcompare.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
  RENAME ${package_of_program} COMPONENT program)

set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGE_NAME mgcompare)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${MGCOMPARE_CONTACT})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${MGCOMPARE_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Symbols of the libraries stay hidden: nothing links to them.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compare strategies of training on several devices")
# Lines of a Debian description.
set(about "mgcompare trains one network with many multi-device strategies and\nreports whether several devices are worthwhile: with which strategy,\nby how much, with what certainty, and why.\n.\nThis package has ")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${about}the program with its strategies, experiments and\ndocumentation, for CPUs.")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "${about}the module for NVIDIA GPUs. It needs the driver,\ncuDNN, NCCL and cuBLASLt, which come from the archive of NVIDIA.")
set(CPACK_COMPONENT_MPI_DESCRIPTION "${about}the module for several hosts, on Open MPI.")
set(CPACK_COMPONENT_SDK_DESCRIPTION "${about}the headers and the CMake package with which\nstrategies are built outside of the sources of the program.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ${package_of_program})
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "ca-certificates, gnuplot-nox")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS
  "${package_of_cuda}, ${package_of_mpi}, ${package_of_sdk}, python3, python3-numpy, python3-torch")

set(CPACK_DEBIAN_SDK_PACKAGE_NAME ${package_of_sdk})
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION libdevel)
# A plugin is built for one version of the program.
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "${package_of_program} (= ${package_version}), cmake (>= 3.25), g++, make | ninja-build")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME ${package_of_mpi})
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "${package_of_program} (= ${package_version}), openmpi-bin")

# What the module links besides NVIDIA's libraries, the program links too, so its package has those dependencies. NVIDIA's are not in
# Debian: they are recommended by the names of NVIDIA's archive, so that they are installed where it is known, and the package can be
# installed where they come from elsewhere.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME ${package_of_cuda})
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "${package_of_program} (= ${package_version}), libc6, libgcc-s1, libstdc++6")
if(MGCOMPARE_WITH_CUDA)
  set(cuda_major ${CUDAToolkit_VERSION_MAJOR})
  set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS
    "libcublas-${cuda_major}-${CUDAToolkit_VERSION_MINOR}, libcudnn9-cuda-${cuda_major}, libnccl2 (>= 2.27)")
endif()
include(CPack)
