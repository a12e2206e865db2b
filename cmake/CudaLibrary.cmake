# Implements FindNCCL and FindcuDNN: finds a library in the CUDA toolkit, in the system, or below <name>_ROOT, and defines the
# target <name>::<name>. The version is read from the defines in `version_header` whose names match `parts`.
macro(mgcompare_cuda_library name header library version_header parts)
  find_path(${name}_INCLUDE ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(${name}_LIBRARY ${library} HINTS ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
  if(${name}_INCLUDE)
    file(STRINGS ${${name}_INCLUDE}/${version_header} ${name}_VERSION REGEX "#define ${parts} ")
    string(REGEX REPLACE "[^0-9;]" "" ${name}_VERSION "${${name}_VERSION}")
    list(JOIN ${name}_VERSION "." ${name}_VERSION)
  endif()
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE VERSION_VAR ${name}_VERSION)
  if(${name}_FOUND AND NOT TARGET ${name}::${name})
    add_library(${name}::${name} UNKNOWN IMPORTED)
    set_target_properties(${name}::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE})
  endif()
  mark_as_advanced(${name}_INCLUDE ${name}_LIBRARY)
endmacro()
