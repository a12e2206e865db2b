# The contract: a string that is equal in a plugin and in the program if both agree on everything that crosses the boundary
# between them. It consists of
# - a hash of the SDK headers that declare it: mgcompare/strategy.h and all that it includes, without comments, white space
#   and mgcompare/detail/. Function bodies are in detail/ and not part of it. The bodies that stay in these headers (share()
#   and the positions of Batch, for instance) are those whose results both sides must agree on;
# - the C++ ABI: the compiler's ABI version, the standard library, its string ABI, and whether its containers are checked.
# This file is installed. A plugin built elsewhere computes its contract from the headers and with the compiler it uses.

# Headers that moved, and what to include instead.
set(MGCOMPARE_MOVED_HEADERS
  "arithmetic_cpu.h:include mgcompare/arithmetic.h"
  "arithmetic_cuda.h:include mgcompare/arithmetic.h"
  "segments_cuda.h:include mgcompare/arithmetic.h and copy encode.h of plugins/onebit or team.h of plugins/power_sgd"
  "selection_cuda.h:copy select.h and what it includes from plugins/top_k"
  "largest_cuda.h:copy select.h and what it includes from plugins/top_k"
  "portable.h:include mgcompare/types.h")

# Appends to the list `found` HEADER and the headers of mgcompare/ that it includes.
function(mgcompare_boundary_headers include header found)
  set(list ${${found}})
  list(APPEND list ${header})
  file(STRINGS ${include}/mgcompare/${header} lines REGEX "^#include \"mgcompare/[a-z_]+\\.h\"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"mgcompare/([a-z_]+\\.h)\".*" "\\1" name "${line}")
    if(NOT name STREQUAL "contract.h" AND NOT name IN_LIST list)
      mgcompare_boundary_headers(${include} ${name} list)
    endif()
  endforeach()
  set(${found} ${list} PARENT_SCOPE)
endfunction()

# The hash of the headers below the folder INCLUDE.
function(mgcompare_hash_headers include out)
  set(headers "")
  mgcompare_boundary_headers(${include} strategy.h headers)
  list(SORT headers)
  set(text "")
  foreach(header IN LISTS headers)
    file(READ ${include}/mgcompare/${header} body)
    # CMake would parse brackets and semicolons as list syntax.
    string(REPLACE "[" "<" body "${body}")
    string(REPLACE "]" ">" body "${body}")
    string(REPLACE ";" "!" body "${body}")
    string(REGEX REPLACE "//[^\n]*" "" body "${body}")
    string(REGEX REPLACE "#include \"mgcompare/detail/[^\n]*" "" body "${body}")
    string(REGEX REPLACE "[ \t\r\n\\\\]+" "" body "${body}")
    string(APPEND text "${header}:${body}")
  endforeach()
  string(SHA256 hash "${text}")
  string(SUBSTRING ${hash} 0 16 hash)
  set(${out} ${hash} PARENT_SCOPE)
endfunction()

# The C++ ABI of the compiler, by its preprocessor.
function(mgcompare_find_abi out)
  if(NOT DEFINED MGCOMPARE_ABI)
    file(WRITE ${CMAKE_BINARY_DIR}/contract_probe.cc "#include <string>\nabi=__GXX_ABI_VERSION\n#ifdef __GLIBCXX__\n"
      "stdlib=libstdc++\nstring=_GLIBCXX_USE_CXX11_ABI\n#else\nstdlib=libc++\nstring=_LIBCPP_ABI_VERSION\n#endif\n")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P ${CMAKE_BINARY_DIR}/contract_probe.cc
      OUTPUT_VARIABLE seen COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "abi=[0-9]+" abi "${seen}")
    string(REGEX MATCH "stdlib=[a-z+]+" stdlib "${seen}")
    string(REGEX MATCH "string=[0-9]+" string_abi "${seen}")
    set(MGCOMPARE_ABI "${abi},${stdlib},${string_abi}" CACHE INTERNAL "")
  endif()
  set(${out} "${MGCOMPARE_ABI}" PARENT_SCOPE)
endfunction()

# Writes the generated headers: DIRECTORY/mgcompare/contract.h, and for each header that moved a stub whose #error names the
# replacement.
function(mgcompare_write_contract include directory)
  file(GLOB manual ${include}/mgcompare/*.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manual})
  mgcompare_hash_headers(${include} hash)
  mgcompare_find_abi(abi)
  set(contract "sdk=${hash},${abi}")
  # _GLIBCXX_DEBUG changes the layout of containers, and _GLIBCXX_USE_CXX11_ABI that of strings: options of one target may set them, which the
  # probe does not see.
  file(CONFIGURE OUTPUT ${directory}/mgcompare/contract.h @ONLY CONTENT
"#pragma once
#include <cstddef>
#if defined(_GLIBCXX_DEBUG)
#define MGCOMPARE_CONTRACT \"@contract@,checked\"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define MGCOMPARE_CONTRACT \"@contract@,old strings\"
#else
#define MGCOMPARE_CONTRACT \"@contract@\"
#endif
")
  foreach(moved IN LISTS MGCOMPARE_MOVED_HEADERS)
    string(REGEX MATCH "^[^:]*" name "${moved}")
    string(REGEX REPLACE "^[^:]*:" "" advice "${moved}")
    file(CONFIGURE OUTPUT ${directory}/mgcompare/${name} @ONLY CONTENT "#error \"mgcompare/@name@ moved: @advice@\"\n")
  endforeach()
endfunction()
