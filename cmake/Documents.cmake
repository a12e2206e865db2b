# The manual page and the completions of shells, which the program itself writes. The build makes them again whenever the program
# or an experiment changes, so that none can be older than the program.
set(documents_folder ${PROJECT_BINARY_DIR}/documents)
file(GLOB documented_experiments CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.yaml)

set(documents_program mgcompare)
if(MGCOMPARE_SANITIZE STREQUAL "address")
  # What is left for the end of the process would be reported as leaks.
  set(documents_program ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:mgcompare>)
endif()

# mgcompare_document(file argument...): the file with what the program prints.
function(mgcompare_document file)
  add_custom_command(OUTPUT ${documents_folder}/${file}
    COMMAND ${documents_program} ${ARGN} > ${documents_folder}/${file}
    DEPENDS mgcompare ${documented_experiments} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY MGCOMPARE_DOCUMENTS ${documents_folder}/${file})
endfunction()

file(MAKE_DIRECTORY ${documents_folder})
mgcompare_document(mgcompare.1 help --man)
mgcompare_document(mgcompare completions bash)
mgcompare_document(_mgcompare completions zsh)
mgcompare_document(mgcompare.fish completions fish)
# -n: without the time, so that the same page gives the same file.
add_custom_command(OUTPUT ${documents_folder}/mgcompare.1.gz
  COMMAND gzip -9nkf ${documents_folder}/mgcompare.1 DEPENDS ${documents_folder}/mgcompare.1 VERBATIM)
get_property(documents GLOBAL PROPERTY MGCOMPARE_DOCUMENTS)
add_custom_target(mgcompare_documents ALL DEPENDS ${documents} ${documents_folder}/mgcompare.1.gz)

# The pages for readers, in the folders in which their links expect each other.
install(FILES README.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY plugins DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program FILES_MATCHING PATTERN README.md)
install(FILES reports/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/reports COMPONENT program)
install(CODE "
  set(folder \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR})
  file(CREATE_LINK ../../mgcompare/configs \${folder}/configs SYMBOLIC)
  include(${PROJECT_SOURCE_DIR}/cmake/InstalledLinks.cmake)" COMPONENT program)
install(FILES ${documents_folder}/mgcompare.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${documents_folder}/mgcompare DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${documents_folder}/_mgcompare DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${documents_folder}/mgcompare.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
