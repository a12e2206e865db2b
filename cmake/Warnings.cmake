# -Wno-maybe-uninitialized and others: g++ 12 has false positives in its own std::string, at -O3 and with
# -fsanitize=thread.
add_library(mgcompare_warnings INTERFACE)
target_compile_options(mgcompare_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Wno-maybe-uninitialized>
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<STREQUAL:${MGCOMPARE_SANITIZE},thread>>:-Wno-array-bounds;-Wno-stringop-overread;-Wno-stringop-overflow;-Wno-restrict>"
  $<$<AND:$<BOOL:${MGCOMPARE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>
  # Warnings of nvcc, and of the host compiler that it calls.
  "$<$<AND:$<BOOL:${MGCOMPARE_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:--Werror=all-warnings;-Xcompiler=-Werror>")

if(MGCOMPARE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(MGCOMPARE_SANITIZE STREQUAL "fuzzer")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
    -Wno-unknown-warning-option)
  add_link_options(-fsanitize=address,undefined)
elseif(MGCOMPARE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
