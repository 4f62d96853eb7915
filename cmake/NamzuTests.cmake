# NamzuTests.cmake - unit tests (cmocka), fuzz targets and their replay.

include_guard(GLOBAL)
find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# namzu_unit_test(NAME SOURCES x_test.c USES lib ...) - one cmocka program, one ctest test.
function(namzu_unit_test name)
  cmake_parse_arguments(A "" "" "SOURCES;USES" ${ARGN})
  add_executable(unit_${name} ${A_SOURCES})
  target_link_libraries(unit_${name} PRIVATE namzu_flags PkgConfig::CMOCKA ${A_USES})
  target_compile_definitions(unit_${name} PRIVATE
    GW_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
  add_test(NAME unit/${name} COMMAND unit_${name})
  set_tests_properties(unit/${name} PROPERTIES TIMEOUT 120 LABELS unit)
endfunction()

# namzu_fuzz_target(NAME SOURCES x_fuzz.c USES lib ...) - LLVMFuzzerTestOneInput with a corpus in
# tests/fuzz/corpus/NAME. With NAMZU_FUZZ it is a libFuzzer binary; in every build ctest replays
# the corpus through it.
function(namzu_fuzz_target name)
  cmake_parse_arguments(A "" "" "SOURCES;USES" ${ARGN})
  set(corpus "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  add_executable(fuzz_${name} ${A_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE namzu_flags ${A_USES})
  if(NAMZU_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz/${name} COMMAND fuzz_${name} -runs=0 "${corpus}")
  else()
    target_sources(fuzz_${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests/fuzz/replay.c")
    add_test(NAME fuzz/${name} COMMAND fuzz_${name} "${corpus}")
  endif()
  set_tests_properties(fuzz/${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
endfunction()
