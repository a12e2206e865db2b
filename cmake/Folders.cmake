# One library for each folder listed in core/folders.txt. A library exports only its own headers, included as
# "folder/header.h": its include path is a directory in the build tree that contains one link, to the folder.
set(MGCOMPARE_FOLDERS ${PROJECT_SOURCE_DIR}/core/folders.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${MGCOMPARE_FOLDERS})

# Most of the program is compiled with -O1, in three quarters of the time that the -O3 of Release takes. Folders on the path
# of a training step (TIMED) use -O2, numeric kernels (NUMERIC) keep -O3; they do not use the precompiled headers, which
# g++ 12 cannot read at another level of optimisation than that they were made with.
#
# Where CMAKE_UNITY_BUILD is ON, as in the presets but debug and fuzz, sixteen sources of a folder are compiled as one, in less than a third of
# the time. Their unnamed namespaces are then one, so names of helpers must differ within a folder; tests/architecture checks it for
# templates, which are called for others without a message. An overload that fits better is called so, too, and is not found.
# Numeric kernels are compiled alone: what is inlined into them shall not depend on their neighbours.
add_library(mgcompare_host_options INTERFACE)
target_compile_options(mgcompare_host_options INTERFACE
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1> $<$<BOOL:${CCACHE}>:-fpch-preprocess>)

# The headers that most files of the program parse, compiled once.
file(WRITE ${PROJECT_BINARY_DIR}/precompiled/empty.cc "")
add_library(mgcompare_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled/empty.cc)
target_link_libraries(mgcompare_precompiled PRIVATE fmt::fmt nlohmann_json::nlohmann_json mgcompare_warnings
  mgcompare_host_options)
target_precompile_headers(mgcompare_precompiled PRIVATE
  <algorithm> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <string> <string_view> <vector>
  <fmt/format.h> <fmt/ranges.h> ${PROJECT_SOURCE_DIR}/core/base/json_instances.h)

# Sets ${out} to the folders that ${folder} may include.
function(mgcompare_allowed folder out)
  file(STRINGS ${MGCOMPARE_FOLDERS} line REGEX "^${folder}:")
  if(NOT line)
    message(FATAL_ERROR "core/folders.txt does not list ${folder}: add a line that says which folders it may include")
  endif()
  string(REGEX REPLACE "^[a-z]+: *" "" line "${line}")
  separate_arguments(line)
  set(${out} ${line} PARENT_SCOPE)
endfunction()

# Lets a target include and link the given folders, and the folders that these may include.
function(mgcompare_use_folders target)
  set(folders ${ARGN})
  foreach(folder IN LISTS ARGN)
    mgcompare_allowed(${folder} allowed)
    list(APPEND folders ${allowed})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  mgcompare_link_folders(${target} ${folders})
endfunction()

# PRIVATE: the headers of these folders are not exported again. Static libraries still link them.
function(mgcompare_link_folders target)
  foreach(folder IN LISTS ARGN)
    if(folder STREQUAL "sdk")
      target_link_libraries(${target} PRIVATE mgcompare_plugin_api)
    else()
      target_link_libraries(${target} PRIVATE mgcompare_${folder})
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE fmt::fmt nlohmann_json::nlohmann_json mgcompare_warnings)
endfunction()

# mgcompare_folder(name [NUMERIC | TIMED] [SOURCE directory] [EXCLUDE file...] [ALSO source...]): defines the library
# mgcompare_<name> of all sources in core/<name>.
function(mgcompare_folder name)
  cmake_parse_arguments(arg "NUMERIC;TIMED" "SOURCE" "EXCLUDE;ALSO" ${ARGN})
  if(NOT arg_SOURCE)
    set(arg_SOURCE ${PROJECT_SOURCE_DIR}/core/${name})
  endif()
  set(headers ${PROJECT_BINARY_DIR}/headers/${name})
  file(MAKE_DIRECTORY ${headers})
  file(CREATE_LINK ${arg_SOURCE} ${headers}/${name} SYMBOLIC)
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCE}/*.cc ${arg_SOURCE}/*.cu ${arg_SOURCE}/*/*.cc)
  list(TRANSFORM arg_EXCLUDE PREPEND ${arg_SOURCE}/)
  list(REMOVE_ITEM sources ${arg_EXCLUDE})
  set(target mgcompare_${name})
  mgcompare_allowed(${name} allowed)
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${headers})
    return()
  endif()
  add_library(${target} STATIC ${sources} ${arg_ALSO})
  target_include_directories(${target} PUBLIC ${headers})
  mgcompare_link_folders(${target} ${allowed})
  if(arg_NUMERIC)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(arg_TIMED)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>)
  elseif(NOT arg_NUMERIC)
    target_link_libraries(${target} PRIVATE mgcompare_host_options)
    target_precompile_headers(${target} REUSE_FROM mgcompare_precompiled)
  endif()
endfunction()
