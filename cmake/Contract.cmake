# The contract: a text that is equal exactly when a plugin and the program agree on the SDK and on the C++ ABI. It is a
# hash of the SDK headers without comments and white space, the compiler's ABI number, and the standard library with its
# string ABI and whether its containers are the checked ones. The same file is installed and used by
# find_package(mgcompare), so a plugin built elsewhere makes its own.

function(mgcompare_contract headers out)
  set(text "")
  foreach(header IN LISTS headers)
    file(READ ${header} body)
    # Brackets and semicolons would be list syntax to CMake.
    string(REPLACE "[" "<" body "${body}")
    string(REPLACE "]" ">" body "${body}")
    string(REPLACE ";" "!" body "${body}")
    string(REGEX REPLACE "//[^\n]*" "" body "${body}")
    string(REGEX REPLACE "[ \t\r\n\\\\]+" "" body "${body}")
    string(APPEND text "${body}")
  endforeach()
  string(SHA256 hash "${text}")
  string(SUBSTRING ${hash} 0 16 hash)
  include(CheckCXXSourceCompiles)
  if(NOT DEFINED MGCOMPARE_ABI)
    file(WRITE ${CMAKE_BINARY_DIR}/contract_probe.cc "#include <string>\nabi=__GXX_ABI_VERSION\n#ifdef __GLIBCXX__\n"
      "stdlib=libstdc++\nstring=_GLIBCXX_USE_CXX11_ABI\n#else\nstdlib=libc++\nstring=1\n#endif\n")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P ${CMAKE_BINARY_DIR}/contract_probe.cc
      OUTPUT_VARIABLE seen COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "abi=[0-9]+" abi "${seen}")
    string(REGEX MATCH "stdlib=[a-z+]+" stdlib "${seen}")
    string(REGEX MATCH "string=[0-9]+" string_abi "${seen}")
    set(MGCOMPARE_ABI "${abi},${stdlib},${string_abi}" CACHE INTERNAL "")
  endif()
  set(${out} "sdk=${hash},${MGCOMPARE_ABI}" PARENT_SCOPE)
endfunction()

# Writes DIRECTORY/mgcompare/contract.h for the headers in INCLUDE.
function(mgcompare_write_contract include directory)
  file(GLOB headers ${include}/mgcompare/*.h)
  list(SORT headers)
  list(FILTER headers EXCLUDE REGEX "/contract\\.h$")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  mgcompare_contract("${headers}" contract)
  # With _GLIBCXX_DEBUG containers have another layout.
  file(CONFIGURE OUTPUT ${directory}/mgcompare/contract.h @ONLY CONTENT
"#pragma once
#ifdef _GLIBCXX_DEBUG
#define MGCOMPARE_CONTRACT \"@contract@,checked\"
#else
#define MGCOMPARE_CONTRACT \"@contract@\"
#endif
")
endfunction()

# mgcompare_add_strategy(name source...): one plugin, a shared library named strategy_<name>.so.
function(mgcompare_add_strategy name)
  add_library(strategy_${name} MODULE ${ARGN})
  set_target_properties(strategy_${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(strategy_${name} PRIVATE mgcompare::plugin_api)
  # Without a build type nothing would be optimised, and a comparison would measure that.
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    target_compile_options(strategy_${name} PRIVATE -O3 -DNDEBUG)
  endif()
endfunction()
