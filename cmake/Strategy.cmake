# mgcompare_add_strategy(name source... [CUDA]): a plugin, the shared library strategy_<name>.so, and a target of that name, to which
# further libraries can be linked. This file is installed.
#
# CUDA: nvcc compiles the sources, so that their arithmetic (mgcompare/arithmetic.h) runs on GPUs too. Where there is no
# nvcc, or with -DMGCOMPARE_CUDA=OFF, the C++ compiler compiles them, and the arithmetic runs on CPUs only. Write CUDA for
# every strategy that uses arithmetic.h, also through local_steps.h or drift.h. Call from a CMakeLists.txt, not within a
# function. CMAKE_CUDA_ARCHITECTURES chooses the GPU generations; the default is those of the program.

# CMake before 3.25.2 does not know that nvcc compiles C++20.
macro(mgcompare_teach_cuda20)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
endmacro()

# Sets MGCOMPARE_WITH_CUDA, once per project. The program's own build sets it in Cuda.cmake. This is a macro because CMake
# enables languages only at file scope.
macro(mgcompare_find_nvcc)
  if(NOT DEFINED MGCOMPARE_WITH_CUDA)
    set(MGCOMPARE_WITH_CUDA OFF)
    if(NOT MGCOMPARE_CUDA STREQUAL "OFF" AND NOT CMAKE_CUDA_COMPILER)
      find_package(CUDAToolkit 12 QUIET)
      if(CUDAToolkit_NVCC_EXECUTABLE AND NOT DEFINED ENV{CUDACXX})
        set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
      endif()
      include(CheckLanguage)
      check_language(CUDA)
    endif()
    if(MGCOMPARE_CUDA STREQUAL "OFF")
      message(STATUS "Strategies are compiled for CPUs only: MGCOMPARE_CUDA is OFF")
    elseif(CMAKE_CUDA_COMPILER)
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
        set(CMAKE_CUDA_ARCHITECTURES ${MGCOMPARE_CUDA_ARCHITECTURES})
      endif()
      enable_language(CUDA)
      mgcompare_teach_cuda20()
      set(MGCOMPARE_WITH_CUDA ON)
      message(STATUS "Strategies are compiled for GPUs too, generations ${CMAKE_CUDA_ARCHITECTURES}")
    else()
      message(STATUS "Strategies are compiled for CPUs only: there is no nvcc that works; install CUDA 12 or later, or set "
        "CMAKE_CUDA_COMPILER")
    endif()
  endif()
endmacro()

macro(mgcompare_add_strategy name)
  cmake_parse_arguments(mgcompare_strategy "CUDA" "" "" ${ARGN})
  if(mgcompare_strategy_CUDA)
    mgcompare_find_nvcc()
    mgcompare_build_strategy(${name} "${mgcompare_strategy_UNPARSED_ARGUMENTS}" ${MGCOMPARE_WITH_CUDA})
  elseif("${mgcompare_strategy_UNPARSED_ARGUMENTS}" MATCHES "\\.cu(;|$)")
    message(FATAL_ERROR "mgcompare_add_strategy(${name}): a source is CUDA code, which the C++ compiler would compile for CPUs "
      "only: write CUDA behind the sources")
  else()
    mgcompare_build_strategy(${name} "${mgcompare_strategy_UNPARSED_ARGUMENTS}" OFF)
  endif()
endmacro()

function(mgcompare_build_strategy name sources by_nvcc)
  add_library(strategy_${name} MODULE ${sources})
  # Each source is compiled alone: names in one must not clash with those in another.
  set_target_properties(strategy_${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF)
  target_link_libraries(strategy_${name} PRIVATE mgcompare::plugin_api)
  # Without a build type the plugin would not be optimised, and a comparison would measure unoptimised code.
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    target_compile_options(strategy_${name} PRIVATE -O3 -DNDEBUG)
  endif()
  if(by_nvcc)
    set_source_files_properties(${sources} PROPERTIES LANGUAGE CUDA)
    # The CUDA runtime is linked statically: the plugin must also load where CUDA is not installed.
    set_target_properties(strategy_${name} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
      CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)
    # Functors may be lambdas, and call constexpr functions.
    if(NOT CMAKE_CUDA_FLAGS MATCHES "--extended-lambda")
      target_compile_options(strategy_${name} PRIVATE --extended-lambda --expt-relaxed-constexpr)
    endif()
  else()
    # CMake would leave them out without a word, because no enabled language has them.
    list(FILTER sources INCLUDE REGEX "\\.cu$")
    if(sources)
      set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
    endif()
  endif()
endfunction()
